//! Chance with a seed: what is drawn is the same everywhere.

/// Marsaglia's xorshift with 64 bits.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The sequence of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        // Zero would stay zero; multiplying spreads small seeds (Knuth's multiplicative constant).
        Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `limit`.
    ///
    /// # Panics
    ///
    /// When `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).expect("fits");
        usize::try_from((self.draw() >> 16) % limit).expect("below a usize")
    }

    /// True one time in so many.
    pub fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, options: &'a [T]) -> &'a T {
        &options[self.below(options.len())]
    }
}
