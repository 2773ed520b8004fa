//! The specification contains every stable code, with its class or exit code.

use contextnest::prove::verify;
use contextnest::report;
use contextnest::values::codes;

const ERRORS: &str = include_str!("../../spec/errors.md");
const VERIFY: &str = include_str!("../../spec/verify.md");

#[test]
fn every_failure_is_specified_with_its_exit_code() {
    for code in report::failure::Code::ALL {
        let row = format!("| `{}` | {} | {} |", code.as_str(), code.exit(), code.meaning());
        assert!(ERRORS.contains(&row), "spec/errors.md lacks the row\n{row}");
    }
}

#[test]
fn every_problem_is_specified() {
    for problem in codes::problems() {
        let row = format!("| `{}` | {} | {} |", problem.code, problem.of, problem.meaning);
        assert!(ERRORS.contains(&row), "spec/errors.md lacks the row\n{row}");
    }
}

/// The codes are those with a hyphen in the tables of the pages that define the conditions
/// of problems.
#[test]
fn every_condition_of_a_problem_has_a_known_code() {
    let known: Vec<&str> = codes::problems().map(|problem| problem.code).collect();
    let pages = [
        include_str!("../../spec/document.md"),
        include_str!("../../spec/graph.md"),
        include_str!("../../spec/selector.md"),
        include_str!("../../spec/uri.md"),
    ];
    let mut found = 0;
    for line in pages.iter().flat_map(|page| page.lines()) {
        let code = line.strip_prefix("| `").and_then(|rest| rest.split_once("` |"));
        if let Some((code, _)) = code.filter(|(code, _)| code.contains('-')) {
            assert!(known.contains(&code), "`{code}` is not a known code");
            found += 1;
        }
    }
    assert!(found > 40, "{found}");
}

#[test]
fn every_finding_is_specified_with_its_class() {
    for code in verify::Code::ALL {
        let class = code.class().as_str();
        let row = format!("| `{code}` | {class} | {} |", code.meaning());
        assert!(VERIFY.contains(&row), "spec/verify.md lacks the row\n{row}");
    }
    let rows =
        VERIFY.lines().filter(|line| line.starts_with("| `") && line.matches('|').count() == 4);
    let verdicts = 7;
    assert_eq!(rows.count(), verify::Code::ALL.len() + verdicts, "a row without a code");
}

#[test]
fn every_failure_and_problem_says_what_to_do() {
    let failures = report::failure::Code::ALL.iter().map(|code| code.as_str());
    let mut lacking: Vec<&str> =
        failures.chain(codes::problems().map(|problem| problem.code)).collect();
    lacking.retain(|code| codes::remedy(code, false).is_none_or(str::is_empty));
    assert!(lacking.is_empty(), "{lacking:?}");
}
