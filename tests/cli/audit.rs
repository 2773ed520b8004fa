//! The access log: the line of each command, recorded before any text leaves.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use contextnest::files::vault::disk::{Change, Overseer, Verdict};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::harness::{Output, Place};

fn sha256(text: &str) -> String {
    let digest: String = Sha256::digest(text).iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256:{digest}")
}

fn vault() -> Place {
    Place::unrecorded(&[
        (
            "nodes/fees",
            "---\ntitle: Fees\ntags: [money]\n---\nLate fees are 5 percent.\n\n## Waivers\n\nNone.\n",
        ),
        ("nodes/returns", "---\ntitle: Returns\ntags: [money]\n---\nReturns take 30 days.\n"),
    ])
}

/// Returns the lines of the log, oldest first.
fn lines(place: &Place) -> Vec<Value> {
    let (_, text) = file(place);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the path and the text of the only log file.
fn file(place: &Place) -> (PathBuf, String) {
    let audit = place.home().join(".local/state/contextnest/audit");
    let vaults: Vec<PathBuf> = fs::read_dir(audit).unwrap().map(|e| e.unwrap().path()).collect();
    let [vault] = vaults.as_slice() else { panic!("one vault") };
    let files: Vec<PathBuf> = fs::read_dir(vault).unwrap().map(|e| e.unwrap().path()).collect();
    let [file] = files.as_slice() else { panic!("one writer: {files:?}") };
    (file.clone(), fs::read_to_string(file).unwrap())
}

fn documents(line: &Value) -> Vec<&Value> {
    line["documents"].as_array().map(|all| all.iter().collect()).unwrap_or_default()
}

#[test]
fn each_text_that_leaves_has_one_line_with_its_hash() {
    let place = vault();
    let whole = place.ctx("read nodes/fees").ok().stdout;
    let section = place.ctx("read nodes/fees#waivers").ok().stdout;
    let json = place.ctx("resolve #money --json --bodies").ok().stdout;
    place.ctx("resolve #money").ok();
    let recorded = lines(&place);
    let [read, part, set, listing] = recorded.as_slice() else { panic!("{recorded:#?}") };
    for (line, text) in [(read, &whole), (part, &section)] {
        assert_eq!(line["event"], "access");
        assert_eq!(line["documents"][0]["sha256"], sha256(text));
        assert_eq!((&line["bytes"], &line["sha256"]), (&text.len().into(), &sha256(text).into()));
    }
    let text = &read["documents"][0];
    assert_eq!(text["uri"], "contextnest://nodes/fees@1");
    assert_eq!(text["version"], 1);
    assert_eq!(part["documents"][0]["uri"], "contextnest://nodes/fees@1#waivers");
    let place_of = |n: usize| part["documents"][0]["range"][n].as_u64().unwrap();
    let [first, end] = [0, 1].map(|n| usize::try_from(place_of(n)).unwrap());
    assert_eq!(&whole[first..end], section);
    let answer: Value = serde_json::from_str(&json).unwrap();
    let bodies = answer["documents"].as_array().unwrap().iter();
    let hashes: Vec<String> = bodies.map(|d| sha256(d["body"].as_str().unwrap())).collect();
    let said: Vec<&str> = documents(set).iter().map(|d| d["sha256"].as_str().unwrap()).collect();
    assert_eq!(said, hashes);
    assert_eq!((&set["class"], &set["query"]), (&"set".into(), &"#money".into()));
    assert_eq!(set["head"]["checkpoint"], 1);
    assert_eq!((&listing["event"], &listing["count"]), (&"listing".into(), &2.into()));
    let principals: Vec<&Value> = recorded.iter().map(|line| &line["principal_source"]).collect();
    assert!(principals.iter().all(|source| *source == "env"), "{principals:?}");
}

#[test]
fn reads_take_the_principal_from_the_same_places_as_writes() {
    let place = vault();
    let of_git = "[user]\n\temail = git@example.com\n";
    fs::write(place.home().join(".gitconfig"), of_git).unwrap();
    let read = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context_read",
        "arguments":{"id":"nodes/fees"}}}"#;
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":
        "2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let messages = format!("{}\n{}\n", initialize.replace('\n', ""), read.replace('\n', ""));
    let commands = [
        "read nodes/fees",
        "list",
        "search percent",
        "history nodes/fees",
        "trace output --session s-1",
        "mcp",
    ];
    for (n, command) in commands.iter().enumerate() {
        place.typed(command).without("CTX_PRINCIPAL").stdin(&messages).run().ok();
        let all = lines(&place);
        assert_eq!(all.len(), n + 1, "{command}");
        let told = [&all[n]["principal"], &all[n]["principal_source"]];
        assert_eq!(told, ["git@example.com", "git"], "{command}");
    }
    place.typed("read nodes/fees --as bo@x.com").run().ok();
    place.typed("read nodes/fees").run().ok();
    fs::remove_file(place.home().join(".gitconfig")).unwrap();
    place.typed("read nodes/fees").without("CTX_PRINCIPAL").run().ok();
    let all = lines(&place);
    let sources: Vec<&Value> = all.iter().map(|line| &line["principal_source"]).collect();
    assert_eq!(sources[commands.len()..], ["option", "env", "none"]);
}

