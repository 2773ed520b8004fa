//! The command that restores damaged texts from git, for the report of a verification.

use std::collections::BTreeMap;

use super::Workspace;
use crate::files::vault::Vault;
use crate::prove::verify::{Code, FORMATTER, Finding, KINDS, solid};
use crate::record::checkpoint::codec;
use crate::text::document::text::normalise;
use crate::values::model::digest::Digest;
use crate::values::model::layout::limit;
use crate::values::text_util::{argument, count};

/// Maximum number of damaged files that git is asked for.
const MOST: usize = 200;
/// Number of full texts from which on the command names them by a pattern.
const MANY: usize = 6;
/// Maximum number of commits that are searched for unaltered texts.
const COMMITS: &str = "--max-count=50";
/// Pattern of all full texts and diffs in files, which no command changes after writing them.
const TEXTS: &str = "':(glob)**/.versions/*/v*'";

/// A damaged file, with the hash that a full text in it must have.
type Damaged<'f> = BTreeMap<&'f str, Option<&'f str>>;

impl Workspace<'_> {
    /// Returns the hint with the command that restores damaged texts, and logs in which only white
    /// space changed. Git is asked for the staged files, then for those of commits; it runs no
    /// program of the repository.
    pub(crate) fn restoring(&self, vault: &Vault, findings: &[Finding]) -> Option<String> {
        let is_lost = |found: &&Finding| {
            matches!(
                found.code,
                Code::ContentHashMismatch
                    | Code::CheckpointLogUnreadable
                    | Code::TornTail
                    | Code::AuditMalformed
                    | Code::StagedMalformed
            )
        };
        let lost = findings.iter().filter(is_lost);
        // The report does not contain a hash of such a file, so only changes of white space
        // are recognised.
        let is_history = |path: &str| {
            let is_log = codec::FORMS.map(codec::path_of).contains(&path);
            is_log || path.ends_with("/history.yaml") || path.ends_with(".jsonl")
        };
        let named = lost.map(|found| {
            let hash = found.expected.as_deref().filter(|_| !is_history(&found.path));
            (found.path.as_str(), hash)
        });
        let damaged: Damaged<'_> =
            named.filter(|(path, _)| !path.contains('\n')).take(MOST).collect();
        let first = damaged.keys().next()?;
        let mut revisions = vec![String::new(), "HEAD".to_owned()];
        let mut commits = None;
        let mut best = (Vec::new(), String::new());
        loop {
            for revision in revisions.drain(..) {
                let whole = self.whole_in(vault, &revision, &damaged);
                if whole.len() > best.0.len() {
                    best = (whole, revision);
                }
                if best.0.len() == damaged.len() {
                    break;
                }
            }
            if !best.0.is_empty() || commits.is_some() {
                break;
            }
            let args = ["log", "--full-history", "--format=%h", COMMITS, "--", *first];
            let said = (self.environment.git)(vault.root(), &args, b"").ok()?;
            let said = String::from_utf8_lossy(&said).into_owned();
            revisions = commits.insert(said).split_whitespace().map(str::to_owned).collect();
        }
        let (whole, revision) = best;
        let worst = whole.iter().map(|(_, kind)| *kind).max()?;
        let why = match KINDS.get(worst) {
            Some((_, words)) => {
                format!("; only {words} changed there, as {FORMATTER} rewrites files")
            }
            None => {
                let words = whole.iter().filter(|(_, kind)| *kind == worst);
                format!(
                    "; words changed in {} of them, which no formatter does: git may have merged an edit into them, so first copy what is missing in the live files",
                    words.count()
                )
            }
        };
        let source = match revision.as_str() {
            "" => String::new(),
            revision => format!("--source={revision} --staged --worktree "),
        };
        let (texts, histories): (Vec<&str>, Vec<&str>) =
            whole.iter().map(|(path, _)| *path).partition(|path| !is_history(path));
        let mut paths: Vec<String> = match texts.len() {
            // Only the staged files certainly include every text that the pattern matches.
            MANY.. if revision.is_empty() => vec![TEXTS.to_owned()],
            _ => texts.into_iter().map(argument).map(|path| path.to_string()).collect(),
        };
        paths.extend(histories.into_iter().map(|path| argument(path).to_string()));
        let (of, paths) = (count(damaged.len(), "damaged file"), paths.join(" "));
        Some(format!(
            "hint: git has {} of {of} as recorded: run `git restore {source}-- {paths}` in the vault's folder{why}",
            whole.len()
        ))
    }

    /// Returns the damaged files that a revision has as they were recorded.
    ///
    /// A full text must have its hash. A history may differ in white space only, so that restoring
    /// it loses no entry. With each file comes the index of the first of [`KINDS`] that explains
    /// the difference, or their number.
    fn whole_in<'f>(
        &self,
        vault: &Vault,
        revision: &str,
        damaged: &Damaged<'f>,
    ) -> Vec<(&'f str, usize)> {
        let names: String = damaged.keys().map(|path| format!("{revision}:./{path}\n")).collect();
        let args = ["cat-file", "--batch"];
        let said = (self.environment.git)(vault.root(), &args, names.as_bytes());
        let said = said.unwrap_or_default();
        let mut rest = said.as_slice();
        let whole = damaged.iter().filter_map(|(path, hash)| {
            let text = std::str::from_utf8(next_blob(&mut rest)?).ok()?;
            let now = vault.files().read(path, limit::HISTORY).unwrap_or_default();
            let now = String::from_utf8_lossy(&now);
            let explains = |kind: &(_, &str)| solid(text, kind.0) == solid(&now, kind.0);
            let kind = KINDS.iter().position(explains).unwrap_or(KINDS.len());
            let is_whole = match hash {
                Some(hash) => Digest::of(normalise(text).as_bytes()).to_string() == **hash,
                None => *text != *now && kind == 0,
            };
            is_whole.then_some((*path, kind))
        });
        whole.collect()
    }
}

/// Returns the next answer of `git cat-file --batch`; `None` if the object is missing.
fn next_blob<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (header, after) = (String::from_utf8_lossy(&rest[..end]), &rest[end + 1..]);
    let length = header.rsplit_once(" blob ").and_then(|(_, length)| length.parse().ok());
    let Some(length) = length.filter(|length: &usize| *length < after.len()) else {
        *rest = after;
        return None;
    };
    *rest = &after[length + 1..];
    Some(&after[..length])
}
