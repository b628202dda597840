//! What a person reads who cannot reach the backend: which of the causes it is, and the next command.

use std::net::SocketAddr;
use std::sync::Arc;

use orion_tests::{Cli, World};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Starts a server that completes TLS with a certificate for this host, and nothing else. Returns its address and
/// its certificate, PEM.
pub(crate) async fn tls_server(
    host: &str,
    change: impl FnOnce(&mut CertificateParams),
) -> (SocketAddr, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    change(&mut params);
    let certificate = params.self_signed(&key).unwrap();
    let (certificate, pem) = (certificate.der().clone(), certificate.pem());
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder().with_no_client_auth();
    let mut config = config.with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(acceptor.accept(stream).await);
        }
    });
    (address, pem)
}

/// The command line of a person who never signed in.
fn somebody(world: &World) -> Cli {
    Cli::new(&world.folder().join("new.toml"), world.folder())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_cause_is_named_with_its_next_step() {
    let world = World::new().await;
    let cli = world.cli();
    let says = async |backend: &str, words: [&str; 2]| {
        let out = cli.run(&["devices", "list", "--backend", backend]).await;
        assert_eq!(out.code, 1, "{backend}: {}", out.stderr);
        for word in words {
            assert!(out.stderr.contains(word), "{backend}: no `{word}` in {}", out.stderr);
        }
    };
    says("http://127.0.0.1:1", ["nothing listens there", "orion-server run"]).await;
    says("https://nowhere.invalid:7080", ["no machine has this name", "check the name"]).await;
    let plain = format!("https://{}", world.people_address());
    says(&plain, ["does not speak TLS", "write the address with http://"]).await;
    let (unknown, _) = tls_server("127.0.0.1", |_| {}).await;
    says(&format!("https://{unknown}"), ["does not trust", "--ca people-ca.pem"]).await;
    let line = ["login", "--backend", &format!("http://{unknown}"), "--secret", "-"];
    let out = somebody(&world).run_with(&line, b"secret").await;
    assert_eq!(out.code, 1, "{}", out.stderr);
    assert!(out.stderr.contains("without an answer that Orion understands"), "{}", out.stderr);
    assert!(out.stderr.contains("begins with https://"), "{}", out.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_does_not_fit_is_named_for_what_is_wrong_with_it() {
    let world = World::new().await;
    let says = async |(address, pem): (SocketAddr, String), word: &str| {
        let file = world.folder().join("authority.pem");
        std::fs::write(&file, pem).unwrap();
        let (backend, file) = (format!("https://{address}"), file.display().to_string());
        let line = ["login", "--backend", &backend, "--ca", &file, "--secret", "-"];
        let out = somebody(&world).run_with(&line, b"secret").await;
        assert_eq!(out.code, 1, "{}", out.stderr);
        assert!(out.stderr.contains(word), "no `{word}` in {}", out.stderr);
    };
    let is_authority =
        |params: &mut CertificateParams| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    says(tls_server("127.0.0.1", is_authority).await, "that of an authority").await;
    says(tls_server("elsewhere.example", |_| {}).await, "is for another name").await;
    let past = time::OffsetDateTime::from_unix_timestamp(1_000_000_000).unwrap();
    says(tls_server("127.0.0.1", |it| it.not_after = past).await, "has expired").await;
}
