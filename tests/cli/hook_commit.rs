//! `ctx hook run pre-commit`: git commits honest work, and refuses changed records.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use contextnest::prove::verify::Code;
use serde_json::Value;

use crate::anchored::git;
use crate::harness::{CTX, Output, Place, stride};
use crate::tampering::{TAMPERINGS, whole};

const LOG: &str = "docs/.versions/checkpoints.jsonl";
const HISTORY: &str = "docs/nodes/.versions/a/history.yaml";
const COMMIT: &str = "git -c user.name=Ana -c user.email=ana@example.com commit -q";

/// Runs a line of the shell with `ctx` in the path.
pub(crate) fn shell(place: &Place, line: &str) -> Output {
    let folder = Path::new(CTX).parent().unwrap().display().to_string();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    place.typed("").var("PATH", &path).shell(line)
}

/// Stages everything and commits it.
fn commit(place: &Place) -> Output {
    shell(place, &format!("git add -A && {COMMIT} -m change"))
}

/// Asserts that git does not commit what is staged, with this code in the reason, and puts the
/// last commit back.
fn refuses(place: &Place, line: &str, code: &str) {
    let head = git(place, "rev-parse HEAD");
    let refused = shell(place, line).exits(1);
    let said = refused.stdout + &refused.stderr;
    assert!(said.contains(&format!("[{code}]")), "{line}: {said}");
    assert_eq!(git(place, "rev-parse HEAD"), head);
    git(place, "reset -q --hard");
    git(place, "clean -q -f -d");
}

/// Returns a repository with the hooks, and a vault in `docs` with two published documents. The
/// first commit has passed the hook.
pub(crate) fn hooked() -> Place {
    let place = Place::new();
    git(&place, "init -q -b main");
    place.ctx("init docs --name Docs").ok();
    place.write("README.md", "# Project\n");
    place.write("docs/nodes/a.md", "# A\n\nOne.\n");
    place.write("docs/nodes/b.md", "# B\n\nOne.\n");
    place.ctx("hook install --pre-commit").ok();
    place.ctx("publish --all --vault docs").ok();
    commit(&place).ok();
    place
}

fn publish(place: &Place, to: &str) {
    let text = place.read("docs/nodes/a.md");
    let last = text.trim_end().rsplit('\n').next().unwrap().to_owned();
    place.edit("docs/nodes/a.md", &last, to);
    place.ctx("publish --changed --vault docs").ok();
}

#[test]
fn commits_of_honest_work_pass() {
    let place = hooked();
    publish(&place, "Two.");
    commit(&place).ok();
    for line in ["retire nodes/b", "publish nodes/b", "mv nodes/b nodes/c"] {
        place.ctx(&format!("{line} --vault docs")).ok();
        commit(&place).ok();
    }
    place.ctx("add nodes/d --body 'Four.' --vault docs").ok();
    commit(&place).ok();
    // From a subfolder, with a temporary index, and again.
    place.write("README.md", "# Other\n");
    publish(&place, "Three.");
    shell(&place, &format!("{COMMIT} -m readme README.md")).ok();
    shell(&place, &format!("cd docs/nodes && git add -A .. && {COMMIT} -m three")).ok();
    publish(&place, "Four.");
    shell(&place, &format!("{COMMIT} -a -m four")).ok();
    place.write("README.md", "# Third\n");
    shell(&place, &format!("{COMMIT} -a --amend --no-edit")).ok();
    assert_eq!(git(&place, "status --porcelain"), "");
    place.ctx("verify --vault docs --staged --since HEAD").ok();
}

#[test]
fn an_edit_that_is_not_published_passes_with_a_note() {
    let place = hooked();
    place.edit("docs/nodes/a.md", "One.", "Two.");
    place.write("docs/nodes/new.md", "# New\n");
    let passed = commit(&place).ok();
    let note = "note: 1 edit without a publication: `ctx status` lists edits\n";
    assert_eq!((passed.stdout.as_str(), passed.stderr.as_str()), ("", note));
    // A file that is not staged does not count.
    place.write("docs/nodes/bad.md", "---\ntags: [}\n---\n");
    place.write("README.md", "# Other\n");
    shell(&place, &format!("git add README.md && {COMMIT} -m readme")).ok();
    refuses(&place, &format!("git add docs && {COMMIT} -m bad"), "frontmatter-yaml");
}

