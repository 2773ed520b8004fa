//! Collects entries past their retention, and erases contents (STAGE-17, STAGE-18).

use std::collections::BTreeSet;

use super::acts::{Desk, refuse_promoted};
use super::view::{Bounds, Judged, chains_of, judged};
use crate::files::vault::Vault;
use crate::files::vault::outside;
use crate::policy::stewards::Role;
use crate::prove::recover::CompletedAct;
use crate::read::index::staged::{KnownEntry, Sharing};
use crate::record::staging::{
    ActKind, FoundPayload, Staged, StagedEntry, StagedName, Unfinished, all_payloads, payload_path,
    read_payload, remove_payloads,
};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::Workspace;
use crate::service::workspace::git::GitError;
use crate::values::model::digest::Digest;
use crate::values::model::layout::{LOCAL_DIR, RECOVERED, limit};
use crate::values::model::timestamp::Timestamp;

/// Minimum number of bytes of a content, or of a word of it, that a reason must not repeat. Shorter
/// ones may be any word.
const FEWEST_REPEATED: usize = 4;
/// Number of consecutive letters and digits that make a part of the content: more than in
/// most words.
const LONG_REPEATED: usize = 16;
/// Maximum number of commits that are named.
const MOST_COMMITS: usize = 100;

/// The result of a collection, or of its dry run.
#[derive(Debug)]
pub(crate) struct Collected {
    /// The collected entries that the actor may see, as they were before.
    pub(crate) entries: Vec<StagedEntry>,
    /// Number of removed files of contents; `None` if the actor may not see every entry, because
    /// the number would reveal that another entry shares a content.
    pub(crate) files: Option<usize>,
}

/// The result of an erasure, or of its dry run.
#[derive(Debug)]
pub(crate) struct Erased {
    /// The entries that were ended, as they were before; empty if all were erased earlier.
    pub(crate) entries: Vec<StagedEntry>,
    /// The file of the content.
    pub(crate) path: String,
    /// True if the actor is a reviewer at every scope, so that no entry keeps the content.
    pub(crate) is_everywhere: bool,
    /// True if the vault is in a git repository.
    pub(crate) in_git: bool,
    /// Git commits that added the file and still contain it; empty if an entry that the actor may
    /// not see could have the same content.
    pub(crate) commits: Vec<String>,
    /// True if there are further commits.
    pub(crate) more: bool,
    /// The reason why git did not answer.
    pub(crate) unknown: Option<String>,
}

