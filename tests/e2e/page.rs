//! The page: how a browser signs in, what its cookie is good for, and the stories that real browsers tell.

mod large;

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use orion_domain::Role;
use orion_tests::{Client, Launch, Process, World, eventually, program};
use orion_wire::v1;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long the stories of one file may take in all.
const STORIES_TIMEOUT: Duration = Duration::from_mins(12);
/// How many audit rows the large database has where nothing else is asked for.
const AUDIT_ROWS: usize = 10_000;
/// The header that the page adds to its requests.
const OF_PAGE: &str = "x-orion-page: 1\r\n";

/// Sends a request over a connection of its own, and returns the whole response.
async fn post(world: &World, path: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(world.people_address()).await.unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        world.people_address(),
        body.len(),
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

/// Returns the cookie that a response sets, as a browser sends it.
fn cookie(answer: &str) -> String {
    let line = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let line = line.unwrap_or_else(|| panic!("{answer}"));
    format!("cookie: {}\r\n", line.split(';').next().unwrap())
}

/// Asks with gRPC-web who is signed in, and returns the response.
async fn who(world: &World, headers: &str) -> String {
    let of_rpc = format!("content-type: application/grpc-web+proto\r\n{headers}");
    post(world, "/orion.v1.AuthService/WhoAmI", &of_rpc, "\0\0\0\0\0").await
}

async fn link(person: &Client) -> String {
    let request = v1::CreateSignInLinkRequest {};
    person.auth().create_sign_in_link(request).await.unwrap().into_inner().secret
}

async fn with_link(world: &World, path: &str, secret: &str) -> String {
    let headers = format!("{OF_PAGE}content-type: application/json\r\n");
    post(world, path, &headers, &json!({ "secret": secret }).to_string()).await
}

async fn follow(world: &World, secret: &str) -> String {
    with_link(world, "/page/link", secret).await
}

/// Asks whom a link would sign in, and returns the response's status and body.
async fn person(world: &World, secret: &str) -> (String, Value) {
    let answer = with_link(world, "/page/link-person", secret).await;
    let body = answer.split("\r\n\r\n").nth(1).unwrap();
    (status(&answer).to_owned(), serde_json::from_str(body).unwrap())
}

/// Returns when each valid session of a person ends, oldest first.
async fn sessions(person: &Client) -> Vec<i64> {
    let request = v1::ListTokensRequest { sessions: true, ..v1::ListTokensRequest::default() };
    let listed = person.auth().list_tokens(request).await.unwrap().into_inner().tokens;
    listed.into_iter().filter(|it| it.session).map(|it| it.expires_at).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_signs_in_once_by_a_cookie_that_only_the_page_can_use() {
    let world = World::new().await;
    let secret = link(world.admin()).await;
    // The page says whose account it is before it uses the link, and asks for a click.
    for _ in 0..2 {
        assert_eq!(person(&world, &secret).await, ("200".to_owned(), json!({ "user": "admin" })));
    }
    let body = json!({ "secret": secret }).to_string();
    let foreign = post(&world, "/page/link-person", "content-type: application/json\r\n", &body);
    assert_eq!(status(&foreign.await), "403");
    let answer = follow(&world, &secret).await;
    assert_eq!(status(&answer), "204", "{answer}");
    assert!(answer.contains("; Path=/; HttpOnly; SameSite=Strict; Max-Age="), "{answer}");
    let cookie = cookie(&answer);
    let again = follow(&world, &secret).await;
    assert_eq!(status(&again), "401", "{again}");
    assert!(again.contains("This link was used"), "{again}");
    assert_eq!(person(&world, &secret).await.0, "401");

    let own = format!("origin: http://{}\r\n", world.people_address());
    let mine = who(&world, &format!("{cookie}{OF_PAGE}{own}")).await;
    assert!(mine.contains("admin") && mine.contains("grpc-status:0"), "{mine}");
    for headers in [
        cookie.clone(),
        format!("{cookie}{OF_PAGE}origin: http://evil.example\r\n"),
        format!("{cookie}{OF_PAGE}sec-fetch-site: cross-site\r\n"),
        format!("{cookie}{cookie}{OF_PAGE}"),
    ] {
        let answer = who(&world, &headers).await;
        assert!(answer.contains("grpc-status: 16"), "{headers}: {answer}");
    }

    // Signing out ends the session, and the browser forgets it.
    let foreign = post(&world, "/page/sign-out", &cookie, "").await;
    assert_eq!(status(&foreign), "401", "{foreign}");
    let out = post(&world, "/page/sign-out", &format!("{cookie}{OF_PAGE}"), "").await;
    assert_eq!(status(&out), "204", "{out}");
    assert!(out.contains("Max-Age=0"), "{out}");
    let after = who(&world, &format!("{cookie}{OF_PAGE}")).await;
    assert!(after.contains("grpc-status: 16"), "{after}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_ends_with_the_session_that_made_it_and_no_token_makes_one() {
    let world = World::new().await;
    let ann = world.person("ann", Role::Operator).await;
    let secret = link(&ann).await;
    ann.auth().logout(v1::LogoutRequest { all: false }).await.unwrap();
    assert_eq!(person(&world, &secret).await.0, "401");
    let answer = follow(&world, &secret).await;
    assert_eq!(status(&answer), "401", "{answer}");
    let token = v1::CreateTokenRequest {
        name: "all".to_owned(),
        scopes: vec![v1::Scope::Read.into(), v1::Scope::Admin.into()],
        ..v1::CreateTokenRequest::default()
    };
    let token = world.admin().auth().create_token(token).await.unwrap().into_inner().secret;
    let program = world.admin().with_token(&token);
    let refused = program.auth().create_sign_in_link(v1::CreateSignInLinkRequest {}).await;
    assert_eq!(refused.unwrap_err().code(), tonic::Code::PermissionDenied);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_gives_one_session_which_ends_with_the_session_that_made_it() {
    let world = World::new().await;
    let ann = world.person("ann", Role::Operator).await;
    let before = sessions(&ann).await;
    assert_eq!(before.len(), 1);
    let secret = link(&ann).await;
    let answers = futures_util::future::join_all((0..20).map(|_| follow(&world, &secret))).await;
    let signed_in = answers.iter().filter(|answer| status(answer) == "204").count();
    assert_eq!(signed_in, 1, "{answers:#?}");
    assert_eq!(sessions(&ann).await, [before[0], before[0]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_link_signs_in_past_the_end_of_the_session_that_made_it() {
    let world = World::new().await;
    for round in 0..10 {
        let name = format!("ann{round}");
        let ann = world.person(&name, Role::Operator).await;
        let secret = link(&ann).await;
        let out = async { ann.auth().logout(v1::LogoutRequest { all: true }).await };
        let (answer, ended) = tokio::join!(follow(&world, &secret), out);
        ended.unwrap();
        // Signed in before the end of all sessions, and ended by it; or not signed in at all.
        if status(&answer) == "204" {
            let cookie = cookie(&answer);
            eventually("the end of the session", async || {
                let answer = who(&world, &format!("{cookie}{OF_PAGE}")).await;
                answer.contains("grpc-status: 16").then_some(())
            })
            .await;
        } else {
            assert_eq!(status(&answer), "401", "{answer}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_signs_in_from_another_site_or_with_what_is_no_request() {
    let world = World::new().await;
    let json = "content-type: application/json\r\n";
    let body = json!({ "user": "admin", "password": "wrong words of a test" }).to_string();
    for headers in [json.to_owned(), format!("{json}{OF_PAGE}origin: http://evil.example\r\n")] {
        let answer = post(&world, "/page/sign-in", &headers, &body).await;
        assert_eq!(status(&answer), "403", "{answer}");
    }
    let own = format!("{json}{OF_PAGE}");
    let answer = post(&world, "/page/sign-in", &own, &body).await;
    assert_eq!(status(&answer), "401", "{answer}");
    let error: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(error["error"]["message"], "The name or the password is wrong.");
    for body in ["", "{}", "[1]", "{\"user\":1}", &"x".repeat(20_000)] {
        let answer = post(&world, "/page/sign-in", &own, body).await;
        assert_eq!(status(&answer), "400", "{answer}");
    }
}

/// Lets browsers tell the stories of a file.
async fn tell(file: &str, environment: &[(&str, &OsStr)]) {
    let folder = tempfile::tempdir().unwrap();
    let server = program("orion-server");
    let stories = Path::new(env!("CARGO_MANIFEST_DIR")).join("web").join(file);
    let installed = stories.with_file_name("node_modules/playwright-core");
    assert!(installed.is_dir(), "the tests of the page are not installed: run `make test-deps`");
    let arguments = [OsStr::new("--test"), OsStr::new("--test-reporter=spec"), stories.as_os_str()];
    let programs = server.parent().unwrap().as_os_str();
    let mut environment = environment.to_vec();
    environment.push(("ORION_PROGRAMS", programs));
    let launch = Launch { arguments: &arguments, environment: &environment, ..Launch::default() };
    let node = Process::start(Path::new("node"), &folder.path().join("node.log"), &launch);
    let ended = tokio::time::timeout(STORIES_TIMEOUT, async {
        loop {
            if let Some(status) = node.ended() {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    let status = ended.await.unwrap_or_else(|_| panic!("the stories do not end:\n{}", node.log()));
    assert!(status.success(), "{}", node.log());
    crate::escapes::say(&node.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stories_that_browsers_tell() {
    tell("stories.mjs", &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stories_of_hostile_texts() {
    tell("hostile.mjs", &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stories_of_admins() {
    tell("admins.mjs", &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stories_of_jobs_and_schedules() {
    tell("jobs.mjs", &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stories_of_a_newcomer() {
    tell("newcomer.mjs", &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stories_of_passkeys() {
    tell("passkeys.mjs", &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stories_of_a_large_fleet() {
    if std::env::var_os("ORION_PAGE_AUDIT_ROWS").is_none() {
        crate::escapes::say("skipped: `make test-page-large` measures a large fleet");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let rows = std::env::var("ORION_PAGE_AUDIT_ROWS").ok();
    let rows = rows.map_or(AUDIT_ROWS, |rows| rows.parse().unwrap());
    large::begin(folder.path(), &data).await;
    large::fill(&data.join("orion.db"), rows).await;
    let rows = rows.to_string();
    let most = std::env::var_os("ORION_PAGE_P95_MS");
    let mut variables = vec![
        ("ORION_WORLD", folder.path().as_os_str()),
        ("ORION_PAGE_AUDIT_ROWS", OsStr::new(&rows)),
    ];
    variables.extend(most.as_deref().map(|most| ("ORION_PAGE_P95_MS", most)));
    tell("large.mjs", &variables).await;
}
