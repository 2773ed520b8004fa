//! The values that all modules share: ids, digests, timestamps, principals, the names of files, and
//! the characters that no name holds. A value checks itself when it is made; nothing here reads a
//! file.

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