#[test]
fn reads_and_writes_refuse_the_same_principals() {
    let place = vault();
    fs::write(place.home().join(".gitconfig"), "[user]\n\temail = git@example.com\n").unwrap();
    for command in ["read nodes/fees", "list", "publish --changed", "mcp"] {
        for (name, is_option) in [("", true), ("  ", true), ("a:b", true), ("a:b", false)] {
            let words = command.split(' ').chain(["--as", name].into_iter().filter(|_| is_option));
            let words: Vec<&str> = words.collect();
            let run = place.args(&words);
            let run = if is_option { run } else { run.var("CTX_PRINCIPAL", name) };
            let out = run.stdin("").run().exits(2);
            assert!(out.stderr.contains("error[no-principal]"), "{command}: {}", out.whole());
        }
    }
    // A blank variable is not set.
    place.typed("read nodes/fees").var("CTX_PRINCIPAL", "  ").run().ok();
    place.write("nodes/new.md", "# New\n");
    place.typed("publish nodes/new").var("CTX_PRINCIPAL", "  ").run().ok();
    assert_eq!(lines(&place).last().unwrap()["principal"], "git@example.com");
    let history = place.ctx("history nodes/new --json").ok().json("ctx.history");
    assert_eq!(history["versions"][0]["edited_by"], "git@example.com");
}

#[test]
fn every_verb_that_prints_texts_records_them() {
    let place = vault();
    place
        .write("nodes/fees.md", "---\ntitle: Fees\ntags: [money]\n---\nLate fees are 4 percent.\n");
    place.ctx("publish nodes/fees").ok();
    let before = |command: &str| {
        place.ctx(command).ok();
        let all = lines(&place);
        all.last().unwrap().clone()
    };
    let names = |line: &Value| -> Vec<String> {
        let name =
            |text: &&Value| format!("{} v{}", text["uri"].as_str().unwrap(), text["version"]);
        documents(line).iter().map(name).collect()
    };
    let search = before("search percent");
    assert_eq!(search["documents"][0]["part"], "snippet");
    assert_eq!(names(&search), ["contextnest://nodes/fees@2 v2"]);
    assert_eq!(names(&before("show nodes/fees 1")), ["contextnest://nodes/fees@1 v1"]);
    let diff = before("diff nodes/fees 1 2");
    assert_eq!(names(&diff), ["contextnest://nodes/fees@1 v1", "contextnest://nodes/fees@2 v2"]);
    assert_eq!(diff["documents"][0]["sha256"], diff["sha256"]);
    let checkout = before("checkout 1 ../as-of-1");
    assert!(names(&checkout).contains(&"contextnest://nodes/returns@1 v1".to_owned()));
    for listing in ["list", "history nodes/fees", "neighbors nodes/fees", "checkpoint list"] {
        assert_ne!(before(listing)["event"], "access", "{listing}");
    }
}

