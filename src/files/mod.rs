//! The folder of a vault and other files on disk, and programs of the user.

pub(crate) mod program;
pub(crate) mod store;
pub mod vault;
