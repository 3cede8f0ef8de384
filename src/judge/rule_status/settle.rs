//! When the grade `distinct` of a live answer is settled, so that it may raise an alert.
//!
//! A first answer is `distinct` as long as nothing is known of its site, and the next requests of
//! the same prober often show that the site answers anything. So an answer waits a moment. After
//! that, what the site did with the nearest other probes decides: if it refused one since, or
//! answered no other before, the grade stands. If it answered all of them, the answer waits longer.
//!
//! A refusal beside an answer supports it: the site does not answer anything there. One find of a
//! site may alert without; the next ones wait until it is supported, so that a site that answers
//! anything in some part raises one alert. Once a find was withdrawn, only those with support
//! alert.

use std::collections::VecDeque;
use std::time::Duration;

use crate::soft_404::{Extension, PathShape, path_hash};

/// How long an answer waits, by the log or by the clock, if nothing speaks against it. A scanner
/// sends several requests per second, and an alert is due within a minute.
const WAIT: Duration = Duration::from_secs(30);
/// How long it waits if the site only answered since: on a quiet site it takes hours until the
/// grader has the twenty probes that it needs at most to recognize a site that answers anything.
const WAIT_IN_DOUBT: Duration = Duration::from_secs(24 * 60 * 60);
/// How long it waits if another find of the site may be false, or was. In a week most sites are
/// probed by all usual scanners.
const WAIT_AFTER_ANOTHER: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The most recent probes of a site: more than the nearest ones, whatever a scanner requests in
/// between.
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

impl Arrival {
    /// How long an answer has waited, by the times now.
    fn waited(&self, logged: Option<i64>, clock: Duration) -> Duration {
        let by_log = logged
            .zip(self.logged)
            .and_then(|(now, then)| u64::try_from(now.saturating_sub(then)).ok());
        Duration::from_secs(by_log.unwrap_or(0)).max(clock.saturating_sub(self.clock))
    }
}

/// A service is mounted at a folder of this depth at most: `/api/v1`.
const FOLDER_DEPTH: usize = 2;
/// The number of other probes, later ones or those since a withdrawal, that prove a find which
/// stands out: twenty answers show whether the sizes of a site vary.
const PROVEN_AFTER: u64 = 20;

/// A path among the probes of its site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Probe {
    /// The hash of the path.
    pub(super) path: u64,
    pub(super) shape: PathShape,
    /// A hash of the folder that may be handled by itself, such as `/api/v1`; 0 for the root. A
    /// hidden one, such as a repository, is handled as the files beside it are.
    pub(super) folder: u64,
}

impl Probe {
    pub(super) fn new(path: &[u8]) -> Self {
        let end = path
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'/')
            .map(|(at, _)| at)
            .take(1 + FOLDER_DEPTH)
            .last()
            .unwrap_or(0);
        let end = memchr::memmem::find(&path[..end], b"/.").unwrap_or(end);
        let folder = if end == 0 { 0 } else { path_hash(&path[..end]) };
        Self {
            path: path_hash(path),
            shape: PathShape::new(path),
            folder,
        }
    }

    /// Whether both are parts of what may be one leak: the same path, or of one folder.
    pub(super) fn is_of_one_leak(&self, other: &Self) -> bool {
        self.path == other.path
            || (self.shape.folder != 0 && self.shape.folder == other.shape.folder)
    }

    fn is_alike(&self, other: &Self) -> bool {
        self.shape.is_handled_like(&other.shape)
    }

    /// Whether one handler may answer both.
    fn is_beside(&self, other: &Self) -> bool {
        self.folder == other.folder && self.is_alike(other)
    }

    /// Whether a refusal of another path shows that the site does not answer anything in place of
    /// this one. A route for any name at the root seldom takes names with a dot, so for these any
    /// folder shows it.
    fn is_supported_by(&self, other: &Self) -> bool {
        let is_file_at_root = self.folder == 0 && !matches!(self.shape.extension, Extension::Bare);
        if is_file_at_root {
            self.is_alike(other)
        } else {
            self.is_beside(other)
        }
    }
}

/// What is known of an answer that waits.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and nearly all combinations occur"
)]
pub(super) struct Waiting<'a> {
    pub(super) probe: &'a Probe,
    pub(super) arrival: &'a Arrival,
    /// It stands out against what the site gives to any path.
    pub(super) stands_out: bool,
    /// The site refused a path beside it.
    pub(super) is_supported: bool,
    /// Another find of the site is not supported, and may be false.
    pub(super) is_second: bool,
    /// That one became uncertain.
    pub(super) is_other_doubtful: bool,
}

