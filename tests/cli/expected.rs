//! Compare and swap: `--expect-version` and `--expect-hash`.

use insta::assert_snapshot;

use crate::harness::{CTX, Place};

/// Returns a document with two versions, the second by another principal.
fn overtaken() -> Place {
    let place = Place::published(&[("nodes/a", "# A\n\none\n\nThe\nlast\nlines\nare\nothers.\n")]);
    place.edit("nodes/a.md", "one", "two");
    place.ctx("publish nodes/a -m quicker --as lee@example.com").ok();
    place
}

fn chain_hash(place: &Place, version: usize) -> String {
    let json = place.ctx("history nodes/a --json").ok().json("ctx.history");
    json["versions"][version - 1]["chain_hash"].as_str().unwrap().to_owned()
}

#[test]
fn a_writer_who_read_an_older_version_is_shown_what_came_since() {
    let place = overtaken();
    place.edit("nodes/a.md", "two", "three");
    let before = place.tree();
    assert_snapshot!(place.ctx("publish nodes/a --expect-version 1").exits(4).whole(), @"
    exit: 4
    -- stdout
    -- stderr
    error[not-as-expected]: expected version 1, but version 2 is published
      nodes/a version 2, by lee@example.com at 2026-11-21T10:00:02.000Z: quicker
      --- v1
      +++ v2
      @@ -2,15 +2,15 @@
       title: A
       type: document
       status: published
      -version: 1
      +version: 2
       author: ana@example.com
       created_at: '2026-11-21T10:00:01.000Z'
      -updated_at: '2026-11-21T10:00:01.000Z'
      -checksum: sha256:356a2e1b40d6543c9a4a855015b2687d7637b1cf2832090c26cfb9a4328bf36d
      +updated_at: '2026-11-21T10:00:02.000Z'
      +checksum: sha256:733c37b5cff254de272930bf80e4c9dcea5961f1bc3bcd7df32bd0f95455cb68
       ---
       # A
       
      -one
      +two
       
       The
       last
    hint: `nodes/a.md` is based on version 2 already: check what it contains
    hint: nothing was written; merge the published version, then expect it
    ");
    let hash = chain_hash(&place, 1);
    let by_hash = place.ctx(&format!("publish nodes/a --expect-hash {hash}")).exits(4);
    assert!(by_hash.stderr.contains("expected version 1, but version 2"), "{}", by_hash.stderr);
    assert_eq!(place.tree(), before);
    place.ctx("publish nodes/a --expect-version 2").ok();
}

#[test]
fn the_command_that_takes_it_in_takes_it_in() {
    let place = overtaken();
    // The copy was made before, and edited elsewhere in the text.
    let first = place.ctx("show nodes/a 1").ok().stdout;
    place.write("nodes/a.md", first.replace("others", "edited"));
    let refused = place.ctx("publish nodes/a --expect-version 1").exits(4);
    let hint = refused.stderr.lines().find(|line| line.contains("| patch")).unwrap();
    let command = hint.split('`').nth(1).unwrap();
    place.typed("").shell(&command.replacen("ctx", CTX, 1)).ok();
    let live = place.read("nodes/a.md");
    assert!(
        live.contains("two\n") && live.contains("edited") && live.contains("version: 2"),
        "{live}"
    );
    place.ctx("publish nodes/a --expect-version 2").ok();
    place.ctx("verify").ok();
}

/// If the diff does not apply to the file, the hint names no command that would fail.
#[test]
fn hint_names_no_patch_that_would_fail() {
    let place = overtaken();
    let hint = |text: &str| {
        place.write("nodes/a.md", text);
        let refused = place.ctx("publish nodes/a --expect-version 1").exits(4).stderr;
        refused.lines().find(|line| line.starts_with("hint:")).unwrap().to_owned()
    };
    let published = place.ctx("show nodes/a 2").ok().stdout;
    assert_snapshot!(hint(&published), @"hint: `nodes/a.md` is based on version 2 already: check what it contains");
    let first = place.ctx("show nodes/a 1").ok().stdout;
    assert_snapshot!(hint(&first.replace("one", "three")), @"hint: `ctx diff nodes/a 1 2` shows the changes: apply them to your file by hand, and set `version` to the published one");
    // The same lines also exist before the hunk.
    assert_snapshot!(hint(&first.replace("title: A", "title: B")), @"hint: `ctx diff nodes/a 1 2` shows the changes: apply them to your file by hand, and set `version` to the published one");
    assert!(hint(&first.replace("others", "edited")).contains("| patch"));
    place.remove("nodes/a.md");
    let refused = place.ctx("publish nodes/a --expect-version 1").exits(4).stderr;
    assert!(refused.contains("the live file is missing"), "{refused}");
}

#[test]
fn the_hash_of_the_head_covers_everything_that_was_read() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    let head = place.ctx("head").ok().stdout.trim().to_owned();
    let expect = |line: &str| place.ctx(&format!("{line} --expect-hash {head}"));
    expect("publish --all").ok();
    place.edit("nodes/b.md", "# B\n", "# C\n");
    expect("publish --changed").ok();
    for line in
        ["publish --all", "retire nodes/a nodes/b", "index", "pack add p --query #x", "recover"]
    {
        let refused = expect(line).exits(4).stderr;
        let said = "expected checkpoint 1, but checkpoint 2 is published";
        assert!(refused.contains(said), "{line}: {refused}");
    }
    let two = expect("retire nodes/a nodes/b").stderr;
    assert!(two.contains("nodes/b version 2, by ana@example.com"), "{two}");
    expect("mv nodes/a nodes/c").exits(4);
    expect("add nodes/c --body x").exits(4);
    expect("add nodes/c --body x --draft").exits(4);
    assert!(!place.has("nodes/c.md"));
}

