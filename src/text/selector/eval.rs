//! Set algebra over bitmaps of documents.
//!
//! Each expression is evaluated within the documents that can still matter. An intersection narrows
//! from operand to operand, beginning with those that need ids alone, and a difference evaluates
//! its right side only for its left. The result is that of plain set algebra.

use roaring::RoaringBitmap;

use super::ast::{Atom, Expr, Node};

/// The documents that a selector chooses from, at one checkpoint. Documents are numbers that only
/// the universe interprets.
pub trait Universe {
    /// The error of a failed look-up.
    type Error;

    /// Returns the documents that the atom names. Those outside of `within` do not matter: the
    /// answer may contain them, but it need not spend work on them.
    ///
    /// # Errors
    /// The documents could not be looked up.
    fn select(
        &self,
        atom: &Atom,
        within: Option<&RoaringBitmap>,
    ) -> Result<RoaringBitmap, Self::Error>;
}

/// Returns the documents that an expression selects.
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

    /// Decides membership by a hash of atom and document; every query is logged.
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
            // The answer may contain documents outside of `within`.
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
    fn eval_narrows_by_ids_before_other_atoms() {
        let (_, log) = ask("#a (contextnest://x/ | contextnest://y) - #b", 100);
        insta::assert_snapshot!(log.join("\n"), @"
        contextnest://x/ of 100
        contextnest://y of 100
        #a of 94
        #b of 67
        ");
    }

    #[test]
    fn eval_skips_empty_sets() {
        let (found, log) = ask("#a #b | #a - #b", 0);
        assert_eq!((found.len(), log.join(", ")), (0, "#a of 0, #a of 0".to_owned()));
    }

    #[test]
    fn eval_of_long_chains_does_not_recurse() {
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