/// What a site did with its latest probes.
#[derive(Debug, Default)]
pub(super) struct RecentProbes {
    /// In the order of the latest request for each path.
    probes: VecDeque<RecentProbe>,
    /// The position of the latest one.
    position: u64,
    /// The position at which a find was withdrawn, 0 in an earlier run: a part of the site answers
    /// anything.
    withdrawn: Option<u64>,
    /// One of them had stood out: the sizes of the site vary so much that standing out proves
    /// nothing.
    has_false_outlier: bool,
}

#[derive(Debug)]
struct RecentProbe {
    position: u64,
    probe: Probe,
    is_answered: bool,
}

impl RecentProbes {
    /// The position of the latest probe.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Whether a find was withdrawn.
    pub(super) fn has_withdrawn(&self) -> bool {
        self.withdrawn.is_some()
    }

    /// Records that a find was withdrawn; `stood_out` is whether it was one because its size stood
    /// out.
    pub(super) fn record_withdrawal(&mut self, stood_out: bool) {
        self.withdrawn = Some(self.position);
        self.has_false_outlier |= stood_out;
    }

    /// Records that a path was answered or refused. The home page is none: it shows nothing of
    /// names that may not exist.
    pub(super) fn record(&mut self, probe: Probe, is_answered: bool) {
        if probe.shape.segment == 0 {
            return;
        }
        self.probes.retain(|recent| recent.probe.path != probe.path);
        if self.probes.len() == MAX_RECENT {
            self.probes.pop_front();
        }
        self.position += 1;
        self.probes.push_back(RecentProbe {
            position: self.position,
            probe,
            is_answered,
        });
    }

    /// Whether a path was refused that supports an answer.
    pub(super) fn support(&self, answer: &Probe) -> bool {
        self.others(answer)
            .any(|recent| !recent.is_answered && answer.is_supported_by(&recent.probe))
    }

    /// Whether an answer has waited long enough; `logged` and `clock` are the times now.
    pub(super) fn is_due(
        &self,
        waiting: &Waiting<'_>,
        logged: Option<i64>,
        clock: Duration,
    ) -> bool {
        let waited = waiting.arrival.waited(logged, clock);
        let may_be_false = (self.has_withdrawn() || waiting.is_second) && !waiting.is_supported;
        if waiting.stands_out {
            let is_proven = match self.withdrawn {
                _ if self.has_false_outlier => false,
                // The sizes of the site are known.
                Some(withdrawn) => waiting.arrival.position > withdrawn + PROVEN_AFTER,
                None => self.is_proven_by_later(waiting.arrival),
            };
            return !may_be_false
                || is_proven && !waiting.is_other_doubtful
                || waited >= WAIT_IN_DOUBT;
        }
        let wait = if may_be_false {
            WAIT_AFTER_ANOTHER
        } else if self.is_in_doubt(waiting.probe, waiting.arrival.position) {
            WAIT_IN_DOUBT
        } else {
            WAIT
        };
        waited >= wait
    }

    /// Whether an answer that still stands out has been compared with enough later ones.
    pub(super) fn is_proven_by_later(&self, arrival: &Arrival) -> bool {
        !self.has_false_outlier && self.position >= arrival.position + PROVEN_AFTER
    }

    fn others(&self, answer: &Probe) -> impl Iterator<Item = &RecentProbe> {
        self.probes
            .iter()
            .filter(|recent| recent.probe.path != answer.path)
    }

