//! `docs/cli.md` contains the output of `--help`. `CTX_UPDATE_DOCS=1 cargo test` writes it.

use std::fs;

use contextnest::front::cli::reference;

use crate::harness::{Place, repository};

#[test]
fn the_command_reference_equals_help() {
    let path = repository().join("docs/cli.md");
    if std::env::var_os("CTX_UPDATE_DOCS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, reference()).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == reference(), "docs/cli.md is old: run the tests with CTX_UPDATE_DOCS=1");
}

#[test]
fn every_verb_has_a_sentence_and_an_example() {
    let place = Place::new();
    let help = place.ctx("--help").ok().stdout;
    let commands = help.split_once("Start:\n").unwrap().1.split_once("\nHelp:\n").unwrap().0;
    let verbs = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for verb in verbs {
        let help = place.ctx(&format!("{verb} --help")).ok().stdout;
        assert!(help.contains("Example"), "{verb}: {help}");
    }
}
