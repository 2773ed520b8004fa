//! `--expect-version` and `--expect-hash`, of every verb that writes to the vault.

use super::failure::{Code, Failure};
use super::session::Session;
use super::ui::{first, shown};
use crate::head;
use crate::model::id::Id;
use crate::publish::expect::{self, Mismatch, Moved, TakeIn};
use crate::publish::{Expect, Mode};
use crate::vault::Vault;
use crate::words::argument;

/// How many lines of a diff are shown.
const MOST: usize = 60;

/// What the writer has read.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct ExpectArgs {
    /// Write only if this version of the document is published; 0: none
    #[arg(long, value_name = "N")]
    expect_version: Option<u64>,
    #[command(flatten)]
    head: ExpectHead,
}

/// The head that the writer has read.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct ExpectHead {
    /// Write only if this is the hash of the log's head (`ctx head`), or the chain hash of the one
    /// document that is written (`ctx history`)
    #[arg(long, value_name = "HASH")]
    expect_hash: Option<String>,
}

impl ExpectArgs {
    pub(super) fn read(&self) -> Result<Expect, Failure> {
        Ok(Expect { version: self.expect_version, ..self.head.read()? })
    }

    /// How an event is written whose writer expects this.
    pub(super) fn mode(&self, dry_run: bool) -> Result<Mode, Failure> {
        Ok(Mode { dry_run, expect: self.read()?, ..Mode::default() })
    }
}

impl ExpectHead {
    pub(super) fn read(&self) -> Result<Expect, Failure> {
        let parse = |text: &String| {
            text.parse().map_err(|why: crate::model::digest::DigestError| {
                Failure::new(Code::Usage, format!("--expect-hash: {why}"))
                    .hint("`ctx head` prints the hash of the log's head")
            })
        };
        Ok(Expect { version: None, hash: self.expect_hash.as_ref().map(parse).transpose()? })
    }
}

impl Session<'_> {
    /// For a verb that writes without an event: refuses it if something else is published than its
    /// writer has read. Asked under the lock.
    pub(super) fn check_expected(
        &self,
        vault: &Vault,
        ids: &[&Id],
        expect: Expect,
    ) -> Result<(), Failure> {
        if expect == Expect::default() {
            return Ok(());
        }
        let log = head::open_log_locked(vault)?;
        Ok(expect::check(vault, &log.sound()?, ids, expect)?)
    }
}

impl Failure {
    /// What was published since, and how to take it in.
    pub(super) fn not_as_expected(message: String, mismatch: &Mismatch) -> Self {
        let mut failure = Self::new(Code::NotAsExpected, message);
        for moved in &mismatch.moved {
            failure.details.extend(details(moved));
        }
        let takes_in = mismatch.moved.iter().filter_map(takes_in);
        let hints: Vec<String> = takes_in.collect();
        let failure = hints.into_iter().fold(failure, Self::hint);
        failure.hint("nothing was written; expect what is published once you have taken it in")
    }
}

/// Who wrote what in between.
fn details(moved: &Moved) -> Vec<String> {
    let id = &moved.id;
    let mut lines: Vec<String> = moved
        .between
        .iter()
        .map(|entry| {
            let (version, by, at) = (entry.version, &entry.edited_by, entry.edited_at);
            let what = if entry.retired_at.is_some() { " (retired)" } else { "" };
            let note = entry.note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
            format!("{id} version {version}{what}, by {by} at {at}{note}")
        })
        .collect();
    let diff: Vec<&str> = moved.diff.iter().flat_map(|(diff, _)| diff.lines()).collect();
    lines.extend(first(MOST, diff.into_iter(), str::to_owned));
    lines
}

/// The command that takes it in.
fn takes_in(moved: &Moved) -> Option<String> {
    let (from, to, (_, way)) = (moved.from?, moved.to, moved.diff.as_ref()?);
    let path = moved.id.live_path();
    let (shown, path, id) = (shown(&path), argument(&path), argument(moved.id.as_str()));
    (to > from).then(|| match way {
        TakeIn::Done => format!("`{shown}` is made from version {to} already: look at what it holds"),
        TakeIn::Patch => format!(
            "in the vault's folder, `ctx diff {id} {from} {to} | patch {path}` puts that into your file"
        ),
        TakeIn::ByHand => format!(
            "`ctx diff {id} {from} {to}` shows it: put it into `{shown}` by hand, with `version: {to}`"
        ),
        TakeIn::Absent => format!("`{shown}` is not there: `ctx show {id} {to}` prints what is published"),
    })
}
