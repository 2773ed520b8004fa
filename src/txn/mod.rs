//! The write transaction (`spec/transactions.md`): clear away what a writer left that died, write the
//! versions of an event, commit by the checkpoint's line, bring the live files up to date.
//!
//! A writer commits by the checkpoint's line in the log. One that died before leaves bytes that no
//! checkpoint seals, which nobody serves: `leftovers` finds them, `keep` moves them out of the way and
//! never drops them. One that died after it leaves live files behind: `behind` brings them up to date.
//! `hint` names the places to look at; nothing in the vault is trusted about what happened there.

pub(crate) mod after;
mod behind;
pub(crate) mod commit;
pub mod expect;
pub(crate) mod hint;
mod item;
pub(crate) mod keep;
pub(crate) mod leftovers;
mod settle;
pub(crate) mod stamp;

pub use after::StepFailure;
pub use commit::Committed;
pub use item::{Change, Item, Live};
pub use leftovers::{Leftover, Remains, Uncleared};
pub use settle::{Plan, Recovered, Scope, SettleError, carry_out, plan};

pub(crate) use item::Extension;
pub(crate) use leftovers::{are_of, events_from, first_unsealed, sealed_form};
pub(crate) use settle::settled_log;
