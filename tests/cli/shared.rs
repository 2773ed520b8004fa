//! Copies that share their files with the vault by hard links, as `cp -al` makes them.

use std::fs;
use std::path::Path;

use crate::harness::{Place, files_in};
use crate::tampering::whole;

/// Links every file below a folder into another.
fn link_all(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&name).unwrap();
            link_all(&path, &name);
        } else {
            fs::hard_link(&path, &name).unwrap();
        }
    }
}

#[test]
fn no_command_changes_a_copy_that_shares_its_files() {
    type Prepare = fn(&Place);
    let commands: [(&str, Prepare); 8] = [
        ("publish --changed", |place| place.edit("nodes/a.md", "Three.", "Four.")),
        ("publish nodes/b", |place| place.write("nodes/b.md", "# B\n\nAgain.\n")),
        ("mv nodes/a nodes/c", |_| {}),
        ("retire nodes/a", |_| {}),
        ("add nodes/d --body d", |_| {}),
        ("index", |_| {}),
        ("checkpoint convert --to full", |_| {}),
        ("recover --force", |place| {
            let torn = place.read(".versions/checkpoints.jsonl") + "{\"checkpoint\":9";
            place.write(".versions/checkpoints.jsonl", torn);
        }),
    ];
    for (command, prepare) in commands {
        let place = whole();
        prepare(&place);
        let copy = place.home().join("copy");
        fs::create_dir(&copy).unwrap();
        link_all(place.root(), &copy);
        let before = files_in(&copy);
        let done = place.ctx(command);
        assert_eq!(done.exit, 0, "{command}: {}", done.whole());
        assert_eq!(files_in(&copy), before, "{command}");
        place.ctx("verify --no-trusted-head").ok();
    }
}