impl Workspace<'_> {
    /// Collects the entries past their retention. If `is_done` is false, only returns them.
    ///
    /// All contents without an entry are removed, too, if `sweeps` is set or a command was
    /// interrupted before it removed a content.
    ///
    /// # Errors
    /// Nothing was collected, or not everything.
    pub(crate) fn collect_staged(
        &self,
        vault: &Vault,
        (sweeps, is_done): (bool, bool),
    ) -> Result<Collected, Failure> {
        let _lock = match is_done {
            true => Some(self.lock_to_act(vault)?),
            false => None,
        };
        let now = self.now()?;
        let sweeps = sweeps || Unfinished::is_left(vault.files());
        let is_wanted = |entry: &KnownEntry<'_>| sweeps || entry.may_be_due(now);
        let wanted = (&is_wanted as &dyn Fn(&KnownEntry<'_>) -> bool, Sharing::Claims(now));
        let desk = Desk::open(self, vault, &|bounds| chains_of((vault, bounds), None, wanted))?;
        let is_due = |entry: &&StagedEntry| {
            let until = entry.entry.retention_until.parse();
            entry.is_live()
                && !entry.pinned
                && !entry.is_promoted()
                && until.is_ok_and(|until: Timestamp| until < now)
        };
        let due: Vec<&StagedEntry> = desk.staged.entries.iter().filter(is_due).collect();
        let seen = due.iter().filter(|entry| desk.is_visible(entry));
        let entries: Vec<StagedEntry> = seen.copied().cloned().collect();
        let sees_all = desk.has_role_everywhere(Role::Editor);
        let told = |files: usize| sees_all.then_some(files);
        if !is_done {
            let files =
                unclaimed((vault, &desk.staged, desk.is_damaged), &due, (sweeps, now))?.len();
            return Ok(Collected { entries, files: told(files) });
        }
        if due.is_empty() && !sweeps {
            return Ok(Collected { entries, files: told(0) });
        }
        let unfinished = Unfinished::begin(vault.files())?;
        desk.act(self, &due, (ActKind::Collect, now), None)?;
        let unclaimed = unclaimed((vault, &desk.staged, desk.is_damaged), &due, (sweeps, now))?;
        let files = remove_payloads(vault.files(), &unclaimed)?;
        match sweeps && !desk.is_damaged {
            true => unfinished.end_all(),
            false => unfinished.end(),
        }
        Ok(Collected { entries, files: told(files) })
    }

    /// Completes an interrupted removal of contents: removes those that no entry claims, and what
    /// was recovered of them.
    ///
    /// An erasure without a line of its act did not begin. `act` is the act that was completed, or
    /// would be. Returns the files of the contents; if `is_done` is false, removes nothing.
    ///
    /// # Errors
    /// Not everything was removed.
    pub(crate) fn settle_staged(
        &self,
        vault: &Vault,
        act: Option<&CompletedAct>,
        is_done: bool,
    ) -> Result<Vec<String>, Failure> {
        let files = vault.files();
        if !Unfinished::is_left(files) {
            return Ok(Vec::new());
        }
        let _lock = match is_done {
            true => Some(vault.lock(&self.holder()?)?),
            false => None,
        };
        let now = self.now()?;
        let all = |_: &KnownEntry<'_>| true;
        let find = |bounds: &Bounds| chains_of((vault, bounds), None, (&all, Sharing::Claims(now)));
        let Judged { staged, is_damaged, .. } = judged(vault, &find)?;
        // A dry run treats the entries that it would end as ended.
        let ends = act.filter(|act| ActKind::of_word(act.action).is_some_and(ActKind::ends));
        let named: Vec<&String> = ends.iter().flat_map(|act| &act.staged).collect();
        let is_gone = |entry: &&StagedEntry| named.contains(&&entry.name().to_string());
        let gone: Vec<&StagedEntry> = match named.is_empty() {
            true => Vec::new(),
            false => staged.entries.iter().filter(is_gone).collect(),
        };
        let unclaimed = unclaimed((vault, &staged, is_damaged), &gone, (true, now))?;
        if is_done {
            let unfinished = Unfinished::begin(files)?;
            for raw in &unclaimed {
                if let FoundPayload::Whole(content) = read_payload(files, *raw) {
                    discard_recovered(vault, Some(&content));
                }
            }
            remove_payloads(files, &unclaimed)?;
            if !is_damaged {
                unfinished.end_all();
            }
        }
        let mut removed: Vec<String> = unclaimed.into_iter().map(payload_path).collect();
        removed.sort_unstable();
        Ok(removed)
    }

    /// Erases the content of an entry, and ends the live entries that share it and whose sources
    /// the actor reviews. If `is_done` is false, only returns them.
    ///
    /// The effect and the answer do not reveal if other entries share the content (STAGE-18).
    ///
    /// # Errors
    /// Nothing was erased, or not everything.
    pub(crate) fn erase_staged(
        &self,
        vault: &Vault,
        name: &StagedName,
        (reason, is_done): (&str, bool),
    ) -> Result<Erased, Failure> {
        let _lock = match is_done {
            true => Some(self.lock_to_act(vault)?),
            false => None,
        };
        let desk = Desk::named(self, vault, (name, Sharing::All))?;
        let named = desk.find(name, Role::Reviewer)?;
        let raw = named.entry.raw();
        let content = match raw.map(|raw| read_payload(vault.files(), raw)) {
            Some(FoundPayload::Whole(bytes)) => Some(bytes),
            _ => None,
        };
        refuse_repeated(content.as_deref(), reason)?;
        // An entry that ended in another way can be erased by its name, because a merge may have
        // restored its content.
        let is_open = |entry: &StagedEntry| match &entry.ended {
            None => true,
            Some(ended) => ended.kind != ActKind::Erase && entry.name() == named.name(),
        };
        let is_everywhere = desk.has_role_everywhere(Role::Reviewer);
        let shares = |entry: &&StagedEntry| {
            raw.is_some()
                && entry.entry.raw() == raw
                && (is_everywhere || desk.is_reviewer(&entry.source))
        };
        let all: Vec<&StagedEntry> = desk.staged.entries.iter().filter(shares).collect();
        let open: Vec<&StagedEntry> = all.iter().copied().filter(|one| is_open(one)).collect();
        // The text of a source may be lost. Then no principal has a role for it.
        for entry in &open {
            desk.access.require(Some(&desk.principal), Role::Reviewer, &entry.source)?;
        }
        open.iter().try_for_each(|entry| refuse_promoted(entry))?;
        if is_done {
            let unfinished = Unfinished::begin(vault.files())?;
            desk.act(self, &open, (ActKind::Erase, self.now()?), Some(reason))?;
            // Uncommitted files of an interrupted command may contain the content, too.
            for temporary in vault.files().temporaries() {
                vault.files().discard(&format!("{LOCAL_DIR}/{temporary}"));
            }
            discard_recovered(vault, content.as_deref());
            desk.remove(&all)?;
            unfinished.end();
        }
        let path = raw.map(payload_path).unwrap_or_default();
        let in_git = outside::repository(vault.root()).is_some();
        let (commits, more, unknown) = match in_git && is_everywhere {
            true => self.commits_with(vault, &path),
            false => (Vec::new(), false, None),
        };
        let entries = open.into_iter().cloned().collect();
        Ok(Erased { entries, path, is_everywhere, in_git, commits, more, unknown })
    }

    /// Returns the commits that added a file, on any branch or reflog, true if there are more, and
    /// a reason if git did not answer.
    fn commits_with(&self, vault: &Vault, path: &str) -> (Vec<String>, bool, Option<String>) {
        let most = format!("--max-count={}", MOST_COMMITS + 1);
        let all =
            ["log", "--all", "--reflog", "--diff-filter=AMR", "--format=%H", &most, "--", path];
        match (self.environment.git)(vault.root(), &all, b"") {
            Ok(found) => {
                let text = String::from_utf8_lossy(&found);
                let is_hash = |line: &&str| {
                    !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_hexdigit())
                };
                let mut commits: Vec<String> =
                    text.lines().filter(is_hash).map(str::to_owned).collect();
                let more = commits.len() > MOST_COMMITS;
                commits.truncate(MOST_COMMITS);
                (commits, more, None)
            }
            Err(why @ (GitError::NotRun(_) | GitError::Refused(_))) => {
                (Vec::new(), false, Some(why.to_string()))
            }
        }
    }
}

