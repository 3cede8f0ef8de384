//! Folds repeats: a client that trips the same rules over and over is told once, and then as a count.
//!
//! Pure: time is what it is printed, and nothing is printed here. What it keeps is bounded whatever clients choose to send.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::analysis::model::Hit;
use crate::client::{Client, ClientKey};
use crate::finding::{RuleId, Severity};
use crate::record::Outcome;
use crate::redact::mask::redacted;
use crate::soft_404::Answer::Soft404;
use crate::time::LogTime;

/// Pairs of a client and rules that are known at a time. Of more, the one that rests longest is told and forgotten.
pub const MAX_GROUPS: usize = 4096;

/// How long a count is kept back while its pair never rests.
pub const MAX_HOLD: Duration = Duration::from_secs(60);

/// Bytes of a client's name. A longer one is nobody's, and not folded: it would be kept.
const MAX_CLIENT_NAME: usize = 256;

/// Bytes kept of the last target: no terminal shows more of it.
const MAX_TARGET: usize = 1024;

/// Whether a hit is to be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldDecision {
    /// Print it now.
    Print,
    /// It was counted, and is told with others.
    Folded,
}

/// Repeats that were not printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldedRepeats<'a> {
    /// How many.
    pub hits: u64,
    /// Those among them whose answer means something.
    pub answered: u64,
    /// The worst of them.
    pub severity: Severity,
    /// Who asked.
    pub client: Client<'a>,
    /// The rules all of them matched.
    pub rules: &'a [RuleId],
    /// The log's time of the last one.
    pub time: Option<LogTime>,
    /// The target of the last one, fit for an output; a very long one is cut.
    pub target: &'a str,
}

/// Remembers which client was told for which rules, and counts the repeats.
///
/// A *pair* is a client and the exact list of rules that are reported. It is known from a hit that is printed until it
/// rests: until no hit of it came for a while.
#[derive(Debug)]
pub struct RepeatFolder {
    quiet_for: Duration,
    /// The latest time it was printed.
    now: Option<Instant>,
    /// Counts what was seen: no two pairs have the same sequence.
    sequence: u64,
    groups: Vec<RepeatGroup>,
    /// Places of `pairs` that are by_key, by client and rules.
    by_key: HashTable<usize>,
    /// Places that are free.
    free: Vec<usize>,
    /// All known groups, the one that rests longest first.
    by_last_seen: BTreeMap<u64, usize>,
    /// Those with a count, the one kept back longest first.
    by_held_since: BTreeMap<u64, usize>,
    hasher: RandomState,
}

/// A client, its rules, and what is not told of them yet. A free one is kept for its room.
#[derive(Debug)]
struct RepeatGroup {
    client: ClientKey,
    rules: Vec<RuleId>,
    /// The most that was told of it so far.
    printed: Notability,
    last_seen: Instant,
    /// Its key among the by_last_seen.
    sequence: u64,
    /// When the first hit was counted that is not printed, and its key among the counted.
    held_since: Instant,
    held_since_sequence: u64,
    hits: u64,
    answered: u64,
    severity: Severity,
    time: Option<LogTime>,
    target: String,
}

/// What makes a repeat news: more than before of either.
#[derive(Debug, Clone, Copy)]
struct Notability {
    severity: Severity,
    answer: AnswerLevel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AnswerLevel {
    None,
    /// A 2xx that tells nothing.
    Uninformative,
    /// One that means something.
    Distinct,
}

/// What is due next.
#[derive(Debug, Clone, Copy)]
enum Deadline {
    /// The pair rests: it is told and forgotten.
    Idle(usize),
    /// Its count was kept back long enough: it is printed.
    HeldTooLong(usize),
}

impl RepeatFolder {
    /// Folds what comes again before the pair has rested for `quiet_for`.
    #[must_use]
    pub fn new(quiet_for: Duration) -> Self {
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

    /// Takes the next hit. `answered` says whether its answer means something. `each` gets what is due before it.
    ///
    /// A repeat is printed all the same where it is worse than all that was told of the pair, or answered better.
    pub fn observe(&mut self, now: Instant, hit: &Hit<'_>, answered: bool, each: &mut impl FnMut(FoldedRepeats<'_>)) -> FoldDecision {
        self.flush_idle(now, each);
        if matches!(hit.client, Client::Text(name) if name.len() > MAX_CLIENT_NAME) {
            return FoldDecision::Print;
        }
        let news = Notability::new(hit, answered);
        let now = self.now.unwrap_or(now);
        if let Some(slot) = self.slot(hit) {
            return self.observe_repeat(slot, now, hit, news);
        }
        if self.by_last_seen.len() >= MAX_GROUPS
            && let Some((_, &slot)) = self.by_last_seen.first_key_value()
        {
            self.close(slot, each);
        }
        self.open(now, hit, news);
        FoldDecision::Print
    }

