//! Sparse checkouts: git leaves files of the vault out, which is not damage.

use std::collections::BTreeMap;

use insta::assert_snapshot;

use crate::harness::Place;

/// Returns a repository with a vault of two folders, in which `nodes/b` is left out.
fn sparse() -> Place {
    let place = Place::published(&[("nodes/a/x", "# X\n"), ("nodes/b/y", "# Y\n")]);
    place.edit("nodes/b/y.md", "# Y\n", "# Y\n\nmore\n");
    place.ctx("publish --all").ok();
    commit(&place);
    git(&place, "sparse-checkout set --no-cone '/*' '!/nodes/b/'");
    assert!(!place.has("nodes/b"));
    place
}

fn commit(place: &Place) {
    git(place, "init -q -b main");
    git(place, "add -A");
    git(place, "-c user.name=A -c user.email=a@x -c commit.gpgsign=false commit -qm all");
}

fn git(place: &Place, line: &str) {
    place.args::<&str>(&[]).shell(&format!("git {line}")).ok();
}

fn verdict(place: &Place) -> (String, BTreeMap<String, usize>) {
    let report = place.ctx("verify --json").exits(1).json("ctx.verify");
    let mut codes = BTreeMap::new();
    for finding in report["findings"].as_array().unwrap() {
        let is_note = finding["class"] == "note";
        let code = finding["code"].as_str().unwrap();
        *codes.entry(code.to_owned()).or_default() += usize::from(!is_note);
    }
    codes.retain(|_, count| *count > 0);
    (report["verdict"].as_str().unwrap().to_owned(), codes)
}

fn codes(list: &[(&str, usize)]) -> BTreeMap<String, usize> {
    list.iter().map(|(code, count)| ((*code).to_owned(), *count)).collect()
}

const INCOMPLETE: &str = "incomplete, git leaves files out";

