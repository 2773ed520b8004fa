//! Questions to the access log: `ctx trace grep`, `follow` and `collect`, and logs in another folder.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Output, Place};

fn vault() -> Place {
    Place::published(&[
        ("nodes/fees", "---\ntitle: Fees\ntags: [money]\n---\nLate fees are 5 percent.\n"),
        ("nodes/returns", "---\ntitle: Returns\ntags: [money]\n---\nReturns take 30 days.\n"),
    ])
}

/// The folder with the logs of the vault on this machine.
fn logs(place: &Place) -> PathBuf {
    let audit = place.home().join(".local/state/contextnest/audit");
    let mut vaults = fs::read_dir(audit).unwrap();
    vaults.next().unwrap().unwrap().path()
}

/// The places in the log of the traces that a report lists.
fn listed(output: &Output, schema: &str) -> Vec<String> {
    let report = output.json(schema);
    let traces = report["traces"].as_array().unwrap().iter();
    let place = |trace: &Value| trace["trace"].as_str().unwrap()[9..].to_owned();
    traces.map(place).collect()
}

#[test]
fn grep_finds_accesses_by_query_words_labels_principal_and_names() {
    let place = vault();
    place.ctx("read nodes/fees --session s1 --agent scout").ok();
    place.ctx("resolve #money --bodies --task t-77").ok();
    place.ctx("search percent").ok();
    let found = |args: &str| {
        let output = place.ctx(&format!("trace grep {args} --json"));
        let exit = output.exit;
        (exit, listed(&output, "ctx.trace.grep").join(" "))
    };
    let yes = |traces: &str| (0, traces.to_owned());
    assert_eq!(found("nodes/fees"), yes("1 2 3"), "URIs of texts");
    assert_eq!(found("'^#money$'"), yes("2"), "the query");
    assert_eq!(found("'^read nodes/fees'"), yes("1"), "the words of the command");
    assert_eq!(found("^sc[ou]+t$"), yes("1"), "a label");
    assert_eq!(found("T-77"), (1, String::new()), "case counts");
    assert_eq!(found("'(?i)T-77'"), yes("2"));
    assert_eq!(found("^ana@"), yes("1 2 3"), "the principal");
    assert_eq!(found("nodes/fees --verb search"), yes("3"), "filters");
    assert_eq!(found(". -n 1"), yes("3"));
    let text = place.ctx("trace grep percent").ok().stdout;
    assert!(text.contains("  search  1 text  ana@example.com"), "{text}");
    insta::assert_snapshot!(place.ctx("trace grep '(a{1000}){1000}'").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: invalid regular expression: Compiled regex exceeds size limit of 1048576 bytes.
    ");
    insta::assert_snapshot!(place.ctx("trace grep nothing").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    note: no access is recorded that fits
    ");
    assert_eq!(place.args(&["trace", "grep", &"a".repeat(5000)]).run().exit, 2);
}

#[test]
fn logs_are_read_in_a_folder_that_is_named() {
    let place = vault();
    place.ctx("read nodes/fees --session s1").ok();
    let copy = place.home().join("copy");
    fs::rename(logs(&place), &copy).unwrap();
    let copy = copy.to_str().unwrap();
    assert_eq!(listed(&place.ctx("trace list --json").ok(), "ctx.trace.list").len(), 0);
    for command in [
        "trace list --session s1",
        "trace grep fees",
        "trace verify",
        "impact nodes/fees",
        "replay --session s1",
    ] {
        let output = place.ctx(&format!("{command} --logs {copy}")).ok();
        assert!(!output.stdout.is_empty(), "{command}: {}", output.whole());
    }
    let missing = place.ctx("trace list --logs nowhere");
    assert_eq!(missing.exit, 5, "{}", missing.whole());
}
