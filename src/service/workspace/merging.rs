//! The two sides of a merge that git has begun: the checkpoint logs of both branches.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::Workspace;
use super::git::{Objects, merge_texts};
use super::git_index::Entry;
use super::push::TRUNK;
use super::revision::Repository;
use crate::exchange::merge::histories::HistoryFiles;
use crate::exchange::merge::take::{self, MergeTexts, Sides, Take};
use crate::exchange::merge::{DifferingLog, InConflict, Request, Side, merge_logs};
use crate::files::vault::Vault;
use crate::files::vault::config::LogForm;
use crate::files::vault::tree::Tree;
use crate::record::checkpoint::codec::path_of;
use crate::record::checkpoint::log::Log;
use crate::record::torn_tail;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::merge::MergeReport;
use crate::values::model::digest::Digest;
use crate::values::model::hint::{Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::layout::{self, limit};

/// The operation of git that stopped because of a conflict.
#[derive(Clone, Debug)]
pub(crate) struct Merging {
    /// The words of the operation, as `git merge`.
    pub(crate) operation: &'static str,
    /// The names of the branch that is checked out, and of the other one, for people.
    pub(crate) names: [String; 2],
}

/// A ref that git sets while an operation waits for its user, with the operation.
const OPERATIONS: [(&str, &str); 3] = [
    ("MERGE_HEAD", "git merge"),
    ("REBASE_HEAD", "git rebase"),
    ("CHERRY_PICK_HEAD", "git cherry-pick"),
];

/// Reads the logs of both sides of the merge that git has begun.
///
/// # Errors
/// Git is not in the middle of a merge, or a commit lacks the log.
pub(crate) fn sides<'r>(
    workspace: &Workspace<'_>,
    vault: &Vault,
    holder: &'r str,
    dry_run: bool,
) -> Result<(Merging, Request<'r>), Failure> {
    let repository = Repository { git: workspace.environment.git, folder: vault.root() };
    let found = OPERATIONS.into_iter().find_map(|(name, operation)| {
        let commit = repository.ask(&["rev-parse", "-q", "--verify", name]).ok()?;
        Some((name, operation, commit.trim().to_owned()))
    });
    let Some((theirs, operation, commit)) = found else {
        let message = "git is not in the middle of a merge, a rebase or a cherry-pick";
        return Err(Failure::new(Code::NotMerging, message)
            .hint("run it while `git merge BRANCH` waits for you to resolve conflicts"));
    };
    let log = |side: Side, stage: &str, commit: &str| {
        let path = path_of(LogForm::Delta);
        let read = |name: &str| {
            let object = format!("{name}:./{path}");
            repository.bytes(&["cat-file", "blob", &object]).ok()
        };
        // After a conflict was resolved by hand, the index has one version only.
        let bytes = read(stage).or_else(|| read(commit));
        let bytes = bytes.ok_or_else(|| {
            let message = format!("{} has no `{path}`", side.words());
            Failure::new(Code::LogBroken, message).hint(Hint::call(
                "a vault with whole maps is converted first, on both branches: {}",
                Verb::CheckpointConvert,
            ))
        })?;
        Ok::<_, Failure>(Log::parse(LogForm::Delta, &bytes))
    };
    let (ours_log, theirs_log) =
        (log(Side::Ours, ":2", "HEAD")?, log(Side::Theirs, ":3", &commit)?);
    let objects = Arc::new(Objects::of(vault.root()).map_err(|why| unreadable(&why))?);
    let entries = |commit: &str| {
        let listed = repository.bytes(&["ls-tree", "-r", "-z", commit]);
        listed.map(|listed| Entry::of_tree(&listed)).map_err(|why| unreadable(&why))
    };
    let sides = [entries("HEAD")?, entries(&commit)?];
    let seen = |entries: &[Entry]| {
        let objects = Arc::clone(&objects);
        let named = entries.iter().map(Entry::parts);
        let tree = Tree::new(named, move |object, limit| objects.read(object, limit));
        Vault::of_tree(vault.root(), tree)
    };
    let vaults = [seen(&sides[0])?, seen(&sides[1])?];
    let request = Request {
        holder,
        now: workspace.now()?,
        dry_run,
        ours: ours_log,
        theirs: theirs_log,
        upstream: upstream(&repository)?,
        histories: histories(&objects, &sides)?,
        logs: logs(&objects, &sides)?,
        vaults,
        paths: sides.iter().flatten().filter_map(|entry| entry.text().map(str::to_owned)).collect(),
    };
    if theirs != "MERGE_HEAD" {
        refuse_gap(&repository, &request, &commit)?;
    }
    let ours = repository.ask(&["rev-parse", "--abbrev-ref", "HEAD"]);
    let ours = ours.map_or_else(|_| "HEAD".to_owned(), |name| name.trim().to_owned());
    let other = repository.ask(&["name-rev", "--name-only", "--refs=refs/heads/*", &commit]);
    let other = other.ok().map(|name| name.trim().to_owned()).filter(|name| name != "undefined");
    let other = other.unwrap_or_else(|| commit.get(..12).unwrap_or(&commit).to_owned());
    Ok((Merging { operation, names: [ours, other] }, request))
}

