//! Which addresses the backend connects to for a call, on a network in which every address answers: none that is not
//! public, however it is written, whatever names lead to it, and wherever a web server sends the call on.
#![cfg(target_os = "linux")]

mod name_server;
mod sites;

use std::net::IpAddr;

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Call, Namespace, World, enter_namespace, lead_everything_here};
use orion_wire::v1;
use serde_json::{Value, json};

use name_server::NameServer;
use sites::Sites;

/// The public address of the web server.
const PUBLIC: &str = "93.184.216.34";
const PUBLIC_6: &str = "2606:2800:220:1:248:1893:25c8:1946";
/// Where names are asked for.
const NAME_SERVER: &str = "9.9.9.9";

/// Addresses of our own besides the list, in many forms.
const FORBIDDEN: [&str; 46] = [
    "http://127.0.0.1/",
    "http://127.0.0.1:8080/",
    "http://127.1/",
    "http://0.0.0.0/",
    "http://0/",
    "http://10.0.0.1/",
    "http://10.255.255.254/",
    "http://100.64.0.1/",
    "http://100.127.255.254/",
    "http://169.254.169.254/",
    "http://169.254.170.2/",
    "http://168.63.129.16/",
    "http://172.16.0.1/",
    "http://172.31.255.254/",
    "http://192.168.0.1/",
    "http://192.0.0.192/",
    "http://192.0.2.1/",
    "http://198.18.0.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://2130706433/",
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:53aa:64c:0:0:f5ff:fffe]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://[100::1]/",
    "http://localhost/",
    "http://rebound.example/",
];

/// Names whose addresses are not all public.
const BAD_NAMES: [&str; 8] = [
    "loopback.example",
    "loopback6.example",
    "mapped.example",
    "private.example",
    "mixed.example",
    "mixed6.example",
    "cname.example",
    "metadata.example",
];

/// Reads the list of addresses that must never be connected to. Empty where it is not there.
fn listed() -> Vec<String> {
    let folder = std::env::var("ORION_CORPORA").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpora").to_owned()
    });
    let text = std::fs::read_to_string(format!("{folder}/urls/forbidden.txt")).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

struct Network {
    world: World,
    sites: Sites,
    names: NameServer,
}

impl Network {
    /// Starts the name server, the web servers and a backend that may request what is public.
    async fn start(hosts: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        lead_everything_here(folder.path(), NAME_SERVER);
        let names = NameServer::start(NAME_SERVER).await;
        let sites = Sites::start().await;
        let world = World::new().await;
        let grants = json!({
            "tools": ["fetch_webpage", "http_request"], "capabilities": ["network_access"],
        });
        let mut grants = grants;
        if !hosts.is_empty() {
            grants["hosts"] = json!(hosts);
        }
        let request = v1::SetDevicePermissionsRequest {
            device: "backend".to_owned(),
            grants: grants.to_string(),
            ..Default::default()
        };
        world.admin().policy().set_device_permissions(request).await.unwrap();
        Self { world, sites, names }
    }

    async fn call(&self, tool: &str, arguments: Value) -> Call {
        self.world.admin().call("backend", tool, arguments).await
    }

    /// Requests an address in every way. Returns the calls.
    async fn every_way(&self, url: &str) -> Vec<Call> {
        let mut calls = vec![self.call("fetch_webpage", json!({ "url": url })).await];
        calls.push(self.call("http_request", json!({ "url": url })).await);
        let post = json!({"url": url, "method": "POST", "data": "x"});
        calls.push(self.call("http_request", post).await);
        calls
    }

    /// The connections to addresses that are not those of the public server.
    fn forbidden(&self) -> Vec<IpAddr> {
        let public: [IpAddr; 2] = [PUBLIC, PUBLIC_6].map(|ip| ip.parse().unwrap());
        self.sites.connections().into_iter().filter(|ip| !public.contains(ip)).collect()
    }
}

/// Runs the rest of a test in a namespace, or says why it does not.
macro_rules! in_namespace {
    ($test:literal) => {
        match enter_namespace(concat!("forbidden_addresses::", $test)) {
            Namespace::Inside => {}
            Namespace::Passed(printed) => {
                print!("{printed}");
                return;
            }
            Namespace::Unavailable(why) => {
                println!("skipped: there is no network namespace here: {why}");
                return;
            }
        }
    };
}

