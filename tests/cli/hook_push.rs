//! `ctx hook run pre-push` and `pre-receive`: pushes to bare repositories.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::anchored::{git, replace_log};
use crate::harness::{Output, Place};
use crate::hook_commit::{hooked, shell};

/// Commits everything without the hook.
fn commit(place: &Place) {
    git(place, "add -A");
    git(place, "commit -q --no-verify -m change");
}

fn publish(place: &Place, from: &str, to: &str) {
    place.edit("docs/nodes/a.md", from, to);
    place.ctx("publish --changed --vault docs").ok();
    commit(place);
}

/// Makes a bare repository with the hook, as the remote `origin`; pushes the branch `main`.
fn served(place: &Place, options: &str) {
    let server = place.home().join("server.git");
    git(place, &format!("init -q --bare -b main {}", server.display()));
    let hook = server.join("hooks/pre-receive");
    fs::write(&hook, format!("#!/bin/sh\nexec ctx hook run pre-receive {options}\n")).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    git(place, &format!("remote add origin file://{}", server.display()));
    push(place, "main").ok();
}

fn push(place: &Place, what: &str) -> Output {
    shell(place, &format!("git push -q origin {what}"))
}

fn refused(place: &Place, what: &str, why: &str) {
    let said = push(place, what).exits(1);
    let said = said.stdout + &said.stderr;
    assert!(said.contains(why), "{what}: {said}");
}

#[test]
fn pre_receive_lets_a_log_grow_and_refuses_everything_else() {
    let place = hooked();
    served(&place, "--vault docs");
    publish(&place, "One.", "Two.");
    push(&place, "main").ok();
    // A new branch is compared with the trunk, and may be behind it.
    git(&place, "checkout -q -b topic HEAD~1");
    place.write("README.md", "# Topic\n");
    commit(&place);
    push(&place, "topic").ok();
    git(&place, "tag -a v1 -m v1");
    push(&place, "v1").ok();
    push(&place, ":topic").ok();
    refused(&place, ":main", "refused: refs/heads/main: this branch is not deleted");
    refused(&place, "+topic:main", "head-rollback");
    git(&place, "checkout -q --orphan lone");
    commit(&place);
    refused(&place, "lone", "it has no commit in common with refs/heads/main");
    refused(&place, "HEAD^{tree}:refs/tags/tree", "it is not a commit");
    git(&place, "checkout -q -f main");
    replace_log(&place);
    commit(&place);
    refused(&place, "main", "head-fork");
    git(&place, "reset -q --hard HEAD~1");
    place.edit("docs/nodes/.versions/b/history.yaml", "ana@", "bo@");
    commit(&place);
    refused(&place, "main", "chain-hash-mismatch");
    git(&place, "reset -q --hard HEAD~1");
    place.edit("docs/nodes/a.md", "Two.", "Three.");
    commit(&place);
    refused(&place, "main", "[drift]");
    git(&place, "reset -q --hard HEAD~1");
    fs::remove_dir_all(place.path("docs")).unwrap();
    commit(&place);
    refused(&place, "main", "refused: refs/heads/main: `docs` is not a vault");
}

#[test]
fn pre_receive_finds_vaults_and_needs_neither_state_nor_temporary_files() {
    let place = hooked();
    served(&place, "");
    publish(&place, "One.", "Two.");
    let line = "env -u HOME TMPDIR=/nonexistent GIT_CONFIG_NOSYSTEM=1 git push -q origin main";
    shell(&place, line).ok();
    fs::remove_dir_all(place.path("docs")).unwrap();
    commit(&place);
    refused(&place, "main", "`docs` is not a vault");
    // The trunk is the one that the server's configuration names.
    git(&place, "reset -q --hard HEAD~1");
    push(&place, "main:refs/heads/trunk").ok();
    let server = place.home().join("server.git").display().to_string();
    git(&place, &format!("--git-dir {server} config contextnest.trunk trunk"));
    refused(&place, ":trunk", "this branch is not deleted");
}

#[test]
fn pre_receive_reads_neither_replaced_commits_nor_converted_files() {
    let place = hooked();
    served(&place, "--vault docs");
    publish(&place, "One.", "Two.");
    let good = git(&place, "rev-parse HEAD");
    git(&place, "reset -q --hard HEAD~1");
    replace_log(&place);
    commit(&place);
    let evil = git(&place, "rev-parse HEAD");
    git(&place, &format!("replace {evil} {good}"));
    let _ = push(&place, "refs/replace/*:refs/replace/*");
    refused(&place, &format!("{evil}:refs/heads/main"), "head-fork");
    git(&place, "replace -d HEAD");
    git(&place, "reset -q --hard HEAD~1");
    let text = place.read("docs/nodes/.versions/a/v1.md");
    place.write("docs/nodes/.versions/.gitattributes", "*.md working-tree-encoding=latin1 -text\n");
    place.write("blob", text.replacen("One", "\u{d6}ne", 1));
    let object = git(&place, "hash-object -w --no-filters blob");
    git(&place, &format!("update-index --cacheinfo 100644,{object},docs/nodes/.versions/a/v1.md"));
    git(&place, "update-index --add docs/nodes/.versions/.gitattributes");
    git(&place, "commit -q --no-verify -m evil");
    refused(&place, "main", "content-hash-mismatch");
}

#[test]
fn pre_push_checks_what_is_new_in_pushed_commits() {
    let place = hooked();
    let server = place.home().join("server.git").display().to_string();
    git(&place, &format!("init -q --bare -b main {server}"));
    git(&place, &format!("remote add origin file://{server}"));
    place.ctx("hook install --pre-push").ok();
    push(&place, "main").ok();
    git(&place, "remote set-head origin main");
    publish(&place, "One.", "Two.");
    push(&place, "main").ok();
    place.edit("docs/nodes/.versions/b/history.yaml", "ana@", "bo@");
    commit(&place);
    refused(&place, "main", "chain-hash-mismatch");
    refused(&place, "main", "refused: refs/heads/main: the vault does not verify\n");
    refused(&place, "HEAD:new", "chain-hash-mismatch");
    // A revert of a publication.
    git(&place, "reset -q --hard HEAD~1");
    git(&place, "revert --no-edit HEAD");
    refused(&place, "main", "head-rollback");
    git(&place, "reset -q --hard HEAD~1");
    // A branch that is behind, an edit, a deletion and a tag.
    git(&place, "checkout -q -b topic HEAD~1");
    place.edit("docs/nodes/b.md", "One.", "Two.");
    commit(&place);
    push(&place, "topic").ok();
    git(&place, "commit -q --no-verify --amend -m other");
    push(&place, "+topic").ok();
    push(&place, ":topic").ok();
    git(&place, "tag v1");
    push(&place, "v1").ok();
}
