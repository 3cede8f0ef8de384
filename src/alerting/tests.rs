//! The detector against a simple reference that keeps every request, and the limits of both.

use std::path::Path;

use proptest::prelude::*;

use crate::alerting::*;
use crate::log::client::Client;

const RULES: &str = r#"
[[rule]]
id = "t/by-client"
title = "Three within a minute"
class = "panel"
severity = "low"
paths = ["/a"]
window = { by = "client", count = 3, within = "60s" }

[[rule]]
id = "t/by-path"
title = "Four within two minutes"
class = "panel"
severity = "critical"
paths = ["/b"]
window = { by = "path", count = 4, within = "2m" }

[[rule]]
id = "t/plain"
title = "Plain"
class = "panel"
severity = "low"
paths = ["/c"]
"#;
const BY_CLIENT: RuleId = RuleId(0);
const BY_PATH: RuleId = RuleId(1);
const PLAIN: RuleId = RuleId(2);

/// The start of the test logs.
const START: i64 = 1_790_000_000;

fn rules(text: &str) -> RuleSet {
    crate::rules::check(Path::new("t.toml"), text).unwrap()
}

/// An owned request.
#[derive(Debug, Clone)]
struct TestHit {
    /// Seconds since the start.
    time: Option<i64>,
    /// The lower bits are those within a network.
    client: u32,
    path: u32,
    severity: Severity,
    answered: bool,
    matched: Vec<RuleId>,
    reported: Vec<RuleId>,
}

impl TestHit {
    /// A reported probe.
    fn probe(time: i64, client: u32, path: u32) -> Self {
        let (matched, reported) = (vec![PLAIN], vec![PLAIN]);
        Self {
            time: Some(time),
            client,
            path,
            severity: Severity::Low,
            answered: false,
            matched,
            reported,
        }
    }

    /// A request that only counts for a window.
    fn counted(time: i64, client: u32, path: u32, rule: RuleId) -> Self {
        Self {
            matched: vec![rule],
            reported: Vec::new(),
            ..Self::probe(time, client, path)
        }
    }

    fn utc(&self) -> Option<i64> {
        self.time.map(|time| START + time)
    }

    fn path(&self) -> Vec<u8> {
        format!("/{}", self.path).into_bytes()
    }

    fn observe(&self, number: usize, detector: &mut AlertDetector, raise: &mut impl FnMut(Alert)) {
        let path = self.path();
        let event = ObservedHit {
            time: self.utc().map(|utc| LogTime { utc, offset: 0 }),
            client: Client::V4(self.client),
            path: LogText::new(&path),
            severity: self.severity,
            event: HitEvent::Request,
            requests: 0,
            matched: &self.matched,
            reported: &self.reported,
            id: RequestId {
                generation: 0,
                offset: number as u64,
            },
            target: LogText::new(&path),
            source: b"",
            line: 0,
            method: LogText::default(),
            status: None,
        };
        detector.observe(&event, raise);
        if self.answered && !self.reported.is_empty() {
            detector.observe(
                &ObservedHit {
                    event: HitEvent::Find(&place(self.path)),
                    ..event
                },
                raise,
            );
        }
    }
}

/// The place of a find that is a leak of its own.
fn place(path: u32) -> LeakPlace {
    LeakPlace {
        path: path.into(),
        near: vec![u64::from(path) << 32],
        above: vec![u64::from(path) << 32],
    }
}

/// All alerts, in order.
fn alerts(hits: &[TestHit], options: AlertOptions) -> Vec<Alert> {
    let mut detector = AlertDetector::new(&rules(RULES), options);
    let mut raised = Vec::new();
    for (number, hits) in hits.iter().enumerate() {
        hits.observe(number, &mut detector, &mut |alert| raised.push(alert));
    }
    raised
}

/// The fields of an alert, without those copied from the request.
#[derive(Debug, PartialEq, Eq)]
struct AlertFacts {
    number: usize,
    kind: AlertKind,
    severity: Severity,
    times: Option<(i64, i64)>,
    client: Option<u32>,
    path: Option<LogString>,
    hits: u64,
    clients: u64,
    paths: u64,
}

impl From<Alert> for AlertFacts {
    fn from(alert: Alert) -> Self {
        let client = alert.client.map(|client| match client {
            ClientKey::V4(bits) => bits,
            other => panic!("{other:?}"),
        });
        let utc = |time: LogTime| time.utc;
        let times = alert.first_time.map(utc).zip(alert.last_time.map(utc));
        let Alert {
            kind,
            severity,
            path,
            hits,
            clients,
            paths,
            sample,
            ..
        } = alert;
        Self {
            number: sample.id.offset as usize,
            kind,
            severity,
            times,
            client,
            path,
            hits,
            clients,
            paths,
        }
    }
}

/// The reference: it keeps every request and looks through all of them each time. Of floods it
/// drops what the detector must drop.
#[derive(Default)]
struct ReferenceDetector {
    seen: Vec<TestHit>,
    /// Each time that a path was unusual and requested by many networks.
    unusual_paths: Vec<(i64, u32)>,
    raised_at: Vec<(AlertKind, u32, u32, i64)>,
    /// Path, client and day of each alert of a find.
    finds: Vec<(u32, u32, i64)>,
    raised: Vec<AlertFacts>,
}

