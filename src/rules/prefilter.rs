//! Finds literals without an automaton: most texts of a log contain no literal or one or two, and
//! tables that stay in the L1 and L2 caches exclude nearly all positions.
//!
//! Each literal is represented by one window: four of its bytes that few other literals contain.
//! Literals consist of parts of paths and user agents, so windows that are rare among literals are
//! rare in ordinary texts too. A literal of less than four bytes has a window of two. Each position
//! of a text is looked up for both widths; where a window is found, its literals are compared byte
//! for byte. What a literal means is not known here.

use std::borrow::Cow;
use std::ops::Range;

use super::literal_table::TextArena;
use crate::text::short_bytes::begins_with;

/// Slots of the hash table of windows; each window of two bytes has its own.
const SLOTS: usize = 1 << 16;

/// Slots in a group: their windows are stored together and share a word of bits.
const GROUP_SLOTS: usize = u32::BITS as usize;

/// The most windows in a group. Groups of the built-in rules have a dozen; there are more if the
/// literals are very many or very similar, and then the automaton is better.
const MAX_WINDOWS_PER_GROUP: usize = 64;

/// Positions that are looked up before any literal is compared, a bit for each: a branch for each
/// position would be unpredictable.
const POSITIONS: usize = u64::BITS as usize;

/// Bytes of the longest window.
const MAX_WIDTH: usize = 4;

/// The windows of all literals.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Prefilter {
    pub(super) fours: WindowTable<MAX_WIDTH>,
    pub(super) pairs: WindowTable<2>,
}

impl Prefilter {
    /// A prefilter for these literals, none of which may be empty. `None` if too many would have to
    /// be compared.
    pub(super) fn new(literals: &TextArena) -> Option<Self> {
        Some(Self {
            fours: WindowTable::new(literals, MAX_WIDTH..usize::MAX)?,
            pairs: WindowTable::new(literals, 1..MAX_WIDTH)?,
        })
    }

    /// Calls `found` for every literal in a text, with its index and range, in no order. `literals`
    /// must be those of [`new`](Self::new).
    #[inline]
    pub(super) fn find(
        &self,
        text: &[u8],
        literals: &TextArena,
        mut found: impl FnMut(usize, Range<usize>),
    ) {
        let mut last = [0; POSITIONS + MAX_WIDTH - 1];
        for start in (0..text.len()).step_by(POSITIONS) {
            // Pad with zeros, so that a literal at the last byte has a window as well.
            let rest = &text[start..];
            let piece = rest.get(..last.len()).unwrap_or_else(|| {
                last[..rest.len()].copy_from_slice(rest);
                last[rest.len()..].fill(0);
                &last[..rest.len().min(POSITIONS) + MAX_WIDTH - 1]
            });
            let [fours, pairs] = self.candidates(piece);
            let mut compare = |position: usize, entry: &WindowLiteral| {
                let literal = literals.get(entry.literal as usize);
                let begin = (start + position).checked_sub(entry.before as usize);
                if let Some(begin) = begin.filter(|&begin| begins_with(&text[begin..], literal)) {
                    found(entry.literal as usize, begin..begin + literal.len());
                }
            };
            self.fours.for_each(fours, piece, &mut compare);
            self.pairs.for_each(pairs, piece, &mut compare);
        }
    }

    /// The positions of possible windows in a piece, a bit each: windows of four bytes, and of two.
    #[inline]
    fn candidates(&self, piece: &[u8]) -> [u64; 2] {
        let (mut fours, mut pairs) = (0, 0);
        for (position, bytes) in piece.windows(MAX_WIDTH).enumerate() {
            fours |= self.fours.bit(word(bytes)) << position;
            pairs |= self.pairs.bit(word(bytes)) << position;
        }
        [fours, pairs]
    }
}

/// Four bytes as a number, the first one lowest.
#[inline]
fn word(bytes: &[u8]) -> u32 {
    bytes
        .first_chunk()
        .map_or(0, |&bytes| u32::from_le_bytes(bytes))
}

/// The windows of some literals, of `WIDTH` bytes: two or four.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WindowTable<const WIDTH: usize> {
    /// A bit for each slot with a window.
    pub(super) bits: Box<[u32; SLOTS / GROUP_SLOTS]>,
    /// The windows of group `i` are `windows[starts[i]..starts[i + 1]]`.
    pub(super) starts: Cow<'static, [u32]>,
    pub(super) windows: Cow<'static, [u32]>,
    /// The literal of each window.
    pub(super) entries: Cow<'static, [WindowLiteral]>,
}

/// The literal of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WindowLiteral {
    pub(super) literal: u32,
    /// Bytes of the literal before the window.
    pub(super) before: u32,
}

impl<const WIDTH: usize> WindowTable<WIDTH> {
    /// The windows of the literals with a length in `lengths`. `None` if a group has too many.
    fn new(literals: &TextArena, lengths: Range<usize>) -> Option<Self> {
        let mut counts = vec![0_u16; SLOTS];
        for window in literals.iter().flat_map(|literal| literal.windows(WIDTH)) {
            let count = &mut counts[Self::slot(Self::window(window))];
            *count = count.saturating_add(1);
        }
        let mut entries = Vec::with_capacity(literals.len());
        for (number, literal) in literals
            .iter()
            .enumerate()
            .filter(|(_, literal)| lengths.contains(&literal.len()))
        {
            let entry = |(before, window): (usize, u32)| {
                (
                    window,
                    WindowLiteral {
                        literal: number as u32,
                        before: before as u32,
                    },
                )
            };
            let windows = literal.windows(WIDTH).map(Self::window).enumerate();
            match windows.min_by_key(|&(_, window)| counts[Self::slot(window)]) {
                Some(rarest) => entries.push(entry(rarest)),
                // A single byte, followed by any byte.
                None => entries.extend(
                    (0..=u8::MAX).map(|next| entry((0, Self::window(&[literal[0], next])))),
                ),
            }
        }
        Self::from_entries(entries)
    }

