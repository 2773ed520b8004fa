//! Hash-chained logs in JSON Lines, in which each writer has its own files (AUDIT-1, STAGE-2): the
//! end of a writer's log, appends to it, and the record of it outside of the vault.
//!
//! Lines of change logs and staging chains are payloads, see [`Journal`]. Access logs share all but
//! the seat, because processes take turns at their log without the write lock of a vault. `writer`
//! is the id of a writer, `end` the line that the next one follows, and `seat` the position of that
//! line. `tails` records the last line of each writer of this user, and `last` does so for logs
//! whose lines are not always synced.

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