#[test]
fn a_hand_made_change_of_the_record_is_refused() {
    let all = format!("git add -A && {COMMIT} -m bad");
    let place = hooked();
    let history = place.read(HISTORY);
    place.write(HISTORY, history.replace("ana@example.com", "bo@example.com"));
    refuses(&place, &all, "chain-hash-mismatch");
    place.edit("docs/nodes/.versions/a/v1.md", "One.", "Other.");
    refuses(&place, &all, "content-hash-mismatch");
    place.remove("docs/nodes/.versions/a/v1.md");
    refuses(&place, &all, "keyframe-missing");
    place.remove(HISTORY);
    refuses(&place, &all, "history-missing");
    // A version that no checkpoint seals.
    publish(&place, "Two.");
    git(&place, &format!("checkout HEAD -- {LOG}"));
    refuses(&place, &all, "published-unsealed");
    let log = place.read(LOG);
    place.write(LOG, log.replace("nodes/b", "nodes/x"));
    refuses(&place, &all, "checkpoint-hash-mismatch");
    place.write(LOG, format!("{log}{}", log.lines().last().unwrap()) + "\n");
    refuses(&place, &all, "checkpoint-gap");
    place.remove(LOG);
    refuses(&place, &all, "head-rollback");
    git(&place, "rm -q -r docs");
    refuses(&place, &format!("{COMMIT} -m gone"), "head-rollback");
    // The lines of the change log.
    let folder = place.path("docs/.context/audit");
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names = fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap()));
    let changes = names.find(|name| name.ends_with(".jsonl")).unwrap();
    let changes = format!("docs/.context/audit/{changes}");
    let lines = place.read(&changes);
    place.write(&changes, lines.replace("ana@example.com", "bo@example.com"));
    refuses(&place, &all, "audit-chain-mismatch");
    place.remove(&changes);
    refuses(&place, &all, "audit-rollback");
    commit_is_clean(&place);
}

fn commit_is_clean(place: &Place) {
    place.write("README.md", "# Last\n");
    commit(place).ok();
}

#[test]
fn a_publication_that_is_staged_in_part_is_refused() {
    let place = hooked();
    let parts = [
        ("docs/nodes/.versions docs/nodes/a.md docs/.context", "published-unsealed"),
        ("docs/.versions docs/nodes/a.md docs/.context", "checkpoint-version-unknown"),
        ("docs/.versions docs/nodes/.versions docs/.context", "drift"),
        ("docs/.versions docs/nodes", "audit-missing"),
        ("docs/.context", "audit-contradicts"),
    ];
    for (paths, code) in parts {
        publish(&place, "Two.");
        refuses(&place, &format!("git add {paths} && {COMMIT} -m part"), code);
        place.ctx("head trust --vault docs").ok();
    }
    publish(&place, "Two.");
    refuses(&place, &format!("{COMMIT} -m part {LOG}"), "checkpoint-version-unknown");
    place.ctx("head trust --vault docs").ok();
    // A new document, and a retirement.
    place.write("docs/nodes/c.md", "# C\n");
    place.ctx("publish --all --vault docs").ok();
    refuses(
        &place,
        &format!("git add docs/nodes/c.md && {COMMIT} -m c"),
        "published-without-history",
    );
    place.ctx("head trust --vault docs").ok();
    place.ctx("retire nodes/b --vault docs").ok();
    let line = format!("git add docs/.versions docs/.context && {COMMIT} -m part");
    refuses(&place, &line, "unrecorded-removal");
}

