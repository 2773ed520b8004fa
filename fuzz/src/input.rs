//! Reads choices and bytes off the front of an input.

/// What is left of an input. Where nothing is left, every choice is the first one.
pub struct Input<'i>(pub &'i [u8]);

impl<'i> Input<'i> {
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number of two bytes.
    pub fn number(&mut self) -> usize {
        usize::from(self.byte()) | usize::from(self.byte()) << 8
    }

    /// A number below `end`, or 0.
    pub fn below(&mut self, end: usize) -> usize {
        let number = if end > 256 { self.number() } else { usize::from(self.byte()) };
        number.checked_rem(end).unwrap_or(0)
    }

    /// As many bytes as the next byte says; all that are left from 255 on.
    pub fn bytes(&mut self) -> &'i [u8] {
        let length = match usize::from(self.byte()) {
            255 => self.0.len(),
            short => short.min(self.0.len()),
        };
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        bytes
    }
}