#[test]
fn the_log_is_a_chain_that_shows_every_change_of_it() {
    let place = vault();
    for _ in 0..3 {
        place.ctx("read nodes/fees").ok();
    }
    insta::assert_snapshot!(place.ctx("trace verify").stdout, @"every chain is intact up to its last line: 3 lines of 1 writer");
    let (path, text) = file(&place);
    let all: Vec<&str> = text.lines().collect();
    let written = |lines: &[&str]| fs::write(&path, lines.join("\n") + "\n").unwrap();
    let code = || {
        let json = place.ctx("trace verify --json");
        let report: Value = serde_json::from_str(&json.stdout).unwrap();
        (json.exit, report["faults"][0]["code"].as_str().unwrap_or_default().to_owned())
    };
    written(&[all[0], &all[1].replace("\"version\":1", "\"version\":2"), all[2]]);
    assert_eq!(code(), (1, "audit-chain-mismatch".to_owned()));
    written(&[all[0], all[2]]);
    assert_eq!(code(), (1, "audit-gap".to_owned()));
    written(&[all[1], all[2]]);
    assert_eq!(code(), (1, "audit-gap".to_owned()));
    written(&[all[0], all[2], all[1]]);
    assert_eq!(code(), (1, "audit-gap".to_owned()));
    written(&[all[0], all[0]]);
    assert_eq!(code(), (1, "audit-chain-mismatch".to_owned()));
    written(&[all[0], &all[1].replace(':', ": ")]);
    assert_eq!(code(), (1, "audit-malformed".to_owned()));
    fs::write(&path, text.trim_end()).unwrap();
    assert_eq!(code(), (0, "audit-torn".to_owned()));
    // The next line replaces the torn one.
    place.ctx("read nodes/fees").ok();
    assert_eq!(lines(&place).len(), 3);
    assert_eq!(code(), (0, String::new()));
    // A log that cannot be continued is left as it is; a new writer begins another one.
    fs::write(&path, "no line\n").unwrap();
    place.ctx("read nodes/fees").ok();
    place.ctx("read nodes/fees").ok();
    let files = fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(files, 2);
}

