//! What every front end shares: the opened vault, its questions and their reports.

pub mod report;
pub(crate) mod starter;
pub mod workspace;
