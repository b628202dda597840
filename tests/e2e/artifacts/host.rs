//! A host of archives: a real HTTP server on loopback.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;
use orion_domain::Digest;
use serde_json::json;
use tar::{Builder, EntryType, Header};

/// The name of the artifact.
pub(crate) const NAME: &str = "hostagent-server";
/// The install script: it leaves a file and finds nothing outside of its folder that it may write.
const INSTALL: &str = "#!/bin/sh\nset -e\ntest -f manifest.json\n\
    if true > ../escaped 2>/dev/null; then exit 9; fi\nprintf ok > installed.txt\n";
const COMPOSE: &str = "services:\n  web:\n    image: registry.example.com/web:1\n";

/// A host that serves until the test's process ends.
pub(crate) struct Host {
    pub(crate) port: u16,
    archives: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    /// The targets that were requested, with what comes after `?`.
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
    /// Whether the installed services are well.
    pub(crate) is_well: Arc<AtomicBool>,
}

/// The archive of an artifact.
pub(crate) struct Made(Builder<GzEncoder<Vec<u8>>>);

impl Made {
    pub(crate) fn new() -> Self {
        Self(Builder::new(GzEncoder::new(Vec::new(), Compression::fast())))
    }

    pub(crate) fn entry(mut self, kind: EntryType, name: &str, text: &[u8]) -> Self {
        let mut header = Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o755);
        header.set_size(text.len() as u64);
        header.set_cksum();
        self.0.append(&header, text).unwrap();
        self
    }

    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        self.entry(EntryType::Regular, name, text.as_bytes())
    }

    /// Adds the files of a whole artifact, with this install script.
    pub(crate) fn whole(self, host: &Host, install: &str) -> Self {
        let manifest = json!({
            "name": NAME, "version": "1.4.2", "install": "bin/install.sh",
            "compose_file": "compose.yaml",
            "health_url": format!("http://localhost:{}/health", host.port),
        });
        self.file("./manifest.json", &manifest.to_string())
            .file("bin/install.sh", install)
            .file("compose.yaml", COMPOSE)
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        self.0.into_inner().unwrap().finish().unwrap()
    }
}

impl Host {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = Self {
            port: listener.local_addr().unwrap().port(),
            archives: Arc::default(),
            requests: Arc::default(),
            is_well: Arc::new(AtomicBool::new(true)),
        };
        let (archives, requests) = (Arc::clone(&host.archives), Arc::clone(&host.requests));
        let is_well = Arc::clone(&host.is_well);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(stream, &archives, &requests, &is_well);
            }
        });
        host
    }

    /// Returns the address of an archive of this name, with a secret.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://localhost:{}/{name}?X-Amz-Signature=hunter2", self.port)
    }

    /// Serves an archive under a name, and returns its SHA-256.
    pub(crate) fn offer(&self, name: &str, archive: Vec<u8>) -> String {
        let sha256 = Digest::of(&archive).to_string();
        self.archives.lock().unwrap().insert(format!("/{name}"), archive);
        sha256
    }

    /// Serves a whole artifact, and returns its SHA-256.
    pub(crate) fn offer_whole(&self, name: &str) -> String {
        self.offer(name, Made::new().whole(self, INSTALL).bytes())
    }

    /// Returns how often a path was requested.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.requests.lock().unwrap().iter().filter(|it| it.starts_with(path)).count()
    }
}

/// Answers one request by its path.
fn serve(
    mut stream: TcpStream,
    archives: &Mutex<BTreeMap<String, Vec<u8>>>,
    requests: &Mutex<Vec<String>>,
    is_well: &AtomicBool,
) {
    let mut request = [0; 8192];
    let length = stream.read(&mut request).unwrap_or_default();
    let request = String::from_utf8_lossy(&request[..length]).into_owned();
    let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let path = target.split('?').next().unwrap_or_default().to_owned();
    requests.lock().unwrap().push(target);
    let archive = archives.lock().unwrap().get(&path).cloned();
    let mut answer = |status: &str, length: usize, body: &[u8]| {
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)));
    };
    match (&*path, archive) {
        ("/health", _) if is_well.load(Ordering::Relaxed) => answer("200 OK", 0, b""),
        ("/health", _) => answer("503 Service Unavailable", 0, b""),
        ("/away.tar.gz", _) => answer("302 Found\r\nLocation: http://127.0.0.1:1/x", 0, b""),
        ("/cut.tar.gz", Some(archive)) => {
            answer("200 OK", archive.len(), &archive[..archive.len() / 2]);
        }
        ("/slow.tar.gz", Some(archive)) => {
            answer("200 OK", archive.len(), &archive[..archive.len() / 2]);
            // The rest never comes.
            std::mem::forget(stream);
        }
        (_, Some(archive)) => answer("200 OK", archive.len(), &archive),
        (_, None) => answer("403 Forbidden", 0, b""),
    }
}
