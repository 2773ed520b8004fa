//! `ctx init`: a new vault, or an existing folder that is adopted as it is.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contextnest::files::vault::disk::{Change, Overseer, Verdict};
use insta::assert_snapshot;

use crate::harness::{Place, stride};

#[test]
fn a_new_folder_becomes_a_vault_with_nothing_in_it() {
    let place = Place::new();
    assert_snapshot!(place.ctx("init team --name 'Team handbook'").whole(), @r#"
    exit: 0
    -- stdout
    vault `Team handbook` in [ROOT]/vault/team
      created .context/.gitignore
      created .gitattributes
      created CONTEXT.md
      created .context/config.yaml
    -- stderr
    next: `ctx add nodes/first --body "..."`
    "#);
    assert_snapshot!(place.read("team/.context/config.yaml"), @"
    version: 1
    name: Team handbook
    layout: structured
    audit:
      retention: 184d
    ");
    assert_snapshot!(place.read("team/CONTEXT.md"), @r#"
    ---
    title: "Team handbook"
    ---

    # Team handbook

    What this vault is about, and how agents are to use it. This text goes to every agent first.

    - Act on published documents only, and cite them by `contextnest://` URI and version.
    "#);
    assert_eq!(
        place.read("team/.gitattributes"),
        "*.md merge=ctx\ncontext.yaml merge=ctx\n\
         **/.versions/** -text -whitespace -ident -filter -working-tree-encoding linguist-generated\n\
         **/.versions/**/v*.md -merge\n\
         **/.versions/**/history.yaml diff=ctx merge=ctx\n\
         **/.versions/**/checkpoints.jsonl diff=ctx merge=ctx\n"
    );
    assert_eq!(place.read("team/.context/.gitignore"), "local/\n");
    assert!(place.path("team/nodes").is_dir());
}

#[test]
fn a_starter_brings_real_content_that_publishes_at_once() {
    let place = Place::new();
    assert_snapshot!(place.ctx("init . --name Procurement --starter policy").whole(), @"
    exit: 0
    -- stdout
    vault `Procurement` in [ROOT]/vault
      created .context/.gitignore
      created .gitattributes
      created CONTEXT.md
      created nodes/glossary.md
      created nodes/personas/procurement-agent.md
      created nodes/policies/data-handling.md
      created nodes/policies/vendor-risk.md
      created nodes/runbooks/vendor-onboarding.md
      created packs/onboarding.yml
      created sources/vendor-tickets.md
      created .context/config.yaml
    -- stderr
    next: `ctx publish --all --dry-run` shows 6 documents to publish
    ");
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 0
    -- stdout
    checkpoint 1 with 9 versions, 2026-11-21T10:00:01.000Z
      new  .context/config.yaml              v1
      new  CONTEXT.md                        v1
      new  nodes/glossary                    v1
      new  nodes/personas/procurement-agent  v1
      new  nodes/policies/data-handling      v1
      new  nodes/policies/vendor-risk        v1
      new  nodes/runbooks/vendor-onboarding  v1
      new  packs/onboarding.yml              v1
      new  sources/vendor-tickets            v1
    -- stderr
    ");
    assert_snapshot!(place.ctx("verify").whole(), @"
    exit: 0
    -- stdout
    intact, anchored to checkpoint 1
      anchor: checkpoint 1, trusted on this machine since 2026-11-21T10:00:01.000Z
      1 checkpoint, 9 artifacts, 9 versions recomputed
      head: checkpoint 1, sha256:1dbfd2459604a486c71a8f1119c9320c9cc02f913482cc3e9f8d17ecf4a113ed
    -- stderr
    ");
}

#[test]
fn a_starter_never_meets_an_existing_file() {
    let place = Place::new();
    place.write("nodes/glossary.md", "mine\n");
    let before = place.tree();
    assert_snapshot!(place.ctx("init --starter policy").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[exists]: the file `nodes/glossary.md` exists already
    hint: a starter needs a new folder; omit `--starter` to keep the files of this one
    ");
    assert_eq!(place.tree(), before);
}

#[test]
fn an_adopted_folder_keeps_every_byte() {
    let place = Place::new();
    place.write("a.md", "# A\r\n");
    place.write("deep/b.md", "\u{feff}---\ntitle: B\n---\n");
    place.write("README.md", "# Read me\n");
    let before = place.tree();
    assert_snapshot!(place.ctx("init").whole(), @"
    exit: 0
    -- stdout
    vault `vault` in [ROOT]/vault
      created .context/.gitignore
      created .gitattributes
      created CONTEXT.md
      created .context/config.yaml
    -- stderr
    next: `ctx publish --all --dry-run` shows 3 documents to publish
    ");
    let after = place.tree();
    for (path, bytes) in before {
        assert_eq!(after[&path], bytes, "{path}");
    }
    assert!(place.read(".context/config.yaml").contains("layout: obsidian\n"));
}

#[test]
fn init_leaves_an_existing_gitattributes_alone() {
    let place = Place::new();
    place.write(".gitattributes", "*.png binary");
    place.write("CONTEXT.md", "# Ours\n");
    assert_snapshot!(place.ctx("init --layout structured").whole(), @r#"
    exit: 0
    -- stdout
    vault `vault` in [ROOT]/vault
      created .context/.gitignore
      created .context/config.yaml
    -- stderr
    next: `ctx add nodes/first --body "..."`
    "#);
    assert_eq!(place.read(".gitattributes"), "*.png binary");
    assert_eq!(place.read("CONTEXT.md"), "# Ours\n");
}

#[test]
fn a_vault_is_not_made_twice() {
    let place = Place::vault();
    let before = place.tree();
    assert_snapshot!(place.ctx("init").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[exists]: `.` is a vault already
    hint: `ctx status` shows its state
    ");
    assert_eq!(place.tree(), before);
}

#[test]
fn a_vault_in_a_vault_is_warned_about() {
    let place = Place::vault();
    assert_snapshot!(place.ctx("init nodes/inner").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[exists]: the folder is in the vault `[ROOT]/vault`
    hint: use that vault, or make the new one outside of it
    ");
}

#[test]
fn a_name_cannot_break_out_of_its_place() {
    for name in
        ["A \"quoted\" 'name'", "two\nlines\n---\nstatus: published", "yes", "# x: y", "\u{1b}[31m"]
    {
        let place = Place::new();
        place.args(&["init", "--name", name]).run().ok();
        place.ctx("add nodes/x --body x").ok();
        let context = place.ctx("context --json").ok().json("ctx.context");
        assert_eq!(context["name"], name);
        place.ctx("verify").ok();
        assert!(!place.ctx("context").ok().stdout.contains('\u{1b}'), "{name:?}");
    }
}

#[test]
fn a_file_in_the_way_is_named() {
    let place = Place::new();
    place.write("file", "x");
    assert_snapshot!(place.ctx("init file").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[exists]: cannot create the folder `[ROOT]/vault/file`: File exists (os error 17)
    hint: name a folder, or a place where one can be created
    ");
}

#[test]
fn json_tells_the_same() {
    let place = Place::new();
    place.write("nodes/a.md", "# A\n");
    assert_snapshot!(place.typed("init vault --json").within(Path::new("..")).run().whole(), @r#"
    exit: 0
    -- stdout
    {
      "schema": "ctx.init",
      "schema_version": 2,
      "folder": "[ROOT]/vault",
      "name": "vault",
      "layout": "structured",
      "created": [
        ".context/.gitignore",
        ".gitattributes",
        "CONTEXT.md",
        ".context/config.yaml"
      ],
      "documents": 1
    }
    -- stderr
    "#);
}

/// A disk that refuses all changes after the first ones, as if the command were killed there.
#[derive(Debug)]
struct Until(AtomicUsize);

impl Overseer for Until {
    fn judge(&self, _: &Change<'_>) -> Verdict {
        let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        left.map_or(Verdict::Refuse(5), |_| Verdict::Allow)
    }
}

#[test]
fn an_init_that_dies_anywhere_is_brought_to_its_end_by_the_next() {
    let line = "init --name Test --starter policy";
    let whole = Place::new();
    whole.ctx(line).ok();
    for n in (0..).step_by(stride(5)) {
        // Another vault was at this path.
        let place = Place::published(&[("nodes/a", "# A\n")]);
        place.ctx("head forget").ok();
        let entries = std::fs::read_dir(place.root()).unwrap();
        for entry in entries {
            place.remove(entry.unwrap().file_name().to_str().unwrap());
        }
        let died = place.typed(line).on(Arc::new(Until(AtomicUsize::new(n))));
        if died.exit == 0 {
            assert!(n > 30, "{n}");
            break;
        }
        if !place.has(".context/config.yaml") {
            place.ctx(line).ok();
        }
        assert!(place.tree() == whole.tree(), "{n}");
        place.ctx("publish --all").ok();
        assert!(place.ctx("verify").ok().stdout.starts_with("intact, anchored"), "{n}");
    }
}

/// An attacker of a vault cannot reach its trusted head.
#[test]
fn init_refuses_a_vault_that_lost_its_log() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    for path in [".versions", "nodes/.versions", ".context/.versions", ".context/config.yaml"] {
        place.remove(path);
    }
    let before = place.tree();
    assert_snapshot!(place.ctx("init").whole(), @"
    exit: 4
    -- stdout
    -- stderr
    error[head-rollback]: the vault that was here has the trusted head 15d4e7eac353, checkpoint 1
    hint: nothing was written; restore the vault from git or a backup
    hint: if it was deleted on purpose, run `ctx head forget .` first
    ");
    assert_eq!(place.tree(), before);
    place.remove(".context");
    place.ctx("init").exits(4);
    assert!(!place.has(".context"));
    place.ctx("head forget .").ok();
    place.ctx("init").ok();
}

#[test]
fn of_two_at_once_one_makes_the_vault() {
    let place = Place::new();
    let lines = ["init --name One", "init --name Two --starter policy", "init"];
    let children: Vec<_> =
        lines.iter().map(|line| place.typed(line).command().spawn().unwrap()).collect();
    let outputs = children.into_iter().map(|child| child.wait_with_output().unwrap());
    let exits: Vec<i32> = outputs.map(|output| output.status.code().unwrap()).collect();
    assert_eq!(exits.iter().filter(|exit| **exit == 0).count(), 1, "{exits:?}");
    assert_eq!(exits.iter().filter(|exit| **exit == 1).count(), 2, "{exits:?}");
    place.ctx("publish --all").ok();
    place.ctx("verify").ok();
}

#[test]
fn init_wraps_no_vault_in_another() {
    let place = Place::new();
    place.ctx("init deep/docs").ok();
    place.write("README.md", "# Top\n");
    let before = place.tree();
    for line in ["init", "init deep", "init . --layout structured --starter policy"] {
        let refused = place.ctx(line).exits(1).stderr;
        assert!(refused.contains("error[exists]: the folder contains the vault `"), "{refused}");
        assert!(refused.contains("docs`"), "{refused}");
        let command = refused.split('`').nth(3).unwrap().to_owned();
        place.ctx(command.strip_prefix("ctx ").unwrap()).ok();
    }
    assert_eq!(place.tree(), before);
    place.ctx("init other").ok();
    // Hidden folders and packages are not vaults of this user.
    let place = Place::new();
    place.write("node_modules/x/.context/config.yaml", "version: 1\n");
    place.write(".cache/x/.context/config.yaml", "version: 1\n");
    place.ctx("init").ok();
}

#[test]
fn init_names_the_setting_that_keeps_yaml_files_out_of_a_site() {
    for (file, setting) in [
        ("mkdocs.yml", "`exclude_docs: |` in mkdocs.yml"),
        ("hugo.toml", "`ignoreFiles = ["),
        ("_config.yml", "`exclude: [stewards.yaml, context.yaml]`"),
        ("zola.toml", "`ignored_content = ["),
        ("book.toml", "`rm -rf book/stewards.yaml book/context.yaml"),
        ("docusaurus.config.js", "static files"),
        (".vitepress/config.ts", "static files"),
        ("docs/.vitepress/config.ts", "static files"),
        ("eleventy.config.js", "static files"),
    ] {
        for options in ["", " --frontmatter untouched"] {
            let place = Place::new();
            place.write(file, "");
            place.write("docs/index.md", "# Site\n");
            let said = place.ctx(&format!("init docs{options}")).ok().stderr;
            let hint = "hint: keep `stewards.yaml` and `context.yaml` out of the site: ";
            assert!(said.contains(hint) && said.contains(setting), "{file}: {said}");
        }
    }
}
