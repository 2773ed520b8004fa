//! A random generator that is the same in every run.

/// A generator (splitmix64).
#[derive(Clone, Debug)]
pub(super) struct Draw(u64);

impl Draw {
    /// Returns an independent generator for each name.
    pub(super) fn new(seed: u64, name: &str) -> Self {
        let mut draw = Self(seed);
        for byte in name.bytes() {
            draw.0 ^= u64::from(byte);
            draw.next();
        }
        draw
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = self.0.rotate_left(1);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a bound that is above 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or(0)
    }

    /// Returns one of these, if there is any.
    pub(super) fn pick<T>(&mut self, from: impl IntoIterator<Item = T>) -> Option<T> {
        let mut from: Vec<T> = from.into_iter().collect();
        if from.is_empty() {
            return None;
        }
        let at = self.below(from.len());
        Some(from.swap_remove(at))
    }

    /// Returns one of these.
    pub(super) fn of<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }

    /// Shuffles the items.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}
