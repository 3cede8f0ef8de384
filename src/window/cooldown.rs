//! Who was told of what, and when by the log's time, so that the same is not told again and again.

use crate::lru::LruMap;

/// When each alert was told last.
#[derive(Debug)]
pub(super) struct Cooldown {
    told: LruMap<u64, Option<i64>>,
    /// In seconds of the log's time.
    rest: i64,
}

impl Cooldown {
    /// Remembers at most so many alerts.
    pub(super) fn new(seconds: u64, keys: usize) -> Self {
        Self { told: LruMap::new(keys), rest: i64::try_from(seconds).unwrap_or(i64::MAX) }
    }

    /// Whether an alert is to be told now, which counts as told then. Time only goes on: what an older line calls for, after
    /// a newer one did, waits until the log has caught up. A log without any time tells each alert once.
    pub(super) fn is_over(&mut self, alert: u64, now: Option<i64>) -> bool {
        let now = now.unwrap_or(i64::MIN);
        let told = self.told.value(alert, || None);
        let is_over = told.is_none_or(|then| now >= then.saturating_add(self.rest));
        if is_over {
            *told = Some(now);
        }
        is_over
    }

    /// Alerts it remembers.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.told.values().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_told_again_after_a_rest() {
        let mut cooldown = Cooldown::new(600, 8);
        let told: Vec<_> = [0, 1, 599, 600, 10, 601, 1_199, 1_200].map(|now| cooldown.is_over(7, Some(now))).into();
        assert_eq!(told, [true, false, false, true, false, false, false, true]);
        assert!(cooldown.is_over(8, Some(601)), "another one is not the same");
    }

    #[test]
    fn without_a_time_once() {
        let mut cooldown = Cooldown::new(600, 8);
        assert_eq!([None, None, Some(0), Some(1), None].map(|now| cooldown.is_over(7, now)), [true, false, true, false, false]);
        let mut none = Cooldown::new(0, 8);
        assert_eq!([None, None, Some(0), Some(0)].map(|now| none.is_over(7, now)), [true; 4], "no rest");
    }
}
