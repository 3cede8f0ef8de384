//! Prunes a tally to its budget: evicts the keys of least weight and their names, so that memory is returned.
//!
//! No hit is lost: hits of a pair stay with its client and its path, those of a client stay in cells without a client.
//! For pairs, clients and paths that stay, evicted cells are added to the [overflow](super::budget) as well. Floors
//! and errors bound the rest. The texts of the keys break ties, so the order of merges does not matter.

use std::cmp::Reverse;

use foldhash::{HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_64;

use super::budget::{MAX_CELLS_PER_KEY, OverflowOwner, OverflowUpdate};
use super::cell::{Cell, CellKey};
use super::evidence::{AnswerFrequencies, SimilarCounts};
use super::merge::remap_key;
use super::table::CellTable;
use super::time_counts::TimeScale;
use super::{Budget, CellCounts, ClientCount, Tally};
use crate::client::Client;
use crate::intern::{IdRemap, SymbolTables};

type Cells = Vec<(CellKey, Cell)>;

/// The weight of clients and paths (hits plus error) and a hash that breaks ties, by number.
struct Weights {
    clients: Vec<(u64, u64)>,
    paths: Vec<(u64, u64)>,
}

/// The cells of one key.
struct KeyGroup {
    start: usize,
    len: usize,
    weight: u64,
    tie: u64,
    /// For a key with answers: how many answers are similar to its rarest one.
    ordinary: Option<SimilarCounts>,
}

/// The result of a selection.
struct Selection {
    kept: Cells,
    dropped: Cells,
    /// The greatest weight of a key that was evicted altogether.
    floor: u64,
}

/// Prunes a tally that exceeds its budget.
pub(super) fn prune(tally: &mut Tally, budget: Budget) {
    tally.clients.resize(tally.names.clients.len(), ClientCount::default());
    tally.path_errors.resize(tally.names.paths.keys().len(), 0);
    let ordinariness = tally.fold_evidence();
    tally.minutes.trim(budget.minutes_after_prune(), &tally.names);
    let weights = Weights::new(tally);
    let mut overflow = OverflowUpdate::new(std::mem::take(&mut tally.overflow));
    let (mut pairs, dropped) = select_pairs(tally, budget, &weights, &ordinariness, &mut overflow);
    let by_path = select_paths(tally, budget, &weights, &dropped, &mut overflow);
    let by_client = select_clients(tally, budget, &weights, dropped, &mut overflow);
    let overflow = select_overflow(tally, budget, &weights, overflow, &mut pairs);
    let present = KeptIds::new(tally, budget, &weights, [&pairs, &by_client, &by_path, &overflow]);
    present.raise_error_floors(tally, &weights);
    rebuild(tally, &present, [pairs, by_client], [by_path, overflow]);
    // Nothing was evicted, so all evidence is in the cells, as before.
    if tally.is_exact() {
        tally.evidence.clear_dropped();
    }
}

/// Selects the pairs that stay. Returns their cells and the evicted ones.
fn select_pairs(
    tally: &mut Tally,
    budget: Budget,
    weights: &Weights,
    ordinariness: &AnswerFrequencies,
    overflow: &mut OverflowUpdate,
) -> (Cells, Cells) {
    let is_over = tally.cells.len() > budget.max_cells(tally);
    let mut pairs: Cells = std::mem::take(&mut tally.cells).into_cells().collect();
    let mut folded: Cells = pairs.extract_if(.., |(key, _)| !key.is_pair()).collect();
    if !is_over {
        return (pairs, folded);
    }
    let mut in_overflow = overflow.pair_weights();
    let weigh = |cells: &[(CellKey, Cell)]| {
        let (key, cell) = &cells[0];
        let hits = sum(cells) + in_overflow.get(&key.pair()).map_or(0, |weight| weight.hits);
        (hits + cell.error, weights.tie(key))
    };
    let ordinary = |key: &CellKey| ordinariness.similar_to(key, tally.names.rules.resolve(key.rules));
    let chosen = select(pairs, CellKey::pair, weigh, budget.pairs(), Some((budget.answered(), &ordinary)));
    for (key, _) in &chosen.kept {
        in_overflow.remove(&key.pair());
    }
    // A pair may be in the overflow only, if its other cells matched rules that were dropped.
    let gone = in_overflow.values().map(|weight| weight.hits + weight.error);
    tally.error_floor.pairs = gone.fold(tally.error_floor.pairs.max(chosen.floor), u64::max);
    overflow.add_dropped(OverflowOwner::Pair, &chosen.kept, &chosen.dropped, |_, _| {});
    let dropped = chosen.dropped.into_iter().map(|(key, cell)| (key, Cell { error: 0, ..cell }));
    folded.extend(dropped);
    (chosen.kept, folded)
}

/// Selects the paths whose evicted pairs stay.
fn select_paths(tally: &mut Tally, budget: Budget, weights: &Weights, dropped: &Cells, overflow: &mut OverflowUpdate) -> Cells {
    let mut table = std::mem::take(&mut tally.by_path);
    // Only these can fit, so the cells of other paths are not even copied.
    let heavy: HashSet<u32> = heaviest(weights.paths.len(), budget.folded(), |path| weights.paths[path as usize]).into_iter().collect();
    for (key, cell) in dropped.iter().filter(|(key, _)| key.is_pair()) {
        if heavy.contains(&key.path) {
            table.insert(CellKey { client: SymbolTables::OTHER, ..*key }, cell.clone(), None);
        } else {
            tally.path_errors[key.path as usize] += cell.hits;
        }
    }
    let weigh = |cells: &[(CellKey, Cell)]| weights.paths[cells[0].0.path as usize];
    let chosen = select(table.into_cells().collect(), |key| key.path.into(), weigh, budget.folded(), None);
    overflow.add_dropped(OverflowOwner::Path, &chosen.kept, &chosen.dropped, |key, hits| tally.path_errors[key.path as usize] += hits);
    chosen.kept
}

/// Selects the clients whose evicted pairs stay; other cells lose their client.
fn select_clients(tally: &mut Tally, budget: Budget, weights: &Weights, dropped: Cells, overflow: &mut OverflowUpdate) -> Cells {
    // Only these can fit.
    let heavy: HashSet<u32> =
        heaviest(weights.clients.len(), budget.folded(), |client| weights.clients[client as usize]).into_iter().collect();
    let (mut table, mut unattributed) = (CellTable::default(), CellTable::default());
    let mut scale = tally.scale.without_cells();
    for (key, cell) in dropped {
        if heavy.contains(&key.client) {
            table.insert(CellKey { path: SymbolTables::OTHER, ..key }, cell, Some(&mut scale));
            continue;
        }
        if let Some(count) = tally.clients.get_mut(key.client as usize) {
            count.error += cell.hits;
        }
        unattributed.insert(CellKey { client: SymbolTables::OTHER, path: SymbolTables::OTHER, ..key }, cell, Some(&mut scale));
    }
    let weigh = |cells: &[(CellKey, Cell)]| weights.clients[cells[0].0.client as usize];
    let chosen = select(table.into_cells().collect(), |key| key.client.into(), weigh, budget.folded(), None);
    overflow
        .add_dropped(OverflowOwner::Client, &chosen.kept, &chosen.dropped, |key, hits| tally.clients[key.client as usize].error += hits);
    for (key, cell) in chosen.dropped {
        unattributed.insert(CellKey { client: SymbolTables::OTHER, ..key }, cell, Some(&mut scale));
    }
    let mut kept = chosen.kept;
    kept.extend(bounded_unattributed(unattributed, budget, &mut scale));
    kept
}

/// Selects the overflow that stays; what is dropped becomes an error. `pairs` are the cells of the pairs that stay.
fn select_overflow(tally: &mut Tally, budget: Budget, weights: &Weights, overflow: OverflowUpdate, pairs: &mut Cells) -> Cells {
    let weigh = |cells: &[(CellKey, Cell)]| (sum(cells), weights.tie(&cells[0].0));
    let mut chosen = select(overflow.into_cells(), CellKey::pair, weigh, budget.overflow(), None);
    let mut of_pairs: HashMap<u64, u64> = HashMap::default();
    for (key, cell) in &chosen.dropped {
        match OverflowOwner::from_key(key) {
            OverflowOwner::Pair => *of_pairs.entry(key.pair()).or_default() += cell.hits,
            OverflowOwner::Client => tally.clients[key.client as usize].error += cell.hits,
            OverflowOwner::Path => tally.path_errors[key.path as usize] += cell.hits,
        }
    }
    for (key, cell) in pairs.iter_mut().chain(&mut chosen.kept) {
        cell.error += of_pairs.get(&key.pair()).copied().unwrap_or(0);
    }
    chosen.kept
}

/// The cells without a client and a path. If they are too many, those with the fewest hits lose their host and size.
fn bounded_unattributed(table: CellTable, budget: Budget, scale: &mut TimeScale) -> Cells {
    let mut cells: Cells = table.into_cells().collect();
    if cells.len() <= budget.unattributed() {
        return cells;
    }
    cells.sort_unstable_by_key(|(key, cell)| (Reverse(cell.hits), *key));
    let few = cells.split_off(budget.unattributed());
    let bare = few.into_iter().map(|(key, cell)| (key.without_host_and_size(), cell));
    // Some may have lost host and size before.
    let mut table = CellTable::default();
    cells.into_iter().chain(bare).for_each(|(key, cell)| table.insert(key, cell, Some(&mut *scale)));
    table.into_cells().collect()
}

/// The capacity for keys with answers, and how frequent similar answers are.
type AnsweredSlots<'o> = (usize, &'o dyn Fn(&CellKey) -> SimilarCounts);

