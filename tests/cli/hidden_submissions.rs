//! Submissions that their reader may not read (`reads: stewards`), for every verb.

use crate::harness::Place;

/// Returns a vault in which Lee and Sam submit what Vi may not read: changes, and a new document
/// whose file is gone again. All their words, and the new name, contain `zebra`.
fn vault() -> Place {
    let place = Place::vault();
    place.write("nodes/open.md", "# Open\n\napple pie\n");
    place.write("nodes/legal/terms.md", "# Terms\n\napple cider\n");
    place.write("nodes/plan.md", "---\ntags: [secret]\n---\n# Plan\n\napple juice\n");
    place.edit(".context/config.yaml", "layout:", "reads: stewards\nlayout:");
    place.ctx("publish --all").ok();
    place.write(
        "stewards.yaml",
        "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  \
         - {principal: kim@x.com, role: reviewer}\n  - {principal: vi@x.com, role: viewer}\n\
         folders:\n  nodes/other/: [{principal: eve@x.com, role: viewer}]\n  nodes/legal/:\n    - {principal: lee@x.com, role: reviewer}\n    \
         - {principal: sam@x.com, role: editor}\n\
         tags: {secret: [{principal: sam@x.com, role: editor}]}\n\
         review: {folders: {nodes/legal/: {max_age: 1d}}}\n",
    );
    place.ctx("govern on").ok();
    for (path, id, who) in [
        ("nodes/legal/terms.md", "nodes/legal/terms", "sam"),
        ("nodes/plan.md", "nodes/plan", "sam"),
    ] {
        let before = place.read(path);
        place.edit(path, "apple", "zebra");
        place.ctx(&format!("submit {id} -m 'zebra note' --as {who}@x.com")).ok();
        place.write(path, before);
    }
    place.write("nodes/legal/zebra.md", "# Zebra\n\nzebra\n");
    place.ctx("submit nodes/legal/zebra -m 'zebra note' --as lee@x.com").ok();
    place.remove("nodes/legal/zebra.md");
    place
}

#[test]
fn no_verb_names_a_submission_that_its_reader_may_not_read() {
    let place = vault();
    for line in [
        "status",
        "status -n 1",
        "status --ignored",
        "validate",
        "list",
        "context",
        "resolve type:document",
        "search zebr",
        "graph",
        "neighbors nodes/open",
        "history",
        "history nodes/open",
        "checkpoint list",
        "checkpoint show 2",
        "checkpoint diff 1 2",
        "review",
        "review --all",
        "review show nodes/open",
        "owners",
        "owners --access-review",
        "steward list",
        "steward who nodes/open",
        "pack list",
        "source list",
        "source check",
        "stage list",
        "trace verify",
        "trace hold list",
        "evidence report",
        "impact nodes/open",
        "blame nodes/open",
        "check nodes/open",
        "head",
        "recover --dry-run",
        "publish --all --dry-run",
        "submit nodes/open --dry-run",
        "govern off --dry-run",
        "checkout 2 ../copy",
        "checkpoint rebuild --dry-run",
        "mcp doctor",
    ] {
        for option in ["", " --json"] {
            let output =
                place.ctx(&format!("{line}{option} --now 2027-06-01T00:00:00Z --as vi@x.com"));
            let told = output.stdout.clone() + &output.stderr;
            assert!(!told.to_lowercase().contains("zebra"), "{line}{option}: {}", output.whole());
        }
    }
    // Eve may not read `stewards.yaml` either.
    for line in ["status", "status --json", "owners", "steward list", "owners --access-review"] {
        let told = place.ctx(&format!("{line} --as eve@x.com"));
        assert!(!told.whole().contains("lee@x.com"), "{line}: {}", told.whole());
    }
    let status = |who: &str| place.ctx(&format!("status --as {who}@x.com")).ok().stdout;
    assert!(!status("vi").contains("Awaiting") && !status("vi").contains("Submitted"));
    assert!(status("sam").contains("nodes/plan (v"), "{}", status("sam"));
    assert!(status("lee").contains("nodes/legal/zebra (v1"), "{}", status("lee"));
    let nobody = place.typed("status").without("CTX_PRINCIPAL").run().ok();
    assert!(!nobody.stdout.contains("zebra"), "{}", nobody.whole());
    assert!(nobody.stderr.contains("no principal is configured"), "{}", nobody.whole());
}

#[test]
fn a_principal_without_a_role_cannot_tell_a_taken_id_from_a_free_one() {
    let place = vault();
    for id in ["terms", "gone"] {
        place.write(&format!("nodes/legal/{id}.md"), "# Terms\n\nmore\n");
    }
    place.ctx("submit nodes/legal/gone --as sam@x.com").ok();
    place.ctx("approve nodes/legal/gone --as lee@x.com").ok();
    place.ctx("retire nodes/legal/gone --emergency --reason old --as lee@x.com").ok();
    place.remove("nodes/legal/terms.md");
    place.write("text.md", "# Text\n\nwords\n");
    for line in [
        "submit ID --from text.md",
        "submit ID.md --from text.md --expect-version 1",
        "mv nodes/open ID",
    ] {
        let answer = |id: &str| {
            let line = line.replace("ID", &format!("nodes/legal/{id}"));
            let output = place.ctx(&format!("{line} --dry-run --as vi@x.com")).exits(3);
            assert!(output.stderr.contains("error[not-a-steward]"), "{}", output.whole());
            output.whole().replace(&format!("nodes/legal/{id}"), "ID")
        };
        let absent = answer("absent");
        // One id is published, one retired, and one only submitted.
        for id in ["terms", "gone", "zebra"] {
            assert_eq!(answer(id), absent, "{line}, {id}");
        }
    }
}
