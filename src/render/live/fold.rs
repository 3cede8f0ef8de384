//! Folds repeats: of hits of one client on the same rules the first is printed, the others are
//! counted.
//!
//! Reads no clock and prints nothing. Memory is bounded, whatever clients send.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::log::client::{Client, ClientKey};
use crate::log::finding::{RuleId, Severity};
use crate::log::log_entry::Outcome;
use crate::log::time::LogTime;
use crate::report::model::ReportedHit;
use crate::soft_404::Answer::Soft404;

/// The most open groups. Above it, the group that has been idle longest is closed.
pub(crate) const MAX_GROUPS: usize = 4096;

/// How long a count is held while its group is not idle.
pub(crate) const MAX_HOLD: Duration = Duration::from_secs(60);

/// The most bytes of a client's name. Hits of a longer one are not folded, as a group keeps the
/// name.
const MAX_CLIENT_NAME: usize = 256;

/// Bytes kept of the last target, more than a terminal line shows.
const MAX_TARGET: usize = 1024;

/// Whether a hit is to be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FoldDecision {
    /// Print it now.
    Print,
    /// It was counted, and is printed later with others.
    Folded,
}

/// The count of repeats that were not printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoldedRepeats<'a> {
    /// The number of hits.
    pub hits: u64,
    /// Hits with a distinct answer.
    pub answered: u64,
    /// The highest severity.
    pub severity: Severity,
    /// The client.
    pub client: Client<'a>,
    /// The rules that all of them match.
    pub rules: &'a [RuleId],
    /// The log's time of the last hit.
    pub time: Option<LogTime>,
    /// The target of the last hit, redacted; a very long one is cut.
    pub target: &'a str,
}

/// Counts repeated hits.
///
/// A *group* is a client and an exact list of reported rules. It is open from its first hit, which
/// is printed, until it is idle: until no hit of it came for some time.
#[derive(Debug)]
pub(crate) struct RepeatFolder {
    quiet_for: Duration,
    /// The latest time given.
    now: Option<Instant>,
    /// Counts observed hits, so that no two groups have the same sequence number.
    sequence: u64,
    groups: Vec<RepeatGroup>,
    /// Indices of open groups, by client and rules.
    by_key: HashTable<usize>,
    /// Indices of closed groups, to be reused.
    free: Vec<usize>,
    /// All open groups, the one idle longest first.
    by_last_seen: BTreeMap<u64, usize>,
    /// Groups with a count, the one held longest first.
    by_held_since: BTreeMap<u64, usize>,
    hasher: RandomState,
}

/// A client, its rules, and the hits that are not printed yet.
#[derive(Debug)]
struct RepeatGroup {
    client: ClientKey,
    rules: Vec<RuleId>,
    /// The highest severity and answer printed so far.
    printed: (Severity, AnswerLevel),
    last_seen: Instant,
    /// Its key in `by_last_seen`.
    sequence: u64,
    /// When the first unprinted hit was counted, and its key in `by_held_since`.
    held_since: Instant,
    held_since_sequence: u64,
    hits: u64,
    answered: u64,
    severity: Severity,
    time: Option<LogTime>,
    target: String,
}

/// How much an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AnswerLevel {
    None,
    /// A 2xx that is not distinct.
    Uninformative,
    /// A distinct answer.
    Distinct,
}

impl RepeatFolder {
    /// Folds repeats of a group until it was idle for `quiet_for`.
    #[must_use]
    pub(crate) fn new(quiet_for: Duration) -> Self {
        Self {
            quiet_for,
            now: None,
            sequence: 0,
            groups: Vec::new(),
            by_key: HashTable::new(),
            free: Vec::new(),
            by_last_seen: BTreeMap::new(),
            by_held_since: BTreeMap::new(),
            hasher: RandomState::default(),
        }
    }

