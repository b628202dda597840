//! The page about people lists every operation of the access table.

use orion_server::access::{Access, Operation, TABLE};

use crate::markdown::{Page, names};

#[test]
fn every_operation_is_in_the_reference_with_its_role_and_scope() {
    let documented: Vec<_> = Page::read("docs/people.md")
        .section("Every operation")
        .rows()
        .into_iter()
        .map(|row| {
            let [operation, role, token] = &row[..] else {
                panic!("a row of three cells: {row:?}")
            };
            (names(operation).concat(), role.clone(), token.clone())
        })
        .collect();
    let real: Vec<_> = TABLE
        .iter()
        .map(|Operation { path, access, .. }| {
            let name = path.trim_start_matches('/').trim_start_matches("orion.v1.").to_owned();
            match access {
                Access::Anyone => (name, "anyone".to_owned(), "none".to_owned()),
                Access::Device => (name, "a device".to_owned(), "its certificate".to_owned()),
                Access::Person(role, need) => (name, role.to_string(), need.description()),
            }
        })
        .collect();
    assert_eq!(documented, real);
}
