//! Selectors: a parsed selector is printed in one form, which is parsed as the same tree;
//! evaluation equals the plain set algebra.

use std::convert::Infallible;

use contextnest::text::selector::{Atom, Expr, Term, Universe, eval, parse_in};
use roaring::RoaringBitmap;

use super::authorities;

/// Forty documents; a hash of document and atom decides on membership.
struct Forty;

fn holds(atom: &str, document: u32) -> bool {
    let mixed = atom.bytes().fold(document.wrapping_mul(0x9e37_79b9), |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    mixed >> 16 & 3 != 0
}

impl Universe for Forty {
    type Error = Infallible;

    fn select(&self, atom: &Atom, _: Option<&RoaringBitmap>) -> Result<RoaringBitmap, Infallible> {
        let atom = atom.to_string();
        Ok((0..40).filter(|document| holds(&atom, *document)).collect())
    }
}

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let text = super::text(bytes);
    for names in authorities() {
        let selector = match parse_in(text, &names) {
            Ok(selector) => selector,
            Err(why) => {
                let _ = (why.to_string(), why.hint(), why.caret(text));
                continue;
            }
        };
        let printed = selector.to_string();
        // The printed form has blanks and quotes that the text may lack, so it may be too long.
        match parse_in(&printed, &names) {
            Ok(again) => assert_eq!(again, selector, "{printed}"),
            Err(why) => assert_eq!(why.code(), "selector-too-long", "{printed}"),
        }
        for (_, span) in selector.expr.leaves() {
            assert!(text.get(span.clone()).is_some());
        }
        let _ = selector.expr.tree();
        // The results of packs and searches are unknown here.
        let plain = selector.expr.expand(&mut |term: &Term, span| {
            term.atom().map(|atom| Expr::atom(atom, span.clone())).ok_or(())
        });
        let Ok(plain) = plain else { continue };
        if plain.leaves().len() > 300 {
            continue;
        }
        let Ok(found) = eval(&plain, &Forty);
        for document in 0..40 {
            let expected = plain.holds(&|atom| holds(&atom.to_string(), document));
            assert_eq!(found.contains(document), expected, "document {document} of {printed}");
        }
    }
}
