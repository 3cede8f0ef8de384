//! Detects what [`follow`](crate::commands::follow) raises alerts for. An [`Alert`] is plain data,
//! which `render` formats.
//!
//! | alert | raised by |
//! | --- | --- |
//! | threshold | N requests that match a rule with a `window`, by one client or for one path, within its minutes |
//! | probing | one client that requests many different probe paths within minutes |
//! | answered | a leak: an answer that is distinct, which is settled, and others of its folder; see `finds.rs` |
//! | answered again | a later client that got a part of a leak |
//! | withdrawn | a find that proved to be a soft 404 |
//! | campaign | unusual paths that many networks request within minutes; see `campaign.rs` |
//! | threshold | N attempts of one client that match a rule with a `guess`, and little else; see `guesses.rs` |
//! | campaign | such attempts from several networks |
//!
//! Floods are counted by fixed minutes as in reports; see `floods.rs`.
//!
//! This module reads no clock and no log: time is the log's time. Lines may be out of order. A
//! window ends with the latest request of its key, and a request counts if it is within the window
//! at that moment. A request without a time can only raise alerts of finds, and a request without a
//! client counts for no client. After a line from the future, as from a wrong clock, probing and
//! campaigns are not detected until the log reaches that time.
//!
//! The same alert, by kind and client or path, is raised again only after a cooldown in the log's
//! time, and after a day where guesses go on; a leak once. There is one campaign at a time, and one
//! for each rule with a `guess`, whose clients alone are then no alerts. Memory is bounded: clients
//! and paths are stored as hashes, and the least recently seen are evicted. 4,096 keys take 8 MB.

mod campaign;
mod finds;
mod floods;
mod guesses;
mod sliding_window;

pub(crate) use finds::{LeakPlace, SavedFinds};
pub(crate) use floods::{Flood, floods};

use std::hash::BuildHasher;

use campaign::CampaignDetector;
use finds::RaisedFinds;
use floods::{FloodCount, RecentMinutes};
use foldhash::fast::RandomState;
use guesses::GuessDetector;
use sliding_window::{SlidingWindow, WindowEntry, WindowLimit, WindowSummary};

use crate::collections::lru::LruMap;
use crate::log::client::{Client, ClientKey, Network};
use crate::log::finding::{RuleId, Severity};
use crate::log::source::RequestId;
use crate::log::time::LogTime;
use crate::rules::{By, RuleSet, Window};
use crate::text::redact::{LogString, LogText};

/// Distinct probe paths of one client, and the window in seconds. Mistyped addresses and old pages
/// in search engines result in a handful of such paths; the shortest lists of scanners have more
/// than twenty.
const PROBING: WindowLimit = WindowLimit {
    count: 20,
    within: 300,
};

/// The minimum severity of alerts about many requests, even if each of them is noise.
const MIN_SEVERITY: Severity = Severity::Medium;

/// Seconds until guesses that go on are an alert again.
const DAY_SECONDS: u32 = 86_400;
/// The generation of a log, and an offset.
type HitId = (u64, u64);

/// Requests or minutes stored for the thresholds of rules, per key of [`AlertOptions::keys`] and
/// shared by all rules.
const ENTRIES_PER_KEY: usize = 16;

/// Limits of the detector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AlertOptions {
    /// Seconds of the log's time until the same alert is raised again.
    pub cooldown: u64,
    /// How many clients, paths and alerts are remembered, each; at least two.
    pub keys: usize,
    /// The minimum severity of finds that raise an alert.
    pub find_severity: Severity,
}

impl Default for AlertOptions {
    fn default() -> Self {
        Self {
            cooldown: 600,
            keys: 4_096,
            find_severity: FIND_SEVERITY,
        }
    }
}

