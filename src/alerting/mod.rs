//! Many requests of one kind, seen together: what [`follow`](crate::cli) raises an alert for.
//!
//! | alert | raised by |
//! | --- | --- |
//! | threshold | so many requests of a rule with a `window`, by one client or for one path, within its minutes |
//! | probing | one client that asked for many different probe paths within minutes |
//! | answered | a probe that was answered where the answer means something, and bad enough |
//! | campaign | unusual paths that many networks ask for within minutes; see `campaign.rs` |
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

mod campaign;
mod cooldown;
pub mod event;
mod minutes;
mod span;
#[cfg(test)]
mod tests;

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::alerting::event::{ANSWERED_FROM, Alert, Kind, Sample};
use crate::client::{Client, ClientKey, Network};
use crate::finding::{RuleId, Severity};
use crate::recent::Recent;
use crate::rules::{By, RuleSet, Window};
use crate::time::LogTime;
use campaign::Campaigns;
use cooldown::Cooldown;
use minutes::{Counted, Minutes};
pub use minutes::{Flood, floods};
use span::{Limit, Mark, Span, Sum};

/// Different probe paths of one client, and the span in seconds. A person who mistypes, or a search engine that remembers
/// old pages, comes to a handful; the shortest lists of probing tools hold more than twenty.
const PROBING: Limit = Limit { count: 20, within: 300 };

/// Alerts about many requests are no less than this, even where each of them is noise.
const MANY: Severity = Severity::Medium;

/// Requests or minutes that the thresholds of rules remember, for each key of [`Options::keys`]; all rules share them.
const MARKS: usize = 16;

/// How much is remembered, and how often the same is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The same alert is raised again only after so many seconds of the log's time.
    pub cooldown: u64,
    /// Clients, paths and alerts that are remembered, of each; at least two.
    pub keys: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { cooldown: 600, keys: 4_096 }
    }
}

/// One request that matched some rule, and is not allowed.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
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
    pub request: Request<'a>,
}

/// What an alert shows of a request: a [`Sample`] that is not copied yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request<'a> {
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

impl From<&Request<'_>> for Sample {
    fn from(request: &Request<'_>) -> Self {
        let Request { generation, offset, source, line, method, target, status } = *request;
        Self { generation, offset, source: source.into(), line, method: method.into(), target: target.into(), status }
    }
}

/// Watches requests and raises alerts.
#[derive(Debug)]
pub struct Alarms {
    options: Options,
    state: RandomState,
    /// By rule.
    thresholds: Vec<Threshold>,
    probers: Recent<u64, Span>,
    campaigns: Campaigns,
    cooldown: Cooldown,
    /// The latest time of all.
    latest: Option<i64>,
}

/// A rule with a window.
#[derive(Debug)]
struct Threshold {
    rule: RuleId,
    /// The hash of the rule's id, which outlives its number.
    id: u64,
    window: Window,
    severity: Severity,
    keys: Recent<u64, Minutes>,
}

/// What an alert is about.
struct Found {
    kind: Kind,
    severity: Severity,
    times: Option<(LogTime, LogTime)>,
    hits: u64,
    clients: u64,
    paths: u64,
}

impl Found {
    fn alert(self, event: &Event<'_>) -> Alert {
        let Self { kind, severity, times, hits, clients, paths } = self;
        let (first_time, last_time) = times.unzip();
        let mut rules = event.matched.to_vec();
        rules.sort_unstable();
        let client = (clients == 1).then(|| ClientKey::from(&event.client));
        let path = (paths == 1).then(|| event.path.to_vec());
        let sample = Sample::from(&event.request);
        Alert { kind, severity, first_time, last_time, client, path, hits, clients, paths, rules, sample }
    }
}

impl Alarms {
    /// Watches for the windows of these rules, and what is built in.
    #[must_use]
    pub fn new(rules: &RuleSet, options: Options) -> Self {
        let options = Options { keys: options.keys.max(2), ..options };
        let mut alarms = Self {
            options,
            state: RandomState::default(),
            thresholds: Vec::new(),
            probers: Recent::new(options.keys),
            campaigns: Campaigns::new(options.keys),
            cooldown: Cooldown::new(options.cooldown, options.keys),
            latest: None,
        };
        alarms.take_rules(rules);
        alarms
    }

