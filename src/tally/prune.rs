//! Prunes a tally to its budget: evicts the keys of least weight and their names, so that memory is
//! returned.
//!
//! No hit is lost: hits of a pair stay with its client and its path, those of a client stay in
//! cells without a client. For pairs, clients and paths that stay, evicted cells are added to the
//! [overflow](super::budget) as well. Floors and errors bound the rest. The texts of the keys break
//! ties, so the order of merges does not matter.
//!
//! What stays is limited by the number of cells and by the [bytes of their texts](super::budget): a
//! cell with long texts takes the capacity of several.

use std::cmp::Reverse;
use std::ops::Range;

use foldhash::{HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_64;

use super::budget::{MAX_CELLS_PER_KEY, OverflowOwner};
use super::cell::CellKey;
use super::evidence::{AnswerFrequencies, SimilarCounts};
use super::merge::remap_key;
use super::table::CellTable;
use super::time_counts::TimeScale;
use super::{Budget, CellCounts, ClientCount, Tally};
use crate::collections::intern::{IdRemap, SymbolTables};

/// The weight of clients and paths (hits plus error) and a hash that breaks ties, by number.
struct Weights {
    clients: Vec<(u64, u64)>,
    paths: Vec<(u64, u64)>,
}

/// The cells of one key.
struct KeyGroup {
    weight: u64,
    tie: u64,
    start: u32,
    len: u32,
    /// The capacity that its cells take.
    size: usize,
}

/// A cell that may stay.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// The key that it belongs to.
    owner: u64,
    hits: u64,
    error: u64,
    number: u32,
    /// The [capacity](Budget::capacity_of) that its texts take.
    size: u32,
    is_answered: bool,
}

/// The result of a selection: cells of one table, by number.
#[derive(Default)]
struct Selection {
    kept: Vec<u32>,
    dropped: Vec<u32>,
    /// The greatest weight of a key that was evicted altogether.
    floor: u64,
}

/// Cells that stay, and the table that holds them.
struct KeptCells {
    table: CellTable,
    kept: Vec<u32>,
}

/// Prunes a tally that exceeds its budget.
pub(super) fn prune(tally: &mut Tally, budget: Budget) {
    drop_unknown(tally);
    let is_over = budget.are_cells_exceeded(tally);
    tally
        .clients
        .resize(tally.names.clients.len(), ClientCount::default());
    tally.path_errors.resize(tally.names.paths.keys().len(), 0);
    let answer_frequencies = tally.fold_evidence();
    tally
        .minutes
        .trim(budget.minutes_after_prune(), &tally.names, |text| {
            budget.capacity_of(text)
        });
    tally.trim_app_evidence();
    let weights = Weights::new(tally);
    let mut overflow = std::mem::take(&mut tally.overflow);
    let mut table = std::mem::take(&mut tally.cells);
    let Selection { kept, dropped, .. } = if is_over {
        select_pairs(
            tally,
            &table,
            budget,
            &weights,
            &answer_frequencies,
            &mut overflow,
        )
    } else {
        let (kept, dropped) = table
            .numbers()
            .partition(|&number| table.key(number).is_pair());
        Selection {
            kept,
            dropped,
            floor: 0,
        }
    };
    // Only pairs have errors of their own.
    for &number in &dropped {
        *table.error_mut(number) = 0;
    }
    let by_path = select_paths(tally, &table, &dropped, budget, &weights, &mut overflow);
    let by_client = select_clients(tally, &mut table, &dropped, budget, &weights, &mut overflow);
    let mut pairs = KeptCells { table, kept };
    let overflow = select_overflow(tally, budget, &weights, overflow, &mut pairs);
    let present = KeptIds::new(
        tally,
        budget,
        &weights,
        [&pairs, &by_client, &by_path, &overflow],
    );
    present.raise_error_floors(tally, &weights);
    rebuild(tally, &present, [pairs, by_client], [by_path, overflow]);
    // Nothing was evicted, so all evidence is in the cells, as before.
    if tally.is_exact() {
        tally.evidence.clear_dropped();
    }
}

