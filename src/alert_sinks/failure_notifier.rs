//! Says once that something does not work, and once that it works again; and now and then what was lost.
//!
//! A place that is gone for a night makes two notices, not a hundred thousand.

use std::time::{Duration, Instant};

use super::queue::{AlertQueue, MAX_LINES};

/// Between two notices of what was dropped.
const LOSS_INTERVAL: Duration = Duration::from_secs(60);

/// Between two tries at a place that does not work.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The trouble with one place.
#[derive(Debug)]
pub(super) struct FailureNotifier {
    /// The place, as notices call it.
    sink: String,
    /// It does not work, and when it is tried again.
    retry_at: Option<Instant>,
    losses_reported_at: Option<Instant>,
    notices: Vec<String>,
}

impl FailureNotifier {
    pub(super) fn new(sink: String) -> Self {
        Self { sink, retry_at: None, losses_reported_at: None, notices: Vec::new() }
    }

    /// Whether it is time to try.
    pub(super) fn should_try(&self, now: Instant) -> bool {
        self.retry_at.is_none_or(|retry_at| now >= retry_at)
    }

    /// It did not work.
    pub(super) fn failed(&mut self, what: &str, now: Instant) {
        if self.retry_at.is_none() {
            self.notices.push(format!("{}: {what}; it is tried again, and up to {MAX_LINES} alerts wait for it", self.sink));
        }
        self.retry_at = Some(now + RETRY_INTERVAL);
    }

    /// It worked.
    pub(super) fn recovered(&mut self) {
        if self.retry_at.take().is_some() {
            self.notices.push(format!("{}: works again", self.sink));
        }
    }

    /// What there is to say by now.
    pub(super) fn collect(&mut self, queue: &mut AlertQueue, now: Instant, notices: &mut Vec<String>) {
        if queue.dropped() > 0 && self.losses_reported_at.is_none_or(|told| now >= told + LOSS_INTERVAL) {
            self.losses_reported_at = Some(now);
            self.notices.push(format!("{}: {} dropped, as too many wait", self.sink, alerts(queue.take_dropped())));
        }
        notices.append(&mut self.notices);
    }

    /// What there is to say at the end, with what still waits.
    pub(super) fn finish(mut self, queue: &AlertQueue, notices: &mut Vec<String>) {
        notices.append(&mut self.notices);
        let lost = queue.dropped() + queue.len() as u64;
        if lost > 0 {
            notices.push(format!("{}: {} not delivered", self.sink, alerts(lost)));
        }
    }
}

/// A number of alerts, as part of a sentence.
fn alerts(count: u64) -> String {
    if count == 1 { "1 alert was".into() } else { format!("{count} alerts were") }
}

#[cfg(test)]
mod tests {
    use crate::alert_sinks::failure_notifier::*;

    #[test]
    fn says_it_once_and_when_it_is_over() {
        let (mut failures, mut queue, mut notices, now) =
            (FailureNotifier::new("here".into()), AlertQueue::default(), Vec::new(), Instant::now());
        assert!(failures.should_try(now));
        for _ in 0..5 {
            failures.failed("it is full", now);
        }
        assert!(!failures.should_try(now) && failures.should_try(now + RETRY_INTERVAL));
        failures.recovered();
        failures.recovered();
        failures.collect(&mut queue, now, &mut notices);
        assert_eq!(notices, ["here: it is full; it is tried again, and up to 1000 alerts wait for it", "here: works again"]);
    }

    #[test]
    fn losses_are_told_now_and_then_and_at_the_end() {
        let (mut failures, mut queue, mut notices, now) =
            (FailureNotifier::new("here".into()), AlertQueue::default(), Vec::new(), Instant::now());
        let drop_one = |queue: &mut AlertQueue| (0..=MAX_LINES - queue.len()).for_each(|_| queue.push(b"x"));
        for later in [0, 1, 59, 60, 61] {
            drop_one(&mut queue);
            failures.collect(&mut queue, now + Duration::from_secs(later), &mut notices);
        }
        failures.finish(&queue, &mut notices);
        assert_eq!(
            notices,
            [
                "here: 1 alert was dropped, as too many wait",
                "here: 3 alerts were dropped, as too many wait",
                "here: 1001 alerts were not delivered"
            ]
        );
    }
}
