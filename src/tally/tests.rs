//! After any eviction and any merge, sums are exact and all bounds hold.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::budget::MAX_CELLS_PER_KEY;
use super::{Budget, LinePosition, SampleContentView, Tally};
use crate::collections::intern::SymbolTables;
use crate::log::finding::{Findings, Hit, RuleId, UnmatchedAnswer};
use crate::log::time::LogTime;

/// A request: client, path, status, and whether it matches a rule.
type Request = (u8, u8, u16, bool);

const SMALL: Budget = Budget {
    cells: 40,
    clients: 24,
    text: usize::MAX,
};
/// Enough for a few pairs, clients and paths with as many cells as a prune keeps of one.
const OF_MANY_INPUTS: Budget = Budget {
    cells: 400,
    clients: 40,
    text: usize::MAX,
};

fn client(number: u8) -> String {
    format!("192.0.2.{number}")
}

/// The exact tally of some requests.
fn part(requests: &[Request], chunk: u64) -> Tally {
    part_of(0, requests, chunk)
}

/// The tally of the requests of an input.
fn part_of(input: u32, requests: &[Request], chunk: u64) -> Tally {
    let (mut names, mut findings, mut tally) = (
        SymbolTables::default(),
        Findings::default(),
        Tally::default(),
    );
    let rules = names.rules.intern(&[RuleId(0)][..], Box::from);
    for (line, &(who, what, status, is_hit)) in (0..).zip(requests) {
        let client = names.clients.intern(client(who).as_bytes());
        findings.requests.push((client, UnmatchedAnswer::default()));
        if is_hit {
            let mut hit = Hit::at(line, u64::from(line) * 100);
            (hit.client, hit.rules, hit.status, hit.exposes) = (client, rules, Some(status), true);
            hit.path = names.paths.intern(format!("/{what}").as_bytes(), Box::from);
            findings.push(hit, b"a line");
        }
    }
    tally.add_findings(
        &findings,
        LinePosition {
            input,
            chunk,
            offset: 0,
            line: 0,
        },
    );
    tally.with_names(names)
}

/// Merges parts in the order of `picks`; each keeps to the budget, at once or at the end.
fn merged(
    parts: impl IntoIterator<Item = Tally>,
    picks: &[prop::sample::Index],
    budget: Budget,
) -> Tally {
    let bounded = |part| {
        let mut tally = Tally::with_budget(budget);
        tally.merge(part);
        tally
    };
    let mut tallies: Vec<Tally> = parts.into_iter().map(bounded).collect();
    let mut picks = picks.iter().cycle();
    while tallies.len() > 1 {
        let taken = tallies.swap_remove(picks.next().map_or(0, |pick| pick.index(tallies.len())));
        let into = picks.next().map_or(0, |pick| pick.index(2 * tallies.len()));
        let is_deferred = into % 2 == 1;
        let into = &mut tallies[into / 2];
        if is_deferred {
            into.merge_deferred(taken);
        } else {
            into.merge(taken);
        }
    }
    let mut merged = tallies.pop().unwrap_or_default();
    merged.enforce_budget();
    merged
}

type Sums<K> = BTreeMap<K, u64>;

/// Hits by pair, client and path, and requests by client.
#[derive(Default, Debug, PartialEq, Eq)]
struct Counted {
    pairs: Sums<(String, String)>,
    clients: Sums<String>,
    paths: Sums<String>,
    requests: Sums<String>,
    statuses: Sums<Option<u16>>,
}

fn truth(requests: &[Request]) -> Counted {
    let mut truth = Counted::default();
    for &(who, what, status, is_hit) in requests {
        let (client, path) = (client(who), format!("/{what}"));
        *truth.requests.entry(client.clone()).or_default() += 1;
        if is_hit {
            *truth
                .pairs
                .entry((client.clone(), path.clone()))
                .or_default() += 1;
            *truth.clients.entry(client).or_default() += 1;
            *truth.paths.entry(path).or_default() += 1;
            *truth.statuses.entry(Some(status)).or_default() += 1;
        }
    }
    truth
}