/// Drops the requests for unknown names of clients without another hit.
fn drop_unknown(tally: &mut Tally) {
    if tally.unknown.is_empty() {
        return;
    }
    let is_unknown: Vec<bool> = tally
        .names
        .rules
        .keys()
        .iter()
        .map(|list| list.iter().all(|rule| tally.unknown.contains(rule)))
        .collect();
    let has_hit: HashSet<u32> = tally
        .cells
        .keys()
        .filter(|key| !is_unknown[key.rules as usize])
        .map(|key| key.client)
        .collect();
    let Tally {
        cells,
        clients,
        scale,
        ..
    } = tally;
    let is_dropped = |key: &CellKey| {
        key.is_pair() && is_unknown[key.rules as usize] && !has_hit.contains(&key.client)
    };
    let (dropped, kept): (Vec<u32>, Vec<u32>) = cells
        .numbers()
        .partition(|&number| is_dropped(cells.key(number)));
    for number in dropped {
        let (key, hits) = (*cells.key(number), cells.hits(number));
        let at = key.client as usize;
        clients.resize(clients.len().max(at + 1), ClientCount::default());
        clients[at]
            .unmatched
            .add_requests(key.status(), key.bytes(), hits);
    }
    *scale = scale.without_cells();
    cells.retain(kept, |key| *key, Some(scale));
}

/// Selects the pairs that stay. The dropped cells include those that are no pair.
fn select_pairs(
    tally: &mut Tally,
    table: &CellTable,
    budget: Budget,
    weights: &Weights,
    answer_frequencies: &AnswerFrequencies,
    overflow: &mut CellTable,
) -> Selection {
    let (pairs, folded): (Vec<u32>, Vec<u32>) = table
        .numbers()
        .partition(|&number| table.key(number).is_pair());
    let mut in_overflow = overflow.pair_weights();
    let weigh = |cells: &[Candidate]| {
        let Candidate {
            owner: pair, error, ..
        } = cells[0];
        let hits = sum(cells) + in_overflow.get(&pair).map_or(0, |weight| weight.hits);
        (hits + error, weights.tie(pair))
    };
    let frequency =
        |key: &CellKey| answer_frequencies.similar_to(key, tally.names.rules.resolve(key.rules));
    let mut selection = select(
        table,
        pairs,
        CellKey::pair,
        (
            &weigh,
            TextSizes {
                names: &tally.names,
                budget,
            },
        ),
        budget.pairs(),
        Some((budget.answered(), &frequency)),
    );
    for &number in &selection.kept {
        in_overflow.remove(&table.key(number).pair());
    }
    // A pair may be in the overflow only, if its other cells matched rules that were dropped.
    let evicted = in_overflow
        .values()
        .map(|weight| weight.hits + weight.error);
    tally.error_floor.pairs = evicted.fold(tally.error_floor.pairs.max(selection.floor), u64::max);
    overflow.add_dropped(
        OverflowOwner::Pair,
        table,
        [&selection.kept, &selection.dropped],
        |_, _| {},
    );
    selection.dropped.extend(folded);
    selection
}

/// Selects the paths whose evicted pairs stay. `dropped` are the evicted cells of `cells`.
fn select_paths(
    tally: &mut Tally,
    cells: &CellTable,
    dropped: &[u32],
    budget: Budget,
    weights: &Weights,
    overflow: &mut CellTable,
) -> KeptCells {
    let mut table = std::mem::take(&mut tally.by_path);
    // Only these can fit, so the cells of other paths are not even copied.
    let sizes = TextSizes {
        names: &tally.names,
        budget,
    }
    .largest(cells, dropped, weights.paths.len(), |key| key.path);
    let is_heavy = heaviest_that_fit(&weights.paths, &sizes, budget.folded());
    for &number in dropped {
        let key = *cells.key(number);
        if !key.is_pair() {
            continue;
        }
        if is_heavy[key.path as usize] {
            table.insert_copy(
                CellKey {
                    client: SymbolTables::OTHER,
                    ..key
                },
                cells,
                number,
            );
        } else {
            tally.path_errors[key.path as usize] += cells.hits(number);
        }
    }
    let weigh = |cells: &[Candidate]| weights.paths[cells[0].owner as usize];
    let selection = select(
        &table,
        table.numbers().collect(),
        |key| key.path.into(),
        (
            &weigh,
            TextSizes {
                names: &tally.names,
                budget,
            },
        ),
        budget.folded(),
        None,
    );
    let count_lost = |key: &CellKey, hits| tally.path_errors[key.path as usize] += hits;
    overflow.add_dropped(
        OverflowOwner::Path,
        &table,
        [&selection.kept, &selection.dropped],
        count_lost,
    );
    KeptCells {
        table,
        kept: selection.kept,
    }
}

