//! The folder of a vault and other files on disk, and programs of the user.

pub(crate) mod cache;
pub(crate) mod process;
pub mod vault;
