//! Many requests of one kind, seen together: what [`follow`](crate::cli) raises an alert for.
//!
//! | alert | raised by |
//! | --- | --- |
//! | threshold | so many requests of a rule with a `window`, by one client or for one path, within its minutes |
//! | probing | one client that asked for many different probe paths within minutes |
//! | answered | a probe that was answered where the answer means something, and bad enough |
//! | campaign | unusual paths that many networks ask for within minutes; observe `campaign.rs` |
//!
//! Floods are counted by fixed minutes, as reports count them: `minutes.rs` says how, and which of them are a flood.
//!
//! Pure: it asks no clock and reads no log; time is the log's. Lines may come out of order: a span ends with the latest
//! request of its key, and a request counts if it lies within the span then (`span.rs` says it to the second). A request
//! without a time can be placed in no span and raises nothing but `answered`; one without a client counts for no client.
//! A line from the future (a clock that was set back) keeps probing and campaigns quiet until the log has caught up.
//!
//! The same alert is raised again only after a rest, by the log's time, counted for each kind and client or path; there is
//! one campaign at a time. All that is remembered is bounded, whoever asks for how much: of clients and paths there are
//! hashes, and what was seen long ago gives way to what is seen now. Of 4,096 keys it is 8 MB.

pub mod alert;
mod campaign;
mod floods;
mod sliding_window;
#[cfg(test)]
mod tests;

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::alerting::alert::{Alert, AlertKind, AlertSample, MIN_ANSWERED_SEVERITY};
use crate::client::{Client, ClientKey, Network};
use crate::finding::{RuleId, Severity};
use crate::recent::Recent;
use crate::rules::{By, RuleSet, Window};
use crate::time::LogTime;
use campaign::CampaignDetector;
pub use floods::{Flood, floods};
use floods::{FloodCount, MinuteCounts};
use sliding_window::{SlidingWindow, WindowEntry, WindowLimit, WindowSummary};

/// Different probe paths of one client, and the span in seconds. A person who mistypes, or a search engine that remembers
/// old pages, comes to a handful; the shortest lists of probing tools hold more than twenty.
const PROBING: WindowLimit = WindowLimit { count: 20, within: 300 };

/// Alerts about many requests are no less than this, even where each of them is noise.
const MIN_SEVERITY: Severity = Severity::Medium;

/// Requests or minutes that the thresholds of rules remember, for each key of [`AlertOptions::keys`]; all rules share them.
const ENTRIES_PER_KEY: usize = 16;

/// How much is remembered, and how often the same is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlertOptions {
    /// The same alert is raised again only after so many seconds of the log's time.
    pub cooldown: u64,
    /// Clients, paths and alerts that are remembered, of each; at least two.
    pub keys: usize,
}

impl Default for AlertOptions {
    fn default() -> Self {
        Self { cooldown: 600, keys: 4_096 }
    }
}

/// One request that matched some rule, and is not allowed.
#[derive(Debug, Clone, Copy)]
pub struct ObservedHit<'a> {
    /// When.
    pub time: Option<LogTime>,
    /// Who asked.
    pub client: Client<'a>,
    /// The normalised path.
    pub path: &'a [u8],
    /// How bad it is; of no meaning where nothing is reported.
    pub severity: Severity,
    /// It was answered, and the answer is to raise an alert.
    pub answered: bool,
    /// It was seen before; only its answer is new.
    pub is_update: bool,
    /// All rules it matched, also those that are no finding.
    pub matched: &'a [RuleId],
    /// Those of them that are reported.
    pub reported: &'a [RuleId],
    /// The request, to prove an alert.
    pub request: AlertSampleRef<'a>,
}

/// What an alert shows of a request: a [`AlertSample`] that is not copied yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct AlertSampleRef<'a> {
    /// With `offset` the identity of the request.
    pub generation: u64,
    /// Bytes from the start of the log's text.
    pub offset: u64,
    /// The log's path.
    pub source: &'a [u8],
    /// The line's number, from 1.
    pub line: u64,
    /// The method as logged.
    pub method: &'a [u8],
    /// The request target as logged.
    pub target: &'a [u8],
    /// The status code.
    pub status: Option<u16>,
}

impl From<&AlertSampleRef<'_>> for AlertSample {
    fn from(request: &AlertSampleRef<'_>) -> Self {
        let AlertSampleRef { generation, offset, source, line, method, target, status } = *request;
        Self { generation, offset, source: source.into(), line, method: method.into(), target: target.into(), status }
    }
}