/// Selects the clients whose evicted pairs stay; other cells lose their client. Moves the samples
/// of the evicted cells.
fn select_clients(
    tally: &mut Tally,
    cells: &mut CellTable,
    dropped: &[u32],
    budget: Budget,
    weights: &Weights,
    overflow: &mut CellTable,
) -> KeptCells {
    // Only these can fit.
    let sizes = TextSizes {
        names: &tally.names,
        budget,
    }
    .largest(cells, dropped, weights.clients.len(), |key| key.client);
    let is_heavy = heaviest_that_fit(&weights.clients, &sizes, budget.folded());
    let (mut table, mut unattributed) = (CellTable::default(), CellTable::default());
    let mut scale = tally.scale.without_cells();
    for &number in dropped {
        let key = CellKey {
            path: SymbolTables::OTHER,
            ..*cells.key(number)
        };
        if is_heavy.get(key.client as usize) == Some(&true) {
            table.insert_moved(key, cells, number, Some(&mut scale));
            continue;
        }
        if let Some(count) = tally.clients.get_mut(key.client as usize) {
            count.error += cells.hits(number);
        }
        // Its hits stay in any case, so its text must be short.
        cells.cut_sample(number);
        unattributed.insert_moved(
            CellKey {
                client: SymbolTables::OTHER,
                ..key
            },
            cells,
            number,
            Some(&mut scale),
        );
    }
    let weigh = |cells: &[Candidate]| weights.clients[cells[0].owner as usize];
    let selection = select(
        &table,
        table.numbers().collect(),
        |key| key.client.into(),
        (
            &weigh,
            TextSizes {
                names: &tally.names,
                budget,
            },
        ),
        budget.folded(),
        None,
    );
    let count_lost = |key: &CellKey, hits| tally.clients[key.client as usize].error += hits;
    overflow.add_dropped(
        OverflowOwner::Client,
        &table,
        [&selection.kept, &selection.dropped],
        count_lost,
    );
    for number in selection.dropped {
        let key = CellKey {
            client: SymbolTables::OTHER,
            ..*table.key(number)
        };
        table.cut_sample(number);
        unattributed.insert_moved(key, &mut table, number, Some(&mut scale));
    }
    let mut kept = selection.kept;
    let mut unattributed = bounded_unattributed(unattributed, budget, &mut scale);
    for number in unattributed.numbers() {
        kept.push(table.len() as u32);
        let key = *unattributed.key(number);
        table.insert_moved(key, &mut unattributed, number, Some(&mut scale));
    }
    KeptCells { table, kept }
}

/// Selects the overflow, in `table`, that stays; what is dropped becomes an error. `pairs` are the cells of the
/// pairs that stay.
fn select_overflow(
    tally: &mut Tally,
    budget: Budget,
    weights: &Weights,
    mut table: CellTable,
    pairs: &mut KeptCells,
) -> KeptCells {
    let weigh = |cells: &[Candidate]| (sum(cells), weights.tie(cells[0].owner));
    let selection = select(
        &table,
        table.numbers().collect(),
        CellKey::pair,
        (
            &weigh,
            TextSizes {
                names: &tally.names,
                budget,
            },
        ),
        budget.overflow(),
        None,
    );
    let mut lost_by_pair: HashMap<u64, u64> = HashMap::default();
    for &number in &selection.dropped {
        let (key, hits) = (table.key(number), table.hits(number));
        match OverflowOwner::from_key(key) {
            OverflowOwner::Pair => *lost_by_pair.entry(key.pair()).or_default() += hits,
            OverflowOwner::Client => tally.clients[key.client as usize].error += hits,
            OverflowOwner::Path => tally.path_errors[key.path as usize] += hits,
        }
    }
    if !lost_by_pair.is_empty() {
        for (table, kept) in [
            (&mut pairs.table, &pairs.kept),
            (&mut table, &selection.kept),
        ] {
            for &number in kept {
                let lost_hits = lost_by_pair
                    .get(&table.key(number).pair())
                    .copied()
                    .unwrap_or(0);
                *table.error_mut(number) += lost_hits;
            }
        }
    }
    KeptCells {
        table,
        kept: selection.kept,
    }
}

