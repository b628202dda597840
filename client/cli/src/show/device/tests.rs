//! Tables and pages of devices.

use super::*;
use crate::global::Format;

fn out(format: Format) -> Output {
    Output::in_a_test(format)
}

fn devices() -> Vec<DeviceView> {
    let laptop = v1::Device {
        device_id: "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e".to_owned(),
        name: "laptop-123".to_owned(),
        state: v1::DeviceState::Approved as i32,
        online: true,
        os: "linux".to_owned(),
        hostname: "lap".to_owned(),
        agent_version: "0.1.0".to_owned(),
        fingerprint_words: "amber-birch".to_owned(),
        enrolled_at: 1_700_000_000_000,
        last_seen_at: 1_700_000_100_000,
        policy_version: "0123456789abcdef".to_owned(),
        acknowledged_policy_version: "0123456789abcdef".to_owned(),
        certificate_not_after: 1_700_086_400_000,
        grants: r#"{"profile":"reader"}"#.to_owned(),
        ceiling: String::new(),
        sandbox: "handles".to_owned(),
        labels: [("group".into(), "laptops".into()), ("env".into(), "lab".into())].into(),
        ..v1::Device::default()
    };
    let kiosk = v1::Device {
        name: "kiosk".to_owned(),
        state: v1::DeviceState::Pending as i32,
        pending_reason: "another device of its token was revoked".to_owned(),
        ..v1::Device::default()
    };
    let lagging = v1::Device {
        name: "lagging".to_owned(),
        acknowledged_policy_version: String::new(),
        online: false,
        ..laptop.clone()
    };
    [laptop, kiosk, lagging].into_iter().map(DeviceView::from).collect()
}

#[test]
fn devices_stand_in_a_table() {
    insta::assert_snapshot!(devices_table(&out(Format::Table), &devices()), @"
    NAME        STATE     ONLINE  OS     POLICY                              LAST SEEN
    laptop-123  approved  yes     linux  0123456789a… active                 now
    kiosk       pending   no             none                                -
    lagging     approved  no      linux  0123456789a… not yet on the device  2023-11-14 22:15:00
    lagging: certificate expired on 2023-11-15 22:13:20; the device renews it when it connects
    kiosk waits because another device of its token was revoked
    ");
}

#[test]
fn a_wide_table_and_a_page_show_the_rest() {
    insta::assert_snapshot!(devices_table(&out(Format::Wide), &devices()[..1]), @"
    NAME        STATE     ONLINE  OS     POLICY               LAST SEEN  LABELS                  HOSTNAME  AGENT  SANDBOX  CERTIFICATE UNTIL    FINGERPRINT  ID
    laptop-123  approved  yes     linux  0123456789a… active  now        env=lab, group=laptops  lap       0.1.0  handles  2023-11-15 22:13:20  amber-birch  0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e
    ");
    insta::assert_snapshot!(devices()[0].page(&out(Format::Table)), @"
    name         laptop-123
    id           0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e
    state        approved
    online       yes
    system       linux
    hostname     lap
    agent        0.1.0
    fingerprint  amber-birch
    sandbox      handles
    enrolled     2023-11-14 22:13:20
    last seen    now
    certificate  until 2023-11-15 22:13:20
    policy       0123456789a… active
    labels       env=lab, group=laptops
    grants       profile: reader
    ");
}
