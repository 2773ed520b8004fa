//! The files of a vault that are not published in their current form, compared with the base of a
//! job.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt as _;

use crate::files::vault::Vault;
use crate::policy::stewards::{Role, Stewards};
use crate::read::snapshot::Snapshot;
use crate::read::status::cache::Seen;
use crate::read::status::{DocumentState, GovernanceState, status};
use crate::read::working;
use crate::record::checkpoint::log::Log;
use crate::service::report::ci::UnpublishedReport;
use crate::service::report::failure::Failure;
use crate::service::report::stewards::{ScopeKey, scope_key};
use crate::service::workspace::Workspace;
use crate::service::workspace::git::GitError;
use crate::service::workspace::governance_mode::asks_for_reviews;
use crate::values::model::id::DocumentId;
use crate::values::model::layout::limit;
use crate::values::model::number::Version;
use crate::write::publish::review::awaiting::Awaiting;

/// Files that are not published in their current form.
#[derive(Debug, Default)]
pub(crate) struct Unpublished {
    /// Those that changed since the base.
    pub(crate) changed: Vec<UnpublishedReport>,
    /// Number of those that are the same at the base.
    pub(crate) unchanged: usize,
}

/// Returns the files of a vault that are not published in their current form, and compares them
/// with a commit.
///
/// # Errors
/// The log is not valid, or git cannot read the commit.
pub(crate) fn unpublished(
    workspace: &Workspace<'_>,
    (vault, log): (&Vault, &Log),
    commit: Option<&str>,
) -> Result<Unpublished, Failure> {
    let chronicle = log.sound()?;
    let head = Snapshot::whole(vault, &chronicle, None)?;
    let mut found = status(vault, &head, &Seen::open(vault))?;
    if asks_for_reviews(vault) {
        // Marks what is submitted. Without a principal it is shown as an edit.
        let _ = Awaiting::of((vault, &chronicle), &head, workspace.now()?, &mut found);
    }
    let state = head.state()?;
    let sealed = |id: &DocumentId| state.get(id.as_str()).and_then(|mark| mark.version);
    let documents = found.documents.iter().filter(|row| is_due(row.state));
    let documents =
        documents.map(|row| (row.id.clone(), row.path.clone(), row.state.as_str(), row.version));
    let governance = found.governance.iter().filter(|(_, state)| {
        !matches!(state, GovernanceState::Copy | GovernanceState::NotCheckedOut)
    });
    let governance = governance
        .map(|(id, state)| (Some(id.clone()), id.live_path(), state.as_str(), sealed(id)));
    let mut files: Vec<Found> = documents.chain(governance).collect();
    files.sort_by(|a, b| a.1.cmp(&b.1));
    let (stewards, _) = workspace.stewards_at(vault, log, None)?;
    // A reader who may not read all scopes sees their own.
    let own = workspace.own_scopes(vault, log, &stewards);
    let owners = Owners {
        stewards: &stewards.in_force.stewards,
        own: own.unwrap_or_else(|_| Some(BTreeSet::new())),
    };
    let base = commit.map(|commit| at_base(workspace, vault, commit, &files)).transpose();
    let base = base
        .map_err(|why| super::unreadable(&why))?
        .unwrap_or_else(|| vec![AtBase::Absent; files.len()]);
    let mut changed = Vec::new();
    for ((id, path, state, version), base) in files.iter().zip(&base) {
        let (AtBase::Changed(_) | AtBase::Absent) = base else { continue };
        let bytes = vault.files().read_optional(path, limit::DOCUMENT).ok().flatten();
        let bytes = bytes.map(|bytes| bytes.len() as u64);
        changed.push(UnpublishedReport {
            id: id.clone(),
            path: path.clone(),
            state,
            version: *version,
            bytes,
            bytes_at_base: if let AtBase::Changed(size) = base { Some(*size) } else { None },
            tokens: bytes.map(|bytes| bytes.div_ceil(4)),
            reviewers: id.iter().flat_map(|id| owners.of(vault, id)).collect(),
        });
    }
    let unchanged = files.len() - changed.len();
    Ok(Unpublished { changed, unchanged })
}

