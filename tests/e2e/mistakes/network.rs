//! Addresses where no backend answers: nothing listens, another program answers, or TLS does not fit.

use std::net::SocketAddr;

use orion_tests::{Cli, World};
use rcgen::CertificateParams;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::Mistakes;
use crate::unreachable::tls_server;

/// A server that answers every connection with these bytes, and then says nothing more.
async fn answering(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut read = [0; 1024];
                if answer.is_empty() {
                    // Reads on, and never answers.
                    while stream.read(&mut read).await.is_ok_and(|count| count > 0) {}
                    return;
                }
                let _ = stream.read(&mut read).await;
                let _ = stream.write_all(answer).await;
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_without_a_backend_says_which_of_the_causes_it_is() {
    let world = World::new().await;
    let page = answering(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await;
    let mail = answering(b"220 mail.example ESMTP\r\n").await;
    let silent = answering(b"").await;
    let (unknown, authority) = tls_server("127.0.0.1", |_| {}).await;
    let past = time::OffsetDateTime::from_unix_timestamp(1_000_000_000).unwrap();
    let expires = |params: &mut CertificateParams| params.not_after = past;
    let (expired, expired_pem) = tls_server("127.0.0.1", expires).await;
    let (elsewhere, elsewhere_pem) = tls_server("elsewhere.example", |_| {}).await;
    let file = |name: &str, text: &str| std::fs::write(world.folder().join(name), text).unwrap();
    file("authority.pem", &authority);
    file("expired.pem", &expired_pem);
    file("elsewhere.pem", &elsewhere_pem);
    file("notes.txt", "Milk\n");
    let mut mistakes = Mistakes::new(&world);
    // Somebody who never signed in.
    mistakes.cli = Cli::new(&world.folder().join("new.toml"), world.folder());
    for (address, word) in [
        (page, "[page]"),
        (mail, "[mail]"),
        (silent, "[silent]"),
        (unknown, "[unknown]"),
        (expired, "[expired]"),
        (elsewhere, "[elsewhere]"),
    ] {
        mistakes.replacing(address, word);
    }
    let backend = world.people_address();
    let devices = world.device_address();
    let login = |rest: &str| format!("orion login --user ann --password-stdin --backend {rest}");
    for (line, code) in [
        ("orion status --backend 127.0.0.1:7080".to_owned(), 2),
        ("orion status --backend localhost".to_owned(), 2),
        ("orion status --backend ftp://orion.example".to_owned(), 2),
        ("orion status --backend http://orion.example".to_owned(), 2),
        ("orion status --backend 'http://my backend'".to_owned(), 2),
        ("orion status --backend http://127.0.0.1:1".to_owned(), 1),
        (format!("orion status --backend https://{backend}"), 1),
        (format!("orion status --backend http://{unknown}"), 1),
        (login(&format!("http://{devices}")), 1),
        (login(&format!("https://{devices}")), 1),
        (login(&format!("http://{page}")), 1),
        (login(&format!("http://{mail}")), 1),
        (login(&format!("http://{silent} --timeout 2s")), 8),
        (login(&format!("http://{unknown}")), 1),
        (login(&format!("https://{unknown}")), 1),
        (login(&format!("https://{unknown} --ca missing.pem")), 3),
        (login(&format!("https://{unknown} --ca notes.txt")), 1),
        (login(&format!("https://{unknown} --ca elsewhere.pem")), 1),
        (login(&format!("https://{expired} --ca expired.pem")), 1),
        (login(&format!("https://{elsewhere} --ca elsewhere.pem")), 1),
    ] {
        mistakes.make_with(&line, b"a password of ann", code).await;
    }
    insta::assert_snapshot!("network", mistakes.done());
}
