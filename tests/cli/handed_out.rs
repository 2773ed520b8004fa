//! Every verb and option on a document that its reader may not read, and on one that this reader
//! may: no word of the first is printed, and no text of the second without its line in the
//! access log.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::harness::{Output, Place, files_in, repository};

const SUE: &str = "sue@x.com";
const MAX: &str = "max@x.com";

/// Words that only readers of the hidden documents know: titles, texts, notes, reasons,
/// remarks, editors.
pub(crate) const HIDDEN: [&str; 9] =
    ["hidtitle", "hidword", "hidnote", "hidreason", "hidremark", "hidcontext", "hidpack", SUE, MAX];

/// A word in the texts of the document that the reader may read.
const SHOWN: &str = "pubword";

/// The commands of each verb; `XX` is the folder of the hidden or shown documents. `!` marks a
/// command that writes, which runs on a copy. A verb without commands returns nothing of a vault.
const TABLE: &[(&str, &[&str])] = &[
    ("init", &[]),
    (
        "add",
        &[
            "!add nodes/XX/p --title T --type document --tags a,b --body B -m N",
            "!add nodes/XX/p --draft --body B --expect-version 1",
            "!add nodes/XX/q --body B --expect-version 1",
            "!add nodes/XX/q --draft --body B --expect-hash HASH",
            "!add nodes/XX/new --body B",
            "!add nodes/XX/P --body B",
        ],
    ),
    ("status", &["status", "status --ignored", "status --limit 1", "status nodes/XX/p nodes/XX/"]),
    (
        "validate",
        &[
            "validate",
            "validate --all",
            "validate nodes/XX/p",
            "validate --sarif",
            "validate --format github",
            "validate --quiet",
            "validate --staged",
        ],
    ),
    (
        "diff",
        &[
            "diff",
            "diff nodes/XX/",
            "diff nodes/XX/p",
            "diff nodes/XX/p 1",
            "diff nodes/XX/p 1 2",
            "diff nodes/XX/p 2 5",
            "diff nodes/XX/p live 1",
            "diff nodes/XX/e",
            "diff nodes/XX/new",
        ],
    ),
    (
        "publish",
        &[
            "publish nodes/XX/p --dry-run",
            "publish nodes/XX/p --expect-version 1 --dry-run",
            "!publish nodes/XX/p --expect-version 1 -m N --author A",
            "publish nodes/XX/p --expect-hash HASH --no-sync --dry-run",
            "publish --all --drafts --skip-invalid --dry-run",
            "publish --changed --dry-run",
            "publish",
        ],
    ),
    (
        "retire",
        &[
            "retire nodes/XX/p --dry-run",
            "retire nodes/XX/p --expect-version 1 --dry-run",
            "!retire nodes/XX/p --expect-version 1",
            "!retire nodes/XX/p --expect-version 2 -m N --change C",
            "!retire nodes/XX/p --expect-hash HASH",
            "!retire nodes/XX/p --expect-hash CHAIN",
            "retire nodes/XX/p --emergency --reason R --dry-run",
            "!retire nodes/XX/p --emergency --reason R --expect-version 1",
            "!retire nodes/XX/p --emergency --reason R --expect-hash HASH",
            "!retire nodes/XX/e nodes/XX/new",
        ],
    ),
    (
        "restore",
        &[
            "restore nodes/XX/p --dry-run",
            "restore nodes/XX/p --version 1 --dry-run --force",
            "!restore nodes/XX/p --version 1 --force",
            "!restore nodes/XX/p --force",
            "!restore nodes/XX/p",
            "!restore nodes/XX/e",
            "restore nodes/XX/p --version 5 --dry-run",
            "restore nodes/XX/p --version 99 --dry-run",
        ],
    ),
    (
        "mv",
        &[
            "mv nodes/XX/p nodes/XX/q --dry-run",
            "mv nodes/XX/p nodes/XX/q --fix-links --dry-run",
            "!mv nodes/XX/p nodes/XX/q --fix-links",
            "!mv nodes/XX/p nodes/XX/q -m N",
            "mv nodes/XX/p nodes/XX/q --expect-version 1 --dry-run",
            "!mv nodes/XX/p nodes/XX/q --expect-version 1",
            "!mv nodes/XX/p nodes/XX/q --expect-hash HASH",
            "!mv nodes/XX/p nodes/XX/P --expect-version 1",
            "mv nodes/XX/p nodes/XX/P --expect-hash HASH --dry-run",
            "!mv nodes/XX/p nodes/XX/P",
            "mv nodes/XX/p nodes/XX/e --dry-run",
            "mv nodes/pub/p nodes/pub/q --fix-links --dry-run",
            "!mv nodes/pub/p nodes/pub/q --fix-links",
            "mv nodes/pub/p nodes/pub/P --fix-links --dry-run",
            "mv nodes/pub/moved nodes/pub/target --fix-links --dry-run",
            "!mv nodes/pub/moved nodes/pub/target --fix-links",
        ],
    ),
    (
        "submit",
        &[
            "submit nodes/XX/p --dry-run",
            "!submit nodes/XX/p -m N",
            "!submit nodes/XX/p --supersede",
            "submit nodes/XX/p --supersede --dry-run",
            "!submit nodes/XX/p --supersede --expect-version 1",
            "!submit nodes/XX/p --expect-hash HASH --supersede",
            "!submit nodes/XX/p --from - --supersede --change C",
            "!submit nodes/XX/p --from - --supersede --expect-version 1",
            "!submit nodes/XX/p --renew --supersede",
            "submit --changed --dry-run",
            "submit --changed --skip-invalid --dry-run",
            "submit nodes/XX/ --dry-run",
            "!submit nodes/XX/e",
            "!submit nodes/XX/new --supersede",
        ],
    ),
    ("review", &["review", "review --all"]),
    (
        "review show",
        &[
            "review show nodes/XX/p",
            "review show nodes/XX/p --version 3",
            "review show nodes/XX/p --version 5",
            "review show nodes/XX/p --version 7",
            "review show nodes/XX/p --version 1",
            "review show nodes/XX/e",
            "review show nodes/XX/new",
        ],
    ),
    (
        "approve",
        &[
            "approve nodes/XX/p --dry-run",
            "!approve nodes/XX/p --version 8 -m N",
            "approve nodes/XX/p --version 7 --dry-run",
            "!approve nodes/XX/p --version 7",
            "approve nodes/XX/p --version 3 --dry-run",
            "approve nodes/XX/p --version 1 --dry-run",
            "approve --change both-XX --dry-run",
            "approve nodes/XX/set --dry-run",
            "approve nodes/XX/e --dry-run",
            "approve nodes/XX/new --dry-run",
        ],
    ),
    (
        "reject",
        &[
            "reject nodes/XX/p --reason R --dry-run",
            "reject nodes/XX/p --reason R --version 7 --dry-run",
            "!reject nodes/XX/p --reason R --version 7",
            "reject nodes/XX/p --reason R --version 3 --dry-run",
            "reject nodes/XX/p --reason R --version 1 -m N --dry-run",
            "reject --change both-XX --reason R --dry-run",
            "reject nodes/XX/new --reason R --dry-run",
        ],
    ),
    (
        "withdraw",
        &[
            "withdraw nodes/XX/p --dry-run",
            "withdraw nodes/XX/p --version 7 --reason R -m N --dry-run",
            "withdraw --change both-XX --dry-run",
        ],
    ),
    ("comment", &["!comment nodes/XX/p C", "!comment nodes/XX/new C", "!comment nodes/XX/e C"]),
    ("govern", &[]),
    ("govern on", &["govern on --alone -m N --dry-run"]),
    ("govern off", &["govern off -m N --dry-run"]),
    ("list", &["list", "list --snippets", "list #XXtag --limit 1 --at 1"]),
    (
        "read",
        &[
            "read nodes/XX/p",
            "read nodes/XX/p --outline",
            "read nodes/XX/p@1",
            "read nodes/XX/p --at 1",
            "read nodes/XX/p#nope",
            "read nodes/XX/e",
            "read nodes/XX/new",
            "read ./nodes/XX/p.md",
            "read CONTEXT.md",
            "read packs/k.yml",
        ],
    ),
    (
        "resolve",
        &[
            "resolve nodes/XX/ --bodies",
            "resolve nodes/XX/p --bodies --at 1",
            "resolve type:document --ids",
            "resolve type:document --explain",
            "resolve type:document --budget 1000 --tokenizer estimate --whole --format markdown",
            "resolve type:document --format markdown --no-instructions",
            "resolve #nope",
            "resolve pack:k --format markdown",
        ],
    ),
    (
        "search",
        &[
            "search XXword",
            "search pubwordone --limit 1",
            "search XXw --prefix",
            "search XXword --explain",
            "search XXwrd",
        ],
    ),
    ("context", &["context", "context --all", "context --at 1"]),
    ("pack", &[]),
    ("pack list", &["pack list", "pack list --at 1 --limit 1"]),
    ("pack show", &["pack show k", "pack show k --at 1"]),
    (
        "pack add",
        &[
            "!pack add k --query #x",
            "!pack add j --id k --label L --description D --query #x --include nodes/XX/p --exclude nodes/XX/e \
             --type document --audience A --instructions I --expect-hash HASH",
        ],
    ),
    ("pack check", &["pack check"]),
    (
        "neighbors",
        &[
            "neighbors nodes/XX/p",
            "neighbors nodes/XX/p --hops 2 --direction both --kind reference --limit 1 --at 1",
            "neighbors nodes/pub/p",
        ],
    ),
    ("graph", &["graph", "graph --format json", "graph --hubs 1 --at 1"]),
    ("source", &[]),
    ("source list", &["source list", "source list --at 1 --limit 1"]),
    ("source show", &["source show sources/XX/f", "source show sources/XX/f --at 1"]),
    ("source order", &["source order sources/XX/", "source order type:source --at 1"]),
    ("source check", &["source check"]),
    (
        "source record",
        &[
            "!source record sources/XX/f --tools t --server s --cache hit --duration-ms 1 --error E \
             --media-type text/plain --depends-on 00000000-1",
            "!source record sources/XX/f --tools t",
        ],
    ),
    ("source fresh", &["source fresh sources/XX/f", "source fresh sources/XX/f --raw"]),
    (
        "source diff",
        &["source diff sources/XX/f", "source diff sources/XX/f --every-session --limit 1"],
    ),
    (
        "source run",
        &["!source run sources/XX/f", "!source run sources/XX/f --media-type text/plain"],
    ),
    (
        "verify",
        &[
            "verify",
            "verify nodes/XX/p",
            "verify --allow-drift --quiet --no-trusted-head",
            "verify --sarif --expect-head HASH",
            "verify --since HEAD --allow-merged",
            "verify --since-fork HEAD",
            "verify --staged",
            "verify --format junit",
        ],
    ),
    (
        "ci",
        &[
            "ci --since HEAD",
            "ci --since-fork HEAD --allow-drift --format github --summary summary.md",
        ],
    ),
    ("head", &["head"]),
    ("head trust", &["head trust --dry-run"]),
    ("head forget", &["!head forget"]),
    ("head list", &["head list"]),
    (
        "history",
        &[
            "history",
            "history --limit 1",
            "history nodes/XX/p",
            "history nodes/XX/e",
            "history nodes/XX/new",
        ],
    ),
    (
        "blame",
        &[
            "blame nodes/XX/p",
            "blame nodes/XX/p --at 1 --lines 1,2",
            "blame nodes/XX/p --sections",
            "blame nodes/XX/e",
        ],
    ),
    (
        "check",
        &[
            "check contextnest://nodes/XX/p",
            "check contextnest://nodes/XX/p@1 contextnest://nodes/XX/e",
        ],
    ),
    (
        "show",
        &[
            "show nodes/XX/p 1",
            "show nodes/XX/p 3",
            "show nodes/XX/p 5",
            "show nodes/XX/p 8",
            "show nodes/XX/p 99",
        ],
    ),
    ("checkpoint", &[]),
    ("checkpoint list", &["checkpoint list", "checkpoint list --limit 1 --merged"]),
    ("checkpoint show", &["checkpoint show 1", "checkpoint show 4"]),
    ("checkpoint diff", &["checkpoint diff 1 4", "checkpoint diff 0 1"]),
    (
        "checkpoint rebuild",
        &[
            "checkpoint rebuild --dry-run",
            "checkpoint rebuild --from-scratch --force --new-first-checkpoint --dry-run",
            "checkpoint rebuild --expect-hash HASH --dry-run",
        ],
    ),
    (
        "checkpoint convert",
        &[
            "checkpoint convert --to full --dry-run",
            "checkpoint convert --to full --expect-hash HASH --dry-run",
        ],
    ),
    (
        "checkpoint adopt",
        &["checkpoint adopt --dry-run", "checkpoint adopt --expect-hash HASH --dry-run"],
    ),
    ("checkout", &["!checkout 1 ../out", "!checkout 4 ../out"]),
    ("audit", &[]),
    ("audit begin", &["audit begin --dry-run", "audit begin --expect-hash HASH --dry-run"]),
    ("audit acknowledge", &["audit acknowledge 1 --reason R --dry-run"]),
    ("audit dismiss", &["audit dismiss nodes/XX/p --reason R --dry-run"]),
    ("trace", &[]),
    (
        "trace list",
        &[
            "trace list",
            "trace list --document nodes/XX/p --version 1 --checkpoint 1 --principal sue@x.com --verb read",
            "trace list --from 2026-01-01T00:00:00Z --to 2027-01-01T00:00:00Z --format prov-json",
            "trace list --logs .context/audit --limit 5",
        ],
    ),
    (
        "trace grep",
        &[
            "trace grep XXword",
            "trace grep . --document nodes/XX/p --version 1 --checkpoint 1 --principal sue@x.com --verb submit",
            "trace grep . --from 2026-01-01T00:00:00Z --to 2027-01-01T00:00:00Z --logs .context/audit --limit 5",
        ],
    ),
    (
        "trace follow",
        &[
            "trace follow --for 0 --count 1",
            "trace follow --for 0 --document nodes/XX/p --version 1 --checkpoint 1 --principal sue@x.com --verb read \
             --from 2026-01-01T00:00:00Z --to 2027-01-01T00:00:00Z --logs .context/audit",
        ],
    ),
    (
        "trace show",
        &["trace show 00000000-1 --format otlp", "trace show 00000000-1 --logs .context/audit"],
    ),
    ("trace verify", &["trace verify", "trace verify --logs .context/audit"]),
    ("trace output", &["!trace output CONTEXT.md --session s --model M"]),
    ("trace collect", &["!trace collect .context/audit --into ../collected"]),
    ("trace hold", &["!trace hold place --document nodes/XX/p --reason R", "trace hold list"]),
    ("trace prune", &["trace prune --before 2026-01-01T00:00:00Z --dry-run"]),
    (
        "impact",
        &[
            "impact nodes/XX/p",
            "impact nodes/XX/p 1 --superseded --from 2026-01-01T00:00:00Z --to 2027-01-01T00:00:00Z",
            "impact nodes/XX/p --logs .context/audit --limit 1",
        ],
    ),
    ("replay", &["replay --session s", "replay --session s --output --logs .context/audit"]),
    ("evidence", &[]),
    (
        "evidence export",
        &[
            "!evidence export --document nodes/XX/p --output ../x.tar",
            "!evidence export --session s --output ../x.tar --force --logs .context/audit",
        ],
    ),
    ("evidence verify", &["evidence verify CONTEXT.md --expect-head HASH --expect-sha256 HASH"]),
    (
        "evidence report",
        &[
            "evidence report",
            "evidence report --from 2026-01-01T00:00:00Z --to 2027-01-01T00:00:00Z --format csv",
        ],
    ),
    ("recover", &["recover --dry-run", "recover --dry-run --force --expect-hash HASH"]),
    // A server answers by its tools, which other tests cover.
    ("mcp", &[]),
    ("mcp config", &["mcp config claude-code --dry-run"]),
    ("mcp doctor", &[]),
    ("mcp schema", &["mcp schema"]),
    ("mcp token", &[]),
    ("skill", &[]),
    (
        "skill install",
        &["skill install --project ../p --dry-run", "skill install --skills ../s --check"],
    ),
    ("textconv", &[]),
    // They hand out no text; `hook.rs` and `merging.rs` test them in repositories.
    ("hook", &[]),
    ("hook install", &[]),
    ("hook uninstall", &[]),
    ("hook status", &[]),
    ("hook run", &[]),
    ("merge", &[]),
    ("merge-driver", &[]),
    ("index", &["index --check", "index --dry-run --expect-hash HASH"]),
    ("stage", &[]),
    ("stage list", &["stage list --source sources/XX/f --all --every-session", "stage list"]),
    ("stage show", &["stage show STAGED", "stage show STAGED --raw"]),
    ("stage diff", &["stage diff STAGED", "stage diff STAGED --raw"]),
    ("stage pin", &["!stage pin STAGED"]),
    ("stage unpin", &["!stage unpin STAGED"]),
    (
        "stage promote",
        &["!stage promote STAGED --to nodes/XX/promoted --title T --type document --tags a -m N"],
    ),
    ("stage discard", &["!stage discard STAGED"]),
    ("stage gc", &["stage gc --unclaimed --dry-run"]),
    ("stage erase", &["stage erase STAGED --reason R --dry-run"]),
    ("steward", &[]),
    ("steward list", &["steward list", "steward list --at 4"]),
    (
        "steward who",
        &["steward who nodes/XX/p", "steward who nodes/XX/p --at 1", "steward who nodes/XX/new"],
    ),
    (
        "steward assign",
        &[
            "steward assign z@x.com viewer --whole-vault -m N --dry-run",
            "steward assign z@x.com viewer --folder nodes/XX/ --dry-run",
            "steward assign z@x.com viewer --tag XXtag --dry-run",
            "steward assign z@x.com viewer --document nodes/XX/p --expect-hash HASH --dry-run",
            "!steward assign z@x.com viewer --folder nodes/XX/",
            "steward assign g viewer --group --folder nodes/XX/ --dry-run",
        ],
    ),
    (
        "steward remove",
        &[
            "steward remove lee@x.com --whole-vault -m N --dry-run",
            "steward remove lee@x.com --folder nodes/XX/ --dry-run",
            "steward remove lee@x.com --tag XXtag --dry-run",
            "steward remove lee@x.com --document nodes/XX/p --expect-hash HASH --dry-run",
            "steward remove g --group --folder nodes/XX/ --dry-run",
        ],
    ),
    ("steward export", &["steward export --codeowners", "steward export --codeowners --at 4"]),
    (
        "steward import",
        &[
            "steward import --codeowners CODEOWNERS --owner @a=a@x.com -m N --expect-hash HASH --dry-run",
        ],
    ),
    ("owners", &["owners", "owners --at 4 --limit 1", "owners --access-review"]),
    ("demo", &[]),
    ("help", &["help read"]),
];

