//! How soon a program that ended is started again.
//!
//! Knows no clock: it is told the time.

use std::time::{Duration, Instant};

/// The pause before the next start: it grows with every start that was in vain.
#[derive(Debug)]
pub(super) struct Pace {
    /// The first pause.
    first: Duration,
    /// The longest one. A program that lives as long starts over.
    most: Duration,
    next: Duration,
    started: Option<Instant>,
}

impl Default for Pace {
    /// A second at first, a minute at most.
    fn default() -> Self {
        Self::new(Duration::from_secs(1), Duration::from_secs(60))
    }
}

impl Pace {
    pub(super) fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, next: first, started: None }
    }

    /// It is started.
    pub(super) fn started(&mut self, now: Instant) {
        self.started = Some(now);
    }

    /// It ended. Returns when it is to be started again.
    pub(super) fn ended(&mut self, now: Instant) -> Instant {
        if self.started.is_some_and(|started| now.saturating_duration_since(started) >= self.most) {
            self.next = self.first;
        }
        let pause = self.next;
        self.next = (pause * 2).min(self.most);
        now + pause
    }
}

#[cfg(test)]
mod tests {
    use crate::alert_sinks::exec::pace::*;

    #[test]
    fn grows_to_a_minute_and_starts_over_with_a_program_that_lives() {
        let (mut pace, mut now, mut pauses) = (Pace::default(), Instant::now(), Vec::new());
        for lived in [0, 1, 0, 0, 0, 0, 5, 60, 0] {
            pace.started(now);
            now += Duration::from_secs(lived);
            let again = pace.ended(now);
            pauses.push((again - now).as_secs());
            now = again;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 1, 2]);
    }
}
