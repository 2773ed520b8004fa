//! Staged results as a principal may see them, and acts on them (`spec/staging.md`).
//!
//! `view` decides which entries a principal sees, and hands out their contents. `acts` pins, unpins
//! and discards, `ending` collects and erases, `promotion` makes a document from an entry, and
//! `acting` records all of these. `matching` selects entries by a selector, and `difference`
//! compares two.

mod acting;
mod acts;
mod difference;
mod ending;
mod matching;
mod promotion;
mod view;

pub(crate) use difference::{Difference, PromotedFrom, handed_out};
pub(crate) use promotion::{Promoted, Target};
pub(crate) use view::{Content, Listed, StagedView};
pub(super) use view::{content, last_text, lines_of};