/// A time, the distinct value, the severity.
type Simple = (i64, u32, Severity);

/// The last requests within a span that ends with the latest of them.
fn last_within(all: &[Simple], limit: WindowLimit) -> Vec<Simple> {
    let latest = all.iter().map(|one| one.0).max().unwrap();
    let mut within: Vec<Simple> = all
        .iter()
        .copied()
        .filter(|one| one.0 > latest - i64::from(limit.within))
        .collect();
    // Stable, as all sorts here: of equals the one that came later is the later one.
    within.sort_by_key(|one| one.0);
    let all = within.clone();
    let mut at = 0;
    within.retain(|one| {
        at += 1;
        all[at..].iter().all(|later| later.1 != one.1)
    });
    within.split_off(within.len().saturating_sub(limit.count))
}

/// The requests that reach a threshold with the last of them, if they do.
fn reached(all: &[Simple], limit: WindowLimit) -> Option<Vec<Simple>> {
    let latest = all.iter().map(|one| one.0).max()?;
    let counts = all.last()?.0 > latest - i64::from(limit.within);
    Some(last_within(all, limit)).filter(|within| counts && within.len() == limit.count)
}

fn minute(one: &Simple) -> i64 {
    one.0.div_euclid(60)
}

/// The requests of the eight minutes that were counted in last.
fn remembered(all: &[Simple]) -> Vec<Simple> {
    let (mut minutes, mut kept) = (Vec::new(), Vec::new());
    for one in all {
        minutes.retain(|known| *known != minute(one));
        minutes.push(minute(one));
        kept.push(*one);
        if minutes.len() > 8 {
            let oldest = minutes.remove(0);
            kept.retain(|one| minute(one) != oldest);
        }
    }
    kept
}

/// The largest number of requests in N consecutive fixed minutes that include the last request, if
/// it reaches the limit.
fn flooded(all: &[Simple], span: i64, count: usize) -> Option<Vec<Simple>> {
    let now = minute(all.last()?);
    let row = |end: i64| {
        all.iter()
            .copied()
            .filter(|one| (end - span + 1..=end).contains(&minute(one)))
            .collect::<Vec<_>>()
    };
    // Of equals the first.
    let most = (now..now + span)
        .map(row)
        .reduce(|most, one| if one.len() > most.len() { one } else { most })?;
    (most.len() >= count).then_some(most)
}

fn distinct(of: impl Iterator<Item = u32>) -> u64 {
    of.collect::<std::collections::BTreeSet<_>>().len() as u64
}

impl ReferenceDetector {
    fn observe(&mut self, hits: &TestHit, cooldown: i64) {
        self.seen.push(hits.clone());
        for (rule, count, span, severity) in [
            (BY_CLIENT, 3, 2, Severity::Low),
            (BY_PATH, 4, 3, Severity::Critical),
        ] {
            if hits.matched.contains(&rule) && hits.time.is_some() {
                let same = |other: &&TestHit| {
                    if rule == BY_CLIENT {
                        other.client == hits.client
                    } else {
                        other.path == hits.path
                    }
                };
                let other = |one: &TestHit| {
                    if rule == BY_CLIENT {
                        one.path
                    } else {
                        one.client
                    }
                };
                let all = remembered(
                    &self.entries_where(|one| one.matched.contains(&rule) && same(&one), other),
                );
                if let Some(within) = flooded(&all, span, count) {
                    let others = distinct(within.iter().map(|one| one.1));
                    let (client, path) = if rule == BY_CLIENT {
                        (hits.client, 0)
                    } else {
                        (0, hits.path)
                    };
                    let (clients, paths) = if rule == BY_CLIENT {
                        (1, others)
                    } else {
                        (others, 1)
                    };
                    let latest = all.iter().map(|one| one.0).max().unwrap();
                    self.raise_at(
                        latest,
                        AlertKind::Threshold(rule),
                        (client, path),
                        severity,
                        &within,
                        clients,
                        paths,
                        cooldown,
                    );
                }
            }
        }
        if hits.reported.is_empty() {
            return;
        }
        if hits.time.is_some() {
            self.probing(hits, cooldown);
            self.campaign(hits, cooldown);
        }
        self.find(hits);
    }

    /// One alert for a path, and one a day for other clients than the first.
    fn find(&mut self, hits: &TestHit) {
        if !hits.answered || hits.severity < Severity::High {
            return;
        }
        let day = hits.utc().map_or(0, |utc| utc.div_euclid(86_400));
        let of_path: Vec<_> = self
            .finds
            .iter()
            .filter(|find| find.0 == hits.path)
            .collect();
        let kind = match of_path.first() {
            None => AlertKind::Answered,
            Some(first)
                if first.1 == hits.client
                    || of_path[1..].last().is_some_and(|again| again.2 >= day) =>
            {
                return;
            }
            Some(_) => AlertKind::AnsweredAgain,
        };
        self.finds.push((hits.path, hits.client, day));
        let this = (hits.utc().unwrap_or(i64::MIN), hits.path, hits.severity);
        self.raise(kind, hits.severity, &[this], 1, 1);
    }