    fn from_entries(mut entries: Vec<(u32, WindowLiteral)>) -> Option<Self> {
        entries.sort_unstable_by_key(|&(window, _)| Self::slot(window));
        let (mut bits, mut starts) = (
            Box::new([0; SLOTS / GROUP_SLOTS]),
            vec![0_u32; SLOTS / GROUP_SLOTS + 1],
        );
        for &(window, _) in &entries {
            let slot = Self::slot(window);
            bits[slot / GROUP_SLOTS] |= 1 << (slot % GROUP_SLOTS);
            starts[slot / GROUP_SLOTS + 1] += 1;
        }
        if starts
            .iter()
            .any(|&windows| windows as usize > MAX_WINDOWS_PER_GROUP)
        {
            return None;
        }
        for group in 1..starts.len() {
            starts[group] += starts[group - 1];
        }
        let (windows, entries): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        Some(Self {
            bits,
            starts: starts.into(),
            windows: windows.into(),
            entries: entries.into(),
        })
    }

    /// A window as a number; bytes after its width do not count.
    #[inline]
    fn window(bytes: &[u8]) -> u32 {
        if WIDTH == MAX_WIDTH {
            word(bytes)
        } else {
            bytes
                .first_chunk()
                .map_or(0, |&bytes| u16::from_le_bytes(bytes).into())
        }
    }

    /// The slot of a window, by multiplicative hashing with the golden ratio.
    #[inline]
    fn slot(window: u32) -> usize {
        let slot = if WIDTH == MAX_WIDTH {
            window.wrapping_mul(0x9e37_79b1) >> 16
        } else {
            window
        };
        slot as usize % SLOTS
    }

    /// 1 if these bytes may begin with a window of this table.
    #[inline]
    fn bit(&self, bytes: u32) -> u64 {
        let slot = Self::slot(bytes);
        u64::from(self.bits[slot / GROUP_SLOTS] >> (slot % GROUP_SLOTS) & 1)
    }

    /// Calls `each` for the entries whose windows are at these positions of a piece.
    fn for_each(
        &self,
        mut positions: u64,
        piece: &[u8],
        mut each: impl FnMut(usize, &WindowLiteral),
    ) {
        while positions != 0 {
            let position = positions.trailing_zeros() as usize;
            positions &= positions - 1;
            let window = Self::window(&piece[position..]);
            let group = Self::slot(window) / GROUP_SLOTS;
            for at in self.starts[group] as usize..self.starts[group + 1] as usize {
                if self.windows[at] == window {
                    each(position, &self.entries[at]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes that make literals overlap, contain each other, and end with the padding.
    fn any_bytes(lengths: Range<usize>) -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(b"ab/.\0\xff".to_vec()), lengths)
    }

    fn found(
        prefilter: &Prefilter,
        text: &[u8],
        literals: &TextArena,
    ) -> Vec<(usize, Range<usize>)> {
        let mut all = Vec::new();
        prefilter.find(text, literals, |literal, range| all.push((literal, range)));
        all.sort_by_key(|(literal, range)| (*literal, range.start));
        all
    }

    proptest! {
        #[test]
        fn every_literal_is_found_wherever_it_occurs(
            literals in prop::collection::btree_set(any_bytes(1..9), 0..40),
            text in any_bytes(0..300),
        ) {
            let literals: TextArena = literals.into_iter().collect();
            let occurrences = |literal: &[u8]| (0..text.len()).filter(|&at| text[at..].starts_with(literal)).map(|at| at..at + literal.len()).collect();
            let expected: Vec<_> =
                literals.iter().map(occurrences).enumerate().flat_map(|(n, ranges): (_, Vec<_>)| ranges.into_iter().map(move |range| (n, range))).collect();
            prop_assert_eq!(found(&Prefilter::new(&literals).expect("few literals"), &text, &literals), expected);
        }
    }

    #[test]
    fn a_literal_is_found_at_either_end_of_any_text() {
        for literal in [&b"#"[..], b"#!", b"#!x", b"#!xy", b"#!xyz01"] {
            let literals: TextArena = [literal].into_iter().collect();
            let prefilter = Prefilter::new(&literals).unwrap();
            for rest in 0..200 {
                let rest = vec![b'-'; rest];
                let (length, end) = (literal.len(), rest.len() + literal.len());
                assert_eq!(
                    found(&prefilter, &[literals.get(0), &rest].concat(), &literals),
                    [(0, 0..length)]
                );
                assert_eq!(
                    found(&prefilter, &[&rest, literal].concat(), &literals),
                    [(0, rest.len()..end)]
                );
                assert_eq!(
                    found(
                        &prefilter,
                        &[&rest, &literal[..length - 1]].concat(),
                        &literals
                    ),
                    []
                );
            }
        }
    }

    #[test]
    fn too_similar_literals_are_rejected() {
        let similar = |count| {
            (MAX_WIDTH..MAX_WIDTH + count)
                .map(|length| vec![b'a'; length])
                .collect::<TextArena>()
        };
        assert!(Prefilter::new(&similar(MAX_WINDOWS_PER_GROUP)).is_some());
        assert!(Prefilter::new(&similar(MAX_WINDOWS_PER_GROUP + 1)).is_none());
    }
}
