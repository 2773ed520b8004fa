//! Every verb answers `--json` with one object that names its schema.

use contextnest::files::vault::disk::Disk;
use contextnest::files::vault::outside;
use contextnest::record::staging::{self, Hydrated};

use crate::harness::Place;
use crate::reference::undocumented;
use crate::stage::{ANA, hydrated, opened};

/// A word of a published text that no command line contains.
const WORD: &str = "Zebrafish";

/// Runs every verb once in a new place; `run` gets each line with its schema.
fn run_every_verb(run: &mut dyn FnMut(&Place, &str, &str)) {
    let source = "---\ntype: source\nsource: {transport: cli, server: s, tools: [t], cache_ttl: 9999}\n---\n";
    let place = Place::published_with(
        "servers: {s: {transport: cli}}\n",
        &[
            ("nodes/a", &format!("---\ntags: [x]\n---\n# A\n\n{WORD}.\n")),
            ("nodes/z", "[a](a.md)\n"),
            ("sources/s", source),
        ],
    );
    let user = "vaults: {ROOT: {sources: {s: {command: [/bin/cat]}}}}";
    let user = user.replace("ROOT", &place.root().display().to_string());
    place.write("../.config/contextnest/config.yaml", user);
    place.ctx("read nodes/a").ok();
    let traces = place.ctx("trace list --verb read --json").ok().json("ctx.trace.list");
    let show = format!("trace show {}", traces["traces"][0]["trace"].as_str().unwrap());
    let audit = place.home().join(".local/state/contextnest/audit");
    let collect = format!("trace collect {} --into ../logs", audit.display());
    let replay = show.replace("trace show", "replay");
    let replay_output = format!("{replay} --output");
    let hold = place.ctx("trace hold place --task t --document nodes/a --reason x").ok().stdout;
    let lift = format!("trace hold lift {} --reason x", hold.trim());
    place.write("CODEOWNERS", "/nodes/ lee@example.com\n");
    let [a, b, c] = ["one", "two", "three"].map(|text| {
        let of_s = Hydrated { source: "sources/s".parse().unwrap(), ..hydrated(ANA, "s") };
        let places = (&opened(&place, Disk::default()), outside::random as fn() -> [u8; 16]);
        let at = "2026-11-21T10:01:00.000Z".parse().unwrap();
        staging::stage(places, (of_s, text.as_bytes()), at).unwrap().name.to_string()
    });
    let of = |verb: &str, entry: &str| format!("stage {verb} {entry}");
    let (shown, pinned, unpinned) = (of("show", &a), of("pin", &a), of("unpin", &a));
    let (discarded, compared) = (of("discard", &a), format!("stage diff {b} {a}"));
    let erased = format!("stage erase {b} --reason x");
    let promoted = format!("stage promote {c} --to nodes/promoted");
    let token = place.ctx("mcp token add bo --tokens ../tokens.json --json").ok();
    let token = token.json("ctx.mcp.token.add");
    let token = token["token_id"].as_str().unwrap();
    let revoke = format!("mcp token revoke {token} --tokens ../tokens.json");
    let config = format!("mcp config zed --program {}", env!("CARGO_BIN_EXE_ctx"));
    let mut asked = Vec::new();
    for (line, schema) in [
        ("status", "ctx.status"),
        ("list", "ctx.list"),
        ("read nodes/a", "ctx.read"),
        ("history nodes/a", "ctx.history"),
        ("show nodes/a 1", "ctx.show"),
        ("blame nodes/a", "ctx.blame"),
        ("blame --sections nodes/a", "ctx.blame.sections"),
        ("history", "ctx.history.all"),
        ("restore nodes/a", "ctx.restore"),
        ("diff nodes/a", "ctx.diff"),
        ("diff", "ctx.diff.all"),
        ("checkpoint list", "ctx.checkpoint.list"),
        ("checkpoint show 1", "ctx.checkpoint.show"),
        ("context", "ctx.context"),
        ("validate", "ctx.validate"),
        ("verify", "ctx.verify"),
        ("resolve '#x'", "ctx.resolve"),
        ("resolve --explain '#x'", "ctx.explain"),
        ("pack add p --query '#x'", "ctx.pack.add"),
        ("pack check", "ctx.pack.check"),
        ("add nodes/b --body b", "ctx.add"),
        ("publish --all", "ctx.publish"),
        ("pack list", "ctx.pack.list"),
        ("pack show p", "ctx.pack.show"),
        ("mv nodes/b nodes/c", "ctx.mv"),
        ("retire nodes/c", "ctx.retire"),
        ("init ../other", "ctx.init"),
        ("demo ../demo", "ctx.demo"),
        ("search x", "ctx.search"),
        ("neighbors nodes/a", "ctx.neighbors"),
        ("check nodes/a@1", "ctx.check"),
        ("graph", "ctx.graph"),
        ("graph --hubs 3", "ctx.graph.hubs"),
        ("head", "ctx.head"),
        ("head trust", "ctx.head.trust"),
        ("head list", "ctx.head.list"),
        ("head forget", "ctx.head.forget"),
        ("checkout 1 ../copy", "ctx.checkout"),
        ("checkpoint convert --to full --dry-run", "ctx.checkpoint.convert"),
        ("checkpoint adopt --dry-run", "ctx.checkpoint.adopt"),
        ("checkpoint diff 1 2", "ctx.checkpoint.diff"),
        ("checkpoint rebuild --dry-run", "ctx.checkpoint.rebuild"),
        ("recover --dry-run", "ctx.recover"),
        ("index", "ctx.index"),
        (show.as_str(), "ctx.trace.show"),
        ("impact nodes/a", "ctx.impact"),
        (replay.as_str(), "ctx.replay"),
        ("audit begin --dry-run", "ctx.audit.begin"),
        (replay_output.as_str(), "ctx.replay.output"),
        ("evidence export --document nodes/a -o ../e.tar", "ctx.evidence.export"),
        ("evidence verify ../e.tar", "ctx.evidence.verify"),
        ("evidence report", "ctx.evidence.report"),
        ("trace list", "ctx.trace.list"),
        ("trace grep read", "ctx.trace.grep"),
        (collect.as_str(), "ctx.trace.collect"),
        ("trace verify", "ctx.trace.verify"),
        ("trace output --session s", "ctx.trace.output"),
        ("trace hold place --agent x --reason 'case 7'", "ctx.trace.hold.place"),
        ("trace hold list", "ctx.trace.hold.list"),
        (lift.as_str(), "ctx.trace.hold.lift"),
        ("audit begin", "ctx.audit.begin"),
        ("trace prune --dry-run", "ctx.trace.prune"),
        ("steward assign ana@example.com reviewer --whole-vault", "ctx.steward.assign"),
        ("steward list", "ctx.steward.list"),
        ("steward who nodes/a", "ctx.steward.who"),
        ("steward remove ana@example.com --whole-vault --dry-run", "ctx.steward.remove"),
        ("steward export --codeowners", "ctx.steward.export"),
        ("steward import --codeowners CODEOWNERS --dry-run", "ctx.steward.import"),
        ("owners", "ctx.owners"),
        ("steward assign bo@example.com reviewer --whole-vault", "ctx.steward.assign"),
        ("govern on", "ctx.govern.on"),
        ("govern off --dry-run", "ctx.govern.off"),
        ("add nodes/s --body text --as bo@example.com", "ctx.add"),
        ("submit nodes/s --as bo@example.com", "ctx.submit"),
        ("review", "ctx.review"),
        ("review show nodes/s", "ctx.review.show"),
        ("comment nodes/s why", "ctx.comment"),
        ("approve nodes/s --dry-run", "ctx.approve"),
        ("reject nodes/s --reason x --dry-run", "ctx.reject"),
        ("withdraw nodes/s --as bo@example.com", "ctx.withdraw"),
        ("source list", "ctx.source.list"),
        ("source show sources/s", "ctx.source.show"),
        ("source order type:source", "ctx.source.order"),
        ("source check", "ctx.source.check"),
        ("source record sources/s --session s --tools t --server s", "ctx.source.record"),
        ("source fresh sources/s --session s", "ctx.source.fresh"),
        ("source run sources/s --session s", "ctx.source.run"),
        ("source diff sources/s", "ctx.source.diff"),
        ("stage list", "ctx.stage.list"),
        (shown.as_str(), "ctx.stage.show"),
        (compared.as_str(), "ctx.stage.diff"),
        (pinned.as_str(), "ctx.stage.act"),
        (unpinned.as_str(), "ctx.stage.act"),
        (discarded.as_str(), "ctx.stage.act"),
        (promoted.as_str(), "ctx.stage.promote"),
        (erased.as_str(), "ctx.stage.erase"),
        ("stage gc --dry-run", "ctx.stage.gc"),
        (config.as_str(), "ctx.mcp.config"),
        ("mcp doctor", "ctx.mcp.doctor"),
        ("mcp schema context_check", "ctx.mcp.schema"),
        ("mcp token add bo --tokens ../more.json", "ctx.mcp.token.add"),
        ("mcp token list --tokens ../tokens.json", "ctx.mcp.token.list"),
        (revoke.as_str(), "ctx.mcp.token.revoke"),
        ("skill install", "ctx.skill.install"),
        ("help", "ctx.help"),
        ("help publish", "ctx.help"),
        ("help drift", "ctx.help"),
    ] {
        asked.push(line);
        run(&place, line, schema);
    }
    let help = place.ctx("help --json").ok().json("ctx.help");
    let verbs: Vec<&str> = texts(&help["verbs"], "verb");
    // The first prints an object for each access, the second needs an event without a line, the
    // third a merge, and the rest a repository or other programs: their own tests read them.
    let elsewhere = [
        "trace follow",
        "audit acknowledge",
        "audit dismiss",
        "ci",
        "hook",
        "hook install",
        "hook uninstall",
        "hook status",
        "hook run",
        "textconv",
        "merge",
        "merge-driver",
        "mcp",
    ];
    for verb in verbs.iter().filter(|verb| !elsewhere.contains(*verb)) {
        let is_asked = asked.iter().any(|line| format!("{line} ").starts_with(&format!("{verb} ")));
        assert!(is_asked, "`ctx {verb} --json` is not tried");
    }
    let codes = texts(&help["codes"], "code");
    assert!(["drift", "usage", "link-broken"].iter().all(|code| codes.contains(code)));
    let of = place.ctx("help checkpoint --json").ok().json("ctx.help");
    assert_eq!(texts(&of["verbs"], "verb")[..2], ["checkpoint", "checkpoint list"]);
    assert!(of["verbs"][0]["help"].as_str().unwrap().contains("Usage: ctx checkpoint"));
}