fn counted(tally: &Tally) -> Counted {
    let mut counted = Counted::default();
    let client = |number| tally.client(number).to_string();
    let path = |number| String::from_utf8_lossy(tally.path(number)).into_owned();
    for view in tally.cells() {
        let hits = view.cell.hits;
        *counted.statuses.entry(view.status).or_default() += hits;
        if !view.is_other() {
            *counted
                .pairs
                .entry((client(view.client), path(view.path)))
                .or_default() += hits;
        }
        if view.client != SymbolTables::OTHER {
            *counted.clients.entry(client(view.client)).or_default() += hits;
        }
    }
    for view in tally
        .cells()
        .filter(|view| view.path != SymbolTables::OTHER)
        .chain(tally.path_cells())
    {
        *counted.paths.entry(path(view.path)).or_default() += view.cell.hits;
    }
    for view in tally.overflow_cells() {
        let row = match (view.client, view.path) {
            (SymbolTables::OTHER, number) => counted.paths.entry(path(number)).or_default(),
            (number, SymbolTables::OTHER) => counted.clients.entry(client(number)).or_default(),
            (of_client, of_path) => counted
                .pairs
                .entry((client(of_client), path(of_path)))
                .or_default(),
        };
        *row += view.cell.hits;
    }
    for (number, count) in (0..).zip(tally.client_counts()) {
        *counted.requests.entry(client(number)).or_default() += count.requests;
    }
    counted
}

/// No count exceeds the true one, and none is lower by more than its error, or than the floor if
/// the key is absent.
fn check<K: Ord + std::fmt::Debug>(
    truth: &Sums<K>,
    counted: &Sums<K>,
    floor: u64,
    error: impl Fn(&K) -> Option<u64>,
) {
    for key in counted.keys() {
        assert!(
            truth.contains_key(key) || counted[key] == 0,
            "never requested: {key:?}"
        );
    }
    for (key, &hits) in truth {
        let lower = counted.get(key).copied().unwrap_or(0);
        let most = lower + error(key).unwrap_or(floor);
        assert!(
            lower <= hits && hits <= most,
            "{key:?}: {hits} is not within {lower}..={most}"
        );
        assert!(
            hits <= floor || error(key).is_some(),
            "{key:?} has {hits} and is not there; the floor is {floor}"
        );
    }
}

/// No pair, client or path has more than `kinds` cells.
fn check_all(requests: &[Request], tally: &Tally, budget: Budget, kinds: usize) {
    let (truth, counted, floor) = (truth(requests), counted(tally), tally.error_floor());
    assert_eq!(
        truth.statuses, counted.statuses,
        "sums of all hits are exact"
    );
    let mut errors = BTreeMap::new();
    for view in tally
        .cells()
        .chain(tally.overflow_cells())
        .filter(|view| !view.is_other())
    {
        let key = (
            tally.client(view.client).to_string(),
            String::from_utf8_lossy(tally.path(view.path)).into_owned(),
        );
        assert!(
            errors
                .insert(key, view.error())
                .is_none_or(|error| error == view.error()),
            "a pair has one error"
        );
    }
    check(&truth.pairs, &counted.pairs, floor.pairs, |key| {
        errors.get(key).copied()
    });
    let count = |client: &String| {
        let number = tally.client_number(crate::log::client::Client::parse(client.as_bytes()))?;
        tally.client_counts().get(number as usize)
    };
    check(&truth.clients, &counted.clients, floor.clients, |client| {
        Some(count(client)?.error)
    });
    check(
        &truth.requests,
        &counted.requests,
        floor.requests,
        |client| Some(count(client)?.missed),
    );
    check(&truth.paths, &counted.paths, floor.paths, |path| {
        Some(tally.path_error(tally.names.paths.find(path.as_bytes())?))
    });
    let hits: u64 = truth.pairs.values().sum();
    let room = |cells: usize| (cells / kinds) as u64;
    assert!(
        floor.pairs * room(budget.pairs()) <= hits,
        "{} hits, floor {}",
        hits,
        floor.pairs
    );
    assert!(
        floor.clients * room(budget.folded().min(budget.heavy_clients())) <= hits,
        "{} hits, floor {}",
        hits,
        floor.clients
    );
    assert!(floor.requests * budget.heavy_clients() as u64 <= requests.len() as u64);
    assert!(
        floor.paths * room(budget.folded()) <= hits,
        "{} hits, floor {}",
        hits,
        floor.paths
    );
    let bound = tally.error_bound();
    assert_eq!(bound.is_none(), truth == counted, "{bound:?}");
    // Hits without client, path and host share one cell per input and status.
    let cells = tally
        .cells()
        .filter(|view| view.client != SymbolTables::OTHER)
        .count();
    assert!(
        cells <= budget.cells && tally.client_counts().len() <= budget.clients * 2,
        "{cells} cells"
    );
    assert!(tally.overflow_cells().count() <= budget.cells);
}

