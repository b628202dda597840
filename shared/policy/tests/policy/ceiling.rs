//! Grants that the ceiling of a device's owner does not allow.

use orion_domain::{PathStyle, Places};
use orion_policy::{Code, Facts, LintContext, check};

#[test]
fn a_grant_above_the_ceiling_of_the_owner_is_reported() {
    let places = Places::parse(PathStyle::Posix, None, Some("/home/ann")).unwrap();
    let ceiling = serde_json::from_value(serde_json::json!({
        "tools": ["read_file", "write_file"],
        "apps": ["code"],
        "services": ["nginx.service"],
        "paths": [
            { "path": "/home/ann/notes", "access": ["read"] },
            { "path": "/srv/www", "access": ["read", "write"] },
        ],
    }));
    let facts = Facts { places, folds_case: false, ceiling: Some(ceiling.unwrap()) };
    let devices = Some([("kiosk".parse().unwrap(), Some(facts))].into());
    let text = "\
devices:
  kiosk:
    tools: [read_file, write_file, delete_file]
    apps: [code, firefox]
    services: [nginx.service, ssh.service]
    logs: [nginx.service]
    paths:
      - { path: /home/ann/notes/old, access: [read, write] }
      - { path: /home/ann, access: [read] }
      - { path: /srv/www/a, access: [read, write] }
      - { path: /srv/www, access: [read, write, delete] }
";
    let context = LintContext { devices, ..LintContext::default() };
    let (file, found) = check(text, "policy.yaml", &context);
    assert!(file.is_some(), "a warning keeps no file from loading");
    let hints: Vec<_> = found.iter().filter_map(|it| it.hint.split('`').nth(1)).collect();
    assert_eq!(
        hints,
        [
            "orion devices review kiosk",
            "orion devices review kiosk",
            "orion-agent allow /home/ann/notes/old --write",
            "orion-agent allow /srv/www"
        ]
    );
    let found: Vec<_> = found.iter().map(|it| (it.line, it.code, it.message.as_str())).collect();
    assert_eq!(
        found,
        [
            (
                2,
                Code::AboveCeiling,
                "The ceiling of kiosk does not allow delete_file, so granting this has no effect there."
            ),
            (
                2,
                Code::AboveCeiling,
                "The ceiling of kiosk does not allow the app `firefox`, the service `ssh.service`, the log `nginx.service`, so granting this has no effect there."
            ),
            (
                8,
                Code::AboveCeiling,
                "The ceiling of kiosk does not allow `/home/ann/notes/old` (write), so this grant has no effect there."
            ),
            (
                11,
                Code::AboveCeiling,
                "The ceiling of kiosk does not allow `/srv/www` (delete), so this grant has no effect there."
            ),
        ]
    );
}
