//! A program that uses the library gets texts only with a line of the access log.

use std::fs;

use contextnest::files::vault::outside;
use contextnest::workspace::{Environment, Options, Workspace};
use sha2::{Digest as _, Sha256};

use crate::harness::Place;

fn environment(place: &Place) -> Environment {
    let mut environment = Environment::new(place.root().to_owned(), || 1_795_000_000_000);
    environment.vars.insert("HOME".to_owned(), place.home().display().to_string());
    environment.random = outside::random;
    environment
}

fn vault() -> Place {
    Place::published(&[
        ("nodes/a", "---\ntags: [x]\n---\n# A\n\nFirst %%hidden%%.\n"),
        ("nodes/b", "---\ntags: [x]\n---\n# B\n"),
    ])
}

#[test]
fn texts_of_the_library_leave_with_a_line_that_replay_and_bundles_prove() {
    let place = vault();
    let environment = environment(&place);
    let mut options = Options::default();
    options.labels.session = Some("s".to_owned());
    let workspace = Workspace { environment: &environment, options };
    let answer = workspace.resolve("#x", None).unwrap();
    assert_eq!(place.ctx("trace list --session s").ok().stdout, "");
    let bytes = answer
        .hand_out(|resolution| {
            resolution.documents.iter().flat_map(|document| document.text.bytes()).collect()
        })
        .unwrap();
    let listed = place.ctx("trace list --session s --json").ok().json("ctx.trace.list");
    assert_eq!(listed["traces"].as_array().unwrap().len(), 1, "{listed}");
    let trace = listed["traces"][0]["trace"].as_str().unwrap();
    let shown = place.ctx(&format!("trace show {trace} --json")).ok().json("ctx.trace.show");
    let line = &shown["lines"][0];
    let digest: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(line["sha256"], format!("sha256:{digest}"), "{line}");
    assert_eq!((&line["verb"], &line["query"]), (&"resolve".into(), &"#x".into()));
    assert_eq!(line["documents"].as_array().unwrap().len(), 2);
    let replayed = place.ctx("replay --session s").ok().stdout;
    assert!(replayed.ends_with("2 texts: 2 same, 0 different, 0 cannot tell\n"), "{replayed}");
    place.ctx("evidence export --session s -o ../s.tar").ok();
    let verified = place.ctx("evidence verify ../s.tar").ok().stdout;
    assert!(verified.contains(" 0 not proved, 0 contradicted"), "{verified}");
}

#[test]
fn the_library_hands_out_nothing_that_cannot_be_recorded() {
    let place = vault();
    let mut environment = environment(&place);
    fs::write(place.home().join("file"), "").unwrap();
    let log = place.home().join("file/log").display().to_string();
    environment.vars.insert("CTX_AUDIT_DIR".to_owned(), log);
    let workspace = Workspace { environment: &environment, options: Options::default() };
    let answer = workspace.resolve("#x", None).unwrap();
    let failure = answer.hand_out(|_| b"texts".to_vec()).unwrap_err();
    assert!(failure.message.starts_with("the access was not recorded"), "{}", failure.message);
}

#[test]
fn the_library_warns_of_a_log_that_lacks_the_trusted_head() {
    let place = vault();
    let log = place.read(".versions/checkpoints.jsonl");
    place.edit("nodes/a.md", "First", "Second");
    place.ctx("publish --all").ok();
    place.write(".versions/checkpoints.jsonl", log);
    let environment = environment(&place);
    let workspace = Workspace { environment: &environment, options: Options::default() };
    let answer = workspace.resolve("#x", None).unwrap();
    assert!(
        answer.warnings()[0].starts_with("the log may be truncated"),
        "{:?}",
        answer.warnings()
    );
}