/// Refuses a reason that repeats the content or a part of it, because the reason is kept.
fn refuse_repeated(content: Option<&[u8]>, reason: &str) -> Result<(), Failure> {
    let Some(part) = content.and_then(|content| repeated(reason, content)) else { return Ok(()) };
    let message = format!("the reason repeats `{part}` of the content, and the reason is kept");
    Err(Failure::new(Code::Refused, message)
        .hint("give a reason without such words, as in `contains a home address`"))
}

/// Returns a part of a reason that is also in the content.
///
/// A part is the whole content, [`LONG_REPEATED`] letters and digits in a row, or a word with a
/// digit or an `@`, such as a number or an address. Case, blanks and punctuation are ignored.
fn repeated<'r>(reason: &'r str, content: &[u8]) -> Option<&'r str> {
    let found = String::from_utf8_lossy(content);
    let content = plain(&found);
    let has = |part: &str| content.contains(part);
    // The range in the reason of each letter of the plain reason.
    let (mut text, mut places) = (String::new(), Vec::new());
    for (at, letter) in reason.char_indices() {
        let plain = plain(letter.encode_utf8(&mut [0; 4]));
        places.extend(plain.chars().map(|_| (at, at + letter.len_utf8())));
        text.push_str(&plain);
    }
    let of_run = |run: &[(usize, usize)]| Some(&reason[run.first()?.0..run.last()?.1]);
    let letters: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let run_of = |length: usize, is_it: &dyn Fn(&str) -> bool| {
        let mut starts = 0..places.len().saturating_sub(length - 1);
        let at = starts.find(|at| is_it(&text[letters[*at]..letters[at + length]]))?;
        of_run(&places[at..at + length])
    };
    let of_part = |part: &str| {
        text.contains(part).then(|| run_of(part.chars().count(), &|run| run == part)).flatten()
    };
    let is_whole = content.len() >= FEWEST_REPEATED && content.chars().count() < LONG_REPEATED;
    let is_telling = |word: &&str| {
        word.len() >= FEWEST_REPEATED && word.contains(|c: char| c.is_ascii_digit() || c == '@')
    };
    let ends = |c: char| c.is_whitespace() || "\"'`{}[]()<>|,;:=#".contains(c);
    let words_of = |text: &str| -> Vec<String> {
        let words = text.split(ends).filter(is_telling).map(plain);
        words.filter(|word| word.len() >= FEWEST_REPEATED).collect()
    };
    run_of(LONG_REPEATED, &|run| has(run))
        .or_else(|| is_whole.then(|| of_part(&content)).flatten())
        .or_else(|| words_of(&found).iter().find_map(|word| of_part(word)))
        .or_else(|| words_of(reason).iter().filter(|word| has(word)).find_map(|word| of_part(word)))
}

