//! Folds repeats: a client that trips the same rules over and over is told once, and then as a count.
//!
//! Pure: time is what it is told, and nothing is printed here. What it keeps is bounded whatever clients choose to send.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::client::{Client, ClientKey};
use crate::finding::{RuleId, Severity};
use crate::log_entry::Outcome;
use crate::report::mask::shown;
use crate::report::model::Hit;
use crate::soft_404::Answer::Soft404;
use crate::time::LogTime;

/// Pairs of a client and rules that are known at a time. Of more, the one that rests longest is told and forgotten.
pub const MOST_OPEN: usize = 4096;

/// How long a count is kept back while its pair never rests.
pub const MOST_KEPT_BACK: Duration = Duration::from_secs(60);

/// Bytes of a client's name. A longer one is nobody's, and not folded: it would be kept.
const MOST_NAME: usize = 256;

/// Bytes kept of the last target: no terminal shows more of it.
const MOST_TARGET: usize = 1024;

/// Whether a hit is to be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Print it now.
    Print,
    /// It was counted, and is told with others.
    Folded,
}

/// Repeats that were not printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folded<'a> {
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
pub struct Fold {
    quiet_for: Duration,
    /// The latest time it was told.
    now: Option<Instant>,
    /// Counts what was seen: no two pairs have the same turn.
    turn: u64,
    pairs: Vec<Pair>,
    /// Places of `pairs` that are known, by client and rules.
    known: HashTable<usize>,
    /// Places that are free.
    free: Vec<usize>,
    /// All known pairs, the one that rests longest first.
    resting: BTreeMap<u64, usize>,
    /// Those with a count, the one kept back longest first.
    counted: BTreeMap<u64, usize>,
    hasher: RandomState,
}

/// A client, its rules, and what is not told of them yet. A free one is kept for its room.
#[derive(Debug)]
struct Pair {
    client: ClientKey,
    rules: Vec<RuleId>,
    /// The most that was told of it so far.
    told: News,
    last_seen: Instant,
    /// Its key among the resting.
    turn: u64,
    /// When the first hit was counted that is not told, and its key among the counted.
    since: Instant,
    since_turn: u64,
    hits: u64,
    answered: u64,
    severity: Severity,
    time: Option<LogTime>,
    target: String,
}

/// What makes a repeat news: more than before of either.
#[derive(Debug, Clone, Copy)]
struct News {
    severity: Severity,
    answer: Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    None,
    /// A 2xx that tells nothing.
    Given,
    /// One that means something.
    Meant,
}

/// What is due next.
#[derive(Debug, Clone, Copy)]
enum Due {
    /// The pair rests: it is told and forgotten.
    Rest(usize),
    /// Its count was kept back long enough: it is told.
    Count(usize),
}

impl Fold {
    /// Folds what comes again before the pair has rested for `quiet_for`.
    #[must_use]
    pub fn new(quiet_for: Duration) -> Self {
        Self {
            quiet_for,
            now: None,
            turn: 0,
            pairs: Vec::new(),
            known: HashTable::new(),
            free: Vec::new(),
            resting: BTreeMap::new(),
            counted: BTreeMap::new(),
            hasher: RandomState::default(),
        }
    }