/// Verbs that are not tried: servers, clients, and an import without a document.
const NOT_TRIED: [&str; 11] = [
    "init",
    "mcp",
    "mcp config",
    "mcp doctor",
    "demo",
    "hook install",
    "hook uninstall",
    "hook status",
    "hook run",
    "merge",
    "merge-driver",
];

/// Returns a vault with two folders of documents with the same histories: versions 1 and 2 were
/// published before the vault was governed, 3 was approved as 4, 5 was rejected, 7 was submitted
/// and replaced by 8. Lee reviews `pub`, and has no role for `sec`.
pub(crate) fn two_trees() -> Place {
    let place = Place::vault();
    place.edit(
        ".context/config.yaml",
        "layout:",
        "reads: stewards\nservers: {s: {transport: mcp}}\nlayout:",
    );
    place.write("CONTEXT.md", "---\ntitle: hidcontext\n---\nhidcontext\n");
    let elsewhere = place.home().join("elsewhere").display().to_string();
    let run = |line: &str| place.typed(line).var("CTX_AUDIT_DIR", &elsewhere).run();
    let trees = [("sec", "hid", SUE, MAX), ("pub", "pub", "ana@x.com", "kim@x.com")];
    for (folder, word, editor, _) in trees {
        let field = format!("tags: [{folder}tag]\ndescription: {word}word\n");
        let text =
            format!("---\ntitle: {word}title\n{field}---\n# {word}title\n\n{word}word one\n");
        for name in ["p", "e", "set", "moved"] {
            place.write(&format!("nodes/{folder}/{name}.md"), &text);
        }
        place.write(
            &format!("sources/{folder}/f.md"),
            format!("---\ntitle: {word}title\ntype: source\n{field}source: {{transport: mcp, server: s, tools: [t]}}\n---\n{word}word\n"),
        );
        let link = format!(
            "---\ntitle: {word}title\n---\n{word}word [{word}word](../pub/moved.md) {word}word\n"
        );
        place.write(&format!("nodes/{folder}/link.md"), link);
        run(&format!("publish nodes/{folder}/ sources/{folder}/ nodes/{folder}/p nodes/{folder}/e nodes/{folder}/set nodes/{folder}/moved nodes/{folder}/link sources/{folder}/f -m {word}note --as {editor}")).ok();
        place.write(
            &format!("nodes/{folder}/p.md"),
            place.read(&format!("nodes/{folder}/p.md")) + &format!("{word}word two\n"),
        );
        run(&format!("publish nodes/{folder}/p -m {word}note --as {editor}")).ok();
    }
    run("pack add k --label hidpack --description hidpack --query #hidtag --instructions hidpack")
        .ok();
    run("publish --all").ok();
    let folders = trees.map(|(folder, _, editor, reviewer)| {
        let lee = if folder == "pub" { ", {principal: lee@x.com, role: reviewer}" } else { "" };
        let holders = format!("[{{principal: {editor}, role: editor}}, {{principal: {reviewer}, role: reviewer}}{lee}]");
        format!("  nodes/{folder}/: {holders}\n  sources/{folder}/: {holders}\n")
    });
    place.write(
        "stewards.yaml",
        format!("version: 1\nvault:\n  - {{principal: bo@x.com, role: reviewer}}\n  - {{principal: al@x.com, role: reviewer}}\nfolders:\n{}", folders.concat()),
    );
    run("govern on").ok();
    for (folder, word, editor, reviewer) in trees {
        let path = format!("nodes/{folder}/p.md");
        let more =
            |line: &str| place.write(&path, place.read(&path) + &format!("{word}word {line}\n"));
        let submit = |id: &str| run(&format!("submit {id} -m {word}note --as {editor}")).ok();
        let id = format!("nodes/{folder}/p");
        more("three");
        submit(&id);
        run(&format!("approve {id} -m {word}note --as {reviewer}")).ok();
        more("four");
        submit(&id);
        run(&format!("comment {id} {word}remark --as {reviewer}")).ok();
        run(&format!("reject {id} --reason {word}reason --as {reviewer}")).ok();
        submit(&id);
        more("five");
        submit(&id);
        more("live");
        run(&format!("comment {id} {word}remark --as {reviewer}")).ok();
        run(&format!("retire nodes/{folder}/e --emergency --reason {word}reason --as {reviewer}"))
            .ok();
        let new = format!("---\ntitle: {word}title\ntags: [{folder}tag]\n---\n{word}word new\n");
        place.write(&format!("nodes/{folder}/new.md"), new);
        submit(&format!("nodes/{folder}/new"));
        let set = format!("nodes/{folder}/set.md");
        place.write(&set, place.read(&set) + &format!("{word}word set\n"));
        run(&format!(
            "submit nodes/{folder}/set --change both-{folder} -m {word}note --as {editor}"
        ))
        .ok();
    }
    run("mv nodes/pub/moved nodes/pub/target --as ana@x.com").ok();
    run("approve nodes/pub/moved --as kim@x.com").ok();
    place
}

