//! A read-only vault: every text can be read, and a refused write names the file and the reason.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use insta::assert_snapshot;

use crate::harness::{CTX, Output, Place, files_in};

/// Returns a vault with an unpublished edit, in a place that is closed to writers.
fn closed() -> Place {
    let place = Place::published(&[("nodes/a", "# A\n\n#x\n"), ("nodes/b", "# B\n")]);
    place.ctx("pack add p --query #x").ok();
    place.edit("nodes/b.md", "# B\n", "# B\n\nmore\n");
    // The user of the test must be able to reach the binary.
    fs::copy(CTX, place.home().join("ctx")).unwrap();
    set_modes(place.home(), 0o555, 0o444);
    fs::set_permissions(place.home().join("ctx"), Permissions::from_mode(0o555)).unwrap();
    place
}

fn set_modes(folder: &Path, folders: u32, files: u32) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => set_modes(&path, folders, files),
            false => fs::set_permissions(&path, Permissions::from_mode(files)).unwrap(),
        }
    }
    fs::set_permissions(folder, Permissions::from_mode(folders)).unwrap();
}

/// Runs a command as a user to whom file modes apply.
fn ctx(place: &Place, line: &str) -> Output {
    match rustix::process::geteuid().is_root() {
        false => place.ctx(line),
        true => {
            let ctx = place.home().join("ctx");
            let nobody = "exec setpriv --reuid 65534 --regid 65534 --clear-groups";
            place.typed(line).shell(&format!("{nobody} {} {line}", ctx.display()))
        }
    }
}

#[test]
fn everything_can_be_read_and_verified() {
    let place = closed();
    let before = files_in(place.home());
    let lines = [
        "list",
        "status",
        "show nodes/a 1",
        "resolve type:document",
        "history nodes/a",
        "search A",
        "checkpoint list",
        "checkpoint rebuild --from-scratch --dry-run",
        "recover --dry-run",
        "publish --all --dry-run --now 2026-11-22T08:00:00.000Z",
        "head",
        "validate",
    ];
    let said = lines.map(|line| ctx(&place, line).stdout);
    let report = ctx(&place, "verify --allow-drift").ok();
    assert!(report.stdout.starts_with("intact, working copy differs"), "{}", report.stdout);
    assert_eq!(files_in(place.home()), before);
    set_modes(place.home(), 0o755, 0o644);
    for (line, said) in lines.iter().zip(said) {
        let open = place.ctx(line);
        assert!([0, 1].contains(&open.exit), "{line}\n{}", open.whole());
        assert_eq!(said, open.stdout, "{line}");
    }
}

#[test]
fn writing_is_refused_with_the_file_and_the_reason() {
    let place = closed();
    let before = files_in(place.home());
    for line in [
        "publish --all",
        "add nodes/c --body C",
        "retire nodes/a",
        "mv nodes/a nodes/c",
        "pack add q --query '#x'",
        "recover",
        "checkpoint rebuild",
        "checkpoint convert --to full",
        "index",
    ] {
        let output = ctx(&place, line).exits(5);
        assert!(output.stderr.contains("error[io]"), "{line}\n{}", output.whole());
        assert!(output.stderr.contains("Permission denied"), "{line}\n{}", output.whole());
        assert!(output.stderr.contains("`.context/"), "{line}\n{}", output.whole());
    }
    assert_snapshot!(ctx(&place, "publish nodes/b").stderr, @"
    error[io]: cannot lock `.context/local/lock`: Permission denied (os error 13)
    hint: reading a vault needs no write permission; this command does
    ");
    assert_eq!(files_in(place.home()), before);
    set_modes(place.home(), 0o755, 0o644);
}