    /// Takes the next hit, after `each` got the counts that are due. `answered`: its answer is
    /// distinct.
    ///
    /// A repeat is printed if its severity or its answer is higher than any printed of its group.
    pub(crate) fn observe(
        &mut self,
        now: Instant,
        hit: &ReportedHit<'_>,
        answered: bool,
        each: &mut impl FnMut(FoldedRepeats<'_>),
    ) -> FoldDecision {
        self.flush_idle(now, each);
        if matches!(hit.client, Client::Text(name) if name.len() > MAX_CLIENT_NAME) {
            return FoldDecision::Print;
        }
        let answer = AnswerLevel::new(hit, answered);
        let now = self.now.unwrap_or(now);
        if let Some(slot) = self.slot(hit) {
            return self.observe_repeat(slot, now, hit, answer);
        }
        if self.by_last_seen.len() >= MAX_GROUPS
            && let Some((_, &slot)) = self.by_last_seen.first_key_value()
        {
            self.close(slot, each);
        }
        self.open(now, hit, answer);
        FoldDecision::Print
    }

    /// Emits the counts that are due: of groups that are idle, and those held for [`MAX_HOLD`], in
    /// the order of their deadlines.
    pub(crate) fn flush_idle(&mut self, now: Instant, each: &mut impl FnMut(FoldedRepeats<'_>)) {
        let now = self.now.map_or(now, |latest| latest.max(now));
        self.now = Some(now);
        while let Some((at, slot, is_idle)) = self.next_deadline() {
            if at > now {
                return;
            }
            if is_idle {
                self.close(slot, each);
            } else {
                self.emit(slot, each);
            }
        }
    }

    /// Emits all counts and closes every group: at the end, and before the rules are replaced.
    pub(crate) fn flush_all(&mut self, each: &mut impl FnMut(FoldedRepeats<'_>)) {
        while let Some((_, &slot)) = self.by_last_seen.first_key_value() {
            self.close(slot, each);
        }
    }

    /// When [`flush_idle`](Self::flush_idle) is next due if no hit comes.
    #[must_use]
    pub(crate) fn next_flush(&self) -> Option<Instant> {
        self.next_deadline().map(|(at, ..)| at)
    }

    /// When which group is due next, and whether it is idle then or its count was held for
    /// [`MAX_HOLD`].
    fn next_deadline(&self) -> Option<(Instant, usize, bool)> {
        // A duration that overflows never ends.
        let rest = self.by_last_seen.first_key_value().and_then(|(_, &slot)| {
            let at = self.groups[slot].last_seen.checked_add(self.quiet_for)?;
            Some((at, slot, true))
        });
        let count = self.by_held_since.first_key_value().and_then(|(_, &slot)| {
            let at = self.groups[slot].held_since.checked_add(MAX_HOLD)?;
            Some((at, slot, false))
        });
        match (rest, count) {
            (Some(rest), Some(count)) if count.0 < rest.0 => Some(count),
            (None, count) => count,
            (rest, _) => rest,
        }
    }

    fn slot(&self, hit: &ReportedHit<'_>) -> Option<usize> {
        let hash = self.hasher.hash_one((hit.client, hit.rules));
        let same = |&slot: &usize| {
            self.groups[slot].client.client() == hit.client && self.groups[slot].rules == hit.rules
        };
        self.by_key.find(hash, same).copied()
    }

    fn open(&mut self, now: Instant, hit: &ReportedHit<'_>, answer: AnswerLevel) {
        let slot = self.free.pop().unwrap_or(self.groups.len());
        let sequence = self.next_sequence();
        let group = RepeatGroup::new(now, hit, answer, sequence);
        if slot == self.groups.len() {
            self.groups.push(group);
        } else {
            self.groups[slot] = group;
        }
        self.by_last_seen.insert(sequence, slot);
        let Self {
            by_key,
            groups,
            hasher,
            ..
        } = self;
        by_key.insert_unique(hasher.hash_one((hit.client, hit.rules)), slot, |&slot| {
            groups[slot].hash(hasher)
        });
    }

    fn observe_repeat(
        &mut self,
        slot: usize,
        now: Instant,
        hit: &ReportedHit<'_>,
        answer: AnswerLevel,
    ) -> FoldDecision {
        let sequence = self.next_sequence();
        let group = &mut self.groups[slot];
        self.by_last_seen.remove(&group.sequence);
        self.by_last_seen.insert(sequence, slot);
        (group.sequence, group.last_seen) = (sequence, now);
        let (severity, level) = group.printed;
        let printed = (severity.max(hit.severity), level.max(answer));
        if printed != group.printed {
            group.printed = printed;
            return FoldDecision::Print;
        }
        if group.hits == 0 {
            (group.held_since, group.held_since_sequence, group.severity) =
                (now, sequence, hit.severity);
            self.by_held_since.insert(sequence, slot);
        }
        group.count(hit, answer);
        FoldDecision::Folded
    }

    /// Emits a group's count, if it has one, and closes the group.
    fn close(&mut self, slot: usize, each: &mut impl FnMut(FoldedRepeats<'_>)) {
        self.emit(slot, each);
        let group = &self.groups[slot];
        self.by_last_seen.remove(&group.sequence);
        if let Ok(entry) = self
            .by_key
            .find_entry(group.hash(&self.hasher), |&other| other == slot)
        {
            entry.remove();
        }
        self.free.push(slot);
    }

    fn emit(&mut self, slot: usize, each: &mut impl FnMut(FoldedRepeats<'_>)) {
        let group = &mut self.groups[slot];
        if group.hits > 0 {
            self.by_held_since.remove(&group.held_since_sequence);
            each(group.folded());
            (group.hits, group.answered) = (0, 0);
        }
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }
}

impl RepeatGroup {
    fn new(now: Instant, hit: &ReportedHit<'_>, answer: AnswerLevel, sequence: u64) -> Self {
        Self {
            client: ClientKey::from(&hit.client),
            rules: hit.rules.to_vec(),
            printed: (hit.severity, answer),
            last_seen: now,
            sequence,
            held_since: now,
            held_since_sequence: 0,
            hits: 0,
            answered: 0,
            severity: hit.severity,
            time: None,
            target: String::new(),
        }
    }

    fn hash(&self, hasher: &RandomState) -> u64 {
        hasher.hash_one((self.client.client(), &*self.rules))
    }

    fn count(&mut self, hit: &ReportedHit<'_>, answer: AnswerLevel) {
        self.hits += 1;
        self.answered += u64::from(answer == AnswerLevel::Distinct);
        self.severity = self.severity.max(hit.severity);
        self.time = hit.time;
        // Cut after masking: half a secret would not be recognised.
        let target = hit.target.redacted();
        self.target.clear();
        let end = (0..=target.len().min(MAX_TARGET))
            .rev()
            .find(|&end| target.is_char_boundary(end));
        self.target.push_str(&target[..end.unwrap_or(0)]);
    }

    fn folded(&self) -> FoldedRepeats<'_> {
        FoldedRepeats {
            hits: self.hits,
            answered: self.answered,
            severity: self.severity,
            client: self.client.client(),
            rules: &self.rules,
            time: self.time,
            target: &self.target,
        }
    }
}

impl AnswerLevel {
    fn new(hit: &ReportedHit<'_>, answered: bool) -> Self {
        match (answered, hit.outcome) {
            (true, _) => Self::Distinct,
            (false, Outcome::Answered) if hit.answer != Some(Soft404) => Self::Uninformative,
            _ => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::render::live::fold::*;
    use crate::report::fixture;
    use crate::text::redact::LogText;
    use proptest::prelude::*;

    const QUIET: Duration = Duration::from_secs(5);

    /// An emitted count.
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct EmittedCount {
        client: ClientKey,
        rules: Vec<RuleId>,
        hits: u64,
        answered: u64,
        severity: Severity,
        time: Option<LogTime>,
        target: String,
    }

    impl EmittedCount {
        fn new(folded: FoldedRepeats<'_>) -> Self {
            let FoldedRepeats {
                hits,
                answered,
                severity,
                client,
                rules,
                time,
                target,
            } = folded;
            Self {
                client: ClientKey::from(&client),
                rules: rules.to_vec(),
                hits,
                answered,
                severity,
                time,
                target: target.to_owned(),
            }
        }
    }

    /// A hit of low severity without an answer.
    fn hit(client: u32) -> ReportedHit<'static> {
        ReportedHit {
            client: Client::V4(client),
            severity: Severity::Low,
            status: Some(404),
            outcome: Outcome::NotFound,
            rules: &[RuleId(1)],
            ..fixture::hit()
        }
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn repeats_are_counted_until_the_group_is_idle() {
        let (mut fold, begin, mut emitted) = (RepeatFolder::new(QUIET), Instant::now(), Vec::new());
        let mut observe = |at, hit: &ReportedHit<'_>, emitted: &mut Vec<EmittedCount>| {
            fold.observe(begin + seconds(at), hit, false, &mut |f| {
                emitted.push(EmittedCount::new(f));
            })
        };
        assert_eq!(observe(0, &hit(7), &mut emitted), FoldDecision::Print);
        assert_eq!(observe(4, &hit(7), &mut emitted), FoldDecision::Folded);
        assert_eq!(
            observe(4, &hit(8), &mut emitted),
            FoldDecision::Print,
            "another client"
        );
        assert_eq!(
            observe(
                4,
                &ReportedHit {
                    rules: &[RuleId(1), RuleId(2)],
                    ..hit(7)
                },
                &mut emitted
            ),
            FoldDecision::Print,
            "other rules"
        );
        let last = ReportedHit {
            target: LogText::new(b"/last?token=abc"),
            time: None,
            ..hit(7)
        };
        assert_eq!(observe(8, &last, &mut emitted), FoldDecision::Folded);
        assert_eq!(emitted, []);
        assert_eq!(
            observe(13, &hit(7), &mut emitted),
            FoldDecision::Print,
            "it was idle"
        );
        let client = ClientKey::V4(7);
        let expected = EmittedCount {
            client,
            rules: vec![RuleId(1)],
            hits: 2,
            answered: 0,
            severity: Severity::Low,
            time: None,
            target: "/last?token=***".into(),
        };
        assert_eq!(emitted, [expected]);
    }

    #[test]
    fn a_higher_severity_or_answer_is_printed_at_once() {
        let (mut fold, now, mut counts) = (RepeatFolder::new(QUIET), Instant::now(), Vec::new());
        let mut observe =
            |hit: &ReportedHit<'_>, answered| fold.observe(now, hit, answered, &mut |_| {});
        let given = ReportedHit {
            status: Some(200),
            outcome: Outcome::Answered,
            answer: None,
            ..hit(7)
        };
        assert_eq!(observe(&hit(7), false), FoldDecision::Print);
        assert_eq!(
            observe(
                &ReportedHit {
                    answer: Some(Soft404),
                    ..given
                },
                false
            ),
            FoldDecision::Folded,
            "a site that answers everything"
        );
        assert_eq!(observe(&given, false), FoldDecision::Print, "a 200");
        assert_eq!(observe(&given, false), FoldDecision::Folded);
        assert_eq!(observe(&given, true), FoldDecision::Print, "a distinct 200");
        assert_eq!(observe(&given, true), FoldDecision::Folded);
        assert_eq!(
            observe(
                &ReportedHit {
                    severity: Severity::High,
                    ..hit(7)
                },
                false
            ),
            FoldDecision::Print,
            "worse"
        );
        assert_eq!(
            observe(
                &ReportedHit {
                    severity: Severity::High,
                    ..given
                },
                true
            ),
            FoldDecision::Folded,
            "both were printed"
        );
        assert_eq!(
            observe(
                &ReportedHit {
                    severity: Severity::Medium,
                    ..hit(7)
                },
                false
            ),
            FoldDecision::Folded
        );
        fold.flush_all(&mut |folded| counts.push((folded.hits, folded.answered, folded.severity)));
        assert_eq!(counts, [(5, 2, Severity::High)]);
    }

    #[test]
    fn a_group_that_is_never_idle_is_emitted_every_minute() {
        let (mut fold, begin, mut emitted) = (RepeatFolder::new(QUIET), Instant::now(), Vec::new());
        for second in 0..=180 {
            fold.observe(begin + seconds(second), &hit(7), false, &mut |folded| {
                emitted.push((second, folded.hits));
            });
        }
        // The first count starts at the first repeat, the next one with the hit at the end of the
        // minute.
        assert_eq!(emitted, [(61, 60), (121, 60)]);
        assert_eq!(fold.next_flush(), Some(begin + seconds(181)));
        fold.flush_all(&mut |folded| emitted.push((180, folded.hits)));
        assert_eq!(emitted[2..], [(180, 60)]);
        assert_eq!(fold.next_flush(), None);
    }

    #[test]
    fn the_number_of_groups_is_bounded() {
        let (mut fold, now, mut emitted) = (RepeatFolder::new(QUIET), Instant::now(), Vec::new());
        let most = u32::try_from(MAX_GROUPS).unwrap();
        for client in (0..most).chain(0..most).chain(0..3) {
            fold.observe(now, &hit(client), false, &mut |_| panic!("nothing is due"));
        }
        for client in most..most + 5 {
            fold.observe(now, &hit(client), false, &mut |folded| {
                emitted.push((ClientKey::from(&folded.client), folded.hits));
            });
        }
        // The first three came once more and were idle for less time.
        assert_eq!(
            emitted,
            [3, 4, 5, 6, 7].map(|client| (ClientKey::V4(client), 1))
        );
        assert_eq!(
            (
                fold.by_last_seen.len(),
                fold.by_key.len(),
                fold.groups.len()
            ),
            (MAX_GROUPS, MAX_GROUPS, MAX_GROUPS)
        );
        let (mut counts, mut hits) = (0, 0);
        fold.flush_all(&mut |folded| (counts, hits) = (counts + 1, hits + folded.hits));
        assert_eq!((counts, hits), (MAX_GROUPS - 5, MAX_GROUPS as u64 - 5 + 3));
        assert!(
            fold.by_last_seen.is_empty() && fold.by_key.is_empty() && fold.by_held_since.is_empty()
        );
    }

    #[test]
    fn long_texts_are_not_kept() {
        let (mut fold, now, mut longest) = (RepeatFolder::new(QUIET), Instant::now(), 0);
        let long = "é".repeat(5000);
        let named = ReportedHit {
            client: Client::Text(long.as_bytes()),
            ..hit(7)
        };
        for _ in 0..2 {
            assert_eq!(
                fold.observe(now, &named, false, &mut |_| {}),
                FoldDecision::Print
            );
            fold.observe(
                now,
                &ReportedHit {
                    target: LogText::new(format!("/{long}").as_bytes()),
                    ..hit(7)
                },
                false,
                &mut |_| {},
            );
        }
        fold.flush_all(&mut |folded| longest = longest.max(folded.target.len()));
        assert_eq!(longest, MAX_TARGET - 1, "a character is not cut in half");
    }

    #[test]
    fn a_pause_of_zero_and_an_endless_one() {
        let now = Instant::now();
        let mut fold = RepeatFolder::new(Duration::ZERO);
        for _ in 0..3 {
            assert_eq!(
                fold.observe(now, &hit(7), false, &mut |_| panic!("nothing was folded")),
                FoldDecision::Print
            );
        }
        let mut fold = RepeatFolder::new(Duration::MAX);
        fold.observe(now, &hit(7), false, &mut |_| {});
        assert_eq!(fold.next_flush(), None);
        assert_eq!(
            fold.observe(now + seconds(86_400), &hit(7), false, &mut |_| {}),
            FoldDecision::Folded
        );
        assert_eq!(fold.next_flush(), Some(now + seconds(86_460)));
    }

    /// Some time passes, and then a hit comes or idle groups are flushed.
    #[derive(Debug, Clone)]
    struct FoldStep {
        after: u64,
        hit: Option<(u32, usize, Severity, bool)>,
    }

    /// Few groups or many: a single one is not idle for minutes, of many some always are.
    fn steps() -> impl Strategy<Value = Vec<FoldStep>> {
        let step = |(clients, lists)| {
            let hit = (
                0_u32..clients,
                0_usize..lists,
                prop::sample::select(Severity::ALL.to_vec()),
                prop::bool::weighted(0.2),
            );
            let step = (
                prop_oneof![99 => 0_u64..4, 1 => 3_u64..90],
                prop::option::weighted(0.95, hit),
            );
            prop::collection::vec(
                step.prop_map(|(after, hit)| FoldStep { after, hit }),
                0..200,
            )
        };
        (1_u32..5, 1_usize..3).prop_flat_map(step)
    }

    /// A simple and slow model: the held hits of each group, with their times.
    #[derive(Debug, Default)]
    struct FolderModel {
        /// The one idle longest first.
        groups: Vec<ModelGroup>,
        seen: u64,
    }

    #[derive(Debug)]
    struct ModelGroup {
        key: (u32, usize),
        last: Instant,
        severity: Severity,
        answered: bool,
        /// When, whether it was answered, and its number.
        held: Vec<(Instant, bool, u64)>,
    }

    impl FolderModel {
        /// The counts that are due, in the order of their deadlines.
        fn flush_idle(&mut self, now: Instant) -> Vec<((u32, usize), u64, u64)> {
            let mut emitted = Vec::new();
            loop {
                let idle_at = |group: &ModelGroup| group.last + QUIET;
                let at = |group: &ModelGroup| {
                    group
                        .held
                        .first()
                        .map_or(idle_at(group), |held| idle_at(group).min(held.0 + MAX_HOLD))
                };
                let order = |group: &ModelGroup| {
                    if at(group) == idle_at(group) {
                        (false, 0)
                    } else {
                        (true, group.held[0].2)
                    }
                };
                // Of equal deadlines the first idle group, then the count held longest.
                let Some(index) = (0..self.groups.len())
                    .min_by_key(|&i| (at(&self.groups[i]), order(&self.groups[i])))
                else {
                    return emitted;
                };
                let group = &mut self.groups[index];
                let (first, is_idle) = (at(group), at(group) == idle_at(group));
                if first > now {
                    return emitted;
                }
                if !group.held.is_empty() {
                    emitted.push((
                        group.key,
                        group.held.len() as u64,
                        group.held.iter().filter(|held| held.1).count() as u64,
                    ));
                    group.held.clear();
                }
                if is_idle {
                    self.groups.remove(index);
                }
            }
        }

        fn observe(
            &mut self,
            now: Instant,
            key: (u32, usize),
            severity: Severity,
            answered: bool,
        ) -> FoldDecision {
            let Some(index) = self.groups.iter().position(|group| group.key == key) else {
                self.groups.push(ModelGroup {
                    key,
                    last: now,
                    severity,
                    answered,
                    held: Vec::new(),
                });
                return FoldDecision::Print;
            };
            let mut group = self.groups.remove(index);
            group.last = now;
            self.seen += 1;
            let is_notable = severity > group.severity || (answered && !group.answered);
            if is_notable {
                (group.severity, group.answered) =
                    (group.severity.max(severity), group.answered || answered);
            } else {
                group.held.push((now, answered, self.seen));
            }
            self.groups.push(group);
            if is_notable {
                FoldDecision::Print
            } else {
                FoldDecision::Folded
            }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_simple_model(steps in steps()) {
            const RULES: [&[RuleId]; 2] = [&[RuleId(1)], &[RuleId(1), RuleId(2)]];
            let (mut fold, mut model) = (RepeatFolder::new(QUIET), FolderModel::default());
            let (mut now, mut hits, mut printed, mut counted) = (Instant::now(), 0, 0, 0);
            for step in steps {
                now += seconds(step.after);
                let mut emitted = Vec::new();
                let mut each = |f: FoldedRepeats<'_>| emitted.push((ClientKey::from(&f.client), f.rules.len() - 1, f.hits, f.answered));
                let verdict = step.hit.map(|(client, rules, severity, answered)| {
                    fold.observe(now, &ReportedHit { rules: RULES[rules], severity, ..hit(client) }, answered, &mut each)
                });
                if verdict.is_none() {
                    fold.flush_idle(now, &mut each);
                }
                hits += u64::from(verdict.is_some());
                let expected: Vec<_> = model.flush_idle(now).into_iter().map(|((c, r), n, a)| (ClientKey::V4(c), r, n, a)).collect();
                prop_assert_eq!(&emitted, &expected);
                prop_assert_eq!(verdict, step.hit.map(|(client, rules, severity, answered)| model.observe(now, (client, rules), severity, answered)));
                prop_assert!(fold.next_flush().is_none_or(|at| at > now));
                printed += u64::from(verdict == Some(FoldDecision::Print));
                counted += emitted.iter().map(|count| count.2).sum::<u64>();
            }
            fold.flush_all(&mut |folded| counted += folded.hits);
            prop_assert_eq!(printed + counted, hits);
            fold.flush_all(&mut |_| panic!("emitted twice"));
            prop_assert_eq!(fold.next_flush(), None);
        }
    }
}
