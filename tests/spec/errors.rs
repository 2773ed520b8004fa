//! Every stable code stands in the specification, with its class or exit code.

use contextnest::{cli, verify};

const ERRORS: &str = include_str!("../../spec/errors.md");
const VERIFY: &str = include_str!("../../spec/verify.md");

#[test]
fn every_failure_is_specified_with_its_exit_code() {
    for code in cli::failure::Code::ALL {
        let row = format!("| `{}` | {} | {} |", code.as_str(), code.exit(), code.meaning());
        assert!(ERRORS.contains(&row), "spec/errors.md lacks the row\n{row}");
    }
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
    let verdicts = 6;
    assert_eq!(rows.count(), verify::Code::ALL.len() + verdicts, "a row without a code");
}