/// Watches requests and raises alerts.
#[derive(Debug)]
pub struct AlertDetector {
    options: AlertOptions,
    state: RandomState,
    /// By rule.
    thresholds: Vec<RuleThreshold>,
    probers: Recent<u64, SlidingWindow>,
    campaigns: CampaignDetector,
    cooldown: Cooldown,
    /// The latest time of all.
    latest: Option<i64>,
}

/// A rule with a window.
#[derive(Debug)]
struct RuleThreshold {
    rule: RuleId,
    /// The hash of the rule's id, which outlives its number.
    id: u64,
    window: Window,
    severity: Severity,
    keys: Recent<u64, MinuteCounts>,
}

/// What an alert is about.
struct Detection {
    kind: AlertKind,
    severity: Severity,
    times: Option<(LogTime, LogTime)>,
    hits: u64,
    clients: u64,
    paths: u64,
}

impl Detection {
    fn into_alert(self, hit: &ObservedHit<'_>) -> Alert {
        let Self { kind, severity, times, hits, clients, paths } = self;
        let (first_time, last_time) = times.unzip();
        let mut rules = hit.matched.to_vec();
        rules.sort_unstable();
        let client = (clients == 1).then(|| ClientKey::from(&hit.client));
        let path = (paths == 1).then(|| hit.path.to_vec());
        let sample = AlertSample::from(&hit.request);
        Alert { kind, severity, first_time, last_time, client, path, hits, clients, paths, rules, sample }
    }
}

impl AlertDetector {
    /// Watches for the windows of these rules, and what is built in.
    #[must_use]
    pub fn new(rules: &RuleSet, options: AlertOptions) -> Self {
        let options = AlertOptions { keys: options.keys.max(2), ..options };
        let mut detector = Self {
            options,
            state: RandomState::default(),
            thresholds: Vec::new(),
            probers: Recent::new(options.keys),
            campaigns: CampaignDetector::new(options.keys),
            cooldown: Cooldown::new(options.cooldown, options.keys),
            latest: None,
        };
        detector.set_rules(rules);
        detector
    }

    /// Goes on with distinct_key rules, as after a reload: what was counted for a rule stays where the rule has the same window.
    pub fn set_rules(&mut self, rules: &RuleSet) {
        let mut known = std::mem::take(&mut self.thresholds);
        let numbered = rules.rules().iter().zip(0..).map(|(rule, number)| (rule, RuleId(number)));
        let windows: Vec<_> = numbered.filter_map(|(rule, number)| Some((rule, number, rule.window?))).collect();
        let all = windows.len();
        for (rule, number, window) in windows {
            let id = self.state.hash_one(&rule.id);
            let most = (self.options.keys * ENTRIES_PER_KEY / all / MinuteCounts::max_minutes(window).max(window.count as usize))
                .clamp(2, self.options.keys);
            let same = known.iter().position(|old| (old.id, old.window) == (id, window));
            let keys = same.map_or_else(|| Recent::new(most), |at| known.swap_remove(at).keys.of_at_most(most));
            self.thresholds.push(RuleThreshold { rule: number, id, window, severity: rule.severity, keys });
        }
    }

    /// Takes in a request, and raises the alerts it leads to.
    pub fn observe(&mut self, hit: &ObservedHit<'_>, raise: &mut impl FnMut(Alert)) {
        self.latest = self.latest.max(hit.time.map(|time| time.utc));
        let mut tell = |detection: Option<Detection>| detection.into_iter().for_each(|detection| raise(detection.into_alert(hit)));
        if hit.is_update {
            return tell(self.answered(hit));
        }
        for &rule in hit.matched {
            tell(self.flood(rule, hit));
        }
        if !hit.reported.is_empty() {
            tell(self.answered(hit));
            tell(self.probing(hit));
            tell(self.campaign(hit));
        }
    }

