//! Redirects, and answers that are too large or compressed.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::header::HeaderValue;

use super::*;

async fn redirecting(to: &str) -> Site {
    Site::start("302 Found", &format!("Location: {to}\r\n"), b"").await
}

#[tokio::test]
async fn a_redirect_leads_to_no_forbidden_address_and_to_no_other_granted_host() {
    let inner = Site::start("200 OK", "", b"secret").await;
    let inner_host = format!("inner.example:{}", inner.port);
    let names =
        Reported::new(&[("shop.example", &["127.0.0.1"]), ("inner.example", &["127.0.0.1"])]);
    for to in [
        format!("http://127.0.0.1:{}/", inner.port),
        format!("http://[::1]:{}/", inner.port),
        format!("http://[::ffff:127.0.0.1]:{}/", inner.port),
        format!("http://2130706433:{}/", inner.port),
        format!("http://localhost:{}/", inner.port),
        format!("http://{inner_host}/"),
        format!("//{inner_host}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "gopher://127.0.0.1/".to_owned(),
        "http://ann@shop.example/".to_owned(),
    ] {
        let site = redirecting(&to).await;
        let host = format!("shop.example:{}", site.port);
        let granted = granting(&[&host, &inner_host, "127.0.0.1:1"]);
        let refused = get(&names, &format!("http://{host}/"), &granted).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::UrlForbidden, "{to}: {refused:?}");
        assert_eq!((site.connections(), inner.connections()), (1, 0), "{to}");
    }
}

#[tokio::test]
async fn a_redirect_within_the_host_is_followed_five_times() {
    let site = redirecting("/again").await;
    let host = format!("shop.example:{}", site.port);
    let names = Reported::new(&[("shop.example", &["127.0.0.1"])]);
    let failed = get(&names, &format!("http://{host}/"), &granting(&[&host])).await.unwrap_err();
    assert_eq!(failed.code, ErrorCode::ExecutionFailed);
    assert_eq!((site.connections(), names.asked().len()), (6, 6), "a name is asked for each time");
}

#[tokio::test]
async fn an_answer_that_changes_at_a_redirect_is_checked_again() {
    let site = redirecting("/again").await;
    let host = format!("shop.example:{}", site.port);
    let names = Reported::new(&[("shop.example", &["127.0.0.1", "169.254.169.254"])]);
    let refused = get(&names, &format!("http://{host}/"), &granting(&[&host])).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::UrlForbidden);
    assert_eq!((site.connections(), names.asked().len()), (1, 2));
}

#[tokio::test]
async fn what_is_sent_goes_to_its_address_alone() {
    let site = redirecting("/again").await;
    let host = format!("shop.example:{}", site.port);
    let names = Reported::new(&[("shop.example", &["127.0.0.1"])]) as Arc<dyn Lookup>;
    let url = RequestedUrl::parse(&format!("http://{host}/")).unwrap().url;
    let headers: HeaderMap =
        [("x-kind".parse().unwrap(), HeaderValue::from_static("milk"))].into_iter().collect();
    let outgoing = Outgoing { method: Method::POST, url, headers, body: Some(b"data".to_vec()) };
    let client = WebClient::with(names, Duration::from_secs(5));
    let answer = client.send(outgoing, &granting(&[&host]), MAX_BYTES).await.unwrap();
    assert_eq!((answer.status, site.connections()), (302, 1));
    let [request] = &site.requests()[..] else { panic!("one request") };
    assert!(
        request.starts_with("POST / HTTP/1.1\r\n") && request.contains("x-kind: milk"),
        "{request}"
    );
    assert!(request.ends_with("\r\n\r\ndata"), "{request}");
}

#[tokio::test]
async fn an_answer_is_bounded_before_and_after_decompression_and_read_in_its_encoding() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&vec![b'a'; 64 * 1024 * 1024]).unwrap();
    let bomb = gzip.finish().unwrap();
    let plain = vec![b'b'; MAX_BYTES + 1];
    let latin = b"<html><head><meta charset=iso-8859-1></head>caf\xe9";
    for (headers, body, length, truncated, start) in [
        (
            "Content-Type: text/plain\r\nContent-Encoding: gzip\r\n",
            &bomb[..],
            MAX_BYTES,
            true,
            "aaa",
        ),
        ("Content-Type: text/plain\r\n", &plain[..], MAX_BYTES, true, "bbb"),
        ("Content-Type: text/html\r\n", &latin[..], latin.len(), false, "<html>"),
    ] {
        let site = Site::start("200 OK", headers, body).await;
        let host = format!("shop.example:{}", site.port);
        let names = Reported::new(&[("shop.example", &["127.0.0.1"])]);
        let answer = get(&names, &format!("http://{host}/"), &granting(&[&host])).await.unwrap();
        assert_eq!((answer.body.len(), answer.truncated), (length, truncated));
        assert!(answer.text().starts_with(start));
        assert_eq!(answer.text().contains('\u{e9}'), start == "<html>");
    }
}