#[test]
fn verify_says_that_git_leaves_files_out_and_judges_the_rest() {
    let place = sparse();
    assert_snapshot!(place.ctx("verify").exits(1).stdout, @"
    incomplete, git leaves files out
      anchor: checkpoint 2, trusted on this machine since 2026-11-21T10:00:02.000Z
      2 checkpoints, 4 artifacts, 3 versions recomputed
      head: checkpoint 2, sha256:01193f8b7280c8175daef29a24bf2253d2130b01c99bf519e591e070f3f05b71

    Unsettled: incomplete or unreadable records:
      [left-out] nodes/b/.versions/y/history.yaml: git leaves 4 files of the vault out here (a sparse checkout)
          in nodes/b/.versions/y/history.yaml

    Meaning and remedy:
      [left-out] Git leaves files of the vault out of the working copy, so their records were not checked.
          Nothing is lost. To verify the whole vault, run `git sparse-checkout disable`, or add the folders with `git sparse-checkout add FOLDER`, and run `ctx verify` again.
    ");
    // Files that are checked out are verified.
    let sound = place.read("nodes/a/.versions/x/v1.md");
    place.write("nodes/a/.versions/x/v1.md", sound.replace("# X", "# Z"));
    assert_eq!(verdict(&place), damaged(&[("content-hash-mismatch", 1), ("left-out", 1)]));
    place.remove("nodes/a/.versions/x/v1.md");
    assert_eq!(verdict(&place), damaged(&[("keyframe-missing", 1), ("left-out", 1)]));
    place.write("nodes/a/.versions/x/v1.md", sound);
    git(&place, "sparse-checkout disable");
    place.ctx("verify").ok();
}

fn damaged(list: &[(&str, usize)]) -> (String, BTreeMap<String, usize>) {
    ("damaged".to_owned(), codes(list))
}

/// With every pattern, and in cone mode, the only finding is that git leaves files out.
#[test]
fn every_kind_of_file_may_be_left_out() {
    let place = sparse();
    place.edit(".context/config.yaml", "retention: 184d\n", "retention: 184d\n  bind: true\n");
    place.ctx("publish --changed").ok();
    git(&place, "add -A");
    git(&place, "-c user.name=A -c user.email=a@x -c commit.gpgsign=false commit -qm more");
    for patterns in [
        "--no-cone '/*' '!/nodes/b/.versions/y/v1.md'",
        "--no-cone '/*' '!/.versions/checkpoints.jsonl'",
        "--no-cone '/*' '!/.context/audit/'",
        "--no-cone '/*' '!/.context/.versions/'",
        "--cone nodes/a .versions .context",
    ] {
        git(&place, &format!("sparse-checkout set {patterns}"));
        let (verdict, found) = verdict(&place);
        assert_eq!(verdict, INCOMPLETE, "{patterns}: {found:?}");
        assert_eq!(found["left-out"], 1, "{patterns}");
    }
    git(&place, "sparse-checkout disable");
    place.ctx("verify").ok();
}

#[test]
fn a_live_file_that_git_leaves_out_is_named_as_such() {
    let place = sparse();
    git(&place, "sparse-checkout set --no-cone '/*' '!/nodes/b/*.md'");
    let output = place.ctx("verify --allow-drift").ok().stdout;
    let told = "[document-missing] nodes/b/y: git leaves the live file out here (a sparse checkout): \
                nothing is lost: `git sparse-checkout disable` restores the files";
    assert!(output.contains(told), "{output}");
    assert!(
        output.contains("If git leaves the file out, `git sparse-checkout disable`"),
        "{output}"
    );
}

#[test]
fn steps_of_reviews_in_a_history_that_is_left_out_contradict_no_line() {
    let place = Place::published(&[("nodes/a/x", "# X\n"), ("nodes/b/y", "# Y\n")]);
    let stewards = "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  - \
                    {principal: kim@x.com, role: reviewer}\n  - \
                    {principal: ana@example.com, role: editor}\n";
    place.write("stewards.yaml", stewards);
    place.ctx("govern on").ok();
    for (id, change) in [("nodes/b/y", "one"), ("nodes/a/x", "two"), ("nodes/b/y", "three")] {
        let text = place.read(&format!("{id}.md"));
        place.write(&format!("{id}.md"), format!("{text}\n{change}\n"));
        place.ctx(&format!("submit {id}")).ok();
        if change != "three" {
            place.ctx(&format!("approve {id} --as bo@x.com")).ok();
        }
    }
    place.ctx("verify").ok();
    commit(&place);
    git(&place, "sparse-checkout set --no-cone '/*' '!/nodes/b/'");
    assert_eq!(verdict(&place), (INCOMPLETE.to_owned(), codes(&[("left-out", 1)])));
}

const MISSING: &str = "nodes/b/.versions/y/history.yaml";

#[test]
fn a_file_that_git_does_not_leave_out_is_missing() {
    let place = Place::published(&[("nodes/a/x", "# X\n"), ("nodes/b/y", "# Y\n")]);
    commit(&place);
    let whole = place.bytes(MISSING);
    // The file is deleted, but not marked.
    place.remove(MISSING);
    assert_eq!(verdict(&place).0, "damaged");
    place.write(MISSING, &whole);
    // The file is marked, but exists with other bytes.
    git(&place, &format!("update-index --skip-worktree {MISSING}"));
    place.write(MISSING, "document_id: other\n");
    assert_eq!(verdict(&place).0, "damaged");
    // The file is marked with bytes that no commit has.
    place.write(MISSING, &whole);
    git(&place, &format!("update-index --no-skip-worktree {MISSING}"));
    place.edit("nodes/b/y.md", "# Y\n", "# Y\n\nmore\n");
    place.ctx("publish --all").ok();
    git(&place, "add -A");
    git(&place, &format!("update-index --skip-worktree {MISSING}"));
    place.remove(MISSING);
    let (verdict, found) = verdict(&place);
    assert_eq!((verdict.as_str(), found["history-missing"]), ("damaged", 1), "{found:?}");
}

#[test]
fn no_program_that_the_repository_names_is_run() {
    let place = sparse();
    place.write("../spy", "#!/bin/sh\ntouch \"$HOME/ran\"\n");
    git(&place, "config core.fsmonitor 'sh ../spy'");
    git(&place, "status");
    assert!(place.has("../ran"), "git itself runs it");
    std::fs::remove_file(place.home().join("ran")).unwrap();
    assert_eq!(verdict(&place).0, INCOMPLETE);
    assert!(!place.has("../ran"));
}

#[test]
fn no_command_begins_a_second_vault_where_git_leaves_the_vault_out() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.write("README.md", "x\n");
    commit(&place);
    git(&place, "sparse-checkout set --no-cone '/README.md'");
    assert!(!place.has(".context/config.yaml"));
    let here = place.root().display().to_string();
    let said = place.ctx("init").exits(2).stderr;
    assert!(said.contains(&format!("[no-vault]: git leaves the vault in `{here}` out")), "{said}");
    assert!(said.contains("`git sparse-checkout disable`"), "{said}");
    // A file of local state still exists, unlike in a clone.
    place.ctx("publish --all").exits(1);
    place.remove(".context");
    for line in ["list", "publish --all", "verify", "--vault . status"] {
        let said = place.ctx(line).exits(2).stderr;
        assert!(said.contains("[no-vault]: git leaves the vault in"), "{line}: {said}");
    }
    git(&place, "sparse-checkout disable");
    place.ctx("verify").ok();
}

