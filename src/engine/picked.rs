//! Some of the members of a batch, picked without a branch: which they are nobody could foretell, and a wrong guess costs a
//! processor as much as the twenty instructions that it throws away.

/// Numbers of members, in order, of a batch of at most so many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Picked<const MOST: usize> {
    numbers: [u8; MOST],
    count: usize,
}

impl<const MOST: usize> Default for Picked<MOST> {
    fn default() -> Self {
        const { assert!(MOST <= 1 << u8::BITS) };
        Self { numbers: [0; MOST], count: 0 }
    }
}

impl<const MOST: usize> Picked<MOST> {
    /// Picks a member, if it is wanted. Each is asked about once.
    #[inline]
    pub(super) fn pick_if(&mut self, member: usize, is_wanted: bool) {
        // Written in any case, and overwritten by the next where it counts for nothing.
        self.numbers[self.count] = member as u8;
        self.count += usize::from(is_wanted);
    }

    /// Those that were picked.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.numbers[..self.count].iter().map(|member| usize::from(*member))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picks_what_is_wanted() {
        for wanted in 0..1_u32 << 6 {
            let is_wanted = |n: &usize| wanted >> n & 1 == 1;
            let mut picked = Picked::<6>::default();
            (0..6).for_each(|n| picked.pick_if(n, is_wanted(&n)));
            assert_eq!(picked.iter().collect::<Vec<_>>(), (0..6).filter(is_wanted).collect::<Vec<_>>());
        }
    }
}
