//! Requests and hits of the last hour, per minute, and the current rate per second.
//!
//! Counts by the time of reading, which the caller passes, and not by the times in a log. A log
//! that is read from its start is therefore one high bar.

use std::time::Instant;

/// Minutes that are kept.
pub(super) const MINUTES: usize = 60;

/// Seconds of a rate.
const SECONDS: u64 = 10;

/// Slots for these seconds and the current one.
const SLOTS: usize = SECONDS as usize + 1;

/// Counts of a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TrafficCounts {
    pub(super) requests: u64,
    pub(super) hits: u64,
}

impl TrafficCounts {
    fn add(&mut self, more: Self) {
        self.requests += more.requests;
        self.hits += more.hits;
    }
}

/// The counts, and the current time.
#[derive(Debug, Clone)]
pub(super) struct HourlySeries {
    start: Instant,
    /// Whole seconds since the start.
    second: u64,
    minutes: [TrafficCounts; MINUTES],
    seconds: [TrafficCounts; SLOTS],
    total: TrafficCounts,
}

impl HourlySeries {
    pub(super) fn new(start: Instant) -> Self {
        Self {
            start,
            second: 0,
            minutes: [TrafficCounts::default(); MINUTES],
            seconds: [TrafficCounts::default(); SLOTS],
            total: TrafficCounts::default(),
        }
    }

    /// Advances the time; whether a new second has begun. An earlier time changes nothing.
    pub(super) fn advance(&mut self, now: Instant) -> bool {
        let second = now.saturating_duration_since(self.start).as_secs();
        if second <= self.second {
            return false;
        }
        for passed in (self.second + 1..=second).rev().take(SLOTS) {
            self.seconds[slot(passed, SLOTS)] = TrafficCounts::default();
        }
        for passed in (self.second / 60 + 1..=second / 60).rev().take(MINUTES) {
            self.minutes[slot(passed, MINUTES)] = TrafficCounts::default();
        }
        self.second = second;
        true
    }

    /// Adds counts to the current second.
    pub(super) fn count(&mut self, more: TrafficCounts) {
        self.seconds[slot(self.second, SLOTS)].add(more);
        self.minutes[slot(self.second / 60, MINUTES)].add(more);
        self.total.add(more);
    }

    /// The counts since the start.
    pub(super) fn total(&self) -> TrafficCounts {
        self.total
    }

    /// The rate in tenths per second, over the last full seconds; in the first second over that
    /// one.
    pub(super) fn rate(&self) -> TrafficCounts {
        let whole = self.second.min(SECONDS);
        let mut sum = TrafficCounts::default();
        let over = if whole == 0 {
            0..1
        } else {
            self.second - whole..self.second
        };
        for second in over {
            sum.add(self.seconds[slot(second, SLOTS)]);
        }
        let tenths = |n: u64| n.saturating_mul(10) / whole.max(1);
        TrafficCounts {
            requests: tenths(sum.requests),
            hits: tenths(sum.hits),
        }
    }

    /// The minutes, oldest first; the last one is the current minute.
    pub(super) fn minutes(
        &self,
    ) -> impl DoubleEndedIterator<Item = TrafficCounts> + ExactSizeIterator {
        let now = slot(self.second / 60, MINUTES);
        (0..MINUTES).map(move |ago| self.minutes[(now + 1 + ago) % MINUTES])
    }
}

fn slot(n: u64, slots: usize) -> usize {
    (n % slots as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn requests(requests: u64) -> TrafficCounts {
        TrafficCounts { requests, hits: 0 }
    }

    #[test]
    fn a_rate_is_that_of_the_last_seconds() {
        let start = Instant::now();
        let mut hour = HourlySeries::new(start);
        hour.count(requests(7));
        assert_eq!(
            hour.rate().requests,
            70,
            "the first second counts while it lasts"
        );
        for second in 1..=20 {
            hour.advance(start + Duration::from_secs(second));
            hour.count(requests(3));
        }
        assert_eq!(hour.rate().requests, 30);
        hour.advance(start + Duration::from_secs(25));
        assert_eq!(
            hour.rate().requests,
            18,
            "six of the last ten seconds had requests"
        );
        hour.advance(start + Duration::from_secs(60));
        assert_eq!(hour.rate().requests, 0);
        assert_eq!(hour.total().requests, 67);
    }

    #[test]
    fn time_does_not_go_back() {
        let start = Instant::now();
        let mut hour = HourlySeries::new(start + Duration::from_secs(100));
        assert!(!hour.advance(start));
        assert!(hour.advance(start + Duration::from_secs(101)));
        assert!(!hour.advance(start + Duration::from_secs(101)));
    }

    proptest! {
        #[test]
        fn the_ring_agrees_with_a_list(steps in prop::collection::vec((0_u64..9_000, 0_u64..50), 1..60)) {
            let start = Instant::now();
            let (mut hour, mut list, mut second) = (HourlySeries::new(start), Vec::new(), 0);
            for (pause, count) in steps {
                second += pause;
                hour.advance(start + Duration::from_secs(second));
                hour.count(requests(count));
                list.push((second / 60, count));
                let of = |minute: u64| list.iter().filter(|(m, _)| *m == minute).map(|(_, n)| n).sum::<u64>();
                let slow: Vec<_> = (0..60).rev().map(|ago| (second / 60).checked_sub(ago).map_or(0, of)).collect();
                prop_assert_eq!(hour.minutes().map(|c| c.requests).collect::<Vec<_>>(), slow);
            }
        }
    }
}