    /// Goes on with other rules, as after a reload: what was counted for a rule stays where the rule has the same window.
    pub fn take_rules(&mut self, rules: &RuleSet) {
        let mut known = std::mem::take(&mut self.thresholds);
        let numbered = rules.rules().iter().zip(0..).map(|(rule, number)| (rule, RuleId(number)));
        let windows: Vec<_> = numbered.filter_map(|(rule, number)| Some((rule, number, rule.window?))).collect();
        let all = windows.len();
        for (rule, number, window) in windows {
            let id = self.state.hash_one(&rule.id);
            let most = (self.options.keys * MARKS / all / Minutes::most(window).max(window.count as usize)).clamp(2, self.options.keys);
            let same = known.iter().position(|old| (old.id, old.window) == (id, window));
            let keys = same.map_or_else(|| Recent::new(most), |at| known.swap_remove(at).keys.of_at_most(most));
            self.thresholds.push(Threshold { rule: number, id, window, severity: rule.severity, keys });
        }
    }

    /// Takes in a request, and raises the alerts it leads to.
    pub fn see(&mut self, event: &Event<'_>, raise: &mut impl FnMut(Alert)) {
        self.latest = self.latest.max(event.time.map(|time| time.utc));
        let mut tell = |found: Option<Found>| found.into_iter().for_each(|found| raise(found.alert(event)));
        if event.is_update {
            return tell(self.answered(event));
        }
        for &rule in event.matched {
            tell(self.flood(rule, event));
        }
        if !event.reported.is_empty() {
            tell(self.answered(event));
            tell(self.probing(event));
            tell(self.campaign(event));
        }
    }

    /// One request more for the window of a rule.
    fn flood(&mut self, rule: RuleId, event: &Event<'_>) -> Option<Found> {
        let at = self.thresholds.binary_search_by_key(&rule, |threshold| threshold.rule).ok()?;
        let window = self.thresholds[at].window;
        let (client, path) = (self.hash_of_client(event.client), self.state.hash_one(event.path));
        let (key, other) = match window.by {
            By::Client => (client?, path),
            By::Path => (path, client.unwrap_or_default()),
        };
        let Threshold { severity, ref mut keys, id, .. } = self.thresholds[at];
        let mark = mark(event, other)?;
        let minutes = keys.value(key, Minutes::default);
        let Counted { requests, times, others } = minutes.take(mark, window)?;
        if !self.cooldown.is_over(self.state.hash_one((id, key)), minutes.latest()) {
            return None;
        }
        let (clients, paths) = match window.by {
            By::Client => (1, others),
            By::Path => (others, 1),
        };
        Some(Found { kind: Kind::Threshold(rule), severity, times: Some(times), hits: requests, clients, paths })
    }

    fn answered(&mut self, event: &Event<'_>) -> Option<Found> {
        if !event.answered || event.severity < ANSWERED_FROM {
            return None;
        }
        let key = self.state.hash_one((Kind::Answered, self.hash_of_client(event.client), event.path));
        if !self.cooldown.is_over(key, event.time.map(|time| time.utc).or(self.latest)) {
            return None;
        }
        let times = event.time.map(|time| (time, time));
        Some(Found { kind: Kind::Answered, severity: event.severity, times, hits: 1, clients: 1, paths: 1 })
    }

    fn probing(&mut self, event: &Event<'_>) -> Option<Found> {
        let client = self.hash_of_client(event.client)?;
        let mark = mark(event, self.state.hash_one(event.path))?;
        let span = self.probers.value(client, Span::default);
        if !span.take(mark, PROBING) || !self.cooldown.is_over(self.state.hash_one((Kind::Probing, client)), span.latest()) {
            return None;
        }
        let sum = Sum::of([&*span]);
        let severity = sum.severity.max(MANY);
        Some(Found { kind: Kind::Probing, severity, times: sum.times, hits: sum.hits, clients: 1, paths: sum.others })
    }

    fn campaign(&mut self, event: &Event<'_>) -> Option<Found> {
        self.hash_of_client(event.client)?;
        let mark = mark(event, self.state.hash_one(Network::from_client(event.client)))?;
        let latest = self.campaigns.see(self.state.hash_one(event.path), mark)?;
        if !self.cooldown.is_over(self.state.hash_one(Kind::Campaign), Some(latest)) {
            return None;
        }
        let sum = self.campaigns.sum();
        let (severity, paths) = (sum.severity.max(MANY), campaign::PATHS as u64);
        Some(Found { kind: Kind::Campaign, severity, times: sum.times, hits: sum.hits, clients: sum.others, paths })
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
fn mark(event: &Event<'_>, other: u64) -> Option<Mark> {
    let LogTime { utc, offset } = event.time?;
    Some(Mark { utc, other, offset, severity: event.severity })
}