#[test]
fn labels_name_who_asks_and_placeholders_are_refused() {
    let place = vault();
    place.ctx("read nodes/fees --session s1 --agent scout").ok();
    place.typed("read nodes/returns").var("CTX_SESSION", "s2").run().ok();
    place.ctx("read nodes/returns").ok();
    let said = lines(&place);
    assert_eq!(
        (&said[0]["labels"]["session"], &said[0]["labels"]["agent"]),
        (&"s1".into(), &"scout".into())
    );
    assert_eq!(said[1]["labels"]["session"], "s2");
    assert_eq!(said[2]["labels"]["session_implicit"], true);
    assert_eq!(said[2]["labels"]["session"].as_str().unwrap().len(), 32);
    let listed = |args: &str| -> Vec<String> {
        let json = place.ctx(&format!("trace list {args} --json")).ok().stdout;
        let report: Value = serde_json::from_str(&json).unwrap();
        let traces = report["traces"].as_array().unwrap().iter();
        traces
            .map(|trace| trace["trace"].as_str().unwrap().split('-').nth(1).unwrap().to_owned())
            .collect()
    };
    assert_eq!(listed("--session s1"), ["1"]);
    assert_eq!(listed("--document nodes/returns"), ["2", "3"]);
    assert_eq!(listed("--agent scout --document nodes/returns"), [""; 0]);
    assert_eq!(listed("-n 1"), ["3"]);
    assert_eq!(listed("--document nodes/returns --version 1"), ["2", "3"]);
    assert_eq!(listed("--document nodes/returns --version v2"), [""; 0]);
    assert_eq!(listed("--checkpoint 1 --session s1"), ["1"]);
    assert_eq!(listed("--checkpoint 2"), [""; 0]);
    assert_eq!(listed("--from 2026-11-21 --to 2026-11-21T12:00:03+02:00"), ["1"]);
    assert_eq!(listed("--from 2026-11-22"), [""; 0]);
    assert_eq!(place.ctx("trace list --from yesterday").exit, 2);
    assert_eq!(place.ctx("trace list --version 1").exit, 2);
    for label in ["default", "NULL", "Unknown"] {
        let refused: Output = place.ctx(&format!("read nodes/fees --session {label}"));
        assert_eq!(refused.exit, 2, "{}", refused.whole());
    }
    let refused = place.ctx("read nodes/fees --task undefined");
    insta::assert_snapshot!(refused.whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: the label of `--task` is `undefined`, which programs write if they do not know the id
    hint: give the id that your program has, or leave the label out
    ");
    // Text that looks like a line of the log is an ordinary label.
    let hostile = "{\"session\":\"s1\"}";
    place.args(&["read", "nodes/fees", "--session", hostile]).run().ok();
    assert_eq!(lines(&place).last().unwrap()["labels"]["session"], hostile);
    assert_eq!(listed("--session s1"), ["1"]);
    place.ctx("trace verify").ok();
}

#[test]
fn an_access_that_cannot_be_recorded_is_told() {
    let place = vault();
    let file = place.home().join("taken");
    fs::write(&file, "").unwrap();
    let output =
        place.typed("read nodes/returns").var("CTX_AUDIT_DIR", file.to_str().unwrap()).run();
    assert_eq!(output.exit, 0);
    assert!(
        output.stderr.contains("warning: the access was not recorded: cannot write to"),
        "{}",
        output.stderr
    );
    // Writers of the vault could change a log inside of it.
    let inside = place.root().join("audit");
    let output =
        place.typed("read nodes/returns").var("CTX_AUDIT_DIR", inside.to_str().unwrap()).run();
    assert!(output.stderr.contains("the access was not recorded"), "{}", output.stderr);
    assert!(!inside.exists());
}

#[test]
fn a_pipe_or_a_device_in_the_place_of_the_log_is_no_record() {
    let place = vault();
    place.ctx("read nodes/returns").ok();
    let (path, _) = file(&place);
    let (pipe, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
    let not_recorded = |what: &str| {
        let output = place.ctx("read nodes/returns").ok();
        assert!(output.stderr.contains("the access was not recorded"), "{what}: {}", output.stderr);
        assert!(output.stderr.contains(what), "{}", output.stderr);
    };
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, pipe, mode, 0).unwrap();
    not_recorded("is not a regular file");
    assert!(place.ctx("trace verify").exits(1).stdout.contains("audit-malformed"));
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    not_recorded("symbolic links");
    // Making a device needs more rights than a test has, so a link to a folder replaces it.
    fs::remove_file(&path).unwrap();
    let (folder, elsewhere) = (path.parent().unwrap(), place.home().join("elsewhere"));
    fs::rename(folder, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder).unwrap();
    not_recorded("is a link, which is not followed");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    let verified = place.ctx("trace verify").exits(1).stdout;
    assert!(verified.contains("file-unreadable") && !verified.contains("intact"), "{verified}");
    // A link that the user names is followed to a folder without a log.
    let said = place.args(&["trace", "verify", "--logs", folder.to_str().unwrap()]).run().exits(5);
    assert!(said.stderr.contains("it contains no logs"), "{}", said.stderr);
}

/// A disk that cannot make the access log durable.
#[derive(Debug)]
struct Stuck;

impl Overseer for Stuck {
    fn judge(&self, change: &Change<'_>) -> Verdict {
        match change {
            Change::Sync { path } if path.contains("/audit") => Verdict::Refuse(5),
            _ => Verdict::Allow,
        }
    }
}

#[test]
fn no_file_with_texts_is_written_before_its_access_is_recorded() {
    let place = Place::vault();
    place.edit(".context/config.yaml", "audit:\n", "audit:\n  durability: sync\n");
    place.write("nodes/a.md", "# A\n");
    place.ctx("publish --all").ok();
    place.ctx("read nodes/a --session s").ok();
    for line in ["checkout 1 ../then", "evidence export --document nodes/a -o ../a.tar"] {
        let refused = place.typed(line).on(Arc::new(Stuck));
        assert_eq!((refused.exit, refused.stdout.as_str()), (5, ""), "{line}");
        assert!(refused.stderr.contains("the access was not recorded"), "{}", refused.stderr);
    }
    let left = ["then", "a.tar"].map(|name| place.home().join(name).exists());
    assert_eq!(left, [false, false], "texts were written that no line names");
}

#[test]
fn files_that_cannot_be_written_were_recorded_before_and_are_not_reported() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.ctx("read nodes/a --session s").ok();
    fs::write(place.home().join("file"), "").unwrap();
    let before = lines(&place).len();
    let failed = place.ctx("evidence export --session s -o ../file/a.tar");
    assert_eq!((failed.exit, failed.stdout.as_str()), (5, ""), "{}", failed.stderr);
    assert_eq!(lines(&place).len(), before + 1);
}

