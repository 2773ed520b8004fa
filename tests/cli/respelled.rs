//! Hashes cover normal forms, so readers and verifiers accept only normal forms: another spelling
//! of stored bytes never produces another text.

use contextnest::model::number::Version;
use contextnest::record::chain::diff;
use contextnest::text::document::text::normalise;

use crate::harness::Place;

const KEYFRAME: &str = ".versions/CONTEXT.md/v1.md";
const HISTORY: &str = ".versions/CONTEXT.md/history.yaml";

/// Returns instructions with repeated lines, published twice: the first `yes` is `NEVER` in the
/// second version.
fn repetitive() -> (Place, String) {
    let section = "Logged: yes\nNight: no\nAllowed: yes\nCost: 1\n";
    let text: String =
        ["Delete", "Read", "Write"].map(|what| format!("## {what}\n{section}")).concat();
    let place = Place::vault();
    place.write("CONTEXT.md", &text);
    place.ctx("publish --all").ok();
    let text = text.replacen("Allowed: yes", "Allowed: NEVER", 1);
    place.write("CONTEXT.md", &text);
    place.ctx("publish --all").ok();
    (place, text)
}

/// Replaces the lines of the diff in the history.
fn replace_diff(place: &Place, by: &str) {
    let history = place.read(HISTORY);
    let at = history.find("    diff: |\n").unwrap();
    let end = at + history[at..].find("    edited_by").unwrap();
    place.write(HISTORY, format!("{}{by}{}", &history[..at], &history[end..]));
}

/// Returns the codes of the findings, and the text of version 2 in a checkout.
fn seen(place: &Place) -> (Vec<String>, String) {
    let json = place.ctx("verify --json").json("ctx.verify");
    let findings = json["findings"].as_array().unwrap();
    let codes = findings.iter().map(|f| f["code"].as_str().unwrap().to_owned()).collect();
    let to = place.home().join("out");
    let _ = std::fs::remove_dir_all(&to);
    let _ = place.args(&["checkout", "2", &to.display().to_string()]).run();
    (codes, std::fs::read_to_string(to.join("CONTEXT.md")).unwrap_or_default())
}

#[test]
fn line_ends_of_a_full_text_do_not_move_the_diff_behind_it() {
    for spelled in [
        |text: &str| text.replacen('\n', "\r", 5),
        |text: &str| text.replace('\n', "\r\n"),
        |text: &str| format!("\u{feff}{text}"),
    ] {
        let (place, text) = repetitive();
        let before = place.read(KEYFRAME);
        place.write(KEYFRAME, spelled(&before));
        assert_eq!(seen(&place), (vec!["history-respelled".to_owned()], text));
    }
}

#[test]
fn line_ends_of_a_diff_do_not_change_what_it_yields() {
    // The last line of the second version has no line end.
    let place = Place::vault();
    place.write("CONTEXT.md", "Rules\nA: yes\nB: no");
    place.ctx("publish --all").ok();
    place.write("CONTEXT.md", "Rules\nA: yes\nB: yes");
    place.ctx("publish --all").ok();
    let patch =
        diff::print("Rules\nA: yes\nB: no", "Rules\nA: yes\nB: yes", Version(1), Version(2));
    let respelled = patch.replace("+B: yes\n\\", "+B: yes\r\\");
    assert_ne!(respelled, patch);
    assert_eq!(normalise(&respelled), patch);
    let quoted = serde_json::to_string(&respelled).unwrap();
    replace_diff(&place, &format!("    diff: {quoted}\n"));
    let (codes, text) = seen(&place);
    assert_eq!(
        (codes, text.as_str()),
        (vec!["history-respelled".to_owned()], "Rules\nA: yes\nB: yes")
    );
}

#[test]
fn a_diff_is_no_full_text_in_any_spelling() {
    for spelled in [
        |diff: &str| diff.to_owned(),
        |diff: &str| format!("\u{feff}{diff}"),
        |diff: &str| diff.replace('\n', "\r\n"),
        |diff: &str| diff.replace('\n', "\r"),
    ] {
        let (place, text) = repetitive();
        let patch = diff::print(&place.read(KEYFRAME), &text, Version(1), Version(2));
        replace_diff(&place, "    keyframe: true\n");
        place.write(".versions/CONTEXT.md/v2.md", spelled(&patch));
        let (codes, text) = seen(&place);
        assert!(codes.contains(&"version-self-mismatch".to_owned()), "{codes:?}");
        assert_eq!(text, "");
    }
}

#[test]
fn a_diff_in_its_own_file_is_reported() {
    let (place, text) = repetitive();
    let patch = diff::print(&place.read(KEYFRAME), &text, Version(1), Version(2));
    replace_diff(&place, "");
    place.write(".versions/CONTEXT.md/v2.diff", patch);
    assert_eq!(seen(&place), (vec!["history-respelled".to_owned()], text));
}

const FULL: &str = ".versions/context_history.yaml";
const A_HISTORY: &str = "nodes/.versions/a/history.yaml";

/// Returns a vault of ctx whose configuration asks for a log of whole maps, with at least
/// two checkpoints.
fn full() -> Place {
    let place = Place::unrecorded(&[("nodes/a", "# A\n"), ("nodes/é", "# É\n")]);
    place.ctx("checkpoint convert --to full").ok();
    place.ctx("add nodes/b --body b").ok();
    place.ctx("verify").ok();
    place
}

