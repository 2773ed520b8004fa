//! `--staged`: the files that git would commit, not those in the folder.

use std::fs;

use insta::assert_snapshot;

use crate::anchored::git;
use crate::harness::Place;

/// Returns a committed vault in the folder `docs` of a repository, with two published documents.
fn committed() -> Place {
    let place = Place::new();
    git(&place, "init -q -b main");
    place.ctx("init docs --name Docs").ok();
    place.write("docs/nodes/a.md", "# A\n\nOne.\n");
    place.write("docs/nodes/b.md", "# B\n");
    place.write("docs/logo.png", "an image");
    place.ctx("publish --all --vault docs").ok();
    git(&place, "add -A");
    git(&place, "commit -q -m one");
    place
}

#[test]
fn work_that_is_not_staged_does_not_count() {
    let place = committed();
    place.edit("docs/nodes/a.md", "One.", "Two.");
    place.write("docs/nodes/new.md", "---\ntags: [}\n---\n");
    place.ctx("verify --vault docs --quiet").exits(1);
    place.ctx("validate --vault docs").exits(1);
    let staged = place.ctx("verify --vault docs --staged --since HEAD").ok().stdout;
    assert!(staged.starts_with("intact, anchored to checkpoint 1\n"), "{staged}");
    assert_snapshot!(place.ctx("validate --vault docs --staged").ok().stdout, @"2 documents checked: 0 errors, 0 warnings");
    // A file that is only announced (`add -N`) is not staged.
    git(&place, "add -N docs/nodes/new.md");
    assert_eq!(place.ctx("validate --vault docs --staged --quiet").ok().stdout, "");
    git(&place, "add docs/nodes/new.md");
    let refused = place.ctx("validate --vault docs --staged").exits(1);
    assert!(refused.stdout.contains("nodes/new.md"), "{}", refused.stdout);
}