#[test]
fn an_expectation_that_cannot_be_held_against_anything_is_refused() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.ctx("publish --all --expect-version 1").exits(2);
    place.ctx("retire nodes/a --expect-hash md5:00").exits(2);
    let unknown = format!("sha256:{}", "0".repeat(64));
    for line in ["retire nodes/a", "publish --all"] {
        place.ctx(&format!("{line} --expect-hash {unknown}")).exits(4);
    }
    // A document that is not published is at version 0.
    place.ctx("add nodes/b --body x --expect-version 1").exits(4);
    place.ctx("add nodes/b --body x --expect-version 0").ok();
    place.ctx("add nodes/b --body x --expect-version 0").exits(4);
    place.ctx("add nodes/b --body x").exits(1);
    place.ctx("publish nodes/b --expect-version 0 --dry-run").exits(4);
}

/// Returns a merge of two branches that published a version 2 each: the record of one, the live
/// file of the other.
fn crossed(ours: [&str; 2], theirs: [&str; 2]) -> Place {
    let place = Place::unrecorded(&[("nodes/a", "---\ntags: ['#x']\n---\n# A\n\none\n")]);
    let other = place.duplicate();
    other.edit("nodes/a.md", theirs[0], theirs[1]);
    other.ctx("publish nodes/a --as lee@example.com --now 2026-11-21T12:00:00.000Z").ok();
    place.edit("nodes/a.md", ours[0], ours[1]);
    place.ctx("publish nodes/a --now 2026-11-21T11:00:00.000Z").ok();
    for path in [".versions/checkpoints.jsonl", "nodes/.versions/a/history.yaml"] {
        place.write(path, other.bytes(path));
    }
    place.ctx("head trust").ok();
    place
}

#[test]
fn another_version_of_the_same_number_is_not_undone() {
    let place = crossed(["one", "ours"], ["one", "theirs"]);
    let before = place.tree();
    assert_snapshot!(place.ctx("publish nodes/a").exits(1).stderr, @"
    error[refused]: 1 file refused
      nodes/a.md
        error[stale]: the file was not edited from the published version 2: its `checksum` or `updated_at` differs, as after a merge that took the history of one side and the file of the other (merge what `ctx diff nodes/a` shows, with `checksum` and `updated_at`, or run `ctx publish nodes/a --expect-hash sha256:7574843219cb6b69e1d4dafc85f136490fbbf4e852fd6a59741e538258e6d61f`)
    hint: nothing was written; fix the documents, or leave them out
    ");
    // Both sides have the number, so it does not identify the version that was read.
    place.ctx("publish nodes/a --expect-version 2").exits(1);
    place.ctx("publish --changed").exits(1);
    assert_eq!(place.tree(), before);
    place.ctx(&format!("publish nodes/a --expect-hash {}", chain_hash(&place, 2))).ok();
    assert!(place.ctx("read nodes/a").ok().stdout.contains("ours"));
    place.edit("nodes/a.md", "ours", "both");
    place.ctx("publish nodes/a").ok();
}

#[test]
fn another_version_with_the_same_body_is_not_undone() {
    let place = crossed(["'#x'", "'#x', '#ours'"], ["'#x'", "'#x', '#theirs'"]);
    let refused = place.ctx("publish nodes/a").exits(1).stderr;
    assert!(refused.contains("error[stale]: "), "{refused}");
}

/// The fields of the published version are enough to publish.
#[test]
fn a_merged_file_with_the_fields_of_the_published_version_is_published() {
    let place = crossed(["one", "ours"], ["one", "theirs"]);
    let theirs = place.ctx("show nodes/a 2").ok().stdout;
    place.write("nodes/a.md", theirs.replace("theirs", "theirs and ours"));
    place.ctx("publish nodes/a").ok();
    place.ctx("verify").ok();
}

/// Changed fields do not prove that the file is from another branch.
#[test]
fn fields_that_were_changed_by_hand_are_of_no_other_branch() {
    let place = Place::published(&[("nodes/a", "# A\n\none\n")]);
    for (from, to) in [
        ("updated_at: '2026", "updated_at: '2027"),
        ("version: 2", "version: 9"),
        ("checksum: sha256:", "checksum: mine:"),
    ] {
        place.edit("nodes/a.md", "one", "one more");
        let old = place.read("nodes/a.md");
        place.write("nodes/a.md", old.replace(from, to));
        place.ctx("publish nodes/a").ok();
    }
    place.ctx("verify").ok();
}
