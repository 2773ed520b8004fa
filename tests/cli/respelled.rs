//! Hashes are of normal forms, so what is served and verified must be one too: another spelling of
//! stored bytes never gives another text.

use contextnest::chain::diff;
use contextnest::document::text::normalise;

use crate::harness::Place;

const KEYFRAME: &str = ".versions/CONTEXT.md/v1.md";
const HISTORY: &str = ".versions/CONTEXT.md/history.yaml";

/// Instructions in which the same lines come again and again, published twice: the first `yes` is
/// `NEVER` in the second version.
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

/// Writes other lines for those of the diff in the history.
fn replace_diff(place: &Place, by: &str) {
    let history = place.read(HISTORY);
    let at = history.find("    diff: |\n").unwrap();
    let end = at + history[at..].find("    edited_by").unwrap();
    place.write(HISTORY, format!("{}{by}{}", &history[..at], &history[end..]));
}

/// Codes and what version 2 is when it is checked out.
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
    // The last line of the second version has no end.
    let place = Place::vault();
    place.write("CONTEXT.md", "Rules\nA: yes\nB: no");
    place.ctx("publish --all").ok();
    place.write("CONTEXT.md", "Rules\nA: yes\nB: yes");
    place.ctx("publish --all").ok();
    let patch = diff::print("Rules\nA: yes\nB: no", "Rules\nA: yes\nB: yes", 1, 2);
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
        let patch = diff::print(&place.read(KEYFRAME), &text, 1, 2);
        replace_diff(&place, "    keyframe: true\n");
        place.write(".versions/CONTEXT.md/v2.md", spelled(&patch));
        let (codes, text) = seen(&place);
        assert!(codes.contains(&"version-self-mismatch".to_owned()), "{codes:?}");
        assert_eq!(text, "");
    }
}

#[test]
fn a_diff_in_a_file_of_its_own_is_told() {
    let (place, text) = repetitive();
    let patch = diff::print(&place.read(KEYFRAME), &text, 1, 2);
    replace_diff(&place, "");
    place.write(".versions/CONTEXT.md/v2.diff", patch);
    assert_eq!(seen(&place), (vec!["history-respelled".to_owned()], text));
}