/// A request that matched a rule and is not on an allow list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObservedHit<'a> {
    /// The time of the request.
    pub time: Option<LogTime>,
    /// The client.
    pub client: Client<'a>,
    /// The normalised path.
    pub path: LogText<'a>,
    /// The severity. It has no meaning if no rule is reported.
    pub severity: Severity,
    /// Why it is observed.
    pub event: HitEvent<'a>,
    /// The requests of its client so far, it included; 0 where they are not counted. The number may
    /// start anew.
    pub requests: u64,
    /// All rules it matched, including rules that are not reported by themselves.
    pub matched: &'a [RuleId],
    /// The rules of `matched` that are reported.
    pub reported: &'a [RuleId],
    /// Its identity.
    pub id: RequestId,
    /// The log's path.
    pub source: &'a [u8],
    /// The line's number, from 1.
    pub line: u64,
    /// The method as logged.
    pub method: LogText<'a>,
    /// The request target as logged.
    pub target: LogText<'a>,
    /// The status code.
    pub status: Option<u16>,
}

/// Why a hit is observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HitEvent<'a> {
    /// It is a new request.
    Request,
    /// It was observed before, and is a find.
    Find(&'a LeakPlace),
    /// It was a find, and is none any more.
    Withdrawal,
}

/// Observes requests and raises alerts.
#[derive(Debug)]
pub(crate) struct AlertDetector {
    options: AlertOptions,
    state: RandomState,
    /// Sorted by rule.
    thresholds: Vec<RuleThreshold>,
    probers: LruMap<u64, SlidingWindow>,
    campaigns: CampaignDetector,
    guesses: GuessDetector,
    finds: RaisedFinds,
    cooldown: Cooldown,
    /// That of guesses.
    day: Cooldown,
    /// The latest time seen.
    latest: Option<i64>,
}

/// A rule with a window.
#[derive(Debug)]
struct RuleThreshold {
    rule: RuleId,
    /// The hash of the rule's ID, which stays the same when rules are reloaded.
    id: u64,
    window: Window,
    severity: Severity,
    keys: LruMap<u64, RecentMinutes>,
}

/// The facts of an alert, before the request is added to it.
struct Detection {
    kind: AlertKind,
    severity: Severity,
    times: Option<(LogTime, LogTime)>,
    hits: u64,
    clients: u64,
    paths: u64,
}

impl Detection {
    fn of_find(kind: AlertKind, severity: Severity, hit: &ObservedHit<'_>) -> Self {
        Self {
            kind,
            severity,
            times: hit.time.map(|time| (time, time)),
            hits: 1,
            clients: 1,
            paths: 1,
        }
    }

    fn into_alert(self, hit: &ObservedHit<'_>) -> Alert {
        let Self {
            kind,
            severity,
            times,
            hits,
            clients,
            paths,
        } = self;
        let (first_time, last_time) = times.unzip();
        let mut rules = hit.matched.to_vec();
        rules.sort_unstable();
        let client = (clients == 1).then(|| ClientKey::from(&hit.client));
        let path = (paths == 1).then(|| hit.path.into());
        let sample = AlertSample {
            id: hit.id,
            source: hit.source.into(),
            line: hit.line,
            method: hit.method.into(),
            target: hit.target.into(),
            status: hit.status,
        };
        Alert {
            kind,
            severity,
            first_time,
            last_time,
            client,
            path,
            hits,
            clients,
            paths,
            rules,
            sample,
        }
    }
}

impl AlertDetector {
    /// A detector for the windows of these rules and the built-in alerts.
    #[must_use]
    pub(crate) fn new(rules: &RuleSet, options: AlertOptions) -> Self {
        let options = AlertOptions {
            keys: options.keys.max(2),
            ..options
        };
        let mut detector = Self {
            options,
            state: RandomState::default(),
            thresholds: Vec::new(),
            probers: LruMap::new(options.keys),
            campaigns: CampaignDetector::new(options.keys),
            guesses: GuessDetector::new(options.keys),
            finds: RaisedFinds::new(options.keys),
            cooldown: Cooldown::new(options.cooldown, options.keys),
            day: Cooldown::new(options.cooldown.max(DAY_SECONDS.into()), options.keys),
            latest: None,
        };
        detector.set_rules(rules);
        detector
    }

    /// Adds the finds that raised an alert in an earlier run.
    #[must_use]
    pub(crate) fn with_finds(self, saved: SavedFinds) -> Self {
        Self {
            finds: self.finds.with_saved(saved),
            ..self
        }
    }

    /// The finds that raised an alert, for the next run.
    #[must_use]
    pub(crate) fn saved_finds(&self) -> SavedFinds {
        self.finds.saved()
    }

