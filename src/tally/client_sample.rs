//! The limit of a tally that records [unmatched requests](super::unmatched): above it, the tally is
//! that of a sample of clients.
//!
//! Whether a client is a prober shows only in all its requests, and what it requested is needed
//! from its first request on. So no client can be preferred for what it did: any rule that does
//! makes the result depend on the order of the lines. Instead, a
//! [hash](crate::log::client::Client::stable_hash) chooses the clients. The sample of level k has
//! one of 2^k clients, with everything that they requested; of the others it has only the hits by
//! rules, status and input. Level 0 is all clients, so a log that fits is counted exactly.
//!
//! **The level is the lowest whose sample fits the budget**, by the size that [`sizes`] states. The
//! sizes of a sample only grow with further requests: each is a number of distinct clients, pairs,
//! cells and paths, with their names. So no part of a log has a higher level than the whole. A
//! merge takes the higher level of both parts, drops the other clients of the other part, and
//! raises the level if the sum does not fit. So the tally is the same in any split and any order.
//!
//! A client that alone exceeds the budget, with 200,000 paths, is in no sample that fits; the level
//! rises above its own, so that others are dropped as well.
//!
//! The clients that show which app a site runs keep their names. They are few, and they do not
//! count.

use super::cell::CellKey;
use super::merge::remap_key;
use super::prune::KeptIds;
use super::table::CellTable;
use super::{ClientCount, Tally};
use crate::collections::intern::SymbolTables;

/// The bytes of the sample of a run, of 500,000 clients without unmatched paths, or of 140,000 with
/// a path of their own each. Workers and a merge take memory besides.
pub(crate) const SAMPLE_BUDGET: usize = 64 << 20;

/// The bytes of a client: its name, its counts, and their hash tables and lists with their slack.
const CLIENT: usize = 128;
/// The bytes of a path besides its text: its name, and the counts of its requests by the level of a
/// client.
const PATH: usize = 320;
/// The bytes of a pair of a client and a path that no rule matched, in a hash table with its free
/// slots.
const PAIR: usize = 16;
/// The bytes of a cell with its sample, which has 200 bytes on average and at most
/// [`MAX_CUT_SAMPLE`](super::cell::MAX_CUT_SAMPLE).
const CELL: usize = 512;

/// The bytes of a virtual host besides its text: its name, and the evidence and the grades of a
/// site with one path.
const HOST: usize = 1024;

/// The number of levels that a hash of 64 bits has.
const LEVELS: usize = u64::BITS as usize + 1;

impl Tally {
    /// An empty tally that becomes that of a sample of clients where it takes more than this many
    /// bytes, once it has names and is merged.
    #[must_use]
    pub fn with_sample_budget(bytes: usize) -> Self {
        Self {
            sample_budget: Some(bytes),
            ..Self::default()
        }
    }
}

/// Makes two tallies those of the same clients, before they are merged.
pub(super) fn align(mine: &mut Tally, other: &mut Tally) {
    // `learn` shows no lines of cells, and a client may write long ones.
    other.cells.cut_samples();
    let level = mine.unmatched.level().max(other.unmatched.level());
    restrict(mine, level);
    restrict(other, level);
}

/// Drops clients until a tally fits.
pub(super) fn enforce(tally: &mut Tally, budget: usize) {
    if largest_size(tally) <= budget {
        return;
    }
    let sizes = sizes(tally);
    let level = usize::from(tally.unmatched.level());
    // No hash has more zeros than bits, and nothing is left above.
    let fits = (level..LEVELS)
        .find(|&level| sizes[level..].iter().sum::<usize>() <= budget)
        .unwrap_or(LEVELS);
    restrict(tally, fits as u8);
}

/// A bound on the sum of its [`sizes`], without reading the tally.
fn largest_size(tally: &Tally) -> usize {
    let Tally {
        names,
        cells,
        unmatched,
        ..
    } = tally;
    let of_names = names.clients.len() * CLIENT
        + names.clients.bytes()
        + names.paths.keys().len() * PATH
        + names.paths.bytes();
    let of_hosts = names.hosts.keys().len() * HOST + names.hosts.bytes();
    of_names + of_hosts + cells.len() * CELL + unmatched.len() * PAIR
}