/// Keeps the heaviest keys while `capacity` lasts for their cells, then keys with answers while their capacity lasts,
/// the rarest answers first. Of each key it keeps the cell with the most hits, then the answered ones, then those with
/// the most hits.
fn select(
    cells: Cells,
    owner: impl Fn(&CellKey) -> u64,
    weigh: impl Fn(&[(CellKey, Cell)]) -> (u64, u64),
    mut capacity: usize,
    answered: Option<AnsweredSlots<'_>>,
) -> Selection {
    let (mut answered_capacity, ordinary) = answered.map_or((0, None), |(capacity, ordinary)| (capacity, Some(ordinary)));
    let ordinary = |key: &CellKey| ordinary.filter(|_| key.answered()).map(|ordinary| ordinary(key));
    let mut ranked: Vec<(Option<SimilarCounts>, (CellKey, Cell))> = cells.into_iter().map(|cell| (ordinary(&cell.0), cell)).collect();
    ranked.sort_unstable_by_key(|(ordinary, (key, cell))| (owner(key), Reverse(key.answered()), *ordinary, Reverse(cell.hits), *key));
    let (of_cells, mut cells): (Vec<Option<SimilarCounts>>, Cells) = ranked.into_iter().unzip();
    let mut start = 0;
    let group = |cells: &[(CellKey, Cell)]| {
        let (weight, tie) = weigh(cells);
        start += cells.len();
        let range = start - cells.len()..start;
        KeyGroup { start: range.start, len: cells.len(), weight, tie, ordinary: of_cells[range].iter().flatten().min().copied() }
    };
    let mut groups: Vec<KeyGroup> = cells.chunk_by(|a, b| owner(&a.0) == owner(&b.0)).map(group).collect();
    // Of many answers with one hit each, none is worth the cell that holds most of the weight.
    for group in cells.chunk_by_mut(|a, b| owner(&a.0) == owner(&b.0)) {
        if let Some(heaviest) = (0..group.len()).max_by_key(|&at| (group[at].1.hits, Reverse(at))) {
            group[..=heaviest].rotate_right(1);
        }
    }
    groups.sort_unstable_by_key(|group| (Reverse(group.weight), group.tie));
    let mut stays = vec![false; cells.len()];
    let mut keep = |group: &KeyGroup| stays[group.start..group.start + group.len.min(MAX_CELLS_PER_KEY)].fill(true);
    // All keys after the first that does not fit weigh no more than all that stay.
    let fits = groups.iter().take_while(|group| {
        let kinds = group.len.min(MAX_CELLS_PER_KEY);
        let fits = kinds <= capacity;
        capacity -= if fits { kinds } else { 0 };
        fits
    });
    let rest = groups.split_off(fits.count());
    groups.iter().for_each(&mut keep);
    let (mut of_answered, others): (Vec<KeyGroup>, Vec<KeyGroup>) = rest.into_iter().partition(|group| group.ordinary.is_some());
    of_answered.sort_by_key(|group| group.ordinary);
    let mut floor = others.iter().map(|group| group.weight).max().unwrap_or(0);
    for group in &of_answered {
        let kinds = group.len.min(MAX_CELLS_PER_KEY);
        if kinds <= answered_capacity {
            answered_capacity -= kinds;
            keep(group);
        } else {
            floor = floor.max(group.weight);
        }
    }
    let mut stays = stays.into_iter();
    let kept = cells.extract_if(.., |_| stays.next().unwrap_or(false)).collect();
    Selection { kept, dropped: cells, floor }
}

