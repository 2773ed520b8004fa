//! Validates all live files, or some of them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rayon::prelude::*;

use super::Workspace;
use super::version::missing_file;
use crate::files::vault::Vault;
use crate::policy::stewards::{self, Scope, Stewards, Stuck};
use crate::policy::viewer::is_limited_at_last;
use crate::read::snapshot::{CheckpointSource, Need, Snapshot};
use crate::read::status::stale_file;
use crate::read::working::gathered::Gathered;
use crate::read::working::images::ImageFolders;
use crate::read::working::linked::{Published, Surroundings};
use crate::read::working::{self, LiveFile, confusable, hashtags};
use crate::record::checkpoint::log::Log;
use crate::service::report::failure::Failure;
use crate::text::document::utf8;
use crate::text::document::validate::{Problem, Severity};
use crate::values::model::emoji::difference;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::timestamp::Timestamp;
use crate::write::publish::review::due::{Due, due};

/// Maximum number of problems with the same code in a report, unless all are requested.
pub(crate) const LISTED: usize = 10_000;

/// Validates the documents that arguments name, or all live files without arguments.
///
/// Returns the number of files that were checked, and their problems, at most `most` with the same
/// code. `home` is the vault itself if `vault` is a copy of the staged files: images above the
/// vault are searched there.
///
/// # Errors
/// An argument does not name a live file.
pub(crate) fn validate(
    workspace: &Workspace<'_>,
    (vault, home): (&Vault, &Vault),
    names: &[String],
    most: usize,
) -> Result<(usize, Gathered), Failure> {
    let mut named: Vec<LiveFile> = Vec::new();
    let mut governance: HashSet<String> = HashSet::new();
    for text in names {
        let id = workspace.known_id(vault, text)?;
        if !id.is_document() {
            governance.insert(id.live_path());
            continue;
        }
        if named.iter().all(|file| file.id.as_ref() != Some(&id)) {
            named.push(working::read(vault, &id.live_path()).ok_or_else(|| missing_file(&id))?);
        }
    }
    let log = crate::record::trusted_head::read_log(vault).ok();
    let head = log.as_ref().and_then(|log| Snapshot::whole(vault, &log.sound().ok()?, None).ok());
    let head = Head(head);
    let top = workspace.top(home);
    let repository = top.as_deref().map(|top| (home.root(), top));
    let images = ImageFolders::new(vault.root(), repository);
    let now = workspace.now()?;
    let mut judged = Judged::new((vault, now), &head, images, Gathered::new(most));
    match names.is_empty() {
        false => judged.add(named),
        true => {
            working::each(vault, |files| judged.add(files));
            // A published document remains one, even if `exclude`, the layout or git leaves it out.
            let walked: HashSet<&DocumentId> = judged.ids.iter().map(|(_, id)| id).collect();
            let mut beside = head.ids();
            beside.retain(|id| !walked.contains(id));
            judged.add(
                beside.iter().filter_map(|id| working::read(vault, &id.live_path())).collect(),
            );
        }
    }
    let (checked, ids, mut found) = judged.finish();
    if let (Some(log), Some(head)) = (&log, &head.0) {
        for (path, problem) in due_files(workspace, (vault, log), &ids, head) {
            found.push(&path, problem);
        }
    }
    if names.is_empty() || !governance.is_empty() {
        let is_wanted = |path: &str| names.is_empty() || governance.contains(path);
        of_governance(vault, is_wanted, &mut found);
    }
    Ok((checked + governance.len(), found))
}