    fn probing(&mut self, hits: &TestHit, cooldown: i64) {
        let all = self.entries_where(
            |one| !one.reported.is_empty() && one.client == hits.client,
            |one| one.path,
        );
        if let Some(within) = reached(
            &all,
            WindowLimit {
                count: 20,
                within: 300,
            },
        ) {
            let worst = within.iter().map(|one| one.2).max().unwrap();
            self.raise_if_due(
                AlertKind::Probing,
                (hits.client, 0),
                worst.max(Severity::Medium),
                &within,
                1,
                20,
                cooldown,
            );
        }
    }

    /// The requests with a time of which something holds.
    fn entries_where(
        &self,
        holds: impl Fn(&TestHit) -> bool,
        other: impl Fn(&TestHit) -> u32,
    ) -> Vec<Simple> {
        self.seen
            .iter()
            .filter(|one| holds(one))
            .filter_map(|one| Some((one.utc()?, other(one), one.severity)))
            .collect()
    }

    /// The requests for a path, with the network as the distinct value.
    fn networks(&self, path: u32) -> Vec<Simple> {
        self.entries_where(
            |one| !one.reported.is_empty() && one.path == path,
            |one| one.client >> 8,
        )
    }

    fn campaign(&mut self, hits: &TestHit, cooldown: i64) {
        let five = WindowLimit {
            count: 5,
            within: 600,
        };
        let all = self.networks(hits.path);
        let mut begun = i64::MAX;
        let (mut since, mut last) = (i64::MIN, i64::MIN);
        for one in self.seen.iter().filter(|one| !one.reported.is_empty()) {
            let Some(utc) = one.utc() else { continue };
            begun = begun.min(utc);
            if one.path != hits.path {
                continue;
            }
            if last == i64::MIN {
                since = if utc < begun + 3_600 { i64::MIN } else { utc };
            } else if utc >= last + 3_600 {
                since = utc;
            } else {
                since = since.min(utc);
            }
            last = last.max(utc);
        }
        if reached(&all, five).is_none() || last >= since.saturating_add(600) {
            return;
        }
        self.unusual_paths.push((last, hits.path));
        let unusual_paths: Vec<Simple> = self
            .unusual_paths
            .iter()
            .map(|&(last, path)| (last, path, Severity::Info))
            .collect();
        if let Some(paths) = reached(&unusual_paths, five) {
            let now = paths.last().unwrap().0;
            let all: Vec<Simple> = paths
                .iter()
                .flat_map(|path| last_within(&self.networks(path.1), five))
                .collect();
            let worst = all
                .iter()
                .map(|one| one.2)
                .max()
                .unwrap()
                .max(Severity::Medium);
            if self.is_due(AlertKind::Campaign, (0, 0), now, cooldown) {
                self.raise(
                    AlertKind::Campaign,
                    worst,
                    &all,
                    distinct(all.iter().map(|one| one.1)),
                    5,
                );
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of an alert")]
    fn raise_if_due(
        &mut self,
        kind: AlertKind,
        key: (u32, u32),
        worst: Severity,
        within: &[Simple],
        clients: u64,
        paths: u64,
        cooldown: i64,
    ) {
        self.raise_at(
            within.last().unwrap().0,
            kind,
            key,
            worst,
            within,
            clients,
            paths,
            cooldown,
        );
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of an alert")]
    fn raise_at(
        &mut self,
        now: i64,
        kind: AlertKind,
        key: (u32, u32),
        worst: Severity,
        within: &[Simple],
        clients: u64,
        paths: u64,
        cooldown: i64,
    ) {
        if self.is_due(kind, key, now, cooldown) {
            self.raise(kind, worst, within, clients, paths);
        }
    }

    fn is_due(
        &mut self,
        kind: AlertKind,
        (client, path): (u32, u32),
        now: i64,
        cooldown: i64,
    ) -> bool {
        let same = |raised_at: &&(AlertKind, u32, u32, i64)| {
            (raised_at.0, raised_at.1, raised_at.2) == (kind, client, path)
        };
        let is_due = self
            .raised_at
            .iter()
            .rfind(same)
            .is_none_or(|raised_at| now >= raised_at.3.saturating_add(cooldown));
        if is_due {
            self.raised_at.push((kind, client, path, now));
        }
        is_due
    }

    fn raise(
        &mut self,
        kind: AlertKind,
        severity: Severity,
        within: &[Simple],
        clients: u64,
        paths: u64,
    ) {
        let hits = self.seen.last().unwrap();
        let times = || {
            Some((
                within.iter().map(|one| one.0).min()?,
                within.iter().map(|one| one.0).max()?,
            ))
        };
        self.raised.push(AlertFacts {
            number: self.seen.len() - 1,
            kind,
            severity,
            times: hits.time.and_then(|_| times()),
            client: (clients == 1).then_some(hits.client),
            path: (paths == 1).then(|| hits.path().into()),
            hits: within.len() as u64,
            clients,
            paths,
        });
    }
}

/// Requests of N networks for M paths; most of them in order, some late, some without a time.
/// Seconds between two of them are mostly up to `step`; once there is a rest of more than an hour.
fn log_of(
    (networks, paths, step, most): (u32, u32, i64, usize),
) -> impl Strategy<Value = Vec<TestHit>> {
    let passes = prop_oneof![60 => 0..=step, 2 => 0..=step * 20];
    let late =
        prop_oneof![40 => Just(0_i64), 10 => 0..=step * 5, 1 => 0_i64..700, 1 => 0_i64..5_000];
    let severity = prop::sample::select(&Severity::ALL[..]);
    let rules = prop_oneof![4 => Just(vec![PLAIN]), 1 => Just(vec![BY_CLIENT, PLAIN]), 1 => Just(vec![BY_CLIENT]), 2 => Just(vec![BY_PATH])];
    let when = (passes, late, prop::bool::weighted(0.95));
    let one = (
        when,
        0..networks,
        1_u32..3,
        0..paths,
        severity,
        prop::bool::weighted(0.1),
        rules,
    );
    (
        prop::collection::vec(one, 1..most),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(all, rest)| {
            let (mut now, rest) = (0, rest.index(all.len()));
            let hits = all.into_iter().enumerate().map(
                |(at, (when, network, machine, path, severity, answered, matched))| {
                    let (passes, late, has_time) = when;
                    now += if at == rest { 4_000 } else { passes };
                    let reported: Vec<_> = matched
                        .iter()
                        .copied()
                        .filter(|rule| *rule == PLAIN)
                        .collect();
                    let time = has_time.then_some(now - late);
                    TestHit {
                        time,
                        client: network << 8 | machine,
                        path,
                        severity,
                        answered,
                        matched,
                        reported,
                    }
                },
            );
            hits.collect()
        })
}

/// Networks, paths, step and length of the logs in which each of the alerts comes up.
const FLOODS: (u32, u32, i64, usize) = (3, 4, 3, 120);
const PROBES: (u32, u32, i64, usize) = (1, 30, 3, 250);
const CAMPAIGNS: (u32, u32, i64, usize) = (7, 7, 3, 300);

/// The alerts of the detector and of the reference for a log.
fn both(hits: &[TestHit], cooldown: u64) -> (Vec<AlertFacts>, Vec<AlertFacts>) {
    let mut reference = ReferenceDetector::default();
    for one in hits {
        reference.observe(one, cooldown.cast_signed());
    }
    let raised = alerts(
        hits,
        AlertOptions {
            cooldown,
            ..AlertOptions::default()
        },
    );
    (
        raised.into_iter().map(AlertFacts::from).collect(),
        reference.raised,
    )
}

proptest! {
    #[test]
    fn floods_match_the_reference(hits in log_of(FLOODS), cooldown in prop::sample::select(vec![0_u64, 7, 60, 600])) {
        let (raised, expected) = both(&hits, cooldown);
        prop_assert_eq!(raised, expected);
    }

    #[test]
    fn probing_matches_the_reference(hits in log_of(PROBES), cooldown in prop::sample::select(vec![0_u64, 60, 600])) {
        let (raised, expected) = both(&hits, cooldown);
        prop_assert_eq!(raised, expected);
    }

    #[test]
    fn campaigns_match_the_reference(hits in log_of(CAMPAIGNS), cooldown in prop::sample::select(vec![0_u64, 60, 600])) {
        let (raised, expected) = both(&hits, cooldown);
        prop_assert_eq!(raised, expected);
    }
}

#[test]
fn generated_logs_raise_every_kind_of_alert() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut count = std::collections::BTreeMap::new();
    for kind in [FLOODS, PROBES, CAMPAIGNS] {
        for _ in 0..100 {
            let hits = log_of(kind).new_tree(&mut runner).unwrap().current();
            for alert in alerts(&hits, AlertOptions::default()) {
                *count.entry(alert.kind).or_insert(0) += 1;
            }
        }
    }
    for kind in [
        AlertKind::Threshold(BY_CLIENT),
        AlertKind::Threshold(BY_PATH),
        AlertKind::Probing,
        AlertKind::Answered,
        AlertKind::Campaign,
    ] {
        assert!(
            count.get(&kind).is_some_and(|n| *n >= 10),
            "{kind:?}: {count:?}"
        );
    }
}

fn kinds(hits: &[TestHit]) -> Vec<(usize, AlertKind)> {
    alerts(hits, AlertOptions::default())
        .iter()
        .map(|alert| (alert.sample.id.offset as usize, alert.kind))
        .collect()
}

#[test]
fn a_flood_is_counted_by_minutes() {
    // The first minute of the log has forty seconds.
    let times = |times: [i64; 3]| times.map(|time| TestHit::counted(time, 1, 1, BY_CLIENT));
    assert_eq!(
        kinds(&times([0, 39, 99])),
        [(2, AlertKind::Threshold(BY_CLIENT))],
        "two minutes"
    );
    assert_eq!(kinds(&times([39, 40, 100])), [], "three minutes");
    assert_eq!(
        kinds(&times([99, 0, 39])),
        [(2, AlertKind::Threshold(BY_CLIENT))],
        "in any order"
    );
    assert_eq!(
        kinds(&times([40, 100, 39])),
        [],
        "a late request counts in its own minute"
    );
    let late = [3_600, 3_601, 0, 1, 2].map(|time| TestHit::counted(time, 1, 1, BY_CLIENT));
    assert_eq!(
        kinds(&late),
        [(4, AlertKind::Threshold(BY_CLIENT))],
        "a late flood"
    );
    let mut two = times([0, 1, 2]);
    two[1].client = 2;
    assert_eq!(kinds(&two), [], "two clients");
    let mut timeless = times([0, 1, 2]);
    timeless[1].time = None;
    assert_eq!(kinds(&timeless), [], "no times");
}

fn minutes_of(
    hits: &[TestHit],
    key: impl Fn(&TestHit) -> u32,
) -> std::collections::BTreeMap<u32, std::collections::BTreeMap<i64, u64>> {
    let mut minutes = std::collections::BTreeMap::<_, std::collections::BTreeMap<i64, u64>>::new();
    for one in hits {
        if let Some(utc) = one.utc() {
            *minutes
                .entry(key(one))
                .or_default()
                .entry(utc.div_euclid(60))
                .or_default() += 1;
        }
    }
    minutes
}

proptest! {
    /// A report counts all minutes together, `follow` one request after the other.
    #[test]
    fn a_report_and_follow_find_the_same_floods(hits in log_of(FLOODS), shuffled in any::<prop::sample::Index>()) {
        let mut hits = hits;
        let middle = shuffled.index(hits.len());
        hits.rotate_left(middle);
        let raised = alerts(&hits, AlertOptions::default());
        for (rule, by) in [(BY_CLIENT, true), (BY_PATH, false)] {
            let window = rules(RULES).rule(rule).window.unwrap();
            let key = |one: &TestHit| if by { one.client } else { one.path };
            let counted: Vec<TestHit> = hits.iter().filter(|one| one.matched.contains(&rule)).cloned().collect();
            let is_flood = |minutes: &std::collections::BTreeMap<i64, u64>| !floods(window, &minutes.clone().into_iter().collect::<Vec<_>>()).is_empty();
            let expected: Vec<u32> = minutes_of(&counted, key).into_iter().filter(|(_, minutes)| is_flood(minutes)).map(|(key, _)| key).collect();
            let mut found: Vec<u32> =
                raised.iter().filter(|alert| alert.kind == AlertKind::Threshold(rule)).map(|alert| key(&hits[alert.sample.id.offset as usize])).collect();
            found.sort_unstable();
            found.dedup();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn floods_cover_the_minutes_of_all_full_windows(
        counts in prop::collection::btree_map(0_i64..40, 1_u64..6, 0..25), count in 2_u32..12, within in 1_u32..400
    ) {
        let window = Window { by: By::Client, count, within, others: None };
        let minutes: Vec<(i64, u64)> = counts.iter().map(|(minute, count)| (*minute, *count)).collect();
        let span = i64::from(within.div_ceil(60)) + 1;
        let mut full: Vec<i64> = Vec::new();
        for end in -2..50_i64 {
            let within: Vec<_> = minutes.iter().filter(|(minute, _)| (end - span + 1..=end).contains(minute)).collect();
            if within.iter().map(|(_, count)| count).sum::<u64>() >= u64::from(count) {
                full.extend(within.iter().map(|(minute, _)| *minute));
            }
        }
        full.sort_unstable();
        full.dedup();
        let found = floods(window, &minutes);
        let of_floods = |minute: &i64| found.iter().any(|flood| (flood.first_minute..=flood.last_minute).contains(minute));
        let raised_at: Vec<i64> = counts.keys().copied().filter(of_floods).collect();
        prop_assert_eq!(raised_at, full);
        prop_assert_eq!(found.iter().map(|flood| flood.requests).sum::<u64>(), counts.iter().filter(|(minute, _)| of_floods(minute)).map(|(_, n)| n).sum::<u64>());
        prop_assert!(found.windows(2).all(|pair| pair[0].last_minute < pair[1].first_minute));
    }
}

#[test]
fn an_alert_contains_what_it_counted() {
    let mut hits =
        [(7, 2), (3, 1), (5, 2)].map(|(time, path)| TestHit::counted(time, 9, path, BY_CLIENT));
    hits[2].matched = vec![PLAIN, BY_CLIENT];
    let raised = alerts(&hits, AlertOptions::default());
    let time = |seconds| {
        Some(LogTime {
            utc: START + seconds,
            offset: 0,
        })
    };
    let sample = AlertSample {
        id: RequestId {
            generation: 0,
            offset: 2,
        },
        target: b"/2".to_vec().into(),
        ..AlertSample::default()
    };
    let expected = Alert {
        kind: AlertKind::Threshold(BY_CLIENT),
        severity: Severity::Low,
        first_time: time(3),
        last_time: time(7),
        client: Some(ClientKey::V4(9)),
        path: None,
        hits: 3,
        clients: 1,
        paths: 2,
        rules: vec![BY_CLIENT, PLAIN],
        sample,
    };
    assert_eq!(raised, [expected]);
}

#[test]
fn probing_needs_twenty_paths_in_five_minutes() {
    let probes = |step: i64, paths: u32| {
        (0..20_u32)
            .map(|n| TestHit::probe(i64::from(n) * step, 1, n % paths))
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(&probes(15, 20)), [(19, AlertKind::Probing)]);
    assert_eq!(kinds(&probes(16, 20)), [], "too slow");
    assert_eq!(kinds(&probes(1, 19)), [], "nineteen paths");
    let mut bad = probes(1, 20);
    assert_eq!(
        alerts(&bad, AlertOptions::default())[0].severity,
        Severity::Medium,
        "at least medium"
    );
    bad[3].severity = Severity::Critical;
    assert_eq!(
        alerts(&bad, AlertOptions::default())[0].severity,
        Severity::Critical
    );
    for one in &mut bad {
        one.reported.clear();
    }
    assert_eq!(kinds(&bad), [], "unreported hits are not probes");
}

#[test]
fn a_find_alerts_once_and_once_a_day_for_other_clients() {
    let answered = |time, client, path, severity| TestHit {
        answered: true,
        severity,
        ..TestHit::probe(time, client, path)
    };
    let day = 86_400;
    let hits = [
        answered(0, 1, 1, Severity::Medium),
        answered(0, 1, 1, Severity::High),
        answered(601, 1, 1, Severity::Critical),
        answered(602, 1, 2, Severity::High),
        answered(603, 2, 1, Severity::High),
        answered(604, 3, 1, Severity::High),
        TestHit {
            answered: false,
            ..answered(605, 4, 2, Severity::High)
        },
        answered(day, 1, 1, Severity::High),
        answered(day, 2, 1, Severity::High),
        TestHit {
            time: None,
            ..answered(0, 5, 3, Severity::High)
        },
        TestHit {
            time: None,
            ..answered(0, 6, 3, Severity::High)
        },
        TestHit {
            time: None,
            ..answered(0, 7, 3, Severity::High)
        },
    ];
    let (once, again) = (AlertKind::Answered, AlertKind::AnsweredAgain);
    assert_eq!(
        kinds(&hits),
        [
            (1, once),
            (3, once),
            (4, again),
            (8, again),
            (9, once),
            (10, again)
        ]
    );
    let medium = AlertOptions {
        find_severity: Severity::Medium,
        ..AlertOptions::default()
    };
    assert_eq!(alerts(&hits[..1], medium).len(), 1);
}

/// The alert of a find is withdrawn with its ID and severity, once; a later find at the path raises
/// a new one.
#[test]
fn a_withdrawal_has_the_id_of_the_alert() {
    let place = place(1);
    let mut detector = AlertDetector::new(&rules(RULES), AlertOptions::default());
    let mut observe = |offset: u64, client: u32, severity, event| {
        let event = ObservedHit {
            time: Some(LogTime {
                utc: START,
                offset: 0,
            }),
            client: Client::V4(client),
            path: LogText::new(b"/1"),
            severity,
            event,
            requests: 0,
            matched: &[PLAIN],
            reported: &[],
            id: RequestId {
                generation: 0,
                offset,
            },
            source: b"",
            line: 0,
            method: LogText::default(),
            target: LogText::default(),
            status: None,
        };
        let mut raised = Vec::new();
        detector.observe(&event, &mut |alert| {
            raised.push((alert.kind, alert.severity, alert.sample.id.offset));
        });
        raised
    };
    let (high, critical) = (Severity::High, Severity::Critical);
    assert_eq!(
        observe(7, 1, high, HitEvent::Withdrawal),
        [],
        "it raised no alert"
    );
    assert_eq!(
        observe(7, 1, critical, HitEvent::Find(&place)),
        [(AlertKind::Answered, critical, 7)]
    );
    assert_eq!(
        observe(8, 2, critical, HitEvent::Find(&place)),
        [(AlertKind::AnsweredAgain, critical, 8)]
    );
    assert_eq!(
        observe(7, 1, high, HitEvent::Withdrawal),
        [(AlertKind::Withdrawn, critical, 7)]
    );
    assert_eq!(observe(7, 1, high, HitEvent::Withdrawal), []);
    assert_eq!(
        observe(8, 2, high, HitEvent::Find(&place)),
        [],
        "its alert stands"
    );
    assert_eq!(
        observe(8, 2, high, HitEvent::Withdrawal),
        [(AlertKind::Withdrawn, critical, 8)]
    );
    assert_eq!(
        observe(8, 2, high, HitEvent::Find(&place)),
        [(AlertKind::Answered, high, 8)]
    );
}

#[test]
fn each_rule_has_its_own_cooldown() {
    let both = rules(&RULES.replace("by = \"path\"", "by = \"client\""));
    let mut detector = AlertDetector::new(&both, AlertOptions::default());
    let mut raised = Vec::new();
    for time in 0..9 {
        let hits = TestHit {
            matched: vec![BY_CLIENT, BY_PATH],
            ..TestHit::counted(time, 1, 1, BY_CLIENT)
        };
        hits.observe(0, &mut detector, &mut |alert| {
            raised.push((time, alert.kind));
        });
    }
    assert_eq!(
        raised,
        [
            (2, AlertKind::Threshold(BY_CLIENT)),
            (3, AlertKind::Threshold(BY_PATH))
        ]
    );
}

/// Five networks request these paths within five minutes, from a given time on.
fn botnet(from: i64, paths: std::ops::Range<u32>) -> Vec<TestHit> {
    paths
        .flat_map(|path| {
            (1..6)
                .map(move |network| TestHit::probe(from + i64::from(path) * 20, network << 8, path))
        })
        .collect()
}

#[test]
fn a_campaign_is_unusual_paths_from_many_networks() {
    let begin = TestHit::probe(0, 99 << 8, 99);
    let with = |rest: Vec<TestHit>| [vec![begin.clone()], rest].concat();
    let raised = alerts(&with(botnet(3_600, 0..5)), AlertOptions::default());
    assert_eq!(
        raised.iter().map(|alert| alert.kind).collect::<Vec<_>>(),
        [AlertKind::Campaign]
    );
    let Alert {
        hits,
        clients,
        paths,
        severity,
        ref client,
        ref path,
        ..
    } = raised[0];
    assert_eq!(
        (hits, clients, paths, severity),
        (25, 5, 5, Severity::Medium)
    );
    assert_eq!((client, path), (&None, &None));
    assert_eq!(kinds(&with(botnet(3_600, 0..4))), [], "four paths");
    assert_eq!(
        kinds(&with(
            botnet(3_599, 0..1)
                .into_iter()
                .chain(botnet(3_600, 1..5))
                .collect()
        )),
        [],
        "maybe noise from before the log"
    );
    let neighbours = botnet(3_600, 0..5)
        .into_iter()
        .map(|one| TestHit {
            client: one.client >> 8,
            ..one
        })
        .collect();
    assert_eq!(kinds(&with(neighbours)), [], "one network");
}

#[test]
fn noise_is_no_campaign() {
    // A common path is requested every ten minutes, and then by five networks together.
    let noise = (0..200_u32)
        .map(|n| TestHit::probe(i64::from(n) * 120, (n % 50 + 10) << 8, n % 5))
        .collect::<Vec<_>>();
    assert_eq!(kinds(&[noise.clone(), botnet(24_000, 0..5)].concat()), []);
    let after_an_hour = botnet(24_000 + 3_600, 0..5);
    assert_eq!(
        kinds(&[noise, after_an_hour].concat()).len(),
        1,
        "after an hour without requests it is a campaign"
    );
}

#[test]
fn an_hour_without_a_request_makes_a_path_unusual() {
    let before = (0..5)
        .map(|path| TestHit::probe(4_000 + i64::from(path) * 20, 50 << 8, path))
        .collect::<Vec<_>>();
    assert_eq!(
        kinds(&[before.clone(), botnet(4_000 + 3_600, 0..5)].concat()).len(),
        1
    );
    assert_eq!(kinds(&[before, botnet(4_000 + 3_599, 0..5)].concat()), []);
}

#[test]
fn requests_without_a_client_count_for_no_client() {
    let mut detector = AlertDetector::new(&rules(RULES), AlertOptions::default());
    for client in [&b""[..], b"-"] {
        for number in 0..100 {
            let path = format!("/{number}");
            let event = ObservedHit {
                time: Some(LogTime {
                    utc: START,
                    offset: 0,
                }),
                client: Client::Text(client),
                path: LogText::new(path.as_bytes()),
                severity: Severity::High,
                event: HitEvent::Request,
                requests: 0,
                matched: &[BY_CLIENT, PLAIN],
                reported: &[PLAIN],
                id: RequestId::default(),
                source: b"",
                line: 0,
                method: LogText::default(),
                target: LogText::default(),
                status: None,
            };
            detector.observe(&event, &mut |alert| panic!("{alert:?}"));
        }
    }
}

#[test]
fn new_rules_keep_existing_counts() {
    let mut detector = AlertDetector::new(&rules(RULES), AlertOptions::default());
    let mut raised = Vec::new();
    let mut observe = |detector: &mut AlertDetector, time, rule| {
        TestHit::counted(time, 1, 1, rule)
            .observe(0, detector, &mut |alert| raised.push(alert.kind));
    };
    observe(&mut detector, 0, BY_CLIENT);
    observe(&mut detector, 1, BY_CLIENT);
    observe(&mut detector, 1, BY_PATH);
    // One rule comes before the others, and one has another window.
    let first = "[[rule]]\nid = 's/first'\ntitle = 'F'\nclass = 'panel'\nseverity = 'low'\npaths = ['/f']\n";
    detector.set_rules(&rules(
        &(first.to_owned() + &RULES.replace("count = 4", "count = 2")),
    ));
    observe(&mut detector, 2, RuleId(2));
    observe(&mut detector, 2, RuleId(1));
    observe(&mut detector, 3, RuleId(2));
    assert_eq!(
        raised,
        [
            AlertKind::Threshold(RuleId(1)),
            AlertKind::Threshold(RuleId(2))
        ]
    );
    let none = rules(first);
    detector.set_rules(&none);
    TestHit::counted(3, 1, 1, RuleId(0))
        .observe(0, &mut detector, &mut |alert| panic!("{alert:?}"));
}

/// Bytes that everything remembered takes, and the most keys of a table.
fn memory_use(detector: &AlertDetector) -> (usize, usize) {
    // A table keeps up to a seventh free, doubles, and has one extra byte per slot.
    let table = |keys: usize, value: usize| {
        (keys * 8 / 7).next_power_of_two() * (size_of::<u64>() + value + 1)
    };
    let spans = |spans: &LruMap<u64, SlidingWindow>| {
        (
            spans
                .values()
                .map(SlidingWindow::allocated_bytes)
                .sum::<usize>(),
            spans.values().count(),
        )
    };
    let (paths, path_keys) = detector.campaigns.allocated_bytes();
    let (mut bytes, mut most) = (paths + table(path_keys, 64), path_keys);
    let counts = |keys: &LruMap<u64, RecentMinutes>| {
        (
            keys.values()
                .map(RecentMinutes::allocated_bytes)
                .sum::<usize>(),
            keys.values().count(),
        )
    };
    for (allocated_bytes, keys) in detector
        .thresholds
        .iter()
        .map(|threshold| counts(&threshold.keys))
        .chain([spans(&detector.probers)])
    {
        bytes += allocated_bytes
            + table(
                keys,
                size_of::<SlidingWindow>().max(size_of::<RecentMinutes>()),
            );
        most = most.max(keys);
    }
    let (raised, finds) = (detector.cooldown.len(), detector.finds.len());
    let (find, places, allocated_bytes) = detector.finds.memory_use();
    bytes += table(finds, find) + table(places, size_of::<u64>()) + allocated_bytes;
    (
        bytes + table(raised, size_of::<Option<i64>>()),
        most.max(raised).max(finds),
    )
}

#[test]
fn memory_is_bounded_with_many_clients() {
    let options = AlertOptions::default();
    let mut detector = AlertDetector::new(&rules(RULES), options);
    let mut raised = 0_usize;
    let matched = vec![BY_CLIENT, BY_PATH, PLAIN];
    for number in 0..200_000_u32 {
        // First clients that request thirty paths each, and paths requested by thirty clients; then
        // very many that request one.
        let (client, path) = if number < 150_000 {
            (number / 30, number % 30 + number / 900 * 30)
        } else {
            (number, number)
        };
        let hits = TestHit {
            matched: matched.clone(),
            answered: true,
            severity: Severity::High,
            ..TestHit::probe(0, client << 8, path)
        };
        hits.observe(0, &mut detector, &mut |_| raised += 1);
        if number % 10_000 == 9_999 {
            let (bytes, keys) = memory_use(&detector);
            assert!(keys <= options.keys, "{keys} keys");
            assert!(bytes <= 8_000_000, "{bytes} bytes");
        }
    }
    assert!(raised > 70_000, "{raised}");
}

#[test]
fn memory_is_bounded_with_a_high_count() {
    let high = rules(&RULES.replace("count = 3", "count = 1000"));
    let mut detector = AlertDetector::new(&high, AlertOptions::default());
    let mut raised = 0;
    for number in 0..300_000 {
        TestHit::counted(0, number / 1_000, number, BY_CLIENT).observe(
            0,
            &mut detector,
            &mut |_| raised += 1,
        );
    }
    let (bytes, _) = memory_use(&detector);
    assert!(bytes <= 8_000_000, "{bytes} bytes");
    assert_eq!(raised, 300);
}

#[test]
fn a_flood_is_detected_among_many_other_clients() {
    let others =
        (0..4_000_u32).map(|n| TestHit::counted(i64::from(n) / 1_000, 1_000 + n, 7, BY_CLIENT));
    let mut hits: Vec<_> = others.collect();
    for at in [100, 1_500, 2_900] {
        hits.insert(
            at,
            TestHit::counted(hits[at].time.unwrap(), 1, 7, BY_CLIENT),
        );
    }
    assert_eq!(kinds(&hits), [(2_900, AlertKind::Threshold(BY_CLIENT))]);
}

#[test]
fn a_key_remembers_eight_minutes_and_32_distinct_values() {
    let window = Window {
        by: By::Client,
        count: 3,
        within: 60,
        others: None,
    };
    let entry = |minute: i64, other| WindowEntry {
        utc: START + minute * 600,
        distinct_key: other,
        offset: 0,
        severity: Severity::Low,
    };
    // Logs with this number of times, read in parallel.
    let third = |times: i64| {
        let mut minutes = RecentMinutes::default();
        for request in 0..2 {
            (0..times).for_each(|minute| {
                assert_eq!(minutes.record(entry(minute, request), window), None);
            });
        }
        minutes
            .record(entry(0, 2), window)
            .map(|counted| counted.requests)
    };
    assert_eq!((third(8), third(9)), (Some(3), None));
    assert_eq!(
        RecentMinutes::max_minutes(Window {
            within: 1_200,
            ..window
        }),
        42,
        "two windows of a long one"
    );
    let others = |count| {
        let mut minutes = RecentMinutes::default();
        let window = Window { count, ..window };
        (0..50)
            .filter_map(|other| minutes.record(entry(0, other), window))
            .last()
            .map(|counted| (counted.requests, counted.distinct))
    };
    assert_eq!((others(3), others(40)), (Some((50, 32)), Some((50, 40))));
}

#[test]
fn the_same_alert_is_raised_again_after_the_cooldown() {
    let mut cooldown = Cooldown::new(600, 8);
    let last_raised: Vec<_> = [0, 1, 599, 600, 10, 601, 1_199, 1_200]
        .map(|now| cooldown.should_raise(7, Some(now)))
        .into();
    assert_eq!(
        last_raised,
        [true, false, false, true, false, false, false, true]
    );
    assert!(cooldown.should_raise(8, Some(601)), "a different key");
}

#[test]
fn without_a_time_each_alert_is_raised_once() {
    let mut cooldown = Cooldown::new(600, 8);
    assert_eq!(
        [None, None, Some(0), Some(1), None].map(|now| cooldown.should_raise(7, now)),
        [true, false, true, false, false]
    );
    let mut none = Cooldown::new(0, 8);
    assert_eq!(
        [None, None, Some(0), Some(0)].map(|now| none.should_raise(7, now)),
        [true; 4],
        "no cooldown"
    );
}
