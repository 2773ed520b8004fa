//! Code that all front ends share: the opened vault and its queries (`workspace`), their reports
//! (`report`), and the files of a new vault (`starter`).

pub mod report;
pub(crate) mod starter;
pub mod workspace;
