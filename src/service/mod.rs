//! What every front end shares: the opened vault and its questions (`workspace`), their reports
//! (`report`), and the files of a new vault (`starter`).

pub mod report;
pub(crate) mod starter;
pub mod workspace;