    /// Takes the next hit. `answered` says whether its answer means something. `each` gets what is due before it.
    ///
    /// A repeat is printed all the same where it is worse than all that was told of the pair, or answered better.
    pub fn see(&mut self, now: Instant, hit: &Hit<'_>, answered: bool, each: &mut impl FnMut(Folded<'_>)) -> Told {
        self.due(now, each);
        if matches!(hit.client, Client::Text(name) if name.len() > MOST_NAME) {
            return Told::Print;
        }
        let news = News::of(hit, answered);
        let now = self.now.unwrap_or(now);
        if let Some(place) = self.place(hit) {
            return self.see_again(place, now, hit, news);
        }
        if self.resting.len() >= MOST_OPEN
            && let Some((_, &place)) = self.resting.first_key_value()
        {
            self.rest(place, each);
        }
        self.open(now, hit, news);
        Told::Print
    }

    /// Tells what is due by now: the counts of pairs that rest, and those that were kept back for a minute. In the order
    /// in which they became due.
    pub fn due(&mut self, now: Instant, each: &mut impl FnMut(Folded<'_>)) {
        let now = self.now.map_or(now, |latest| latest.max(now));
        self.now = Some(now);
        while let Some((at, due)) = self.next() {
            if at > now {
                return;
            }
            match due {
                Due::Rest(place) => self.rest(place, each),
                Due::Count(place) => self.tell(place, each),
            }
        }
    }

    /// Tells all counts and forgets every pair: at the end, and before the rules are replaced.
    pub fn flush(&mut self, each: &mut impl FnMut(Folded<'_>)) {
        while let Some((_, &place)) = self.resting.first_key_value() {
            self.rest(place, each);
        }
    }

    /// When [`due`](Self::due) has something to do again, if nothing else comes.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.next().map(|(at, _)| at)
    }

    fn next(&self) -> Option<(Instant, Due)> {
        // A pause beyond all time is no pause at all: it never ends.
        let rest = self.resting.first_key_value().and_then(|(_, &place)| {
            let at = self.pairs[place].last_seen.checked_add(self.quiet_for)?;
            Some((at, Due::Rest(place)))
        });
        let count = self.counted.first_key_value().and_then(|(_, &place)| {
            let at = self.pairs[place].since.checked_add(MOST_KEPT_BACK)?;
            Some((at, Due::Count(place)))
        });
        match (rest, count) {
            (Some(rest), Some(count)) if count.0 < rest.0 => Some(count),
            (None, count) => count,
            (rest, _) => rest,
        }
    }

    fn place(&self, hit: &Hit<'_>) -> Option<usize> {
        let hash = self.hasher.hash_one((hit.client, hit.rules));
        let same = |&place: &usize| self.pairs[place].client.client() == hit.client && self.pairs[place].rules == hit.rules;
        self.known.find(hash, same).copied()
    }

    fn open(&mut self, now: Instant, hit: &Hit<'_>, news: News) {
        let place = self.free.pop().unwrap_or(self.pairs.len());
        if place == self.pairs.len() {
            self.pairs.push(Pair::of(now, hit, news));
        } else {
            self.pairs[place].reopen(now, hit, news);
        }
        let turn = self.next_turn();
        self.pairs[place].turn = turn;
        self.resting.insert(turn, place);
        let Self { known, pairs, hasher, .. } = self;
        known.insert_unique(hasher.hash_one((hit.client, hit.rules)), place, |&place| pairs[place].hash(hasher));
    }

    fn see_again(&mut self, place: usize, now: Instant, hit: &Hit<'_>, news: News) -> Told {
        let turn = self.next_turn();
        let pair = &mut self.pairs[place];
        self.resting.remove(&pair.turn);
        self.resting.insert(turn, place);
        (pair.turn, pair.last_seen) = (turn, now);
        if pair.told.is_less_than(news) {
            pair.told = pair.told.with(news);
            return Told::Print;
        }
        if pair.hits == 0 {
            (pair.since, pair.since_turn, pair.severity) = (now, turn, hit.severity);
            self.counted.insert(turn, place);
        }
        pair.count(hit, news);
        Told::Folded
    }

    /// Tells a pair's count, if there is one, and forgets the pair.
    fn rest(&mut self, place: usize, each: &mut impl FnMut(Folded<'_>)) {
        self.tell(place, each);
        let pair = &self.pairs[place];
        self.resting.remove(&pair.turn);
        if let Ok(known) = self.known.find_entry(pair.hash(&self.hasher), |&other| other == place) {
            known.remove();
        }
        self.free.push(place);
    }

    fn tell(&mut self, place: usize, each: &mut impl FnMut(Folded<'_>)) {
        let pair = &mut self.pairs[place];
        if pair.hits > 0 {
            self.counted.remove(&pair.since_turn);
            each(pair.folded());
            (pair.hits, pair.answered) = (0, 0);
        }
    }

    fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }
}

impl Pair {
    fn of(now: Instant, hit: &Hit<'_>, told: News) -> Self {
        Self {
            client: ClientKey::from(&hit.client),
            rules: hit.rules.to_vec(),
            told,
            last_seen: now,
            turn: 0,
            since: now,
            since_turn: 0,
            hits: 0,
            answered: 0,
            severity: hit.severity,
            time: None,
            target: String::new(),
        }
    }

    /// Begins anew in the room of a pair that was forgotten.
    fn reopen(&mut self, now: Instant, hit: &Hit<'_>, told: News) {
        (self.client, self.told, self.last_seen) = (ClientKey::from(&hit.client), told, now);
        self.rules.clear();
        self.rules.extend_from_slice(hit.rules);
    }

    fn hash(&self, hasher: &RandomState) -> u64 {
        hasher.hash_one((self.client.client(), &*self.rules))
    }

    fn count(&mut self, hit: &Hit<'_>, news: News) {
        self.hits += 1;
        self.answered += u64::from(news.answer == Answer::Meant);
        self.severity = self.severity.max(hit.severity);
        self.time = hit.time;
        // Cut only after it was masked: half a secret shows no longer that it is one.
        let target = shown(hit.target);
        self.target.clear();
        let end = (0..=target.len().min(MOST_TARGET)).rev().find(|&end| target.is_char_boundary(end));
        self.target.push_str(&target[..end.unwrap_or(0)]);
    }

    fn folded(&self) -> Folded<'_> {
        Folded {
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

impl News {
    fn of(hit: &Hit<'_>, answered: bool) -> Self {
        let answer = match (answered, hit.outcome) {
            (true, _) => Answer::Meant,
            (false, Outcome::Answered) if hit.answer != Some(Soft404) => Answer::Given,
            _ => Answer::None,
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
