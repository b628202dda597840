//! Counts the tests that passed and failed, in what the runner wrote. What it does not say is not known.

use orion_catalog::project::Runner;

/// How many tests passed and failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tools) struct Counts {
    /// Those that passed.
    pub(in crate::tools) passed: u64,
    /// Those that failed.
    pub(in crate::tools) failed: u64,
}

/// Returns the counts of a run.
pub(super) fn tests(runner: Runner, stdout: &str, stderr: &str) -> Option<Counts> {
    match runner {
        Runner::Cargo => cargo(stdout),
        Runner::Npm | Runner::Pnpm | Runner::Yarn => node(stdout).or_else(|| node(stderr)),
        Runner::Pytest => pytest(stdout),
        Runner::Go => go(stdout),
        // A makefile runs any of them.
        Runner::Make => cargo(stdout)
            .or_else(|| pytest(stdout))
            .or_else(|| node(stdout))
            .or_else(|| node(stderr))
            .or_else(|| go(stdout)),
        Runner::Eslint
        | Runner::Ruff
        | Runner::Tsc
        | Runner::Mypy
        | Runner::Prettier
        | Runner::Black => None,
    }
}

/// Returns the sum over all test binaries: `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn cargo(output: &str) -> Option<Counts> {
    let mut sum = None::<Counts>;
    for line in output.lines().filter_map(|line| line.strip_prefix("test result: ")) {
        let count = |word| number_before(line, word);
        let (passed, failed) = (count("passed")?, count("failed")?);
        let before = sum.unwrap_or(Counts { passed: 0, failed: 0 });
        sum = Some(Counts {
            passed: before.passed.saturating_add(passed),
            failed: before.failed.saturating_add(failed),
        });
    }
    sum
}

/// Returns the last line of pytest: `== 1 failed, 2 passed in 0.03s ==`.
fn pytest(output: &str) -> Option<Counts> {
    let line = output.lines().rev().find(|line| {
        let has_count = [" passed", " failed", " error"].iter().any(|word| line.contains(word));
        has_count && line.contains(" in ") && line.trim_end_matches(['=', ' ']).ends_with('s')
    })?;
    let failed = number_before(line, "failed");
    let errors = number_before(line, "error").or_else(|| number_before(line, "errors"));
    Some(Counts {
        passed: number_before(line, "passed").unwrap_or(0),
        failed: failed.unwrap_or(0).saturating_add(errors.unwrap_or(0)),
    })
}

/// Returns the counts of jest and vitest (`Tests: 1 failed, 2 passed, 3 total`), of node's own runner
/// (`# pass 2`) or of mocha (`2 passing`).
fn node(output: &str) -> Option<Counts> {
    let plain = |line: &str| line.trim().trim_start_matches(['#', 'ℹ']).trim().to_owned();
    let lines: Vec<_> = output.lines().map(plain).collect();
    let starting = |words: &[&str]| {
        let line = lines.iter().rev().find(|line| words.iter().any(|it| line.starts_with(it)));
        line.map(String::as_str)
    };
    if let Some(line) = starting(&["Tests:", "Tests  "]) {
        let (passed, failed) = (number_before(line, "passed"), number_before(line, "failed"));
        passed.or(failed)?;
        return Some(Counts { passed: passed.unwrap_or(0), failed: failed.unwrap_or(0) });
    }
    let behind = |word: &str| starting(&[word])?.strip_prefix(word)?.trim().parse().ok();
    if let (Some(passed), Some(failed)) = (behind("pass "), behind("fail ")) {
        return Some(Counts { passed, failed });
    }
    let counted = |word| lines.iter().rev().find_map(|line| number_before(line, word));
    let passed = counted("passing")?;
    Some(Counts { passed, failed: counted("failing").unwrap_or(0) })
}

/// Counts the tests of `go test -v`, without those that a test is made of.
fn go(output: &str) -> Option<Counts> {
    let count = |start| output.lines().filter(|line| line.starts_with(start)).count() as u64;
    let counts = Counts { passed: count("--- PASS: "), failed: count("--- FAIL: ") };
    (counts.passed + counts.failed > 0).then_some(counts)
}

/// Returns the number right before a word.
fn number_before(line: &str, word: &str) -> Option<u64> {
    let words: Vec<_> = line.split_whitespace().collect();
    words.windows(2).find_map(|pair| match pair {
        [number, name] if name.trim_end_matches([',', ';', '.']) == word => {
            number.trim_start_matches('=').parse().ok()
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_runner_is_understood_and_what_is_not_said_is_not_known() {
        let counts = |passed, failed| Some(Counts { passed, failed });
        let cargo = "running 2 tests\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured\n\
            test result: ok. 3 passed; 0 failed; 0 ignored\n";
        for (runner, output, expected) in [
            (Runner::Cargo, cargo, counts(4, 1)),
            (Runner::Make, cargo, counts(4, 1)),
            (Runner::Cargo, "error: could not compile\n", None),
            (Runner::Pytest, "..F\n=== 1 failed, 2 passed in 0.03s ===\n", counts(2, 1)),
            (Runner::Pytest, "2 passed, 1 warning in 0.01s\n", counts(2, 0)),
            (Runner::Pytest, "=== 1 error in 0.05s ===\n", counts(0, 1)),
            (Runner::Pytest, "=== no tests ran in 0.01s ===\n", None),
            (Runner::Npm, "Tests:       1 failed, 2 passed, 3 total\nTime: 1 s\n", counts(2, 1)),
            (Runner::Yarn, " Tests  2 passed (2)\n", counts(2, 0)),
            (Runner::Npm, "# tests 3\n# pass 2\n# fail 1\n", counts(2, 1)),
            (Runner::Npm, "ℹ tests 3\nℹ pass 3\nℹ fail 0\n", counts(3, 0)),
            (Runner::Npm, "  2 passing (5ms)\n  1 failing\n", counts(2, 1)),
            (Runner::Pnpm, "done\n", None),
            (
                Runner::Go,
                "--- PASS: TestA (0.00s)\n    --- PASS: TestA/x (0.00s)\n--- FAIL: TestB\n",
                counts(1, 1),
            ),
            (Runner::Go, "?   x [no test files]\n", None),
        ] {
            assert_eq!(tests(runner, output, ""), expected, "{runner:?} {output}");
        }
    }
}
