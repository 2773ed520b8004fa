//! `cargo bench --bench stewards`: the cost of finding who decides about each document.
//!
//! A `stewards.yaml` has 1,000 assignments: 600 of documents, 300 of folders, 99 of tags, one of
//! the vault. Every document is five folders deep and has three tags. `read` parses the file,
//! `scopes` finds the scope of every document, `roles` the role of one principal for every
//! document, and `explained` all scopes that were passed over. The same file in the opposite order
//! must result in the same scope and stewards for every document. The result is Markdown on stdout.
//!
//! ```text
//! cargo bench --bench stewards -- [--sizes 10000,100000] [--quick]
//! ```

#![allow(clippy::disallowed_macros, reason = "the tables are this program's result")]

#[path = "process.rs"]
mod process;

use std::time::{Duration, Instant};

use contextnest::model::id::DocumentId;
use contextnest::model::principal::PrincipalKey;
use contextnest::model::tag::Tag;
use contextnest::policy::stewards::{Stewards, read};

use process::{Options, Result, head, median, ms, row};

fn main() -> Result<()> {
    let options = Options::read(std::env::args().skip(1), &[10_000, 100_000])?;
    let mut out = String::new();
    head(&mut out, "documents | read | scopes | roles | explained");
    let text = file(false);
    let reordered = read(&file(true)).stewards.ok_or("the file has a problem")?;
    for size in &options.sizes {
        let documents: Vec<(DocumentId, Vec<Tag>)> = (0..*size).map(document).collect();
        let mut times: [Vec<Duration>; 4] = Default::default();
        let stewards = read(&text).stewards.ok_or("the file has a problem")?;
        if documents.iter().any(|one| decided(&stewards, one) != decided(&reordered, one)) {
            return Err("the order of the file decides about a document".into());
        }
        for _ in 0..options.repetitions {
            let started = Instant::now();
            let stewards = read(&text).stewards.ok_or("the file has a problem")?;
            times[0].push(started.elapsed());
            let counts = [
                scopes(&stewards, &documents),
                roles(&stewards, &documents),
                explained(&stewards, &documents),
            ];
            for (n, (found, time)) in counts.into_iter().enumerate() {
                assert!(found > 0);
                times[n + 1].push(time);
            }
        }
        let mut cells = vec![size.to_string()];
        cells.extend(times.into_iter().map(|times| ms(median(times))));
        row(&mut out, &cells);
    }
    print!("{out}");
    Ok(())
}

/// Returns the n-th document.
fn document(n: usize) -> (DocumentId, Vec<Tag>) {
    let id = format!("nodes/d{}/e{}/f{}/g{}/doc-{n}", n % 10, n % 30, n % 150, n % 450);
    let tags = [format!("t{}", n % 200), format!("T{}", n % 7), "common".to_owned()];
    let tags = tags.iter().filter_map(|tag| tag.parse().ok()).collect();
    (id.parse().expect("the name is an id"), tags)
}

/// Returns the file with its 1,000 assignments, in one order or the opposite one.
fn file(is_reversed: bool) -> String {
    let steward = |n: usize| format!("[{{principal: p{n}@example.com, role: reviewer}}]\n");
    let documents = (0..600).map(|n| format!("  {}: {}", document(n * 7).0, steward(n)));
    let folders = (0..300).map(|n| {
        let (id, _) = document(n);
        let depth = 2 + n % 3;
        let folder: Vec<&str> = id.as_str().split('/').take(depth).collect();
        format!("  {}/x{n}/: {}", folder.join("/"), steward(n))
    });
    let tags = (0..99).map(|n| format!("  t{}: {}", n * 2 + 8, steward(n)));
    let mut parts = [
        ("documents", documents.collect::<Vec<_>>()),
        ("folders", folders.collect()),
        ("tags", tags.collect()),
    ];
    if is_reversed {
        parts.reverse();
        parts.iter_mut().for_each(|(_, lines)| lines.reverse());
    }
    let parts = parts.iter().map(|(key, lines)| format!("{key}:\n{}", lines.concat()));
    format!("version: 1\nvault: {}{}", steward(0), parts.collect::<String>())
}

/// Returns the scope that decides about a document, and its stewards.
fn decided(stewards: &Stewards, (id, tags): &(DocumentId, Vec<Tag>)) -> Option<(String, String)> {
    let found = stewards.scope_of(id, tags)?;
    let holders = stewards.holders(found).into_iter();
    let holders = holders.map(|holder| format!("{} {:?} ", holder.principal, holder.role));
    Some((format!("{:?}", found.scope), holders.collect()))
}

fn timed(
    documents: &[(DocumentId, Vec<Tag>)],
    is_one: impl Fn(&DocumentId, &[Tag]) -> bool,
) -> (usize, Duration) {
    let started = Instant::now();
    let found = documents.iter().filter(|(id, tags)| is_one(id, tags)).count();
    (found, started.elapsed())
}

fn scopes(stewards: &Stewards, documents: &[(DocumentId, Vec<Tag>)]) -> (usize, Duration) {
    timed(documents, |id, tags| stewards.scope_of(id, tags).is_some())
}

fn roles(stewards: &Stewards, documents: &[(DocumentId, Vec<Tag>)]) -> (usize, Duration) {
    let principal = PrincipalKey::of("P0@example.com");
    timed(documents, |id, tags| stewards.role_of(&principal, id, tags).is_some())
}

fn explained(stewards: &Stewards, documents: &[(DocumentId, Vec<Tag>)]) -> (usize, Duration) {
    timed(documents, |id, tags| !stewards.resolve(id, tags).passed_over.is_empty())
}