/// A few clients send many requests, and many a few.
fn request() -> impl Strategy<Value = Request> {
    let few_or_many = |few: u8, many: u8| prop_oneof![0..few, 0..many];
    (
        few_or_many(4, 60),
        few_or_many(3, 90),
        prop_oneof![Just(404_u16), Just(200)],
        prop::bool::weighted(0.8),
    )
}

proptest! {
    #[test]
    fn bounds_hold_for_any_split(
        parts in prop::collection::vec(prop::collection::vec(request(), 0..160), 1..12),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 24),
    ) {
        let requests = parts.concat();
        let tally = merged((0..).zip(&parts).map(|(chunk, requests)| part(requests, chunk)), &picks, SMALL);
        // With two statuses, a pair has at most two cells.
        check_all(&requests, &tally, SMALL, 2);
    }

    #[test]
    fn bounds_hold_for_pairs_of_many_inputs(
        parts in prop::collection::vec((0_u32..60, prop::collection::vec(request(), 0..60)), 1..90),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 24),
    ) {
        let requests: Vec<Request> = parts.iter().flat_map(|(_, requests)| requests.clone()).collect();
        let each = (0..).zip(&parts).map(|(chunk, (input, requests))| part_of(*input, requests, chunk));
        let tally = merged(each, &picks, OF_MANY_INPUTS);
        check_all(&requests, &tally, OF_MANY_INPUTS, MAX_CELLS_PER_KEY);
        let (mut inputs, mut expected): (Sums<u32>, Sums<u32>) = Default::default();
        tally.cells().for_each(|view| *inputs.entry(view.input).or_default() += view.cell.hits);
        for (input, requests) in &parts {
            *expected.entry(*input).or_default() += requests.iter().filter(|request| request.3).count() as u64;
        }
        expected.retain(|_, hits| *hits > 0);
        prop_assert_eq!(inputs, expected);
    }

    #[test]
    fn up_to_the_budget_it_is_exact(
        parts in prop::collection::vec(prop::collection::vec((0_u8..8, 0_u8..5, Just(404_u16), any::<bool>()), 0..160), 1..9),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 18),
    ) {
        let tally = merged((0..).zip(&parts).map(|(chunk, requests)| part(requests, chunk)), &picks, SMALL);
        prop_assert_eq!(tally.error_bound(), None);
        prop_assert_eq!(counted(&tally), truth(&parts.concat()));
    }
}

/// The tally of one request in each of `inputs` inputs, with this status.
fn of_inputs(inputs: u32, status: impl Fn(u32) -> u16) -> (Vec<Request>, Tally) {
    let requests: Vec<Request> = (0..inputs)
        .map(|input| (1, 1, status(input), true))
        .collect();
    let mut parts: Vec<Tally> = (0..)
        .zip(&requests)
        .map(|(input, &request)| part_of(input, &[request], 0))
        .collect();
    // Each prune examines all inputs.
    for part in (0..parts.len()).rev().filter(|part| part % 300 != 0) {
        let taken = parts.remove(part);
        parts[part - 1].merge(taken);
    }
    (requests, merged(parts, &[], OF_MANY_INPUTS))
}