/// Validates changed live files. Returns the number of files that were checked, and their errors.
///
/// Warnings are left out, because most of them need the texts of other documents.
pub(crate) fn errors_of(vault: &Vault, changed: &BTreeSet<String>) -> (usize, Gathered) {
    let mut found = Gathered::new(LISTED);
    let mut push = |path: &str, problems: Vec<Problem>| {
        let errors = problems.into_iter().filter(|one| one.severity == Severity::Error);
        found.extend(path, errors);
    };
    let log = crate::record::trusted_head::read_log(vault).ok();
    let head = log.as_ref().and_then(|log| Snapshot::whole(vault, &log.sound().ok()?, None).ok());
    let head = Head(head);
    let mut documents = vault.documents().documents;
    documents.extend(head.ids().iter().map(DocumentId::live_path));
    documents.sort_unstable();
    documents.dedup();
    // A changed file that collides with an unchanged one comes after it, and is reported.
    documents.sort_by_key(|path| changed.contains(path));
    let is_changed = |path: &&String| changed.contains(*path);
    let read = |path: &String| working::read(vault, path);
    let files: Vec<LiveFile> = documents.iter().filter(is_changed).filter_map(read).collect();
    for file in &files {
        push(&file.path, file.problems(vault));
    }
    for (path, problem) in stale_files(vault, &files, &head) {
        push(&path, vec![problem]);
    }
    let exists = |path: &&String| vault.files().exists(path);
    let named: Vec<(String, DocumentId)> = documents
        .iter()
        .filter(exists)
        .filter_map(|path| Some((path.clone(), DocumentId::of_document_file(path).ok()?)))
        .collect();
    for (path, problem) in collisions(named.iter().map(|(path, id)| (path.as_str(), id))) {
        if changed.contains(&path) {
            push(&path, vec![problem]);
        }
    }
    let is_source = |file: &LiveFile| file.fields().is_some_and(|fields| fields.source.is_some());
    let sources: Vec<LiveFile> = files.into_iter().filter(is_source).collect();
    let checked = documents.iter().filter(is_changed).filter(exists).count();
    if !sources.is_empty() {
        let images = ImageFolders::new(vault.root(), None);
        let surroundings = Surroundings::new(vault, &head, images);
        for file in &sources {
            push(&file.path, surroundings.dependency_problems(file));
        }
        for (path, problem) in surroundings.cycles(&sources) {
            push(&path, vec![problem]);
        }
    }
    let is_governance = |path: &&String| DocumentId::of_governance_file(path).is_ok();
    let governance = changed.iter().filter(is_governance).filter(exists).count();
    if governance > 0 {
        let mut all = Gathered::new(usize::MAX);
        of_governance(vault, |path| changed.contains(path), &mut all);
        for (path, problems) in all.files {
            push(&path, problems);
        }
    }
    (checked + governance, found)
}

/// Live documents and their problems.
///
/// Only the data that problems of several documents need are kept of each document, because the
/// texts of a vault may exceed the memory.
struct Judged<'v> {
    vault: &'v Vault,
    now: Timestamp,
    head: &'v Head<'v>,
    surroundings: Surroundings<'v>,
    found: Gathered,
    /// Number of files, including those whose names are not valid ids.
    checked: usize,
    /// The paths and ids of the files.
    ids: Vec<(String, DocumentId)>,
    /// The files that may depend on others.
    sources: Vec<LiveFile>,
    stale: Vec<(String, Problem)>,
}

