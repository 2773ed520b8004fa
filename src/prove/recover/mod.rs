//! Repair of a damaged or interrupted record: `recovery` clears what an interrupted command left,
//! `lost` names what cannot be restored, `rebuild` derives a log from the histories, without what is
//! `unapproved`, and `replace` puts it in the place of the old one.

mod governed;
mod lost;
mod rebuild;
mod recovery;
mod replace;
mod unapproved;

pub(crate) use lost::{Lost, LostVersion};
pub(crate) use recovery::{
    CompletedAct, CompletedPromotion, RecoverError, Recovery, Request, Unreliable, recover,
};
pub(crate) use replace::{
    RebuildError, RebuildRequest, Refused, Replacement, exchange_log, rebuild_log,
};
pub(crate) use unapproved::Unapproved;
