//! Reviews as histories record them: submissions, decisions, and the validity of approvals (paper,
//! section 4.5; `spec/review.md`).
//!
//! [`Track`] reads the versions of one history in order and keeps the pending submission.
//! [`Rules`] are the stewards and settings in force before an event, and judge a decision by them.
//! The writer of a decision and the verifier call the same functions. Nothing here reads a live
//! file or writes.

mod approval;
mod author;
mod content;
mod judge;
mod moved;
mod past;
mod proposal;
mod ruleset;
mod track;

pub use approval::{MoveSource, Reviewed, Versions};
pub use author::Barred;
pub use judge::{Fault, FaultKind};
pub(crate) use moved::{ApprovedMove, MovedText};
pub use past::{PastSubmission, SubmissionEnd};
pub use proposal::Proposal;
pub use ruleset::{Rules, Unfit};
pub(crate) use track::fields_of;
pub use track::{Approval, EmergencyRetirement, Pending, Published, StepKind, Tail, Track, is_act};