#[test]
fn a_request_in_too_many_inputs_is_one_pair_with_all_hits() {
    let (requests, tally) = of_inputs(3_000, |input| if input % 3 == 0 { 200 } else { 404 });
    assert_eq!(
        (tally.error_bound(), counted(&tally)),
        (None, truth(&requests))
    );
    let of_pair = |status: u16| {
        let views = tally
            .cells()
            .chain(tally.overflow_cells())
            .filter(|view| !view.is_other() && view.status == Some(status));
        views.map(|view| view.cell.hits).sum::<u64>()
    };
    assert_eq!((of_pair(200), of_pair(404)), (1_000, 2_000));
    assert_eq!(
        tally.overflow_cells().count(),
        6,
        "two statuses of a pair, a client and a path"
    );
}

/// Hits beyond the capacity of the overflow become errors, and are not lost.
#[test]
fn a_pair_with_too_many_cells_is_within_its_error() {
    let (requests, tally) = of_inputs(3_000, |input| 400 + input as u16 % 60);
    check_all(&requests, &tally, OF_MANY_INPUTS, MAX_CELLS_PER_KEY);
    let bound = tally.error_bound().unwrap();
    assert!(
        bound.pairs > 0
            && bound.pairs < 3_000
            && tally.error_floor() == super::ErrorFloor::default(),
        "{bound:?}"
    );
    assert!(tally.overflow_cells().count() <= 3 * MAX_CELLS_PER_KEY);
}

/// A hit in the order of samples: without a time last, then by time and position.
type Earliest = (bool, Option<i64>, u64, usize);

/// A tally of hits by clients at times; the text of each line is its number.
fn timed(hits: &[(u8, Option<i64>)], chunk: u64) -> Tally {
    let (mut names, mut findings, mut tally) = (
        SymbolTables::default(),
        Findings::default(),
        Tally::default(),
    );
    for (line, &(who, time)) in (0..).zip(hits) {
        let mut hit = Hit::at(line, line.into());
        hit.client = names.clients.intern(client(who).as_bytes());
        hit.path = names.paths.intern(&b"/"[..], Box::from);
        hit.time = time.map(|utc| LogTime { utc, offset: 0 });
        findings.push(hit, format!("{chunk} {line}").as_bytes());
    }
    tally.add_findings(
        &findings,
        LinePosition {
            input: 0,
            chunk,
            offset: 0,
            line: 0,
        },
    );
    tally.with_names(names)
}

proptest! {
    #[test]
    fn the_earliest_line_is_the_sample(
        mut parts in prop::collection::vec(prop::collection::vec((0_u8..50, prop::option::of(0_i64..6)), 0..90), 1..5),
        first in any::<prop::sample::Index>(),
    ) {
        let mut expected: BTreeMap<String, Vec<Earliest>> = BTreeMap::new();
        for (chunk, hits) in (0..).zip(&parts) {
            for (line, &(who, time)) in hits.iter().enumerate() {
                expected.entry(client(who)).or_default().push((time.is_none(), time, chunk, line));
            }
        }
        let mut tallies: Vec<Tally> = (0..).zip(parts.drain(..)).map(|(chunk, hits)| timed(&hits, chunk)).collect();
        let mut all = tallies.swap_remove(first.index(tallies.len()));
        for tally in tallies {
            all.merge(tally);
        }
        prop_assert_eq!(all.len(), expected.len());
        for view in all.cells() {
            let hits = &expected[&all.client(view.client).to_string()];
            let times = || hits.iter().filter_map(|hit| hit.1);
            let (_, time, chunk, line) = *hits.iter().min().unwrap();
            prop_assert_eq!(view.cell.hits, hits.len() as u64);
            prop_assert_eq!(view.cell.times().map(|(first, last)| (first.utc, last.utc)), times().min().zip(times().max()));
            prop_assert_eq!(view.sample().time.map(|time| time.utc), time);
            let SampleContentView::Line { text, .. } = view.sample().content else { panic!("{:?}", view.sample()) };
            prop_assert_eq!(String::from_utf8_lossy(text), format!("{chunk} {line}"));
        }
    }
}

