//! Finds what is new in a report: answers, rules, paths, clients and campaigns that no earlier
//! report had.
//!
//! Compares a finished report with the [history](SeenHistory) of earlier ones. Keys are redacted
//! texts: they contain no secret, and values that differ only in a secret have the same key.
//!
//! The history stores hashes and no text, so it reveals no path and no client. Its size is limited:
//! old keys are [pruned](SeenHistory::prune), and each kind has a budget, from which the keys that
//! were not seen for the longest time are dropped first. Dropped keys may be reported as new again.
//! In JSON the keys of one kind are one string, with 20 characters per key. Only what was written
//! here is read back: whole records, sorted, without duplicates.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::model::{Campaign, ReportModel, Row, RowKey, SampleRequest};
use crate::log::finding::Severity;
use crate::log::time::LogTime;
use crate::rules::RuleSet;
use crate::soft_404::repository_folder;
use crate::text::redact::LogText;

/// An item that was never seen before.
#[derive(Debug, Clone)]
pub(crate) struct NewItem<'a> {
    /// Its kind.
    pub kind: ItemKind,
    /// Its key, safe to print: the host and path of an answer, the id of a rule, a path, a client,
    /// or the key of a campaign.
    pub key: String,
    /// The highest severity of its hits, raised if one was answered.
    pub severity: Severity,
    /// Its hits in this report.
    pub hits: u64,
    /// Its earliest hit.
    pub first_time: Option<LogTime>,
    /// The earliest of its most severe hits.
    pub sample: SampleRequest<'a>,
}

/// Finds the new items of a report, in the order of [`ItemKind`] and then of its rows, and
/// records all items of the report.
///
/// `report_seq` and `now` are those of [`SeenHistory::check_and_record`]. The report must be
/// complete.
#[must_use]
pub(crate) fn find_new<'a>(
    report: &ReportModel<'a>,
    seen: &mut SeenHistory,
    report_seq: u32,
    now: i64,
) -> Vec<NewItem<'a>> {
    let mut new_items: Vec<NewItem<'a>> = Vec::new();
    // Items that differ only in a redacted part have one key. The table has positions, because all
    // keys may be new.
    let (mut positions, state) = (HashTable::new(), RandomState::default());
    let hash = |item: &NewItem<'_>| state.hash_one((item.kind, &item.key));
    for (item, row) in candidates(report) {
        let others = row.map_or_else(Vec::new, |row| keys_of_leak(report.rule_set, row));
        let keys = std::iter::once(&item.key).chain(&others);
        // All are recorded.
        let known = keys
            .filter(|key| !seen.check_and_record(item.kind, key.as_bytes(), report_seq, now))
            .count();
        if known > 0 {
            continue;
        }
        let is_same = |at: &u32| {
            (new_items[*at as usize].kind, &new_items[*at as usize].key) == (item.kind, &item.key)
        };
        if let Some(at) = positions.find(hash(&item), is_same).copied() {
            new_items[at as usize].add(&item);
        } else {
            positions.insert_unique(hash(&item), new_items.len() as u32, |at| {
                hash(&new_items[*at as usize])
            });
            new_items.push(item);
        }
    }
    new_items
}

/// All items of a report, in order, with their rows.
fn candidates<'r, 'a>(
    report: &'r ReportModel<'a>,
) -> impl Iterator<Item = (NewItem<'a>, Option<&'r Row<'a>>)> + 'r {
    let of = |rows: &'r [Row<'a>], kind| {
        rows.iter()
            .map(move |row| (NewItem::from_row(report.rule_set, kind, row), Some(row)))
    };
    let rows = of(&report.answered, ItemKind::Answer).chain(of(&report.rules, ItemKind::Rule));
    let rows = rows
        .chain(of(&report.paths, ItemKind::Path))
        .chain(of(&report.clients, ItemKind::Client));
    rows.chain(
        report
            .campaigns
            .iter()
            .map(|campaign| (NewItem::from_campaign(campaign), None)),
    )
}

