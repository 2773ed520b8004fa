//! Repair of a damaged or interrupted record.
//!
//! `recovery` cleans up after an interrupted command, and `lost` lists what cannot be restored.
//! `rebuild` derives a log from the histories, without `unapproved` versions, and `replace`
//! replaces the old log by it.

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