/// The cells without a client and a path. If they are too many, those with the fewest hits lose
/// their host and size.
fn bounded_unattributed(mut cells: CellTable, budget: Budget, scale: &mut TimeScale) -> CellTable {
    if cells.len() <= budget.unattributed() {
        return cells;
    }
    let mut numbers: Vec<u32> = cells.numbers().collect();
    numbers.sort_unstable_by_key(|&number| (Reverse(cells.hits(number)), *cells.key(number)));
    // Some may have lost host and size before.
    let mut table = CellTable::default();
    for (rank, number) in numbers.into_iter().enumerate() {
        let key = *cells.key(number);
        let key = if rank < budget.unattributed() {
            key
        } else {
            key.without_host_and_size()
        };
        table.insert_moved(key, &mut cells, number, Some(scale));
    }
    table
}

/// The weight of a key by its cells, and a hash that breaks ties.
type WeightOf<'o> = dyn Fn(&[Candidate]) -> (u64, u64) + 'o;

/// How much capacity cells take.
#[derive(Clone, Copy)]
struct TextSizes<'n> {
    names: &'n SymbolTables,
    budget: Budget,
}

impl TextSizes<'_> {
    /// The capacity that a cell takes.
    fn of(self, table: &CellTable, number: u32) -> u32 {
        let CellKey {
            client, path, host, ..
        } = *table.key(number);
        self.budget
            .capacity_of(self.names.text_len(client, path, host) + table.text_len(number))
            as u32
    }

    /// The capacity that the largest of these cells takes, by the client or path to which they
    /// belong.
    fn largest(
        self,
        table: &CellTable,
        numbers: &[u32],
        len: usize,
        owner: impl Fn(&CellKey) -> u32,
    ) -> Vec<u32> {
        let mut largest = vec![0; len];
        for &number in numbers {
            if let Some(largest) = largest.get_mut(owner(table.key(number)) as usize) {
                *largest = self.of(table, number).max(*largest);
            }
        }
        largest
    }
}

/// Whether each number is one of the heaviest that fit if each takes at least this capacity, or one
/// more.
fn heaviest_that_fit(weights: &[(u64, u64)], sizes: &[u32], mut capacity: usize) -> Vec<bool> {
    let mut is_heavy = heaviest(weights, capacity);
    let mut ranked: Vec<usize> = (0..weights.len())
        .filter(|&number| is_heavy[number])
        .collect();
    ranked.sort_unstable_by_key(|&number| (Reverse(weights[number].0), weights[number].1));
    for number in ranked {
        is_heavy[number] = capacity > 0;
        capacity = capacity.saturating_sub(sizes[number].max(1) as usize);
    }
    is_heavy
}

/// The capacity that those of a key's cells take that are kept, or more.
fn kept_size(cells: &[Candidate]) -> usize {
    if cells.len() <= MAX_CELLS_PER_KEY {
        return cells.iter().map(|cell| cell.size as usize).sum();
    }
    // Which of them are kept is not known yet.
    MAX_CELLS_PER_KEY
        * cells
            .iter()
            .map(|cell| cell.size as usize)
            .max()
            .unwrap_or(1)
}

/// The capacity for keys with answers, and how frequent similar answers are.
type AnsweredSlots<'o> = (usize, &'o dyn Fn(&CellKey) -> SimilarCounts);

