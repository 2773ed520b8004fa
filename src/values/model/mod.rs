//! The values that all modules share: ids, digests, timestamps, principals, file names, and the
//! characters that names cannot contain. A value is checked when it is made. No code here reads
//! a file.

pub mod digest;
pub(crate) mod emoji;
pub mod filtered;
pub mod governance_file;
pub mod hint;
pub mod id;
pub mod layout;
pub mod name;
pub mod number;
pub mod principal;
pub mod stage;
pub mod tag;
pub mod timestamp;
pub mod transport;
pub mod verb;
pub mod visible;
