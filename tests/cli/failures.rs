//! Every code of a failure, provoked; the code in JSON and in text, and its exit code.

use std::collections::BTreeMap;
use std::path::Path;

use contextnest::report::failure::Code;
use insta::assert_snapshot;

use crate::harness::{Output, Place};

fn one() -> Place {
    Place::published(&[("nodes/a", "# A\n")])
}

/// Seals a configuration that names another vault.
fn federate(place: &Place, mode: &str) {
    let config = format!("version: 1\nfederation: {mode}\nregistry: {{acme: /srv/acme}}\n");
    place.write(".context/config.yaml", config);
    place.ctx("publish --changed").ok();
}

type Provocation = (Code, fn(&Place, &str) -> Output);

/// Commands that provoke each code; the second argument is ` --json` or nothing.
const PROVOCATIONS: &[Provocation] = &[
    (Code::UnknownId, |p, json| p.ctx(&format!("read nodes/x{json}"))),
    (Code::UnknownVersion, |p, json| p.ctx(&format!("show nodes/a 9{json}"))),
    (Code::UnknownCheckpoint, |p, json| p.ctx(&format!("list --at 9{json}"))),
    (Code::BundleInvalid, |p, json| p.ctx(&format!("evidence verify nodes/a.md{json}"))),
    (Code::UnknownTrace, |p, json| p.ctx(&format!("trace show 0a1b2c3d-17{json}"))),
    (Code::SearchPast, |p, json| {
        if !p.has("nodes/b.md") {
            p.write("nodes/b.md", "# B\n");
            p.ctx("publish nodes/b").ok();
        }
        p.ctx(&format!("resolve contextnest://search/a --at 1{json}"))
    }),
    (Code::Refused, |p, json| {
        p.write("nodes/bad.md", "---\ntitle: [a\n---\n");
        p.ctx(&format!("publish nodes/bad{json}"))
    }),
    (Code::Withheld, |p, json| {
        p.write("nodes/.versions/a/v1.md", "forged\n");
        p.ctx(&format!("read nodes/a{json}"))
    }),
    (Code::NotASource, |p, json| p.ctx(&format!("source show nodes/a{json}"))),
    (Code::UnknownAnchor, |p, json| p.ctx(&format!("read nodes/a#x{json}"))),
    (Code::UnknownPack, |p, json| p.ctx(&format!("pack show x{json}"))),
    (Code::PackInvalid, |p, json| {
        if !p.has("packs/x.yml") {
            p.write("packs/x.yml", "id: x\nlabel: X\nquery: pack:y\n");
            p.ctx("publish --changed").ok();
        }
        p.ctx(&format!("resolve pack:x{json}"))
    }),
    (Code::ForeignVault, |p, json| {
        federate(p, "federated");
        p.ctx(&format!("read contextnest://acme/a{json}"))
    }),
    (Code::VaultNotAllowed, |p, json| {
        federate(p, "scoped");
        p.ctx(&format!("read contextnest://acme/a{json}"))
    }),
    (Code::LogBroken, |p, json| {
        p.write(".versions/checkpoints.jsonl", "{\n");
        p.ctx(&format!("list{json}"))
    }),
    (Code::ClockBehind, |p, json| {
        p.write("nodes/b.md", "# B\n");
        p.ctx(&format!("publish nodes/b --now 2026-11-01T00:00:00.000Z{json}"))
    }),
    (Code::ClockEnded, |p, json| {
        let end = "9999-12-31T23:59:59.999Z";
        p.write("nodes/b.md", "# B\n");
        // The first of the two runs of this command publishes the document, and the second is
        // refused.
        let _ = p.ctx(&format!("publish nodes/b --now {end}"));
        p.write("nodes/c.md", "# C\n");
        p.ctx(&format!("publish nodes/c --now {end}{json}"))
    }),
    (Code::Exists, |p, json| p.ctx(&format!("add nodes/a --body x{json}"))),
    (Code::Usage, |p, json| p.ctx(&format!("diff nodes/a first{json}"))),
    (Code::NoVault, |p, json| p.typed(&format!("list{json}")).within(Path::new("..")).run()),
    (Code::NoPrincipal, |p, json| {
        p.typed(&format!("publish nodes/a{json}")).without("CTX_PRINCIPAL").run()
    }),
    (Code::ConfigInvalid, |p, json| {
        p.write(".context/config.yaml", "version: 1\nname: [\n");
        p.ctx(&format!("publish --all{json}"))
    }),
    (Code::IdInvalid, |p, json| p.ctx(&format!("add nodes/../a --body x{json}"))),
    (Code::Misplaced, |p, json| p.ctx(&format!("add elsewhere/a --body x{json}"))),
    (Code::SelectorInvalid, |p, json| p.ctx(&format!("resolve '#a |'{json}"))),
    (Code::UriInvalid, |p, json| p.ctx(&format!("read contextnest://nodes/{json}"))),
    (Code::Governed, |p, json| {
        p.write(".context/config.yaml", "version: 1\ngovernance: governed\n");
        p.ctx(&format!("retire nodes/a{json}"))
    }),
    (Code::QueryInvalid, |p, json| p.ctx(&format!("search '!'{json}"))),
    (Code::SearchFailed, |p, json| {
        let run = p.typed(&format!("search fee{json}"));
        run.var("CTX_SEARCH_COMMAND", "/bin/sh -c 'exit'").run()
    }),
    (Code::NotAsExpected, |p, json| p.ctx(&format!("retire nodes/a --expect-version 7{json}"))),
    (Code::UnpublishedChanges, |p, json| {
        p.write("nodes/a.md", "# An edit\n");
        p.ctx(&format!("restore nodes/a{json}"))
    }),
    (Code::Unexplained, |p, json| {
        p.write("nodes/.versions/a/v2.md", "left from something\n");
        p.typed(&format!("recover{json}")).without("HOME").run()
    }),
    (Code::HeadRollback, |p, json| {
        for path in ["nodes/.versions", ".versions", ".context/.versions"] {
            if p.has(path) {
                p.remove(path);
            }
        }
        p.ctx(&format!("publish --all{json}"))
    }),
    (Code::HeadFork, |p, json| {
        let other = Place::published(&[("nodes/a", "# Another\n")]);
        for (path, bytes) in other.tree() {
            p.write(&path, bytes);
        }
        p.ctx(&format!("publish --all{json}"))
    }),
    (Code::Io, |p, json| {
        if p.has(".context/local/lock") {
            p.remove(".context/local");
            p.write(".context/local", "in the way");
        }
        p.ctx(&format!("retire nodes/a{json}"))
    }),
];

