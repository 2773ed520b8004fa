//! Common mistakes of newcomers: each error names the command that was meant.

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
        ("steward remove ana@example.com reviewer --whole-vault", "needs no role"),
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
        ("trace list --user ana", "`--principal`"),
        ("trace list --by ana", "`--principal`"),
        ("read nodes/a --user ana", "`--as`"),
        ("trace list --from 7d", "`7d` ago is `2026-11-14`"),
        ("evidence report --from 2w", "`2026-11-07`"),
        ("evidence report --from yesterday", "`yesterday` is `2026-11-20`"),
        ("trace list --from 7_days_ago", "write a time"),
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
fn unknown_commands_are_named_in_the_order_of_their_words() {
    let place = Place::new();
    for (line, unknown, hint) in [
        ("tag list", "tag list", "`ctx list \"#TAG\"`"),
        ("pr list", "pr list", "`ctx review` lists"),
        ("pr create -m x", "pr create", "`ctx submit ID`"),
        ("doc list", "doc list", "`ctx list` lists"),
        ("file rm a", "file rm", "`ctx retire ID`"),
        ("doc verify", "doc verify", "`ctx list`"),
        ("user add bob", "user add", "`ctx steward assign PRINCIPAL ROLE"),
        ("role list", "role list", "`ctx steward list`"),
        ("config show", "config show", ".context/config.yaml"),
        ("op log", "op log", "`ctx checkpoint list`"),
        ("xyzzy verify", "xyzzy verify", "`ctx verify`"),
        ("--json tag list", "tag list", "#TAG"),
        ("--as list tag", "tag", "#TAG"),
        ("tag --json list", "tag", "#TAG"),
        ("grep returns", "grep", "`ctx search WORDS`"),
        ("mcp add claude-code", "mcp add", "`ctx mcp config CLIENT --write`"),
        ("checkpoint --json lst", "checkpoint lst", "`ctx checkpoint list`"),
    ] {
        let out = place.ctx(line).exits(2);
        let whole = out.whole();
        assert!(whole.contains(&format!("unknown command `{unknown}`")), "{line}: {whole}");
        assert!(whole.replace("\\\"", "\"").contains(hint), "{line}: {whole}");
        assert!(!whole.contains("has the parts \n") && !whole.contains("parts \""), "{whole}");
    }
}

#[test]
fn a_command_without_its_part_names_the_parts() {
    let place = Place::new();
    for line in ["audit --json", "audit --as ana@example.com", "trace --json", "mcp token --json"] {
        let whole = place.ctx(line).exits(2).whole();
        assert!(whole.contains("needs one of its parts"), "{line}: {whole}");
        assert!(whole.contains("has the parts"), "{line}: {whole}");
        assert!(!whole.contains("ctx ctx") && !whole.contains("unknown command"), "{whole}");
    }
    let whole = place.ctx("--json").exits(2).whole();
    assert!(whole.contains("no command is named"), "{whole}");
}