/// Further keys of a leak. It is new if none was seen before: a client that takes one more file of
/// a repository finds nothing new.
fn keys_of_leak(rules: &RuleSet, row: &Row<'_>) -> Vec<String> {
    let (RowKey::Answer(host, path, site), Some(answer)) = (row.key, &row.answer) else {
        return Vec::new();
    };
    let members = answer.members.iter().map(|member| member.path);
    // With the slash after it.
    let folder = repository_folder(path.raw())
        .and_then(|folder| path.raw().get(..=folder.len()))
        .map(LogText::new);
    members
        .chain(folder)
        .map(|path| display_key(rules, RowKey::Answer(host, path, site)))
        .collect()
}

impl<'a> NewItem<'a> {
    fn from_row(rules: &RuleSet, kind: ItemKind, row: &Row<'a>) -> Self {
        Self {
            kind,
            key: display_key(rules, row.key),
            severity: row.severity,
            hits: row.hits,
            first_time: row.first_time,
            sample: row.sample,
        }
    }

    fn from_campaign(campaign: &Campaign<'a>) -> Self {
        let Campaign {
            ref key,
            severity,
            hits,
            first_time,
            sample,
            ..
        } = *campaign;
        Self {
            kind: ItemKind::Campaign,
            key: key.clone(),
            severity,
            hits,
            first_time,
            sample,
        }
    }

    /// Adds an item with the same key. The first one is the most severe, so its sample stays.
    fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.first_time = match (self.first_time, other.first_time) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

/// The key of a row, safe to print.
pub(crate) fn display_key(rules: &RuleSet, key: RowKey<'_>) -> String {
    match key {
        RowKey::Answer(host, path, _) => {
            format!("{}{}", host.unwrap_or_default(), shown_path(path))
        }
        RowKey::Rule(rule) => rules.rule(rule).id.clone(),
        RowKey::Path(path) | RowKey::Pair(_, path, _) => shown_path(path).into_owned(),
        RowKey::Client(client) => client.to_string(),
    }
}

/// A path; `-` where there is none.
fn shown_path(path: LogText<'_>) -> Cow<'_, str> {
    if path.is_empty() {
        Cow::Borrowed("-")
    } else {
        path.redacted()
    }
}

/// What a new item or a difference is about, the most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKind {
    /// A path, or the folder of a leak, that answered, with its host where one is logged.
    Answer,
    /// A rule that matched.
    Rule,
    /// A path that was probed.
    Path,
    /// A client that probed.
    Client,
    /// A list of paths that several networks requested.
    Campaign,
}

impl ItemKind {
    /// Every kind, in its order.
    #[cfg(test)]
    pub const ALL: [Self; 5] = [
        Self::Answer,
        Self::Rule,
        Self::Path,
        Self::Client,
        Self::Campaign,
    ];

    /// The word reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Rule => "rule",
            Self::Path => "path",
            Self::Client => "client",
            Self::Campaign => "campaign",
        }
    }
}

/// The items of earlier runs: at most 8,000 answers, 12,000 rules, 72,000 paths, 40,000 clients and
/// 4,000 campaigns.
///
/// As JSON it has at most 3 MB. Within a run it may exceed its budget by the items of that run; a
/// run ends with [`prune`](Self::prune).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenHistory {
    /// A secret seed, so that a client cannot construct two keys with the same hash.
    seed: u64,
    clock: RunClock,
    answers: SeenKeys<8_000>,
    rules: SeenKeys<12_000>,
    paths: SeenKeys<72_000>,
    clients: SeenKeys<40_000>,
    campaigns: SeenKeys<4_000>,
}