/// Returns the number of texts of `nodes/a` that accesses returned.
fn handed_out(place: &Place) -> usize {
    let texts = crate::mcp::log(place).into_iter().flat_map(|line| {
        let documents = line["documents"].as_array().cloned().unwrap_or_default();
        documents
            .into_iter()
            .filter(|text| text["uri"].as_str().is_some_and(|uri| uri.contains("nodes/a@")))
    });
    texts.count()
}

#[test]
fn every_verb_prints_a_report_of_the_reference() {
    run_every_verb(&mut |place, line, schema| {
        let output = place.ctx(&format!("{line} --json")).ok();
        let json = output.json(schema);
        assert!(json.as_object().unwrap().len() > 2, "{line}");
        assert_eq!(undocumented(schema, &json), [""; 0], "{line}: add a comment to the field");
        // One result, and nothing beside it that a program would have to skip.
        assert_eq!(output.stderr, "", "{line}");
    });
}

#[test]
fn every_verb_that_prints_a_published_text_records_it() {
    for option in ["", " --json"] {
        let mut printed = Vec::new();
        run_every_verb(&mut |place, line, _| {
            let before = handed_out(place);
            let output = place.ctx(&format!("{line}{option}"));
            if output.stdout.contains(WORD) || output.stderr.contains(WORD) {
                assert!(handed_out(place) > before, "{line}{option}: {}", output.whole());
                printed.push(line.split(' ').next().unwrap().to_owned());
            }
        });
        for verb in ["read", "show", "blame"] {
            assert!(printed.iter().any(|one| one == verb), "{verb} printed no text: {printed:?}");
        }
    }
}

fn texts<'j>(list: &'j serde_json::Value, key: &str) -> Vec<&'j str> {
    list.as_array().unwrap().iter().map(|entry| entry[key].as_str().unwrap()).collect()
}
