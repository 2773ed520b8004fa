//! A hash-chained log in JSON Lines of which each writer has files of its own (AUDIT-1, STAGE-2): where
//! the log of a writer ends, how lines are put there, and what is kept in mind of it outside the vault.
//!
//! Change lines and lines of staging chains are payloads, see [`Journal`]; accesses share all but the
//! seat, because processes take turns at their log without the write lock of a vault. `writer` is
//! whose chain it is, `end` the line that the next one follows, `seat` the place of that line, `tails`
//! the last line of each writer of this user, and `last` the same of logs whose lines are not waited
//! for.

mod end;
mod last;
mod seat;
mod tails;
mod writer;

pub(crate) use end::{End, MAX_LINE, last_line};
pub(crate) use last::Last;
pub use last::LastLines;
pub(crate) use seat::{Journal, MOST_AFTER, Seat, torn};
pub use tails::{Tail, Tails};
pub(crate) use writer::{FULL, FilesByWriter, by_writer, digits, files_in};
pub use writer::{Random, WriterId};