/// The bytes that each level adds to the sample of the level above it: its clients, and the paths
/// and hosts that no client of a higher level requested.
fn sizes(tally: &Tally) -> [usize; LEVELS] {
    let Tally {
        names,
        cells,
        unmatched,
        ..
    } = tally;
    let levels = client_levels(names);
    let mut sizes = [0; LEVELS];
    for (number, level) in (0..).zip(&levels) {
        sizes[usize::from(*level)] +=
            CLIENT + names.text_len(number, SymbolTables::OTHER, SymbolTables::OTHER);
    }
    let mut highest_of_hosts: Vec<Option<u8>> = vec![None; names.hosts.keys().len()];
    for key in cells.keys().filter(|key| key.is_pair()) {
        let highest = &mut highest_of_hosts[key.host as usize];
        *highest = (*highest).max(Some(levels[key.client as usize]));
    }
    let mut highest: Vec<Option<u8>> = vec![None; names.paths.keys().len()];
    let of_cells = cells
        .keys()
        .filter(|key| key.is_pair())
        .map(|key| (key.client, key.path, CELL));
    for (client, path, size) in of_cells.chain(
        unmatched
            .all_pairs()
            .map(|(client, path)| (client, path, PAIR)),
    ) {
        let level = levels[client as usize];
        sizes[usize::from(level)] += size;
        let highest = &mut highest[path as usize];
        *highest = (*highest).max(Some(level));
    }
    let of_paths = names
        .paths
        .keys()
        .iter()
        .zip(highest)
        .map(|(path, level)| (level, PATH + path.len()));
    let of_hosts = names
        .hosts
        .keys()
        .iter()
        .zip(highest_of_hosts)
        .map(|(host, level)| (level, HOST + host.len()));
    for (level, size) in of_paths.chain(of_hosts) {
        if let Some(level) = level {
            sizes[usize::from(level)] += size;
        }
    }
    sizes
}

/// The level of each client, by number.
fn client_levels(names: &SymbolTables) -> Vec<u8> {
    (0..names.clients.len() as u32)
        .map(|number| names.clients.resolve(number).sample_level())
        .collect()
}

/// Drops the clients of lower levels, and what only they requested. Their hits stay in cells
/// without a client and a path.
fn restrict(tally: &mut Tally, level: u8) {
    if level <= tally.unmatched.level() {
        return;
    }
    let is_kept: Vec<bool> = client_levels(&tally.names)
        .into_iter()
        .map(|of_client| of_client >= level)
        .collect();
    let is_of_kept = |key: &CellKey| is_kept.get(key.client as usize) == Some(&true);
    let present = present(tally, &is_kept);
    tally.clients.resize(is_kept.len(), ClientCount::default());
    for (count, _) in tally
        .clients
        .iter_mut()
        .zip(&is_kept)
        .filter(|(_, is_kept)| !**is_kept)
    {
        *count = ClientCount::default();
    }
    let Tally {
        names: old,
        clients,
        allowed,
        app_evidence,
        evidence,
        minutes,
        scale,
        sample_budget,
        unmatched,
        cells: mut old_cells,
        ..
    } = std::mem::take(tally);
    let (names, new) = present.renumber(old);
    let (mut scale, mut cells) = (scale.without_cells(), CellTable::default());
    for number in old_cells.numbers() {
        let key = *old_cells.key(number);
        let key = if is_of_kept(&key) {
            remap_key(&key, &new)
        } else {
            CellKey {
                client: SymbolTables::OTHER,
                path: SymbolTables::OTHER,
                ..key
            }
            .without_host_and_size()
        };
        cells.insert_moved(key, &mut old_cells, number, Some(&mut scale));
    }
    let clients = clients
        .into_iter()
        .zip(&present.clients)
        .filter(|(_, is_present)| **is_present)
        .map(|(count, _)| count)
        .collect();
    let unmatched = unmatched.restricted(level, &new, &names.clients);
    let evidence = evidence.with_hosts(&new.hosts);
    *tally = Tally {
        names,
        clients,
        cells,
        scale,
        allowed,
        evidence,
        unmatched,
        sample_budget,
        ..Tally::default()
    };
    tally.minutes.merge(minutes, &new);
    tally.app_evidence.merge(
        &app_evidence,
        |(input, host)| (input, new.hosts[host as usize]),
        |client| new.client(client),
    );
}