/// Codes that other tests provoke.
const ELSEWHERE: [Code; 33] = [
    // `merging.rs`.
    Code::NotMerging,
    Code::MergeConflict,
    Code::TwoVaults,
    // `mcp.rs`.
    Code::AnswerTooLarge,
    // `mcp_http.rs`.
    Code::UnknownToken,
    Code::TokensInvalid,
    Code::Busy,
    Code::TimedOut,
    // `mcp_writing.rs`.
    Code::ConsentUnavailable,
    Code::ConsentDeclined,
    // `stage.rs`.
    Code::UnknownStaged,
    Code::StagedEnded,
    Code::StagedPromoted,
    // `fetched.rs`.
    Code::NotConfigured,
    Code::SourceFailed,
    // `merged.rs`.
    Code::NotLost,
    // `acknowledged.rs`.
    Code::NotMissing,
    // `prune.rs`.
    Code::UnknownHold,
    Code::Retained,
    Code::NotBegun,
    // The workflow of a governed vault: `review.rs`.
    Code::NotSubmitted,
    Code::NotGoverned,
    Code::NotASteward,
    Code::OwnSubmission,
    // `review_edges.rs`.
    Code::ApprovalLapsed,
    Code::ApprovedAlready,
    Code::NotTheSubmitter,
    Code::TooFewReviewers,
    Code::ReviewsPending,
    Code::SubmissionPending,
    Code::SubmissionChanged,
    // Takes ten seconds, so only `concurrent.rs` does it.
    Code::Locked,
    // A file would have to change between its read and its write, both under the lock; the unit
    // tests of `vault::files` provoke that.
    Code::Changed,
];

#[test]
fn every_code_is_provoked_somewhere() {
    let provoked: Vec<Code> = PROVOCATIONS.iter().map(|(code, _)| *code).chain(ELSEWHERE).collect();
    for code in Code::ALL {
        assert_eq!(provoked.iter().filter(|c| *c == code).count(), 1, "{}", code.as_str());
    }
}

