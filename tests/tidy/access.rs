//! The page about people lists every RPC of the access table.

use orion_server::access::{Access, Operation, TABLE};

use crate::markdown::{Page, names};

#[test]
fn every_rpc_is_in_the_reference_with_its_role_and_scope() {
    let documented: Vec<_> = Page::read("docs/people.md")
        .section("Every RPC")
        .rows()
        .into_iter()
        .map(|row| {
            let [rpc, role, token] = &row[..] else { panic!("a row of three cells: {row:?}") };
            (names(rpc).concat(), role.clone(), token.clone())
        })
        .collect();
    let real: Vec<_> = TABLE
        .iter()
        .map(|Operation { path, access, .. }| {
            let rpc = path.trim_start_matches('/').trim_start_matches("orion.v1.").to_owned();
            match access {
                Access::Anyone => (rpc, "anyone".to_owned(), "none".to_owned()),
                Access::Device => (rpc, "a device".to_owned(), "its certificate".to_owned()),
                Access::Person(role, need) => (rpc, role.to_string(), need.description()),
            }
        })
        .collect();
    assert_eq!(documented, real);
}
