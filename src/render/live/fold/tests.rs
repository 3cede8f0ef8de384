//! The laws of folding: every hit is told once, in order, and nothing grows.

use crate::analysis::fixture;
use crate::render::live::fold::*;
use proptest::prelude::*;

const QUIET: Duration = Duration::from_secs(5);

/// A count as it was told.
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

/// A hit of somebody, as quiet as can be.
fn hit(client: u32) -> Hit<'static> {
    Hit {
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
fn repeats_are_counted_until_the_pair_rests() {
    let (mut fold, begin, mut told) = (RepeatFolder::new(QUIET), Instant::now(), Vec::new());
    let mut see = |at, hit: &Hit<'_>, told: &mut Vec<EmittedCount>| {
        fold.observe(begin + seconds(at), hit, false, &mut |f| told.push(EmittedCount::new(f)))
    };
    assert_eq!(see(0, &hit(7), &mut told), FoldDecision::Print);
    assert_eq!(see(4, &hit(7), &mut told), FoldDecision::Folded);
    assert_eq!(see(4, &hit(8), &mut told), FoldDecision::Print, "another client");
    assert_eq!(see(4, &Hit { rules: &[RuleId(1), RuleId(2)], ..hit(7) }, &mut told), FoldDecision::Print, "other rules");
    let last = Hit { target: b"/last?token=abc", time: None, ..hit(7) };
    assert_eq!(see(8, &last, &mut told), FoldDecision::Folded);
    assert_eq!(told, []);
    assert_eq!(see(13, &hit(7), &mut told), FoldDecision::Print, "it rested");
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
    assert_eq!(told, [expected]);
}

#[test]
fn what_is_worse_or_answered_better_is_told_at_once() {
    let (mut fold, now, mut counts) = (RepeatFolder::new(QUIET), Instant::now(), Vec::new());
    let mut see = |hit: &Hit<'_>, answered| fold.observe(now, hit, answered, &mut |_| {});
    let given = Hit { status: Some(200), outcome: Outcome::Answered, answer: None, ..hit(7) };
    assert_eq!(see(&hit(7), false), FoldDecision::Print);
    assert_eq!(see(&Hit { answer: Some(Soft404), ..given }, false), FoldDecision::Folded, "a site that answers everything");
    assert_eq!(see(&given, false), FoldDecision::Print, "a 200");
    assert_eq!(see(&given, false), FoldDecision::Folded);
    assert_eq!(see(&given, true), FoldDecision::Print, "a 200 that means something");
    assert_eq!(see(&given, true), FoldDecision::Folded);
    assert_eq!(see(&Hit { severity: Severity::High, ..hit(7) }, false), FoldDecision::Print, "worse");
    assert_eq!(see(&Hit { severity: Severity::High, ..given }, true), FoldDecision::Folded, "both was told");
    assert_eq!(see(&Hit { severity: Severity::Medium, ..hit(7) }, false), FoldDecision::Folded);
    fold.flush_all(&mut |folded| counts.push((folded.hits, folded.answered, folded.severity)));
    assert_eq!(counts, [(5, 2, Severity::High)]);
}

#[test]
fn a_pair_that_never_rests_is_told_every_minute() {
    let (mut fold, begin, mut told) = (RepeatFolder::new(QUIET), Instant::now(), Vec::new());
    for second in 0..=180 {
        fold.observe(begin + seconds(second), &hit(7), false, &mut |folded| told.push((second, folded.hits)));
    }
    // The first count begins at the first repeat, the next one with the hit that comes as the minute is over.
    assert_eq!(told, [(61, 60), (121, 60)]);
    assert_eq!(fold.next_flush(), Some(begin + seconds(181)));
    fold.flush_all(&mut |folded| told.push((180, folded.hits)));
    assert_eq!(told[2..], [(180, 60)]);
    assert_eq!(fold.next_flush(), None);
}

#[test]
fn no_more_is_kept_than_there_is_room_for() {
    let (mut fold, now, mut told) = (RepeatFolder::new(QUIET), Instant::now(), Vec::new());
    let most = u32::try_from(MAX_GROUPS).unwrap();
    for client in (0..most).chain(0..most).chain(0..3) {
        fold.observe(now, &hit(client), false, &mut |_| panic!("nothing is due"));
    }
    for client in most..most + 5 {
        fold.observe(now, &hit(client), false, &mut |folded| told.push((ClientKey::from(&folded.client), folded.hits)));
    }
    // The first three came once more and rest less long.
    assert_eq!(told, [3, 4, 5, 6, 7].map(|client| (ClientKey::V4(client), 1)));
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
    let named = Hit { client: Client::Text(long.as_bytes()), ..hit(7) };
    for _ in 0..2 {
        assert_eq!(fold.observe(now, &named, false, &mut |_| {}), FoldDecision::Print);
        fold.observe(now, &Hit { target: format!("/{long}").as_bytes(), ..hit(7) }, false, &mut |_| {});
    }
    fold.flush_all(&mut |folded| longest = longest.max(folded.target.len()));
    assert_eq!(longest, MAX_TARGET - 1, "a character is not cut in half");
}