#[test]
fn no_command_begins_a_second_folder_of_a_vault_that_git_leaves_out() {
    let place = Place::new();
    place.ctx("init docs").ok();
    place.write("docs/a.md", "# A\n");
    place.ctx("--vault docs publish --all").ok();
    place.write("README.md", "x\n");
    commit(&place);
    git(&place, "sparse-checkout set --no-cone '/README.md'");
    place.remove("docs");
    for line in ["init docs", "--vault docs list"] {
        let said = place.ctx(line).exits(2).stderr;
        assert!(said.contains("[no-vault]: git leaves the vault in"), "{line}: {said}");
    }
    assert!(!place.has("docs"));
}

#[test]
fn no_command_begins_a_second_log_where_git_leaves_the_log_out() {
    for patterns in ["'/*' '!.versions/'", "'/*' '!/.versions/'", "'/*' '!*.jsonl'"] {
        let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
        commit(&place);
        git(&place, &format!("sparse-checkout set --no-cone {patterns}"));
        for line in [
            "list",
            "status",
            "read nodes/a",
            "publish --all",
            "resolve type:document",
            "checkpoint rebuild",
            "head trust",
        ] {
            let said = place.ctx(line).exits(1).stderr;
            let is_rebuilt = line == "checkpoint rebuild";
            let file = if is_rebuilt { "" } else { ".versions/checkpoints.jsonl`" };
            assert!(said.contains(&format!("[log-broken]: git leaves `{file}")), "{line}: {said}");
        }
        let (verdict, _) = verdict(&place);
        assert_eq!(verdict, INCOMPLETE, "{patterns}");
        place.ctx("recover").exits(1);
        git(&place, "sparse-checkout disable");
        place.ctx("verify").ok();
    }
}

#[test]
fn a_log_of_another_writer_that_git_leaves_out_is_not_intact() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    commit(&place);
    let mut logs = place.tree().into_keys().filter(|path| path.starts_with(".context/audit/"));
    let log = logs.find(|path| path.ends_with(".jsonl")).unwrap();
    // Another user, whose machine never saw the log.
    place.ctx("head forget").ok();
    let state = place.home().join("other");
    let verify = || place.typed("verify").var("XDG_STATE_HOME", state.to_str().unwrap()).run();
    verify().ok();
    git(&place, &format!("sparse-checkout set --no-cone '/*' '!/{log}'"));
    let said = verify().exits(1).stdout;
    assert!(said.starts_with(INCOMPLETE), "{said}");
    assert!(said.contains(&format!("[left-out] {log}: git leaves 1 file")), "{said}");
    // A live file is not part of the record.
    git(&place, "sparse-checkout set --no-cone '/*' '!/nodes/a.md'");
    let said = verify().stdout;
    assert!(!said.starts_with(INCOMPLETE), "{said}");
}