#[test]
fn wrong_options_and_values_name_what_was_meant() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/legal/nda", "# NDA\n")]);
    place.write("INDEX.md", "# Index\n");
    let mut wrong = Vec::new();
    for (line, hint) in [
        ("review list", "`ctx review` lists"),
        ("review ls", "`ctx review` lists"),
        ("help commit", "`ctx publish --changed"),
        ("help log", "`ctx history ID`"),
        ("help pr list", "`ctx review`"),
        ("help checkpoint create", "`ctx publish` makes"),
        ("help driff", "`drift`"),
        ("cp nodes/a nodes/b", "copy the file"),
        ("copy nodes/a nodes/b", "copy the file"),
        ("restore nodes/a 1", "`ctx restore ID --version 1`"),
        ("restore nodes/a --version nodes/a@1", "`1`"),
        ("steward assign reviewer bob", "`ctx steward assign bob reviewer --whole-vault`"),
        ("publish --amend", "never changed"),
        ("diff --staged", "`ctx validate --staged`"),
        ("read nodes/a --version 1", "`ctx read nodes/a@1`"),
        ("read nodes/a --version=1", "`ctx show nodes/a 1`"),
        ("read nodes/a 1", "`ctx read nodes/a@1`"),
        ("read nodes/a v1", "`ctx show nodes/a 1`"),
        ("impact nodes/a --version 1", "`ctx impact nodes/a 1`"),
        ("list --tag legal", "`ctx list '#legal'`"),
        ("list --type policy", "`ctx list type:policy`"),
        ("list --folder nodes/legal", "`ctx list nodes/legal/`"),
        ("verify --all", "includes all"),
        ("verify --fix", "`ctx recover --dry-run`"),
        ("submit --all", "`ctx submit --changed`"),
        ("st", "`ctx status`"),
        ("describe", "`ctx history ID`"),
        ("pub nodes/a", "`ctx publish`"),
        ("publish-all", "`ctx publish --all`"),
        ("steward-add", "`ctx steward assign`"),
        ("init-vault", "`ctx init`"),
        ("govern --on", "`ctx govern on`"),
        ("approve --all", "`ctx review` lists"),
        ("co nodes/a", "`ctx restore ID`"),
        ("fmt", "`ctx validate`"),
        ("outline nodes/a", "`ctx read ID --outline`"),
        ("role", "`ctx steward list`"),
        ("trace tail", "`ctx trace follow`"),
        ("trace export", "`ctx evidence export`"),
        ("trace hold add", "`ctx trace hold place`"),
        ("list -o json", "`--json`"),
        ("mcp --port 8080", "`ctx mcp --http 127.0.0.1:8080`"),
        ("mcp --stdio", "without an option"),
        ("mcp --http 8080", "`--http 127.0.0.1:8080`"),
        ("mcp --http localhost", "expected an address and a port"),
        ("history nodes/a -p", "`ctx diff nodes/a V1 V2`"),
        ("history nodes/a -5", "`-n 5`"),
        ("status -s", "`--json` prints"),
        ("impact nodes/a --since 7d", "`--from`"),
        ("trace list --from -7d", "`7d` ago is `2026-11-14`"),
        ("comment nodes/a -m hi", "`ctx comment nodes/a hi`"),
        ("evidence export nodes/a", "`ctx evidence export --document nodes/a`"),
        ("replay nodes/a", "`ctx trace list --document nodes/a`"),
        ("read CONTEXT", "`ctx read CONTEXT.md`"),
        ("read INDEX", "is not a document"),
        ("resolve nodes/legal", "`nodes/legal/`"),
        ("resolve nodes/legal/**", "`nodes/legal/`"),
        ("resolve folder:nodes/legal", "`nodes/policies/`"),
        ("resolve type=policy", "`type:policy`"),
        ("resolve all", "`status:published`"),
        ("resolve legal/", "`nodes/legal/`"),
        ("checkout main x", "the number of a checkpoint"),
        ("checkpoint show HEAD", "the number of a checkpoint"),
        ("trace list --checkpoint HEAD", "the number of a checkpoint"),
        ("resolve nodes/ --budget 2k", "a number of tokens"),
        ("list -n abc", "a number of entries"),
        ("publish nodes/a --lock-timeout x", "a number of seconds"),
        ("neighbors nodes/a --hops x", "a whole number"),
    ] {
        let out = place.ctx(line);
        let misleading =
            ["--agent", "--session", "--task", "--allow-drift", "digit found", "syntax"];
        if !out.stderr.contains(hint) || misleading.iter().any(|word| out.stderr.contains(word)) {
            wrong.push(format!("{line}: {hint}\n{}", out.stderr));
        }
    }
    for (args, hint) in [
        (["read", "#policy"], "`ctx resolve '#policy'`"),
        (["publish", "#policy"], "`ctx resolve '#policy'`"),
        (["resolve", "nodes/legal/nda.md + #legal"], "`contextnest://nodes/legal/nda`"),
        (["resolve", "nodes/legal + #legal"], "`nodes/legal/`"),
        (["resolve", "#legal & type:policy"], "`+`"),
        (["resolve", "#legal, #x"], "`+` for both"),
        (["resolve", "nodes\\legal\\"], "`contextnest://nodes/legal/`"),
    ] {
        let out = place.args(&args).here();
        if !out.stderr.contains(hint) {
            wrong.push(format!("{args:?}: {hint}\n{}", out.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn numbers_of_checkpoints_are_read_as_reports_write_them() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    for line in ["checkpoint show @1", "checkpoint diff @0 @1", "list --at @1", "checkout @1 ../x"]
    {
        place.ctx(line).ok();
    }
}

#[test]
fn a_document_moved_into_a_folder_keeps_its_name() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.ctx("mv nodes/a nodes/legal/").ok();
    place.ctx("read nodes/legal/a").ok();
}

#[test]
fn an_empty_page_does_not_mean_that_nothing_is_published() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    for line in ["list -n 0", "list -n 0 --snippets"] {
        let out = place.ctx(line).ok();
        assert!(!out.whole().contains("nothing is published"), "{}", out.whole());
    }
}

#[test]
fn demo_in_a_vault_is_refused_before_its_first_step() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    let whole = place.ctx("demo tour").exits(1).whole();
    assert!(whole.contains("error[exists]"), "{whole}");
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
