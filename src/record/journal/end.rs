//! The end of a writer's log: which line the next one follows.

use memchr::memrchr;

/// No line is longer.
pub(crate) const MAX_LINE: u64 = 16 << 20;

/// The line that the next one of a writer follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Its number; 0 before the first.
    pub(crate) seq: u64,
    /// Its hash, or what begins the chain.
    pub(crate) hash: String,
}

impl End {
    /// Returns the end before the first line, by what begins the chain.
    pub(crate) fn begin(genesis: String) -> Self {
        Self { seq: 0, hash: genesis }
    }
}

/// The last whole line of a file of this length, without its end, and the length up to and with that
/// end: what follows was left by a crash. `read` gives bytes from a place on. A line that is longer
/// than any of ours comes out empty.
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