#[test]
fn no_pause_and_an_endless_one() {
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

/// What happens: some time goes by, and then a hit, or a look at what is due.
#[derive(Debug, Clone)]
struct FoldStep {
    after: u64,
    hit: Option<(u32, usize, Severity, bool)>,
}

/// Few pairs or many: one alone never rests for minutes, of many some rest all the time.
fn steps() -> impl Strategy<Value = Vec<FoldStep>> {
    let step = |(clients, lists)| {
        let hit = (0_u32..clients, 0_usize..lists, prop::sample::select(Severity::ALL.to_vec()), prop::bool::weighted(0.2));
        let step = (prop_oneof![99 => 0_u64..4, 1 => 3_u64..90], prop::option::weighted(0.95, hit));
        prop::collection::vec(step.prop_map(|(after, hit)| FoldStep { after, hit }), 0..200)
    };
    (1_u32..5, 1_usize..3).prop_flat_map(step)
}

/// Obvious and slow: the hits of each pair that are not told, with the times that matter.
#[derive(Debug, Default)]
struct FolderModel {
    /// The one that rests longest first.
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
    kept: Vec<(Instant, bool, u64)>,
}

impl FolderModel {
    /// What is told by now, in the order in which it became due.
    fn due(&mut self, now: Instant) -> Vec<((u32, usize), u64, u64)> {
        let mut told = Vec::new();
        loop {
            let rest = |pair: &ModelGroup| pair.last + QUIET;
            let at = |pair: &ModelGroup| pair.kept.first().map_or(rest(pair), |kept| rest(pair).min(kept.0 + MAX_HOLD));
            let order = |pair: &ModelGroup| if at(pair) == rest(pair) { (false, 0) } else { (true, pair.kept[0].2) };
            // Of equals the first that rests, then the one that was kept back longest.
            let Some(place) = (0..self.groups.len()).min_by_key(|&i| (at(&self.groups[i]), order(&self.groups[i]))) else {
                return told;
            };
            let pair = &mut self.groups[place];
            let (first, is_rest) = (at(pair), at(pair) == rest(pair));
            if first > now {
                return told;
            }
            if !pair.kept.is_empty() {
                told.push((pair.key, pair.kept.len() as u64, pair.kept.iter().filter(|kept| kept.1).count() as u64));
                pair.kept.clear();
            }
            if is_rest {
                self.groups.remove(place);
            }
        }
    }

    fn see(&mut self, now: Instant, key: (u32, usize), severity: Severity, answered: bool) -> FoldDecision {
        let Some(place) = self.groups.iter().position(|pair| pair.key == key) else {
            self.groups.push(ModelGroup { key, last: now, severity, answered, kept: Vec::new() });
            return FoldDecision::Print;
        };
        let mut pair = self.groups.remove(place);
        pair.last = now;
        self.seen += 1;
        let is_news = severity > pair.severity || (answered && !pair.answered);
        if is_news {
            (pair.severity, pair.answered) = (pair.severity.max(severity), pair.answered || answered);
        } else {
            pair.kept.push((now, answered, self.seen));
        }
        self.groups.push(pair);
        if is_news { FoldDecision::Print } else { FoldDecision::Folded }
    }
}

proptest! {
    #[test]
    fn agrees_with_an_obvious_reference(steps in steps()) {
        const RULES: [&[RuleId]; 2] = [&[RuleId(1)], &[RuleId(1), RuleId(2)]];
        let (mut fold, mut model) = (RepeatFolder::new(QUIET), FolderModel::default());
        let (mut now, mut hits, mut printed, mut counted) = (Instant::now(), 0, 0, 0);
        for step in steps {
            now += seconds(step.after);
            let mut told = Vec::new();
            let mut each = |f: FoldedRepeats<'_>| told.push((ClientKey::from(&f.client), f.rules.len() - 1, f.hits, f.answered));
            let verdict = step.hit.map(|(client, rules, severity, answered)| {
                fold.observe(now, &Hit { rules: RULES[rules], severity, ..hit(client) }, answered, &mut each)
            });
            if verdict.is_none() {
                fold.flush_idle(now, &mut each);
            }
            hits += u64::from(verdict.is_some());
            let expected: Vec<_> = model.due(now).into_iter().map(|((c, r), n, a)| (ClientKey::V4(c), r, n, a)).collect();
            prop_assert_eq!(&told, &expected);
            prop_assert_eq!(verdict, step.hit.map(|(client, rules, severity, answered)| model.see(now, (client, rules), severity, answered)));
            prop_assert!(fold.next_flush().is_none_or(|at| at > now));
            printed += u64::from(verdict == Some(FoldDecision::Print));
            counted += told.iter().map(|count| count.2).sum::<u64>();
        }
        fold.flush_all(&mut |folded| counted += folded.hits);
        prop_assert_eq!(printed + counted, hits);
        fold.flush_all(&mut |_| panic!("told twice"));
        prop_assert_eq!(fold.next_flush(), None);
    }
}
