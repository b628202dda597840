//! The proxy over plain TCP.

use std::io::ErrorKind;
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::*;
use crate::eventually::eventually;

/// Long enough for a byte to pass, if one were sent.
const MOMENT: Duration = Duration::from_millis(80);

/// Returns a proxy, and both ends of one connection through it.
async fn through() -> (Proxy, TcpListener, TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = Proxy::start(&listener.local_addr().unwrap().to_string()).await;
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    client.write_all(b".").await.unwrap();
    receive(&mut server, ".").await;
    (proxy, listener, client, server)
}

async fn receive(stream: &mut TcpStream, text: &str) {
    let mut received = vec![0; text.len()];
    stream.read_exact(&mut received).await.unwrap();
    assert_eq!(String::from_utf8(received).unwrap(), text);
}

async fn is_silent(stream: &mut TcpStream) -> bool {
    timeout(MOMENT, stream.read(&mut [0; 16])).await.is_err()
}

async fn ends_by(stream: &mut TcpStream) -> Result<usize, ErrorKind> {
    stream.read(&mut [0; 16]).await.map_err(|error| error.kind())
}

#[tokio::test]
async fn bytes_move_both_ways_and_each_end_hears_of_the_others() {
    let (proxy, _listener, mut client, mut server) = through().await;
    client.write_all(b"question").await.unwrap();
    receive(&mut server, "question").await;
    server.write_all(b"answer").await.unwrap();
    receive(&mut client, "answer").await;
    assert_eq!((proxy.moved(), proxy.connections()), ((9, 6), 1));
    client.shutdown().await.unwrap();
    assert_eq!(ends_by(&mut server).await, Ok(0));
    server.write_all(b"still there").await.unwrap();
    receive(&mut client, "still there").await;
    drop(server);
    assert_eq!(ends_by(&mut client).await, Ok(0));
    eventually("the end", async || (proxy.connections() == 0).then_some(())).await;
}

#[tokio::test]
async fn a_new_target_is_for_new_connections() {
    let (proxy, _listener, mut client, mut server) = through().await;
    let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
    proxy.aim(&other.local_addr().unwrap().to_string());
    let mut second = TcpStream::connect(proxy.address()).await.unwrap();
    let (mut reached, _) = other.accept().await.unwrap();
    second.write_all(b"new").await.unwrap();
    receive(&mut reached, "new").await;
    client.write_all(b"old").await.unwrap();
    receive(&mut server, "old").await;
    drop(other);
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    proxy.aim(&nobody.local_addr().unwrap().to_string());
    drop(nobody);
    let mut third = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(ends_by(&mut third).await, Err(ErrorKind::ConnectionReset));
}

#[tokio::test]
async fn what_is_held_arrives_later_and_whole() {
    let (proxy, listener, mut client, mut server) = through().await;
    proxy.set(Faults::both(Flow::Held));
    client.write_all(b"kept").await.unwrap();
    server.write_all(b"too").await.unwrap();
    assert!(is_silent(&mut server).await && is_silent(&mut client).await);
    // A new connection is accepted and not forwarded.
    let mut second = TcpStream::connect(proxy.address()).await.unwrap();
    second.write_all(b"late").await.unwrap();
    assert!(timeout(MOMENT, listener.accept()).await.is_err());
    proxy.heal();
    receive(&mut server, "kept").await;
    receive(&mut client, "too").await;
    let (mut reached, _) = listener.accept().await.unwrap();
    receive(&mut reached, "late").await;
}

#[tokio::test]
async fn one_direction_is_held_and_the_other_moves() {
    let (proxy, _listener, mut client, mut server) = through().await;
    proxy.set(Faults::down(Flow::Held));
    client.write_all(b"heard").await.unwrap();
    receive(&mut server, "heard").await;
    server.write_all(b"unheard").await.unwrap();
    assert!(is_silent(&mut client).await);
    proxy.set(Faults::up(Flow::Held));
    receive(&mut client, "unheard").await;
    client.write_all(b"x").await.unwrap();
    assert!(is_silent(&mut server).await);
}

#[tokio::test]
async fn an_end_is_not_heard_of_while_it_is_held() {
    let (proxy, _listener, client, mut server) = through().await;
    proxy.set(Faults::up(Flow::Held));
    drop(client);
    // Data to a closed peer is answered by a reset, which is held as well.
    server.write_all(b"is anybody there?").await.unwrap();
    assert!(is_silent(&mut server).await);
    server.write_all(b"hello?").await.unwrap();
    assert!(is_silent(&mut server).await);
    proxy.heal();
    let ended = ends_by(&mut server).await;
    assert!(matches!(ended, Ok(0) | Err(ErrorKind::ConnectionReset)), "{ended:?}");
    eventually("the end", async || (proxy.connections() == 0).then_some(())).await;
}

#[tokio::test]
async fn a_cut_is_a_reset_or_a_finish_for_both_sides() {
    for (how, ended) in [(Cut::Reset, Err(ErrorKind::ConnectionReset)), (Cut::Finish, Ok(0))] {
        let (proxy, _listener, mut client, mut server) = through().await;
        proxy.set(Faults::both(Flow::Held));
        proxy.cut(how);
        assert_eq!(ends_by(&mut client).await, ended, "{how:?}");
        assert_eq!(ends_by(&mut server).await, ended, "{how:?}");
        drop((client, server));
        eventually("the end", async || (proxy.connections() == 0).then_some(())).await;
    }
}

#[tokio::test]
async fn a_refusal_is_for_new_connections() {
    let (proxy, _listener, mut client, mut server) = through().await;
    proxy.set(Faults::refusing());
    let refused = match TcpStream::connect(proxy.address()).await {
        Ok(mut second) => ends_by(&mut second).await,
        Err(error) => Err(error.kind()),
    };
    assert_eq!(refused, Err(ErrorKind::ConnectionReset));
    client.write_all(b"unharmed").await.unwrap();
    receive(&mut server, "unharmed").await;
}

#[tokio::test]
async fn slow_and_late_take_the_time_they_say_and_lose_nothing() {
    let (proxy, _listener, mut client, mut server) = through().await;
    let text = "0123456789".repeat(200);
    for (flow, least) in [
        (Flow::Slow(10_000), Duration::from_millis(190)),
        (Flow::Late(Duration::from_millis(60)), Duration::from_millis(60)),
        (Flow::Bytewise, Duration::ZERO),
    ] {
        proxy.set(Faults::up(flow));
        let began = Instant::now();
        client.write_all(text.as_bytes()).await.unwrap();
        receive(&mut server, &text).await;
        assert!(began.elapsed() >= least, "{flow:?} took {:?}", began.elapsed());
        proxy.set(Faults::down(flow));
        server.write_all(text.as_bytes()).await.unwrap();
        receive(&mut client, &text).await;
    }
}

#[tokio::test]
async fn a_reset_of_one_side_reaches_the_other() {
    let (proxy, _listener, mut client, server) = through().await;
    server.set_zero_linger().unwrap();
    drop(server);
    assert_eq!(ends_by(&mut client).await, Err(ErrorKind::ConnectionReset));
    eventually("the end", async || (proxy.connections() == 0).then_some(())).await;
}
