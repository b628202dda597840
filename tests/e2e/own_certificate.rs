//! Orion's own certificate for people: who trusts its authority signs in, and it renews itself.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use orion_mtls::Fingerprint;
use orion_tests::{Cli, Launch, Process, eventually, program};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

struct Backend {
    process: Process,
    address: String,
    ca: String,
}

async fn start(folder: &Path, more: &str) -> Backend {
    let (config, data) = (folder.join("orion-server.toml"), folder.join("data"));
    let text = format!(
        "[people]\nlisten = \"127.0.0.1:0\"\ntls = \"own\"\n{more}\n[devices]\nlisten = \"127.0.0.1:0\"\n"
    );
    std::fs::write(&config, text).unwrap();
    let arguments = [
        OsStr::new("run"),
        OsStr::new("--config"),
        config.as_os_str(),
        OsStr::new("--data-dir"),
        data.as_os_str(),
    ];
    let launch = Launch { arguments: &arguments, ..Launch::default() };
    let process = Process::start(&program("orion-server"), &folder.join("server.log"), &launch);
    let known: toml::Table = eventually("the backend's addresses", async || {
        assert!(process.is_running(), "the backend did not start:\n{}", process.log());
        std::fs::read_to_string(data.join("addresses.toml")).ok()?.parse().ok()
    })
    .await;
    let text = |key: &str| known[key].as_str().unwrap().to_owned();
    assert!(text("people_url").starts_with("https://"), "{known}");
    Backend { process, address: text("people"), ca: text("people_ca") }
}

/// Returns the certificate that the backend presents to who trusts its authority.
/// Returns the certificate that the backend shows. None where it is not good, such as one that ends just now.
async fn presented(backend: &Backend) -> Option<Vec<u8>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&backend.ca).unwrap()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(&backend.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()?;
    Some(stream.get_ref().1.peer_certificates().unwrap()[0].to_vec())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_sign_in_by_the_authority_that_the_backend_made_and_without_it_are_told_how() {
    orion_mtls::install_crypto_provider();
    let folder = tempfile::tempdir().unwrap();
    let backend = start(folder.path(), "names = [\"orion.example\"]").await;
    let cli = Cli::new(&folder.path().join("context.toml"), folder.path());
    let port = backend.address.rsplit(':').next().unwrap();
    let secret = format!("@{}", folder.path().join("data/first-admin-secret").display());
    let (ip, host) = (format!("https://{}", backend.address), format!("https://localhost:{port}"));

    let unknown = cli.run(&["login", "--backend", &ip, "--secret", &secret]).await;
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(unknown.stderr.contains("--ca people-ca.pem"), "{unknown:?}");
    // The line in the log is what a person needs.
    let log = backend.process.log();
    assert!(log.contains(&format!("--ca {} --secret", backend.ca)), "{log}");
    // The authority of devices vouches for nobody here, and the other way round.
    let devices_ca = folder.path().join("data/ca.pem").display().to_string();
    let foreign = ["login", "--backend", &ip, "--ca", &devices_ca, "--secret", &secret];
    assert_eq!(cli.run(&foreign).await.code, 1);
    assert_ne!(std::fs::read(&devices_ca).unwrap(), std::fs::read(&backend.ca).unwrap());

    let words = ["login", "--backend", &host, "--ca", &backend.ca, "--secret", &secret];
    let signed_in = cli.run(&words).await;
    assert_eq!(signed_in.code, 0, "{signed_in:?}");
    let listed = cli.run(&["devices", "list"]).await;
    assert_eq!(listed.code, 0, "{listed:?}");
    // A device that asks for a code there learns that it is the port for people.
    let state = folder.path().join("kiosk").display().to_string();
    let authority = CertificateDer::from_pem_file(&backend.ca).unwrap();
    let pin = Fingerprint::of_certificate(&authority).to_string();
    let enroll =
        ["enroll", "--server", &backend.address, "--ca-fingerprint", &pin, "--state-dir", &state];
    let launch = Launch { arguments: &enroll.map(OsStr::new), ..Launch::default() };
    let lost = Process::start(&program("orion-agent"), &folder.path().join("enroll.log"), &launch);
    assert_eq!(lost.exit_code().await, 4, "{}", lost.log());
    assert!(lost.log().contains("It may be the port for people"), "{}", lost.log());
    // Plain HTTP is refused as before.
    let plain = format!("http://{}", backend.address);
    let plain = cli.run(&["login", "--backend", &plain, "--secret", "x"]).await;
    assert_eq!(plain.code, 1, "{plain:?}");
    let first = std::fs::read(&backend.ca).unwrap();
    backend.process.stop().await;
    let again = start(folder.path(), "").await;
    assert_eq!(std::fs::read(&again.ca).unwrap(), first, "the authority stays");
    again.process.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_certificate_is_renewed_while_the_backend_listens() {
    orion_mtls::install_crypto_provider();
    let folder = tempfile::tempdir().unwrap();
    let backend = start(folder.path(), "certificate_seconds = 10").await;
    let first = presented(&backend).await;
    assert!(first.is_some());
    eventually("another certificate", async || {
        presented(&backend).await.filter(|shown| Some(shown) != first.as_ref())
    })
    .await;
    backend.process.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_not_in_the_certificate_is_said_to_be_another() {
    orion_mtls::install_crypto_provider();
    let folder = tempfile::tempdir().unwrap();
    let backend = start(folder.path(), "names = [\"orion.example\"]").await;
    let cli = Cli::new(&folder.path().join("context.toml"), folder.path());
    // Linux takes this address to the machine itself, and no certificate is for it.
    let port = backend.address.rsplit(':').next().unwrap();
    let named = format!("https://0.0.0.0:{port}");
    let said = cli.run(&["login", "--backend", &named, "--ca", &backend.ca, "--secret", "x"]).await;
    assert_eq!(said.code, 1, "{said:?}");
    for word in ["its certificate is for another name", "a name that is in the certificate"] {
        assert!(said.stderr.contains(word), "{said:?}");
    }
    backend.process.stop().await;
}