impl<'v> Judged<'v> {
    fn new(
        (vault, now): (&'v Vault, Timestamp),
        head: &'v Head<'v>,
        images: ImageFolders,
        found: Gathered,
    ) -> Self {
        let surroundings = Surroundings::new(vault, head, images);
        let (ids, sources, stale) = (Vec::new(), Vec::new(), Vec::new());
        Self { vault, now, head, surroundings, found, checked: 0, ids, sources, stale }
    }

    /// Checks each file separately.
    fn add(&mut self, files: Vec<LiveFile>) {
        let vault = self.vault;
        self.checked += files.len();
        for file in &files {
            self.found.extend(&file.path, file.problems(vault));
            self.found.extend(&file.path, hashtags::problems(vault, file));
            self.found.extend(&file.path, self.surroundings.problems(file));
            let expired = file
                .id
                .as_ref()
                .zip(file.fields())
                .and_then(|(id, fields)| working::expired(id, &fields.validity, self.now));
            self.found.extend(&file.path, expired);
        }
        self.stale.extend(stale_files(vault, &files, self.head));
        for file in files {
            let id = file.id.iter().map(|id| (file.path.clone(), id.clone()));
            self.ids.extend(id);
            let is_source = file.fields().is_some_and(|fields| fields.source.is_some());
            self.sources.extend(Some(file).filter(|_| is_source));
        }
    }

    /// Checks the files together. Returns their number, their ids, and all problems.
    fn finish(mut self) -> (usize, HashSet<DocumentId>, Gathered) {
        let named = || self.ids.iter().map(|(path, id)| (path.as_str(), id));
        let look_alikes = confusable::problems(named(), self.surroundings.ids());
        let of_ids = collisions(named()).into_iter().chain(look_alikes);
        let of_sources = self.surroundings.cycles(&self.sources);
        for (path, problem) in of_ids.chain(of_sources).chain(self.stale) {
            self.found.push(&path, problem);
        }
        (self.checked, self.ids.into_iter().map(|(_, id)| id).collect(), self.found)
    }
}

/// Returns problems for files that were edited from another version than the published one, which a
/// publication would refuse.
fn stale_files(vault: &Vault, files: &[LiveFile], head: &Head<'_>) -> Vec<(String, Problem)> {
    let Some(head) = &head.0 else { return Vec::new() };
    let stale = |file: &LiveFile| Some((file.path.clone(), stale_file(vault, head, file)?));
    files.par_iter().filter_map(stale).collect()
}

/// Returns problems for documents whose approval is older than the stewards allow.
fn due_files(
    workspace: &Workspace<'_>,
    (vault, log): (&Vault, &Log),
    ids: &HashSet<DocumentId>,
    head: &Snapshot<'_>,
) -> Vec<(String, Problem)> {
    let due = || due(vault, &log.sound().ok()?, head, workspace.now().ok()?).ok();
    let due = due().unwrap_or_default().into_iter().filter(|due| ids.contains(&due.id));
    let problem = |due: Due| {
        let Due { id, approved_at, is_approved, max_age } = due;
        let since = match is_approved {
            true => format!("it was approved at {approved_at}"),
            false => format!("it was published at {approved_at} without a review"),
        };
        let problem = Problem {
            code: "approval-due",
            severity: Severity::Warning,
            line: None,
            message: format!("{since}, and an approval is due again after {max_age} days"),
            hint: Hint::call(
                "{} submits the text as it is, and a reviewer approves it again",
                Call::new(Verb::Submit).value(id.as_str()).word("--renew"),
            ),
        };
        (id.live_path(), problem)
    };
    due.map(problem).collect()
}

fn of_governance(vault: &Vault, is_wanted: impl Fn(&str) -> bool, found: &mut Gathered) {
    let packs = working::packs::check(vault).into_iter();
    let packs: Vec<(String, Vec<Problem>)> = packs
        .map(|file| {
            let problems = working::pack_problems(vault, &file.path, &file.reading);
            (file.path, problems)
        })
        .collect();
    // An invalid name of a pack is its only reported problem.
    let is_named = |path: &str| DocumentId::of_governance_file(path).is_ok();
    let named: Vec<_> = packs.into_iter().filter(|(path, _)| is_named(path)).collect();
    let seen: HashSet<String> = named.iter().map(|(path, _)| path.clone()).collect();
    let others = working::policy(vault, |path| is_wanted(path) && !seen.contains(path));
    let named = named.into_iter().filter(|(path, _)| is_wanted(path));
    for (path, problems) in others.into_iter().chain(named) {
        found.extend(&path, problems);
    }
    let stewards = DocumentId::stewards().live_path();
    if is_wanted(&stewards) {
        found.extend(&stewards, stuck_scopes(vault, &stewards));
    }
}

/// Returns the scopes that the reader may know of (REV-25); `None` for all of them. If the readers
/// are unknown because of damage, no scope is named.
fn own_scopes(vault: &Vault, stewards: &Stewards) -> Option<BTreeSet<Scope>> {
    let viewer = CheckpointSource::open(vault, Need::Versions, &mut |_, _| ())
        .and_then(|source| source.viewer(vault));
    match viewer {
        Ok(viewer) => viewer?.own_scopes(stewards),
        Err(_) => is_limited_at_last(vault).then(BTreeSet::new),
    }
}

/// Returns problems for the scopes of the live stewards at which nothing could be approved.
fn stuck_scopes(vault: &Vault, path: &str) -> Vec<Problem> {
    let bytes = vault.files().read_optional(path, limit::DOCUMENT).ok().flatten();
    let text = bytes.as_deref().and_then(|bytes| utf8(bytes).ok());
    let stewards = text.and_then(|text| stewards::read(text).stewards);
    let problem = |stuck: Stuck| Problem {
        code: "scope-stuck",
        severity: Severity::Warning,
        line: None,
        message: format!("{stuck}: submissions there cannot be approved"),
        hint: Hint::call(
            "assign the missing principals with {}",
            Call::new(Verb::StewardAssign).word("PRINCIPAL").word("ROLE"),
        ),
    };
    let Some(stewards) = stewards else { return Vec::new() };
    let own = own_scopes(vault, &stewards);
    let mut stuck = stewards.stuck();
    stuck.retain(|stuck| own.as_ref().is_none_or(|own| own.contains(&stuck.scope)));
    stuck.into_iter().map(problem).collect()
}

/// The head, as far as it can be read. A vault with a broken log still has live files to check.
pub(super) struct Head<'v>(pub(super) Option<Snapshot<'v>>);

impl Published for Head<'_> {
    fn ids(&self) -> Vec<DocumentId> {
        self.0.iter().filter_map(|head| head.documents().ok()).flatten().cloned().collect()
    }

    fn text(&self, id: &DocumentId) -> Option<String> {
        Some(self.0.as_ref()?.get(id)?.ok()?.text)
    }
}

/// Returns problems for live documents whose names are the same for some file systems or readers.
fn collisions<'f>(live: impl Iterator<Item = (&'f str, &'f DocumentId)>) -> Vec<(String, Problem)> {
    let mut folded: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (path, id) in live {
        id.claims().for_each(|claim| folded.entry(claim).or_default().push(path));
    }
    let mut found = Vec::new();
    for same in folded.into_values().filter(|same| same.len() > 1) {
        for path in &same[1..] {
            let form = difference(path, same[0]);
            let message = format!("its id differs from that of `{}` only in {form}", same[0]);
            let hint = "rename one of the files".into();
            let (code, severity) = ("id-collision", Severity::Error);
            found.push(((*path).to_owned(), Problem { code, severity, line: None, message, hint }));
        }
    }
    found
}
