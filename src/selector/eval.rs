//! Set algebra over sorted lists of documents.
//!
//! Documents are ordinals in byte order of their ids, so every result is in that order. Each
//! expression is evaluated within the documents that can still matter: an intersection narrows
//! from operand to operand, what needs ids alone first, and a difference asks its right side
//! only about its left. The result is the plain set algebra all the same.

use super::ast::{Atom, Expr, Node};

/// The documents that a selector chooses from, at one checkpoint.
pub trait Universe {
    /// Why documents could not be looked up.
    type Error;

    /// The number of documents; their ordinals are `0..len`.
    fn len(&self) -> u32;

    /// Whether there is no document.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The documents of `within` that the atom names.
    ///
    /// `within` and the result rise strictly. A `within` as long as the universe is all of it.
    ///
    /// # Errors
    /// The documents could not be looked up.
    fn select(&self, atom: &Atom, within: &[u32]) -> Result<Vec<u32>, Self::Error>;
}

/// The documents that an expression selects, in byte order of their ids.
///
/// # Errors
/// The first error of the universe.
pub fn eval<U: Universe>(expr: &Expr, universe: &U) -> Result<Vec<u32>, U::Error> {
    let all: Vec<u32> = (0..universe.len()).collect();
    select(expr, universe, &all)
}

fn select<U: Universe>(expr: &Expr, universe: &U, within: &[u32]) -> Result<Vec<u32>, U::Error> {
    if within.is_empty() {
        return Ok(Vec::new());
    }
    match &expr.node {
        Node::Atom(atom) => universe.select(atom, within),
        Node::Intersection(operands) => {
            let (rest, by_id): (Vec<&Expr>, _) = operands.iter().partition(|o| o.needs_metadata());
            let mut ordered = by_id.into_iter().chain(rest);
            let Some(first) = ordered.next() else {
                return Ok(within.to_vec());
            };
            let mut left = select(first, universe, within)?;
            for operand in ordered {
                left = select(operand, universe, &left)?;
            }
            Ok(left)
        }
        Node::Difference(first, others) => {
            let mut left = select(first, universe, within)?;
            for operand in others {
                let taken = select(operand, universe, &left)?;
                left = without(left, &taken);
            }
            Ok(left)
        }
        Node::Union(operands) => {
            let mut found = Vec::new();
            for operand in operands {
                found.extend(select(operand, universe, within)?);
            }
            // A stable sort merges the runs, each of which is sorted.
            found.sort();
            found.dedup();
            Ok(found)
        }
    }
}

/// The sorted list without what the other sorted list holds.
fn without(mut left: Vec<u32>, taken: &[u32]) -> Vec<u32> {
    let mut taken = taken.iter().peekable();
    left.retain(|document| {
        while taken.next_if(|t| *t < document).is_some() {}
        taken.next_if_eq(&document).is_none()
    });
    left
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;

    use super::*;
    use crate::selector::parse;
    use crate::selector::parse::tests::expressions;
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

        fn len(&self) -> u32 {
            self.len
        }

        fn select(&self, atom: &Atom, within: &[u32]) -> Result<Vec<u32>, Infallible> {
            assert!(within.is_sorted_by(|a, b| a < b), "{within:?}");
            let question = format!("{atom} of {}", within.len());
            self.log.borrow_mut().push(question);
            let found = within.iter().copied().filter(|d| holds(atom, *d));
            Ok(found.collect())
        }
    }

    fn naive(expr: &Expr, document: u32) -> bool {
        match &expr.node {
            Node::Atom(atom) => holds(atom, document),
            Node::Intersection(operands) => operands.iter().all(|o| naive(o, document)),
            Node::Union(operands) => operands.iter().any(|o| naive(o, document)),
            Node::Difference(left, right) => {
                naive(left, document) && !right.iter().any(|o| naive(o, document))
            }
        }
    }

    fn ask(text: &str, len: u32) -> (Vec<u32>, Vec<String>) {
        let log = RefCell::default();
        let universe = Asked { len, log };
        let Ok(found) = eval(&parse(text).unwrap().expr, &universe);
        (found, universe.log.into_inner())
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
        assert_eq!(ask("#a | #b - #c", 0), (vec![], vec![]));
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
            let log = RefCell::default();
            let Ok(found) = eval(&expr, &Asked { len, log });
            let expected: Vec<u32> = (0..len).filter(|d| naive(&expr, *d)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
