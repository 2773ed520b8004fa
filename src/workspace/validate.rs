//! The problems of all live files, or of some.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Workspace;
use super::version::missing_file;
use crate::document::validate::{Problem, Severity};
use crate::live::linked::{Published, Surroundings};
use crate::live::{self, LiveFile, confusable};
use crate::model::id::DocumentId;
use crate::report::failure::Failure;
use crate::resolve::Snapshot;
use crate::vault::Vault;

/// How many documents were read, and the files with problems in byte order of their paths.
pub(crate) type Validated = (usize, Vec<(String, Vec<Problem>)>);

/// Validates the documents that arguments name, or all live files where there are no arguments.
///
/// # Errors
/// An argument names no live file.
pub(crate) fn validate(
    workspace: &Workspace<'_>,
    vault: &Vault,
    names: &[String],
) -> Result<Validated, Failure> {
    let mut files: Vec<LiveFile> = Vec::new();
    for text in names {
        let id = workspace.known_id(vault, text)?;
        files.push(live::read(vault, &id.live_path()).ok_or_else(|| missing_file(&id))?);
    }
    if names.is_empty() {
        files = live::all(vault);
    }
    let mut found = of_documents(vault, &files);
    if names.is_empty() {
        of_governance(vault, &mut found);
    }
    found.retain(|(_, problems)| !problems.is_empty());
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok((files.len(), found))
}

fn of_documents(vault: &Vault, files: &[LiveFile]) -> Vec<(String, Vec<Problem>)> {
    let mut found: Vec<(String, Vec<Problem>)> =
        files.iter().map(|file| (file.path.clone(), file.problems(vault))).collect();
    let log = crate::trust::read_log(vault).ok();
    let head = log.as_ref().and_then(|log| Snapshot::at(vault, &log.sound().ok()?, None).ok());
    let head = Head(head);
    let surroundings = Surroundings::new(vault, &head);
    for (file, (_, problems)) in files.iter().zip(&mut found) {
        problems.extend(surroundings.problems(file));
    }
    // Backwards: of a file that is named twice the first counts.
    let places = files.iter().enumerate().rev().map(|(n, file)| (file.path.as_str(), n));
    let places: HashMap<&str, usize> = places.collect();
    let look_alikes = confusable::problems(files, surroundings.ids());
    let of_ids = collisions(files).into_iter().chain(look_alikes);
    for (path, problem) in of_ids.chain(surroundings.cycles(files)) {
        match places.get(path.as_str()) {
            Some(n) => found[*n].1.push(problem),
            None => found.push((path, vec![problem])),
        }
    }
    found
}

fn of_governance(vault: &Vault, found: &mut Vec<(String, Vec<Problem>)>) {
    let packs = live::packs::check(vault).into_iter();
    let packs: Vec<(String, Vec<Problem>)> = packs
        .map(|file| (file.path, file.reading.problems.iter().map(Problem::from).collect()))
        .collect();
    // A pack whose name makes no id is reported as such, whatever it says.
    let (named, _): (Vec<_>, Vec<_>) =
        packs.into_iter().partition(|(path, _)| DocumentId::of_governance_file(path).is_ok());
    let seen: HashSet<&str> = named.iter().map(|(path, _)| path.as_str()).collect();
    found.extend(live::policy(vault, |path| !seen.contains(path)));
    found.extend(named);
}

/// The head, as far as it can be read: a vault whose log is broken still has live files to check.
struct Head<'v>(Option<Snapshot<'v>>);

impl Published for Head<'_> {
    fn ids(&self) -> Vec<DocumentId> {
        self.0.iter().filter_map(|head| head.documents().ok()).flatten().cloned().collect()
    }

    fn text(&self, id: &DocumentId) -> Option<String> {
        Some(self.0.as_ref()?.get(id)?.ok()?.text)
    }
}

/// Live documents whose names some file system or reader takes for one.
fn collisions(files: &[LiveFile]) -> Vec<(String, Problem)> {
    let mut folded: BTreeMap<String, Vec<&LiveFile>> = BTreeMap::new();
    for file in files {
        if let Some(id) = &file.id {
            folded.entry(id.folded()).or_default().push(file);
        }
    }
    let mut found = Vec::new();
    for same in folded.into_values().filter(|same| same.len() > 1) {
        for file in &same[1..] {
            let message = format!(
                "its id differs from that of `{}` only in case or Unicode form",
                same[0].path
            );
            let hint = "rename one of the files".into();
            let (code, severity) = ("id-collision", Severity::Error);
            found.push((file.path.clone(), Problem { code, severity, line: None, message, hint }));
        }
    }
    found
}
