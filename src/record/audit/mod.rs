//! The access log: which text was handed out, to whom, and at which checkpoint (paper, section 9.2,
//! Property 5; `spec/audit.md`).
//!
//! `text` is what a line says of one text, and [`Traced`] the type in which a text leaves the
//! library, so that no front end can forget it. `line` is a line and its hash, `event` what it
//! says was answered, `values` which values no writer records, `canonical` its one
//! spelling, `labels` who asks, `place` where it goes, in a `folder` of the user or of the vault,
//! `end` the lines after the last one, and `append` how they get there (`crate::record::journal` owns the
//! log of a writer); `missing` is what the vault lacks of what this user wrote. `chain` reads the files again, in `blocks` of lines, and checks them; `fault` is
//! what it finds wrong, `heads` what the vault knows of its times, `filter` and `pattern` which lines a question is about, `find` the line that a
//! trace names, and `follow` what is new. `elsewhere` reads
//! those of other paths, and `collect` brings the logs of several machines together.
//! `produced` is what an agent made of it, `prior` what it had got before, `hydration` what it fetched as a source says, and `traceparent` the span of a distributed trace that a
//! command is run in. `changes` is the log of those who write, in the vault; `bind` is what its lines let checkpoints bind. `prune` deletes the oldest accesses, but those that a `hold` names, and
//! `cut` is where that was. `sight` is what a reader may see of it.

mod append;
mod bind;
mod blocks;
mod canonical;
mod chain;
mod change;
pub(crate) mod changes;
mod collect;
mod cut;
mod elsewhere;
mod end;
mod event;
mod fault;
mod filter;
mod find;
mod folder;
mod follow;
mod heads;
pub(crate) mod hold;
mod hydration;
mod impact;
mod labels;
mod line;
pub(crate) mod missing;
mod pattern;
mod place;
mod prior;
mod produced;
pub(crate) mod prune;
mod raw;
mod sight;
mod text;
mod traceparent;
mod values;

pub use append::AppendError;
pub(crate) use append::append;
pub use bind::BindLines;
pub(crate) use canonical::MemberFault;
pub use chain::{Keep, Logs, Verified};
pub use change::{
    Change, Cut, DraftRef, HeadRef, Hold, LostLines, MAX_DOCUMENTS, ReviewStep, StagedEnd,
    StagedStep, VersionRef,
};
pub use changes::{ChangeError, Recorder};
pub use collect::{Collected, Collection, Contradicted, FileOutcome, folder_with_logs};
pub use cut::{Cuts, Pruned, Pruning};
pub(crate) use elsewhere::{Elsewhere, Shared, fault_at_ends};
pub use event::{Access, Event, EventKind, Listing, Output, Query, Refused, WithheldCount};
pub(crate) use fault::Faults;
pub use fault::{Fault, FaultKind};
pub use filter::Filter;
pub(crate) use find::Standing;
pub use follow::{Follower, New, Take};
pub use heads::Heads;
pub use hold::{Holds, PlacedHold};
pub use hydration::{Cached, Hydration};
pub use impact::{Reading, readings};
pub use labels::{LabelError, Labels, check as check_label};
pub use line::{Arguments, Line, LineFault, Request, TraceId};
pub(crate) use line::{sound_members, spell};
pub use pattern::{Pattern, PatternError};
pub(crate) use place::{Place, recorded_roots};
pub use prior::{Prior, Priors, before};
pub(crate) use prior::{is_before, session_of};
pub use produced::Produced;
pub(crate) use prune::prunings;
pub use prune::{Plan, WriterPlan};
pub use raw::RawLine;
pub use sight::Sight;
pub use text::{Deciding, Part, Text, Traced};
pub use traceparent::TraceParent;

pub use crate::record::journal::{LastLines, Random, Tail, Tails, WriterId};
