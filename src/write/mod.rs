//! The write transaction (`commit`), and the operations that publish with it (`publish`).

pub mod commit;
pub mod publish;