/// Keeps the heaviest keys while `capacity` lasts for their cells, then keys with answers while
/// their capacity lasts, the rarest answers first. Of each key it keeps the cell with the most
/// hits, then the answered ones, then those with the most hits.
fn select(
    table: &CellTable,
    numbers: Vec<u32>,
    owner: impl Fn(&CellKey) -> u64,
    (weigh, sizes): (&WeightOf<'_>, TextSizes<'_>),
    capacity: usize,
    answered: Option<AnsweredSlots<'_>>,
) -> Selection {
    let candidate = |&number: &u32| Candidate {
        size: sizes.of(table, number),
        ..Candidate::new(table, number, &owner)
    };
    let mut cells: Vec<Candidate> = numbers.iter().map(candidate).collect();
    cells.sort_unstable_by_key(|cell| (cell.owner, cell.number));
    let mut start = 0;
    let group = |cells: &[Candidate]| {
        let (weight, tie) = weigh(cells);
        start += cells.len() as u32;
        KeyGroup {
            weight,
            tie,
            start: start - cells.len() as u32,
            len: cells.len() as u32,
            size: kept_size(cells),
        }
    };
    let mut groups: Vec<KeyGroup> = cells
        .chunk_by(|a, b| a.owner == b.owner)
        .map(group)
        .collect();
    let fits = heaviest_groups(&mut groups, capacity);
    let rest = groups.split_off(fits);
    let (of_answered, others): (Vec<KeyGroup>, Vec<KeyGroup>) =
        rest.into_iter().partition(|group| {
            answered.is_some() && group.cells(&cells).iter().any(|cell| cell.is_answered)
        });
    let floor = others.iter().map(|group| group.weight).max().unwrap_or(0);
    let floor = answered.map_or(floor, |slots| {
        floor.max(keep_rarest(&mut groups, of_answered, table, &cells, slots))
    });
    let frequency = answered.map(|(_, frequency)| frequency);
    // By number, so that the caller reads the table from its start to its end.
    let mut is_kept = vec![false; table.len()];
    for group in groups {
        rank(table, &mut cells[group.range()], frequency);
        group.cells(&cells)[..group.kinds()]
            .iter()
            .for_each(|cell| is_kept[cell.number as usize] = true);
    }
    let (kept, dropped) = numbers
        .into_iter()
        .partition(|&number| is_kept[number as usize]);
    Selection {
        kept,
        dropped,
        floor,
    }
}

/// Keeps keys with answers while their capacity lasts, the rarest answers first. Returns the
/// greatest weight of the others.
fn keep_rarest(
    kept: &mut Vec<KeyGroup>,
    groups: Vec<KeyGroup>,
    table: &CellTable,
    cells: &[Candidate],
    slots: AnsweredSlots<'_>,
) -> u64 {
    let (mut capacity, frequency) = slots;
    let rank = |group: &KeyGroup| {
        let answered = group.cells(cells).iter().filter(|cell| cell.is_answered);
        (
            answered.map(|cell| frequency(table.key(cell.number))).min(),
            Reverse(group.weight),
            group.tie,
        )
    };
    let mut ranked: Vec<_> = groups
        .into_iter()
        .map(|group| (rank(&group), group))
        .collect();
    ranked.sort_unstable_by_key(|(rank, _)| *rank);
    let mut floor = 0;
    for (_, group) in ranked {
        if group.size <= capacity {
            capacity -= group.size;
            kept.push(group);
        } else {
            floor = floor.max(group.weight);
        }
    }
    floor
}

/// Sorts the heaviest keys to the front. Returns how many fit: all keys after the first that does
/// not fit weigh no more than all that stay.
fn heaviest_groups(groups: &mut [KeyGroup], mut capacity: usize) -> usize {
    let by_weight = |group: &KeyGroup| (Reverse(group.weight), group.tie);
    // Each key has a cell, so at most this number of keys fits.
    let most = capacity.min(groups.len());
    if most < groups.len() {
        groups.select_nth_unstable_by_key(most, by_weight);
    }
    groups[..most].sort_unstable_by_key(by_weight);
    let fits = groups[..most].iter().take_while(|group| {
        let fits = group.size <= capacity;
        capacity -= if fits { group.size } else { 0 };
        fits
    });
    fits.count()
}

/// Sorts the cells of a key that has too many: those that are kept come first.
fn rank(
    table: &CellTable,
    cells: &mut [Candidate],
    frequency: Option<&dyn Fn(&CellKey) -> SimilarCounts>,
) {
    if cells.len() <= MAX_CELLS_PER_KEY {
        return;
    }
    cells.sort_by_cached_key(|cell| {
        let key = *table.key(cell.number);
        let rarest = frequency
            .filter(|_| cell.is_answered)
            .map(|frequency| frequency(&key));
        (Reverse(cell.is_answered), rarest, Reverse(cell.hits), key)
    });
    // Of many answers with one hit each, none is worth the cell that holds most of the weight.
    if let Some(heaviest) = (0..cells.len()).max_by_key(|&at| (cells[at].hits, Reverse(at))) {
        cells[..=heaviest].rotate_right(1);
    }
}

