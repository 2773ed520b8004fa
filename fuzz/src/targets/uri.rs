//! URIs: a parsed URI is printed in one form, which is parsed as the same URI.

use contextnest::text::uri::{MAX_URI_BYTES, Uri};

use super::authorities;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let text = super::text(bytes);
    for names in authorities() {
        let Ok(uri) = Uri::parse_in(text, &names) else { continue };
        let printed = uri.to_string();
        assert!(printed.len() <= MAX_URI_BYTES);
        assert_eq!(Uri::parse_in(&printed, &names), Ok(uri.clone()), "{printed}");
        let (_, _) = (uri.class(), uri.local().is_ok());
        if let Some(within) = uri.within(&names) {
            assert_eq!(Uri::parse_in(&within.to_string(), &names), Ok(within));
        }
    }
}