#[test]
fn a_commit_that_drops_a_checkpoint_is_refused() {
    let place = hooked();
    publish(&place, "Two.");
    commit(&place).ok();
    let revert = "git -c user.name=Ana -c user.email=ana@example.com revert";
    refuses(&place, &format!("{revert} -n HEAD && {COMMIT} -m revert"), "head-rollback");
}

#[test]
fn steps_of_reviews_pass() {
    let place = hooked();
    place.write(
        "docs/stewards.yaml",
        "version: 1\nvault:\n  - {principal: bo@example.com, role: reviewer}\n  \
         - {principal: kim@example.com, role: reviewer}\n  - {principal: ana@example.com, role: editor}\n",
    );
    let by = |who: &str, line: &str| {
        place.ctx(&format!("{line} --vault docs --as {who}@example.com")).ok();
        let passed = commit(&place).ok();
        assert_eq!(passed.stdout, "", "{line}");
    };
    by("ana", "govern on");
    place.edit("docs/nodes/a.md", "One.", "Two.");
    by("ana", "submit nodes/a");
    by("bo", "reject nodes/a --reason 'too short'");
    by("ana", "submit nodes/a");
    by("bo", "approve nodes/a");
    place.edit("docs/nodes/a.md", "Two.", "Three.");
    place.edit("docs/nodes/b.md", "One.", "Three.");
    by("ana", "submit nodes/a nodes/b --change three");
    by("bo", "approve --change three");
    by("ana", "retire nodes/b");
    by("kim", "approve nodes/b");
    by("ana", "mv nodes/a nodes/c");
    by("bo", "approve nodes/a");
    place.edit("docs/nodes/c.md", "Three.", "Four.");
    by("ana", "submit nodes/c");
    by("ana", "withdraw nodes/c");
    // A submission without its line of the change log, and the reverse.
    place.edit("docs/nodes/c.md", "Four.", "Five.");
    place.ctx("submit nodes/c --vault docs").ok();
    refuses(&place, &format!("git add docs/.context && {COMMIT} -m part"), "audit-contradicts");
}

#[test]
fn the_hook_reads_only_files_that_changes_concern() {
    let place = hooked();
    publish(&place, "Two.");
    git(&place, "add -A");
    // Git lacks the history of another document, as in a partial clone.
    let object = git(&place, "rev-parse HEAD:docs/nodes/.versions/b/history.yaml");
    place.remove(&format!(".git/objects/{}/{}", &object[..2], &object[2..]));
    place.ctx("verify --staged --vault docs").exits(5);
    let run = || place.typed("hook run pre-commit").var("TMPDIR", "/nonexistent");
    assert_eq!(run().run().whole(), "exit: 0\n-- stdout\n-- stderr\n");
    git(&place, "reset -q docs/.versions");
    run().run().exits(1);
    run().var("GIT_LITERAL_PATHSPECS", "1").run().exits(1);
}

#[test]
fn a_vault_is_found_in_a_worktree_and_at_the_top() {
    let place = hooked();
    git(&place, "worktree add -q ../other -b other");
    let other = |line: &str| shell(&place, &format!("cd ../other && {line}"));
    other("sed -i s/One/Two/ docs/nodes/a.md && ctx publish --changed --vault docs").ok();
    other(&format!("git add docs/.versions && {COMMIT} -m part")).exits(1);
    other(&format!("{COMMIT} -m part docs/.versions")).exits(1);
    other(&format!("git add -A && {COMMIT} -m two")).ok();

    let top = Place::vault();
    git(&top, "init -q -b main");
    top.write("nodes/a.md", "# A\n\nOne.\n");
    top.ctx("publish --all").ok();
    top.ctx("hook install --pre-commit").ok();
    commit(&top).ok();
    top.edit("nodes/a.md", "One.", "Two.");
    top.ctx("publish --changed").ok();
    shell(&top, &format!("git add .versions && {COMMIT} -m part")).exits(1);
    commit(&top).ok();
}

