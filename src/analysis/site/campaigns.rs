//! Lists of paths that clients of several networks worked through: one program, or one hand, behind many addresses.
//!
//! Two clients have the same list when what they asked for is nearly the same: a request gets lost, a visit is cut off by
//! the end of the log, or a page of the site is asked for besides. Paths that only one client asked for do not count, as
//! programs ask for random names to see what a site says to them. Which clients share a list does not depend on the order
//! they come in, only on what they asked for.

use std::hash::Hash;

use foldhash::{HashMap, HashSet};

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
pub struct CampaignGroup {
    /// The paths that at least half of its clients asked for, by number, sorted by their text.
    pub paths: Vec<u32>,
    /// Its clients, by number, sorted.
    pub clients: Vec<u32>,
    /// Their networks.
    pub networks: usize,
}

/// Finds the campaigns among pairs of a client and a path it asked for, both numbers, in any order. The longest lists come
/// first.
pub fn find_campaigns<'a, N: Eq + Hash>(
    mut asked: Vec<(u32, u32)>,
    network: impl Fn(u32) -> N,
    text: impl Fn(u32) -> &'a [u8],
) -> Vec<CampaignGroup> {
    asked.sort_unstable();
    asked.dedup();
    let mut request_clients: HashMap<u32, u32> = HashMap::default();
    for (_, path) in &asked {
        *request_clients.entry(*path).or_default() += 1;
    }
    asked.retain(|(_, path)| request_clients[path] > 1);
    let mut of_clients: Vec<&[(u32, u32)]> = asked.chunk_by(|a, b| a.0 == b.0).collect();
    of_clients.retain(|pairs| pairs.len() >= PATHS);
    let paths = by_text(&of_clients, text);
    let lists = lists(&of_clients, &paths);
    group_similar(&lists).iter().filter_map(|group| campaign(group, &paths, &network)).collect()
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
struct PathList {
    /// Places of paths, sorted.
    places: Vec<u32>,
    /// Who asked for it.
    clients: Vec<u32>,
}

/// Every list once, the longest first.
fn lists(of_clients: &[&[(u32, u32)]], paths: &[u32]) -> Vec<PathList> {
    let places: HashMap<u32, u32> = paths.iter().copied().zip(0..).collect();
    let mut lists: HashMap<Vec<u32>, Vec<u32>> = HashMap::default();
    for pairs in of_clients {
        let mut list: Vec<u32> = pairs.iter().map(|(_, path)| places[path]).collect();
        list.sort_unstable();
        lists.entry(list).or_default().push(pairs[0].0);
    }
    let mut lists: Vec<PathList> = lists.into_iter().map(|(places, clients)| PathList { places, clients }).collect();
    lists.sort_unstable_by(|a, b| (b.places.len(), &a.places).cmp(&(a.places.len(), &b.places)));
    lists
}

/// Puts each list to the first of those before it that it is like; where there is none, others may be like it.
///
/// Lists that are group_similar share one of their rarest paths: so many that without them too little is left to share. Only
/// those that do are compared.
fn group_similar(lists: &[PathList]) -> Vec<Vec<&PathList>> {
    let mut in_lists: HashMap<u32, u32> = HashMap::default();
    for place in lists.iter().flat_map(|list| &list.places) {
        *in_lists.entry(*place).or_default() += 1;
    }
    let mut groups: Vec<Vec<&PathList>> = Vec::new();
    let mut by_rare_path: HashMap<u32, Vec<usize>> = HashMap::default();
    for list in lists {
        let mut rare = list.places.clone();
        rare.sort_unstable_by_key(|place| (in_lists[place], *place));
        rare.truncate(list.places.len() - (list.places.len() * ALIKE.0).div_ceil(ALIKE.1) + 1);
        let mut near: Vec<usize> =
            rare.iter().filter_map(|place| by_rare_path.get(place)).flat_map(|groups| groups.iter().take(COMPARED)).copied().collect();
        near.sort_unstable();
        near.dedup();
        if let Some(group) = near.into_iter().take(COMPARED).find(|&group| is_similar(list, groups[group][0])) {
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

fn is_similar(a: &PathList, b: &PathList) -> bool {
    let shorter = a.places.len().min(b.places.len());
    let longer = a.places.len().max(b.places.len());
    // The shorter one may be whole in the longer one, and no more.
    if shorter * ALIKE.1 < longer * ALIKE.0 {
        return false;
    }
    let both = a.places.iter().filter(|place| b.places.binary_search(place).is_ok()).count();
    both * ALIKE.1 >= (shorter + longer - both) * ALIKE.0
}

fn campaign<N: Eq + Hash>(group: &[&PathList], paths: &[u32], network: impl Fn(u32) -> N) -> Option<CampaignGroup> {
    let mut clients: Vec<u32> = group.iter().flat_map(|list| &list.clients).copied().collect();
    clients.sort_unstable();
    let networks = clients.iter().map(|client| network(*client)).collect::<HashSet<_>>().len();
    let mut asked_by: HashMap<u32, usize> = HashMap::default();
    for (place, list) in group.iter().flat_map(|list| list.places.iter().map(move |place| (*place, list))) {
        *asked_by.entry(place).or_default() += list.clients.len();
    }
    asked_by.retain(|_, request_clients| 2 * *request_clients >= clients.len());
    let mut places: Vec<u32> = asked_by.into_keys().collect();
    places.sort_unstable();
    let paths: Vec<u32> = places.into_iter().map(|place| paths[place as usize]).collect();
    (networks >= NETWORKS && paths.len() >= PATHS).then_some(CampaignGroup { paths, clients, networks })
}

#[cfg(test)]
mod tests {
    use crate::analysis::site::campaigns::*;
    use proptest::prelude::*;

    /// Clients are numbered from 0; ten of them are one network.
    fn found(asked: &[(u32, &str)]) -> Vec<(Vec<String>, Vec<u32>, usize)> {
        let mut texts: Vec<&str> = asked.iter().map(|(_, path)| *path).collect();
        texts.sort_unstable_by_key(|text| std::cmp::Reverse(*text));
        texts.dedup();
        let number = |path: &str| texts.iter().position(|text| *text == path).unwrap() as u32;
        let pairs = asked.iter().map(|(client, path)| (*client, number(path))).collect();
        let found = find_campaigns(pairs, |client| client / 10, |path| texts[path as usize].as_bytes());
        let named =
            |one: CampaignGroup| (one.paths.iter().map(|&path| texts[path as usize].to_owned()).collect(), one.clients, one.networks);
        found.into_iter().map(named).collect()
    }

    fn asks<'a>(client: u32, paths: &[&'a str]) -> Vec<(u32, &'a str)> {
        paths.iter().map(|path| (client, *path)).collect()
    }

    const LIST: [&str; 6] = ["/a", "/b", "/c", "/d", "/e", "/f"];

    #[test]
    fn five_paths_of_three_networks() {
        let of =
            |paths: &[&'static str], clients: &[u32]| found(&clients.iter().flat_map(|client| asks(*client, paths)).collect::<Vec<_>>());
        assert_eq!(of(&LIST[..5], &[1, 11, 21]), [(LIST[..5].iter().map(ToString::to_string).collect(), vec![1, 11, 21], 3)]);
        assert_eq!(of(&LIST[..5], &[1, 2, 21]), [], "neighbours are one");
        assert_eq!(of(&LIST[..4], &[1, 11, 21]), [], "four paths are too few");
        assert_eq!(of(&LIST, &[]), []);
    }

    #[test]
    fn one_path_more_or_less_is_the_same_list() {
        let mut asked = [1, 11, 21].into_iter().flat_map(|client| asks(client, &LIST)).collect::<Vec<_>>();
        asked.retain(|pair| *pair != (11, "/c"));
        // Random names are nobody's list, however many.
        asked.extend([(1, "/random-1"), (11, "/random-2"), (21, "/random-3"), (21, "/random-4"), (21, "/random-5")]);
        let expected: Vec<String> = LIST.iter().map(ToString::to_string).collect();
        assert_eq!(found(&asked), [(expected.clone(), vec![1, 11, 21], 3)]);
        // One of the site's own pages, which another client asked for as well.
        asked.push((11, "/c"));
        asked.extend([(1, "/page"), (99, "/page")]);
        assert_eq!(found(&asked), [(expected, vec![1, 11, 21], 3)]);
    }

    #[test]
    fn two_lists_stay_two() {
        let other = ["/a", "/v", "/w", "/x", "/y", "/z"];
        let asked: Vec<_> =
            [1, 11, 21].into_iter().flat_map(|c| asks(c, &LIST)).chain([31, 41, 51].into_iter().flat_map(|c| asks(c, &other))).collect();
        assert_eq!(found(&asked).into_iter().map(|one| one.1).collect::<Vec<_>>(), [[1, 11, 21], [31, 41, 51]]);
    }

    /// Many lists that all begin the same are not compared one by one with each other.
    #[test]
    fn many_lists_take_no_time() {
        let names: Vec<String> = (0..4_000).map(|n| format!("/{n:04}")).collect();
        let mut asked = Vec::new();
        for client in 0..20_000_u32 {
            asked.extend(asks(client, &["/x", "/y"]));
            let own = |n: u32| names[(client.wrapping_mul(2_654_435_761).rotate_left(n * 7) % 4_000) as usize].as_str();
            asked.extend((0..4).map(|n| (client, own(n))));
        }
        for client in [1, 11, 21] {
            asked.retain(|(other, _)| *other != client);
            asked.extend(asks(client, &LIST));
        }
        assert!(found_by_text(&asked).iter().any(|paths| paths == &LIST));
    }

    fn found_by_text<'a>(asked: &[(u32, &'a str)]) -> Vec<Vec<&'a str>> {
        let mut numbers = HashMap::default();
        let mut texts = Vec::new();
        let mut number = |text: &'a str| {
            *numbers.entry(text).or_insert_with(|| {
                texts.push(text);
                texts.len() as u32 - 1
            })
        };
        let pairs = asked.iter().map(|(client, path)| (*client, number(path))).collect();
        let found = find_campaigns(pairs, |client| client / 10, |path| texts[path as usize].as_bytes());
        found.into_iter().map(|one| one.paths.iter().map(|path| texts[*path as usize]).collect()).collect()
    }

    /// The definition, word by word: no rare paths, no places.
    fn slowly(asked: &[(u32, u8)]) -> Vec<(Vec<u8>, Vec<u32>, usize)> {
        use std::collections::{BTreeMap, BTreeSet};
        let mut paths: BTreeMap<u32, BTreeSet<u8>> = BTreeMap::new();
        for (client, path) in asked {
            if asked.iter().any(|(other, of_other)| other != client && of_other == path) {
                paths.entry(*client).or_default().insert(*path);
            }
        }
        let mut sets: Vec<BTreeSet<u8>> = paths.values().filter(|set| set.len() >= 5).cloned().collect();
        sets.sort_by_key(|set| (std::cmp::Reverse(set.len()), set.clone()));
        sets.dedup();
        let mut groups: Vec<Vec<BTreeSet<u8>>> = Vec::new();
        for set in sets {
            let like = |group: &&mut Vec<BTreeSet<u8>>| 5 * group[0].intersection(&set).count() >= 4 * group[0].union(&set).count();
            match groups.iter_mut().find(like) {
                Some(group) => group.push(set),
                None => groups.push(vec![set]),
            }
        }
        let campaign = |group: Vec<BTreeSet<u8>>| {
            let clients: Vec<u32> = paths.iter().filter(|(_, set)| group.contains(set)).map(|(client, _)| *client).collect();
            let half = |path: &u8| 2 * clients.iter().filter(|client| paths[client].contains(path)).count() >= clients.len();
            let list: Vec<u8> = (0..=u8::MAX).filter(half).collect();
            let networks = clients.iter().map(|client| client / 10).collect::<BTreeSet<_>>().len();
            (list.len() >= 5 && networks >= 3).then_some((list, clients, networks))
        };
        groups.into_iter().filter_map(campaign).collect()
    }

    proptest! {
        #[test]
        fn as_the_definition_says(
            lists in prop::collection::vec((0..4_u8, prop::collection::vec(0..20_u8, 0..4), 0..120_u32), 0..30),
            shift: u8, turn in 0..200_usize,
        ) {
            // Clients with one of four lists, each without some paths or with some of its own.
            let list = |number: u8| (0..20_u8).filter(move |path| (path / 3) % 4 != number || path % 5 == number);
            let mut asked: Vec<(u32, u8)> = Vec::new();
            for (number, odd, client) in &lists {
                asked.extend(list(*number).filter(|path| !odd.contains(path)).map(|path| (*client, path)));
                asked.extend(odd.iter().filter(|path| !list(*number).any(|of| of == **path)).map(|path| (*client, *path)));
            }
            let expected = slowly(&asked);
            // Other numbers for the same paths, in another order.
            let turn = turn % asked.len().max(1);
            asked.rotate_left(turn);
            let number = |path: u8| u32::from(path ^ shift);
            let texts: Vec<[u8; 1]> = (0..=u8::MAX).map(|number| [number ^ shift]).collect();
            let pairs = asked.iter().map(|(client, path)| (*client, number(*path))).collect();
            let found = find_campaigns(pairs, |client| client / 10, |path| &texts[path as usize]);
            let found: Vec<_> =
                found.into_iter().map(|one| (one.paths.iter().map(|path| texts[*path as usize][0]).collect(), one.clients, one.networks)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
