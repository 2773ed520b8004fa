//! The transaction that writes (`commit`), and what publishes (`publish`).

pub mod commit;
pub mod publish;