/// Returns the verbs and the options that the reference names.
fn reference() -> Vec<(String, BTreeSet<String>)> {
    let text = fs::read_to_string(repository().join("docs/cli.md")).unwrap();
    let mut all: Vec<(String, BTreeSet<String>)> = Vec::new();
    for line in text.lines() {
        if let Some(verb) = line.strip_prefix("## ctx") {
            all.push((verb.trim().to_owned(), BTreeSet::new()));
        }
        let words = line.trim_start().split([' ', ',']).filter(|word| !word.is_empty());
        let option = words.take(2).find(|word| word.starts_with("--"));
        if let (true, Some(option), Some(last)) = (line.starts_with("  "), option, all.last_mut()) {
            last.1.insert(option.to_owned());
        }
    }
    all
}

#[test]
fn every_verb_and_option_is_in_the_table() {
    const GLOBAL: [&str; 11] = [
        "--vault",
        "--json",
        "--as",
        "--agent",
        "--session",
        "--thread",
        "--task",
        "--node",
        "--help",
        "--version",
        "--lock-timeout",
    ];
    let own_version = ["restore", "review show", "approve", "reject", "withdraw", "trace list"];
    for (verb, options) in reference().into_iter().filter(|(verb, _)| !verb.is_empty()) {
        let found = TABLE.iter().find(|(of, _)| *of == verb);
        let (_, lines) = found.unwrap_or_else(|| panic!("`{verb}` is not in the table"));
        if NOT_TRIED.contains(&verb.as_str()) {
            continue;
        }
        let short =
            |option: &str| if option == "--message" { "-m".to_owned() } else { option.to_owned() };
        let is_global = |option: &&String| {
            GLOBAL.contains(&option.as_str())
                && !(option.as_str() == "--version" && own_version.contains(&verb.as_str()))
        };
        for option in options.iter().filter(|option| !is_global(option)) {
            let is_tried = |line: &&str| line.split(' ').any(|word| word == short(option));
            assert!(lines.iter().any(is_tried), "`{verb} {option}` is not tried");
        }
    }
}

