//! How often a command opens the files that say which rules are in force.

use std::sync::Arc;

use crate::harness::Place;
use crate::mcp_ids::Looks;

/// How often a command looks at the history of the configuration and at that of the stewards.
fn looks(place: &Place, line: &str) -> [usize; 2] {
    let looks = Arc::new(Looks::default());
    place.typed(line).on(looks.clone()).ok();
    let found = looks.0.lock().unwrap();
    [".context/.versions/config.yaml/history.yaml", ".versions/stewards.yaml/history.yaml"]
        .map(|path| found.get(path).copied().unwrap_or_default())
}

#[test]
fn publishing_and_approving_read_the_rules_in_force_once_or_twice() {
    let place = Place::published(&[("nodes/a", "# A\n\nOne.\n"), ("nodes/b", "# B\n\nTwo.\n")]);
    place.write("nodes/a.md", "# A\n\nOther.\n");
    // For the rules, and for the derived files of the new head.
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
