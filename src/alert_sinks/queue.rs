//! Lines that a sink has not accepted yet, in order, bounded in number and bytes.
//!
//! A full queue drops new lines, because the first alerts show how an attack began. Dropped lines are counted.

use std::collections::VecDeque;

/// The most lines in a queue.
pub(super) const MAX_LINES: usize = 1_000;

/// The most bytes in a queue.
const MAX_BYTES: usize = 4 << 20;

/// The queued lines of one sink.
#[derive(Debug, Default)]
pub(super) struct AlertQueue {
    lines: VecDeque<Box<[u8]>>,
    bytes: usize,
    dropped: u64,
}

impl AlertQueue {
    /// Appends a line, or drops it if the queue is full.
    pub(super) fn push(&mut self, line: &[u8]) {
        if self.lines.len() >= MAX_LINES || self.bytes + line.len() > MAX_BYTES {
            self.dropped += 1;
        } else {
            self.bytes += line.len();
            self.lines.push_back(line.into());
        }
    }

    /// The `nth` line, from 0.
    pub(super) fn get(&self, nth: usize) -> Option<&[u8]> {
        self.lines.get(nth).map(AsRef::as_ref)
    }

    /// Removes the first line.
    pub(super) fn pop(&mut self) {
        if let Some(line) = self.lines.pop_front() {
            self.bytes -= line.len();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The number of lines dropped since the last call.
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// The number of dropped lines that were not reported.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use crate::alert_sinks::queue::*;

    #[test]
    fn keeps_the_first_lines_and_counts_dropped_ones() {
        let mut queue = AlertQueue::default();
        for n in 0..MAX_LINES + 7 {
            queue.push(n.to_string().as_bytes());
        }
        assert_eq!((queue.len(), queue.get(0), queue.dropped()), (MAX_LINES, Some(&b"0"[..]), 7));
        queue.pop();
        queue.push(b"after");
        assert_eq!(queue.get(MAX_LINES - 1), Some(&b"after"[..]));
        assert_eq!((queue.take_dropped(), queue.take_dropped()), (7, 0));
    }

    #[test]
    fn long_lines_are_bounded_by_their_bytes() {
        let mut queue = AlertQueue::default();
        for _ in 0..10 {
            queue.push(&vec![b'x'; 1 << 20]);
        }
        assert_eq!((queue.len(), queue.dropped()), (4, 6));
        queue.pop();
        queue.push(b"short");
        assert_eq!((queue.len(), queue.bytes), (4, (3 << 20) + 5));
        (0..9).for_each(|_| queue.pop());
        assert!(queue.is_empty() && queue.bytes == 0);
    }
}
