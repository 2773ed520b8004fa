//! A disk that refuses a write: an error, and nothing half-written.

use insta::assert_snapshot;

use crate::harness::Place;

/// Limits files to this many blocks of 512 bytes, as on a full disk.
fn limited(blocks: u32) -> String {
    format!("trap '' XFSZ; ulimit -f {blocks}")
}

fn text(n: usize) -> String {
    (0..n).map(|n| format!("Line {n} of the text.\n")).collect()
}

fn verdict(place: &Place) -> String {
    place.ctx("verify").lines().first().map(|&l| l.to_owned()).unwrap_or_default()
}

#[test]
fn a_first_publication_happens_whole_or_not_at_all() {
    let origin = Place::vault();
    for n in 0..3 {
        origin.write(&format!("nodes/d{n}.md"), text(20 + 40 * n));
    }
    let mut seen = std::collections::BTreeSet::new();
    for blocks in 0..9 {
        let place = origin.duplicate();
        let before = place.tree();
        let output = place.typed("publish --all").behind(&limited(blocks));
        seen.insert(output.exit);
        match output.exit {
            0 => assert_ne!(place.tree(), before),
            5 if place.has(".versions/checkpoints.jsonl") => {
                // The event was committed, but a live file could not be updated.
                assert!(output.stderr.contains("the event stands"), "{}", output.whole());
                assert!(verdict(&place).starts_with("intact"), "{blocks}");
            }
            5 => {
                assert_eq!(place.tree(), before, "{blocks} blocks: {}", output.whole());
                assert_eq!(verdict(&place), "nothing published", "{blocks}");
            }
            other => panic!("{blocks} blocks: {other}\n{}", output.whole()),
        }
        place.ctx("publish --all").ok();
        assert!(verdict(&place).starts_with("intact, anchored"), "{blocks}: {}", verdict(&place));
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 5]);
}

#[test]
fn a_further_version_happens_whole_or_not_at_all() {
    let origin = Place::vault();
    origin.write("nodes/a.md", text(10));
    origin.write("nodes/b.md", text(300));
    origin.ctx("publish --all").ok();
    origin.edit("nodes/a.md", "Line 3 ", &"longer ".repeat(150));
    origin.edit("nodes/b.md", "Line 3 ", "Line three ");
    let mut outcomes = std::collections::BTreeMap::new();
    for blocks in 0..16 {
        let place = origin.duplicate();
        let before = place.tree();
        let log = place.read(".versions/checkpoints.jsonl");
        let output = place.typed("publish --changed").behind(&limited(blocks));
        let committed = place.read(".versions/checkpoints.jsonl") != log;
        outcomes.entry((output.exit, committed)).or_insert(blocks);
        if !committed {
            assert_eq!(output.exit, 5, "{}", output.whole());
            assert_eq!(place.tree(), before, "{blocks} blocks: {}", output.whole());
        }
        assert!(verdict(&place).starts_with("intact"), "{blocks}: {}", verdict(&place));
        place.ctx("publish --changed").ok();
        assert!(verdict(&place).starts_with("intact, anchored"), "{blocks}: {}", verdict(&place));
    }
    assert_eq!(outcomes.keys().copied().collect::<Vec<_>>(), [(0, true), (5, false), (5, true)]);
}

#[test]
fn the_error_names_the_file() {
    let place = Place::vault();
    place.write("nodes/a.md", text(100));
    assert_snapshot!(place.typed("publish --all").behind(&limited(2)).whole(), @"
    exit: 5
    -- stdout
    -- stderr
    error[io]: cannot create `nodes/.versions/a/v1.md`: File too large (os error 27)
    hint: the system limits the size of files
    ");
    assert_snapshot!(place.typed("add nodes/b --draft --body -").stdin(text(100)).behind(&limited(2)).whole(), @"
    exit: 5
    -- stdout
    -- stderr
    error[io]: cannot create `nodes/b.md`: File too large (os error 27)
    hint: the system limits the size of files
    ");
    assert!(!place.has("nodes/b.md"));
}

#[test]
fn a_vault_that_cannot_be_written_can_still_be_read() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.remove(".context/local");
    place.write(".context/local", "in the way");
    place.edit("nodes/a.md", "# A\n", "# A\n\nx\n");
    let before = place.tree();
    assert_snapshot!(place.ctx("publish --changed").whole(), @"
    exit: 5
    -- stdout
    -- stderr
    error[io]: cannot lock `.context/local/lock`: Not a directory (os error 20)
    ");
    for line in ["add nodes/b --body b", "retire nodes/a"] {
        place.ctx(line).exits(5);
    }
    for line in [
        "list",
        "read nodes/a",
        "status",
        "history nodes/a",
        "context",
        "publish --changed --dry-run",
        "verify --allow-drift",
    ] {
        place.ctx(line).ok();
    }
    assert_eq!(place.tree(), before);
}

#[test]
fn a_file_in_the_place_of_a_version_is_kept() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.write("nodes/b.md", "# B\n");
    place.write("nodes/.versions/b/v1.md", "left from something\n");
    let before = place.tree();
    let refused = place.typed("publish nodes/b").without("HOME").run();
    assert_snapshot!(refused.whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      nodes/.versions/b/history.yaml
        error[history-unsealed]: `nodes/.versions/b/v1.md` exists, but no checkpoint seals it (either a command was interrupted or the entry is forged: run `ctx verify`, then `ctx recover --dry-run`)
    hint: nothing was written; fix the documents, or leave them out
    ");
    assert_eq!(place.tree(), before);
    // The intent record of an interrupted event shows that no checkpoint ever sealed it.
    place.began("2026-11-21T10:00:02.500Z");
    assert_snapshot!(place.ctx("publish nodes/b").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 1 version, 2026-11-21T10:00:03.000Z
      new  nodes/b  v1
    -- stderr
    note: 1 uncommitted file of an interrupted command moved to .context/local/recovered/1/
    ");
    let kept = place.read(".context/local/recovered/1/nodes/versions/b/v1.md");
    assert_eq!(kept, "left from something\n");
}
