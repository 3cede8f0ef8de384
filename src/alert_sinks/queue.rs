//! Lines that a sink has not accepted yet, in order, bounded in number and bytes, and notices about
//! lines that were lost.
//!
//! A full queue drops new lines, because the first alerts show how an attack began. Dropped lines
//! are counted. The notices report the first failure of a sink, its recovery, and from time to time
//! the number of lost alerts: a sink that fails for a whole night causes two notices, not a hundred
//! thousand.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The most lines in a queue.
pub(super) const MAX_LINES: usize = 1_000;

/// The most bytes in a queue.
const MAX_BYTES: usize = 4 << 20;

/// The least time between two notices about dropped alerts.
const LOSS_INTERVAL: Duration = Duration::from_secs(60);

/// The time between two attempts after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The queued lines of one sink, and the notices about it.
#[derive(Debug)]
pub(super) struct AlertQueue {
    /// The name of the sink in notices.
    sink: String,
    lines: VecDeque<Box<[u8]>>,
    bytes: usize,
    /// Dropped lines that were not reported.
    dropped: u64,
    /// When to try again after a failure; `None` while the sink works.
    retry_at: Option<Instant>,
    losses_reported_at: Option<Instant>,
    notices: Vec<String>,
}

impl AlertQueue {
    pub(super) fn new(sink: String) -> Self {
        Self {
            sink,
            lines: VecDeque::new(),
            bytes: 0,
            dropped: 0,
            retry_at: None,
            losses_reported_at: None,
            notices: Vec::new(),
        }
    }

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

    /// Whether to try now.
    pub(super) fn should_try(&self, now: Instant) -> bool {
        self.retry_at.is_none_or(|retry_at| now >= retry_at)
    }

    /// Adds a notice about the sink.
    pub(super) fn notice(&mut self, text: &str) {
        self.notices.push(format!("{}: {text}", self.sink));
    }

    /// Records a failure.
    pub(super) fn failed(&mut self, error: &str, now: Instant) {
        if self.retry_at.is_none() {
            self.notice(&format!(
                "{error}; retrying, with up to {MAX_LINES} alerts in the queue"
            ));
        }
        self.retry_at = Some(now + RETRY_INTERVAL);
    }

    /// Records a success.
    pub(super) fn recovered(&mut self) {
        if self.retry_at.take().is_some() {
            self.notice("works again");
        }
    }

    /// Moves the notices that are due to `notices`.
    pub(super) fn collect(&mut self, now: Instant, notices: &mut Vec<String>) {
        if self.dropped > 0
            && self
                .losses_reported_at
                .is_none_or(|last_report| now >= last_report + LOSS_INTERVAL)
        {
            self.losses_reported_at = Some(now);
            let dropped = alerts(std::mem::take(&mut self.dropped));
            self.notice(&format!("{dropped} dropped, as the queue is full"));
        }
        notices.append(&mut self.notices);
    }

    /// Moves the last notices to `notices`, including the alerts that were not delivered.
    pub(super) fn finish(mut self, notices: &mut Vec<String>) {
        let lost = self.dropped + self.lines.len() as u64;
        if lost > 0 {
            self.notice(&format!("{} not delivered", alerts(lost)));
        }
        notices.append(&mut self.notices);
    }
}

/// A number of alerts, with its verb.
fn alerts(count: u64) -> String {
    if count == 1 {
        "1 alert was".into()
    } else {
        format!("{count} alerts were")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_first_lines_and_counts_dropped_ones() {
        let mut queue = AlertQueue::new("here".into());
        for n in 0..MAX_LINES + 7 {
            queue.push(n.to_string().as_bytes());
        }
        assert_eq!(
            (queue.len(), queue.get(0), queue.dropped),
            (MAX_LINES, Some(&b"0"[..]), 7)
        );
        queue.pop();
        queue.push(b"after");
        assert_eq!(queue.get(MAX_LINES - 1), Some(&b"after"[..]));
        let (mut notices, now) = (Vec::new(), Instant::now());
        queue.collect(now, &mut notices);
        queue.collect(now + LOSS_INTERVAL, &mut notices);
        assert_eq!(
            (queue.dropped, &*notices),
            (
                0,
                &["here: 7 alerts were dropped, as the queue is full".to_owned()][..]
            )
        );
    }

    #[test]
    fn long_lines_are_bounded_by_their_bytes() {
        let mut queue = AlertQueue::new("here".into());
        for _ in 0..10 {
            queue.push(&vec![b'x'; 1 << 20]);
        }
        assert_eq!((queue.len(), queue.dropped), (4, 6));
        queue.pop();
        queue.push(b"short");
        assert_eq!((queue.len(), queue.bytes), (4, (3 << 20) + 5));
        (0..9).for_each(|_| queue.pop());
        assert!(queue.is_empty() && queue.bytes == 0);
    }

    #[test]
    fn reports_a_failure_and_the_recovery_once() {
        let (mut queue, mut notices, now) =
            (AlertQueue::new("here".into()), Vec::new(), Instant::now());
        assert!(queue.should_try(now));
        for _ in 0..5 {
            queue.failed("it is full", now);
        }
        assert!(!queue.should_try(now) && queue.should_try(now + RETRY_INTERVAL));
        queue.recovered();
        queue.recovered();
        queue.collect(now, &mut notices);
        assert_eq!(
            notices,
            [
                "here: it is full; retrying, with up to 1000 alerts in the queue",
                "here: works again"
            ]
        );
    }

    #[test]
    fn losses_are_reported_at_intervals_and_at_the_end() {
        let (mut queue, mut notices, now) =
            (AlertQueue::new("here".into()), Vec::new(), Instant::now());
        let drop_one =
            |queue: &mut AlertQueue| (0..=MAX_LINES - queue.len()).for_each(|_| queue.push(b"x"));
        for later in [0, 1, 59, 60, 61] {
            drop_one(&mut queue);
            queue.collect(now + Duration::from_secs(later), &mut notices);
        }
        queue.finish(&mut notices);
        assert_eq!(
            notices,
            [
                "here: 1 alert was dropped, as the queue is full",
                "here: 3 alerts were dropped, as the queue is full",
                "here: 1001 alerts were not delivered"
            ]
        );
    }
}