impl Weights {
    fn new(tally: &Tally) -> Self {
        let client = |number: u32| tally.names.clients.resolve(number);
        let mut clients: Vec<_> = (0..).zip(&tally.clients).map(|(number, count)| (count.error, tie_break(client(number)))).collect();
        let texts = tally.names.paths.keys();
        let mut paths: Vec<_> = texts.iter().zip(&tally.path_errors).map(|(text, error)| (*error, xxh3_64(text))).collect();
        let overflow = tally.overflow.iter().filter(|(counts, _)| !counts.key.is_pair());
        for (CellCounts { key, hits, .. }, _) in tally.cells.iter().chain(tally.by_path.iter()).chain(overflow) {
            for (weights, number) in [(&mut clients, key.client), (&mut paths, key.path)] {
                if let Some((weight, _)) = weights.get_mut(number as usize) {
                    *weight += hits;
                }
            }
        }
        Self { clients, paths }
    }

    /// A hash of a pair, client or path that breaks ties.
    fn tie(&self, key: &CellKey) -> u64 {
        let tie = |of: &[(u64, u64)], number: u32| of.get(number as usize).map_or(0, |(_, tie)| *tie);
        tie(&self.clients, key.client).rotate_left(1) ^ tie(&self.paths, key.path)
    }
}

