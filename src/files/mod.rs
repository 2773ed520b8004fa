//! The folder of a vault, other files on disk, and programs of the user.
//!
//! `vault` reads and writes the files of a vault and knows its configuration, `process` runs programs
//! that the user's own configuration names, and `cache` owns the life of a cache.

pub(crate) mod cache;
pub(crate) mod process;
pub mod vault;
