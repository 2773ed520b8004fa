//! Calls of git, which run no program of the repository and read no replaced object (VAULT-66).

use std::fs;

use crate::anchored::{git, hook, in_repository, install, replace_log};
use crate::harness::Place;

/// Returns a repository with a vault in `docs`, whose configuration and attributes name a program
/// wherever git runs one. The program records that it ran.
fn with_programs() -> Place {
    let place = in_repository();
    let marker = place.home().join("ran").display().to_string();
    install(&place, ".git/evil", &format!("#!/bin/sh\necho \"$0 $*\" >> {marker}\ncat\n"));
    let evil = place.path(".git/evil").display().to_string();
    for hook in ["post-index-change", "reference-transaction", "pre-commit", "post-checkout"] {
        install(
            &place,
            &format!(".git/evil-hooks/{hook}"),
            &format!("#!/bin/sh\nexec {evil} {hook}\n"),
        );
    }
    let hooks = place.path(".git/evil-hooks").display().to_string();
    for (key, value) in [
        ("core.fsmonitor", evil.as_str()),
        ("core.hooksPath", hooks.as_str()),
        ("core.pager", evil.as_str()),
        ("core.sshCommand", evil.as_str()),
        ("filter.evil.clean", evil.as_str()),
        ("filter.evil.smudge", evil.as_str()),
        ("filter.evil.process", evil.as_str()),
        ("diff.evil.textconv", evil.as_str()),
        ("diff.evil.command", evil.as_str()),
        ("diff.external", evil.as_str()),
        ("gpg.program", evil.as_str()),
        ("log.showSignature", "true"),
    ] {
        git(&place, &format!("config {key} {value}"));
    }
    place.write(".git/info/attributes", "* filter=evil diff=evil\n");
    // Each file has a new time, so that git would compare it through the filter.
    for (path, bytes) in place.tree().into_iter().filter(|(path, _)| path.starts_with("docs/")) {
        place.write(&path, bytes);
    }
    assert!(!place.home().join("ran").exists());
    place
}

#[test]
fn commands_run_no_program_that_a_repository_names() {
    let place = with_programs();
    let ran = || fs::read_to_string(place.home().join("ran")).unwrap_or_default();
    for line in [
        "verify --staged",
        "validate --staged",
        "verify --since HEAD",
        "verify --since-fork HEAD",
        "ci --since HEAD",
        "verify",
        "status --ignored",
        "validate --all",
        "diff",
        "head",
        "recover --dry-run",
        "trace verify",
        "skill install --dry-run",
    ] {
        let _ = place.ctx(&format!("{line} --vault docs"));
        assert_eq!(ran(), "", "{line}");
    }
    // A new file is compared with the base.
    place.write("docs/nodes/new.md", "# New\n");
    let report = place.ctx("ci --json --since HEAD --vault docs").ok().json("ctx.ci");
    assert_eq!((&report["unpublished"][0]["id"], ran().as_str()), (&"nodes/new".into(), ""));
    place.remove("docs/nodes/new.md");
    // The text is damaged, with an older one in git, and git restored the log.
    place.write("docs/nodes/.versions/a/v1.md", "other\n");
    place.ctx("verify --vault docs").exits(1);
    assert_eq!(ran(), "");
    place.ctx("publish --changed --vault docs").whole();
    assert_eq!(ran(), "");
    place.write("docs/.versions/checkpoints.jsonl", {
        let log = place.read("docs/.versions/checkpoints.jsonl");
        log.lines().take(2).map(|line| format!("{line}\n")).collect::<String>()
    });
    for line in ["verify", "publish --changed", "recover"] {
        let _ = place.ctx(&format!("{line} --vault docs"));
        assert_eq!(ran(), "", "{line}");
    }
}

#[test]
fn staged_judges_the_staged_bytes_without_filters() {
    let place = with_programs();
    place.ctx("verify --staged --vault docs --no-trusted-head").ok();
    let checked = || {
        let report = place.ctx("validate --staged --vault docs --json").whole();
        let report = report.split("\"checked\": ").nth(1).unwrap().to_owned();
        report.split([',', '\n']).next().unwrap().parse::<usize>().unwrap()
    };
    let before = checked();
    // A file that is only announced (`add -N`) is in no commit, and an empty one is.
    place.write("docs/nodes/new.md", "# New\n");
    place.write("docs/nodes/empty.md", "");
    place.typed("").shell("git add -N docs/nodes/new.md && git -c filter.evil.process= -c filter.evil.clean= add docs/nodes/empty.md").ok();
    let _ = fs::remove_file(place.home().join("ran"));
    assert_eq!(checked(), before + 1);
    assert!(!place.home().join("ran").exists());
}

#[test]
fn the_server_hook_reads_no_replaced_commit() {
    let place = in_repository();
    let server = place.home().join("server.git").display().to_string();
    git(&place, &format!("clone -q --bare . {server}"));
    let path = format!("{server}/hooks/pre-receive");
    fs::write(&path, hook(2)).unwrap();
    git(&place, &format!("version && chmod +x {path}"));
    git(&place, &format!("remote add origin {server}"));
    place.edit("docs/nodes/a.md", "Three.", "Four.");
    place.ctx("publish --changed --vault docs").ok();
    git(&place, "add -A");
    git(&place, "commit -q -m good");
    let good = git(&place, "rev-parse HEAD");
    git(&place, "reset -q --hard HEAD~1");
    replace_log(&place);
    git(&place, "add -A");
    git(&place, "commit -q -m evil");
    let evil = git(&place, "rev-parse HEAD");
    git(&place, &format!("replace {evil} {good}"));
    let _ = place.typed("").shell("git push -q origin refs/replace/*:refs/replace/*");
    let push =
        place.typed("").shell(&format!("git push -q origin {evil}:refs/heads/main")).exits(1);
    assert!(push.stderr.contains("head-fork"), "{}", push.stderr);
    // The hook of a clone that received the replacement behaves the same.
    install(&place, "hook", &hook(1));
    place.typed("").shell("git update-ref HEAD HEAD~1 && ./hook").exits(1);
}

#[test]
fn the_server_hook_checks_files_without_conversions() {
    let place = in_repository();
    let server = place.home().join("server.git").display().to_string();
    git(&place, &format!("clone -q --bare . {server}"));
    let path = format!("{server}/hooks/pre-receive");
    fs::write(&path, hook(2)).unwrap();
    git(&place, &format!("version && chmod +x {path}"));
    git(&place, &format!("remote add origin {server}"));
    // The text in the repository differs from that in each checkout.
    let text = place.read("docs/nodes/.versions/a/v1.md");
    place.write("docs/.gitattributes", "*.md working-tree-encoding=UTF-16LE-BOM text\n");
    place.write("docs/nodes/.versions/.gitattributes", "*.md working-tree-encoding=latin1 -text\n");
    let blob = text.replacen("One", "\u{d6}ne", 1);
    assert_ne!(text, blob);
    place.write("blob", &blob);
    let object = git(&place, "hash-object -w --no-filters blob");
    git(&place, &format!("update-index --cacheinfo 100644,{object},docs/nodes/.versions/a/v1.md"));
    git(&place, "update-index --add docs/.gitattributes docs/nodes/.versions/.gitattributes");
    git(&place, "commit -q -m evil");
    place.typed("").shell("git push -q origin HEAD:main").exits(1);
}
