//! Folds repeats: of hits of one client on the same rules the first is printed, the others are counted.
//!
//! Reads no clock and prints nothing. Memory is bounded, whatever clients send.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::analysis::model::ReportedHit;
use crate::client::{Client, ClientKey};
use crate::finding::{RuleId, Severity};
use crate::log_entry::Outcome;
use crate::redact::mask::redacted;
use crate::soft_404::Answer::Soft404;
use crate::time::LogTime;

/// The most open groups. Above it, the group that has been idle longest is closed.
pub(crate) const MAX_GROUPS: usize = 4096;

/// How long a count is held while its group is not idle.
pub(crate) const MAX_HOLD: Duration = Duration::from_secs(60);

/// The most bytes of a client's name. Hits of a longer one are not folded, as a group keeps the name.
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
/// A *group* is a client and an exact list of reported rules. It is open from its first hit, which is printed, until it is
/// idle: until no hit of it came for some time.
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

/// A client, its rules, and the hits that are not printed yet. A closed group is kept to reuse its memory.
#[derive(Debug)]
struct RepeatGroup {
    client: ClientKey,
    rules: Vec<RuleId>,
    /// The highest severity and answer printed so far.
    printed: Notability,
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

/// A repeat is printed if either of these is higher than before.
#[derive(Debug, Clone, Copy)]
struct Notability {
    severity: Severity,
    answer: AnswerLevel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AnswerLevel {
    None,
    /// A 2xx that is not distinct.
    Uninformative,
    /// A distinct answer.
    Distinct,
}

/// The next group to flush.
#[derive(Debug, Clone, Copy)]
enum Deadline {
    /// The group is idle: its count is emitted and it is closed.
    Idle(usize),
    /// Its count was held for [`MAX_HOLD`]: the count is emitted.
    HeldTooLong(usize),
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

    /// Takes the next hit, after `each` got the counts that are due. `answered`: its answer is distinct.
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
        let notability = Notability::new(hit, answered);
        let now = self.now.unwrap_or(now);
        if let Some(slot) = self.slot(hit) {
            return self.observe_repeat(slot, now, hit, notability);
        }
        if self.by_last_seen.len() >= MAX_GROUPS
            && let Some((_, &slot)) = self.by_last_seen.first_key_value()
        {
            self.close(slot, each);
        }
        self.open(now, hit, notability);
        FoldDecision::Print
    }