#[test]
fn a_publication_of_which_a_part_is_staged_does_not_pass() {
    let place = committed();
    place.edit("docs/nodes/a.md", "One.", "Two.");
    place.ctx("publish --changed --vault docs").ok();
    place.ctx("verify --vault docs").ok();
    git(&place, "add docs/nodes/a.md docs/nodes/.versions");
    assert_snapshot!(place.ctx("verify --vault docs --staged").exits(1).stdout, @"
    unsettled
      1 checkpoint, 4 artifacts, 5 versions recomputed
      head: checkpoint 1, sha256:484319a111e3f967c7417459aa0e6053c2973d87dbf5203205ea0c4661b2d28d

    Unsettled: incomplete or unreadable records:
      [published-unsealed] nodes/a v2: the history records it as published (ana@example.com, 2026-11-21T10:00:05.000Z), but no checkpoint contains it
          in nodes/.versions/a/history.yaml

    Working copy: live files that differ from their published versions:
      [drift] nodes/a: the live file differs from the published text from line 5 on
          in nodes/a.md

    Meaning and remedy:
      [published-unsealed] A history records a publication or retirement that no checkpoint contains.
          Find out who wrote it before you publish again, because later the files do not show it. After an interrupted command, `ctx recover --dry-run` lists what no checkpoint seals, with author and time. If the log was truncated, restore it, or see with `ctx checkpoint rebuild --dry-run` which checkpoints the histories produce.
      [drift] A live file differs from the published text and is not a draft.
          `ctx diff ID` shows the change, `ctx publish --changed` publishes it; for a file of an older version, or one that says that it is not for use, `ctx status` says what to do. `ctx restore --force ID` undoes the change: it is lost.
    ");
    git(&place, "add docs");
    place.ctx("verify --vault docs --staged --since HEAD").ok();
    // The last commit is behind the trusted head of this machine, but may still be committed.
    git(&place, "reset -q");
    place.ctx("verify --vault docs --staged --since HEAD").ok();
}

#[test]
fn the_index_that_a_hook_names_counts() {
    let place = committed();
    let run = format!("exec {} verify --quiet --vault docs --staged", env!("CARGO_BIN_EXE_ctx"));
    place.write(".git/hooks/pre-commit", format!("#!/bin/sh\n{run}\n"));
    place.typed("").shell("chmod +x .git/hooks/pre-commit").ok();
    place.edit("docs/nodes/a.md", "One.", "Two.");
    // `git commit -a` and `git commit FILE` have an index of their own.
    let commit = "git -c user.name=Ana -c user.email=ana@example.com commit -q -m two";
    place.typed("").shell(&format!("{commit} -a")).exits(1);
    place.typed("").shell(&format!("{commit} docs/nodes/a.md")).exits(1);
    place.ctx("publish --changed --vault docs").ok();
    place.typed("").shell(&format!("{commit} -a")).exits(0);
}

#[test]
fn a_vault_that_is_not_staged_has_nothing_published() {
    let place = committed();
    git(&place, "rm -q --cached -r docs");
    assert_snapshot!(place.ctx("verify --vault docs --staged").ok().whole(), @"
    exit: 0
    -- stdout
    nothing published
      0 checkpoints, 0 artifacts, 0 versions recomputed
    -- stderr
    note: no file of this vault is staged
    ");
    let gone = place.ctx("verify --vault docs --staged --since HEAD").exits(1);
    assert!(gone.stdout.contains("head-rollback"), "{}", gone.stdout);
}

#[test]
fn verify_staged_fails_if_git_fails() {
    let place = Place::vault();
    // If the temporary folder is a file system of its own, git appends that it stops there.
    let refused = place.ctx("verify --staged").exits(2).stderr;
    let why =
        "error[usage]: `--staged` needs git: git refuses: fatal: not a git repository (or any ";
    assert!(refused.starts_with(why), "{refused}");
    let hint = "hint: the vault must be in a git repository that you own\n";
    assert!(refused.ends_with(hint), "{refused}");
    let place = committed();
    git(&place, "branch other");
    place.write("docs/nodes/b.md", "# B\n\nHere.\n");
    git(&place, "commit -q -a -m here");
    git(&place, "checkout -q other");
    place.write("docs/nodes/b.md", "# B\n\nThere.\n");
    git(&place, "commit -q -a -m there");
    place.typed("").shell("git -c user.name=A -c user.email=a@example.com merge -q main").exits(1);
    assert_snapshot!(place.ctx("verify --vault docs --staged").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: `nodes/b.md` is not merged in git's index
    hint: resolve the conflict and run `git add` on the file
    ");
}

/// The copy of links, submodules, names that are not valid text, and long files equals a checkout.
#[test]
fn odd_entries_are_what_a_checkout_has() {
    let place = committed();
    let outside = place.home().join("outside.md");
    fs::write(&outside, "# Outside\n").unwrap();
    std::os::unix::fs::symlink(&outside, place.path("docs/nodes/link.md")).unwrap();
    place.write("docs/nodes/long.md", vec![b'a'; (16 << 20) + 1]);
    place.typed("").shell("printf x > docs/nodes/$(printf '\\377').md").ok();
    git(&place, "add -A");
    let staged = place.ctx("validate --vault docs --staged").exits(1).stdout;
    assert_eq!(staged, place.ctx("validate --vault docs").exits(1).stdout);
    assert!(staged.contains("symbolic-link") && staged.contains("too-large"), "{staged}");
}

#[test]
fn an_index_or_repository_that_git_takes_and_ctx_does_not_is_refused() {
    let place = committed();
    let elsewhere = place.root().with_file_name("index");
    fs::copy(place.root().join(".git/index"), &elsewhere).unwrap();
    let run = || place.args(&["verify", "--vault", "docs", "--staged"]);
    run().var("GIT_INDEX_FILE", &elsewhere.to_string_lossy()).run().exits(2);
    run().var("GIT_DIR", "/nonexistent").run().exits(2);
    let validate = place.args(&["validate", "--vault", "docs", "--staged"]);
    let validate = validate.var("GIT_DIR", "/nonexistent");
    let why = validate.run().exits(2).stderr;
    assert!(why.contains("outside of the vault's repository"), "{why}");
    let own = run().var("GIT_DIR", ".git").var("GIT_INDEX_FILE", ".git/index");
    own.run().ok();
}
