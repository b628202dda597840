//! The reference of error codes equals the table in the code.

use orion_domain::ErrorCode;

use crate::markdown::{Page, names};

#[test]
fn every_error_code_is_in_the_reference_as_it_is() {
    let documented: Vec<_> = Page::read("docs/error-codes.md")
        .section("Codes")
        .rows()
        .into_iter()
        .map(|row| {
            let [code, _, recoverable, state, exit] = &row[..] else {
                panic!("a row of five cells: {row:?}")
            };
            (names(code).concat(), recoverable == "yes", names(state).concat(), exit.clone())
        })
        .collect();
    let real: Vec<_> = ErrorCode::ALL
        .iter()
        .map(|code| {
            let state = code.final_state().as_str().to_owned();
            (code.as_str().to_owned(), code.is_recoverable(), state, code.exit_code().to_string())
        })
        .collect();
    assert_eq!(documented, real);
}