/// One client that requests ever new paths, and one path that ever new clients request: each pair
/// is small.
#[test]
fn clients_and_paths_of_many_small_pairs_are_kept() {
    let rounds: Vec<Vec<Request>> = (0..20)
        .map(|round| {
            (0..25)
                .flat_map(|n| {
                    [
                        (255, n * 10 + round % 10, 404, true),
                        (n * 10 + round % 10, 255, 404, true),
                    ]
                })
                .collect()
        })
        .collect();
    let tally = merged(
        (0..)
            .zip(&rounds)
            .map(|(chunk, requests)| part(requests, chunk)),
        &[],
        SMALL,
    );
    let (truth, counted) = (truth(&rounds.concat()), counted(&tally));
    assert!(tally.error_bound().is_some());
    assert_eq!(
        (counted.clients["192.0.2.255"], counted.paths["/255"]),
        (truth.clients["192.0.2.255"], truth.paths["/255"])
    );
}

/// An answer in a flood: its host, path and size.
type Answered = (String, String, Option<u64>);

/// Whether one answer of 311 bytes survives a flood of twice the capacity, in which each answer was
/// requested twice as often.
fn survives(flood: impl Fn(u32) -> Answered) -> bool {
    let (mut names, mut findings, mut tally) = (
        SymbolTables::default(),
        Findings::default(),
        Tally::default(),
    );
    let rules = names.rules.intern(&[RuleId(0)][..], Box::from);
    let mut answer = |line: u32, (host, path, bytes): Answered| {
        let mut hit = Hit::at(line, u64::from(line) * 100);
        hit.client = names.clients.intern(client(1).as_bytes());
        hit.path = names.paths.intern(path.as_bytes(), Box::from);
        hit.host = names.host(Some(host.as_bytes()));
        (hit.rules, hit.status, hit.bytes, hit.exposes) = (rules, Some(200), bytes, true);
        findings
            .requests
            .push((hit.client, UnmatchedAnswer::default()));
        findings.push(hit, b"a line");
    };
    let count = SMALL.cells as u32 * 2;
    (0..count).for_each(|n| (0..2).for_each(|again| answer(2 * n + again, flood(n))));
    answer(2 * count, ("www".into(), "/real/.env".into(), Some(311)));
    tally.add_findings(
        &findings,
        LinePosition {
            input: 0,
            chunk: 0,
            offset: 0,
            line: 0,
        },
    );
    let tally = merged([tally.with_names(names)], &[], SMALL);
    assert!(tally.error_bound().is_some(), "something is dropped");
    tally
        .cells()
        .any(|view| !view.is_other() && tally.path(view.path) == b"/real/.env")
}

/// The answers of each flood differ in all respects but one, by which they are similar.
#[test]
fn a_flood_of_answers_does_not_evict_the_only_different_one() {
    let size = |n: u32| Some(1_000 + u64::from(n % 50));
    assert!(
        survives(|n| ("www".into(), format!("/{n}/.env"), size(n))),
        "a folder for each path"
    );
    assert!(
        survives(|n| (format!("host{n}"), "/.env".into(), size(n))),
        "a host for each path"
    );
    assert!(
        survives(|n| (format!("host{}", n % 7), format!("/{n}/.env"), size(n))),
        "a few hosts"
    );
    assert!(
        survives(|n| ("www".into(), format!("/{n}/.env"), None)),
        "no sizes"
    );
    assert!(
        survives(|n| (format!("host{n}"), "/.env".into(), None)),
        "no sizes, a host for each path"
    );
}

/// Answers are kept before equally frequent refusals.
#[test]
fn answers_are_kept_before_refusals() {
    let requests: Vec<Request> = (0..200)
        .map(|n| (n % 20, n, if n % 50 == 0 { 200 } else { 404 }, true))
        .collect();
    let tally = merged(
        requests.chunks(20).map(|requests| part(requests, 0)),
        &[],
        SMALL,
    );
    let answered = |is_rest| {
        tally
            .cells()
            .filter(|view| view.answered && view.is_other() == is_rest)
            .count()
    };
    assert_eq!((answered(false), answered(true)), (4, 0));
}