    /// Replaces the rules, as after a reload. Counts of a rule are kept if its window is the same.
    pub(crate) fn set_rules(&mut self, rules: &RuleSet) {
        self.guesses.set_rules(rules, |id| self.state.hash_one(id));
        let mut old_thresholds = std::mem::take(&mut self.thresholds);
        let numbered = rules
            .rules()
            .iter()
            .zip(0..)
            .map(|(rule, number)| (rule, RuleId(number)));
        let windows: Vec<_> = numbered
            .filter_map(|(rule, number)| Some((rule, number, rule.window?)))
            .collect();
        let window_count = windows.len();
        for (rule, number, window) in windows {
            let id = self.state.hash_one(&rule.id);
            let max_keys = (self.options.keys * ENTRIES_PER_KEY
                / window_count
                / RecentMinutes::max_minutes(window).max(window.count as usize))
            .clamp(2, self.options.keys);
            let old_index = old_thresholds
                .iter()
                .position(|old| (old.id, old.window) == (id, window));
            let keys = old_index.map_or_else(
                || LruMap::new(max_keys),
                |at| old_thresholds.swap_remove(at).keys.with_capacity(max_keys),
            );
            self.thresholds.push(RuleThreshold {
                rule: number,
                id,
                window,
                severity: rule.severity,
                keys,
            });
        }
    }

    /// Observes a request, and calls `raise` for each alert it causes.
    pub(crate) fn observe(&mut self, hit: &ObservedHit<'_>, raise: &mut impl FnMut(Alert)) {
        self.latest = self.latest.max(hit.time.map(|time| time.utc));
        let mut raise_for = |detection: Option<Detection>| {
            if let Some(detection) = detection {
                raise(detection.into_alert(hit));
            }
        };
        match hit.event {
            HitEvent::Request => {}
            HitEvent::Find(place) => return raise_for(self.find(place, hit)),
            HitEvent::Withdrawal => return raise_for(self.withdrawal(hit)),
        }
        let client = self.hash_of_client(hit.client);
        if let Some(client) = client {
            let (network, path) = (
                self.state.hash_one(Network::from_client(hit.client)),
                self.state.hash_one(hit.path),
            );
            self.guesses.count(hit, client, network, path);
        }
        for &rule in hit.matched {
            let flood = self.flood(rule, hit);
            // A flood is a finding at once; what is slower takes as many attempts.
            let guesses = if flood.is_none() {
                client.and_then(|client| self.guesses(rule, client, hit))
            } else {
                None
            };
            raise_for(flood.or(guesses));
        }
        if !hit.reported.is_empty() {
            raise_for(self.probing(hit));
            raise_for(self.campaign(hit));
        }
    }

    /// Counts a request for the window of a rule.
    fn flood(&mut self, rule: RuleId, hit: &ObservedHit<'_>) -> Option<Detection> {
        let at = self
            .thresholds
            .binary_search_by_key(&rule, |threshold| threshold.rule)
            .ok()?;
        let window = self.thresholds[at].window;
        let (client, path) = (
            self.hash_of_client(hit.client),
            self.state.hash_one(hit.path),
        );
        let (key, distinct_key) = match window.by {
            By::Client => (client?, path),
            By::Path => (path, client.unwrap_or_default()),
        };
        let RuleThreshold {
            severity,
            ref mut keys,
            id,
            ..
        } = self.thresholds[at];
        let entry = window_entry(hit, distinct_key)?;
        let minutes = keys.get_or_insert_with(key, RecentMinutes::default);
        let FloodCount {
            requests,
            times,
            distinct,
        } = minutes.record(entry, window)?;
        if window
            .others
            .is_some_and(|percent| !self.guesses.sends_little_else(rule, key, percent))
        {
            return None;
        }
        if !self
            .cooldown
            .should_raise(self.state.hash_one((id, key)), minutes.latest())
        {
            return None;
        }
        let (clients, paths) = match window.by {
            By::Client => (1, distinct),
            By::Path => (distinct, 1),
        };
        Some(Detection {
            kind: AlertKind::Threshold(rule),
            severity,
            times: Some(times),
            hits: requests,
            clients,
            paths,
        })
    }

