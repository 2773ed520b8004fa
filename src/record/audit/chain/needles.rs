//! Finds lines that contain given bytes.

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};

/// Bytes that each wanted line has. A log may have millions of lines: most are not read further.
pub(in crate::library::record::audit) struct Needles<'n> {
    /// The longest, which fewest lines have.
    first: Option<Finder<'n>>,
    others: Vec<Finder<'n>>,
}

impl<'n> Needles<'n> {
    pub(super) fn new(needles: &'n [Vec<u8>]) -> Self {
        let mut needles: Vec<&[u8]> = needles.iter().map(Vec::as_slice).collect();
        needles.sort_by_key(|needle| needle.len());
        let first = needles.pop().map(Finder::new);
        Self { first, others: needles.into_iter().map(Finder::new).collect() }
    }

    /// Passes every line that contains all needles, and its offset in the text, to `line`.
    pub(super) fn each(&self, text: &[u8], mut line: impl FnMut(usize, &[u8])) {
        let mut at = 0;
        while at < text.len() {
            let hit = self.first.as_ref().map_or(Some(0), |first| first.find(&text[at..]));
            let Some(hit) = hit else { break };
            let begin = memrchr(b'\n', &text[at..at + hit]).map_or(at, |end| at + end + 1);
            let end = memchr(b'\n', &text[at + hit..]).map_or(text.len(), |end| at + hit + end);
            let bytes = &text[begin..end];
            if self.others.iter().all(|needle| needle.find(bytes).is_some()) {
                line(begin, bytes);
            }
            at = end + 1;
        }
    }
}