/// The slack does not decide whether a tally is exact.
#[test]
fn a_deferred_prune_waits_for_one_and_a_half_times_the_budget() {
    let distinct =
        |pairs: u8| -> Vec<Request> { (0..pairs).map(|n| (n % 20, n, 404, true)).collect() };
    let deferred = |pairs: u8| {
        let mut tally = Tally::with_budget(SMALL);
        tally.merge_deferred(part(&distinct(pairs), 0));
        tally
    };
    let budget = SMALL.cells as u8;
    for (pairs, is_exact, is_exact_at_the_end) in [
        (budget, true, true),
        (budget + 1, true, false),
        (budget * 3 / 2, true, false),
        (budget * 3 / 2 + 1, false, false),
    ] {
        let mut tally = deferred(pairs);
        assert_eq!(tally.is_exact(), is_exact, "{pairs} pairs");
        tally.enforce_budget();
        assert_eq!(tally.is_exact(), is_exact_at_the_end, "{pairs} pairs");
        check_all(&distinct(pairs), &tally, SMALL, 2);
    }
}

/// As many cells as nothing evicts, of 100 bytes of text each.
const OF_LITTLE_TEXT: Budget = Budget {
    cells: 4_000,
    clients: 4_000,
    text: 400_000,
};

/// A tally of one hit per number, whose path and line have about this many bytes; the first path is
/// requested a hundred times, and only the last one is answered.
fn of_long_texts(numbers: std::ops::Range<u32>, bytes: usize) -> Tally {
    let (mut names, mut findings, mut tally) = (
        SymbolTables::default(),
        Findings::default(),
        Tally::default(),
    );
    let rules = names.rules.intern(&[RuleId(0)][..], Box::from);
    for number in numbers.clone() {
        let path = format!("/{number}{}", "x".repeat(bytes));
        for again in 0..if number == 0 { 100 } else { 1 } {
            let mut hit = Hit::at(number, again);
            hit.client = names
                .clients
                .intern(format!("10.0.{}.{}", number >> 8, number & 255).as_bytes());
            hit.path = names.paths.intern(path.as_bytes(), Box::from);
            (hit.rules, hit.status, hit.exposes) =
                (rules, Some(if number == LAST { 200 } else { 404 }), true);
            findings
                .requests
                .push((hit.client, UnmatchedAnswer::default()));
            findings.push(hit, path.as_bytes());
        }
    }
    tally.add_findings(
        &findings,
        LinePosition {
            input: 0,
            chunk: 0,
            offset: u64::from(numbers.start),
            line: 0,
        },
    );
    tally.with_names(names)
}

const LAST: u32 = 1_999;

/// A few cells with long texts exceed the budget like many with short ones.
#[test]
fn texts_have_a_budget_in_bytes() {
    let parts = |bytes| (0..20).map(move |part| of_long_texts(part * 100..(part + 1) * 100, bytes));
    let exact = merged(parts(80), &[], OF_LITTLE_TEXT);
    assert_eq!(
        (exact.error_bound(), exact.len()),
        (None, 2_000),
        "as long as the budget allows"
    );
    for is_reversed in [false, true] {
        let mut parts: Vec<Tally> = parts(1_500).collect();
        if is_reversed {
            parts.reverse();
        }
        let tally = merged(parts, &[], OF_LITTLE_TEXT);
        assert!(
            tally.text_bytes() <= OF_LITTLE_TEXT.text,
            "{}",
            tally.text_bytes()
        );
        assert_eq!(
            tally.cells().map(|view| view.cell.hits).sum::<u64>(),
            2_099,
            "sums stay exact"
        );
        let has = |number: u32, hits| {
            let path = format!("/{number}{}", "x".repeat(1_500));
            tally.cells().any(|view| {
                !view.is_other()
                    && tally.path(view.path) == path.as_bytes()
                    && view.cell.hits == hits
            })
        };
        assert!(
            has(0, 100) && has(LAST, 1),
            "the heaviest pair and the only answer stay, and their texts are whole"
        );
        // N / M: a pair with 3,000 bytes takes the capacity of 31.
        let keys = OF_LITTLE_TEXT.pairs() / 31;
        assert!(tally.error_floor().pairs * keys as u64 <= 2_099);
        for view in tally
            .cells()
            .filter(|view| view.client == SymbolTables::OTHER)
        {
            let SampleContentView::Line { text, parsed } = view.sample().content else {
                panic!("{view:?}")
            };
            assert!(text.len() <= super::cell::MAX_CUT_SAMPLE && text.ends_with(b"...") && !parsed);
        }
    }
}