#[test]
fn with_durability_sync_nothing_leaves_that_is_not_recorded() {
    let place = vault();
    place.edit(".context/config.yaml", "layout:", "audit:\n  durability: sync\nlayout:");
    let refused = |line: &str| {
        let output = place.typed(line).on(Arc::new(Stuck));
        assert_eq!((output.exit, output.stdout.as_str()), (5, ""), "{line}");
        assert!(output.stderr.contains("the access was not recorded"), "{}", output.stderr);
    };
    // The live configuration may ask for more than the sealed one.
    refused("read nodes/fees");
    refused("resolve #money --json");
    refused("list");
    place.ctx("publish --all").ok();
    refused("checkpoint list");
    // The live configuration cannot weaken the sealed one.
    place.edit(".context/config.yaml", "sync", "async");
    refused("read nodes/fees");
    refused("checkpoint show 1");
    place.ctx("read nodes/fees").ok();
    place.ctx("publish --all").ok();
    place.typed("read nodes/fees").on(Arc::new(Stuck)).ok();
}

#[test]
fn with_queries_hash_no_word_of_a_question_is_recorded() {
    let place = vault();
    place.edit(".context/config.yaml", "layout:", "audit: {queries: hash}\nlayout:");
    place.ctx("search percent").ok();
    let line = lines(&place).pop().unwrap();
    assert_eq!(line["query_sha256"], sha256("percent"));
    assert_eq!(line["args"]["sha256"], sha256("search\0percent"));
    assert!(!line.to_string().contains("percent"), "{line}");
    // The query text of a command that records an output is hashed, too.
    place.typed("trace output --session s --model percent").stdin("Yes.").run().ok();
    let line = lines(&place).pop().unwrap();
    let words = "trace\0output\0--session\0s\0--model\0percent";
    assert_eq!(
        (&line["event"], &line["args"]),
        (&"output".into(), &serde_json::json!({"sha256": sha256(words)}))
    );
}

#[test]
fn a_publication_that_governance_refuses_is_recorded() {
    let place = vault();
    place.write(".context/config.yaml", "version: 1\ngovernance: governed\n");
    place.ctx("publish --all").exits(3);
    let said = lines(&place);
    assert_eq!((&said[0]["event"], &said[0]["verb"]), (&"refused".into(), &"publish".into()));
    assert_eq!(said[0]["code"], "governed");
}

#[test]
fn audit_counts_withheld_documents() {
    let place = vault();
    place.edit("nodes/.versions/fees/v1.md", "5 percent", "9 percent");
    place.ctx("resolve #money --bodies").exits(1);
    place.remove("nodes/.versions/returns/v1.md");
    place.ctx("resolve #money --bodies").exits(1);
    let said = lines(&place);
    let withheld = serde_json::json!([{"reason": "withheld", "count": 1}]);
    assert_eq!((&said[0]["event"], &said[0]["withheld"]), (&"access".into(), &withheld));
    assert_eq!((&said[1]["event"], &said[1]["count"]), (&"listing".into(), &0.into()));
    assert_eq!(said[1]["withheld"][0]["count"], 2);
}

#[test]
fn eight_readers_at_once_lose_no_line() {
    let place = vault();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let commands: Vec<_> =
                (0..5).map(|_| place.typed("read nodes/fees").command()).collect();
            scope.spawn(|| {
                for mut command in commands {
                    assert!(command.output().unwrap().status.success());
                }
            });
        }
    });
    assert_eq!(lines(&place).len(), 40);
    place.ctx("trace verify").ok();
}

