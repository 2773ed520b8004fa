//! What a newcomer types: each error names the command that was meant.

use crate::harness::Place;

#[test]
fn wrong_commands_name_the_right_one() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    for (line, hint) in [
        ("log", "`ctx history ID`"),
        ("commit -m x", "`ctx publish --changed"),
        ("push", "git push"),
        ("rm nodes/a", "`ctx retire ID`"),
        ("revert nodes/a", "`ctx restore ID --version N`"),
        ("ls", "`ctx list`"),
        ("cat nodes/a", "`ctx read ID`"),
        ("new nodes/x", "`ctx add ID"),
        ("edit nodes/a", "`ctx publish ID`"),
        ("rename a b", "`ctx mv OLD NEW`"),
        ("grep x", "`ctx search WORDS`"),
        ("serve", "`ctx mcp`"),
        ("lint", "`ctx validate`"),
        ("fsck", "`ctx verify`"),
        ("gc", "`ctx recover"),
        ("config", ".context/config.yaml"),
        ("whoami", "CTX_PRINCIPAL"),
        ("version", "`ctx --version`"),
        ("LOG", "`ctx history ID`"),
        ("--json log", "`ctx history ID`"),
        ("promote x", "`ctx stage promote`"),
        ("assign x", "`ctx steward assign`"),
        ("pblish", "`ctx publish`"),
        ("steward add ana@example.com reviewer", "`ctx steward assign`"),
        ("steward rm ana@example.com", "`ctx steward remove`"),
        ("steward remove ana@example.com", "`ctx steward remove ana@example.com --whole-vault`"),
        ("steward remove ana@example.com reviewer --whole-vault", "takes no role"),
        ("steward assign ana@example.com", "`ctx steward assign ana@example.com reviewer"),
        ("audit list", "`ctx trace list`"),
        ("govern status", "`ctx owners`"),
        ("mcp start", "`ctx mcp` serves"),
        ("checkpoint new", "`ctx publish` makes"),
        ("review nodes/a", "`ctx review show nodes/a`"),
        ("pack ls", "`ctx pack list`"),
        ("diff nodes/a@1", "`ctx diff nodes/a 1`"),
        ("history nodes/a@1", "`ctx show nodes/a 1`"),
        ("history nodes/a 1", "`ctx show nodes/a 1`"),
        ("restore nodes/a@1", "`ctx restore nodes/a --version 1`"),
        ("show nodes/a@1", "`ctx show nodes/a 1`"),
        ("show nodes/a", "`ctx history nodes/a`"),
        ("read nodes/b@1@2", "hint"),
        ("checkout main", "`ctx checkpoint list`"),
        ("publish -a", "`--all`"),
        ("publish nodes/a --note x", "`--message`"),
        ("trace list --since 2026-01-01", "`--from`"),
        ("trace list --from 7d", "`7d` ago is `2026-11-14`"),
        ("evidence report --from 2w", "`2026-11-07`"),
        ("evidence report --from yesterday", "`2026-11-20`"),
        ("trace list --from soon", "write a time"),
        ("list --format json", "`--json`"),
        ("diff --cached", "`ctx validate --staged`"),
        ("verify --force", "`ctx help verify`"),
        ("graph nodes/a", "`ctx neighbors nodes/a`"),
        ("owners nodes/a", "`ctx steward who nodes/a`"),
    ] {
        let out = place.ctx(line);
        assert_ne!(out.exit, 0, "{line}: {}", out.whole());
        assert!(out.stderr.contains(hint), "{line}: {}", out.whole());
        assert!(!out.stderr.contains("unrecognized subcommand"), "{line}: {}", out.whole());
    }
}

#[test]
fn an_unknown_command_is_an_error_of_the_house() {
    let place = Place::new();
    let json = place.ctx("log --json").exits(2).json("ctx.error");
    assert_eq!(
        (&json["code"], &json["message"]),
        (&"usage".into(), &"unknown command `log`".into())
    );
    assert!(json["hints"][0].as_str().unwrap().contains("ctx history ID"), "{json}");
    let out = place.args(&["\u{1b}[31mx"]).here().exits(2);
    assert!(!out.stderr.contains('\u{1b}'), "{}", out.stderr);
}

#[test]
fn a_blank_note_is_no_note() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.args(&["mv", "nodes/a", "nodes/b", "-m", " "]).here().ok();
    let json = place.ctx("history nodes/b --json").ok().json("ctx.history");
    assert!(json["versions"][0]["note"].is_null(), "{json}");
}