/// What stays if these clients do.
fn present(tally: &Tally, is_kept: &[bool]) -> KeptIds {
    let Tally {
        names,
        cells,
        unmatched,
        evidence,
        app_evidence,
        ..
    } = tally;
    let mut present = KeptIds {
        clients: is_kept.to_vec(),
        paths: vec![false; names.paths.keys().len()],
        hosts: evidence.hosts().chain([SymbolTables::NO_HOST]).collect(),
    };
    for key in cells
        .keys()
        .filter(|key| key.is_pair() && is_kept[key.client as usize])
    {
        present.paths[key.path as usize] = true;
        present.hosts.insert(key.host);
    }
    for (_, path) in unmatched
        .all_pairs()
        .filter(|(client, _)| is_kept[*client as usize])
    {
        present.paths[path as usize] = true;
    }
    for (_, (_, host), few) in app_evidence.iter() {
        present.hosts.insert(host);
        few.kept_clients()
            .iter()
            .for_each(|&client| present.clients[client as usize] = true);
    }
    present
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::log::finding::{Findings, Hit, RuleId, UnmatchedAnswer, UnmatchedRequest};
    use crate::log::time::LogTime;
    use crate::tally::LinePosition;

    /// A request: client, path, status, whether it matches a rule, and whether the client followed
    /// a link.
    type Request = (u16, u16, u16, bool, bool);

    /// The tally of a chunk.
    fn part(requests: &[Request], chunk: u64) -> Tally {
        let (mut names, mut findings, mut tally) = (
            SymbolTables::default(),
            Findings::default(),
            Tally::default(),
        );
        let rules = names.rules.intern(&[RuleId(0)][..], Box::from);
        for (line, &(who, what, status, is_hit, linked)) in (0..).zip(requests) {
            let client = names
                .clients
                .intern(format!("192.0.{}.{}", who >> 8, who & 255).as_bytes());
            let path = names.paths.intern(format!("/{what}").as_bytes(), Box::from);
            let time = Some(LogTime {
                utc: (i64::from(who) * 7 + i64::from(what)) % 50,
                offset: 0,
            });
            findings.requests.push((client, UnmatchedAnswer::default()));
            if is_hit {
                let mut hit = Hit::at(line, 0);
                (hit.client, hit.rules, hit.status, hit.path, hit.time) =
                    (client, rules, Some(status), path, time);
                hit.host = names.host(Some(format!("h{}", what % 3).as_bytes()));
                findings.push(hit, b"a line");
            } else {
                let mut request = UnmatchedRequest::new(line, 0, client, path);
                (request.status, request.linked, request.time) = (Some(status), linked, time);
                request.level = names.clients.resolve(client).sample_level();
                findings.push_unmatched(request, b"");
            }
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

    /// Each request is a chunk, so its position does not depend on the split.
    fn of_chunks(requests: &[(u64, Request)]) -> Tally {
        let mut all = Tally::with_sample_budget(usize::MAX);
        for (chunk, request) in requests {
            all.merge(part(&[*request], *chunk));
        }
        all
    }

    fn bounded(part: Tally, budget: usize) -> Tally {
        let mut tally = Tally::with_sample_budget(budget);
        tally.merge(part);
        tally
    }

    /// All that a tally holds, without its numbers.
    fn described(tally: &Tally) -> BTreeSet<String> {
        let unmatched = tally.unmatched();
        let client = |number: u32| match number {
            SymbolTables::OTHER => "-".to_owned(),
            number => tally.client(number).to_string(),
        };
        let path = |number: u32| match number {
            SymbolTables::OTHER => "-".to_owned(),
            number => String::from_utf8_lossy(tally.path(number)).into_owned(),
        };
        let counts = (0..)
            .zip(tally.client_counts())
            .map(|(number, count)| format!("{} {count:?}", client(number)));
        let cells = tally.cells().map(|view| {
            let sample = view.sample().position;
            format!(
                "{} {} {:?} {:?} {} {:?} {sample:?}",
                client(view.client),
                path(view.path),
                view.status,
                view.site,
                view.cell.hits,
                tally.listed_times(&view)
            )
        });
        let paths = (0..tally.names.paths.keys().len() as u32).map(|number| {
            let requests = unmatched.path(number).map(|mut requests| {
                requests.statuses.sort_unstable();
                format!("{requests:?}")
            });
            format!("{} {requests:?}", path(number))
        });
        let pairs = unmatched
            .pairs()
            .map(|(number, of, got)| format!("{} asks {} {got}", client(number), path(of)));
        let normal = unmatched
            .normal_paths()
            .map(|number| format!("{} is normal", path(number)));
        let all = counts.chain(cells).chain(paths).chain(pairs).chain(normal);
        all.chain([format!("level {}", unmatched.level())])
            .collect()
    }

    fn size(tally: &Tally) -> usize {
        sizes(tally)[usize::from(tally.unmatched().level())..]
            .iter()
            .sum()
    }

    #[test]
    fn a_tally_of_many_clients_stays_within_its_budget() {
        const BUDGET: usize = 100_000;
        let mut tally = Tally::with_sample_budget(BUDGET);
        for first in 0..40 {
            let requests: Vec<Request> = (0..500)
                .map(|n| (first * 500 + n, first * 500 + n, 404, n % 9 == 0, false))
                .collect();
            tally.merge(part(&requests, first.into()));
            // Besides the sample, there is a cell of the hits of all other clients. Besides the
            // sample, there is a cell of the hits of all other clients, and the empty host.
            assert!(
                size(&tally) <= BUDGET && largest_size(&tally) <= BUDGET + CELL + HOST,
                "{}",
                size(&tally)
            );
        }
        // 20,000 clients of 500 bytes are ten million: one of 128 fits.
        assert_eq!(tally.unmatched().level(), 7);
        let hits: u64 = tally.cells().map(|view| view.cell.hits).sum();
        assert_eq!(hits, 40 * 56, "hits are never dropped");
        assert!(tally.len() < 30 && tally.unmatched().len() > 100);
    }

    #[test]
    fn a_page_of_many_clients_costs_a_pair_for_each() {
        let requests: Vec<Request> = (0..5_000)
            .map(|who| (who, 1, 200, false, who % 2 == 0))
            .collect();
        let tally = bounded(part(&requests, 0), 300_000);
        assert_eq!(tally.unmatched().level(), 2);
        assert!(
            tally.unmatched().normal_paths().count() == 1 && tally.unmatched().pairs().count() == 0
        );
    }

    fn requests() -> impl Strategy<Value = Vec<Request>> {
        let status = prop::sample::select(vec![200, 301, 404]);
        prop::collection::vec(
            (
                0..150_u16,
                0..12_u16,
                status,
                prop::bool::weighted(0.2),
                prop::bool::weighted(0.05),
            ),
            1..160,
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_split_and_any_order_give_the_sample_of_the_whole(
            requests in requests(), owners in prop::collection::vec(0..5_usize, 160), picks in prop::collection::vec(any::<Index>(), 8),
            budget in 0..60_000_usize,
        ) {
            let numbered: Vec<(u64, Request)> = (0..).zip(requests).collect();
            let mut whole = of_chunks(&numbered);
            let sizes = sizes(&whole);
            let lowest = (0..LEVELS).find(|&level| sizes[level..].iter().sum::<usize>() <= budget).unwrap();
            restrict(&mut whole, lowest as u8);
            let part = |owner| {
                let own: Vec<_> = numbered.iter().zip(&owners).filter(|(_, of)| **of == owner).map(|(request, _)| *request).collect();
                let mut part = of_chunks(&own);
                // Some parts are restricted before they are merged, as those of workers are not.
                part.sample_budget = None;
                if owner % 2 == 0 { bounded(part, budget) } else { part }
            };
            let mut merged = Tally::with_sample_budget(budget);
            let mut parts: Vec<Tally> = (0..5).map(part).collect();
            for pick in picks.iter().cycle() {
                if parts.is_empty() {
                    break;
                }
                merged.merge(parts.swap_remove(pick.index(parts.len())));
            }
            prop_assert_eq!(described(&merged), described(&whole));
        }

        #[test]
        fn a_tally_that_fits_is_that_without_a_budget(requests in requests()) {
            let mut without = Tally::default();
            without.merge(part(&requests, 0));
            let fits = bounded(part(&requests, 0), size(&without));
            prop_assert_eq!(described(&fits), described(&without));
            prop_assert_eq!(fits.unmatched().level(), 0);
        }
    }
}
