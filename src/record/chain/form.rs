//! The form in which a version's text is stored: in full, or as a diff (`spec/history.md`, section
//! 5).
//!
//! One function states the rule for the writer, which obeys it, and for the verifier, which holds
//! the histories of our writers against it. A content hash does not say whether its text is a full
//! text or a diff, so the form must not be the attacker's choice.

use crate::text::document::text::split;
use crate::values::model::number::Version;

/// The writer stores a diff that is spelled longer than this as a full text instead.
pub const MAX_SPELLED_DIFF: usize = 8 << 20;

/// Two texts of together at most this many bytes have a diff that is never spelled longer than
/// [`MAX_SPELLED_DIFF`]: spelling makes a byte at most 16 bytes long, signs and indentation
/// included.
const ALWAYS_FITS: usize = MAX_SPELLED_DIFF / 16;

/// After this many diffs, the writer stores a text of more than [`LARGE`] bytes in full.
const MOST_LARGE: usize = 63;
const LARGE: usize = 1 << 20;

/// After this many diffs, the writer stores a text in full whose frontmatter has at least
/// [`LARGE_FRONTMATTER`] bytes.
const MOST_LARGE_FRONTMATTER: usize = 255;
const LARGE_FRONTMATTER: usize = 8 << 10;

/// What the rules say about the form of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// It is a full text.
    Keyframe,
    /// It is a diff.
    Diff,
    /// It is a diff, or a full text where the diff would be too large.
    DiffIfItFits,
}

/// The texts that the form of a version depends on.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Bytes of the text of the version before.
    pub before: usize,
    /// Bytes of the version's own text.
    pub text: usize,
    /// Bytes of its frontmatter.
    pub frontmatter: usize,
    /// How many diffs follow the last full text, before this version.
    pub diffs: usize,
}

impl Sizes {
    /// The sizes of a text that follows one of `before` bytes, and `diffs` diffs.
    pub fn of(before: usize, text: &str, diffs: usize) -> Self {
        let block = split(text).ok().and_then(|parts| parts.frontmatter);
        let frontmatter = block.map_or(0, |block| block.len());
        Self { before, text: text.len(), frontmatter, diffs }
    }

    /// Whether a reader that rebuilds this text from the last full one comes to its limits.
    fn is_far(&self) -> bool {
        self.text > LARGE && self.diffs >= MOST_LARGE
            || self.frontmatter >= LARGE_FRONTMATTER && self.diffs >= MOST_LARGE_FRONTMATTER
    }
}

/// Returns the form of a version in a history with this keyframe interval. `sizes` is absent for
/// the first version of a history.
pub fn prescribed(version: Version, interval: u64, sizes: Option<Sizes>) -> Form {
    match sizes {
        None => Form::Keyframe,
        Some(_) if version.0.is_multiple_of(interval) => Form::Keyframe,
        Some(sizes) if sizes.is_far() => Form::Keyframe,
        Some(sizes) if sizes.before.saturating_add(sizes.text) > ALWAYS_FITS => Form::DiffIfItFits,
        Some(_) => Form::Diff,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::chain::diff;
    use crate::values::model::layout::limit;
    use crate::values::yaml::emit;

    fn sizes(before: usize, text: usize, diffs: usize) -> Option<Sizes> {
        Some(Sizes { before, text, frontmatter: 0, diffs })
    }

    #[test]
    fn first_versions_and_multiples_of_the_interval_are_keyframes() {
        assert_eq!(prescribed(Version(1), 10, None), Form::Keyframe);
        assert_eq!(prescribed(Version(7), 10, None), Form::Keyframe);
        let is_keyframe = |n: &u64| prescribed(Version(*n), 10, sizes(9, 9, 0)) == Form::Keyframe;
        let forms: Vec<u64> = (2..=31).filter(is_keyframe).collect();
        assert_eq!(forms, [10, 20, 30]);
        assert_eq!(prescribed(Version(9), 10, sizes(9, 9, 500)), Form::Diff);
    }

    #[test]
    fn large_texts_become_keyframes_before_readers_reach_their_limit() {
        let form = |text, diffs| prescribed(Version(70), 1000, sizes(LARGE, text, diffs));
        assert_eq!(form(LARGE + 1, MOST_LARGE), Form::Keyframe);
        assert_eq!(form(LARGE + 1, MOST_LARGE - 1), Form::DiffIfItFits);
        assert_eq!(form(LARGE, 999), Form::DiffIfItFits);
        // 63 of the largest texts, then a thousand smaller ones.
        let most = MOST_LARGE as u64 * limit::DOCUMENT + 1000 * LARGE as u64;
        assert!(most <= limit::REBUILT, "{most}");
    }

    #[test]
    fn large_frontmatters_become_keyframes_before_readers_reach_their_limit() {
        let headed = |bytes: usize| format!("---\n#{}\n---\n", "x".repeat(bytes - 2));
        let form =
            |bytes, diffs| prescribed(Version(7), 1000, Some(Sizes::of(9, &headed(bytes), diffs)));
        assert_eq!(form(LARGE_FRONTMATTER, MOST_LARGE_FRONTMATTER), Form::Keyframe);
        assert_eq!(form(LARGE_FRONTMATTER, MOST_LARGE_FRONTMATTER - 1), Form::Diff);
        assert_eq!(form(LARGE_FRONTMATTER - 1, 999), Form::Diff);
        let most = MOST_LARGE_FRONTMATTER * limit::FRONTMATTER + 1000 * LARGE_FRONTMATTER;
        assert!(most as u64 <= limit::REBUILT_FRONTMATTER, "{most}");
    }

    #[test]
    fn a_diff_of_small_texts_is_never_spelled_too_long() {
        assert_eq!(
            prescribed(Version(2), 10, sizes(ALWAYS_FITS / 2, ALWAYS_FITS / 2, 0)),
            Form::Diff
        );
        assert_eq!(prescribed(Version(2), 10, sizes(ALWAYS_FITS, 1, 0)), Form::DiffIfItFits);
        // The texts whose diffs grow most: short lines, and characters that need an escape.
        for line in ["\n", "a\n", "\u{1b}\n", "\u{7f}", "\u{85}", "\u{2028}\n", "\u{feff}", "\t\n"]
        {
            let old = line.repeat(2000);
            let new = format!("x{line}").repeat(1000);
            let spelled =
                emit::long_text(&diff::print(&old, &new, Version(1), Version(2)), 4).len();
            assert!(spelled <= 16 * (old.len() + new.len()), "{line:?}: {spelled}");
        }
    }
}