impl Merging {
    /// Returns the command that ends the operation.
    pub(crate) fn next(&self) -> &'static str {
        match self.operation {
            "git rebase" => "git add -A && git rebase --continue",
            "git cherry-pick" => "git add -A && git cherry-pick --continue",
            _ => "git add -A && git commit",
        }
    }
}

/// Returns the conflicts that ids or `FOLDER/...` name.
///
/// # Errors
/// A name fits no conflict.
pub(crate) fn chosen<'c>(
    conflicts: &'c [InConflict],
    names: &[String],
) -> Result<Vec<&'c InConflict>, Failure> {
    let mut chosen = BTreeMap::new();
    for name in names {
        let name = name.trim_start_matches("./");
        let fits = |one: &&InConflict| match name.strip_suffix("...") {
            // What was published since is not overwritten, unless it is named.
            Some(folder) => one.id.as_str().starts_with(folder) && !one.is_settled,
            None => one.id.as_str() == name || one.id.live_path() == name,
        };
        let before = chosen.len();
        chosen.extend(conflicts.iter().filter(fits).map(|one| (one.id.as_str(), one)));
        if chosen.len() == before && !chosen.keys().any(|id| *id == name) {
            let message = format!("`{name}` is not in conflict");
            return Err(Failure::new(Code::Usage, message)
                .hint(Hint::call("{} lists what is", Verb::Merge)));
        }
    }
    Ok(chosen.into_values().collect())
}

/// Writes the live files of these conflicts.
///
/// # Errors
/// A text cannot be read, merged or written; those before it were written.
pub(crate) fn take_texts(
    sides: &Sides<'_>,
    chosen: &[&InConflict],
    which: Take,
    report: &mut MergeReport,
) -> Result<(), Failure> {
    let merge: MergeTexts =
        |texts| merge_texts(texts, ["trunk", "base", "branch"]).map_err(|why| why.to_string());
    for one in chosen {
        let taken = sides.take(one, which, merge).map_err(|why| {
            let message = format!("{}: {why}", one.id);
            Failure::new(Code::MergeConflict, message).hint("edit its file by hand")
        })?;
        let reports = report.conflicts.iter_mut().filter(|report| report.id == taken.id);
        reports.for_each(|report| report.settled = Some(!taken.has_markers));
    }
    Ok(())
}

/// Records for each conflict whether it is settled: it was published or submitted since, and its live
/// file has no conflict markers.
pub(crate) fn settle(vault: &Vault, conflicts: &[InConflict], report: &mut MergeReport) {
    for one in report.conflicts.iter_mut().filter(|one| one.settled != Some(true)) {
        let live = vault.files().read_optional(&one.id.live_path(), limit::DOCUMENT);
        let has_markers = live.ok().flatten().is_some_and(|bytes| has_markers(&bytes));
        let is_settled = conflicts.iter().any(|known| known.id == one.id && known.is_settled);
        if has_markers || is_settled {
            one.settled = Some(!has_markers);
        }
    }
}

fn unreadable(why: &dyn Display) -> Failure {
    Failure::new(Code::Io, format!("the branches cannot be read: {why}"))
}

/// Returns the histories that differ, with the files of both sides.
fn histories(
    objects: &Objects,
    sides: &[Vec<Entry>; 2],
) -> Result<Vec<(DocumentId, [HistoryFiles; 2])>, Failure> {
    // The folder of a history, and for each side the objects of its files by their paths in it.
    type Named<'e> = BTreeMap<DocumentId, [BTreeMap<&'e str, &'e str>; 2]>;
    let mut named: Named<'_> = BTreeMap::new();
    for (side, entries) in sides.iter().enumerate() {
        for entry in entries {
            let Some((id, path)) = entry.text().and_then(of_history) else { continue };
            named.entry(id).or_default()[side].insert(path, entry.object());
        }
    }
    named.retain(|_, [ours, theirs]| ours != theirs);
    let read = |files: &BTreeMap<&str, &str>| {
        let file = |(path, object): (&&str, &&str)| {
            let bytes = objects.read(object, limit::HISTORY).map_err(|why| unreadable(&why))?;
            let too_long = || unreadable(&format!("`{path}` of a history is too long"));
            Ok(((*path).to_owned(), bytes.ok_or_else(too_long)?))
        };
        files.iter().map(file).collect::<Result<HistoryFiles, Failure>>()
    };
    let one = |(id, [ours, theirs]): (DocumentId, [BTreeMap<&str, &str>; 2])| {
        Ok((id, [read(&ours)?, read(&theirs)?]))
    };
    named.into_iter().map(one).collect()
}