#[test]
fn every_vault_of_a_repository_is_checked_unless_one_is_named() {
    let place = hooked();
    place.ctx("init more --name More").ok();
    place.write("more/nodes/x.md", "# X\n");
    place.ctx("publish --all --vault more").ok();
    git(&place, "add more/nodes more/.context");
    let both = place.ctx("hook run pre-commit").exits(1);
    assert!(both.stdout.starts_with("vault more:\n"), "{}", both.stdout);
    place.ctx("hook run pre-commit --vault docs").ok();
    let json = place.ctx("hook run pre-commit --vault more --json").exits(1).json("ctx.hook.run");
    let checked = &json["checked"][0];
    assert_eq!((&json["refused"], &checked["vault"]), (&true.into(), &"more".into()));
    assert_eq!(checked["verify"]["verdict"], "damaged");
    place.typed("hook run pre-commit --vault .").within(&place.path("more")).run().exits(1);
    // The environment of the user does not choose the vault.
    place.typed("hook run pre-commit").var("CTX_VAULT", "docs").run().exits(1);
}

#[test]
fn merges_pass_and_conflicts_do_not() {
    let place = hooked();
    git(&place, "checkout -q -b topic");
    publish(&place, "Two.");
    commit(&place).ok();
    git(&place, "checkout -q main");
    place.write("README.md", "# Other\n");
    commit(&place).ok();
    let merge = "git -c user.name=Ana -c user.email=ana@example.com merge -q";
    shell(&place, &format!("{merge} --no-ff --no-commit topic && {COMMIT} -m merge")).ok();
    // Both published: one log alone drops the checkpoints of HEAD, or does not seal a history.
    git(&place, "checkout -q -b third");
    publish(&place, "Three.");
    commit(&place).ok();
    git(&place, "checkout -q main");
    place.edit("docs/nodes/b.md", "One.", "Two.");
    place.ctx("publish --changed --vault docs").ok();
    commit(&place).ok();
    let merge = format!("{merge} third");
    let theirs = format!("{merge}; git checkout -q --theirs . && git add -A && {COMMIT} -m theirs");
    refuses(&place, &theirs, "head-fork");
    let ours = format!("{merge}; git checkout -q --ours . && git add -A && {COMMIT} -m ours");
    refuses(&place, &ours, "published-unsealed");
}

/// Returns the codes of damage and of incomplete records in a report of a verifier.
fn serious(report: &Value) -> BTreeSet<&str> {
    let findings = report["findings"].as_array().unwrap().iter();
    let is_serious = |one: &&Value| one["class"] == "damage" || one["class"] == "unsettled";
    findings.filter(is_serious).filter_map(|one| one["code"].as_str()).collect()
}

#[test]
fn the_hook_finds_every_alteration_that_the_full_check_finds() {
    let place = whole();
    git(&place, "init -q -b main");
    git(&place, "add -A -f");
    git(&place, "commit -q -m whole");
    place.ctx("hook run pre-commit").ok();
    let (step, mut refused) = (stride(4), 0);
    // Git takes long to add a file that is too large.
    for (code, alter) in TAMPERINGS.iter().step_by(step).filter(|(code, _)| *code != Code::TooLarge)
    {
        alter(&place);
        // Git does not add every file, such as a pipe.
        let added = place.typed("").shell("git add -A");
        if added.exit == 0 {
            let full = place.ctx("verify --staged --since HEAD --json").json("ctx.verify");
            let hook = place.ctx("hook run pre-commit --json").json("ctx.hook.run");
            let nothing = serde_json::json!({"verify": {"findings": []}});
            let checked = hook["checked"].get(0).unwrap_or(&nothing);
            let (found, all) = (serious(&checked["verify"]), serious(&full));
            assert_eq!(found.is_empty(), all.is_empty(), "{code}: {found:?} {all:?}");
            assert!(all.is_empty() || hook["refused"] == true, "{code}");
            refused += usize::from(!all.is_empty());
        }
        git(&place, "reset -q --hard");
        git(&place, "clean -q -f -d");
    }
    assert!(refused * step > 30, "{refused}");
}
