//! The access log: which text was handed out, to whom, and at which checkpoint (paper, section 9.2,
//! Property 5; `spec/audit.md`).
//!
//! `text` is what a line says of one text, and [`Traced`] the type in which a text leaves the
//! library, so that no front end can forget it. `line` is a line and its hash, `labels` who asks,
//! `writer` whose file it goes to, `append` how it gets there, and `chain` reads the files of a
//! vault again and checks them.

mod append;
mod chain;
mod filter;
mod impact;
mod labels;
mod line;
mod raw;
mod text;
mod writer;

pub use append::AppendError;
pub(crate) use append::append;
pub use chain::{Fault, FaultKind, Logs, Wanted};
pub use filter::Filter;
pub use impact::{Reading, readings};
pub use labels::{LabelError, Labels, check as check_label};
pub use line::{
    Access, Arguments, Event, HeadRef, Line, LineFault, Listing, MAX_DOCUMENTS, Output, Query,
    Refused, Request, TraceId, WithheldCount,
};
pub use raw::{RawLine, RawLines};
pub use text::{Part, Text, Traced};
pub(crate) use writer::{Place, digits};
pub use writer::{Random, WriterId};
