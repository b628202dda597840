//! What an expression evaluates to, and that every text ends at once.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn shown(expression: &str) -> String {
    match evaluate(expression) {
        Ok(value) => value.to_string(),
        Err(error) => format!("{error}."),
    }
}

#[rstest]
#[case("12*7", "84")]
#[case("2 + 3 * 4", "14")]
#[case("(2 + 3) * 4 ** 2", "80")]
#[case("(2 + 3) * 4", "20")]
#[case("10 - 4 - 3", "3")]
#[case("2 ** 3 ** 2", "512")]
#[case("-2 ** 2", "-4")]
#[case("(-2) ** 2", "4")]
#[case("2 ** -1", "0.5")]
#[case("--3 - +-2", "5")]
#[case("84 / 7", "12")]
#[case("1 / 4", "0.25")]
#[case("7 // 2", "3")]
#[case("-7 // 2", "-4")]
#[case("7 // -2", "-4")]
#[case("-7 % 3", "2")]
#[case("7 % -3", "-2")]
#[case("7.5 // 2", "3")]
#[case("-7.5 % 2", "0.5")]
#[case("0.1 + 0.2", "0.30000000000000004")]
#[case("1.5e3 + .5", "1500.5")]
#[case("5. * 2", "10")]
#[case("0 ** 0", "1")]
#[case("(-1) ** 1000000001", "-1")]
#[case("1 ** 99999999999999999999", "1")]
#[case("2 ** 126", "85070591730234615865843651857942052864")]
#[case("170141183460469231731687303715884105727", "170141183460469231731687303715884105727")]
#[case("2 ** 200", "1.6069380442589903e60")]
#[case("-0.0", "0")]
#[case("100 * 1.21", "121")]
fn an_expression_has_the_value_of_arithmetic(#[case] expression: &str, #[case] value: &str) {
    assert_eq!(shown(expression), value, "{expression}");
}

#[rstest]
#[case("9**9**9**9", "a value of the expression is too large.")]
#[case("1e308 * 10", "a value of the expression is too large.")]
#[case("1e999", "a value of the expression is too large.")]
#[case("1 / 0", "the expression divides by zero.")]
#[case("1 // 0.0", "the expression divides by zero.")]
#[case("1 % (2 - 2)", "the expression divides by zero.")]
#[case("0 ** -1", "the expression divides by zero.")]
#[case("(-8) ** 0.5", "a value of the expression is no real number.")]
#[case("", "the expression is not complete.")]
#[case("2 +", "the expression is not complete.")]
#[case("(1 + 2", "the expression is not complete.")]
#[case("1 + 2)", "`)` at character 6 has no meaning here.")]
#[case("2 3", "`3` at character 3 has no meaning here.")]
#[case("2 ** * 3", "`*` at character 6 has no meaning here.")]
#[case("__import__('os')", "`__import__` at character 1 has no meaning here.")]
#[case("2 + sqrt(4)", "`sqrt` at character 5 has no meaning here.")]
#[case("1,5 + 2", "`,` at character 2 has no meaning here.")]
#[case("1e", "`1e` at character 1 has no meaning here.")]
#[case(".", "`.` at character 1 has no meaning here.")]
#[case("0x10", "`x10` at character 2 has no meaning here.")]
fn what_has_no_value_says_why(#[case] expression: &str, #[case] why: &str) {
    assert_eq!(shown(expression), why, "{expression}");
}

#[test]
fn length_and_depth_have_a_limit() {
    let nested = |levels: usize| format!("{}1{}", "(".repeat(levels), ")".repeat(levels));
    assert_eq!(shown(&nested(parser::MAX_DEPTH - 1)), "1");
    assert_eq!(evaluate(&nested(parser::MAX_DEPTH)), Err(CalculationError::TooDeep));
    assert_eq!(evaluate(&format!("{}1", "-".repeat(999))), Err(CalculationError::TooDeep));
    assert_eq!(evaluate(&format!("1{}", "**1".repeat(100))), Err(CalculationError::TooDeep));
    let long = format!("1{}", "+1".repeat(499));
    assert_eq!(shown(&long), "500");
    assert_eq!(evaluate(&format!("{long}+1")), Err(CalculationError::TooLong));
}

#[test]
fn the_largest_expressions_end_at_once() {
    let began = Instant::now();
    for expression in ["9**9**9**9", "9**9**9", "(9**9**9)//(9**9**9)", "-9**9**9%7"] {
        evaluate(expression).unwrap_err();
    }
    evaluate(&"9*".repeat(499)).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(1));
}

proptest! {
    #[test]
    fn any_text_ends_with_a_finite_value_or_an_error(text in ".{0,200}") {
        if let Ok(Number::Float(float)) = evaluate(&text) {
            prop_assert!(float.is_finite());
        }
    }

    #[test]
    fn any_text_of_the_grammars_characters_ends(text in "[0-9+*/%().e -]{0,200}") {
        if let Ok(Number::Float(float)) = evaluate(&text) {
            prop_assert!(float.is_finite());
        }
    }

    #[test]
    fn integers_are_exact(left in any::<i64>(), right in any::<i64>()) {
        let (a, b) = (i128::from(left), i128::from(right));
        prop_assert_eq!(shown(&format!("({left}) + ({right})")), (a + b).to_string());
        prop_assert_eq!(shown(&format!("({left}) - ({right})")), (a - b).to_string());
        prop_assert_eq!(shown(&format!("({left}) * ({right})")), (a * b).to_string());
    }

    #[test]
    fn rounding_down_and_its_rest_belong_together(left in any::<i64>(), right in any::<i64>()) {
        prop_assume!(right != 0);
        let quotient: i128 = shown(&format!("({left}) // ({right})")).parse().unwrap();
        let rest: i128 = shown(&format!("({left}) % ({right})")).parse().unwrap();
        prop_assert_eq!(quotient * i128::from(right) + rest, i128::from(left));
        prop_assert!(rest == 0 || (rest < 0) == (right < 0));
        prop_assert!(rest.unsigned_abs() < u128::from(right.unsigned_abs()));
    }

    #[test]
    fn what_is_shown_of_a_value_is_that_value_again(
        left in -1e6..1e6_f64, right in -1e6..1e6_f64, operator in "[-+*]"
    ) {
        let value = evaluate(&format!("{left:?} {operator} {right:?}")).unwrap();
        prop_assert_eq!(evaluate(&value.to_string()).unwrap().to_string(), value.to_string());
    }
}
