//! Says once that something does not work, and once that it works again; and now and then what was lost.
//!
//! A place that is gone for a night makes two notices, not a hundred thousand.

use std::time::{Duration, Instant};

use super::queue::{MOST_LINES, Queue};

/// Between two notices of what was dropped.
const BETWEEN_LOSSES: Duration = Duration::from_secs(60);

/// Between two tries at a place that does not work.
const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// The trouble with one place.
#[derive(Debug)]
pub(super) struct Trouble {
    /// The place, as notices call it.
    place: String,
    /// It does not work, and when it is tried again.
    again: Option<Instant>,
    losses_told: Option<Instant>,
    notices: Vec<String>,
}

impl Trouble {
    pub(super) fn new(place: String) -> Self {
        Self { place, again: None, losses_told: None, notices: Vec::new() }
    }

    /// Whether it is time to try.
    pub(super) fn may_try(&self, now: Instant) -> bool {
        self.again.is_none_or(|again| now >= again)
    }

    /// It did not work.
    pub(super) fn met(&mut self, what: &str, now: Instant) {
        if self.again.is_none() {
            self.notices.push(format!("{}: {what}; it is tried again, and up to {MOST_LINES} alerts wait for it", self.place));
        }
        self.again = Some(now + BETWEEN_TRIES);
    }

    /// It worked.
    pub(super) fn over(&mut self) {
        if self.again.take().is_some() {
            self.notices.push(format!("{}: works again", self.place));
        }
    }

    /// What there is to say by now.
    pub(super) fn tell(&mut self, queue: &mut Queue, now: Instant, notices: &mut Vec<String>) {
        if queue.dropped() > 0 && self.losses_told.is_none_or(|told| now >= told + BETWEEN_LOSSES) {
            self.losses_told = Some(now);
            self.notices.push(format!("{}: {} dropped, as too many wait", self.place, alerts(queue.take_dropped())));
        }
        notices.append(&mut self.notices);
    }

    /// What there is to say at the end, with what still waits.
    pub(super) fn finish(mut self, queue: &Queue, notices: &mut Vec<String>) {
        notices.append(&mut self.notices);
        let lost = queue.dropped() + queue.len() as u64;
        if lost > 0 {
            notices.push(format!("{}: {} not delivered", self.place, alerts(lost)));
        }
    }
}

/// A number of alerts, as part of a sentence.
fn alerts(count: u64) -> String {
    if count == 1 { "1 alert was".into() } else { format!("{count} alerts were") }
}

#[cfg(test)]
mod tests {
    use crate::alert_sinks::trouble::*;

    #[test]
    fn says_it_once_and_when_it_is_over() {
        let (mut trouble, mut queue, mut notices, now) = (Trouble::new("here".into()), Queue::default(), Vec::new(), Instant::now());
        assert!(trouble.may_try(now));
        for _ in 0..5 {
            trouble.met("it is full", now);
        }
        assert!(!trouble.may_try(now) && trouble.may_try(now + BETWEEN_TRIES));
        trouble.over();
        trouble.over();
        trouble.tell(&mut queue, now, &mut notices);
        assert_eq!(notices, ["here: it is full; it is tried again, and up to 1000 alerts wait for it", "here: works again"]);
    }

    #[test]
    fn losses_are_told_now_and_then_and_at_the_end() {
        let (mut trouble, mut queue, mut notices, now) = (Trouble::new("here".into()), Queue::default(), Vec::new(), Instant::now());
        let drop_one = |queue: &mut Queue| (0..=MOST_LINES - queue.len()).for_each(|_| queue.push(b"x"));
        for later in [0, 1, 59, 60, 61] {
            drop_one(&mut queue);
            trouble.tell(&mut queue, now + Duration::from_secs(later), &mut notices);
        }
        trouble.finish(&queue, &mut notices);
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