impl SeenHistory {
    /// An empty history. The seed must be random, and stays the same from then on.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            clock: RunClock::default(),
            answers: SeenKeys::default(),
            rules: SeenKeys::default(),
            paths: SeenKeys::default(),
            clients: SeenKeys::default(),
            campaigns: SeenKeys::default(),
        }
    }

    /// Records a key. Returns whether it is new: it was never seen, or first seen in the same
    /// report.
    ///
    /// `report_seq` identifies the report, and increases: it is the number of the run or, for
    /// reports of periods, the hour since 1970 in which the period starts. So a report that is
    /// built again lists the same new items. A late line may add a key to an earlier period than
    /// the one in which it was first seen. Then the key is new in the earlier report and no longer
    /// in the later one, if they are at most 31 days apart.
    ///
    /// `now` is the system time in seconds since 1970. It only determines how long ago a key was
    /// seen.
    pub fn check_and_record(
        &mut self,
        kind: ItemKind,
        key: &[u8],
        report_seq: u32,
        now: i64,
    ) -> bool {
        let (hash, hour) = (xxh3_64_with_seed(key, self.seed), self.clock.hour(now));
        match kind {
            ItemKind::Answer => self.answers.check_and_record(hash, report_seq, hour),
            ItemKind::Rule => self.rules.check_and_record(hash, report_seq, hour),
            ItemKind::Path => self.paths.check_and_record(hash, report_seq, hour),
            ItemKind::Client => self.clients.check_and_record(hash, report_seq, hour),
            ItemKind::Campaign => self.campaigns.check_and_record(hash, report_seq, hour),
        }
    }

    /// Drops keys that were not seen for longer than `keep` and, of each kind, keys that exceed the
    /// budget, the oldest first.
    ///
    /// A clock that is set back drops nothing, neither then nor when it is corrected. A clock that
    /// jumps ahead ages all keys by at most eight days; once it is corrected, no key ages until the
    /// wrong time is reached.
    pub fn prune(&mut self, now: i64, keep: Duration) {
        let keep = u32::try_from(keep.as_secs().div_ceil(3_600)).unwrap_or(u32::MAX);
        let oldest = self.clock.hour(now).saturating_sub(keep);
        self.answers.prune(oldest);
        self.rules.prune(oldest);
        self.paths.prune(oldest);
        self.clients.prune(oldest);
        self.campaigns.prune(oldest);
    }

    /// Whether it is empty. Then everything would be new, and nothing is reported as new.
    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.answers.is_empty()
            && self.rules.is_empty()
            && self.paths.is_empty()
            && self.clients.is_empty()
            && self.campaigns.is_empty()
    }
}

/// The most hours that count between two runs: a little more than a week, because jobs run at least
/// weekly. After a longer pause, and when the clock jumps ahead, keys are kept longer, which does
/// no harm.
const MAX_PAUSE_HOURS: i64 = 8 * 24;

/// A clock that only counts hours by which the system time exceeds its earlier maximum. So a clock
/// that is set back ages nothing, neither then nor when it is corrected; after a jump ahead,
/// nothing ages until that time is reached.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunClock {
    hours: u32,
    /// The highest system time so far, in hours since 1970.
    highest: Option<i64>,
}

impl RunClock {
    /// The hour by this clock, at this system time in seconds since 1970.
    pub(crate) fn hour(&mut self, now: i64) -> u32 {
        let now = now.div_euclid(3_600);
        let highest = self.highest.unwrap_or(now);
        let passed = now.saturating_sub(highest).clamp(0, MAX_PAUSE_HOURS);
        self.hours = self.hours.saturating_add(passed.unsigned_abs() as u32);
        self.highest = Some(now.max(highest));
        self.hours
    }
}

/// Bytes per key: eight of its hash, four of `first`, three of `last`.
const RECORD: usize = 15;

/// The highest hour in three bytes: in 1,900 years.
const LAST_HOUR: u32 = (1 << 24) - 1;

/// The most hours by which a late line may precede the first report of its key.
const MAX_LATE_HOURS: u32 = 31 * 24;

/// At most `MAX_KEYS` keys after a prune, and whenever it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SeenKeys<const MAX_KEYS: usize>(HashMap<u64, SeenEntry, RandomState>);

/// The first report and the last hour of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SeenEntry {
    /// The `report_seq` in which it is new.
    first: u32,
    /// The last hour in which it was seen.
    last: u32,
}

impl SeenEntry {
    /// Keys that stay come first: those seen last and, of the same hour, those known longest. So a
    /// flood of new keys evicts its own keys first.
    fn order(self, hash: u64) -> (Reverse<u32>, u32, u64) {
        (Reverse(self.last), self.first, hash)
    }
}