#[test]
fn recover_says_that_git_leaves_histories_out() {
    let place = sparse();
    assert_snapshot!(place.ctx("recover").exits(1).stderr, @"
    warning: git leaves 4 files of the vault out of the working copy (a sparse checkout)
    hint: nothing is lost: `git sparse-checkout disable` restores the files
    ");
}

#[test]
fn commands_report_that_git_leaves_a_document_out_instead_of_damage() {
    const WHY: &str = "git leaves its history out here (a sparse checkout)";
    const HINT: &str = "hint: nothing is lost: `git sparse-checkout disable` restores the files";
    let place = sparse();
    let said = "error[withheld]: `nodes/b/y` is withheld: ";
    for line in ["read nodes/b/y", "history nodes/b/y", "diff nodes/b/y 1 2", "validate nodes/b/y"]
    {
        let stderr = place.ctx(line).exits(1).stderr;
        assert_eq!(stderr, format!("{said}{WHY}\n{HINT}\n"), "{line}");
    }
    for line in
        ["list", "resolve #x+nodes/", "search more", "restore nodes/b/y", "retire nodes/b/y"]
    {
        let output = place.ctx(line).exits(1);
        assert!(output.stderr.contains(WHY), "{line}: {}", output.stderr);
        assert!(!output.stderr.contains("ctx verify"), "{line}: {}", output.stderr);
    }
    let stderr = place.ctx("publish nodes/b/y").exits(1).stderr;
    assert!(stderr.contains("git leaves the live file out here"), "{stderr}");
    let stdout = place.ctx("publish --all").ok().stdout;
    assert!(
        stdout.contains("nodes/b/y (git leaves its file out of this sparse checkout"),
        "{stdout}"
    );
    let stdout = place.ctx("evidence report").stdout;
    assert!(stdout.contains(&format!("false,{WHY}")), "{stdout}");
}

const STATUS: &str = "
Left out by git here, a sparse checkout (next: git sparse-checkout disable):
  nodes/b/y.md (v2)

Governance files left out by git here (next: git sparse-checkout disable):
  CONTEXT.md (not-checked-out)
Nothing to publish
";

#[test]
fn status_lists_what_git_leaves_out_apart_from_damaged_and_deleted_files() {
    let place = sparse();
    place.write("CONTEXT.md", "Read the policies.\n");
    place.ctx("publish --changed").ok();
    git(&place, "add -A");
    git(&place, "-c user.name=A -c user.email=a@x -c commit.gpgsign=false commit -qm more");
    for hidden in ["'!/nodes/b/' '!/CONTEXT.md'", "'!/nodes/b/*.md' '!/CONTEXT.md'"] {
        git(&place, &format!("sparse-checkout set --no-cone '/*' {hidden}"));
        let stdout = place.ctx("status").ok().stdout;
        let (_, rows) = stdout.split_once("Published and unchanged: 1 document\n").unwrap();
        assert_eq!(rows, STATUS, "{hidden}");
        let report = place.ctx("status --json").ok().json("ctx.status");
        assert_eq!(report["documents"][1]["state"], "not-checked-out");
        assert_eq!(report["governance"][0]["state"], "not-checked-out");
    }
}

#[test]
fn impact_lists_accesses_to_a_document_whose_history_is_not_there() {
    let place = sparse();
    git(&place, "sparse-checkout disable");
    place.ctx("read nodes/b/y --session s1").ok();
    let rows = |place: &Place, why: &str| {
        for line in ["impact nodes/b/y", "impact nodes/b/y --superseded", "impact nodes/b/y 2"] {
            let output = place.ctx(line).exits(1);
            assert!(output.stdout.contains("  v2  read  "), "{line}: {}", output.stdout);
            assert!(output.stderr.contains(why), "{line}: {}", output.stderr);
        }
        let stderr = place.ctx("history nodes/b/y").exits(1).stderr;
        assert!(stderr.contains(why), "{stderr}");
        let stderr = place.ctx("impact nodes/b/z").exits(1).stderr;
        assert!(stderr.contains("[unknown-id]"), "{stderr}");
    };
    git(&place, "sparse-checkout set --no-cone '/*' '!/nodes/b/'");
    rows(&place, "`nodes/b/y` is withheld: git leaves its history out here");
    git(&place, "sparse-checkout disable");
    place.write("nodes/b/.versions/y/history.yaml", "- nothing\n");
    rows(&place, "`nodes/b/y` is withheld: the history cannot be read");
    place.remove("nodes/b");
    rows(&place, "`nodes/b/y` is withheld: its history is missing");
    // The version before the retirement of another document was published, too.
    place.ctx("retire nodes/a/x").ok();
    place.remove("nodes/a");
    let stderr = place.ctx("history nodes/a/x").exits(1).stderr;
    assert!(stderr.contains("`nodes/a/x` is withheld: its history is missing"), "{stderr}");
}
