//! The audit logs: accesses, which record which text was handed out, to whom and at which
//! checkpoint, and changes of the vault (paper, section 9.2, Property 5; `spec/audit.md`).
//!
//! - Lines: `line` is a line and its hash. Its parts are in `event`, `change`, `text`, `hydration`,
//!   `produced`, `labels` and `traceparent`. `canonical` is its one spelling, and `values` rejects
//!   values that no writer records. A text leaves the library only as [`Traced`], so that no front
//!   end can forget to record it.
//! - Writing: `place` finds the log in a `folder` of the user or of the vault, `end` spells the
//!   next lines, and `append` writes them; `crate::record::journal` owns the log of a writer.
//!   `changes` writes the change log, and `bind` is the part of it that checkpoints bind.
//! - Reading: `chain` reads the files in `blocks` of lines and checks them; `fault` lists the
//!   faults, and `heads` contains the checkpoints to compare with. `filter` and `pattern` select
//!   lines, `find` finds the line of a trace, and `follow` waits for new lines. `prior`, `impact`
//!   and `raw` answer questions, and `sight` limits what a reader may see.
//! - Several places: `elsewhere` reads the logs of other paths, `collect` joins the logs of several
//!   machines, `missing` finds lines of this user that the vault lacks, and `past` lines of a revision.
//! - Deleting: `prune` deletes the oldest accesses, except those of a `hold`, and `cut` is the
//!   record of it.

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
pub(crate) mod past;
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
