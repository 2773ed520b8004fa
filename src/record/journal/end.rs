//! The end of a writer's log: the line that the next one follows.

use memchr::memrchr;

/// Maximum length of a line in bytes, with its line end.
pub(crate) const MAX_LINE: u64 = 16 << 20;

/// The line that the next one of a writer follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The number of the line; 0 before the first.
    pub(crate) seq: u64,
    /// The hash of the line, or the genesis of the chain.
    pub(crate) hash: String,
}

impl End {
    /// Returns the end before the first line, with the genesis of the chain.
    pub(crate) fn begin(genesis: String) -> Self {
        Self { seq: 0, hash: genesis }
    }
}

/// Returns the last whole line of a file of this length, without its line end, and the length up to
/// and including that line end. A crash left anything after it. `read` returns bytes from an
/// offset. A line longer than [`MAX_LINE`] is returned empty.
pub(crate) fn last_line<E>(
    length: u64,
    read: impl Fn(u64, usize) -> Result<Vec<u8>, E>,
) -> Result<(Option<Vec<u8>>, u64), E> {
    let mut step = 4096_u64;
    loop {
        let from = length.saturating_sub(step);
        let tail = read(from, usize::try_from(length - from).unwrap_or(usize::MAX))?;
        let end = memrchr(b'\n', &tail);
        let begin = end.and_then(|end| memrchr(b'\n', &tail[..end]));
        match (begin, end) {
            (None, None) if from == 0 => return Ok((None, 0)),
            (begin, Some(end)) if begin.is_some() || from == 0 => {
                let line = tail[begin.map_or(0, |begin| begin + 1)..end].to_vec();
                return Ok((Some(line), from + end as u64 + 1));
            }
            _ if step > 2 * MAX_LINE => return Ok((Some(Vec::new()), length)),
            _ => step *= 8,
        }
    }
}