#[test]
fn each_failure_has_text_json_and_an_exit_code() {
    let mut texts = BTreeMap::new();
    for (code, provoke) in PROVOCATIONS {
        let place = one();
        let text = provoke(&place, "").exits(i32::from(code.exit()));
        assert_eq!(text.stdout, "", "{}", code.as_str());
        let head = format!("error[{}]: ", code.as_str());
        assert!(text.stderr.starts_with(&head), "{}: {}", code.as_str(), text.stderr);
        let json = provoke(&place, " --json").exits(i32::from(code.exit()));
        let error = json.json("ctx.error");
        assert_eq!(error["code"], code.as_str());
        assert_eq!(json.stdout, "");
        assert!(!error["message"].as_str().unwrap().is_empty());
        let whole = text.whole();
        texts.insert(code.as_str(), whole.split_once("-- stderr\n").unwrap().1.to_owned());
    }
    assert_snapshot!(texts.into_values().collect::<Vec<_>>().join("\n"), @"
    error[bundle-invalid]: this file is not an evidence bundle: byte 0: the file ends in the middle
    hint: verify the file as `ctx evidence export` wrote it; a file that was changed, or unpacked and packed again, is not valid

    error[clock-behind]: the clock shows 2026-11-01T00:00:00.000Z, but the last checkpoint was made at 2026-11-21T10:00:01.000Z
    hint: set the clock: a checkpoint cannot be older than the one before it
    hint: if the clock of the last publication was wrong and its checkpoint is not in use yet, restore `.versions` from before it and publish again

    error[clock-ended]: the last checkpoint was made at 9999-12-31T23:59:59.999Z, and no later time can be recorded
    hint: set the clock, restore `.versions` from before that checkpoint, and publish again

    error[config-invalid]: `.context/config.yaml` cannot be read: line 2, column 7: unclosed bracket '['
    hint: fix the line in .context/config.yaml; `ctx read .context/config.yaml` prints the published version

    error[exists]: `nodes/a.md` exists already
    hint: `ctx publish nodes/a` publishes the file as it is; or edit it first, or choose another id

    error[foreign-vault]: `acme` is another vault, which cannot be resolved yet; it is at `/srv/acme`
    hint: `--vault DIR` runs the command in a vault on this machine

    error[governed]: the configuration says `governance: governed`, which is not published
    hint: `ctx govern on` publishes it with the stewards
    hint: or remove the line from .context/config.yaml

    error[head-fork]: checkpoint 1 is trusted with hash 15d4e7eac353, but the log has c2d56b9536df
    hint: nothing was written; restore the log from git or a backup, then run `ctx verify`
    hint: `ctx checkpoint rebuild --dry-run` shows the log that the histories produce
    hint: if the vault was changed on purpose, `ctx head trust` trusts the log as it is

    error[head-rollback]: the trusted head is checkpoint 1 (15d4e7eac353), but the log ends at checkpoint 0
    hint: nothing was written; restore the log from git or a backup, then run `ctx verify`
    hint: `ctx checkpoint rebuild --dry-run` shows the log that the histories produce
    hint: if the vault was changed on purpose, `ctx head trust` trusts the log as it is

    error[id-invalid]: an id is a path of names: `..` is not a name
    hint: an id is a path in the vault without `.md`, such as `nodes/policies/returns`

    error[io]: cannot lock `.context/local/lock`: Not a directory (os error 20)

    error[log-broken]: `.versions/checkpoints.jsonl`, entry 1: not a checkpoint: EOF while parsing an object at line 1 column 1
    hint: nothing was written; run `ctx verify` for a full report
    hint: `ctx checkpoint rebuild --dry-run` shows the log that the histories produce

    error[misplaced]: `elsewhere/a.md` is not a place for documents in the layout of this vault
    hint: documents belong in `nodes/` or `sources/`; see `layout` and `exclude` in .context/config.yaml

    error[no-principal]: no principal configured
    hint: pass `--as you@example.com`, set CTX_PRINCIPAL, or run `git config --global user.email you@example.com`

    error[no-vault]: no vault in `[ROOT]` or any folder above it
    hint: a vault is in a folder below: `ctx status --vault vault` shows its state

    error[not-a-source]: `nodes/a` is not a source
    hint: `ctx source list` lists the sources

    error[not-as-expected]: expected version 7, but version 1 is published
    hint: nothing was written; merge the published version, then expect it

    error[pack-invalid]: `packs/x.yml`, line 3, column 8: a pack cannot contain another pack, but found `pack:y`
    hint: copy the query of the other pack
    hint: `ctx pack check` checks the live pack files

    error[query-invalid]: the query contains no word
    hint: a search word must contain letters or digits

    error[refused]: 1 file refused
      nodes/bad.md
        error[frontmatter-yaml]: the frontmatter is not valid YAML: line 2, column 8: unclosed bracket '[' (fix the line; a text with `: ` or `#` in it needs quotes)
    hint: nothing was written; fix the documents, or leave them out

    error[search-failed]: `sh` cannot be asked or understood: EOF while parsing a value at line 1 column 0
    hint: spec/search.md defines what a search program reads and prints; without CTX_SEARCH_COMMAND and a program in your configuration the built-in index is used

    error[search-past]: a search answers for the last checkpoint, 2, but checkpoint 1 was asked for
    hint: omit the checkpoint, or select by tag, type, folder or document

    error[selector-invalid]: expected a tag, a filter, a URI or `(`, but found the end
      #a |
          ^

    error[unexplained]: no intent record on this machine explains 1 uncommitted file
      nodes/.versions/a/v2.md: text without an entry, 20 bytes
    hint: either a command was interrupted, or the log was truncated: check the files
    hint: after an interrupted command, `ctx recover --force` moves them to .context/local/recovered/
    hint: after a truncation, restore the log, or see what `ctx checkpoint rebuild --dry-run` reports about them

    error[unknown-anchor]: no section has the anchor `#x`
      #a
    hint: did you mean `#a`?

    error[unknown-checkpoint]: checkpoint 9 does not exist; the last one is 1
    hint: `ctx checkpoint list` lists all checkpoints

    error[unknown-id]: `nodes/x` is not published at checkpoint 1
    hint: did you mean `nodes/a`?

    error[unknown-pack]: checkpoint 1 does not seal a pack `x`
    hint: `ctx pack list` lists the packs; a file in packs/ is used only after its publication

    error[unknown-trace]: no access `0a1b2c3d-17` is recorded
    hint: `ctx trace list` lists accesses; `ctx trace verify` names lines that were altered

    error[unknown-version]: unknown version 9 of `nodes/a`
    hint: `ctx history nodes/a` lists its versions

    error[unpublished-changes]: `nodes/a.md` has changes that no version contains
    hint: nothing was written; `ctx diff nodes/a` shows the changes, `ctx publish nodes/a` makes a version of them
    hint: `--force` overwrites the changes, which are then lost

    error[uri-invalid]: `contextnest://nodes/` is not one document
    hint: `ctx resolve` takes URIs of folders and tags

    error[usage]: `first` is not a version number
    hint: versions are numbered 1, 2, 3

    error[vault-not-allowed]: `acme` is another vault, and `allow` in the configuration does not list it
    hint: a steward of the vault can add it to `allow` in .context/config.yaml

    error[withheld]: `nodes/a` is withheld: the stored text has hash sha256:0ab55839dc48167751feca67b9256a6a088bc4d6787e91697c4f6aaae5753d7b, but the history records sha256:2d1fa8c2898804e4dc10f28e3886cb57ec36523aa5ce94a451e6dd7b329ece27
    hint: the chain does not vouch for the text; run `ctx verify` for a full report
    ");
}

#[test]
fn misuse_of_the_command_line_ends_with_two_and_help_with_zero() {
    let place = Place::new();
    assert_snapshot!(place.ctx("publsh").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: unknown command `publsh`
    hint: did you mean `ctx publish`?
    hint: `ctx --help` lists the commands
    ");
    for line in ["resolve", "list --at", "checkpoint", "retire", "checkpoint convert --to x", ""] {
        let output = place.ctx(line).exits(2);
        assert!(
            output.stdout.is_empty() && !output.stderr.is_empty(),
            "{line}: {}",
            output.whole()
        );
    }
    for line in ["--help", "publish --help", "--version", "help verify"] {
        let output = place.ctx(line).ok();
        assert!(output.stderr.is_empty() && !output.stdout.is_empty(), "{line}");
    }
}

#[test]
fn an_empty_duplicate_log_is_reported() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.write(".versions/context_history.yaml", "checkpoints:\n");
    let told = place.ctx("resolve type:document").exits(1).stderr;
    assert!(told.contains("context_history.yaml` exist"), "{told}");
}