    /// The client of an attempt, or the campaign that it belongs to, if they guess passwords.
    fn guesses(&mut self, rule: RuleId, client: u64, hit: &ObservedHit<'_>) -> Option<Detection> {
        let now = hit.time.map(|time| time.utc);
        let id = self.guesses.id(rule)?;
        let (of_campaign, of_client) = (
            self.state.hash_one((AlertKind::Campaign, id)),
            self.state.hash_one((id, client)),
        );
        if self.day.was_raised(of_campaign, now) {
            return None;
        }
        let alone = if self.day.was_raised(of_client, now) {
            None
        } else {
            self.guesses.client(rule, client)
        };
        let campaign = if alone.is_some() || self.guesses.is_check_due(rule) {
            self.guesses.campaign(rule)
        } else {
            None
        };
        let key = if campaign.is_some() {
            of_campaign
        } else {
            of_client
        };
        campaign
            .or(alone)
            .filter(|_| self.day.should_raise(key, now))
    }

    fn find(&mut self, place: &LeakPlace, hit: &ObservedHit<'_>) -> Option<Detection> {
        if hit.severity < self.options.find_severity {
            return None;
        }
        // Without any time in the log, a find has one day.
        let day = hit.time.map_or(0, |time| {
            time.local_seconds().div_euclid(DAY_SECONDS.into())
        });
        // As the history of sites, the state has a part of the hash, which identifies no address.
        let client = (!hit.client.is_unknown()).then(|| hit.client.stable_hash() as u16);
        let kind = self
            .finds
            .raise(place, client, hit_id(hit), hit.severity, day)?;
        Some(Detection::of_find(kind, hit.severity, hit))
    }

    fn withdrawal(&mut self, hit: &ObservedHit<'_>) -> Option<Detection> {
        let severity = self.finds.withdraw(hit_id(hit))?;
        Some(Detection::of_find(AlertKind::Withdrawn, severity, hit))
    }

    fn probing(&mut self, hit: &ObservedHit<'_>) -> Option<Detection> {
        let client = self.hash_of_client(hit.client)?;
        let entry = window_entry(hit, self.state.hash_one(hit.path))?;
        let window = self
            .probers
            .get_or_insert_with(client, SlidingWindow::default);
        if !window.record(entry, PROBING)
            || !self.cooldown.should_raise(
                self.state.hash_one((AlertKind::Probing, client)),
                window.latest(),
            )
        {
            return None;
        }
        let summary = WindowSummary::from_windows([&*window]);
        let severity = summary.severity.max(MIN_SEVERITY);
        Some(Detection {
            kind: AlertKind::Probing,
            severity,
            times: summary.times,
            hits: summary.hits,
            clients: 1,
            paths: summary.distinct,
        })
    }

    fn campaign(&mut self, hit: &ObservedHit<'_>) -> Option<Detection> {
        self.hash_of_client(hit.client)?;
        let entry = window_entry(hit, self.state.hash_one(Network::from_client(hit.client)))?;
        let latest = self
            .campaigns
            .observe(self.state.hash_one(hit.path), entry)?;
        if !self
            .cooldown
            .should_raise(self.state.hash_one(AlertKind::Campaign), Some(latest))
        {
            return None;
        }
        let summary = self.campaigns.summary();
        let (severity, paths) = (
            summary.severity.max(MIN_SEVERITY),
            campaign::MIN_PATHS as u64,
        );
        Some(Detection {
            kind: AlertKind::Campaign,
            severity,
            times: summary.times,
            hits: summary.hits,
            clients: summary.distinct,
            paths,
        })
    }

    /// The hash of a client; `None` if the client is unknown.
    fn hash_of_client(&self, client: Client<'_>) -> Option<u64> {
        match client {
            unknown if unknown.is_unknown() => None,
            Client::Text(text) => Some(self.state.hash_one((0_u8, text))),
            Client::V4(bits) => Some(self.state.hash_one((4_u8, bits))),
            Client::V6(bits) => Some(self.state.hash_one((6_u8, bits))),
        }
    }
}

fn hit_id(hit: &ObservedHit<'_>) -> HitId {
    (hit.id.generation, hit.id.offset)
}

