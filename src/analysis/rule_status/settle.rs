//! When the grade `distinct` of a live answer is settled, so that it may raise an alert.
//!
//! A first answer is `distinct` as long as nothing is known of its site, and the next requests of the same prober often show that
//! the site answers anything. So an answer waits a moment. After that, what the site did with the nearest other probes decides:
//! if it refused one since, or answered no other before, the grade stands. If it answered all of them, the answer waits longer.

use std::collections::VecDeque;
use std::time::Duration;

use crate::soft_404::PathShape;

/// How long an answer waits, by the log or by the clock, if nothing speaks against it. A scanner sends several requests per second,
/// and an alert is due within a minute.
const WAIT: Duration = Duration::from_secs(30);
/// How long it waits if the site only answered since: on a quiet site it takes hours until the grader has the twenty probes that it
/// needs at most to recognize a site that answers anything.
const WAIT_IN_DOUBT: Duration = Duration::from_secs(24 * 60 * 60);
/// The most recent probes of a site: more than the nearest ones, whatever a scanner requests in between.
const MAX_RECENT: usize = 64;

/// When an answer arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    /// By the log, in seconds since 1970.
    pub(super) logged: Option<i64>,
    /// By the clock, since the start of the run.
    pub(super) clock: Duration,
    /// Its position among the probes of the site.
    pub(super) position: u64,
}

/// What a site did with its latest probes.
#[derive(Debug, Default)]
pub(super) struct RecentProbes {
    /// In the order of the latest request for each path.
    probes: VecDeque<RecentProbe>,
    /// The position of the latest one.
    position: u64,
    /// A find was withdrawn, so a part of the site answers anything.
    has_withdrawn: bool,
}

#[derive(Debug)]
struct RecentProbe {
    position: u64,
    path: u64,
    shape: PathShape,
    is_answered: bool,
}

impl RecentProbes {
    /// The position of the latest probe.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Records that a find was withdrawn.
    pub(super) fn record_withdrawal(&mut self) {
        self.has_withdrawn = true;
    }

    /// Records that a path was answered or refused.
    pub(super) fn record(&mut self, path: u64, shape: PathShape, is_answered: bool) {
        self.probes.retain(|probe| probe.path != path);
        if self.probes.len() == MAX_RECENT {
            self.probes.pop_front();
        }
        self.position += 1;
        self.probes.push_back(RecentProbe { position: self.position, path, shape, is_answered });
    }

    /// Whether an answer has waited long enough; `logged` and `clock` are the times now.
    pub(super) fn is_due(&self, path: u64, shape: &PathShape, arrival: &Arrival, logged: Option<i64>, clock: Duration) -> bool {
        let by_log = logged.zip(arrival.logged).and_then(|(now, then)| u64::try_from(now.saturating_sub(then)).ok());
        let waited = Duration::from_secs(by_log.unwrap_or(0)).max(clock.saturating_sub(arrival.clock));
        waited >= WAIT && (waited >= WAIT_IN_DOUBT || !self.is_in_doubt(path, shape, arrival.position))
    }