/// Returns the logs of audit and staging that both sides have with different bytes.
fn logs(objects: &Objects, [ours, theirs]: &[Vec<Entry>; 2]) -> Result<Vec<DifferingLog>, Failure> {
    let is_log = |path: &str| {
        let folders = [layout::AUDIT_DIR, layout::STAGING_CHAINS];
        path.ends_with(".jsonl") && folders.iter().any(|folder| path.starts_with(folder))
    };
    let mine: BTreeMap<&str, &str> =
        ours.iter().filter_map(|entry| Some((entry.text()?, entry.object()))).collect();
    let named = theirs.iter().filter_map(|entry| Some((entry.text()?, entry.object())));
    let differing = named.filter_map(|(path, object)| {
        let own = mine.get(path).filter(|own| **own != object && is_log(path))?;
        Some((path, *own, object))
    });
    let read = |object: &str| {
        let bytes = objects.read(object, limit::LOG).map_err(|why| unreadable(&why))?;
        bytes.ok_or_else(|| unreadable(&"a log is too long"))
    };
    let one = |(path, ours, theirs): (&str, &str, &str)| {
        Ok((path.to_owned(), [read(ours)?, read(theirs)?]))
    };
    differing.map(one).collect()
}

/// Returns the paths of live files in the vault that git has not merged, and that have conflict
/// markers.
pub(crate) fn marked(workspace: &Workspace<'_>, vault: &Vault) -> Vec<String> {
    let repository = Repository { git: workspace.environment.git, folder: vault.root() };
    let args = ["diff", "--name-only", "--diff-filter=U", "-z", "--relative", "--no-ext-diff"];
    let listed = repository.ask(&args).unwrap_or_default();
    // A file that cannot be made again is reported by itself.
    let is_live = |path: &&str| {
        let is_derived = [layout::CONTEXT_YAML, layout::INDEX].contains(path);
        !path.is_empty() && !is_derived && !layout::is_of_record(path)
    };
    let paths = listed.split('\0').filter(is_live);
    let has_markers = |path: &&str| {
        let bytes = vault.files().read_optional(path, limit::DOCUMENT).ok().flatten();
        bytes.is_some_and(|bytes| has_markers(&bytes))
    };
    paths.filter(has_markers).map(str::to_owned).collect()
}

fn has_markers(bytes: &[u8]) -> bool {
    torn_tail::conflict(bytes).is_some()
}

/// Returns the artifact in whose history folder a file is, and the path of the file in it.
fn of_history(path: &str) -> Option<(DocumentId, &str)> {
    let versions = format!("{}/", layout::VERSIONS);
    let at = match path.starts_with(&versions) {
        true => versions.len(),
        false => path.find(&format!("/{versions}"))? + 1 + versions.len(),
    };
    let end = at + path[at..].find('/')?;
    Some((DocumentId::of_history_dir(&path[..end]).ok()?, &path[end + 1..]))
}

/// Returns the logs that decide which side is the trunk, in order (MERGE-11). A ref that does not
/// exist, or has no log, decides nothing.
///
/// # Errors
/// Git lacks the log of a ref.
fn upstream(repository: &Repository<'_>) -> Result<Vec<Vec<Digest>>, Failure> {
    let ask = |args: &[&str]| repository.ask(args).ok().map(|said| said.trim().to_owned());
    let configured = ask(&["config", "--get", TRUNK]);
    let by_remote = || {
        let head = ask(&["symbolic-ref", "-q", "--short", "refs/remotes/origin/HEAD"])?;
        head.strip_prefix("origin/").map(str::to_owned)
    };
    let exists = |name: &&str| {
        let has = |folder: &str| {
            ask(&["rev-parse", "-q", "--verify", &format!("{folder}/{name}")]).is_some()
        };
        has("refs/heads") || has("refs/remotes/origin")
    };
    let usual = || ["main", "master"].into_iter().find(exists).map(str::to_owned);
    let trunk = configured.or_else(by_remote).or_else(usual);
    let of_trunk = trunk
        .iter()
        .flat_map(|trunk| [format!("refs/remotes/origin/{trunk}"), format!("refs/heads/{trunk}")]);
    let names = of_trunk.chain(["@{upstream}".to_owned()]);
    let exists = |name: &String| {
        let commit = format!("{name}^{{commit}}");
        ask(&["rev-parse", "-q", "--verify", &commit]).is_some()
    };
    let logs = names.filter(exists).map(|name| repository.hashes(&name, &name));
    logs.filter_map(Result::transpose).collect()
}

