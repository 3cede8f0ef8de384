//! Lists of paths that clients of several networks worked through: one program, or one hand, behind many addresses.
//!
//! Two clients have the same list when what they asked for is nearly the same: a request gets lost, a visit is cut off by
//! the end of the log, or a page of the site is asked for besides. Paths that only one client asked for do not count, as
//! programs ask for random names to see what a site says to them. Which clients share a list does not depend on the order
//! they come in, only on what they asked for.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Paths of a list. A few strangers may share a few habits; a list is longer.
const PATHS: usize = 5;

/// Networks that worked through it. Two may be one person at home and at work.
const NETWORKS: usize = 3;

/// Two sets of paths are one list when at least so much of what is in either is in both: four of five.
const ALIKE: (usize, usize) = (4, 5);

/// Lists that a client's is compared with at most, the longest first. Who invents lists by the thousand only hides in
/// them what he does himself.
const COMPARED: usize = 64;

/// One list, and who worked through it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Campaign {
    /// The paths that at least half of its clients asked for, by number, sorted by their text.
    pub paths: Vec<u32>,
    /// Its clients, by number, sorted.
    pub clients: Vec<u32>,
    /// Their networks.
    pub networks: usize,
}

/// Finds the campaigns among pairs of a client and a path it asked for, both numbers, in any order. The longest lists come
/// first.
pub fn campaigns<'a, N: Eq + Hash>(
    mut asked: Vec<(u32, u32)>,
    network: impl Fn(u32) -> N,
    text: impl Fn(u32) -> &'a [u8],
) -> Vec<Campaign> {
    asked.sort_unstable();
    asked.dedup();
    let mut askers: HashMap<u32, u32> = HashMap::new();
    for (_, path) in &asked {
        *askers.entry(*path).or_default() += 1;
    }
    asked.retain(|(_, path)| askers[path] > 1);
    let mut of_clients: Vec<&[(u32, u32)]> = asked.chunk_by(|a, b| a.0 == b.0).collect();
    of_clients.retain(|pairs| pairs.len() >= PATHS);
    let paths = by_text(&of_clients, text);
    let lists = lists(&of_clients, &paths);
    alike(&lists).iter().filter_map(|group| campaign(group, &paths, &network)).collect()
}

/// All paths of these pairs, sorted by their text. A path's place among them means the same whatever its number.
fn by_text<'a>(of_clients: &[&[(u32, u32)]], text: impl Fn(u32) -> &'a [u8]) -> Vec<u32> {
    let mut paths: Vec<u32> = of_clients.iter().flat_map(|pairs| pairs.iter().map(|(_, path)| *path)).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.sort_unstable_by_key(|path| text(*path));
    paths
}

/// What one client or more asked for, exactly.
struct List {
    /// Places of paths, sorted.
    places: Vec<u32>,
    /// Who asked for it.
    clients: Vec<u32>,
}

/// Every list once, the longest first.
fn lists(of_clients: &[&[(u32, u32)]], paths: &[u32]) -> Vec<List> {
    let places: HashMap<u32, u32> = paths.iter().copied().zip(0..).collect();
    let mut lists: HashMap<Vec<u32>, Vec<u32>> = HashMap::new();
    for pairs in of_clients {
        let mut list: Vec<u32> = pairs.iter().map(|(_, path)| places[path]).collect();
        list.sort_unstable();
        lists.entry(list).or_default().push(pairs[0].0);
    }
    let mut lists: Vec<List> = lists.into_iter().map(|(places, clients)| List { places, clients }).collect();
    lists.sort_unstable_by(|a, b| (b.places.len(), &a.places).cmp(&(a.places.len(), &b.places)));
    lists
}

/// Puts each list to the first of those before it that it is like; where there is none, others may be like it.
///
/// Lists that are alike share one of their rarest paths: so many that without them too little is left to share. Only
/// those that do are compared.
fn alike(lists: &[List]) -> Vec<Vec<&List>> {
    let mut in_lists: HashMap<u32, u32> = HashMap::new();
    for place in lists.iter().flat_map(|list| &list.places) {
        *in_lists.entry(*place).or_default() += 1;
    }
    let mut groups: Vec<Vec<&List>> = Vec::new();
    let mut by_rare_path: HashMap<u32, Vec<usize>> = HashMap::new();
    for list in lists {
        let mut rare = list.places.clone();
        rare.sort_unstable_by_key(|place| (in_lists[place], *place));
        rare.truncate(list.places.len() - (list.places.len() * ALIKE.0).div_ceil(ALIKE.1) + 1);
        let mut near: Vec<usize> =
            rare.iter().filter_map(|place| by_rare_path.get(place)).flat_map(|groups| groups.iter().take(COMPARED)).copied().collect();
        near.sort_unstable();
        near.dedup();
        if let Some(group) = near.into_iter().take(COMPARED).find(|&group| is_like(list, groups[group][0])) {
            groups[group].push(list);
            continue;
        }
        for place in rare {
            by_rare_path.entry(place).or_default().push(groups.len());
        }
        groups.push(vec![list]);
    }
    groups
}

fn is_like(a: &List, b: &List) -> bool {
    let shorter = a.places.len().min(b.places.len());
    let longer = a.places.len().max(b.places.len());
    // The shorter one may be whole in the longer one, and no more.
    if shorter * ALIKE.1 < longer * ALIKE.0 {
        return false;
    }
    let both = a.places.iter().filter(|place| b.places.binary_search(place).is_ok()).count();
    both * ALIKE.1 >= (shorter + longer - both) * ALIKE.0
}

fn campaign<N: Eq + Hash>(group: &[&List], paths: &[u32], network: impl Fn(u32) -> N) -> Option<Campaign> {
    let mut clients: Vec<u32> = group.iter().flat_map(|list| &list.clients).copied().collect();
    clients.sort_unstable();
    let networks = clients.iter().map(|client| network(*client)).collect::<HashSet<_>>().len();
    let mut asked_by: HashMap<u32, usize> = HashMap::new();
    for (place, list) in group.iter().flat_map(|list| list.places.iter().map(move |place| (*place, list))) {
        *asked_by.entry(place).or_default() += list.clients.len();
    }
    asked_by.retain(|_, askers| 2 * *askers >= clients.len());
    let mut places: Vec<u32> = asked_by.into_keys().collect();
    places.sort_unstable();
    let paths: Vec<u32> = places.into_iter().map(|place| paths[place as usize]).collect();
    (networks >= NETWORKS && paths.len() >= PATHS).then_some(Campaign { paths, clients, networks })
}
