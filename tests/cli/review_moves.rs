//! Moves in a governed vault: a verifier computes the text that an approved move publishes, for
//! every source and configuration.

use crate::harness::Place;

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: kim@x.com, role: reviewer}\n  - {principal: \
     lee@x.com, role: reviewer}\n  - {principal: ed@x.com, role: editor}\n";
const PLAIN: &str = "---\ntitle: A\n---\n\n# A\n\none\n";
const FEDERATED: &str =
    "layout: obsidian\nnamespace: home\nfederation: federated\nregistry: {docs: /srv/docs}\n";
/// Settings of the configuration, rules for two folders, the source, and its text.
const MOVES: [(&str, &str, &str, &str); 11] = [
    ("", "", "nodes/a", PLAIN),
    ("", "", "nodes/a", "# A\n\none\n"),
    (
        "",
        "",
        "nodes/a",
        "---\ntitle: A\nderived_from: https://example.com\nstatus: active\n---\none\n",
    ),
    ("", "", "nodes/a", "---\r\ntitle: A\r\nchange: autumn\r\n---\r\none\r\n"),
    ("", "review: {folders: {nodes/: {required: 2}}}\n", "nodes/a", PLAIN),
    ("", "", "nodes/a", "+++\ntitle = 'A'\n+++\none\n"),
    ("frontmatter: untouched\n", "", "nodes/a", "one\n"),
    (
        "frontmatter: untouched\n",
        "",
        "nodes/a",
        "---\nversion: 7 # theirs\nmetadata: {a: 1}\n---\none\n",
    ),
    ("frontmatter: untouched\n", "", "nodes/a", "{\"status\": \"done\"}\none\n"),
    ("frontmatter: untouched\nlayout: obsidian\n", "", "a", "%% # Not this %%\n\n# Title\n\none\n"),
    (FEDERATED, "", "docs/a", PLAIN),
];

/// Returns a governed vault in which the last approver moved `from` to `to`.
fn moved((settings, rules, from, text): (&str, &str, &str, &str), to: &str) -> Place {
    let place = Place::in_memory();
    place.ctx("init . --name V").ok();
    let config = "version: 1\nname: V\n".to_owned();
    let layout = if settings.contains("layout") { "" } else { "layout: structured\n" };
    place.write(".context/config.yaml", config + layout + settings);
    place.write(&format!("{from}.md"), text);
    place.ctx("publish --all --as ed@x.com").ok();
    place.write("stewards.yaml", format!("{STEWARDS}{rules}"));
    place.ctx("govern on --as kim@x.com").ok();
    place.ctx(&format!("mv {from} {to} --as ed@x.com")).ok();
    place.ctx(&format!("approve {from} --as kim@x.com")).ok();
    if !rules.is_empty() {
        place.ctx(&format!("approve {from} --as lee@x.com")).ok();
    }
    place
}

#[test]
fn verify_accepts_the_target_of_an_approved_move_of_every_source() {
    for case in MOVES {
        for to in [case.2.replace('a', "b"), case.2.replace('a', "deep/er/b")] {
            let place = moved(case, &to);
            let found = place.ctx("verify");
            assert_eq!(found.exit, 0, "{case:?} to {to}: {}", found.whole());
            place.ctx(&format!("read {to}")).ok();
        }
    }
}

#[test]
fn verify_accepts_a_move_of_what_was_moved() {
    let place = moved(MOVES[0], "nodes/b");
    place.ctx("mv nodes/b nodes/c --as ed@x.com").ok();
    place.ctx("approve nodes/b --as lee@x.com").ok();
    place.ctx("verify").ok();
    assert!(
        place
            .read("nodes/.versions/c/v1.md")
            .contains("['contextnest://nodes/b@3', 'contextnest://nodes/a@2']"),
        "{}",
        place.read("nodes/.versions/c/v1.md")
    );
}