#[test]
fn the_budget_of_minutes_is_as_documented() {
    assert_eq!(
        (
            Budget::STANDARD.minutes(),
            Budget::STANDARD.minutes_after_prune()
        ),
        (170_000, 21_250)
    );
}

/// They are nearly all of an ordinary log.
#[test]
fn unknown_names_of_clients_without_a_hit_are_dropped_first_and_counted() {
    const UNKNOWN: RuleId = RuleId(1);
    const ROOMY: Budget = Budget {
        clients: 100,
        ..SMALL
    };
    let (mut names, mut findings, mut tally) = (
        SymbolTables::default(),
        Findings::default(),
        Tally::default(),
    );
    let [known, unknown] =
        [RuleId(0), UNKNOWN].map(|rule| names.rules.intern(&[rule][..], Box::from));
    // The first client has a hit and ten unknown names, each of the others one.
    for number in 0..71_u8 {
        let mut hit = Hit::at(number.into(), u64::from(number) * 100);
        hit.client = names
            .clients
            .intern(client(number.saturating_sub(10)).as_bytes());
        hit.path = names
            .paths
            .intern(format!("/{number}").as_bytes(), Box::from);
        (hit.rules, hit.status, hit.needs_client) = (
            if number == 0 { known } else { unknown },
            Some(404),
            number > 0,
        );
        findings
            .requests
            .push((hit.client, UnmatchedAnswer::default()));
        findings.push(hit, b"a line");
    }
    tally.add_findings(
        &findings,
        LinePosition {
            input: 0,
            chunk: 0,
            offset: 0,
            line: 0,
        },
    );
    let tally = tally.with_names(names);
    let bounded = |rules: &[RuleId]| {
        let mut bounded = Tally::with_budget(ROOMY).with_unknown(rules);
        // Also after a prune.
        for _ in 0..2 {
            bounded.merge(tally.clone());
            bounded.enforce_budget();
        }
        let refused: u32 = bounded
            .client_counts()
            .iter()
            .map(|count| count.unmatched.refused)
            .sum();
        (bounded.is_exact(), bounded.len(), refused)
    };
    assert_eq!(bounded(&[UNKNOWN]), (true, 11, 120));
    let (is_exact, ..) = bounded(&[]);
    assert!(!is_exact, "as any other hits, they would evict the hit");
}

#[test]
fn counts_of_lines_are_added_before_they_overflow() {
    let answer = UnmatchedAnswer::new(Some(404), Some(9));
    let count = |tally: &mut Tally, lines: usize| {
        let mut findings = Findings::default();
        findings.requests = vec![(0, answer); lines];
        let position = LinePosition {
            input: 0,
            chunk: 0,
            offset: 0,
            line: 0,
        };
        tally.add_findings(&findings, position);
    };
    let mut tally = Tally::default();
    count(&mut tally, 1);
    tally.uncounted[0].requests[usize::from(answer.class())] = u32::MAX - 2;
    tally.uncounted_lines = u64::from(u32::MAX) - 2;
    count(&mut tally, 2);
    assert_eq!(tally.clients.len(), 0, "they fit");
    count(&mut tally, 2);
    assert_eq!(tally.clients[0].requests, u64::from(u32::MAX));
    let all = tally.requests_so_far(0);
    assert_eq!(all.requests, u64::from(u32::MAX) + 2);
    assert_eq!(all.unmatched.refused, u32::MAX);
}
