//! The folder of a vault, other files on disk, and programs of the user.
//!
//! `vault` reads and writes the files of a vault and reads its configuration, `process` runs
//! programs that the user's own configuration names, and `cache` manages the caches of the user.

pub(crate) mod cache;
pub(crate) mod process;
pub mod vault;
