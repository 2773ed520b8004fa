//! The number of times that a command opens the files with the rules in force.

use std::sync::Arc;

use crate::harness::{Place, Run};
use crate::mcp_ids::Looks;

/// Returns how often a command accesses each of some files.
fn looks_at<const N: usize>(run: Run<'_>, files: [&str; N]) -> [usize; N] {
    let looks = Arc::new(Looks::default());
    run.on(looks.clone()).ok();
    let found = looks.0.lock().unwrap();
    files.map(|path| found.get(path).copied().unwrap_or_default())
}

/// Returns how often a command accesses the histories of the configuration and of the stewards.
fn looks(place: &Place, line: &str) -> [usize; 2] {
    let files =
        [".context/.versions/config.yaml/history.yaml", ".versions/stewards.yaml/history.yaml"];
    looks_at(place.typed(line), files)
}

#[test]
fn publishing_and_approving_read_the_rules_in_force_once_or_twice() {
    let place = Place::published(&[("nodes/a", "# A\n\nOne.\n"), ("nodes/b", "# B\n\nTwo.\n")]);
    place.write("nodes/a.md", "# A\n\nOther.\n");
    // One access is for the rules, and one for the derived files of the new head.
    assert_eq!(looks(&place, "publish nodes/a"), [2, 2]);

    place.write(
        "stewards.yaml",
        "vault: [{principal: ana@x.com, role: editor}, {principal: bo@x.com, role: reviewer}]\n",
    );
    place.ctx("govern on --alone").ok();
    let edited = place.read("nodes/a.md").replace("Other", "Third");
    place.write("nodes/a.md", edited);
    assert_eq!(looks(&place, "submit nodes/a --as ana@x.com"), [1, 2]);
    assert_eq!(looks(&place, "approve nodes/a --as bo@x.com"), [2, 3]);
}

#[test]
fn reading_one_document_where_stewards_read_reads_no_log_and_no_other_document() {
    let place = Place::vault();
    place.edit(".context/config.yaml", "layout:", "reads: stewards\nlayout:");
    place.write("nodes/a.md", "---\ntags: [open]\n---\n# A\n");
    place.write("nodes/b.md", "# B\n");
    place.ctx("publish --all").ok();
    place.write(
        "stewards.yaml",
        "vault: [{principal: ana@x.com, role: editor}, {principal: bo@x.com, role: reviewer}]\n\
         tags: {open: [{principal: kim@x.com, role: editor}]}\n",
    );
    place.ctx("govern on --alone").ok();
    let files = [".versions/checkpoints.jsonl", "nodes/.versions/b/history.yaml"];
    let run = || place.typed("read nodes/a --as kim@x.com");
    let audit = place.home().join("audit").display().to_string();
    let without_index =
        run().without("XDG_CACHE_HOME").without("HOME").var("CTX_AUDIT_DIR", &audit);
    let [log, other] = looks_at(without_index, files);
    assert!(log > 0 && other > 0, "the tags of every document are read: {log} {other}");
    // The count is the same if every principal may read: only the index is compared with the log.
    let open = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    open.ctx("list").ok();
    assert_eq!(looks_at(run(), files), looks_at(open.typed("read nodes/a"), files));
}
