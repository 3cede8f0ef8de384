//! The values of a line on the fast paths of JSON and of format strings, each span packed into one
//! word: a pair that is written as two words and read as one stalls the CPU, and there is one for
//! each field of each line.

use super::fields::FieldSlot;

/// One for each field, and one for all values that are not used.
const SLOTS: usize = FieldSlot::COUNT + 1;

/// Values by field; empty if missing.
#[derive(Debug)]
pub(super) struct FastValues<'a> {
    line: &'a [u8],
    /// The start in the lower half, the end in the upper half.
    spans: [u64; SLOTS],
}

impl<'a> FastValues<'a> {
    /// Creates an empty set. Only the first 4 GiB of a line are used.
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self {
            line: line.get(..u32::MAX as usize).unwrap_or(line),
            spans: [0; SLOTS],
        }
    }

    /// Sets a value, which is a part of the line.
    #[inline]
    pub(super) fn set(&mut self, slot: FieldSlot, text: &'a [u8]) {
        // A text from elsewhere, such as an empty constant, is ignored.
        let start = text.as_ptr().addr().wrapping_sub(self.line.as_ptr().addr());
        let end = start.wrapping_add(text.len());
        self.spans[slot as usize] = if end <= self.line.len() && !text.is_empty() {
            (end as u64) << 32 | start as u64
        } else {
            0
        };
    }

    /// Sets a value by its start and its end in the line.
    #[inline]
    pub(super) fn set_span(&mut self, slot: FieldSlot, start: usize, end: usize) {
        self.spans[slot as usize] = (end as u64) << 32 | start as u64;
    }

    /// The value of a field.
    #[inline]
    pub(super) fn get(&self, slot: FieldSlot) -> &'a [u8] {
        let span = self.spans[slot as usize];
        self.line
            .get((span & u64::from(u32::MAX)) as usize..(span >> 32) as usize)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_value_is_returned() {
        let line = b"GET / 200 -";
        let mut values = FastValues::new(line);
        values.set(FieldSlot::Request, &line[..5]);
        values.set(FieldSlot::Status, &line[6..9]);
        values.set(FieldSlot::Bytes, &line[10..]);
        values.set(FieldSlot::Referer, b"");
        let found =
            [FieldSlot::Request, FieldSlot::Status, FieldSlot::Bytes].map(|slot| values.get(slot));
        assert_eq!(found, [&b"GET /"[..], b"200", b"-"]);
        assert_eq!(
            [FieldSlot::Referer, FieldSlot::Host].map(|slot| values.get(slot)),
            [b""; 2]
        );
    }
}