/// Refuses to take a single commit whose log has checkpoints before it that are missing here:
/// their publications would be left out (MERGE-6).
fn refuse_gap(
    repository: &Repository<'_>,
    request: &Request<'_>,
    commit: &str,
) -> Result<(), Failure> {
    let parent = format!("{commit}^");
    let Ok(Some(before)) = repository.hashes(&parent, &parent) else { return Ok(()) };
    let Some(last) = before.last() else { return Ok(()) };
    if request.ours.holds(last) {
        return Ok(());
    }
    let message = "the commit was made after publications that this branch lacks";
    Err(Failure::new(Code::MergeConflict, message)
        .hint("merge the whole branch, or publish the text of the commit again"))
}

/// The labels of conflict markers of the driver.
const LABELS: [&str; 3] = ["this branch", "both began with", "the other branch"];

/// The kinds of files that git merges with `ctx merge-driver`.
enum Kind {
    Log,
    History,
    /// A file that is derived from the published documents.
    Derived,
    Live,
}

/// Merges one file, as git asks its merge driver to (`gitattributes(5)`): the common version, that
/// of the branch that is checked out, which gets the result, and that of the other branch. Returns
/// false if the file is left as it is, or has conflict markers.
///
/// # Errors
/// A file cannot be read or written.
#[allow(clippy::disallowed_methods, reason = "git made the files for this command")]
pub(crate) fn drive(
    workspace: &Workspace<'_>,
    [base, ours, theirs]: [&Path; 3],
    path: &str,
) -> Result<bool, Failure> {
    let read = |path: &Path| {
        fs::read(path).map_err(|why| {
            Failure::new(Code::Io, format!("cannot read `{}`: {why}", path.display()))
        })
    };
    let write = |bytes: &[u8]| {
        fs::write(ours, bytes).map_err(|why| {
            Failure::new(Code::Io, format!("cannot write `{}`: {why}", ours.display()))
        })
    };
    let texts = [read(base)?, read(ours)?, read(theirs)?];
    let name = path.rsplit('/').next().unwrap_or(path);
    let of_log = path.strip_suffix(path_of(LogForm::Delta));
    let kind = match (of_log, name) {
        (Some(folder), _) if folder.is_empty() || folder.ends_with('/') => Kind::Log,
        (_, layout::HISTORY) => Kind::History,
        (_, layout::CONTEXT_YAML | layout::INDEX) => Kind::Derived,
        _ => Kind::Live,
    };
    let [common, mine, other] = &texts;
    // A file that needs a decision gets conflict markers, so that commands refuse until `ctx merge`.
    let refuse = || {
        let texts = [mine, common, other].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let (merged, has_markers) = merge_texts(texts.each_ref().map(String::as_str), LABELS)
            .map_err(|why| unreadable(&why))?;
        match has_markers {
            true => write(merged.as_bytes()),
            false => write(format!("<<<<<<< {}\n{merged}", LABELS[0]).as_bytes()),
        }
        .map(|()| false)
    };
    match kind {
        Kind::Derived => Ok(true),
        Kind::History => {
            // Only one of the sides added entries; a revert takes entries away.
            let grew = mine.starts_with(common) && other.starts_with(common);
            match grew && (other.starts_with(mine) || mine.starts_with(other)) {
                true if other.len() > mine.len() => write(other).map(|()| true),
                true => Ok(true),
                false => refuse(),
            }
        }
        Kind::Live => {
            let texts = texts.each_ref().map(|bytes| std::str::from_utf8(bytes));
            let [Ok(common), Ok(mine), Ok(other)] = texts else { return Ok(false) };
            let merge: MergeTexts =
                |texts| merge_texts(texts, LABELS).map_err(|why| why.to_string());
            let merged = take::merge_lives([mine, common, other], merge);
            let (text, has_markers) =
                merged.map_err(|why| Failure::new(Code::MergeConflict, why.to_string()))?;
            write(text.as_bytes())?;
            Ok(!has_markers)
        }
        Kind::Log => {
            let folder = workspace.environment.cwd.join(of_log.unwrap_or_default());
            let vault = workspace.outfit(Vault::open(&folder)?);
            let logs = texts.each_ref().map(|bytes| Log::parse(LogForm::Delta, bytes));
            let [common, mine, other] = &logs;
            // A commit is picked whose earlier publications are missing here, or one is reverted.
            let last = common.entries.last().and_then(|entry| entry.as_ref().ok());
            if last.is_some_and(|last| !mine.holds(&last.hash) || !other.holds(&last.hash)) {
                return refuse();
            }
            let repository = Repository { git: workspace.environment.git, folder: vault.root() };
            let merged = upstream(&repository).and_then(|upstream| {
                Ok(merge_logs(&vault, (mine, other), &upstream, workspace.now()?)?)
            });
            match merged {
                Ok(Some(merged)) => write(&merged).map(|()| true),
                Ok(None) | Err(_) => refuse(),
            }
        }
    }
}
