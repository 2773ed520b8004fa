//! `ctx checkout` and comparisons of checkpoints: the whole state of the past.

use insta::assert_snapshot;

use crate::harness::{Place, files_in};

/// Returns a vault with three checkpoints: `nodes/a` in two versions, `nodes/b` retired,
/// `nodes/c` new.
fn place() -> Place {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.edit("nodes/a.md", "# A", "# AA");
    place.write("nodes/c.md", "# C\n");
    place.ctx("publish nodes/a nodes/c").ok();
    place.ctx("retire nodes/b").ok();
    place
}

#[test]
fn two_checkpoints_differ_by_what_was_published_and_retired() {
    let place = place();
    assert_snapshot!(place.ctx("checkpoint diff 1 3").whole(), @"
    exit: 0
    -- stdout
    changed  nodes/a  v1 -> v2
    removed  nodes/b  v1
    new      nodes/c  v1
    -- stderr
    ");
    assert_snapshot!(place.ctx("checkpoint diff 3 1").ok().stdout, @"
    changed  nodes/a  v2 -> v1
    new      nodes/b  v1
    removed  nodes/c  v1
    ");
    assert_eq!(place.ctx("checkpoint diff 0 1").ok().lines().len(), 4);
    assert_eq!(place.ctx("checkpoint diff 2 2").ok().stdout, "");
    let json = place.ctx("checkpoint diff 2 3 --json").ok().json("ctx.checkpoint.diff");
    assert_eq!(json["changes"].as_array().unwrap().len(), 1);
    assert_eq!(json["changes"][0]["change"], "removed");
    place.ctx("checkpoint diff 1 9").exits(1);
}

#[test]
fn a_checkpoint_is_written_out_as_it_was() {
    let place = place();
    let before = place.tree();
    assert_snapshot!(place.ctx("checkout 1 ../then").ok().stdout, @"wrote checkpoint 1 to ../then: 4 files");
    let written = files_in(&place.home().join("then"));
    let names: Vec<&str> = written.keys().map(String::as_str).collect();
    assert_eq!(names, [".context/config.yaml", "CONTEXT.md", "nodes/a.md", "nodes/b.md"]);
    for id in ["nodes/a", "nodes/b"] {
        let text = place.ctx(&format!("read {id}@1")).ok().stdout;
        assert_eq!(written[&format!("{id}.md")], text.into_bytes());
    }
    assert_eq!(place.tree(), before, "the vault is not changed");
    let json = place.ctx("checkout 3 ../now --json").ok().json("ctx.checkout");
    assert_eq!(json["artifacts"], 4);
}

#[test]
fn nothing_is_written_over_nor_into_the_vault_nor_unverified() {
    let place = place();
    place.ctx("checkout 1 ../then").ok();
    assert_snapshot!(place.ctx("checkout 2 ../then").exits(1).stderr, @"
    error[exists]: the folder is not empty
    hint: name an empty or new folder; no file is overwritten
    ");
    assert_snapshot!(place.ctx("checkout 2 inside").exits(2).stderr, @"
    error[usage]: the folder is in the vault
    hint: name a folder outside of the vault
    ");
    place.edit("nodes/.versions/b/v1.md", "# B", "# X");
    assert_snapshot!(place.ctx("checkout 2 ../other").exits(1).stderr, @"
    error[withheld]: `nodes/b` is withheld: the stored text has hash sha256:7182d203572e73025c4b9927f721873c862ad8b2b1c037d1044dc30e21b9ada6, but the history records sha256:571c66758608f69a319659a348469c8956eb4d5764117e4c4a06cdd434d11b48
    hint: the chain does not vouch for the text; run `ctx verify` for a full report
    ");
    assert!(!place.home().join("other").exists());
}
