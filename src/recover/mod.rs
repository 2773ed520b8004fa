//! What comes back of a record that is damaged: `lost` says what does not, `rebuild` makes a log from
//! the histories.

mod lost;
mod rebuild;

pub use lost::{Lost, LostVersion};
pub use rebuild::{Rebuilt, Unsound, exchange_log, rebuild, replace_log};

pub(crate) use lost::lost;
