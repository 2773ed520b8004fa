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

#[test]
fn a_held_lock_is_reported_after_ten_seconds() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.edit("nodes/a.md", "# A\n", "# A\n\nx\n");
    place.write(".context/local/lock", "process 1234\n");
    let lock = File::options().write(true).open(place.path(".context/local/lock")).unwrap();
    lock.lock().unwrap();
    // Readers, and a dry run, do not wait.
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