fn codes(place: &Place) -> Vec<String> {
    // Only the files are checked: without a home nothing is trusted.
    let json = place.typed("verify --json").without("HOME").run().json("ctx.verify");
    let findings = json["findings"].as_array().unwrap();
    findings.iter().map(|f| f["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn another_spelling_of_a_full_log_is_reported() {
    let place = full();
    let log = place.read(FULL);
    let middle = log.rfind("    triggered_by:").unwrap();
    let lines = log[..middle].lines().count();
    for (what, text) in [
        ("a comment", format!("{}    # so\n{}", &log[..middle], &log[middle..])),
        ("a blank line", format!("{}\n{}", &log[..middle], &log[middle..])),
        ("an unknown key", format!("{}    mine: 1\n{}", &log[..middle], &log[middle..])),
        ("other quotes", log.replacen("nodes/a:", "'nodes/a':", 1)),
        ("a comment at the end", format!("{log}# so\n")),
        ("CRLF", log.replace('\n', "\r\n")),
        ("a lone CR", log.replacen("\n", "\r", 1)),
        ("a U+FEFF", format!("\u{feff}{log}")),
        ("another head", log.replacen("# Auto-generated", "# auto-generated", 1)),
        ("no line end", log.trim_end().to_owned()),
        ("a document mark", format!("---\n{log}")),
    ] {
        assert_ne!(text, log, "{what}");
        place.write(FULL, &text);
        assert_eq!(codes(&place), ["log-respelled"], "{what}");
    }
    place.write(FULL, format!("{}    # so\n{}", &log[..middle], &log[middle..]));
    let told = place.ctx("verify").ok().stdout;
    assert!(told.contains(&format!("from line {} on", lines + 1)), "{told}");
    place.write(FULL, &log);
    assert_eq!(codes(&place), [""; 0]);
}

/// `# <U+2028>status: published` is a comment for one reader and a field for another.
#[test]
fn a_character_that_ends_a_line_for_some_readers_is_refused() {
    for c in ['\u{85}', '\u{2028}', '\u{2029}'] {
        let place = full();
        let (log, history) = (place.read(FULL), place.read(A_HISTORY));
        place.write(FULL, log.replacen("    at:", &format!("    # {c}\n    at:"), 1));
        assert_eq!(codes(&place), ["checkpoint-log-unreadable"]);
        place.write(FULL, &log);
        place.write(
            A_HISTORY,
            history.replacen("    edited_by:", &format!("    # {c}\n    edited_by:"), 1),
        );
        assert_eq!(codes(&place), ["history-unreadable"]);
        place.write(A_HISTORY, &history);
        assert_eq!(codes(&place), [""; 0]);

        let live = place.read("nodes/b.md");
        place.write("nodes/c.md", format!("---\nstatus: draft # {c}status: published\n---\n# C\n"));
        assert_eq!(codes(&place), ["published-without-history"]);
        let refused = place.ctx("publish nodes/c").exits(1).stderr;
        assert!(
            refused.contains(&format!("line 2, column 17: U+{:04X} ", u32::from(c))),
            "{refused}"
        );
        place.remove("nodes/c.md");
        place.write("nodes/b.md", live.replacen("title: ", &format!("title: x{c}"), 1));
        place.ctx("publish nodes/b").exits(1);
        let quoted = live.replacen("title: b", &format!("title: \"x{c}\""), 1);
        assert_ne!(quoted, live);
        place.write("nodes/b.md", quoted);
        place.ctx("publish nodes/b").ok();
        place.ctx("verify").ok();
    }
}

/// HIST-6: a field that exists is not null. Other readers do not read `~` as text.
#[test]
fn a_null_in_an_entry_is_a_malformed_field() {
    let place = full();
    let history = place.read(A_HISTORY);
    let by = history.lines().find(|line| line.starts_with("    edited_by:")).unwrap();
    for null in ["~", "null", "Null", "NULL", ""] {
        place.write(A_HISTORY, history.replacen(by, &format!("    edited_by: {null}"), 1));
        assert_eq!(codes(&place), ["field-malformed", "history-respelled"], "{null}");
        place.ctx("read nodes/a").exits(1);
        place.write(A_HISTORY, history.replacen(by, &format!("{by}\n    note: {null}"), 1));
        assert_eq!(codes(&place), ["field-malformed", "history-respelled"], "{null}");
    }
}

#[test]
fn a_principal_that_is_called_null_is_recorded_in_quotes() {
    let place = Place::vault();
    place.write("nodes/a.md", "# A\n");
    for (id, name, note) in [("a", "null", "~"), ("b", "Null", "null"), ("c", "yes", "no")] {
        let path = format!("nodes/{id}.md");
        place.write(&path, "# A\n");
        place.args(&["publish", "--all", "--as", name, "-m", note]).run().ok();
        let history = place.read(&format!("nodes/.versions/{id}/history.yaml"));
        assert!(history.contains(&format!("    edited_by: '{name}'\n")), "{history}");
        assert!(history.contains(&format!("    note: '{note}'\n")), "{history}");
    }
    place.ctx("verify").ok();
}
