//! Reads choices and bytes off the front of an input.

/// The rest of an input. At its end, every choice is the first one.
pub struct Input<'i>(pub &'i [u8]);

impl<'i> Input<'i> {
    /// Returns true if nothing remains.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Returns a number of two bytes.
    pub fn number(&mut self) -> usize {
        usize::from(self.byte()) | usize::from(self.byte()) << 8
    }

    /// Returns a number below `end`, or 0.
    pub fn below(&mut self, end: usize) -> usize {
        let number = if end > 256 { self.number() } else { usize::from(self.byte()) };
        number.checked_rem(end).unwrap_or(0)
    }

    /// Returns the number of bytes that the next byte states; all that remain from 255 on.
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