impl Candidate {
    fn new(table: &CellTable, number: u32, owner: impl Fn(&CellKey) -> u64) -> Self {
        let key = table.key(number);
        Self {
            owner: owner(key),
            hits: table.hits(number),
            error: table.error(number),
            number,
            size: 1,
            is_answered: key.answered(),
        }
    }
}

impl KeyGroup {
    /// How many of its cells are kept if the key is.
    fn kinds(&self) -> usize {
        (self.len as usize).min(MAX_CELLS_PER_KEY)
    }

    fn range(&self) -> Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }

    fn cells<'c>(&self, cells: &'c [Candidate]) -> &'c [Candidate] {
        &cells[self.range()]
    }
}

impl KeptCells {
    fn keys(&self) -> impl Iterator<Item = &CellKey> {
        self.kept.iter().map(|&number| self.table.key(number))
    }
}

impl Weights {
    fn new(tally: &Tally) -> Self {
        let client = |number: u32| tally.names.clients.resolve(number);
        let mut clients: Vec<_> = (0..)
            .zip(&tally.clients)
            .map(|(number, count)| (count.error, client(number).stable_hash()))
            .collect();
        let texts = tally.names.paths.keys();
        let mut paths: Vec<_> = texts
            .iter()
            .zip(&tally.path_errors)
            .map(|(text, error)| (*error, xxh3_64(text)))
            .collect();
        let overflow = tally
            .overflow
            .iter()
            .filter(|(counts, _)| !counts.key.is_pair());
        for (CellCounts { key, hits, .. }, _) in tally
            .cells
            .iter()
            .chain(tally.by_path.iter())
            .chain(overflow)
        {
            for (weights, number) in [(&mut clients, key.client), (&mut paths, key.path)] {
                if let Some((weight, _)) = weights.get_mut(number as usize) {
                    *weight += hits;
                }
            }
        }
        Self { clients, paths }
    }

    /// A hash of a pair, client or path that breaks ties, by [`CellKey::pair`].
    fn tie(&self, pair: u64) -> u64 {
        let tie =
            |of: &[(u64, u64)], number: u64| of.get(number as usize).map_or(0, |(_, tie)| *tie);
        tie(&self.clients, pair >> 32).rotate_left(1) ^ tie(&self.paths, pair & u64::from(u32::MAX))
    }
}

fn sum(cells: &[Candidate]) -> u64 {
    cells.iter().map(|cell| cell.hits).sum()
}

/// The clients, paths and hosts that stay, by number.
pub(super) struct KeptIds {
    pub(super) clients: Vec<bool>,
    pub(super) paths: Vec<bool>,
    pub(super) hosts: HashSet<u32>,
}

impl KeptIds {
    fn new(tally: &Tally, budget: Budget, weights: &Weights, cells: [&KeptCells; 4]) -> Self {
        let all = tally.clients.len() <= budget.clients
            && tally.names.clients.bytes() <= budget.text_of_names();
        let mut clients = vec![all; tally.clients.len()];
        let all_paths = tally.path_errors.len() <= budget.paths()
            && tally.names.paths.bytes() <= budget.text_of_names();
        let mut paths = vec![all_paths; tally.path_errors.len()];
        let mut hosts = HashSet::default();
        for key in cells.into_iter().flat_map(KeptCells::keys) {
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
            few.kept_clients()
                .iter()
                .for_each(|&client| clients[client as usize] = true);
        }
        if !all {
            let requests = |count: &ClientCount| count.requests + count.missed;
            let by_requests: Vec<_> = tally
                .clients
                .iter()
                .zip(&weights.clients)
                .map(|(count, (_, tie))| (requests(count), *tie))
                .collect();
            for weights in [&weights.clients, &by_requests] {
                let heavy = heaviest(weights, budget.heavy_clients());
                clients
                    .iter_mut()
                    .zip(heavy)
                    .for_each(|(present, is_heavy)| *present |= is_heavy);
            }
        }
        Self {
            clients,
            paths,
            hosts,
        }
    }

