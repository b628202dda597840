//! Contacts with listeners of the test.

use std::net::TcpListener;

use super::*;
use crate::tools::testing::Device;

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

#[test]
fn a_listener_accepts_and_a_closed_port_refuses() {
    let device = Device::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = listener.local_addr().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    device.with_context(|context| {
        let hosts = [vec![open], vec![closed], vec![closed, open], Vec::new()];
        let contacts = contact(&hosts, context).unwrap();
        assert!(matches!(contacts[0], Contact::Accepted(_)), "{contacts:?}");
        assert!(matches!(contacts[1], Contact::Refused(_)), "{contacts:?}");
        assert!(matches!(contacts[2], Contact::Accepted(_)), "{contacts:?}");
        assert_eq!(contacts[3], Contact::Silent);
        let many = vec![vec![closed]; 3 * MAX_AT_ONCE + 1];
        assert_eq!(contact(&many, context).unwrap().len(), many.len());
    });
    device.cancelled.store(true, Ordering::Relaxed);
    let stopped = device.with_context(|context| contact(&[vec![open]], context).unwrap_err());
    assert_eq!(stopped.code, ErrorCode::Cancelled);
}

#[test]
fn a_name_that_leads_to_the_device_itself_is_forbidden_and_an_unknown_one_fails() {
    let device = Device::new();
    device.with_context(|context| {
        // The resolver of the operating system reads this as 127.0.0.1.
        let refused = resolve(&address("127.1:80"), context).unwrap_err();
        assert_eq!(refused.code, ErrorCode::UrlForbidden, "{refused}");
        let none = resolve(&address("nowhere.invalid:80"), context).unwrap_err();
        assert_eq!(none.code, ErrorCode::ExecutionFailed, "{none}");
        let written = resolve(&address("192.0.2.1:80"), context).unwrap();
        assert_eq!(written, [IpAddr::from([192, 0, 2, 1])]);
        let nobody = resolve(&address("224.0.0.1:80"), context).unwrap_err();
        assert_eq!(nobody.code, ErrorCode::UrlForbidden);
        assert_eq!(resolve(&address("localhost:80"), context).unwrap().len(), 2);
    });
}