    /// Whether the site answered the nearest other probes and refused none since. The nearest are
    /// those of the same folder and kind, else of the same kind, else all.
    fn is_in_doubt(&self, answer: &Probe, position: u64) -> bool {
        let nearest_by = |is_near: &dyn Fn(&Probe) -> bool| -> Vec<&RecentProbe> {
            self.others(answer)
                .filter(|recent| is_near(&recent.probe))
                .collect()
        };
        let mut nearest = nearest_by(&|other| answer.is_beside(other));
        if nearest.is_empty() {
            nearest = nearest_by(&|other| answer.is_alike(other));
        }
        if nearest.is_empty() {
            nearest = nearest_by(&|_| true);
        }
        let (before, since): (Vec<&RecentProbe>, Vec<&RecentProbe>) = nearest
            .into_iter()
            .partition(|recent| recent.position < position);
        let is_refused_since = since.iter().any(|recent| !recent.is_answered);
        let is_answered_before = before.last().is_some_and(|recent| recent.is_answered);
        !is_refused_since && (is_answered_before || !since.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const START: Arrival = Arrival {
        logged: None,
        clock: Duration::ZERO,
        position: 1,
    };

    fn probe(path: &str) -> Probe {
        Probe::new(path.as_bytes())
    }

    /// An answer that nothing is known of.
    fn waiting<'a>(probe: &'a Probe, arrival: &'a Arrival) -> Waiting<'a> {
        Waiting {
            probe,
            arrival,
            stands_out: false,
            is_supported: false,
            is_second: false,
            is_other_doubtful: false,
        }
    }

    /// A site that did this with these probes.
    fn site(probes: &[(&str, bool)]) -> RecentProbes {
        let mut recent = RecentProbes::default();
        for (path, is_answered) in probes {
            recent.record(probe(path), *is_answered);
        }
        recent
    }

    /// The last probe is the find; before it and since, the site did this with other probes.
    /// Whether the find is due after a while, by the clock.
    fn is_due(
        before: &[(&str, bool)],
        find: &str,
        since: &[(&str, bool)],
        waited: Duration,
    ) -> bool {
        let recent = site(&[before, &[(find, true)], since].concat());
        let arrival = Arrival {
            position: before.len() as u64 + 1,
            ..START
        };
        recent.is_due(&waiting(&probe(find), &arrival), None, waited)
    }

    #[test]
    fn a_lone_answer_waits_half_a_minute_by_the_log_or_the_clock() {
        assert!(
            !is_due(&[], "/.env", &[], WAIT.saturating_sub(SECOND))
                && is_due(&[], "/.env", &[], WAIT)
        );
        let arrival = Arrival {
            logged: Some(1_000),
            clock: 5 * SECOND,
            position: 1,
        };
        let is_due = |logged, clock| {
            RecentProbes::default().is_due(&waiting(&probe("/.env"), &arrival), logged, clock)
        };
        assert!(
            is_due(Some(1_030), 5 * SECOND)
                && !is_due(Some(1_029), 34 * SECOND)
                && is_due(Some(1_000), 35 * SECOND)
        );
        assert!(
            !is_due(Some(0), Duration::ZERO) && !is_due(None, 34 * SECOND),
            "a time that is earlier, and none"
        );
    }

    #[test]
    fn an_answer_beside_it_is_a_doubt_until_one_is_refused() {
        let answered = [("/.env", true)];
        assert!(
            !is_due(
                &answered,
                "/.git/config",
                &[],
                WAIT_IN_DOUBT.saturating_sub(SECOND)
            ),
            "an answer to the same kind of path"
        );
        assert!(is_due(&answered, "/.git/config", &[], WAIT_IN_DOUBT));
        assert!(is_due(
            &answered,
            "/.git/config",
            &[("/.aws/credentials", false)],
            WAIT
        ));
        assert!(
            !is_due(&[], "/.env", &[("/.htpasswd", true)], WAIT),
            "a later one"
        );
        assert!(
            is_due(
                &[("/.htpasswd", true), ("/.npmrc", false)],
                "/.env",
                &[],
                WAIT
            ),
            "the latest one before was refused"
        );
        assert!(
            !is_due(
                &[("/.npmrc", false), ("/.htpasswd", true)],
                "/.env",
                &[],
                WAIT
            ),
            "a deploy after it"
        );
        assert!(
            is_due(&[], "/.env", &[("/.env", true)], WAIT),
            "the same path"
        );
    }

    #[test]
    fn the_nearest_probes_decide() {
        let elsewhere = [("/a.php", false), ("/x.zip", false)];
        assert!(
            !is_due(
                &[("/b.php", true), elsewhere[1]],
                "/c.php",
                &[elsewhere[1]],
                WAIT
            ),
            "the same kind before others"
        );
        assert!(
            !is_due(
                &[("/api/a.php", true), elsewhere[0]],
                "/api/b.php",
                &elsewhere,
                WAIT
            ),
            "the same folder before others"
        );
        assert!(
            is_due(&elsewhere, "/api/b.php", &[], WAIT),
            "others, if there are none"
        );
    }

    /// A service may be mounted at `/api/v1`, and refuses for itself.
    #[test]
    fn refusals_beside_a_find_support_it() {
        for (find, refused, supports) in [
            ("/api/v1/a.php", "/api/v1/b.php", true),
            ("/api/v1/x/a.php", "/api/v1/b.php", true),
            ("/a/b/c/d.php", "/a/b/e/f.php", true),
            ("/api/v1/a.php", "/api/b.php", false),
            ("/api/v1/a.php", "/b.php", false),
            ("/api/v1/a.php", "/api/v1/b.zip", false),
            ("/.git/config", "/.env", true),
            ("/api/.git/config", "/api/.env", true),
            ("/api/.git/config", "/.env", false),
            ("/.env", "/x/.env", true),
            ("/phpmyadmin", "/x/pma", false),
            ("/phpmyadmin", "/pma", true),
            ("/phpmyadmin", "/", false),
            ("/.env", "/.env", false),
        ] {
            assert_eq!(
                site(&[(refused, false)]).support(&probe(find)),
                supports,
                "{find} after {refused}"
            );
            assert!(
                !site(&[(refused, true)]).support(&probe(find)),
                "{find} after an answer"
            );
        }
    }

    #[test]
    fn a_second_find_waits_for_a_refusal_beside_it_or_a_week() {
        let (find, recent) = (probe("/api/b.php"), site(&[("/api/b.php", true)]));
        let mut withdrawn = site(&[("/api/b.php", true)]);
        withdrawn.record_withdrawal(false);
        let alone = waiting(&find, &START);
        for (recent, waiting) in [
            (
                &recent,
                Waiting {
                    is_second: true,
                    ..alone
                },
            ),
            (&withdrawn, alone),
        ] {
            assert!(!recent.is_due(&waiting, None, WAIT_AFTER_ANOTHER.saturating_sub(SECOND)));
            assert!(recent.is_due(&waiting, None, WAIT_AFTER_ANOTHER));
            assert!(recent.is_due(
                &Waiting {
                    is_supported: true,
                    ..waiting
                },
                None,
                WAIT
            ));
        }
    }

    #[test]
    fn what_stands_out_is_due_at_once_unless_another_find_may_be_false() {
        let (find, mut recent) = (probe("/b.php"), site(&[("/b.php", true)]));
        let first = Waiting {
            stands_out: true,
            ..waiting(&find, &START)
        };
        let second = Waiting {
            is_second: true,
            ..first
        };
        let doubtful = Waiting {
            is_other_doubtful: true,
            ..second
        };
        let is_due = |recent: &RecentProbes, waited| {
            [first, second, doubtful].map(|waiting| recent.is_due(&waiting, None, waited))
        };
        assert_eq!(is_due(&recent, Duration::ZERO), [true, false, false]);
        assert_eq!(
            is_due(&recent, WAIT_IN_DOUBT.saturating_sub(SECOND)),
            [true, false, false]
        );
        assert_eq!(is_due(&recent, WAIT_IN_DOUBT), [true; 3]);
        (1..PROVEN_AFTER).for_each(|n| recent.record(probe(&format!("/{n}.php")), true));
        assert_eq!(
            is_due(&recent, WAIT),
            [true, false, false],
            "nineteen later probes"
        );
        recent.record(probe("/20.php"), true);
        assert_eq!(is_due(&recent, WAIT), [true, true, false], "twenty");
        recent.record_withdrawal(false);
        assert_eq!(is_due(&recent, WAIT), [false; 3]);
        assert_eq!(is_due(&recent, WAIT_IN_DOUBT), [true; 3]);
        assert!(
            recent.is_due(
                &Waiting {
                    is_supported: true,
                    ..first
                },
                None,
                Duration::ZERO
            ),
            "a refusal beside it"
        );
    }

    #[test]
    fn what_stands_out_against_twenty_answers_since_a_withdrawal_is_due_at_once() {
        let mut recent = site(&[("/a.php", true)]);
        recent.record_withdrawal(false);
        (0..PROVEN_AFTER).for_each(|n| recent.record(probe(&format!("/{n}.php")), true));
        let find = probe("/b.php");
        let is_due = |position| {
            let arrival = Arrival { position, ..START };
            recent.is_due(
                &Waiting {
                    stands_out: true,
                    ..waiting(&find, &arrival)
                },
                None,
                Duration::ZERO,
            )
        };
        assert_eq!(
            [1 + PROVEN_AFTER, 2 + PROVEN_AFTER].map(is_due),
            [false, true]
        );
    }

    #[test]
    fn standing_out_proves_nothing_once_an_outlier_was_withdrawn() {
        let mut recent = site(&[("/a.php", true)]);
        recent.record_withdrawal(true);
        (0..2 * PROVEN_AFTER).for_each(|n| recent.record(probe(&format!("/{n}.php")), true));
        let find = probe("/b.php");
        let arrival = Arrival {
            position: 2 * PROVEN_AFTER,
            ..START
        };
        let is_due = |is_supported, waited| {
            recent.is_due(
                &Waiting {
                    stands_out: true,
                    is_supported,
                    ..waiting(&find, &arrival)
                },
                None,
                waited,
            )
        };
        assert_eq!(
            [
                is_due(false, Duration::ZERO),
                is_due(false, WAIT_IN_DOUBT),
                is_due(true, Duration::ZERO)
            ],
            [false, true, true]
        );
        assert!(!recent.is_proven_by_later(&START));
    }

    #[test]
    fn the_latest_probes_are_remembered() {
        let mut recent = RecentProbes::default();
        (0..1_000).for_each(|path| {
            recent.record(
                Probe {
                    path: path % 100,
                    ..probe("/a")
                },
                false,
            );
        });
        assert_eq!(
            (
                recent.probes.len(),
                recent.probes[0].probe.path,
                recent.position()
            ),
            (MAX_RECENT, 36, 1_000)
        );
    }
}
