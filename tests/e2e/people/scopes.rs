//! Every RPC with every role and every set of scopes, over the real door: allowed or refused exactly
//! as the access table says.

use std::collections::BTreeSet;

use orion_domain::Role;
use orion_server::access::{Access, Operation, RequiredScope, TABLE};
use orion_server::scope::{Scope, TokenKind};
use orion_tests::World;
use orion_wire::{tool_error_from, v1};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use super::{person, session, set_role};

/// Calls an RPC with nothing in its message, and gives what its first answer was.
async fn call(channel: &Channel, path: &'static str, token: &str) -> Result<(), Status> {
    let mut grpc = Grpc::new(channel.clone());
    grpc.ready().await.unwrap();
    let mut request = Request::new(());
    if !token.is_empty() {
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    }
    let codec: ProstCodec<(), ()> = ProstCodec::default();
    grpc.server_streaming(request, PathAndQuery::from_static(path), codec).await.map(drop)
}

/// Whether the table refused it, and not something behind the table.
fn is_refused_by_the_table(status: &Status) -> bool {
    let error = tool_error_from(status);
    status.code() == Code::PermissionDenied
        && error.is_some_and(|error| error.details.get("layer") == Some(&"access".into()))
}

fn on_wire(scope: Scope) -> i32 {
    match scope {
        Scope::Read => v1::Scope::Read.into(),
        Scope::Call => v1::Scope::Call.into(),
        Scope::Chat => v1::Scope::Chat.into(),
        Scope::Admin => v1::Scope::Admin.into(),
    }
}

/// Every set of scopes but the empty one.
fn scope_sets() -> Vec<BTreeSet<Scope>> {
    (1_u32..1 << Scope::ALL.len())
        .map(|bits| {
            let held = |(n, _): &(usize, &Scope)| bits & (1 << n) != 0;
            Scope::ALL.iter().enumerate().filter(held).map(|(_, scope)| *scope).collect()
        })
        .collect()
}

fn people_rows() -> impl Iterator<Item = (&'static str, Role, RequiredScope)> {
    // The routes of HTTP are tried where they are tested. Signing out comes last: it ends the session that the others
    // are tried with.
    let rpcs = TABLE.iter().filter(|row| row.path.starts_with('/'));
    let (last, first): (Vec<Operation>, Vec<Operation>) =
        rpcs.partition(|row| row.path.ends_with("/Logout"));
    first.into_iter().chain(last).filter_map(|row| match row.access {
        Access::Person(role, need) => Some((row.path, role, need)),
        Access::Anyone | Access::Device => None,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_rpc_is_open_to_whom_the_table_says_and_to_nobody_else() {
    let world = World::new().await;
    person(&world, "bob", "admin").await;
    let endpoint = Endpoint::from_shared(format!("http://{}", world.people_address())).unwrap();
    let mut tokens = Vec::new();
    for (n, scopes) in scope_sets().into_iter().enumerate() {
        let request = v1::CreateTokenRequest {
            name: format!("t{n}"),
            scopes: scopes.iter().map(|scope| on_wire(*scope)).collect(),
            user: "bob".to_owned(),
            ..Default::default()
        };
        let made = world.admin().auth().create_token(request).await.unwrap().into_inner();
        tokens.push((TokenKind::Api(scopes), made.secret));
    }
    assert_eq!(tokens.len(), 15);

    let (mut allowed, mut refused) = (0, 0);
    for role in [Role::Admin, Role::Operator, Role::Viewer] {
        set_role(&world, "bob", role.as_str()).await;
        let session = (TokenKind::Session, session(&world, "bob").await.token().to_owned());
        for (kind, secret) in tokens.iter().chain([&session]) {
            // A request that is refused before its body came resets its stream, and a connection may have only so
            // many of those.
            let channel = endpoint.connect().await.unwrap();
            for (path, least, need) in people_rows() {
                let may = role >= least
                    && match (need, kind) {
                        (RequiredScope::Any, _) | (_, TokenKind::Session) => true,
                        (RequiredScope::Session, TokenKind::Api(_)) => false,
                        (RequiredScope::OneOf(any), TokenKind::Api(held)) => {
                            any.iter().any(|scope| {
                                held.contains(scope)
                                    && (*scope != Scope::Admin || role == Role::Admin)
                            })
                        }
                    };
                let answer = call(&channel, path, secret).await;
                let was_refused = answer.as_ref().err().is_some_and(is_refused_by_the_table);
                assert_eq!(!was_refused, may, "{path} by a {role} with {kind}: {answer:?}");
                let out = answer.err().is_some_and(|status| status.code() == Code::Unauthenticated);
                assert!(!out, "{path} by a {role} with {kind}: was not let in");
                if may { allowed += 1 } else { refused += 1 }
            }
        }
    }
    assert!(allowed > 300 && refused > 500, "{allowed} allowed, {refused} refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_token_and_off_the_table_nothing_is_open() {
    let world = World::new().await;
    let endpoint = Endpoint::from_shared(format!("http://{}", world.people_address())).unwrap();
    let channel = endpoint.connect().await.unwrap();
    for (path, _, _) in people_rows() {
        for token in ["", "orion_wrong"] {
            let refused = call(&channel, path, token).await.unwrap_err();
            assert_eq!(refused.code(), Code::Unauthenticated, "{path}: {refused:?}");
        }
    }
    for path in ["/orion.v1.AuthService/NoSuchRpc", "/x", "/orion.v1.AuditService/listaudit"] {
        let refused = call(&channel, path, world.admin().token()).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{path}: {refused:?}");
    }
}