    /// Emits the counts that are due: of groups that are idle, and those held for [`MAX_HOLD`], in the order of their
    /// deadlines.
    pub(crate) fn flush_idle(&mut self, now: Instant, each: &mut impl FnMut(FoldedRepeats<'_>)) {
        let now = self.now.map_or(now, |latest| latest.max(now));
        self.now = Some(now);
        while let Some((at, due)) = self.next_deadline() {
            if at > now {
                return;
            }
            match due {
                Deadline::Idle(slot) => self.close(slot, each),
                Deadline::HeldTooLong(slot) => self.emit(slot, each),
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
        self.next_deadline().map(|(at, _)| at)
    }

    fn next_deadline(&self) -> Option<(Instant, Deadline)> {
        // A duration that overflows never ends.
        let rest = self.by_last_seen.first_key_value().and_then(|(_, &slot)| {
            let at = self.groups[slot].last_seen.checked_add(self.quiet_for)?;
            Some((at, Deadline::Idle(slot)))
        });
        let count = self.by_held_since.first_key_value().and_then(|(_, &slot)| {
            let at = self.groups[slot].held_since.checked_add(MAX_HOLD)?;
            Some((at, Deadline::HeldTooLong(slot)))
        });
        match (rest, count) {
            (Some(rest), Some(count)) if count.0 < rest.0 => Some(count),
            (None, count) => count,
            (rest, _) => rest,
        }
    }

    fn slot(&self, hit: &ReportedHit<'_>) -> Option<usize> {
        let hash = self.hasher.hash_one((hit.client, hit.rules));
        let same = |&slot: &usize| self.groups[slot].client.client() == hit.client && self.groups[slot].rules == hit.rules;
        self.by_key.find(hash, same).copied()
    }

    fn open(&mut self, now: Instant, hit: &ReportedHit<'_>, notability: Notability) {
        let slot = self.free.pop().unwrap_or(self.groups.len());
        if slot == self.groups.len() {
            self.groups.push(RepeatGroup::new(now, hit, notability));
        } else {
            self.groups[slot].reopen(now, hit, notability);
        }
        let sequence = self.next_sequence();
        self.groups[slot].sequence = sequence;
        self.by_last_seen.insert(sequence, slot);
        let Self { by_key, groups, hasher, .. } = self;
        by_key.insert_unique(hasher.hash_one((hit.client, hit.rules)), slot, |&slot| groups[slot].hash(hasher));
    }

    fn observe_repeat(&mut self, slot: usize, now: Instant, hit: &ReportedHit<'_>, notability: Notability) -> FoldDecision {
        let sequence = self.next_sequence();
        let group = &mut self.groups[slot];
        self.by_last_seen.remove(&group.sequence);
        self.by_last_seen.insert(sequence, slot);
        (group.sequence, group.last_seen) = (sequence, now);
        if group.printed.is_below(notability) {
            group.printed = group.printed.with(notability);
            return FoldDecision::Print;
        }
        if group.hits == 0 {
            (group.held_since, group.held_since_sequence, group.severity) = (now, sequence, hit.severity);
            self.by_held_since.insert(sequence, slot);
        }
        group.count(hit, notability);
        FoldDecision::Folded
    }

    /// Emits a group's count, if it has one, and closes the group.
    fn close(&mut self, slot: usize, each: &mut impl FnMut(FoldedRepeats<'_>)) {
        self.emit(slot, each);
        let group = &self.groups[slot];
        self.by_last_seen.remove(&group.sequence);
        if let Ok(entry) = self.by_key.find_entry(group.hash(&self.hasher), |&other| other == slot) {
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
    fn new(now: Instant, hit: &ReportedHit<'_>, printed: Notability) -> Self {
        Self {
            client: ClientKey::from(&hit.client),
            rules: hit.rules.to_vec(),
            printed,
            last_seen: now,
            sequence: 0,
            held_since: now,
            held_since_sequence: 0,
            hits: 0,
            answered: 0,
            severity: hit.severity,
            time: None,
            target: String::new(),
        }
    }

    /// Reuses the memory of a closed group.
    fn reopen(&mut self, now: Instant, hit: &ReportedHit<'_>, printed: Notability) {
        (self.client, self.printed, self.last_seen) = (ClientKey::from(&hit.client), printed, now);
        self.rules.clear();
        self.rules.extend_from_slice(hit.rules);
    }

    fn hash(&self, hasher: &RandomState) -> u64 {
        hasher.hash_one((self.client.client(), &*self.rules))
    }

    fn count(&mut self, hit: &ReportedHit<'_>, notability: Notability) {
        self.hits += 1;
        self.answered += u64::from(notability.answer == AnswerLevel::Distinct);
        self.severity = self.severity.max(hit.severity);
        self.time = hit.time;
        // Cut after masking: half a secret would not be recognised.
        let target = redacted(hit.target);
        self.target.clear();
        let end = (0..=target.len().min(MAX_TARGET)).rev().find(|&end| target.is_char_boundary(end));
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

impl Notability {
    fn new(hit: &ReportedHit<'_>, answered: bool) -> Self {
        let answer = match (answered, hit.outcome) {
            (true, _) => AnswerLevel::Distinct,
            (false, Outcome::Answered) if hit.answer != Some(Soft404) => AnswerLevel::Uninformative,
            _ => AnswerLevel::None,
        };
        Self { severity: hit.severity, answer }
    }

    fn is_below(self, other: Self) -> bool {
        other.severity > self.severity || other.answer > self.answer
    }

    fn with(self, other: Self) -> Self {
        Self { severity: self.severity.max(other.severity), answer: self.answer.max(other.answer) }
    }
}

#[cfg(test)]
mod tests;
