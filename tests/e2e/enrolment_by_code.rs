//! Becoming a device without a token: it shows a code and words, and nobody gets in whose words an admin has not typed.

mod admins;
mod ground;
mod liar;
mod middle;

use orion_domain::CallState;
use orion_tests::{World, eventually};
use orion_wire::v1;
use serde_json::json;

use ground::{ASKS, Raw, Shown, asking, at_terminal, audited, seen_by_nobody};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_shows_a_code_and_gets_in_once_both_ends_have_typed_the_others_words() {
    let world = World::new().await;
    let (kiosk, _) = world.device("kiosk").invite().await;
    let (mut agent, Shown { code, words }) =
        at_terminal(&world.device_address(), &kiosk, &[]).await;
    seen_by_nobody(&world, &kiosk).await;

    // As a person types it: in lower case, without the hyphen.
    let typed = code.to_lowercase().replace('-', "");
    let files = kiosk.files().display().to_string();
    let mut admin = world
        .cli()
        .terminal(&format!("devices enroll {typed} --name till --path {files} --label env=lab"));
    let question = "Type the words that the device shows:";
    let card = admin.sees(question).await;
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    for shown in ["it says: name", "kiosk", "127.0.0.1", &platform, env!("CARGO_PKG_VERSION")] {
        assert!(card.contains(shown), "{shown} is not in:\n{card}");
    }
    assert!(!card.contains(&words), "the admin reads them on the device:\n{card}");
    assert!(card.contains("Type the words only from the device in front of you"), "{card}");
    // A mere Enter decides nothing.
    admin.line("").await;
    admin.sees(question).await;
    admin.line(&words.to_uppercase().replace('-', " ")).await;
    let noted = admin.sees("Confirmed. On the device, type: ").await;
    assert!(noted.contains("till, which asked from 127.0.0.1"), "{noted}");
    let answer = admin.sees("\n").await;
    assert_eq!(admin.ended().await, 0, "{}", admin.rest());
    // One slip is forgiven, and an Enter is none.
    agent.sees(ASKS).await;
    agent.line("").await;
    agent.sees(ASKS).await;
    agent.line(&words).await;
    agent.sees("These are other words").await;
    seen_by_nobody(&world, &kiosk).await;
    agent.line(&answer.trim().replace('-', " ")).await;
    agent.sees("enrolled as till").await;
    assert_eq!(agent.ended().await, 0, "{}", agent.rest());

    // It is the admin's name, and a device as any other.
    let device = world.admin().device("till").await.unwrap();
    assert_eq!(device.state(), v1::DeviceState::Approved);
    assert_eq!(device.labels.into_iter().collect::<Vec<_>>(), [("env".into(), "lab".into())]);
    let running = kiosk.launch();
    eventually("the device online", async || {
        let seen = world.admin().device("till").await.ok()?;
        let is_ready = seen.online && seen.acknowledged_policy_version == seen.policy_version;
        is_ready.then_some(())
    })
    .await;
    let call = world.admin().call("till", "list_directory", json!({"path": files})).await;
    assert_eq!(call.end(), (CallState::Succeeded, None));
    running.stop().await;

    let kinds = [
        "enrollment.requested",
        "enrollment.confirmed",
        "invite.created",
        "invite.redeemed",
        "device.enrolled",
        "certificate.issued",
    ];
    // The world made one token more, which nobody used.
    assert_eq!(audited(&world, kinds).await, [1, 1, 2, 1, 1, 1]);
    let said = [world.server().log(), running.log(), ground::whole_audit(&world).await];
    for text in said {
        assert!(!text.contains(&code) && !text.to_lowercase().contains(&typed), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_gives_the_words_and_yes_alone_confirms_nothing() {
    let world = World::new().await;
    let (kiosk, _) = world.device("kiosk").invite().await;
    let (agent, Shown { code, words }) = asking(&world, &kiosk, &[]).await;
    let enroll = async |more: &[&str]| {
        let line = [&["devices", "enroll", &code], more].concat();
        world.cli().run(&line).await
    };
    for blind in [&["--yes"][..], &[], &["--words", &words]] {
        let refused = enroll(blind).await;
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains("--words"), "{refused:?}");
        assert!(
            !refused.stderr.contains(&words),
            "the words are for a person to read: {refused:?}"
        );
    }
    assert_eq!(audited(&world, ["enrollment.requested"]).await, [0], "no admin has found it");
    let other = enroll(&["--words", "babel-babel-babel", "--yes"]).await;
    assert_eq!(other.code, 9, "{other:?}");
    assert!(other.stderr.contains("not the words of this request"), "{other:?}");
    let empty = enroll(&["--words", "", "--yes"]).await;
    assert_eq!(empty.code, 9, "{empty:?}");
    let audit = ground::whole_audit(&world).await;
    let wrong = audit.lines().find(|row| row.starts_with("enrollment.wrong_code")).unwrap();
    assert!(wrong.contains("request_id") && wrong.contains("127.0.0.1"), "{wrong}");
    seen_by_nobody(&world, &kiosk).await;

    // At a terminal the words alone show the card and ask, and no decides nothing.
    let mut admin = world.cli().terminal(&format!("devices enroll {code} --words {words}"));
    let card = admin.sees("Does the device in front of you show these words? (y/N)").await;
    assert!(card.contains("127.0.0.1"), "{card}");
    admin.line("").await;
    admin.sees("nothing was decided").await;
    assert_eq!(admin.ended().await, 9);

    let spoken = words.to_uppercase().replace('-', " ");
    let confirmed = enroll(&["--words", &spoken, "--yes", "-o", "json"]).await;
    assert_eq!(confirmed.code, 0, "{confirmed:?}");
    assert_eq!(confirmed.json()["name"], "kiosk");
    let next = "orion devices permissions add kiosk --profile operator --path PATH";
    assert!(confirmed.stderr.contains(next), "{confirmed:?}");
    assert_eq!(agent.exit_code().await, 0, "{}", agent.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_ends_with_its_time_and_leaves_nothing() {
    let world = World::configured("enrollment_code_seconds = 4\n").await;
    let (kiosk, _) = world.device("kiosk").invite().await;
    let (agent, Shown { code, words }) = asking(&world, &kiosk, &[]).await;
    let request = v1::FindEnrollmentRequest { code: code.clone() };
    world.admin().devices().find_enrollment(request).await.unwrap();
    assert_eq!(agent.exit_code().await, 4);
    assert!(agent.log().contains("no admin confirmed this device before the end of its code"));
    eventually("its end in the audit", async || {
        (audited(&world, ["enrollment.expired"]).await == [1]).then_some(())
    })
    .await;
    let late = world.cli().run(&["devices", "enroll", &code, "--words", &words, "--yes"]).await;
    assert_eq!(late.code, 3, "{late:?}");
    assert!(late.stderr.contains("No device that asks to be enrolled shows this code"), "{late:?}");
    seen_by_nobody(&world, &kiosk).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_an_admin_refuses_is_told_so_and_stays_out() {
    let world = World::new().await;
    let (kiosk, _) = world.device("kiosk").invite().await;
    let (agent, Shown { code, words }) = asking(&world, &kiosk, &[]).await;
    let refused = world.cli().run(&["devices", "enroll", &code, "--refuse"]).await;
    assert_eq!(refused.code, 0, "{refused:?}");
    assert_eq!(agent.exit_code().await, 4);
    assert!(agent.log().contains("an admin refused this device"), "{}", agent.log());
    let after = world.cli().run(&["devices", "enroll", &code, "--words", &words, "--yes"]).await;
    assert_eq!(after.code, 9, "{after:?}");
    assert!(after.stderr.contains("This request was refused already, by admin"), "{after:?}");
    assert_eq!(audited(&world, ["enrollment.refused", "enrollment.confirmed"]).await, [1, 0]);
    seen_by_nobody(&world, &kiosk).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_confirmed_is_good_once_and_for_one_key() {
    let world = World::new().await;
    let raw = Raw::ask(&world, [127, 0, 0, 1]).await.unwrap();
    let mut client = raw.client.clone();
    // Before the device has revealed its secret, its code finds nothing; another secret reveals nothing.
    let find = async || {
        let request = v1::FindEnrollmentRequest { code: raw.asked.code.clone() };
        world.admin().devices().find_enrollment(request).await
    };
    assert_eq!(find().await.unwrap_err().code(), tonic::Code::NotFound);
    let poll = |secret: &str| v1::AwaitConfirmationRequest {
        request_id: raw.asked.request_id.clone(),
        secret: secret.to_owned(),
    };
    let other = client.await_confirmation(poll(&"0".repeat(64))).await.unwrap_err();
    assert_eq!(other.code(), tonic::Code::NotFound);
    let short = client.await_confirmation(poll("")).await.unwrap_err();
    assert_eq!(short.code(), tonic::Code::InvalidArgument);
    assert_eq!(find().await.unwrap_err().code(), tonic::Code::NotFound);
    let enroll = |csr: String| raw.enroll_request(csr);
    let early = client.enroll(enroll(raw.key.csr().unwrap())).await.unwrap_err();
    assert_eq!(early.code(), tonic::Code::Unauthenticated, "nothing was confirmed: {early}");

    client.await_confirmation(poll(&raw.secret)).await.unwrap();
    let found = find().await.unwrap().into_inner().enrollment.unwrap();
    assert_eq!(found.request_id, raw.asked.request_id);
    let words = raw.words(&world);
    let confirmed = raw.confirm(world.admin(), &words).await.unwrap();
    assert_eq!(confirmed.answer, raw.answer(&world));
    let again = raw.confirm(world.admin(), &words).await.unwrap_err();
    assert_eq!(again.code(), tonic::Code::FailedPrecondition);
    assert!(again.message().contains("was confirmed already, by admin"), "{again}");

    // Whoever learnt the secret has not the key.
    let thief = orion_mtls::DeviceKey::generate().unwrap().csr().unwrap();
    let stolen = client.enroll(enroll(thief.clone())).await.unwrap_err();
    assert_eq!(stolen.code(), tonic::Code::PermissionDenied, "{stolen}");
    let enrolled = client.enroll(enroll(raw.key.csr().unwrap())).await.unwrap().into_inner();
    assert!(enrolled.certificate.is_some());
    assert_eq!(enrolled.device_name, "kiosk", "the name that the admin has seen");
    for csr in [thief, raw.key.csr().unwrap()] {
        let replayed = client.enroll(enroll(csr)).await.unwrap_err();
        assert_eq!(replayed.code(), tonic::Code::Unauthenticated, "{replayed}");
    }
    let devices = world.admin().devices().list_devices(v1::ListDevicesRequest::default()).await;
    assert_eq!(devices.unwrap().into_inner().devices.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_request_does_not_survive_the_backend_and_the_device_says_so() {
    let world = World::new().await;
    let (kiosk, _) = world.device("kiosk").invite().await;
    let (agent, Shown { code, words }) = asking(&world, &kiosk, &[]).await;
    world.server().kill9().await;
    world.restart_server().await;
    assert_eq!(agent.exit_code().await, 4);
    assert!(agent.log().contains("or the backend was restarted meanwhile"), "{}", agent.log());
    let late = world.cli().run(&["devices", "enroll", &code, "--words", &words, "--yes"]).await;
    assert_eq!(late.code, 3, "{late:?}");
    seen_by_nobody(&world, &kiosk).await;
    // The next code is good.
    let (agent, Shown { code, words }) = asking(&world, &kiosk, &["--force"]).await;
    let confirmed =
        world.cli().run(&["devices", "enroll", &code, "--words", &words, "--yes"]).await;
    assert_eq!(confirmed.code, 0, "{confirmed:?}");
    assert_eq!(agent.exit_code().await, 0, "{}", agent.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_requests_is_bounded_for_each_address_and_in_all_and_tokens_go_on() {
    let world = World::new().await;
    let mut kept = Vec::new();
    for part in 1..=16 {
        for _ in 0..4 {
            kept.push(Raw::ask(&world, [127, 0, 1, part]).await.unwrap());
        }
        let more = Raw::ask(&world, [127, 0, 1, part]).await.unwrap_err();
        assert_eq!(more.code(), tonic::Code::ResourceExhausted, "{more}");
    }
    // Somebody new has a place of the most crowded ones, until nobody has many more.
    let mut others = 0;
    let other = loop {
        match Raw::ask(&world, [127, 0, 2, others]).await {
            Ok(_) => others += 1,
            Err(other) => break other,
        }
    };
    assert!(other.message().contains("Too many devices at this backend"), "{other}");
    assert!(others >= 32, "{others}");
    let codes: std::collections::HashSet<_> = kept.iter().map(|raw| &raw.asked.code).collect();
    assert_eq!(codes.len(), kept.len());
    // Strangers write nothing to the audit log.
    assert_eq!(audited(&world, ["enrollment.requested", "enrollment.expired"]).await, [0, 0]);
    let (kiosk, token) = world.device("kiosk").invite().await;
    assert_eq!(kiosk.enroll(&token).exit_code().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backend_without_codes_says_so_and_a_request_must_be_whole() {
    let world = World::configured("enrollment_code_seconds = 0\n").await;
    let (kiosk, _) = world.device("kiosk").invite().await;
    let (address, pin) = (world.device_address(), ground::authority(&world).to_string());
    let line = ["enroll", "--server", &address, "--ca-fingerprint", &pin];
    let (code, said) = kiosk.agent_says(&line).await;
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("This backend enrols no device by a code"), "{said}");
    for wrong in ["https://orion.example", "orion.example:x"] {
        let (code, said) = kiosk.agent_says(&["enroll", "--server", wrong]).await;
        assert_eq!(code, 2, "{said}");
    }
    let people = world.people_address();
    let (code, said) =
        kiosk.agent_says(&["enroll", "--server", &people, "--ca-fingerprint", &pin]).await;
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("does not speak TLS"), "{said}");

    let world = World::new().await;
    let changes: [fn(&mut v1::RequestEnrollmentRequest); 5] = [
        |request| request.commitment = "short".to_owned(),
        |request| request.authority = String::new(),
        |request| request.certificate_request = "no request".to_owned(),
        |request| request.suggested_name = "backend".to_owned(),
        |request| request.suggested_name = "a b".to_owned(),
    ];
    for change in changes {
        let refused = Raw::ask_with(&world, [127, 0, 0, 1], change).await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::InvalidArgument, "{refused}");
    }
    let elsewhere = |request: &mut v1::RequestEnrollmentRequest| request.authority = "0".repeat(64);
    let refused = Raw::ask_with(&world, [127, 0, 0, 1], elsewhere).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused}");
    assert_eq!(audited(&world, ["enrollment.requested"]).await, [0]);
}