fn sum(cells: &[(CellKey, Cell)]) -> u64 {
    cells.iter().map(|(_, cell)| cell.hits).sum()
}

pub(super) fn tie_break(client: Client<'_>) -> u64 {
    match client {
        Client::V4(bits) => xxh3_64(&bits.to_be_bytes()),
        Client::V6(bits) => xxh3_64(&bits.to_be_bytes()),
        Client::Text(text) => xxh3_64(text),
    }
}

/// The clients, paths and hosts that stay, by number.
struct KeptIds {
    clients: Vec<bool>,
    paths: Vec<bool>,
    hosts: HashSet<u32>,
}

impl KeptIds {
    fn new(tally: &Tally, budget: Budget, weights: &Weights, cells: [&Cells; 4]) -> Self {
        let all = tally.clients.len() <= budget.clients;
        let mut clients = vec![all; tally.clients.len()];
        let mut paths = vec![tally.path_errors.len() <= budget.paths(); tally.path_errors.len()];
        let mut hosts = HashSet::default();
        for (key, _) in cells.into_iter().flatten() {
            hosts.insert(key.host);
            for (present, number) in [(&mut clients, key.client), (&mut paths, key.path)] {
                if let Some(present) = present.get_mut(number as usize) {
                    *present = true;
                }
            }
        }
        for (key, _) in tally.minutes.iter() {
            for (present, number) in [(&mut clients, key.client), (&mut paths, key.path)] {
                if let Some(present) = present.get_mut(number as usize) {
                    *present = true;
                }
            }
        }
        hosts.extend(tally.evidence.hosts());
        for (_, (_, host), few) in tally.app_evidence.iter() {
            hosts.insert(host);
            few.kept_clients().iter().for_each(|&client| clients[client as usize] = true);
        }
        if !all {
            let heavy = budget.heavy_clients();
            let by_hits = |number: u32| weights.clients[number as usize];
            let requests = |count: &ClientCount| count.requests + count.missed;
            let by_requests = |number: u32| (requests(&tally.clients[number as usize]), by_hits(number).1);
            let [by_hits, by_requests] = [heaviest(clients.len(), heavy, by_hits), heaviest(clients.len(), heavy, by_requests)];
            for number in by_hits.into_iter().chain(by_requests) {
                clients[number as usize] = true;
            }
        }
        Self { clients, paths, hosts }
    }

