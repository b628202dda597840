//! The client against listeners of the test's own, with names that the test answers.

mod redirects;
mod served;

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use orion_catalog::requested_url::RequestedUrl;
use orion_domain::grants::Scope;
use orion_domain::{ErrorCode, ToolError};
use reqwest::Method;
use reqwest::header::HeaderMap;

use super::client::{Outgoing, WebClient};
use super::names::Lookup;
use super::{Answer, Granted, MAX_BYTES};
use served::Site;

/// Names that the test answers: each lookup takes the next answer of its name, and the last one stays.
#[derive(Debug, Default)]
struct Reported {
    answers: Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Reported {
    fn new(answers: &[(&str, &[&str])]) -> Arc<Self> {
        let each = |ip: &&str| vec![ip.parse().unwrap()];
        let named =
            answers.iter().map(|(name, ips)| ((*name).to_owned(), ips.iter().map(each).collect()));
        Arc::new(Self { answers: Mutex::new(named.collect()), asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Lookup for Reported {
    fn lookup(&self, host: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        self.asked.lock().unwrap().push(host.clone());
        let mut answers = self.answers.lock().unwrap();
        let found = answers.get_mut(&host).map(|left| {
            if left.len() > 1 { left.remove(0) } else { left.first().cloned().unwrap_or_default() }
        });
        let found = found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
        let found = found.map(|ips| ips.into_iter().map(|ip| SocketAddr::new(ip, port)).collect());
        core::future::ready(found).boxed()
    }
}

/// Grants these hosts.
fn granting(hosts: &[&str]) -> Granted {
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    Granted::new(Scope { hosts, ..Scope::nothing() })
}

async fn get(names: &Arc<Reported>, url: &str, granted: &Granted) -> Result<Answer, ToolError> {
    let names = Arc::clone(names) as Arc<dyn Lookup>;
    let url = RequestedUrl::parse(url)?.url;
    let outgoing = Outgoing { method: Method::GET, url, headers: HeaderMap::new(), body: None };
    WebClient::with(names, Duration::from_secs(5)).send(outgoing, granted, MAX_BYTES).await
}

#[tokio::test]
async fn a_granted_host_answers_and_the_same_host_without_a_grant_gets_no_connection() {
    let site = Site::start("200 OK", "Content-Type: text/plain\r\n", b"milk").await;
    let names = Reported::new(&[("shop.example", &["127.0.0.1"])]);
    let url = format!("http://shop.example:{}/", site.port);
    let granted = granting(&[&format!("shop.example:{}", site.port)]);
    let answer = get(&names, &url, &granted).await.unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (200, "milk"));
    assert_eq!((site.connections(), names.asked().len()), (1, 1));
    for (url, granted) in [
        (url.clone(), granting(&[])),
        (url.clone(), granting(&["other.example:443"])),
        (format!("http://127.0.0.1:{}/", site.port), granting(&[])),
        (format!("http://[::ffff:127.0.0.1]:{}/", site.port), granting(&[])),
        (format!("http://localhost:{}/", site.port), granting(&[])),
    ] {
        let refused = get(&names, &url, &granted).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::UrlForbidden, "{url}");
    }
    assert_eq!((site.connections(), names.asked().len()), (1, 1), "nothing was looked up either");
}

#[tokio::test]
async fn one_forbidden_address_among_those_of_a_name_forbids_the_name() {
    for ip in
        ["127.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254", "64:ff9b::7f00:1", "2002:7f00:1::"]
    {
        let names = Reported::new(&[("shop.example", &[ip])]);
        let refused = get(&names, "http://shop.example/", &granting(&[])).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::UrlForbidden, "{ip}");
        let both = Reported::default();
        let answer = vec![ip.parse().unwrap(), "1.1.1.1".parse().unwrap()];
        both.answers.lock().unwrap().insert("shop.example".to_owned(), vec![answer]);
        let refused =
            get(&Arc::new(both), "http://shop.example/", &granting(&[])).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::UrlForbidden, "{ip} beside a public one");
    }
    let names = Reported::new(&[("shop.example", &["169.254.169.254"])]);
    let granted = granting(&["shop.example:80"]);
    let refused = get(&names, "http://shop.example/", &granted).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::UrlForbidden, "a granted name leads to no metadata");
}

#[tokio::test]
async fn each_request_asks_for_a_name_once_so_an_answer_that_changes_changes_nothing() {
    let site = Site::start("200 OK", "Content-Type: text/plain\r\n", b"milk").await;
    let forbidden = Site::on("127.0.0.2", site.port, "200 OK", "", b"secret").await;
    let names = Reported::new(&[("shop.example", &["127.0.0.1", "127.0.0.2"])]);
    let url = format!("http://shop.example:{}/", site.port);
    let granted = granting(&[&format!("shop.example:{}", site.port)]);
    assert_eq!(get(&names, &url, &granted).await.unwrap().text(), "milk");
    assert_eq!((names.asked().len(), site.connections(), forbidden.connections()), (1, 1, 0));
}

#[tokio::test]
async fn every_line_of_the_attack_list_is_refused_before_any_connection() {
    let folder = std::env::var("ORION_CORPORA").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpora").to_owned()
    });
    let Ok(list) = std::fs::read_to_string(format!("{folder}/urls/forbidden.txt")) else {
        eprintln!("skipped: there is no attack list in {folder}");
        return;
    };
    let names = Reported::new(&[]);
    let mut tried = 0;
    for line in list.lines().filter(|line| !line.is_empty()) {
        let refused = get(&names, line, &granting(&[])).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::UrlForbidden, "{line}: {refused:?}");
        tried += 1;
    }
    assert!(tried > 100, "{tried}");
    assert_eq!(names.asked(), Vec::<String>::new(), "no line was even looked up");
}
