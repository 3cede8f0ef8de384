//! The values of a line on the fast path, each span packed into one word: a pair that is written as two words and read as
//! one stalls the CPU, and there is one for each field of each line.

/// The field of a value.
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
        Self { line: line.get(..u32::MAX as usize).unwrap_or(line), spans: [0; SLOTS] }
    }

    /// Sets a value, which is a part of the line.
    #[inline]
    pub(super) fn put(&mut self, place: ValueSlot, text: &'a [u8]) {
        // A text from elsewhere, such as an empty constant, is ignored.
        let start = text.as_ptr().addr().wrapping_sub(self.line.as_ptr().addr());
        let end = start.wrapping_add(text.len());
        self.spans[place as usize] = if end <= self.line.len() && !text.is_empty() { (end as u64) << 32 | start as u64 } else { 0 };
    }

    /// The value of a field.
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
    fn a_stored_value_is_returned() {
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