impl<const MAX_KEYS: usize> SeenKeys<MAX_KEYS> {
    /// Records a key. Returns whether it is new in this report.
    pub(crate) fn check_and_record(&mut self, hash: u64, report_seq: u32, hour: u32) -> bool {
        let entry = self.0.entry(hash).or_insert(SeenEntry {
            first: report_seq,
            last: hour,
        });
        entry.last = hour.max(entry.last);
        if entry
            .first
            .checked_sub(report_seq)
            .is_some_and(|later| later <= MAX_LATE_HOURS)
        {
            entry.first = report_seq;
        }
        entry.first == report_seq
    }

    /// Drops keys that were last seen before an hour, and those that exceed the budget.
    pub(crate) fn prune(&mut self, oldest: u32) {
        self.0.retain(|_, seen| seen.last >= oldest);
        if self.0.len() > MAX_KEYS {
            self.0 = self.newest().into_iter().collect();
        }
    }

    /// The keys within the budget, in no order.
    fn newest(&self) -> Vec<(u64, SeenEntry)> {
        let mut all: Vec<_> = self.0.iter().map(|(&hash, &seen)| (hash, seen)).collect();
        if all.len() > MAX_KEYS {
            all.select_nth_unstable_by_key(MAX_KEYS, |&(hash, seen)| seen.order(hash));
            all.truncate(MAX_KEYS);
        }
        all
    }

    fn encode(&self) -> String {
        let mut kept = self.newest();
        kept.sort_unstable_by_key(|(hash, _)| *hash);
        let mut bytes = Vec::with_capacity(RECORD * kept.len());
        for (hash, SeenEntry { first, last }) in kept {
            bytes.extend_from_slice(&hash.to_be_bytes());
            bytes.extend_from_slice(&first.to_be_bytes());
            bytes.extend_from_slice(&last.min(LAST_HOUR).to_be_bytes()[1..]);
        }
        STANDARD.encode(bytes)
    }

    fn decode(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text).ok()?;
        let (records, rest) = bytes.as_chunks::<RECORD>();
        let mut memory = Self(HashMap::with_capacity_and_hasher(
            records.len(),
            RandomState::default(),
        ));
        let mut before = None;
        for record in records {
            let (hash, rest) = record.split_first_chunk()?;
            let (first, hour) = rest.split_first_chunk()?;
            let (hash, first) = (u64::from_be_bytes(*hash), u32::from_be_bytes(*first));
            let last = hour
                .iter()
                .fold(0, |hour, byte| hour << 8 | u32::from(*byte));
            if before.replace(hash).is_some_and(|before| before >= hash) {
                return None;
            }
            memory.0.insert(hash, SeenEntry { first, last });
        }
        rest.is_empty().then_some(memory)
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<const MAX_KEYS: usize> Serialize for SeenKeys<MAX_KEYS> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.encode())
    }
}

impl<'de, const MAX_KEYS: usize> Deserialize<'de> for SeenKeys<MAX_KEYS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::decode(&text).ok_or_else(|| {
            D::Error::custom("the seen keys are invalid: 20 characters a key in Base64, in order")
        })
    }
}

#[cfg(test)]
mod history_tests {
    //! Compares the history with a plain list, and checks what a state file may contain.

    use proptest::prelude::*;

    use super::*;

    const HOUR: i64 = 3_600;
    const DAY: Duration = Duration::from_secs(24 * 3_600);

    /// An action of a run.
    #[derive(Debug, Clone)]
    enum Act {
        /// Records a key of a kind, in the report of the run or in one before it.
        Look(usize, u8, u32),
        /// Ends the run after this many hours, and keeps the keys of this many.
        Prune(i64, u64),
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let look = (
            0..5_usize,
            0..12_u8,
            prop_oneof![4 => Just(0), 1 => 0..1_500_u32],
        )
            .prop_map(|(kind, key, late)| Act::Look(kind, key, late));
        let prune = (-300..300_i64, 0..600_u64).prop_map(|(hours, keep)| Act::Prune(hours, keep));
        prop::collection::vec(prop_oneof![6 => look, 1 => prune], 0..120)
    }