/// Id, path, state and published version of a file.
type Found = (Option<DocumentId>, String, &'static str, Option<Version>);

/// Returns true if a publication would change a document in this state, or cannot.
fn is_due(state: DocumentState) -> bool {
    match state {
        DocumentState::Invalid
        | DocumentState::Stale
        | DocumentState::Changed
        | DocumentState::Missing
        | DocumentState::Draft
        | DocumentState::Unpublished
        | DocumentState::Submitted => true,
        DocumentState::Withheld
        | DocumentState::LeftOut
        | DocumentState::NotCheckedOut
        | DocumentState::RetiredElsewhere
        | DocumentState::Retired
        | DocumentState::Published => false,
    }
}

struct Owners<'s> {
    stewards: &'s Stewards,
    /// The scopes that the reader may see; `None` for all.
    own: Option<BTreeSet<ScopeKey>>,
}

impl Owners<'_> {
    /// Returns the reviewers of an artifact, by the tags of its live file.
    fn of(&self, vault: &Vault, id: &DocumentId) -> Vec<String> {
        let tags = working::tags(vault, id).and_then(Result::ok).unwrap_or_default();
        let found = self.stewards.scope_of(id, &tags);
        let found = found
            .filter(|at| self.own.as_ref().is_none_or(|own| own.contains(&scope_key(&at.scope))));
        let holders = found.map(|at| self.stewards.holders(at)).unwrap_or_default();
        let reviewers = holders.into_iter().filter(|holder| holder.role == Role::Reviewer);
        reviewers.map(|holder| holder.principal.to_string()).collect()
    }
}

/// A file of the vault at the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtBase {
    /// The base lacks the file.
    Absent,
    /// The bytes are the same, or the file is missing in both.
    Same,
    /// The bytes differ; with their number at the base.
    Changed(u64),
}

/// Compares files with a commit. Git hashes the files without filters, which a repository may name.
fn at_base<'f>(
    workspace: &Workspace<'_>,
    vault: &Vault,
    commit: &str,
    files: &'f [Found],
) -> Result<Vec<AtBase>, GitError> {
    let ask = |args: &[&str], input: &[u8]| {
        let said = (workspace.environment.git)(vault.root(), args, input)?;
        Ok::<_, GitError>(String::from_utf8_lossy(&said).into_owned())
    };
    // Git reads one name per line.
    let is_nameable = |path: &str| !path.contains('\n');
    let named = files.iter().map(|(_, path, ..)| path.as_str()).filter(|path| is_nameable(path));
    let named: Vec<&str> = named.collect();
    let lines = |paths: &[&str], before: &[u8]| -> Vec<u8> {
        paths.iter().flat_map(|path| [before, path.as_bytes(), b"\n"].concat()).collect()
    };
    let there: Vec<&str> =
        named.iter().copied().filter(|path| vault.files().stamp(path).is_ok()).collect();
    // These names would begin at the top of the work tree.
    let root = [vault.root().as_os_str().as_bytes(), b"/"].concat();
    let live = match there.is_empty() {
        true => String::new(),
        false => ask(&["hash-object", "--no-filters", "--stdin-paths"], &lines(&there, &root))?,
    };
    let live: HashMap<&str, &str> = there.into_iter().zip(live.lines()).collect();
    let args = ["cat-file", "--batch-check=%(objectname) %(objectsize)"];
    let base = ask(&args, &lines(&named, format!("{commit}:./").as_bytes()))?;
    let sized = |(path, line): (&&'f str, &'_ str)| {
        // The answer for a file that the commit lacks ends in `missing`.
        let (object, size) = line.split_once(' ')?;
        Some((*path, (object.to_owned(), size.parse().ok()?)))
    };
    let base: HashMap<&str, (String, u64)> =
        named.iter().zip(base.lines()).filter_map(sized).collect();
    let compared = |(_, path, ..): &Found| match (base.get(path.as_str()), live.get(path.as_str()))
    {
        (None, None) if is_nameable(path) => AtBase::Same,
        (None, _) => AtBase::Absent,
        (Some((object, _)), Some(same)) if object == same => AtBase::Same,
        (Some((_, size)), _) => AtBase::Changed(*size),
    };
    Ok(files.iter().map(compared).collect())
}
