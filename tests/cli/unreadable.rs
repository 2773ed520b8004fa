//! What commands do while a file that says the rules in force cannot be read.

use crate::harness::Place;

/// A governed vault in which a version of `nodes/a` awaits a decision.
fn place() -> Place {
    let place = Place::published(&[("nodes/a", "# A\n\nOne.\n"), ("nodes/b", "# B\n\nTwo.\n")]);
    place.write(
        "stewards.yaml",
        "vault: [{principal: ana@x.com, role: editor}, {principal: bo@x.com, role: reviewer}]\n",
    );
    place.ctx("govern on --alone").ok();
    let edited = place.read("nodes/a.md").replace("One", "Other");
    place.write("nodes/a.md", edited);
    place.ctx("submit nodes/a --as ana@x.com").ok();
    place.edit("nodes/b.md", "Two", "Third");
    place
}

const STEWARDS: &str = ".versions/stewards.yaml/v1.md";
const CONFIG: &str = ".context/.versions/config.yaml/v1.md";

/// Commands that ask for the role of their principal, and that which lists what awaits them.
const OF_ROLES: [&str; 11] = [
    "review --as bo@x.com",
    "review show nodes/a --as bo@x.com",
    "approve nodes/a --as bo@x.com",
    "approve nodes/a --dry-run --as bo@x.com",
    "reject nodes/a --reason r --as bo@x.com",
    "withdraw nodes/a --as ana@x.com",
    "submit nodes/b --as ana@x.com",
    "retire nodes/b --as ana@x.com",
    "mv nodes/b nodes/c --as ana@x.com",
    "comment nodes/a x --as bo@x.com",
    "stage list --all --as bo@x.com",
];

#[test]
fn a_command_that_asks_for_a_role_names_the_unreadable_file() {
    let whole = place();
    for (file, id) in [(STEWARDS, "stewards.yaml"), (CONFIG, ".context/config.yaml")] {
        for is_gone in [false, true] {
            for line in OF_ROLES {
                let place = whole.duplicate();
                match is_gone {
                    true => place.remove(file),
                    false => place.write(file, place.read(file) + "# more\n"),
                }
                let before = place.chained();
                let said = place.ctx(line).exits(1);
                assert!(
                    said.stderr.contains("error[withheld]") && said.stderr.contains(id),
                    "{file} {line}: {}",
                    said.whole()
                );
                assert!(place.chained() == before, "{file} {line}: it wrote");
            }
        }
    }
}

#[test]
fn an_approved_text_is_read_where_everybody_may_read() {
    let place = place();
    place.write(STEWARDS, "vault: []\n");
    assert!(place.ctx("read nodes/a --as ana@x.com").ok().stdout.contains("One."));
    // Nothing is published without a review either.
    let refused = place.ctx("publish nodes/b --as ana@x.com").exits(3);
    assert!(refused.stderr.contains("error[governed]"), "{}", refused.stderr);
    assert!(place.ctx("verify").exits(1).stdout.contains("stewards.yaml"));
}