    /// A key in the plain list.
    struct Known {
        kind: usize,
        key: u8,
        first: u32,
        /// The counted hours since it was last seen.
        age: u64,
    }

    proptest! {
        #[test]
        fn behaves_like_a_plain_list(acts in acts()) {
            let (mut seen, mut list) = (SeenHistory::new(7), Vec::<Known>::new());
            let (mut report_seq, mut now, mut highest) = (500_000_u32, 1_000_000_i64, 1_000_000_i64);
            seen.prune(now * HOUR, DAY);
            for act in acts {
                match act {
                    Act::Look(kind, key, late) => {
                        let report_seq = report_seq - late;
                        let expected = match list.iter_mut().find(|known| (known.kind, known.key) == (kind, key)) {
                            None => {
                                list.push(Known { kind, key, first: report_seq, age: 0 });
                                true
                            }
                            Some(known) => {
                                known.age = 0;
                                if report_seq < known.first && known.first - report_seq <= 744 {
                                    known.first = report_seq;
                                }
                                known.first == report_seq
                            }
                        };
                        prop_assert_eq!(seen.check_and_record(ItemKind::ALL[kind], &[key], report_seq, now * HOUR + 7), expected);
                    }
                    Act::Prune(hours, keep) => {
                        now += hours;
                        let passed = (now - highest).clamp(0, 192);
                        highest = highest.max(now);
                        for known in &mut list {
                            known.age += passed.cast_unsigned();
                        }
                        list.retain(|known| known.age <= keep);
                        seen.prune(now * HOUR + 59, Duration::from_secs(keep * 3_600));
                        report_seq += 1;
                        prop_assert_eq!(seen.is_empty(), list.is_empty());
                        let text = serde_json::to_string(&seen).unwrap();
                        let again: SeenHistory = serde_json::from_str(&text).unwrap();
                        prop_assert_eq!(&again, &seen);
                        seen = again;
                    }
                }
            }
        }

        /// A budget of four keys, with any actions.
        #[test]
        fn the_oldest_keys_are_dropped_first(looks in prop::collection::vec((0..12_u64, 1..4_u32), 0..40)) {
            let (mut memory, mut list) = (SeenKeys::<4>::default(), Vec::<(u64, u32, u32)>::new());
            let mut hour = 0;
            for (key, passed) in looks {
                // Of several in one hour, those known longest stay.
                hour += passed / 3;
                let known = list.iter().position(|(of, ..)| *of == key).map(|at| list.remove(at));
                let first = known.map_or(hour, |(_, first, _)| first);
                prop_assert_eq!(memory.check_and_record(key, hour, hour), first == hour);
                list.push((key, first, hour));
                list.sort_by_key(|&(key, first, last)| (Reverse(last), first, key));
                list.truncate(4);
                memory.prune(0);
                let stays = serde_json::to_string(&memory).unwrap();
                prop_assert_eq!(stays.len(), 20 * list.len() + 2);
                let mut of_list = SeenKeys::<4>::default();
                for (key, first, last) in &list {
                    of_list.check_and_record(*key, *first, *last);
                }
                prop_assert_eq!(&memory, &of_list);
            }
        }

        /// While the clock never exceeds `keep` after the first use, no key is old enough, however
        /// it jumps.
        #[test]
        fn a_clock_that_is_set_back_drops_nothing(readings in prop::collection::vec(0..=90_i64, 1..40)) {
            let (mut seen, keep, start) = (SeenHistory::new(1), 90 * DAY, 1_793_577_600);
            for (run, day) in (0..).zip(&readings) {
                seen.check_and_record(ItemKind::Path, &[run], 10 + u32::from(run), start + day * 24 * HOUR);
                seen.prune(start + day * 24 * HOUR, keep);
            }
            for (run, _) in (0..).zip(&readings) {
                prop_assert!(!seen.check_and_record(ItemKind::Path, &[run], 1_000, start + 90 * 24 * HOUR), "run {}", run);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in prop_oneof![r#"[A-Za-z0-9+/=\\"-]{0,50}"#, any::<String>()], at in 0..400_usize, byte: u8) {
            let as_string = serde_json::to_string(&text).unwrap();
            if let Ok(memory) = serde_json::from_str::<SeenKeys<9>>(&as_string) {
                prop_assert_eq!(serde_json::to_string(&memory).unwrap(), as_string.clone(), "only what was written is read");
            }
            let mut bytes = serde_json::to_vec(&few()).unwrap();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(seen) = serde_json::from_slice::<SeenHistory>(&bytes) {
                prop_assert!(serde_json::to_vec(&seen).is_ok());
            }
        }
    }

    /// Some keys of each kind.
    fn few() -> SeenHistory {
        let mut seen = SeenHistory::new(u64::MAX);
        for kind in ItemKind::ALL {
            for key in 0..3_u8 {
                seen.check_and_record(kind, &[key], 77, 1_793_577_600 + i64::from(key) * HOUR);
            }
        }
        seen
    }

    #[test]
    fn a_new_key_stays_new_in_its_own_report() {
        let mut seen = SeenHistory::new(3);
        assert!(seen.is_empty());
        assert!(seen.check_and_record(ItemKind::Answer, b"/.env", 4, 0));
        assert!(
            seen.check_and_record(ItemKind::Answer, b"/.env", 4, HOUR),
            "a report that is built again"
        );
        assert!(!seen.check_and_record(ItemKind::Answer, b"/.env", 5, HOUR));
        assert!(
            seen.check_and_record(ItemKind::Path, b"/.env", 5, HOUR),
            "another kind is another key"
        );
        assert!(!seen.is_empty());
    }

    #[test]
    fn a_late_line_makes_a_key_new_in_the_earlier_period() {
        let (mut seen, day) = (SeenHistory::new(3), 497_000);
        assert!(seen.check_and_record(ItemKind::Rule, b"r", day + 24, 0));
        assert!(seen.check_and_record(ItemKind::Rule, b"r", day, 0));
        assert!(!seen.check_and_record(ItemKind::Rule, b"r", day + 24, 0));
        // Numbers of runs are low: after a change from periods back to runs, known keys are not new
        // again.
        assert!(!seen.check_and_record(ItemKind::Rule, b"r", 12, 0));
    }

    #[test]
    fn old_keys_are_dropped() {
        let mut seen = SeenHistory::new(3);
        let mut at = |day: i64, report_seq, key: &[u8]| {
            let is_new = seen.check_and_record(ItemKind::Client, key, report_seq, day * 24 * HOUR);
            seen.prune(day * 24 * HOUR, 7 * DAY);
            is_new
        };
        assert!(at(0, 1, b"a"));
        assert!(at(4, 2, b"b"));
        assert!(!at(7, 3, b"a"));
        assert!(!at(8, 4, b"b"));
        assert!(!at(14, 5, b"a"));
        assert!(!at(21, 6, b"a"));
        assert!(at(22, 7, b"b"), "unseen for 14 days");
    }

    #[test]
    fn a_clock_that_jumps_ahead_ages_nothing() {
        let (mut seen, now) = (SeenHistory::new(3), 1_793_577_600);
        seen.check_and_record(ItemKind::Path, b"/a", 1, now);
        for wrong in [now + 10 * 365 * 24 * HOUR, 0, i64::MAX, i64::MIN, now] {
            seen.prune(wrong, 30 * DAY);
        }
        assert!(!seen.check_and_record(ItemKind::Path, b"/a", 2, now));
    }

    #[test]
    fn a_full_history_is_small_and_complete() {
        let (mut seen, mut now) = (SeenHistory::new(0x0123_4567_89ab_cdef), 1_793_577_600);
        let budgets = [
            (ItemKind::Answer, 8_000),
            (ItemKind::Rule, 12_000),
            (ItemKind::Path, 72_000),
            (ItemKind::Client, 40_000),
            (ItemKind::Campaign, 4_000),
        ];
        for (kind, most) in budgets {
            for key in 0..most + 1_000_u32 {
                now += HOUR;
                assert!(seen.check_and_record(kind, &key.to_be_bytes(), 1_000_000 + key, now));
            }
        }
        // Written before the end of the run.
        let text = serde_json::to_string(&seen).unwrap();
        assert!(text.len() < 3_000_000, "{}", text.len());
        assert!(text.len() > 20 * 136_000);
        let again: SeenHistory = serde_json::from_str(&text).unwrap();
        seen.prune(now, Duration::MAX);
        assert_eq!(again, seen);
        assert!(
            !seen.check_and_record(ItemKind::Path, &72_999_u32.to_be_bytes(), 5_000_000, 0),
            "the latest stay"
        );
        assert!(
            seen.check_and_record(ItemKind::Path, &0_u32.to_be_bytes(), 5_000_000, 0),
            "the earliest are called new again"
        );
    }

    #[test]
    fn invalid_texts_are_rejected() {
        let one = "AAAAAAAAAAAAAABNAAAA";
        let other = "AAAAAAAAAAEAAABNAAAA";
        let reads =
            |text: &str| serde_json::from_str::<SeenKeys<9>>(&format!("\"{text}\"")).is_ok();
        assert!(reads("") && reads(one) && reads(&format!("{one}{other}")));
        for text in [
            &one[1..],
            &format!("{one}="),
            &format!("{one}A"),
            &format!("{one}AAAA"),
            &format!("{one}{one}"),
            &format!("{other}{one}"),
            &one.replace('N', "-"),
            &one.replace('N', " "),
            &one.replace('N', "é"),
        ] {
            assert!(!reads(text), "{text}");
        }
        let whole = serde_json::to_string(&few()).unwrap();
        assert!(serde_json::from_str::<SeenHistory>(&whole).is_ok());
        for (from, to) in [
            ("\"seed\"", "\"sead\""),
            ("\"paths\":\"", "\"paths\":\"x"),
            ("{\"seed\"", "{\"more\":1,\"seed\""),
            ("\"hours\":", "\"hours\":-"),
        ] {
            assert!(
                serde_json::from_str::<SeenHistory>(&whole.replacen(from, to, 1)).is_err(),
                "{from}"
            );
        }
        for foreign in ["", "null", "[]", "{}", "7", r#"{"seed":1}"#] {
            assert!(
                serde_json::from_str::<SeenHistory>(foreign).is_err(),
                "{foreign}"
            );
        }
    }

    #[test]
    fn it_holds_no_text() {
        let mut seen = SeenHistory::new(5);
        seen.check_and_record(ItemKind::Client, b"192.0.2.7", 1, 0);
        let text = serde_json::to_string(&seen).unwrap();
        assert!(!text.contains("192.0"), "{text}");
    }
}

#[cfg(test)]
mod tests {
    //! The new items of the fixture, and safe output for any log.

    use proptest::prelude::*;

    use super::*;
    use crate::log::client::Client;
    use crate::report::fixture;
    use crate::text::redact::sanitize::{self, csv_guard};

    fn csv(news: &[NewItem<'_>]) -> String {
        let mut out = Vec::new();
        crate::render::csv::write_novelty(news, &[], &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn everything_in_the_first_report_is_new() {
        let (rules, mut seen) = (fixture::rules(), SeenHistory::new(1));
        let report = fixture::report(rules);
        let first = find_new(&report, &mut seen, 1, 0);
        insta::assert_snapshot!("first_report", csv(&first));
        assert!(first.is_sorted_by_key(|one| one.kind));
        let rows = report.answered.len()
            + report.rules.len()
            + report.paths.len()
            + report.clients.len()
            + report.campaigns.len();
        assert_eq!(first.len(), rows);
        assert_eq!(
            csv(&find_new(&report, &mut seen, 1, 0)),
            csv(&first),
            "built again with the same report_seq"
        );
        assert_eq!(
            csv(&find_new(&report, &mut seen, 2, 0)),
            "kind,key,severity,hits,first_time,sample_target,source,line\n"
        );
    }

    #[test]
    fn only_unseen_items_are_new() {
        let (rules, mut seen) = (fixture::rules(), SeenHistory::new(1));
        let mut before = fixture::report(rules);
        before.answered.retain(|row| {
            row.key
                != RowKey::Answer(
                    Some(LogText::new(b"shop.example")),
                    LogText::new(b"/.git/config"),
                    LogText::new(b"shop.example"),
                )
        });
        before
            .clients
            .retain(|row| row.key != RowKey::Client(Client::V4(0xcb00_7107)));
        before.campaigns.clear();
        let _ = find_new(&before, &mut seen, 1, 0);
        let report = fixture::report(rules);
        let found: Vec<_> = find_new(&report, &mut seen, 2, 0)
            .into_iter()
            .map(|one| (one.kind, one.key, one.hits))
            .collect();
        let git = (ItemKind::Answer, "shop.example/.git/config".to_owned(), 3);
        assert_eq!(
            found,
            [
                git,
                (ItemKind::Client, "203.0.113.7".into(), 5),
                (ItemKind::Campaign, "0123456789ab".into(), 8)
            ]
        );
    }

    #[test]
    fn items_that_differ_only_in_a_secret_are_one() {
        let (rules, mut seen) = (fixture::rules(), SeenHistory::new(1));
        let mut report = fixture::empty(rules);
        let row = fixture::report(rules).paths[0].clone();
        let path = |path: &'static [u8], hits| Row {
            key: RowKey::Path(LogText::new(path)),
            hits,
            ..row.clone()
        };
        report.paths = vec![
            path(b"/a;token=first", 5),
            path(b"/b", 3),
            path(b"/a;token=second", 2),
        ];
        let found: Vec<_> = find_new(&report, &mut seen, 1, 0)
            .into_iter()
            .map(|one| (one.key, one.hits))
            .collect();
        assert_eq!(
            found,
            [("/a;token=***".to_owned(), 7), ("/b".to_owned(), 3)]
        );
        report.paths = vec![path(b"/a;token=third", 1)];
        assert!(find_new(&report, &mut seen, 2, 0).is_empty());
    }

    #[test]
    fn an_empty_path_is_a_dash() {
        let (rules, mut seen) = (fixture::rules(), SeenHistory::new(1));
        let mut report = fixture::empty(rules);
        let row = fixture::report(rules).paths[0].clone();
        report.paths = vec![Row {
            key: RowKey::Path(LogText::new(b"")),
            ..row.clone()
        }];
        report.clients = vec![Row {
            key: RowKey::Client(Client::Text(b"")),
            ..row.clone()
        }];
        report.answered = vec![Row {
            key: RowKey::Answer(None, LogText::new(b"/.env"), LogText::new(b"access.log")),
            ..row
        }];
        let keys: Vec<_> = find_new(&report, &mut seen, 1, 0)
            .into_iter()
            .map(|one| one.key)
            .collect();
        assert_eq!(keys, ["/.env", "-", "-"]);
    }

    proptest! {
        #[test]
        fn no_log_byte_is_unsafe_in_csv(path: Vec<u8>, target in any::<Vec<u8>>(), host in "[=+@\",;\r\n\t a-z-]{0,12}", source: Vec<u8>) {
            let (rules, mut seen) = (fixture::rules(), SeenHistory::new(1));
            let mut report = fixture::empty(rules);
            let mut row = fixture::report(rules).paths[0].clone();
            (row.sample.target, row.sample.source) = (LogText::new(&target), &source);
            row.key = RowKey::Answer(Some(LogText::new(host.as_bytes())), LogText::new(&path), LogText::new(host.as_bytes()));
            report.answered = vec![row.clone()];
            row.key = RowKey::Path(LogText::new(&path));
            report.paths = vec![row.clone()];
            row.key = RowKey::Client(Client::Text(&path));
            report.clients = vec![row];
            let found = find_new(&report, &mut seen, 1, 0);
            let text = csv(&found);
            prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            let records: Vec<_> = reader.records().collect::<Result<_, _>>().unwrap();
            prop_assert_eq!(records.len(), 3);
            for (record, one) in records.iter().zip(&found) {
                prop_assert_eq!(record.len(), 8);
                prop_assert_eq!(&record[1], &*csv_guard(one.key.as_str().into()));
                prop_assert_eq!(&record[5], &*csv_guard(LogText::new(&target).redacted()));
                prop_assert_eq!(&record[6], &*csv_guard(sanitize::escape(&source)));
            }
        }
    }
}