fn assert_refused(url: &str, call: &Call) {
    let codes = [ErrorCode::UrlForbidden, ErrorCode::InvalidArgument, ErrorCode::ExecutionFailed];
    let (state, code) = call.end();
    assert!(state.is_closed() && state != CallState::Succeeded, "{url}: {call:?}");
    assert!(code.is_some_and(|code| codes.contains(&code)), "{url}: {call:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_forbidden_address_is_connected_to_however_it_is_written() {
    in_namespace!("no_forbidden_address_is_connected_to_however_it_is_written");
    let network = Network::start(&[]).await;
    network.sites.assert_every_address_answers().await;
    let urls: Vec<_> = FORBIDDEN.iter().map(|url| (*url).to_owned()).chain(listed()).collect();
    for url in &urls {
        for call in network.every_way(url).await {
            assert_refused(url, &call);
        }
        assert_eq!(network.sites.connections(), Vec::<IpAddr>::new(), "{url}");
    }
    for name in BAD_NAMES {
        for url in [format!("http://{name}/"), format!("https://{name}/")] {
            for call in network.every_way(&url).await {
                assert_refused(&url, &call);
            }
        }
        assert!(network.names.asked(name) > 0, "{name} was looked up");
        assert_eq!(network.sites.connections(), Vec::<IpAddr>::new(), "{name}");
    }
    println!(
        "{} addresses of the list, {} of this test and {} names: 0 connections",
        urls.len() - FORBIDDEN.len(),
        FORBIDDEN.len(),
        BAD_NAMES.len()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_redirect_leads_to_a_forbidden_address() {
    in_namespace!("no_redirect_leads_to_a_forbidden_address");
    let network = Network::start(&[]).await;
    let urls: Vec<_> = FORBIDDEN
        .iter()
        .map(|url| (*url).to_owned())
        .chain(BAD_NAMES.map(|name| format!("http://{name}/")))
        .chain(
            ["//127.0.0.1/", "//[::1]/", "///169.254.169.254/", "http:127.0.0.1"]
                .map(str::to_owned),
        )
        .chain(listed())
        .collect();
    for url in &urls {
        let status = [301, 302, 303, 307, 308][url.len() % 5];
        network.sites.redirect_to(url, status);
        let call =
            network.call("fetch_webpage", json!({"url": "http://shop.example/redirect"})).await;
        assert_ne!(call.state, CallState::Unknown, "{url}: {call:?}");
        assert_eq!(network.forbidden(), Vec::<IpAddr>::new(), "{url}: {call:?}");
    }
    assert!(
        network.sites.connections().len() >= urls.len(),
        "the redirects were followed up to them"
    );
    println!("{} redirects: 0 connections to forbidden addresses", urls.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_whose_address_changes_between_look_ups_is_checked_at_each_of_them() {
    in_namespace!("a_name_whose_address_changes_between_look_ups_is_checked_at_each_of_them");
    let network = Network::start(&[]).await;
    for number in 0..20 {
        // Each name is public at the first look-up, and leads inside from then on.
        let name = format!("flip{number}.example");
        let first =
            network.call("fetch_webpage", json!({"url": format!("http://{name}/page")})).await;
        assert_eq!(first.data()["content"], "Welcome.", "{first:?}");
        let second =
            network.call("fetch_webpage", json!({"url": format!("http://{name}/page")})).await;
        assert_eq!(second.error().code, ErrorCode::UrlForbidden, "{second:?}");
        // A redirect to the same name looks it up again.
        let name = format!("flip{}.example", number + 100);
        network.sites.redirect_to(&format!("http://{name}/page"), 302);
        let url = format!("http://{name}/redirect");
        let redirected = network.call("fetch_webpage", json!({ "url": url })).await;
        assert_eq!(redirected.error().code, ErrorCode::UrlForbidden, "{redirected:?}");
        assert_eq!(network.forbidden(), Vec::<IpAddr>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_public_or_granted_is_reached() {
    in_namespace!("what_is_public_or_granted_is_reached");
    let network = Network::start(&[]).await;
    network.sites.redirect_to("http://other.example/page", 302);
    for url in [
        "http://shop.example/page",
        "http://SHOP.example/page",
        "http://six.example/page",
        "http://both.example/page",
        "http://alias.example/page",
        "http://93.184.216.34/page",
        "http://[2606:2800:220:1:248:1893:25c8:1946]/page",
        "http://shop.example/redirect",
    ] {
        let page = network.call("fetch_webpage", json!({ "url": url })).await;
        assert_eq!(page.data()["content"], "Welcome.", "{url}: {page:?}");
        let request = network.call("http_request", json!({ "url": url })).await;
        assert_eq!(request.data()["status_code"], 200, "{url}: {request:?}");
    }
    let post = json!({"url": "http://shop.example/page", "method": "POST", "data": {"a": 1}});
    assert_eq!(network.call("http_request", post).await.data()["status_code"], 200);
    assert_eq!(network.forbidden(), Vec::<IpAddr>::new());

    // A grant that names an inner host opens that host at that port, and nothing beside it.
    let grants = json!({
        "tools": ["fetch_webpage"], "capabilities": ["network_access"],
        "hosts": ["10.1.2.3:8080", "private.example:80"],
    });
    let request = v1::SetDevicePermissionsRequest {
        device: "backend".to_owned(),
        grants: grants.to_string(),
        ..Default::default()
    };
    network.world.admin().policy().set_device_permissions(request).await.unwrap();
    for url in ["http://10.1.2.3:8080/page", "http://private.example/page"] {
        let page = network.call("fetch_webpage", json!({ "url": url })).await;
        assert_eq!(page.data()["content"], "Welcome.", "{url}: {page:?}");
    }
    let inner: Vec<IpAddr> = ["10.1.2.3", "10.9.9.9"].map(|ip| ip.parse().unwrap()).into();
    assert_eq!(network.forbidden(), inner);
    for url in ["http://10.1.2.3/page", "http://10.1.2.4:8080/page", "http://shop.example/page"] {
        let refused = network.call("fetch_webpage", json!({ "url": url })).await;
        assert_eq!(refused.error().code, ErrorCode::UrlForbidden, "{url}: {refused:?}");
    }
    assert_eq!(network.forbidden(), inner, "nothing beside them");
}
