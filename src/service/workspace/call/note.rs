//! Notes on an answer, each with one text. A front end spells the commands, and prints the text.

use crate::service::report::Spell;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::visible::shown;
use crate::values::text_util::count;

/// A note on an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// The log does not contain the trusted head.
    LostHead(String),
    /// Number of documents of this checkpoint that the reader may not read.
    Unreadable(usize, CheckpointNumber),
    /// An unused key of the user's configuration, in words.
    Setting(String),
    /// The change log could not be written, with the reason.
    NoChange(String),
    /// The program of the user's configuration was not notified, with the reason.
    NotNotified(String),
    /// A staging chain of this source is damaged.
    DamagedChain(DocumentId),
    /// Staged results cannot be read, with the reason.
    NoStaging(String),
    /// Number of faults of the access logs, which may lack accesses, and the folder if the user named
    /// one.
    LogFaults(usize, Option<String>),
    /// The change logs are damaged or lack lines.
    ChangeFaults,
    /// A staged result of the answer cannot be read, with the reason.
    NoContent(String),
    /// The checkpoint has no instructions for agents that the reader may read.
    NoInstructions,
    /// Number of tokens of the instructions for agents, which do not fit into the answer.
    #[cfg(feature = "mcp")]
    LongInstructions(u64),
}

/// The importance of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The vault is damaged, or a record of this call is missing. A report repeats it.
    Damage,
    /// A part of the answer, or of what the user asked for, is missing.
    Warning,
    /// The reader may not see all of it, which is not a fault.
    Remark,
}

impl Note {
    /// Returns the importance of the note.
    pub(crate) fn weight(&self) -> Weight {
        match self {
            Self::LostHead(_)
            | Self::NoChange(_)
            | Self::DamagedChain(_)
            | Self::NoStaging(_)
            | Self::ChangeFaults => Weight::Damage,
            Self::Setting(_) | Self::NotNotified(_) | Self::LogFaults(..) | Self::NoContent(_) => {
                Weight::Warning
            }
            Self::Unreadable(..) | Self::NoInstructions => Weight::Remark,
            #[cfg(feature = "mcp")]
            Self::LongInstructions(_) => Weight::Remark,
        }
    }

    /// Returns the note in words.
    pub(crate) fn text(&self, spell: Spell) -> String {
        let run = |what: String, call: Call| what + &Hint::call("; run {}", call).render(spell);
        let verify = || Call::new(Verb::Verify);
        match self {
            Self::LostHead(why) => {
                run(format!("the log may be truncated or replaced: {why}"), verify())
            }
            Self::Unreadable(documents, at) => {
                let what = count(*documents, "document");
                format!("you may not read {what} of checkpoint {at}")
            }
            Self::Setting(unknown) => shown(unknown).into_owned(),
            Self::NoChange(why) => {
                format!("the change log could not be written: {}", shown(why))
            }
            Self::NotNotified(why) => {
                format!("recorded, but the notification failed: {}", shown(why))
            }
            Self::DamagedChain(source) => {
                let what = format!(
                    "a staging chain of `{source}` is damaged: staged results, and acts on them, \
                     may be missing here"
                );
                run(what, verify())
            }
            Self::NoStaging(why) => {
                run(format!("staged results cannot be read: {}", shown(why)), verify())
            }
            Self::LogFaults(faults, folder) => {
                let what = count(*faults, "fault");
                let call = Call::new(Verb::TraceVerify);
                let call = match folder {
                    Some(folder) => call.word("--logs").value(folder),
                    None => call,
                };
                run(format!("the log has {what}, so accesses may be missing"), call)
            }
            Self::ChangeFaults => run(
                "the change log is damaged or lacks lines, so acts may be missing here".to_owned(),
                Call::new(Verb::TraceVerify),
            ),
            Self::NoContent(why) => shown(why).into_owned(),
            // True if they are hidden, and if they are absent.
            Self::NoInstructions => "no instructions that you can read are published".to_owned(),
            #[cfg(feature = "mcp")]
            Self::LongInstructions(tokens) => format!(
                "the instructions ({tokens} tokens) do not fit; raise `budget`, or read \
                 `CONTEXT.md` with `context_read`"
            ),
        }
    }
}
