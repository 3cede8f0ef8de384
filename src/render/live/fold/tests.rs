//! Every hit is printed or counted once, in order, and memory is bounded.

use crate::analysis::fixture;
use crate::render::live::fold::*;
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
        let FoldedRepeats { hits, answered, severity, client, rules, time, target } = folded;
        Self { client: ClientKey::from(&client), rules: rules.to_vec(), hits, answered, severity, time, target: target.to_owned() }
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
        fold.observe(begin + seconds(at), hit, false, &mut |f| emitted.push(EmittedCount::new(f)))
    };
    assert_eq!(observe(0, &hit(7), &mut emitted), FoldDecision::Print);
    assert_eq!(observe(4, &hit(7), &mut emitted), FoldDecision::Folded);
    assert_eq!(observe(4, &hit(8), &mut emitted), FoldDecision::Print, "another client");
    assert_eq!(observe(4, &ReportedHit { rules: &[RuleId(1), RuleId(2)], ..hit(7) }, &mut emitted), FoldDecision::Print, "other rules");
    let last = ReportedHit { target: b"/last?token=abc", time: None, ..hit(7) };
    assert_eq!(observe(8, &last, &mut emitted), FoldDecision::Folded);
    assert_eq!(emitted, []);
    assert_eq!(observe(13, &hit(7), &mut emitted), FoldDecision::Print, "it was idle");
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
    let mut observe = |hit: &ReportedHit<'_>, answered| fold.observe(now, hit, answered, &mut |_| {});
    let given = ReportedHit { status: Some(200), outcome: Outcome::Answered, answer: None, ..hit(7) };
    assert_eq!(observe(&hit(7), false), FoldDecision::Print);
    assert_eq!(observe(&ReportedHit { answer: Some(Soft404), ..given }, false), FoldDecision::Folded, "a site that answers everything");
    assert_eq!(observe(&given, false), FoldDecision::Print, "a 200");
    assert_eq!(observe(&given, false), FoldDecision::Folded);
    assert_eq!(observe(&given, true), FoldDecision::Print, "a distinct 200");
    assert_eq!(observe(&given, true), FoldDecision::Folded);
    assert_eq!(observe(&ReportedHit { severity: Severity::High, ..hit(7) }, false), FoldDecision::Print, "worse");
    assert_eq!(observe(&ReportedHit { severity: Severity::High, ..given }, true), FoldDecision::Folded, "both were printed");
    assert_eq!(observe(&ReportedHit { severity: Severity::Medium, ..hit(7) }, false), FoldDecision::Folded);
    fold.flush_all(&mut |folded| counts.push((folded.hits, folded.answered, folded.severity)));
    assert_eq!(counts, [(5, 2, Severity::High)]);
}

#[test]
fn a_group_that_is_never_idle_is_emitted_every_minute() {
    let (mut fold, begin, mut emitted) = (RepeatFolder::new(QUIET), Instant::now(), Vec::new());
    for second in 0..=180 {
        fold.observe(begin + seconds(second), &hit(7), false, &mut |folded| emitted.push((second, folded.hits)));
    }
    // The first count starts at the first repeat, the next one with the hit at the end of the minute.
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
        fold.observe(now, &hit(client), false, &mut |folded| emitted.push((ClientKey::from(&folded.client), folded.hits)));
    }
    // The first three came once more and were idle for less time.
    assert_eq!(emitted, [3, 4, 5, 6, 7].map(|client| (ClientKey::V4(client), 1)));
    assert_eq!((fold.by_last_seen.len(), fold.by_key.len(), fold.groups.len()), (MAX_GROUPS, MAX_GROUPS, MAX_GROUPS));
    let (mut counts, mut hits) = (0, 0);
    fold.flush_all(&mut |folded| (counts, hits) = (counts + 1, hits + folded.hits));
    assert_eq!((counts, hits), (MAX_GROUPS - 5, MAX_GROUPS as u64 - 5 + 3));
    assert!(fold.by_last_seen.is_empty() && fold.by_key.is_empty() && fold.by_held_since.is_empty());
}

#[test]
fn long_texts_are_not_kept() {
    let (mut fold, now, mut longest) = (RepeatFolder::new(QUIET), Instant::now(), 0);
    let long = "é".repeat(5000);
    let named = ReportedHit { client: Client::Text(long.as_bytes()), ..hit(7) };
    for _ in 0..2 {
        assert_eq!(fold.observe(now, &named, false, &mut |_| {}), FoldDecision::Print);
        fold.observe(now, &ReportedHit { target: format!("/{long}").as_bytes(), ..hit(7) }, false, &mut |_| {});
    }
    fold.flush_all(&mut |folded| longest = longest.max(folded.target.len()));
    assert_eq!(longest, MAX_TARGET - 1, "a character is not cut in half");
}

#[test]
fn a_pause_of_zero_and_an_endless_one() {
    let now = Instant::now();
    let mut fold = RepeatFolder::new(Duration::ZERO);
    for _ in 0..3 {
        assert_eq!(fold.observe(now, &hit(7), false, &mut |_| panic!("nothing was folded")), FoldDecision::Print);
    }
    let mut fold = RepeatFolder::new(Duration::MAX);
    fold.observe(now, &hit(7), false, &mut |_| {});
    assert_eq!(fold.next_flush(), None);
    assert_eq!(fold.observe(now + seconds(86_400), &hit(7), false, &mut |_| {}), FoldDecision::Folded);
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
        let hit = (0_u32..clients, 0_usize..lists, prop::sample::select(Severity::ALL.to_vec()), prop::bool::weighted(0.2));
        let step = (prop_oneof![99 => 0_u64..4, 1 => 3_u64..90], prop::option::weighted(0.95, hit));
        prop::collection::vec(step.prop_map(|(after, hit)| FoldStep { after, hit }), 0..200)
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
            let at = |group: &ModelGroup| group.held.first().map_or(idle_at(group), |held| idle_at(group).min(held.0 + MAX_HOLD));
            let order = |group: &ModelGroup| if at(group) == idle_at(group) { (false, 0) } else { (true, group.held[0].2) };
            // Of equal deadlines the first idle group, then the count held longest.
            let Some(index) = (0..self.groups.len()).min_by_key(|&i| (at(&self.groups[i]), order(&self.groups[i]))) else {
                return emitted;
            };
            let group = &mut self.groups[index];
            let (first, is_idle) = (at(group), at(group) == idle_at(group));
            if first > now {
                return emitted;
            }
            if !group.held.is_empty() {
                emitted.push((group.key, group.held.len() as u64, group.held.iter().filter(|held| held.1).count() as u64));
                group.held.clear();
            }
            if is_idle {
                self.groups.remove(index);
            }
        }
    }

    fn observe(&mut self, now: Instant, key: (u32, usize), severity: Severity, answered: bool) -> FoldDecision {
        let Some(index) = self.groups.iter().position(|group| group.key == key) else {
            self.groups.push(ModelGroup { key, last: now, severity, answered, held: Vec::new() });
            return FoldDecision::Print;
        };
        let mut group = self.groups.remove(index);
        group.last = now;
        self.seen += 1;
        let is_notable = severity > group.severity || (answered && !group.answered);
        if is_notable {
            (group.severity, group.answered) = (group.severity.max(severity), group.answered || answered);
        } else {
            group.held.push((now, answered, self.seen));
        }
        self.groups.push(group);
        if is_notable { FoldDecision::Print } else { FoldDecision::Folded }
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