#[test]
fn a_trace_says_everything_that_is_recorded() {
    let place = vault();
    place.ctx("read nodes/returns --session s1 --agent scout").ok();
    let name = lines(&place)[0]["writer"].as_str().unwrap()[..8].to_owned() + "-1";
    let shown = place.ctx(&format!("trace show {name}")).ok().stdout.replace(&name[..8], "WRITER");
    insta::assert_snapshot!(shown, @"
    WRITER-1 access
      at         2026-11-21T10:00:02.000Z
      command    ctx read nodes/returns --session s1 --agent scout
      principal  ana@example.com
      agent      scout
      session    s1
      head       checkpoint 1 sha256:57fcbd8aff44c261a92393f8dbf541a3f47196e82a7571b51264fb0ee0c6b23f
      class      direct
      query      nodes/returns
      output     287 bytes sha256:9a90f48628e12609cb39dc174b48313bd365edaad7ddb72399709ef2e67f958f

      contextnest://nodes/returns@1  v1
        text       287 bytes
        sha256     sha256:9a90f48628e12609cb39dc174b48313bd365edaad7ddb72399709ef2e67f958f
        chain      sha256:a3d05cb28e7cb130d597077c99766fb3436e9e08d84b3fbfa804144157923239
        author     ana@example.com
        edited     2026-11-21T10:00:01.000Z by ana@example.com
    ");
    let listed = place.ctx("trace list").ok().stdout.replace(&name[..8], "WRITER");
    insta::assert_snapshot!(listed, @"WRITER-1  2026-11-21T10:00:02.000Z  read  1 text  ana@example.com  scout  s1  nodes/returns");
    assert_eq!(place.ctx("trace show 00000000-9").exit, 1);
    assert_eq!(place.ctx("trace show nothing").exit, 2);
}

#[test]
fn impact_lists_who_was_handed_a_document_and_what_was_replaced_by_then() {
    let place = vault();
    place.ctx("read nodes/fees --session s1").ok();
    place.ctx("read nodes/returns --session s1").ok();
    place.edit("nodes/fees.md", "5 percent", "4 percent");
    place.ctx("publish nodes/fees").ok();
    place.ctx("read nodes/fees --session s2").ok();
    place.ctx("resolve contextnest://nodes/fees@1#waivers --bodies --session s3").ok();
    let listed = |args: &str| {
        let report = place.ctx(&format!("impact nodes/fees {args} --json")).ok().json("ctx.impact");
        let rows = report["accesses"].as_array().unwrap().clone();
        let row = |row: &Value| format!("{} v{}", row["session"].as_str().unwrap(), row["version"]);
        rows.iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(listed(""), ["s1 v1", "s2 v2", "s3 v1"]);
    assert_eq!(listed("1"), ["s1 v1", "s3 v1"]);
    assert_eq!(listed("--superseded"), ["s3 v1"]);
    assert_eq!(listed("--to 2026-11-21T10:00:04.000Z"), ["s1 v1"]);
    // A retirement ends the last version.
    place.ctx("retire nodes/fees").ok();
    place.ctx("resolve contextnest://nodes/fees@2 --bodies --session s4").ok();
    assert_eq!(listed("--superseded"), ["s3 v1", "s4 v2"]);
    let text = place.ctx("impact nodes/fees --superseded -n 1").ok().stdout;
    assert!(text.contains("retired 2026-11-21T10:00:1"), "{text}");
    let text = place.ctx("impact nodes/fees 1 --superseded").ok().stdout;
    assert!(text.contains("replaced 2026-11-21T10:00:0"), "{text}");
    // A log that was altered cannot be relied on.
    let (path, log) = file(&place);
    let lines: Vec<&str> = log.lines().skip(1).collect();
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let output = place.ctx("impact nodes/fees").exits(1);
    assert!(output.stderr.contains("accesses may be missing"), "{}", output.stderr);
}

#[test]
fn replay_reproduces_and_compares_each_answer() {
    let place = vault();
    place.write("packs/fees.yml", "id: fees\nquery: '#money'\nagent_instructions: Cite the fee.\n");
    place.write("CONTEXT.md", "---\ntitle: Start\n---\nBe careful.\n");
    place.ctx("publish --all").ok();
    for command in [
        "read nodes/fees",
        "read nodes/fees#waivers --json",
        "resolve pack:fees --format markdown",
        "resolve pack:fees --format json",
        "context",
        "context --json",
        "pack show fees",
        "show nodes/returns 1",
        "blame nodes/fees -L 3,+4",
        "blame nodes/fees#waivers --json",
        "checkout 1 ../as-of-1",
    ] {
        place.ctx(&format!("{command} --session s")).ok();
    }
    // A later publication changes no earlier answer.
    place.edit("nodes/fees.md", "5 percent", "4 percent");
    place.ctx("publish nodes/fees").ok();
    place.ctx("retire nodes/returns").ok();
    let report = place.ctx("replay --session s --json").ok().json("ctx.replay");
    let count = report["texts"].as_array().unwrap().len();
    assert_eq!(report["same"], count, "{report:#}");
    assert!(count > 15, "{count}");

    place.ctx("search percent --session t").ok();
    let told = place.ctx("replay --session t").exits(1).stdout;
    assert!(told.contains("cannot tell: a snippet is not reproduced"), "{told}");

    // The line has valid hashes, but claims a text that was never returned.
    let (path, log) = file(&place);
    let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let outcome = |change: &dyn Fn(&mut Value)| {
        let mut line = first.clone();
        change(&mut line);
        line.as_object_mut().unwrap().remove("hash");
        let hash = sha256(&serde_jcs::to_string(&line).unwrap());
        line["hash"] = hash.into();
        fs::write(&path, serde_jcs::to_string(&line).unwrap() + "\n").unwrap();
        let report = place.ctx("replay --session s --json").exits(1).json("ctx.replay");
        let text = &report["texts"][0];
        format!("{}: {}", text["outcome"].as_str().unwrap(), text["why"].as_str().unwrap())
    };
    let of_text = |key: &'static str, value: Value| {
        outcome(&move |line: &mut Value| line["documents"][0][key] = value.clone())
    };
    assert_eq!(of_text("sha256", sha256("x").into()), "different: its bytes have another hash");
    assert_eq!(
        of_text("range", [0, 9999].into()),
        "different: a byte range exceeds the text of the version"
    );
    assert_eq!(of_text("version", 7.into()), "different: checkpoint 2 contains version 1");
    assert_eq!(
        of_text("chain_hash", sha256("x").into()),
        "different: the version has another chain hash"
    );
    let missing = outcome(&|line: &mut Value| {
        line["documents"][0]["checkpoint"] = 99.into();
        line["documents"][0]["uri"] = "contextnest://nodes/fees@99".into();
    });
    assert_eq!(missing.split(':').next(), Some("cannot tell"), "{missing}");
    let head = |line: &mut Value| line["head"]["hash"] = sha256("x").into();
    assert_eq!(outcome(&head), "different: checkpoint 2 has another hash now");
    place.edit("nodes/.versions/fees/v1.md", "5 percent", "9 percent");
    let damaged = outcome(&|_: &mut Value| ());
    assert!(damaged.starts_with("cannot tell: the stored text has hash"), "{damaged}");
    assert_eq!(place.ctx("replay").exit, 2);
    assert_eq!(place.ctx("replay 0a1b2c3d-1 --session s").exit, 2);
}

#[test]
fn an_access_is_found_whose_uri_begins_with_the_name_of_the_vault() {
    let place = Place::vault();
    place.write("acme/a.md", "# A\n");
    let config = "version: 1\nlayout: obsidian\nnamespace: home\nfederation: federated\nregistry: {acme: /srv/acme}\n";
    place.write(".context/config.yaml", config);
    place.ctx("publish --all").ok();
    place.ctx("read acme/a --session s").ok();
    let uri = lines(&place)[0]["documents"][0]["uri"].as_str().unwrap().to_owned();
    assert_eq!(uri, "contextnest://home/acme/a@1");
    let report = place.ctx("impact acme/a --json").ok().json("ctx.impact");
    assert_eq!(report["accesses"][0]["uri"], uri);
    let listed = place.ctx("trace list --document acme/a --json").ok().json("ctx.trace.list");
    assert_eq!(listed["traces"].as_array().unwrap().len(), 1);
    place.ctx("evidence export --document acme/a -o ../a.tar").ok();
    let report = place.ctx("evidence verify ../a.tar --json").ok().json("ctx.evidence.verify");
    let items = report["items"].as_array().unwrap();
    assert_eq!(items.last().unwrap()["verdict"], "proved");
    assert_eq!(items.last().unwrap()["kind"], "text");
}
