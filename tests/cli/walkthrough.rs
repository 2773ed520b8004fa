//! The walkthrough in the documentation works when it is pasted, and prints what it shows.

use std::fs;
use std::path::Path;

use regex::Regex;

use crate::harness::{Place, repository};

/// Returns the lines of all blocks of a language.
fn lines_of<'t>(markdown: &'t str, wanted: &str) -> Vec<&'t str> {
    let (mut found, mut inside) = (Vec::new(), false);
    for line in markdown.lines() {
        match line.strip_prefix("```") {
            Some(language) => inside = language == wanted,
            None if inside => found.push(line),
            None => {}
        }
    }
    found
}

/// Returns a line without its variable parts, with runs of blanks as one.
fn lasting(line: &str) -> String {
    let forms = [
        (r"[0-9a-f]{8}-(\d+)", "TRACE-$1"),
        (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
        ("[0-9a-f]{64}", "HASH"),
        (" +", " "),
    ];
    let replaced = forms.iter().fold(line.to_owned(), |line, (form, by)| {
        Regex::new(form).unwrap().replace_all(&line, *by).into_owned()
    });
    replaced.trim_end().to_owned()
}

#[test]
fn the_walkthrough_prints_what_it_shows() {
    let text = fs::read_to_string(repository().join("docs/walkthrough.md")).unwrap();
    let place = Place::new();
    let bin = Path::new(env!("CARGO_BIN_EXE_ctx")).parent().unwrap();
    let script = lines_of(&text, "sh").join("\n");
    let script = format!("set -e; unset CTX_NOW; PATH={}:$PATH\n{script}", bin.display());
    let output = place.args::<&str>(&[]).shell(&script).exits(0);
    let printed: Vec<String> = output.stdout.lines().map(lasting).collect();
    let mut rest = printed.as_slice();
    for shown in lines_of(&text, "text").into_iter().map(lasting) {
        let at = rest.iter().position(|line| *line == shown);
        let at = at.unwrap_or_else(|| panic!("`{shown}` is not printed next in {printed:#?}"));
        rest = &rest[at + 1..];
    }
}