    /// One request more for the window of a rule.
    fn flood(&mut self, rule: RuleId, hit: &ObservedHit<'_>) -> Option<Detection> {
        let at = self.thresholds.binary_search_by_key(&rule, |threshold| threshold.rule).ok()?;
        let window = self.thresholds[at].window;
        let (client, path) = (self.hash_of_client(hit.client), self.state.hash_one(hit.path));
        let (key, distinct_key) = match window.by {
            By::Client => (client?, path),
            By::Path => (path, client.unwrap_or_default()),
        };
        let RuleThreshold { severity, ref mut keys, id, .. } = self.thresholds[at];
        let entry = window_entry(hit, distinct_key)?;
        let minutes = keys.value(key, MinuteCounts::default);
        let FloodCount { requests, times, distinct } = minutes.record(entry, window)?;
        if !self.cooldown.should_raise(self.state.hash_one((id, key)), minutes.latest()) {
            return None;
        }
        let (clients, paths) = match window.by {
            By::Client => (1, distinct),
            By::Path => (distinct, 1),
        };
        Some(Detection { kind: AlertKind::Threshold(rule), severity, times: Some(times), hits: requests, clients, paths })
    }

    fn answered(&mut self, hit: &ObservedHit<'_>) -> Option<Detection> {
        if !hit.answered || hit.severity < MIN_ANSWERED_SEVERITY {
            return None;
        }
        let key = self.state.hash_one((AlertKind::Answered, self.hash_of_client(hit.client), hit.path));
        if !self.cooldown.should_raise(key, hit.time.map(|time| time.utc).or(self.latest)) {
            return None;
        }
        let times = hit.time.map(|time| (time, time));
        Some(Detection { kind: AlertKind::Answered, severity: hit.severity, times, hits: 1, clients: 1, paths: 1 })
    }

    fn probing(&mut self, hit: &ObservedHit<'_>) -> Option<Detection> {
        let client = self.hash_of_client(hit.client)?;
        let entry = window_entry(hit, self.state.hash_one(hit.path))?;
        let window = self.probers.value(client, SlidingWindow::default);
        if !window.record(entry, PROBING) || !self.cooldown.should_raise(self.state.hash_one((AlertKind::Probing, client)), window.latest())
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
        let entry = window_entry(hit, self.state.hash_one(Network::of(hit.client)))?;
        let latest = self.campaigns.observe(self.state.hash_one(hit.path), entry)?;
        if !self.cooldown.should_raise(self.state.hash_one(AlertKind::Campaign), Some(latest)) {
            return None;
        }
        let summary = self.campaigns.summary();
        let (severity, paths) = (summary.severity.max(MIN_SEVERITY), campaign::MIN_PATHS as u64);
        Some(Detection { kind: AlertKind::Campaign, severity, times: summary.times, hits: summary.hits, clients: summary.distinct, paths })
    }

    /// The hash of a client; `None` for a line that names none.
    fn hash_of_client(&self, client: Client<'_>) -> Option<u64> {
        match client {
            unknown if unknown.is_unknown() => None,
            Client::Text(text) => Some(self.state.hash_one((0_u8, text))),
            Client::V4(bits) => Some(self.state.hash_one((4_u8, bits))),
            Client::V6(bits) => Some(self.state.hash_one((6_u8, bits))),
        }
    }
}

/// What is remembered of a request; nothing of one without a time.
fn window_entry(hit: &ObservedHit<'_>, distinct_key: u64) -> Option<WindowEntry> {
    let LogTime { utc, offset } = hit.time?;
    Some(WindowEntry { utc, distinct_key, offset, severity: hit.severity })
}

/// When each alert was last_raised last.
#[derive(Debug)]
struct Cooldown {
    last_raised: Recent<u64, Option<i64>>,
    /// In seconds of the log's time.
    rest: i64,
}

impl Cooldown {
    /// Remembers at most so many alerts.
    fn new(seconds: u64, keys: usize) -> Self {
        Self { last_raised: Recent::new(keys), rest: i64::try_from(seconds).unwrap_or(i64::MAX) }
    }

    /// Whether an alert is to be last_raised now, which counts as last_raised then. Time only goes on: what an older line calls for, after
    /// a newer one did, waits until the log has caught up. A log without any time tells each alert once.
    fn should_raise(&mut self, alert: u64, now: Option<i64>) -> bool {
        let now = now.unwrap_or(i64::MIN);
        let last_raised = self.last_raised.value(alert, || None);
        let should_raise = last_raised.is_none_or(|then| now >= then.saturating_add(self.rest));
        if should_raise {
            *last_raised = Some(now);
        }
        should_raise
    }

    /// Alerts it remembers.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.last_raised.values().count()
    }
}