/// Runs each command of the table; `look` gets its output and the lines that it recorded.
fn each(folder: &str, mut look: impl FnMut(&str, &Output, &[Value])) {
    let place = two_trees();
    let [chain, head] = [
        (format!("nodes/{folder}/.versions/p/history.yaml"), "chain_hash: "),
        (".versions/checkpoints.jsonl".to_owned(), "\"checkpoint_hash\":\""),
    ]
    .map(|(path, key)| {
        let text = place.read(&path);
        let first = text.lines().find_map(|line| line.split_once(key)).expect(&path).1;
        first.chars().take(71).collect::<String>()
    });
    for (n, line) in TABLE.iter().flat_map(|(_, lines)| *lines).enumerate() {
        for form in ["", " --json"] {
            let copy = line.starts_with('!').then(|| place.duplicate());
            let at = copy.as_ref().unwrap_or(&place);
            let line = line.trim_start_matches('!').replace("XX", folder);
            let word = if folder == "sec" { "hid" } else { "pub" };
            let line = line.replace(&format!("{folder}word"), &format!("{word}word"));
            let line = line.replace("HASH", &head).replace("CHAIN", &chain);
            let log = at.home().join(format!("log-{n}{}", form.len()));
            let said = at.typed(&format!("{line}{form} --as lee@x.com"));
            let said =
                said.var("CTX_AUDIT_DIR", &log.display().to_string()).stdin("handed in\n").here();
            let mut lines = Vec::new();
            let files = if log.is_dir() { files_in(&log) } else { BTreeMap::new() };
            for (path, bytes) in files {
                if path.ends_with(".jsonl") {
                    let text = String::from_utf8(bytes).unwrap();
                    lines.extend(text.lines().map(|line| serde_json::from_str(line).unwrap()));
                }
            }
            look(&format!("{line}{form}"), &said, &lines);
        }
    }
}

