//! `ctx hook install`, `uninstall` and `status`: hooks of other programs are never changed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;

use crate::anchored::git;
use crate::harness::Place;

const OURS: &str = ".git/hooks/pre-commit";

fn repository() -> Place {
    let place = Place::new();
    git(&place, "init -q -b main");
    place
}

#[test]
fn hooks_are_installed_shown_and_removed() {
    let place = repository();
    assert_snapshot!(place.ctx("hook status").exits(1).whole(), @"
    exit: 1
    -- stdout
    pre-commit  absent  [ROOT]/vault/.git/hooks/pre-commit
    pre-push    absent  [ROOT]/vault/.git/hooks/pre-push
    merge       absent  merge.ctx.driver
    -- stderr
    hint: `ctx hook install` installs hooks, or prints the lines to add
    ");
    assert_snapshot!(place.ctx("hook install --dry-run").ok().whole(), @"
    exit: 0
    -- stdout
    pre-commit  would be created  [ROOT]/vault/.git/hooks/pre-commit
    pre-push    would be created  [ROOT]/vault/.git/hooks/pre-push
    merge       would be created  merge.ctx.driver
    -- stderr
    ");
    assert!(!place.has(OURS));
    assert_snapshot!(place.ctx("hook install").ok().whole(), @"
    exit: 0
    -- stdout
    pre-commit  created  [ROOT]/vault/.git/hooks/pre-commit
    pre-push    created  [ROOT]/vault/.git/hooks/pre-push
    merge       created  merge.ctx.driver
    -- stderr
    ");
    assert_snapshot!(place.read(OURS), @r#"
    #!/bin/sh
    # Written by `ctx hook install`; `ctx hook uninstall` removes it.
    exec ctx hook run pre-commit -- "$@"
    "#);
    let mode = fs::metadata(place.path(OURS)).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert!(place.ctx("hook install").ok().stdout.contains("unchanged"));
    place.ctx("hook status").ok();
    let json = place.ctx("hook status --json").ok().json("ctx.hook");
    assert_eq!(
        (&json["hooks"][1]["hook"], &json["hooks"][1]["state"]),
        (&"pre-push".into(), &"installed".into())
    );
    // The named vault is in the script, which is replaced.
    place.ctx("init 'my docs' --name Docs").ok();
    let changed = place.ctx("hook install --pre-commit --vault 'my docs'").ok();
    assert!(changed.stdout.starts_with("pre-commit  changed"), "{}", changed.stdout);
    assert!(
        place.read(OURS).contains("exec ctx hook run pre-commit --vault 'my docs' -- \"$@\"\n")
    );
    place.ctx("hook install --vault ..").exits(2);
    place.ctx("hook uninstall --dry-run").ok();
    assert!(place.has(OURS));
    place.ctx("hook uninstall --pre-commit").ok();
    assert!(!place.has(OURS) && place.has(".git/hooks/pre-push"));
    place.ctx("hook uninstall").ok();
    assert!(!place.has(".git/hooks/pre-push"));
    let nowhere = Place::new().ctx("hook status").exits(2).stderr;
    assert!(nowhere.contains("is not in a git repository"), "{nowhere}");
}

#[test]
fn hooks_of_other_programs_stay() {
    let place = repository();
    let own = "#!/bin/sh\necho mine\n";
    place.write(OURS, own);
    assert_snapshot!(place.ctx("hook install").exits(1).whole(), @"
    exit: 1
    -- stdout
    pre-commit  left     [ROOT]/vault/.git/hooks/pre-commit
    pre-push    created  [ROOT]/vault/.git/hooks/pre-push
    merge       created  merge.ctx.driver

    add to [ROOT]/vault/.git/hooks/pre-commit:
      ctx hook run pre-commit || exit 1
    -- stderr
    ");
    place.ctx("hook uninstall").ok();
    assert_eq!(place.read(OURS), own);
    place.write(OURS, format!("{own}ctx hook run pre-commit || exit 1\n"));
    assert!(place.ctx("hook status --pre-commit").ok().stdout.contains("called"));
    place.ctx("hook install --pre-commit").ok();
    // A link is not followed.
    place.remove(OURS);
    std::os::unix::fs::symlink("../../target", place.path(OURS)).unwrap();
    place.ctx("hook install --pre-commit").exits(1);
    assert!(!place.has("target"));
}

#[test]
fn core_hooks_path_stays() {
    let place = repository();
    git(&place, "config core.hooksPath tools/hooks");
    let left = place.ctx("hook install --pre-commit").exits(1).stdout;
    assert!(
        left.contains("tools/hooks/pre-commit:\n  ctx hook run pre-commit || exit 1\n"),
        "{left}"
    );
    assert!(!place.has("tools/hooks") && !place.has(OURS));
    place.write("tools/hooks/pre-commit", "ctx hook run pre-commit || exit 1\n");
    place.ctx("hook install --pre-commit").ok();
    // Our own hook from before is removed.
    git(&place, "config --unset core.hooksPath");
    place.ctx("hook install --pre-commit").ok();
    git(&place, "config core.hooksPath tools/hooks");
    place.ctx("hook uninstall").ok();
    assert!(!place.has(OURS) && place.has("tools/hooks/pre-commit"));
}

#[test]
fn husky_lefthook_and_pre_commit_receive_their_own_lines() {
    let place = repository();
    fs::create_dir(place.path(".husky")).unwrap();
    let left = place.ctx("hook install --pre-commit").exits(1).stdout;
    assert!(left.contains(".husky/pre-commit:\n  ctx hook run pre-commit || exit 1\n"), "{left}");
    git(&place, "config core.hooksPath .husky/_");
    place.write(".husky/pre-commit", "npm test\nctx hook run pre-commit || exit 1\n");
    place.ctx("hook status --pre-commit").ok();
    let place = repository();
    place.write("lefthook.yml", "");
    assert_snapshot!(place.ctx("hook install --pre-push").exits(1).whole(), @"
    exit: 1
    -- stdout
    pre-push  left  [ROOT]/vault/lefthook.yml

    add to [ROOT]/vault/lefthook.yml:
      pre-push:
        commands:
          ctx:
            run: ctx hook run pre-push
            use_stdin: true
    -- stderr
    ");
    let place = repository();
    place.write(".pre-commit-config.yaml", "repos: []\n");
    assert_snapshot!(place.ctx("hook install --pre-push").exits(1).whole(), @"
    exit: 1
    -- stdout
    pre-push  left  [ROOT]/vault/.pre-commit-config.yaml

    add to [ROOT]/vault/.pre-commit-config.yaml:
      - repo: local
        hooks:
        - id: ctx-pre-push
          name: ctx pre-push
          entry: ctx hook run pre-push
          language: system
          pass_filenames: false
          always_run: true
          stages: [pre-push]
    -- stderr
    ");
    assert!(!place.has(".git/hooks/pre-push"));
    place.write(".pre-commit-config.yaml", "repos: [{hooks: [{id: ctx-pre-push}]}]\n");
    assert!(place.ctx("hook status --pre-push").ok().stdout.contains("called"));
}

#[test]
fn worktrees_and_submodules_have_the_hooks_that_git_runs() {
    let place = repository();
    place.write("a", "a");
    git(&place, "add -A");
    git(&place, "commit -q -m one");
    git(&place, "worktree add -q ../other");
    let other = place.home().join("other");
    place.typed("hook install --pre-commit").within(&other).run().ok();
    assert!(place.has(OURS));
    let outer = repository();
    let from = place.root().display().to_string();
    git(&outer, &format!("-c protocol.file.allow=always submodule --quiet add {from} sub"));
    outer.typed("hook install --pre-commit").within(&outer.path("sub")).run().ok();
    assert!(outer.has(".git/modules/sub/hooks/pre-commit") && !outer.has(OURS));
}

#[test]
fn the_merge_driver_is_a_setting_of_the_repository() {
    let place = repository();
    let value =
        |place: &Place| place.typed("").shell("git config --local --get-regexp '^merge[.]'").stdout;
    place.ctx("hook install --merge --dry-run").ok();
    assert_eq!(value(&place), "");
    place.ctx("hook install --merge").ok();
    assert_snapshot!(value(&place), @"
    merge.ctx.driver ctx merge-driver %O %A %B %P
    merge.ctx.name logs, histories and documents of ctx
    ");
    assert!(!place.has(OURS));
    assert!(place.ctx("hook install --merge").ok().stdout.contains("unchanged"));
    place.ctx("hook status --merge").ok();
    git(&place, "config merge.ctx.driver 'ctx merge-driver %A'");
    assert!(place.ctx("hook install --merge").ok().stdout.contains("changed"));
    place.ctx("hook uninstall --merge").ok();
    assert_eq!(value(&place), "");
    // A driver of another program stays.
    git(&place, "config merge.ctx.driver mine");
    place.ctx("hook install --merge").exits(1);
    place.ctx("hook uninstall --merge").ok();
    assert_eq!(value(&place), "merge.ctx.driver mine\n");
}