/// Returns the letters and digits of a text, in lower case.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Removes recovered files of an interrupted writer of a content: those with a beginning of it. If
/// the content is no longer known, they cannot be recognised.
fn discard_recovered(vault: &Vault, content: Option<&[u8]>) {
    let (files, Some(content)) = (vault.files(), content) else { return };
    for folder in files.names(RECOVERED).unwrap_or_default() {
        // The folder was below `.context/local`, and is stored without the dot.
        let folder = format!("{RECOVERED}/{folder}/{}", LOCAL_DIR.trim_start_matches('.'));
        for name in files.names(&folder).unwrap_or_default() {
            let path = format!("{folder}/{name}");
            let is_part = files
                .read(&path, limit::STAGED)
                .is_ok_and(|bytes| !bytes.is_empty() && content.starts_with(&bytes));
            if is_part {
                files.discard(&path);
            }
        }
    }
}

/// Returns the payloads that no entry claims, apart from the entries in `gone`.
///
/// Only payloads of `gone` are searched, or all of them if `sweeps` is set; while a chain is
/// damaged, only payloads that some entry names.
fn unclaimed(
    (vault, staged, is_damaged): (&Vault, &Staged, bool),
    gone: &[&StagedEntry],
    (sweeps, now): (bool, Timestamp),
) -> Result<Vec<Digest>, Failure> {
    let places: BTreeSet<_> = gone.iter().map(|one| one.place()).collect();
    let left = staged.entries.iter().filter(|one| !places.contains(&one.place()));
    let claimed: BTreeSet<Digest> =
        left.filter(|one| one.claims(now)).filter_map(|one| one.entry.raw()).collect();
    let files = vault.files();
    let mut all: Vec<Digest> = match (sweeps, is_damaged) {
        (true, false) => all_payloads(files)?,
        (true, true) => staged.entries.iter().filter_map(|one| one.entry.raw()).collect(),
        (false, _) => gone.iter().filter_map(|one| one.entry.raw()).collect(),
    };
    all.sort_unstable();
    all.dedup();
    all.retain(|raw| !claimed.contains(raw));
    all.retain(|raw| files.exists(&payload_path(*raw)));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erase_refuses_a_reason_that_repeats_the_content() {
        let content = b"{\"name\": \"Jane Doe of Springfield\", \"ssn\": \"123-45-6789\"}";
        for (reason, part) in [
            ("request of JANE DOE of Springfield", Some("JANE DOE of Springf")),
            ("has the number 123-45-6789.", Some("123-45-6789")),
            ("she asked for it, ticket 4711", None),
            ("the name and the ssn of a customer", None),
        ] {
            assert_eq!(repeated(reason, content), part, "{reason}");
        }
        assert_eq!(repeated("because of jane@x.org", b"jane@x.org\n"), Some("jane@x.org"));
        assert_eq!(repeated("it says ABCD", b" \"abcd\" "), Some("ABCD"));
        assert_eq!(repeated("erika mustermann", b"Erika Mustermann"), Some("erika mustermann"));
        // A word of the content is found inside a word of the reason, and without spaces.
        let glued = Some("123-45-6789");
        assert_eq!(repeated("has the number:123-45-6789", content), glued);
        assert_eq!(repeated("ticket#123-45-6789", b"{\"ssn\":\"123-45-6789\"}"), glued);
        let name = "\u{738b}\u{4f1f}";
        assert_eq!(repeated(&format!("contains {name}"), name.as_bytes()), Some(name));
        assert_eq!(repeated("no", b"no"), None);
        assert_eq!(repeated("\u{e9}t\u{e9}", &[0xff, 0]), None);
    }
}
