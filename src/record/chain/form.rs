//! Forms in which the text of a version is stored: in full, or as a diff (`spec/history.md`,
//! section 5).
//!
//! One function states the rule for the writer, and for the verifier of histories that ctx wrote. A
//! content hash does not show whether it is that of a full text or of a diff, so the form must not
//! be the attacker's choice.

use crate::text::document::text::split;
use crate::values::model::number::Version;

/// Maximum length of a spelled diff in bytes. The writer stores a longer diff as a full
/// text instead.
pub const MAX_SPELLED_DIFF: usize = 8 << 20;

/// Maximum total of bytes of two texts whose diff is never spelled longer than
/// [`MAX_SPELLED_DIFF`]: spelling makes a byte at most 16 bytes long, including signs
/// and indentation.
const ALWAYS_FITS: usize = MAX_SPELLED_DIFF / 16;

/// Number of diffs after which the writer stores a text of more than [`LARGE`] bytes in full.
const MOST_LARGE: usize = 63;
const LARGE: usize = 1 << 20;

/// Number of diffs after which the writer stores a text in full if its frontmatter has at least
/// [`LARGE_FRONTMATTER`] bytes.
const MOST_LARGE_FRONTMATTER: usize = 255;
const LARGE_FRONTMATTER: usize = 8 << 10;

/// Form that the rules require for one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The version must be stored in full.
    Keyframe,
    /// The version must be stored as a diff.
    Diff,
    /// The version must be stored as a diff, or in full if the diff is too large.
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
    /// Number of diffs after the last full text, before this version.
    pub diffs: usize,
}

impl Sizes {
    /// Returns the sizes of a text that follows one of `before` bytes, and `diffs` diffs.
    pub fn of(before: usize, text: &str, diffs: usize) -> Self {
        let block = split(text).ok().and_then(|parts| parts.frontmatter);
        let frontmatter = block.map_or(0, |block| block.len());
        Self { before, text: text.len(), frontmatter, diffs }
    }

    /// Returns true if a reader that rebuilds this text from the last full one may exceed
    /// its limits.
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
    fn form_is_a_keyframe_first_and_at_multiples_of_the_interval() {
        assert_eq!(prescribed(Version(1), 10, None), Form::Keyframe);
        assert_eq!(prescribed(Version(7), 10, None), Form::Keyframe);
        let is_keyframe = |n: &u64| prescribed(Version(*n), 10, sizes(9, 9, 0)) == Form::Keyframe;
        let forms: Vec<u64> = (2..=31).filter(is_keyframe).collect();
        assert_eq!(forms, [10, 20, 30]);
        assert_eq!(prescribed(Version(9), 10, sizes(9, 9, 500)), Form::Diff);
    }

    #[test]
    fn form_keeps_rebuilt_text_within_the_limit_of_readers() {
        let form = |text, diffs| prescribed(Version(70), 1000, sizes(LARGE, text, diffs));
        assert_eq!(form(LARGE + 1, MOST_LARGE), Form::Keyframe);
        assert_eq!(form(LARGE + 1, MOST_LARGE - 1), Form::DiffIfItFits);
        assert_eq!(form(LARGE, 999), Form::DiffIfItFits);
        // 63 of the largest texts, then a thousand smaller ones.
        let most = MOST_LARGE as u64 * limit::DOCUMENT + 1000 * LARGE as u64;
        assert!(most <= limit::REBUILT, "{most}");
    }

    #[test]
    fn form_keeps_rebuilt_frontmatter_within_the_limit_of_readers() {
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
    fn form_of_small_texts_is_a_diff_because_it_always_fits() {
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
