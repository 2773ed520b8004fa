//! Several processes at once.

use std::fs::File;
use std::time::{Duration, Instant};

use insta::assert_snapshot;

use crate::harness::Place;

#[test]
fn writers_that_meet_wait_for_each_other_and_lose_nothing() {
    let place = Place::vault();
    let names: Vec<String> = (0..6).map(|n| format!("nodes/d{n}")).collect();
    for name in &names {
        place.write(&format!("{name}.md"), format!("# {name}\n"));
    }
    let children: Vec<_> = names
        .iter()
        .map(|name| place.typed(&format!("publish {name}")).command().spawn().unwrap())
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(place.ctx("resolve status:published --ids").ok().lines(), names);
    let log = place.ctx("checkpoint list --json").ok().json("ctx.checkpoint.list");
    assert_eq!(log["checkpoints"].as_array().unwrap().len(), 6);
    place.ctx("verify").ok();
}

#[test]
fn writers_of_one_document_make_one_version_of_it() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A\n", "# A\n\nx\n");
    let children: Vec<_> =
        (0..4).map(|_| place.typed("publish --changed").command().spawn().unwrap()).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let history = place.ctx("history nodes/a --json").ok().json("ctx.history");
    assert_eq!(history["versions"].as_array().unwrap().len(), 2);
    place.ctx("verify").ok();
}

/// Returns a governed vault with documents that are not published.
fn governed(names: &[String]) -> Place {
    let place = Place::vault();
    place.write(
        "stewards.yaml",
        "version: 1\nvault:\n  - {principal: bo@example.com, role: reviewer}\n  - {principal: kim@example.com, role: reviewer}\n  - {principal: ana@example.com, role: editor}\n",
    );
    place.ctx("govern on").ok();
    for name in names {
        place.write(&format!("{name}.md"), format!("# {name}\n"));
    }
    place
}

/// Returns the exit codes of commands that run at once.
fn at_once(place: &Place, lines: &[String]) -> Vec<i32> {
    let children: Vec<_> = lines.iter().map(|line| place.typed(line).command().spawn()).collect();
    let exits = children.into_iter().map(|child| {
        let output = child.unwrap().wait_with_output().unwrap();
        output.status.code().unwrap()
    });
    exits.collect()
}

#[test]
fn reviews_of_different_documents_at_once_lose_nothing() {
    let names: Vec<String> = (0..8).map(|n| format!("nodes/d{n}")).collect();
    let place = governed(&names);
    let (first, second) = names.split_at(4);
    let submit = |name: &String| format!("submit {name} --lock-timeout 120");
    let approve = |name: &String| format!("approve {name} --as bo@example.com --lock-timeout 120");
    let half: Vec<String> = first.iter().map(submit).collect();
    assert_eq!(at_once(&place, &half), [0; 4]);
    // Some documents are approved while others are submitted.
    let both: Vec<String> = first.iter().map(approve).chain(second.iter().map(submit)).collect();
    assert_eq!(at_once(&place, &both), [0; 8]);
    place.ctx("verify --allow-drift").ok();
    let waiting = place.ctx("review --all --json").ok().json("ctx.review");
    assert_eq!(waiting["waiting"].as_array().unwrap().len(), 4);
    let rest: Vec<String> = second.iter().map(approve).collect();
    assert_eq!(at_once(&place, &rest), [0; 4]);
    assert_eq!(place.ctx("resolve status:published --ids").ok().lines(), names);
    place.ctx("verify").ok();
    let rebuilt = place.ctx("checkpoint rebuild --from-scratch --dry-run --json").ok();
    assert_eq!(rebuilt.json("ctx.checkpoint.rebuild")["same"], true);
}

#[test]
fn of_two_reviews_of_one_document_at_once_one_counts() {
    let place = governed(&["nodes/d".to_owned()]);
    let submit = ["ana", "kim"].map(|who| format!("submit nodes/d --as {who}@example.com"));
    let mut exits = at_once(&place, &submit);
    exits.sort_unstable();
    // The second command submits the same text, which already awaits a decision.
    assert_eq!(exits, [0, 0]);
    let history = place.ctx("history nodes/d --json").ok().json("ctx.history");
    assert_eq!(history["versions"].as_array().unwrap().len(), 1);
    let mut exits = at_once(&place, &["approve nodes/d --as bo@example.com"; 2].map(str::to_owned));
    exits.sort_unstable();
    assert_eq!(exits, [0, 1]);
    let history = place.ctx("history nodes/d --json").ok().json("ctx.history");
    assert_eq!(history["versions"].as_array().unwrap().len(), 2);
    place.ctx("verify").ok();
}

#[test]
fn a_held_lock_is_reported_after_ten_seconds() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A\n", "# A\n\nx\n");
    place.write(".context/local/lock", "process 1234\n");
    let lock = File::options().write(true).open(place.path(".context/local/lock")).unwrap();
    lock.lock().unwrap();
    // Readers and dry runs do not wait.
    place.ctx("verify --allow-drift").ok();
    place.ctx("publish --changed --dry-run").ok();
    let began = Instant::now();
    place.ctx("publish --changed --lock-timeout 0").exits(4);
    assert!(began.elapsed() < Duration::from_secs(5), "it did not wait");
    assert_snapshot!(place.ctx("publish --changed").exits(4).whole(), @"
    exit: 4
    -- stdout
    -- stderr
    error[locked]: another command is writing to this vault (process 1234)
    hint: run it again when the other process is done
    ");
    lock.unlock().unwrap();
    place.ctx("publish --changed").ok();
}