/// The request as a window stores it; `None` without a time.
fn window_entry(hit: &ObservedHit<'_>, distinct_key: u64) -> Option<WindowEntry> {
    let LogTime { utc, offset } = hit.time?;
    Some(WindowEntry {
        utc,
        distinct_key,
        offset,
        severity: hit.severity,
    })
}

/// When each alert was last raised.
#[derive(Debug)]
struct Cooldown {
    last_raised: LruMap<u64, Option<i64>>,
    /// Seconds of the log's time between two alerts of one key.
    seconds: i64,
}

impl Cooldown {
    /// Remembers at most `keys` alerts.
    fn new(seconds: u64, keys: usize) -> Self {
        Self {
            last_raised: LruMap::new(keys),
            seconds: i64::try_from(seconds).unwrap_or(i64::MAX),
        }
    }

    /// Whether to raise an alert now. If so, it is recorded as raised. Time never runs backwards:
    /// an alert that an older line causes after a newer one waits until the log reaches that time.
    /// Without any time in the log, each alert is raised once.
    fn should_raise(&mut self, alert: u64, now: Option<i64>) -> bool {
        let now = now.unwrap_or(i64::MIN);
        let last_raised = self.last_raised.get_or_insert_with(alert, || None);
        let should_raise = last_raised.is_none_or(|then| now >= then.saturating_add(self.seconds));
        if should_raise {
            *last_raised = Some(now);
        }
        should_raise
    }

    /// Whether an alert was raised and would not be raised again now.
    fn was_raised(&self, alert: u64, now: Option<i64>) -> bool {
        let now = now.unwrap_or(i64::MIN);
        self.last_raised
            .peek(&alert)
            .copied()
            .flatten()
            .is_some_and(|then| now < then.saturating_add(self.seconds))
    }

    /// The number of alerts remembered.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.last_raised.values().count()
    }
}

/// A find raises an alert from this severity on, by default: such a path helps an attacker
/// considerably, or lets them in.
pub(crate) const FIND_SEVERITY: Severity = Severity::High;

/// What an alert is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum AlertKind {
    /// The threshold of a rule was reached.
    Threshold(RuleId),
    /// One client requested many different probe paths.
    Probing,
    /// A probe got a distinct answer.
    Answered,
    /// A later client got a distinct answer at a path that raised an alert.
    AnsweredAgain,
    /// An answer that raised an alert proved to be a soft 404. The withdrawal has the ID of that
    /// alert.
    Withdrawn,
    /// Many networks requested the same unusual paths.
    Campaign,
    /// Several networks guess passwords, as a rule with a `guess` defines.
    Guesses(RuleId),
}

impl AlertKind {
    /// The identifier in machine-readable output.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Threshold(_) => "threshold",
            Self::Probing => "probing",
            Self::Answered => "answered",
            Self::AnsweredAgain => "answered_again",
            Self::Withdrawn => "withdrawn",
            Self::Campaign | Self::Guesses(_) => "campaign",
        }
    }
}

/// One alert. It owns its data, as the lines are gone when it is emitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alert {
    /// What kind of alert it is.
    pub kind: AlertKind,
    /// The severity.
    pub severity: Severity,
    /// The time of the earliest request counted, from the log.
    pub first_time: Option<LogTime>,
    /// The time of the latest request counted.
    pub last_time: Option<LogTime>,
    /// The client, if the alert is about one.
    pub client: Option<ClientKey>,
    /// The normalised path, if the alert is about one.
    pub path: Option<LogString>,
    /// Number of requests counted.
    pub hits: u64,
    /// Distinct clients among them.
    pub clients: u64,
    /// Distinct paths among them.
    pub paths: u64,
    /// The rules that matched the request that raised it, sorted.
    pub rules: Vec<RuleId>,
    /// The request that raised it.
    pub sample: AlertSample,
}

/// The request that raised an alert.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AlertSample {
    /// Its identity.
    pub id: RequestId,
    /// The log's path; may hold any byte.
    pub source: Vec<u8>,
    /// The line's number, from 1.
    pub line: u64,
    /// The method as logged.
    pub method: LogString,
    /// The request target as logged.
    pub target: LogString,
    /// The status code.
    pub status: Option<u16>,
}

#[cfg(test)]
mod tests;
