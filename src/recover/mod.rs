//! Repair of a damaged or interrupted record: `recovery` clears what an interrupted command left,
//! `lost` names what cannot be restored, `rebuild` derives a log from the histories and `replace`
//! puts it in the place of the old one.

mod lost;
mod rebuild;
mod recovery;
mod replace;

pub use lost::{Lost, LostVersion};
pub use rebuild::{Rebuilt, Unsound, rebuild};
pub use recovery::{RecoverError, Recovery, Request, Unreliable, recover};
pub use replace::{RebuildError, RebuildRequest, Refused, Replacement, exchange_log, rebuild_log};
