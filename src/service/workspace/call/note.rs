//! What is said beside an answer, in one text each. A front end spells the commands, and prints it.

use crate::service::report::Spell;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::visible::shown;
use crate::values::text_util::count;

/// What is said beside an answer, whatever the question was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// The log does not hold the trusted head.
    LostHead(String),
    /// The reader may not read so many documents of this checkpoint.
    Unreadable(usize, CheckpointNumber),
    /// A key of the user's configuration that nothing reads, in words.
    Setting(String),
    /// The change log lacks what was done, and why.
    NoChange(String),
    /// The program of the user's configuration was not told, and why.
    NotNotified(String),
    /// A staging chain of this source is damaged.
    DamagedChain(DocumentId),
    /// Staged results cannot be read, and why.
    NoStaging(String),
    /// The access logs have so many faults, so that accesses may be missing. The user may have named
    /// their folder.
    LogFaults(usize, Option<String>),
    /// A staged result of the answer cannot be read, and why.
    NoContent(String),
    /// The checkpoint has no instructions for agents that the reader may read.
    NoInstructions,
    /// The instructions for agents, so many tokens, do not fit into the answer.
    #[cfg(feature = "mcp")]
    LongInstructions(u64),
}

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The vault is damaged, or a record of this call is missing. A report repeats it.
    Damage,
    /// A part of the answer, or of what the user asked for, is missing.
    Warning,
    /// The reader may not see all of it, which is no fault.
    Remark,
}

impl Note {
    /// How much it matters.
    pub(crate) fn weight(&self) -> Weight {
        match self {
            Self::LostHead(_) | Self::NoChange(_) | Self::DamagedChain(_) | Self::NoStaging(_) => {
                Weight::Damage
            }
            Self::Setting(_) | Self::NotNotified(_) | Self::LogFaults(..) | Self::NoContent(_) => {
                Weight::Warning
            }
            Self::Unreadable(..) | Self::NoInstructions => Weight::Remark,
            #[cfg(feature = "mcp")]
            Self::LongInstructions(_) => Weight::Remark,
        }
    }

    /// The note in words.
    pub(crate) fn text(&self, spell: Spell) -> String {
        let run = |what: String, call: Call| what + &Hint::call("; run {}", call).render(spell);
        let verify = || Call::new(Verb::Verify);
        match self {
            Self::LostHead(why) => {
                run(format!("the log may be truncated or replaced: {why}"), verify())
            }
            Self::Unreadable(documents, at) => {
                let what = count(*documents, "document");
                format!("{what} of checkpoint {at} may not be read by you")
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
                    "a staging chain of `{source}` is damaged: staged results, and acts upon them, \
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
            Self::NoContent(why) => shown(why).into_owned(),
            // True if they are hidden, and if they are absent.
            Self::NoInstructions => "there are no instructions that you may read".to_owned(),
            #[cfg(feature = "mcp")]
            Self::LongInstructions(tokens) => format!(
                "the instructions ({tokens} tokens) do not fit; raise `budget`, or read \
                 `CONTEXT.md` with `context_read`"
            ),
        }
    }
}
