//! The values of a line that takes no thought: where each begins and ends, in one word. A pair that is written in parts and
//! read as a whole would be waited for, and there is one for each field of each line.

/// Which value is which field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ValueSlot {
    Client,
    Host,
    Time,
    Request,
    Status,
    Bytes,
    Referer,
    UserAgent,
    None,
}

const SLOTS: usize = ValueSlot::None as usize + 1;

/// FastValues by their places; empty where there is none.
#[derive(Debug)]
pub(super) struct FastValues<'a> {
    line: &'a [u8],
    /// Where each begins in the line, and in the upper half where it ends.
    spans: [u64; SLOTS],
}

impl<'a> FastValues<'a> {
    /// None so far. Only the first 4 GiB of a line are looked at.
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { line: line.get(..u32::MAX as usize).unwrap_or(line), spans: [0; SLOTS] }
    }

    /// Puts a part of the line into its place.
    #[inline]
    pub(super) fn put(&mut self, place: ValueSlot, text: &'a [u8]) {
        // What stands elsewhere, as an empty text may, is no part of the line, and nothing of it is found there.
        let start = text.as_ptr().addr().wrapping_sub(self.line.as_ptr().addr());
        let end = start.wrapping_add(text.len());
        self.spans[place as usize] = if end <= self.line.len() && !text.is_empty() { (end as u64) << 32 | start as u64 } else { 0 };
    }

    /// What was put into a place.
    #[inline]
    pub(super) fn get(&self, place: ValueSlot) -> &'a [u8] {
        let span = self.spans[place as usize];
        self.line.get((span & u64::from(u32::MAX)) as usize..(span >> 32) as usize).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::fast_values::*;

    #[test]
    fn a_value_is_what_was_put_there() {
        let line = b"GET / 200 -";
        let mut values = FastValues::new(line);
        values.put(ValueSlot::Request, &line[..5]);
        values.put(ValueSlot::Status, &line[6..9]);
        values.put(ValueSlot::Bytes, &line[10..]);
        values.put(ValueSlot::Referer, b"");
        let found = [ValueSlot::Request, ValueSlot::Status, ValueSlot::Bytes].map(|place| values.get(place));
        assert_eq!(found, [&b"GET /"[..], b"200", b"-"]);
        assert_eq!([ValueSlot::Referer, ValueSlot::Host].map(|place| values.get(place)), [b""; 2]);
    }
}