#[test]
fn no_verb_prints_a_word_of_what_is_hidden() {
    let mut told = Vec::new();
    each("sec", |line, said, _| {
        for word in HIDDEN {
            let is_asked = line.contains(word);
            if !is_asked && said.whole().contains(word) {
                told.push(format!("{line}: {word}\n{}", said.whole()));
                break;
            }
        }
    });
    assert!(told.is_empty(), "{} commands\n{}", told.len(), told.join("\n----\n"));
}

#[test]
fn no_verb_prints_a_text_without_its_line_in_the_access_log() {
    let mut told = Vec::new();
    each("pub", |line, said, log| {
        let is_asked = line.contains(SHOWN);
        let prints = said.whole().contains(SHOWN) && !is_asked;
        let accesses = log.iter().filter(|line| line["event"] == "access");
        let is_recorded =
            accesses.flat_map(|line| line["documents"].as_array().unwrap()).count() > 0;
        if prints && !is_recorded {
            told.push(format!("{line}\n{}", said.whole()));
        }
    });
    assert!(told.is_empty(), "{} commands\n{}", told.len(), told.join("\n----\n"));
}

#[test]
fn a_dry_run_names_a_file_whose_lines_its_reader_may_not_see() {
    let place = two_trees();
    let line = "mv nodes/pub/moved nodes/pub/target --fix-links --dry-run --as lee@x.com";
    let said = place.ctx(line).ok().stdout;
    assert!(said.contains("\nwould change nodes/sec/link.md\n"), "{said}");
    assert!(said.contains("+pubword [pubword](target.md) pubword\n"), "{said}");
}
