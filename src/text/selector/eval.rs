//! Set algebra over bitmaps of documents.
//!
//! Each expression is evaluated within the documents that can still matter: an intersection narrows
//! from operand to operand, what needs ids alone first, and a difference asks its right side
//! only about its left. The result is the plain set algebra all the same.

use roaring::RoaringBitmap;

use super::ast::{Atom, Expr, Node};

/// The documents that a selector chooses from, at one checkpoint. A document is a number that means
/// something to the universe alone.
pub trait Universe {
    /// Why documents could not be looked up.
    type Error;

    /// The documents that the atom names. Those that are not in `within` do not matter: they may be
    /// in the answer, and cost of theirs is cost for nothing.
    ///
    /// # Errors
    /// The documents could not be looked up.
    fn select(
        &self,
        atom: &Atom,
        within: Option<&RoaringBitmap>,
    ) -> Result<RoaringBitmap, Self::Error>;
}

/// The documents that an expression selects.
///
/// # Errors
/// The first error of the universe.
pub fn eval<U: Universe>(expr: &Expr, universe: &U) -> Result<RoaringBitmap, U::Error> {
    select(expr, universe, None)
}

fn select<U: Universe>(
    expr: &Expr,
    universe: &U,
    within: Option<&RoaringBitmap>,
) -> Result<RoaringBitmap, U::Error> {
    if within.is_some_and(RoaringBitmap::is_empty) {
        return Ok(RoaringBitmap::new());
    }
    match &expr.node {
        Node::Atom(atom) => {
            let mut found = universe.select(atom, within)?;
            if let Some(within) = within {
                found &= within;
            }
            Ok(found)
        }
        Node::Intersection(operands) => {
            let (rest, by_id): (Vec<&Expr>, _) = operands.iter().partition(|o| o.needs_metadata());
            let mut left: Option<RoaringBitmap> = None;
            for operand in by_id.into_iter().chain(rest) {
                left = Some(select(operand, universe, left.as_ref().or(within))?);
            }
            Ok(left.unwrap_or_default())
        }
        Node::Difference(first, others) => {
            let mut left = select(first, universe, within)?;
            for operand in others {
                left -= select(operand, universe, Some(&left))?;
            }
            Ok(left)
        }
        Node::Union(operands) => {
            let mut found = RoaringBitmap::new();
            for operand in operands {
                found |= select(operand, universe, within)?;
            }
            Ok(found)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;

    use super::*;
    use crate::text::selector::parse;
    use crate::text::selector::parse::tests::{expressions, plain};
    use proptest::prelude::*;

    /// Membership is a hash of atom and document; every question is written down.
    struct Asked {
        len: u32,
        log: RefCell<Vec<String>>,
    }

    fn holds(atom: &Atom, document: u32) -> bool {
        let name = atom.to_string();
        let mixed = name.bytes().fold(document.wrapping_mul(0x9e37_79b9), |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        mixed >> 16 & 3 != 0
    }

    impl Universe for Asked {
        type Error = Infallible;

        fn select(
            &self,
            atom: &Atom,
            within: Option<&RoaringBitmap>,
        ) -> Result<RoaringBitmap, Infallible> {
            let asked = within.map_or(u64::from(self.len), RoaringBitmap::len);
            self.log.borrow_mut().push(format!("{atom} of {asked}"));
            // What is outside of `within` may be in the answer.
            Ok((0..self.len).filter(|d| holds(atom, *d)).collect())
        }
    }

    fn ask(text: &str, len: u32) -> (Vec<u32>, Vec<String>) {
        let log = RefCell::default();
        let universe = Asked { len, log };
        let Ok(found) = eval(&plain(&parse(text).unwrap().expr), &universe);
        (found.iter().collect(), universe.log.into_inner())
    }

    #[test]
    fn what_needs_ids_alone_is_asked_first_and_narrows_the_rest() {
        let (_, log) = ask("#a (contextnest://x/ | contextnest://y) - #b", 100);
        insta::assert_snapshot!(log.join("\n"), @"
        contextnest://x/ of 100
        contextnest://y of 100
        #a of 94
        #b of 67
        ");
    }

    #[test]
    fn nothing_is_asked_about_no_document() {
        let (found, log) = ask("#a #b | #a - #b", 0);
        assert_eq!((found.len(), log.join(", ")), (0, "#a of 0, #a of 0".to_owned()));
    }

    #[test]
    fn long_chains_cost_no_stack() {
        for sign in ["+", " - ", "|", " "] {
            let (found, log) = ask(&["#a"; 1500].join(sign), 50);
            assert!(found.len() <= 50);
            assert!(log.len() == 1500 || sign == " - ");
        }
    }

    proptest! {
        #[test]
        fn narrowing_does_not_change_the_set(expr in expressions(), len in 0u32..40) {
            let (expr, log) = (plain(&expr), RefCell::default());
            let Ok(found) = eval(&expr, &Asked { len, log });
            let expected: Vec<u32> = (0..len).filter(|d| expr.holds(&|atom| holds(atom, *d))).collect();
            prop_assert_eq!(found.iter().collect::<Vec<u32>>(), expected);
        }
    }
}