    /// Tells what is due by now: the counts of pairs that rest, and those that were kept back for a minute. In the order
    /// in which they became due.
    pub fn flush_idle(&mut self, now: Instant, each: &mut impl FnMut(FoldedRepeats<'_>)) {
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

    /// Tells all counts and forgets every group: at the end, and before the rules are replaced.
    pub fn flush_all(&mut self, each: &mut impl FnMut(FoldedRepeats<'_>)) {
        while let Some((_, &slot)) = self.by_last_seen.first_key_value() {
            self.close(slot, each);
        }
    }

    /// When [`flush_idle`](Self::flush_idle) has something to do again, if nothing else comes.
    #[must_use]
    pub fn next_flush(&self) -> Option<Instant> {
        self.next_deadline().map(|(at, _)| at)
    }

    fn next_deadline(&self) -> Option<(Instant, Deadline)> {
        // A pause beyond all time is no pause at all: it never ends.
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

    fn slot(&self, hit: &Hit<'_>) -> Option<usize> {
        let hash = self.hasher.hash_one((hit.client, hit.rules));
        let same = |&slot: &usize| self.groups[slot].client.client() == hit.client && self.groups[slot].rules == hit.rules;
        self.by_key.find(hash, same).copied()
    }

    fn open(&mut self, now: Instant, hit: &Hit<'_>, news: Notability) {
        let slot = self.free.pop().unwrap_or(self.groups.len());
        if slot == self.groups.len() {
            self.groups.push(RepeatGroup::new(now, hit, news));
        } else {
            self.groups[slot].reopen(now, hit, news);
        }
        let sequence = self.next_sequence();
        self.groups[slot].sequence = sequence;
        self.by_last_seen.insert(sequence, slot);
        let Self { by_key, groups, hasher, .. } = self;
        by_key.insert_unique(hasher.hash_one((hit.client, hit.rules)), slot, |&slot| groups[slot].hash(hasher));
    }

    fn observe_repeat(&mut self, slot: usize, now: Instant, hit: &Hit<'_>, news: Notability) -> FoldDecision {
        let sequence = self.next_sequence();
        let group = &mut self.groups[slot];
        self.by_last_seen.remove(&group.sequence);
        self.by_last_seen.insert(sequence, slot);
        (group.sequence, group.last_seen) = (sequence, now);
        if group.printed.is_less_than(news) {
            group.printed = group.printed.with(news);
            return FoldDecision::Print;
        }
        if group.hits == 0 {
            (group.held_since, group.held_since_sequence, group.severity) = (now, sequence, hit.severity);
            self.by_held_since.insert(sequence, slot);
        }
        group.count(hit, news);
        FoldDecision::Folded
    }

    /// Tells a pair's count, if there is one, and forgets the group.
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
    fn new(now: Instant, hit: &Hit<'_>, printed: Notability) -> Self {
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

    /// Begins anew in the room of a pair that was forgotten.
    fn reopen(&mut self, now: Instant, hit: &Hit<'_>, printed: Notability) {
        (self.client, self.printed, self.last_seen) = (ClientKey::from(&hit.client), printed, now);
        self.rules.clear();
        self.rules.extend_from_slice(hit.rules);
    }

    fn hash(&self, hasher: &RandomState) -> u64 {
        hasher.hash_one((self.client.client(), &*self.rules))
    }

    fn count(&mut self, hit: &Hit<'_>, news: Notability) {
        self.hits += 1;
        self.answered += u64::from(news.answer == AnswerLevel::Distinct);
        self.severity = self.severity.max(hit.severity);
        self.time = hit.time;
        // Cut only after it was masked: half a secret shows no longer that it is one.
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
    fn new(hit: &Hit<'_>, answered: bool) -> Self {
        let answer = match (answered, hit.outcome) {
            (true, _) => AnswerLevel::Distinct,
            (false, Outcome::Answered) if hit.answer != Some(Soft404) => AnswerLevel::Uninformative,
            _ => AnswerLevel::None,
        };
        Self { severity: hit.severity, answer }
    }

    fn is_less_than(self, other: Self) -> bool {
        other.severity > self.severity || other.answer > self.answer
    }

    fn with(self, other: Self) -> Self {
        Self { severity: self.severity.max(other.severity), answer: self.answer.max(other.answer) }
    }
}

#[cfg(test)]
mod tests;