    /// Raises the floors to the weight of the evicted keys: a key that is new later may be one of them.
    fn raise_error_floors(&self, tally: &mut Tally, weights: &Weights) {
        let floor = &mut tally.error_floor;
        let absent = |present: &[bool]| -> Vec<usize> { (0..present.len()).filter(|&number| !present[number]).collect() };
        for number in absent(&self.clients) {
            let count = &tally.clients[number];
            floor.clients = floor.clients.max(weights.clients[number].0);
            floor.requests = floor.requests.max(count.requests + count.missed);
        }
        for number in absent(&self.paths) {
            floor.paths = floor.paths.max(weights.paths[number].0);
        }
    }
}

/// The `most` heaviest of the numbers below `count`.
fn heaviest(count: usize, most: usize, weigh: impl Fn(u32) -> (u64, u64)) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count as u32).collect();
    if most < numbers.len() {
        numbers.select_nth_unstable_by_key(most, |&number| {
            let (weight, tie) = weigh(number);
            (Reverse(weight), tie)
        });
        numbers.truncate(most);
    }
    numbers
}

/// Renumbers what stays, and rebuilds the tally.
fn rebuild(tally: &mut Tally, present: &KeptIds, cells: [Cells; 2], besides: [Cells; 2]) {
    let Tally { names: old, clients, allowed, app_evidence, evidence, minutes, budget, error_floor, path_errors, scale, .. } =
        std::mem::take(tally);
    let mut names = SymbolTables::default();
    let number = |names: &mut SymbolTables, number: u32| {
        if present.clients[number as usize] { names.clients.intern_client(old.clients.resolve(number)) } else { SymbolTables::OTHER }
    };
    let new = IdRemap {
        clients: (0..present.clients.len() as u32).map(|client| number(&mut names, client)).collect(),
        paths: old
            .paths
            .keys()
            .iter()
            .zip(&present.paths)
            .map(|(path, &stays)| if stays { names.paths.intern(&**path, Box::from) } else { SymbolTables::OTHER })
            .collect(),
        hosts: (0..)
            .zip(old.hosts.keys())
            .map(|(host, text)| if present.hosts.contains(&host) { names.hosts.intern(&**text, Box::from) } else { SymbolTables::NO_HOST })
            .collect(),
        rules: (0..old.rules.keys().len() as u32).collect(),
    };
    names.rules = old.rules;
    let [by_path, overflow] =
        besides.map(|cells| CellTable::from_copies(cells.into_iter().map(|(key, cell)| (remap_key(&key, &new), cell))));
    let stay = |present: &[bool]| -> Vec<usize> { (0..present.len()).filter(|&number| present[number]).collect() };
    *tally = Tally {
        names,
        clients: stay(&present.clients).into_iter().map(|number| clients[number]).collect(),
        path_errors: stay(&present.paths).into_iter().map(|number| path_errors[number]).collect(),
        allowed,
        budget,
        error_floor,
        by_path,
        overflow,
        scale: scale.without_cells(),
        ..Tally::default()
    };
    tally.minutes.merge(minutes, &new);
    tally.evidence.merge(&evidence, |(input, host)| (input, new.hosts[host as usize]));
    tally.app_evidence.merge(&app_evidence, |(input, host)| (input, new.hosts[host as usize]), |client| new.client(client));
    for (key, cell) in cells.into_iter().flatten() {
        tally.cells.insert(remap_key(&key, &new), cell, Some(&mut tally.scale));
    }
}
