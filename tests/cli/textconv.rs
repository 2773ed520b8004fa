//! `ctx textconv` as a driver of diffs of real git.

use insta::assert_snapshot;

use crate::anchored::git;
use crate::harness::Place;

#[test]
fn git_shows_changes_of_logs_and_histories_as_events() {
    let place = Place::published(&[("nodes/a", "# A\n\nOne.\n"), ("nodes/b", "# B\n")]);
    git(&place, "init -q");
    let ctx = env!("CARGO_BIN_EXE_ctx");
    let (key, value) = contextnest::workspace::git_settings::TEXTCONV[0];
    git(&place, &format!("config {key} \"{}\"", value.replace("ctx", ctx)));
    git(&place, "add -A");
    git(&place, "commit -q -m one");
    place.edit("nodes/a.md", "One.", "Two.");
    place.ctx("publish --changed -m 'second text'").ok();
    place.ctx("retire nodes/b --as bo@example.com").ok();
    let diff = git(
        &place,
        "diff -U1 -- .versions/checkpoints.jsonl nodes/.versions/a/history.yaml .context/audit",
    );
    let events = |text: &str| {
        let lines =
            text.lines().filter(|line| !line.starts_with("index ") && !line.starts_with("@@"));
        let marks = regex::Regex::new("#[0-9a-f]{12}").unwrap();
        let writer = regex::Regex::new("[0-9a-f]{32}").unwrap();
        let text = lines.collect::<Vec<_>>().join("\n");
        writer.replace_all(&marks.replace_all(&text, "#[HASH]"), "[WRITER]").into_owned()
    };
    assert_snapshot!(events(&diff), @r#"
    diff --git a/.versions/checkpoints.jsonl b/.versions/checkpoints.jsonl
    --- a/.versions/checkpoints.jsonl
    +++ b/.versions/checkpoints.jsonl
     @1  2026-11-21T10:00:01.000Z  80ace6c73a49  published .context/config.yaml v1, CONTEXT.md v1, nodes/a v1, nodes/b v1 #[HASH]
    +@2  2026-11-21T10:00:06.000Z  339bd2038ef7  published nodes/a v2 #[HASH]
    +@3  2026-11-21T10:00:07.000Z  cc25ad35380d  retired nodes/b #[HASH]
    diff --git a/nodes/.versions/a/history.yaml b/nodes/.versions/a/history.yaml
    --- a/nodes/.versions/a/history.yaml
    +++ b/nodes/.versions/a/history.yaml
     v1  2026-11-21T10:00:01.000Z  ana@example.com  published  ecf46616d8c2 #[HASH]
    +v2  2026-11-21T10:00:06.000Z  ana@example.com  published  "second text"  bcc0fab40f7a #[HASH]
    "#);
    git(&place, "commit -q -a -m two");
    let log = git(&place, "log -p -1 --format=%s -- nodes/.versions/b/history.yaml");
    assert_snapshot!(events(&log), @"
    two

    diff --git a/nodes/.versions/b/history.yaml b/nodes/.versions/b/history.yaml
    --- a/nodes/.versions/b/history.yaml
    +++ b/nodes/.versions/b/history.yaml
     history, a keyframe every 10 versions #[HASH]
     v1  2026-11-21T10:00:01.000Z  ana@example.com  published  a54520b350d0 #[HASH]
    +v2  2026-11-21T10:00:07.000Z  bo@example.com  retired  4f8905d4ef20 #[HASH]
    ");
    // A changed byte is shown, even if no person, document or time changed.
    place.edit("nodes/.versions/a/history.yaml", "-One.", "-Ten.");
    let changed = git(&place, "diff -U0 -- nodes/.versions/a/history.yaml");
    assert_eq!(changed.lines().filter(|line| line.starts_with(['+', '-'])).count(), 4, "{changed}");
    // A file that is not a log any more is printed as it is.
    place.write("nodes/.versions/a/history.yaml", b"\xff\x1b[31m\n");
    let broken = git(&place, "diff -U0 -- nodes/.versions/a/history.yaml");
    assert!(broken.contains("+\\xff\\u{1b}[31m\n"), "{broken}");
}

#[test]
fn textconv_reads_a_file_outside_of_a_vault() {
    let place = Place::new();
    place.write("file", "# A\n\u{1b}");
    assert!(place.ctx("textconv file").ok().stdout.starts_with("# A\n\\u{1b}\n"));
    assert!(place.ctx("textconv none").exits(5).stderr.contains("cannot read `none`"));
    place.ctx("textconv file --json").exits(2);
    let attributes = Place::vault().read(".gitattributes");
    assert_snapshot!(attributes, @"
    *.md merge=ctx
    context.yaml merge=ctx
    **/.versions/** -text -whitespace -ident -filter -working-tree-encoding linguist-generated
    **/.versions/**/v*.md -merge
    **/.versions/**/history.yaml diff=ctx merge=ctx
    **/.versions/**/checkpoints.jsonl diff=ctx merge=ctx
    ");
}
