//! Checks the evaluator against the table of decisions.

mod table;

use orion_domain::evaluate::Mode;
use orion_domain::rule::{Counted, Moment, Quantity};
use orion_domain::{Caller, Decision, Grants, PathStyle, Places, Policy, Question, evaluate};
use orion_policy::Labels;

use crate::valid;
use table::Row;

/// Returns the evaluator's decision for a row, in the table's words.
fn decide(row: &Row) -> (String, String) {
    let style = if row.style == "windows" { PathStyle::Windows } else { PathStyle::Posix };
    let places = Places::parse(style, Some(&row.workspace), Some(&row.home)).unwrap();
    let device = row.device.parse().unwrap();
    let compiled = valid(&row.policy).compile(&device, &Labels::default()).unwrap();
    let (grants, bad) = compiled.grants.compile(&places);
    assert_eq!(bad, [], "{}", row.title);
    let ceiling: Option<Grants> = serde_json::from_value(row.ceiling.clone()).unwrap();
    let mode = row.when.dangerous_until.map_or(Mode::Safe, |until| Mode::Dangerous { until });
    let policy = Policy {
        grants,
        temporary: Vec::new(),
        granted_by: Vec::new(),
        ceiling: ceiling.map(|ceiling| ceiling.compile(&places).0),
        owner_file: None,
        rules: compiled.rules.into_iter().map(|rule| rule.compile(&places).0).collect(),
        risk: compiled.risk,
        mode,
        writes_disabled: false,
        version: "table".to_owned(),
    };
    let (spec, _) = orion_catalog::find(&row.tool).unwrap();
    let Ok(parsed) = spec.parse(row.arguments.clone(), &places) else {
        return ("invalid".to_owned(), String::new());
    };
    // A day on which no hours of the table's rules match.
    let (weekday, minute) = row.when.at.unwrap_or((2, 720));
    let earlier = vec![row.when.earlier.unwrap_or(0); policy.rules.len()];
    let quantity = row.when.entries.map(|entries| Quantity { entries: Some(entries), bytes: None });
    let question = Question {
        tool: spec.facts(),
        touches: Some(&parsed.touches),
        arguments: Some(&parsed.arguments),
        caller: &Caller {
            user: row.user.parse().unwrap(),
            role: row.role.parse().unwrap(),
            conversation: None,
        },
        device: &device,
        dry_run: row.when.dry_run,
        confirmed: parsed.confirmed,
        at: Moment { unix_ms: row.when.unix_ms.unwrap_or(1_800_000_000_000), weekday, minute },
        content: row.when.content.as_deref(),
        raises: &[],
        counted: Some(Counted { earlier: &earlier, quantity }),
    };
    let evaluation = evaluate(&question, &policy);
    let name = evaluation.rule_name(&question, &policy);
    // The table does not contain a rule's position in its file.
    let name = name.split(" (").next().unwrap_or_default().to_owned();
    let decision = match evaluation.decision() {
        Decision::Allow => "allow",
        Decision::DryRunFirst => "dry_run_first",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    };
    (decision.to_owned(), name)
}

#[test]
fn every_decision_of_the_table_is_the_evaluators() {
    let rows = table::rows();
    let wrong: Vec<_> = rows
        .iter()
        .filter_map(|row| {
            let (decision, rule) = decide(row);
            let differs = decision != row.decision || rule != row.rule;
            differs.then(|| {
                format!(
                    "{}\n  wanted {} {}\n  found  {decision} {rule}",
                    row.title, row.decision, row.rule
                )
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn the_table_is_large_enough_and_most_of_it_can_be_asked_of_anyone() {
    let rows = table::rows();
    let plain = rows.iter().filter(|row| row.is_plain()).count();
    assert!(plain >= 300 && rows.len() >= 400, "{plain} of {}", rows.len());
    for decision in ["allow", "dry_run_first", "ask", "deny", "invalid"] {
        assert!(rows.iter().filter(|row| row.decision == decision).count() >= 4, "{decision}");
    }
}