    /// Raises the floors to the weight of the evicted keys: a key that is new later may be one of
    /// them.
    fn raise_error_floors(&self, tally: &mut Tally, weights: &Weights) {
        let floor = &mut tally.error_floor;
        let absent = |present: &[bool]| -> Vec<usize> {
            (0..present.len())
                .filter(|&number| !present[number])
                .collect()
        };
        for number in absent(&self.clients) {
            let count = &tally.clients[number];
            floor.clients = floor.clients.max(weights.clients[number].0);
            floor.requests = floor.requests.max(count.requests + count.missed);
        }
        for number in absent(&self.paths) {
            floor.paths = floor.paths.max(weights.paths[number].0);
        }
    }

    /// Tables of what stays, and the new numbers.
    pub(super) fn renumber(&self, old: SymbolTables) -> (SymbolTables, IdRemap) {
        let mut names = SymbolTables::default();
        let number = |names: &mut SymbolTables, number: u32| {
            if self.clients[number as usize] {
                names.clients.intern_client(old.clients.resolve(number))
            } else {
                SymbolTables::OTHER
            }
        };
        let new = IdRemap {
            clients: (0..self.clients.len() as u32)
                .map(|client| number(&mut names, client))
                .collect(),
            paths: old
                .paths
                .keys()
                .iter()
                .zip(&self.paths)
                .map(|(path, &stays)| {
                    if stays {
                        names.paths.intern(&**path, Box::from)
                    } else {
                        SymbolTables::OTHER
                    }
                })
                .collect(),
            hosts: (0..)
                .zip(old.hosts.keys())
                .map(|(host, text)| {
                    if self.hosts.contains(&host) {
                        names.hosts.intern(&**text, Box::from)
                    } else {
                        SymbolTables::NO_HOST
                    }
                })
                .collect(),
            rules: (0..old.rules.keys().len() as u32).collect(),
        };
        names.rules = old.rules;
        (names, new)
    }
}

/// Whether each number is one of the `most` heaviest, by its weight and the hash that breaks ties.
fn heaviest(weights: &[(u64, u64)], most: usize) -> Vec<bool> {
    if weights.len() <= most {
        return vec![true; weights.len()];
    }
    let mut ranked: Vec<_> = (0..)
        .zip(weights)
        .map(|(number, &(weight, tie))| (Reverse(weight), tie, number))
        .collect();
    ranked.select_nth_unstable(most);
    let mut is_heavy = vec![false; weights.len()];
    ranked[..most]
        .iter()
        .for_each(|&(.., number): &(_, _, usize)| is_heavy[number] = true);
    is_heavy
}

/// Renumbers what stays. What has no numbers of clients, paths or hosts is left as it is.
fn rebuild(tally: &mut Tally, present: &KeptIds, cells: [KeptCells; 2], besides: [KeptCells; 2]) {
    let (names, new) = present.renumber(std::mem::take(&mut tally.names));
    let mut scale = tally.scale.without_cells();
    let [by_path, overflow] = besides.map(|kept| retained(kept, &new, None));
    let [
        pairs,
        KeptCells {
            table: mut by_client,
            kept,
        },
    ] = cells;
    let mut cells = retained(pairs, &new, Some(&mut scale));
    for number in kept {
        cells.insert_moved(
            remap_key(by_client.key(number), &new),
            &mut by_client,
            number,
            Some(&mut scale),
        );
    }
    let stay = |present: &[bool]| -> Vec<usize> {
        (0..present.len())
            .filter(|&number| present[number])
            .collect()
    };
    tally.names = names;
    tally.clients = stay(&present.clients)
        .into_iter()
        .map(|number| tally.clients[number])
        .collect();
    tally.path_errors = stay(&present.paths)
        .into_iter()
        .map(|number| tally.path_errors[number])
        .collect();
    (tally.cells, tally.by_path, tally.overflow) = (cells, by_path, overflow);
    tally.scale = scale;
    let minutes = std::mem::take(&mut tally.minutes);
    tally.minutes.merge(minutes, &new);
    tally.evidence = std::mem::take(&mut tally.evidence).with_hosts(&new.hosts);
    let app_evidence = std::mem::take(&mut tally.app_evidence);
    tally.app_evidence.merge(
        &app_evidence,
        |(input, host)| (input, new.hosts[host as usize]),
        |client| new.client(client),
    );
}

/// The table of the cells that stay, with new numbers.
fn retained(
    KeptCells { mut table, kept }: KeptCells,
    new: &IdRemap,
    scale: Option<&mut TimeScale>,
) -> CellTable {
    table.retain(kept, |key| remap_key(key, new), scale);
    table
}
