//! The text of a difference between two policies.

use orion_policy::{diff, diff_risks};

use crate::valid;

const OLD: &str = r#"
profiles:
  laptop: { profile: operator, paths: ["~/Projects"], apps: [code] }
devices:
  a: { profile: laptop, labels: { group: laptops } }
  b: { profile: laptop }
rules:
  - { id: keep, tool: delete_file, users: [ann], action: deny }
  - { id: night, tool: open_app, devices: a, action: ask }
  - { id: gone, tool: copy_path, action: ask }
"#;

const NEW: &str = r#"
timezone: Europe/Berlin
risk: { medium: ask }
profiles:
  laptop: { profile: operator, paths: [{ path: "~/Projects", access: read }], apps: [code, chrome] }
devices:
  c: { profile: reader, paths: [/srv] }
  a: { profile: laptop, labels: { group: laptops, env: prod }, tools: [read_file], read_only: true }
rules:
  - { id: night, tools: [open_app, copy_path], devices: [a, c], hours: { from: "22:00", to: "07:00" }, action: deny }
  - { id: keep, tool: delete_file, users: [ann], action: deny }
  - { id: fresh, tool: move_path, action: dry_run_first }
  - { id: tidy, tool: read_file, users: [ann], devices: c, paths: ["/srv/tmp/**"], expires: "2027-01-01T00:00", action: deny }
  - { id: two, tool: delete_file, action: ask, approvers: { role: admin, count: 2 } }
"#;

#[test]
fn a_change_is_told_by_device_and_rule() {
    let lines: Vec<_> = diff(&valid(OLD), &valid(NEW)).iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    ~ timezone: UTC → Europe/Berlin
    ~ risk: {low:allow,medium:allow} → {low:allow,medium:ask}
    ~ device a: tools become a list, and no others are granted: read_file
    ~ device a: paths + ~/Projects (read)
    ~ device a: paths - ~/Projects (read, write, delete)
    ~ device a: apps + chrome
    ~ device a: read_only false → true
    ~ device a: labels + env=prod
    - device b
    + device c: profile reader; paths /srv (read, write, delete)
    + rule fresh: action dry_run_first; tools move_path; devices all
    - rule gone
    ~ rule night: action: ask → deny
    ~ rule night: devices: a → a, c
    ~ rule night: hours: none → 22:00 to 07:00
    ~ rule night: tools: open_app → copy_path, open_app
    + rule tidy: action deny; tools read_file; devices c; expires 2026-12-31T23:00:00Z; paths /srv/tmp/**; users ann
    + rule two: action ask; tools delete_file; devices all; approvers {count:2,not_requester:false,reason:false,role:admin}
    ");
}

#[test]
fn a_list_that_comes_or_goes_is_described_by_what_is_granted_then() {
    let of = |device: &str| valid(&format!("devices:\n  a: {{ {device} }}"));
    let lines_of = |old: &str, new: &str| -> Vec<String> {
        let lines = diff(&of(old), &of(new));
        lines.iter().map(|line| line.to_string().replacen("~ device a: ", "", 1)).collect()
    };
    let (profile, tools) = ("profile: developer", "profile: developer, tools: [read_file]");
    assert_eq!(
        lines_of(profile, tools),
        ["tools become a list, and no others are granted: read_file"]
    );
    assert_eq!(
        lines_of(tools, profile),
        ["tools are not listed any more, and every tool of the granted capabilities is granted"]
    );
    let programs = "profile: developer, commands: [git]";
    assert_eq!(
        lines_of(profile, programs),
        ["commands become a list, and no others are granted: git"]
    );
    assert_eq!(
        lines_of(programs, profile),
        [
            "commands are not listed any more, and any program may be started that does not give the whole machine"
        ]
    );
    let none = "profile: developer, commands: []";
    assert_eq!(
        lines_of(profile, none),
        ["commands become a list, and no others are granted: none"]
    );
    assert_eq!(
        lines_of("profile: developer, hosts: [\"example.com:443\"]", profile),
        ["hosts are not listed any more, and any URL may be opened, and no host contacted"]
    );
    let capabilities = "profile: developer, capabilities: [file_read]";
    assert_eq!(
        lines_of(capabilities, profile),
        ["capabilities are not listed any more, and those of the profile are granted"]
    );
}

#[test]
fn what_a_risk_requires_is_told_in_the_words_of_the_file() {
    let of = |old: &str, new: &str| -> Vec<_> {
        diff(&valid(old), &valid(new)).iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        of("risk: { critical: ask_passkey }", "risk: { low: notify }"),
        ["~ risk: {low:allow,medium:allow,critical:ask_passkey} → {low:notify,medium:notify}"]
    );
    assert_eq!(of("risk: { high: ask }", "version: 1"), Vec::<String>::new());
    let risks = |text: &str| serde_json::from_str(text).unwrap();
    let (old, new) = (risks("{}"), risks(r#"{"medium": "ask"}"#));
    assert_eq!(diff_risks(old, new), ["risk medium: allow → ask"]);
    let signed =
        "rules: [{ id: a, tools: [delete_file], action: ask, approvers: { passkey: required } }]";
    let plain = signed.replace("required", "optional");
    let [line] = &of(signed, &plain)[..] else { panic!("one rule changed") };
    assert!(line.contains("passkey"), "{line}");
    let allows = "rules: [{ id: a, tool: analyze_disk, action: allow, require_approval: false }]";
    assert_eq!(
        of("version: 1", allows),
        ["+ rule a: action allow; tools analyze_disk; devices all"]
    );
}

#[test]
fn moving_things_about_is_no_change() {
    let moved = r#"
rules:
  - { id: gone, tools: [copy_path], devices: all, action: ask }
  - { id: keep, tool: delete_file, users: [ann], action: deny }
  - { id: night, tool: open_app, devices: [a], action: allow, require_approval: true }
devices:
  b: { profile: operator, paths: ["~/Projects"], apps: [code] }
  a: { profile: operator, paths: ["~/Projects"], apps: [code], labels: { group: laptops } }
"#;
    assert_eq!(diff(&valid(OLD), &valid(moved)), []);
    assert_eq!(diff(&valid(OLD), &valid(OLD)), []);
}