    /// Whether the site answered the nearest other probes and refused none since. The nearest are those of the same folder and
    /// kind, else of the same kind, else all. Where a find was withdrawn, those of other folders show nothing.
    fn is_in_doubt(&self, path: u64, shape: &PathShape, position: u64) -> bool {
        let others = || self.probes.iter().filter(|probe| probe.path != path);
        let is_alike = |probe: &&RecentProbe| probe.shape.is_handled_like(shape);
        let is_beside = |probe: &&RecentProbe| probe.shape.folder == shape.folder && is_alike(probe);
        let mut nearest: Vec<&RecentProbe> = others().filter(is_beside).collect();
        if nearest.is_empty() {
            if self.has_withdrawn {
                return true;
            }
            nearest = others().filter(is_alike).collect();
        }
        if nearest.is_empty() {
            nearest = others().collect();
        }
        let (before, since): (Vec<&RecentProbe>, Vec<&RecentProbe>) = nearest.into_iter().partition(|probe| probe.position < position);
        let is_refused_since = since.iter().any(|probe| !probe.is_answered);
        let is_answered_before = before.last().is_some_and(|probe| probe.is_answered);
        !is_refused_since && (is_answered_before || !since.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soft_404::path_hash;

    const SECOND: Duration = Duration::from_secs(1);

    /// The last probe is the find; before it and since, the site did this with other probes. Whether the find is due after a while,
    /// by the clock.
    fn is_due(before: &[(&str, bool)], find: &str, since: &[(&str, bool)], waited: Duration) -> bool {
        let mut recent = RecentProbes::default();
        let shape = |path: &str| PathShape::new(path.as_bytes());
        let record =
            |recent: &mut RecentProbes, path: &str, is_answered| recent.record(path_hash(path.as_bytes()), shape(path), is_answered);
        for (path, is_answered) in before {
            record(&mut recent, path, *is_answered);
        }
        record(&mut recent, find, true);
        let arrival = Arrival { logged: None, clock: Duration::ZERO, position: recent.position() };
        for (path, is_answered) in since {
            record(&mut recent, path, *is_answered);
        }
        recent.is_due(path_hash(find.as_bytes()), &shape(find), &arrival, None, waited)
    }

    #[test]
    fn a_lone_answer_waits_half_a_minute_by_the_log_or_the_clock() {
        assert!(!is_due(&[], "/.env", &[], WAIT.saturating_sub(SECOND)) && is_due(&[], "/.env", &[], WAIT));
        let recent = RecentProbes::default();
        let arrival = Arrival { logged: Some(1_000), clock: 5 * SECOND, position: 1 };
        let is_due = |logged, clock| recent.is_due(1, &PathShape::default(), &arrival, logged, clock);
        assert!(is_due(Some(1_030), 5 * SECOND) && !is_due(Some(1_029), 34 * SECOND) && is_due(Some(1_000), 35 * SECOND));
        assert!(!is_due(Some(0), Duration::ZERO) && !is_due(None, 34 * SECOND), "a time that is earlier, and none");
    }

    #[test]
    fn an_answer_beside_it_is_a_doubt_until_one_is_refused() {
        let answered = [("/.env", true)];
        assert!(!is_due(&answered, "/.git/config", &[], WAIT_IN_DOUBT.saturating_sub(SECOND)), "an answer to the same kind of path");
        assert!(is_due(&answered, "/.git/config", &[], WAIT_IN_DOUBT));
        assert!(is_due(&answered, "/.git/config", &[("/.aws/credentials", false)], WAIT));
        assert!(!is_due(&[], "/.env", &[("/.htpasswd", true)], WAIT), "a later one");
        assert!(is_due(&[("/.htpasswd", true), ("/.npmrc", false)], "/.env", &[], WAIT), "the latest one before was refused");
        assert!(!is_due(&[("/.npmrc", false), ("/.htpasswd", true)], "/.env", &[], WAIT), "a deploy after it");
        assert!(is_due(&[], "/.env", &[("/.env", true)], WAIT), "the same path");
    }

    #[test]
    fn the_nearest_probes_decide() {
        let elsewhere = [("/a.php", false), ("/x.zip", false)];
        assert!(!is_due(&[("/b.php", true), elsewhere[1]], "/c.php", &[elsewhere[1]], WAIT), "the same kind before others");
        assert!(!is_due(&[("/api/a.php", true), elsewhere[0]], "/api/b.php", &elsewhere, WAIT), "the same folder before others");
        assert!(is_due(&elsewhere, "/api/b.php", &[], WAIT), "others, if there are none");
    }

    #[test]
    fn after_a_withdrawal_only_the_probes_beside_count() {
        let mut recent = RecentProbes::default();
        let shape = |path: &str| PathShape::new(path.as_bytes());
        let arrival = Arrival { logged: None, clock: Duration::ZERO, position: 0 };
        recent.record(1, shape("/a.php"), false);
        assert!(recent.is_due(2, &shape("/api/b.php"), &arrival, None, WAIT));
        recent.record_withdrawal();
        assert!(!recent.is_due(2, &shape("/api/b.php"), &arrival, None, WAIT));
        recent.record(3, shape("/api/c.php"), false);
        assert!(recent.is_due(2, &shape("/api/b.php"), &arrival, None, WAIT));
    }

    #[test]
    fn the_latest_probes_are_remembered() {
        let mut recent = RecentProbes::default();
        (0..1_000).for_each(|path| recent.record(path % 100, PathShape::default(), false));
        assert_eq!((recent.probes.len(), recent.probes[0].path, recent.position()), (MAX_RECENT, 36, 1_000));
    }
}
