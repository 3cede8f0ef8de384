//! Campaigns: lists of paths that clients of several networks requested, such as the runs of one
//! tool from many addresses; and logins that clients of several networks tried out.
//!
//! Two clients have the same list if their paths are nearly the same: a request may be lost, the
//! log may end during a visit, or the client may request a page of the site as well. Paths that
//! only one client requested do not count, because tools request random names to see how a site
//! answers. The result depends on the requests only, not on the order of the clients.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::Hash;

use foldhash::{HashMap, HashSet};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::floods;
use super::model::{Campaign, Guesses, ReportModel};
use super::rows::{self, RowItem};
use crate::judge::report_input::ReportInput;
use crate::judge::rule_status::LogAnalysis;
use crate::log::client::{Client, Network};
use crate::log::finding::{RuleId, Severity};
use crate::log::time::LogTime;
use crate::tally::union_span;
use crate::text::number::{counted, grouped};
use crate::text::redact::LogText;

/// Seconds of a day.
const DAY_SECONDS: i64 = 86_400;

/// Sample paths per row.
const SAMPLES: usize = 3;

/// The rows of campaigns, the most severe first, then those of most networks.
pub(crate) fn campaign_rows<'a>(
    report_input: &ReportInput<'a>,
    items: &[RowItem<'a>],
) -> Vec<Campaign<'a>> {
    let tally = report_input.tally;
    let requested = items
        .iter()
        .filter(|item| counts(report_input, item))
        .map(|item| (item.view.client, item.view.path))
        .collect();
    let groups = find_campaigns(
        requested,
        |client| Network::from_client(tally.client(client)),
        |path| tally.path(path),
    );
    let lists = || groups.iter().enumerate();
    let of_client: HashMap<u32, usize> = lists()
        .flat_map(|(number, group)| group.clients.iter().map(move |&client| (client, number)))
        .collect();
    let mut sums: Vec<CampaignSum<'_, 'a>> = groups.iter().map(CampaignSum::new).collect();
    for item in items {
        if let Some(number) = of_client.get(&item.view.client) {
            sums[*number].add(item);
        }
    }
    let mut rows: Vec<_> = sums
        .into_iter()
        .filter_map(|sum| sum.row(report_input))
        .collect();
    rows.sort_by(|a, b| {
        let order =
            |row: &Campaign<'_>| Reverse((row.severity, row.networks, row.answered, row.hits));
        (order(a), &a.key).cmp(&(order(b), &b.key))
    });
    rows
}

/// Whether a hit counts for a list: the line alone is a finding, and its client and path are known.
fn counts(report_input: &ReportInput<'_>, item: &RowItem<'_>) -> bool {
    // Evicted hits have no client.
    if item.view.is_other() {
        return false;
    }
    let is_certain = item
        .rules
        .iter()
        .any(|&rule| report_input.rules.rule(rule).is_certain());
    let is_somebody = !matches!(
        report_input.tally.client(item.view.client),
        Client::Text(b"" | b"-")
    );
    is_certain && is_somebody && !report_input.tally.path(item.view.path).is_empty()
}

/// The rows of campaigns that guess passwords: one for each rule, the most severe first, then those
/// of most networks.
pub(crate) fn guess_rows<'a>(
    analysis: &LogAnalysis<'a>,
    items: &[RowItem<'a>],
) -> Vec<Campaign<'a>> {
    let mut of_rules: BTreeMap<RuleId, Vec<&RowItem<'a>>> = BTreeMap::new();
    for item in items {
        for &rule in item
            .rules
            .iter()
            .filter(|&&rule| analysis.guesses().is_in_campaign(rule, item.view.client))
        {
            of_rules.entry(rule).or_default().push(item);
        }
    }
    let mut rows: Vec<_> = of_rules
        .iter()
        .filter_map(|(&rule, items)| guess_row(analysis, rule, items))
        .collect();
    rows.sort_by_key(|row| Reverse((row.severity, row.networks, row.hits)));
    rows
}

fn guess_row<'a>(
    analysis: &LogAnalysis<'a>,
    rule: RuleId,
    items: &[&RowItem<'a>],
) -> Option<Campaign<'a>> {
    let guessers = analysis.guesses().campaign(rule)?;
    let rule = analysis.input.rules.rule(rule);
    let times = items.iter().fold(None, |times, item| {
        union_span(times, item.view.cell.times())
    });
    let (method, path) = floods::commonest(&analysis.input, items);
    let sample_paths = if path.is_empty() {
        Vec::new()
    } else {
        vec![path.into()]
    };
    Some(Campaign {
        key: format!("{:012x}", xxh3_64(rule.id.as_bytes()) >> 16),
        guesses: Some(Guesses {
            rule: &rule.id,
            method,
            nothing_else: guessers.nothing_else as u64,
            days: times.map(days),
        }),
        severity: rule.severity.escalated(),
        clients: guessers.clients.len() as u64,
        networks: guessers.networks as u64,
        paths: rows::count_distinct(items.iter().map(|item| item.view.path)).max(1),
        hits: items.iter().map(|item| item.view.cell.hits).sum(),
        answered: 0,
        first_time: times.map(|(first, _)| first),
        last_time: times.map(|(_, last)| last),
        sample_paths,
        sample: rows::sample(&analysis.input, rows::best_sample(items)),
    })
}

/// A sentence for each campaign that guesses passwords.
pub(crate) fn guess_sentences<'r>(
    report: &'r ReportModel<'_>,
) -> impl Iterator<Item = String> + 'r {
    report
        .campaigns
        .iter()
        .filter_map(|campaign| Some(describe_guesses(campaign, campaign.guesses.as_ref()?)))
}

/// The days of a span, both ends included, in the time zone of its start.
fn days((first, last): (LogTime, LogTime)) -> u64 {
    let day = |time: LogTime| (time.utc + i64::from(first.offset) * 60).div_euclid(DAY_SECONDS);
    day(last).abs_diff(day(first)) + 1
}

/// A campaign that guesses passwords, in a sentence:
/// `flood/login: a campaign of 282 clients in 270 networks sent 13,766 POST /wp-login.php within 11 days, 275 of them nothing else`.
pub(crate) fn describe_guesses(campaign: &Campaign<'_>, guesses: &Guesses<'_>) -> String {
    let clients = counted(campaign.clients, "client", "clients");
    let networks = counted(campaign.networks, "network", "networks");
    let target = campaign
        .sample_paths
        .first()
        .map_or(Cow::Borrowed("requests"), |path| {
            Cow::Owned(format!("{} {}", guesses.method.as_str(), path))
        });
    let more_paths = match campaign.paths {
        0 | 1 => String::new(),
        paths => format!(" and {}", counted(paths - 1, "other path", "other paths")),
    };
    let within = guesses.days.map_or_else(String::new, |days| {
        format!(" within {}", counted(days, "day", "days"))
    });
    let only = match guesses.nothing_else {
        0 => String::new(),
        all if all == campaign.clients => ", and nothing else".to_owned(),
        some => format!(", {} of them nothing else", grouped(some)),
    };
    let attempts = grouped(campaign.hits);
    format!(
        "{}: a campaign of {clients} in {networks} sent {attempts} {target}{more_paths}{within}{only}",
        guesses.rule
    )
}

/// A campaign and the hits of its clients on its paths.
struct CampaignSum<'c, 'a> {
    list: &'c CampaignGroup,
    /// The highest severity on each path.
    worst: HashMap<u32, Severity>,
    items: Vec<&'c RowItem<'a>>,
}

impl<'c, 'a> CampaignSum<'c, 'a> {
    fn new(list: &'c CampaignGroup) -> Self {
        let worst = list
            .paths
            .iter()
            .map(|path| (*path, Severity::Info))
            .collect();
        Self {
            list,
            worst,
            items: Vec::new(),
        }
    }

    fn add(&mut self, item: &'c RowItem<'a>) {
        if let Some(worst) = self.worst.get_mut(&item.view.path) {
            *worst = (*worst).max(item.severity);
            self.items.push(item);
        }
    }

    /// `None` where there is no hit; this does not happen, because lists are made of hits.
    fn row(self, report_input: &ReportInput<'a>) -> Option<Campaign<'a>> {
        let sum = |count: fn(&RowItem<'_>) -> u64| self.items.iter().map(|item| count(item)).sum();
        let times = self.items.iter().fold(None, |times, item| {
            union_span(times, item.view.cell.times())
        });
        let (first_time, last_time) = times.unzip();
        Some(Campaign {
            key: key(report_input, &self.list.paths),
            guesses: None,
            severity: self.items.iter().map(|item| item.severity).max()?,
            clients: self.list.clients.len() as u64,
            networks: self.list.networks as u64,
            paths: self.list.paths.len() as u64,
            hits: sum(|item| item.view.cell.hits),
            answered: sum(|item| {
                if item.answered {
                    item.view.cell.hits
                } else {
                    0
                }
            }),
            first_time,
            last_time,
            sample_paths: self.sample_paths(report_input),
            sample: rows::sample(report_input, rows::best_sample(&self.items)),
        })
    }

    /// The most severe paths, the longest first: `/` and other short ones are on every list.
    fn sample_paths(&self, report_input: &ReportInput<'a>) -> Vec<LogText<'a>> {
        let mut paths: Vec<_> = self
            .list
            .paths
            .iter()
            .map(|path| (self.worst[path], report_input.tally.path(*path)))
            .collect();
        paths.sort_unstable_by_key(|&(worst, path)| (Reverse(worst), Reverse(path.len()), path));
        paths
            .into_iter()
            .take(SAMPLES)
            .map(|(_, path)| path.into())
            .collect()
    }
}

/// Twelve hexadecimal digits of a list of paths. They are made of the redacted paths, because a
/// merged report has no others.
fn key(report_input: &ReportInput<'_>, paths: &[u32]) -> String {
    let mut redacted_paths: Vec<_> = paths
        .iter()
        .map(|path| LogText::new(report_input.tally.path(*path)).redacted())
        .collect();
    redacted_paths.sort_unstable();
    redacted_paths.dedup();
    let mut hash = Xxh3Default::new();
    for path in redacted_paths {
        hash.update(path.as_bytes());
        hash.update(b"\n");
    }
    format!("{:012x}", hash.digest() >> 16)
}

/// The fewest paths of a list. Unrelated clients may share a few paths.
const PATHS: usize = 5;

/// The fewest networks of a campaign. Two may be one person at home and at work.
const NETWORKS: usize = 3;

/// Two lists are similar if they share at least this part of all their paths: four of five.
const MIN_SHARED: (usize, usize) = (4, 5);

/// A list is compared with at most this many others, the longest first. A client that invents
/// thousands of lists hides only its own requests in them.
const COMPARED: usize = 64;

/// A list of paths and its clients.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CampaignGroup {
    /// The paths that at least half of its clients requested, by number, sorted by text.
    pub paths: Vec<u32>,
    /// Its clients, by number, sorted.
    pub clients: Vec<u32>,
    /// The number of their networks.
    pub networks: usize,
}

/// Finds campaigns in pairs of a client and a path, given by number in any order. The longest lists
/// come first.
fn find_campaigns<'a, N: Eq + Hash>(
    mut requested: Vec<(u32, u32)>,
    network: impl Fn(u32) -> N,
    text: impl Fn(u32) -> &'a [u8],
) -> Vec<CampaignGroup> {
    requested.sort_unstable();
    requested.dedup();
    let mut client_counts: HashMap<u32, u32> = HashMap::default();
    for (_, path) in &requested {
        *client_counts.entry(*path).or_default() += 1;
    }
    requested.retain(|(_, path)| client_counts[path] > 1);
    let mut of_clients: Vec<&[(u32, u32)]> = requested.chunk_by(|a, b| a.0 == b.0).collect();
    of_clients.retain(|pairs| pairs.len() >= PATHS);
    let paths = by_text(&of_clients, text);
    let lists = lists(&of_clients, &paths);
    group_similar(&lists)
        .iter()
        .filter_map(|group| campaign(group, &paths, &network))
        .collect()
}

/// All paths of these pairs, sorted by text, so that the index of a path does not depend on its
/// number.
fn by_text<'a>(of_clients: &[&[(u32, u32)]], text: impl Fn(u32) -> &'a [u8]) -> Vec<u32> {
    let mut paths: Vec<u32> = of_clients
        .iter()
        .flat_map(|pairs| pairs.iter().map(|(_, path)| *path))
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths.sort_unstable_by_key(|path| text(*path));
    paths
}

/// The exact paths of one or more clients.
struct PathList {
    /// Indices of paths, sorted.
    indices: Vec<u32>,
    /// The clients with this list.
    clients: Vec<u32>,
}

/// Every list once, the longest first.
fn lists(of_clients: &[&[(u32, u32)]], paths: &[u32]) -> Vec<PathList> {
    let indices: HashMap<u32, u32> = paths.iter().copied().zip(0..).collect();
    let mut lists: HashMap<Vec<u32>, Vec<u32>> = HashMap::default();
    for pairs in of_clients {
        let mut list: Vec<u32> = pairs.iter().map(|(_, path)| indices[path]).collect();
        list.sort_unstable();
        lists.entry(list).or_default().push(pairs[0].0);
    }
    let mut lists: Vec<PathList> = lists
        .into_iter()
        .map(|(indices, clients)| PathList { indices, clients })
        .collect();
    lists
        .sort_unstable_by(|a, b| (b.indices.len(), &a.indices).cmp(&(a.indices.len(), &b.indices)));
    lists
}

/// Groups each list with the first similar one before it, or starts a new group.
///
/// Similar lists share at least one of their rarest paths, because without all of these too few are
/// left in common. So only lists that share a rare path are compared.
fn group_similar(lists: &[PathList]) -> Vec<Vec<&PathList>> {
    let mut in_lists: HashMap<u32, u32> = HashMap::default();
    for index in lists.iter().flat_map(|list| &list.indices) {
        *in_lists.entry(*index).or_default() += 1;
    }
    let mut groups: Vec<Vec<&PathList>> = Vec::new();
    let mut by_rare_path: HashMap<u32, Vec<usize>> = HashMap::default();
    for list in lists {
        let mut rare = list.indices.clone();
        rare.sort_unstable_by_key(|index| (in_lists[index], *index));
        rare.truncate(
            list.indices.len() - (list.indices.len() * MIN_SHARED.0).div_ceil(MIN_SHARED.1) + 1,
        );
        let mut candidates: Vec<usize> = rare
            .iter()
            .filter_map(|index| by_rare_path.get(index))
            .flat_map(|groups| groups.iter().take(COMPARED))
            .copied()
            .collect();
        candidates.sort_unstable();
        candidates.dedup();
        if let Some(group) = candidates
            .into_iter()
            .take(COMPARED)
            .find(|&group| is_similar(list, groups[group][0]))
        {
            groups[group].push(list);
            continue;
        }
        for index in rare {
            by_rare_path.entry(index).or_default().push(groups.len());
        }
        groups.push(vec![list]);
    }
    groups
}

fn is_similar(a: &PathList, b: &PathList) -> bool {
    let shorter = a.indices.len().min(b.indices.len());
    let longer = a.indices.len().max(b.indices.len());
    // At best the shorter list is contained in the longer one.
    if shorter * MIN_SHARED.1 < longer * MIN_SHARED.0 {
        return false;
    }
    let both = a
        .indices
        .iter()
        .filter(|index| b.indices.binary_search(index).is_ok())
        .count();
    both * MIN_SHARED.1 >= (shorter + longer - both) * MIN_SHARED.0
}

fn campaign<N: Eq + Hash>(
    group: &[&PathList],
    paths: &[u32],
    network: impl Fn(u32) -> N,
) -> Option<CampaignGroup> {
    let mut clients: Vec<u32> = group
        .iter()
        .flat_map(|list| &list.clients)
        .copied()
        .collect();
    clients.sort_unstable();
    let networks = clients
        .iter()
        .map(|client| network(*client))
        .collect::<HashSet<_>>()
        .len();
    let mut request_counts: HashMap<u32, usize> = HashMap::default();
    for (index, list) in group
        .iter()
        .flat_map(|list| list.indices.iter().map(move |index| (*index, list)))
    {
        *request_counts.entry(index).or_default() += list.clients.len();
    }
    request_counts.retain(|_, client_counts| 2 * *client_counts >= clients.len());
    let mut indices: Vec<u32> = request_counts.into_keys().collect();
    indices.sort_unstable();
    let paths: Vec<u32> = indices
        .into_iter()
        .map(|index| paths[index as usize])
        .collect();
    (networks >= NETWORKS && paths.len() >= PATHS).then_some(CampaignGroup {
        paths,
        clients,
        networks,
    })
}

#[cfg(test)]
mod list_tests {
    use super::*;
    use proptest::prelude::*;

    /// Clients are numbered from 0; ten of them are one network.
    fn found(requested: &[(u32, &str)]) -> Vec<(Vec<String>, Vec<u32>, usize)> {
        let mut texts: Vec<&str> = requested.iter().map(|(_, path)| *path).collect();
        texts.sort_unstable_by_key(|text| Reverse(*text));
        texts.dedup();
        let number = |path: &str| texts.iter().position(|text| *text == path).unwrap() as u32;
        let pairs = requested
            .iter()
            .map(|(client, path)| (*client, number(path)))
            .collect();
        let found = find_campaigns(
            pairs,
            |client| client / 10,
            |path| texts[path as usize].as_bytes(),
        );
        let named = |one: CampaignGroup| {
            (
                one.paths
                    .iter()
                    .map(|&path| texts[path as usize].to_owned())
                    .collect(),
                one.clients,
                one.networks,
            )
        };
        found.into_iter().map(named).collect()
    }

    fn requests<'a>(client: u32, paths: &[&'a str]) -> Vec<(u32, &'a str)> {
        paths.iter().map(|path| (client, *path)).collect()
    }

    const LIST: [&str; 6] = ["/a", "/b", "/c", "/d", "/e", "/f"];

    #[test]
    fn five_paths_and_three_networks_are_a_campaign() {
        let of = |paths: &[&'static str], clients: &[u32]| {
            found(
                &clients
                    .iter()
                    .flat_map(|client| requests(*client, paths))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            of(&LIST[..5], &[1, 11, 21]),
            [(
                LIST[..5].iter().map(ToString::to_string).collect(),
                vec![1, 11, 21],
                3
            )]
        );
        assert_eq!(of(&LIST[..5], &[1, 2, 21]), [], "neighbours are one");
        assert_eq!(of(&LIST[..4], &[1, 11, 21]), [], "four paths are too few");
        assert_eq!(of(&LIST, &[]), []);
    }

    #[test]
    fn one_path_more_or_less_is_the_same_list() {
        let mut requested = [1, 11, 21]
            .into_iter()
            .flat_map(|client| requests(client, &LIST))
            .collect::<Vec<_>>();
        requested.retain(|pair| *pair != (11, "/c"));
        // Random names are on no list.
        requested.extend([
            (1, "/random-1"),
            (11, "/random-2"),
            (21, "/random-3"),
            (21, "/random-4"),
            (21, "/random-5"),
        ]);
        let expected: Vec<String> = LIST.iter().map(ToString::to_string).collect();
        assert_eq!(found(&requested), [(expected.clone(), vec![1, 11, 21], 3)]);
        // A page of the site, which another client requested too.
        requested.push((11, "/c"));
        requested.extend([(1, "/page"), (99, "/page")]);
        assert_eq!(found(&requested), [(expected, vec![1, 11, 21], 3)]);
    }

    #[test]
    fn different_lists_are_not_joined() {
        let other = ["/a", "/v", "/w", "/x", "/y", "/z"];
        let requested: Vec<_> = [1, 11, 21]
            .into_iter()
            .flat_map(|c| requests(c, &LIST))
            .chain([31, 41, 51].into_iter().flat_map(|c| requests(c, &other)))
            .collect();
        assert_eq!(
            found(&requested)
                .into_iter()
                .map(|one| one.1)
                .collect::<Vec<_>>(),
            [[1, 11, 21], [31, 41, 51]]
        );
    }

    /// Many lists with the same start are not all compared with each other.
    #[test]
    fn many_lists_are_compared_quickly() {
        let names: Vec<String> = (0..4_000).map(|n| format!("/{n:04}")).collect();
        let mut requested = Vec::new();
        for client in 0..20_000_u32 {
            requested.extend(requests(client, &["/x", "/y"]));
            let own = |n: u32| {
                names[(client.wrapping_mul(2_654_435_761).rotate_left(n * 7) % 4_000) as usize]
                    .as_str()
            };
            requested.extend((0..4).map(|n| (client, own(n))));
        }
        for client in [1, 11, 21] {
            requested.retain(|(other, _)| *other != client);
            requested.extend(requests(client, &LIST));
        }
        assert!(found_by_text(&requested).iter().any(|paths| paths == &LIST));
    }

    fn found_by_text<'a>(requested: &[(u32, &'a str)]) -> Vec<Vec<&'a str>> {
        let mut numbers = HashMap::default();
        let mut texts = Vec::new();
        let mut number = |text: &'a str| {
            *numbers.entry(text).or_insert_with(|| {
                texts.push(text);
                texts.len() as u32 - 1
            })
        };
        let pairs = requested
            .iter()
            .map(|(client, path)| (*client, number(path)))
            .collect();
        let found = find_campaigns(
            pairs,
            |client| client / 10,
            |path| texts[path as usize].as_bytes(),
        );
        found
            .into_iter()
            .map(|one| one.paths.iter().map(|path| texts[*path as usize]).collect())
            .collect()
    }

    /// The definition, implemented directly.
    fn plain_definition(requested: &[(u32, u8)]) -> Vec<(Vec<u8>, Vec<u32>, usize)> {
        use std::collections::{BTreeMap, BTreeSet};
        let mut paths: BTreeMap<u32, BTreeSet<u8>> = BTreeMap::new();
        for (client, path) in requested {
            if requested
                .iter()
                .any(|(other, of_other)| other != client && of_other == path)
            {
                paths.entry(*client).or_default().insert(*path);
            }
        }
        let mut sets: Vec<BTreeSet<u8>> = paths
            .values()
            .filter(|set| set.len() >= 5)
            .cloned()
            .collect();
        sets.sort_by_key(|set| (Reverse(set.len()), set.clone()));
        sets.dedup();
        let mut groups: Vec<Vec<BTreeSet<u8>>> = Vec::new();
        for set in sets {
            let like = |group: &&mut Vec<BTreeSet<u8>>| {
                5 * group[0].intersection(&set).count() >= 4 * group[0].union(&set).count()
            };
            match groups.iter_mut().find(like) {
                Some(group) => group.push(set),
                None => groups.push(vec![set]),
            }
        }
        let campaign = |group: Vec<BTreeSet<u8>>| {
            let clients: Vec<u32> = paths
                .iter()
                .filter(|(_, set)| group.contains(set))
                .map(|(client, _)| *client)
                .collect();
            let half = |path: &u8| {
                2 * clients
                    .iter()
                    .filter(|client| paths[client].contains(path))
                    .count()
                    >= clients.len()
            };
            let list: Vec<u8> = (0..=u8::MAX).filter(half).collect();
            let networks = clients
                .iter()
                .map(|client| client / 10)
                .collect::<BTreeSet<_>>()
                .len();
            (list.len() >= 5 && networks >= 3).then_some((list, clients, networks))
        };
        groups.into_iter().filter_map(campaign).collect()
    }

    proptest! {
        #[test]
        fn equals_the_plain_definition(
            lists in prop::collection::vec((0..4_u8, prop::collection::vec(0..20_u8, 0..4), 0..120_u32), 0..30),
            shift: u8, turn in 0..200_usize,
        ) {
            // Clients with one of four lists, each without some paths or with some of its own.
            let list = |number: u8| (0..20_u8).filter(move |path| (path / 3) % 4 != number || path % 5 == number);
            let mut requested: Vec<(u32, u8)> = Vec::new();
            for (number, extra, client) in &lists {
                requested.extend(list(*number).filter(|path| !extra.contains(path)).map(|path| (*client, path)));
                requested.extend(extra.iter().filter(|path| !list(*number).any(|of| of == **path)).map(|path| (*client, *path)));
            }
            let expected = plain_definition(&requested);
            // Other numbers for the same paths, in another order.
            let turn = turn % requested.len().max(1);
            requested.rotate_left(turn);
            let number = |path: u8| u32::from(path ^ shift);
            let texts: Vec<[u8; 1]> = (0..=u8::MAX).map(|number| [number ^ shift]).collect();
            let pairs = requested.iter().map(|(client, path)| (*client, number(*path))).collect();
            let found = find_campaigns(pairs, |client| client / 10, |path| &texts[path as usize]);
            let found: Vec<_> =
                found.into_iter().map(|one| (one.paths.iter().map(|path| texts[*path as usize][0]).collect(), one.clients, one.networks)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Campaigns from logs: the same for any split, any order of merges and any number of threads.

    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::engine::{LineScanner, ScanOptions, WorkerState};
    use crate::log::source::SourceInfo;
    use crate::report::build::{LogAnalysis, RowSelection, build};
    use crate::report::fixture;
    use crate::rules::{AllowList, RuleChoice, RuleSet, load};
    use crate::scan::input_summary::InputSummary;
    use crate::tally::{LinePosition, Tally};

    static RULES: LazyLock<RuleSet> = LazyLock::new(|| load(&RuleChoice::default()).unwrap());

    const LIST: [&str; 6] = [
        "/.env",
        "/.git/config",
        "/backup.sql",
        "/phpinfo.php",
        "/wp-config.php.bak",
        "/.aws/credentials",
    ];

    /// One request: the client's network and number, the path, the status, and the minute.
    type Request = (u8, u8, String, u16, u8);

    fn line((network, client, path, status, minute): &Request) -> String {
        let client = if *network == 9 {
            "-".to_owned()
        } else {
            format!("192.0.{network}.{client}")
        };
        format!(
            "{client} - - [02/Nov/2026:08:{minute:02}:00 +0000] \"GET {path} HTTP/1.1\" {status} {} \"-\" \"x\"\n",
            path.len()
        )
    }

    /// The campaigns of a log, printed; the log is split into runs of `cut` lines, which are merged
    /// in this order.
    fn campaigns_of(lines: &[String], cut: usize, reversed: bool, threads: usize) -> String {
        let scan_options = ScanOptions::default();
        let line_scanner = LineScanner::new(&RULES, &scan_options);
        let (mut tallies, mut offset, mut before, mut runs) = (Vec::new(), 0, 0, Vec::new());
        for part in lines.chunks(cut) {
            let (text, mut worker_state, mut tally) =
                (part.concat(), WorkerState::default(), Tally::default());
            tally.add_findings(
                &line_scanner.scan(text.as_bytes(), &mut worker_state),
                LinePosition {
                    input: 0,
                    chunk: offset,
                    offset: 0,
                    line: 0,
                },
            );
            tallies.push(tally.with_names(worker_state.names));
            runs.push((offset, part.len() as u64));
            offset += text.len() as u64;
            before += part.len();
        }
        assert_eq!(before, lines.len());
        if reversed {
            tallies.reverse();
        }
        let tally = tallies.into_iter().reduce(|mut sum, other| {
            sum.merge(other);
            sum
        });
        let (tally, allow) = (tally.unwrap_or_default(), AllowList::default());
        let sources = [SourceInfo::new(b"access.log".to_vec(), 7, runs)];
        let inputs = [InputSummary::default()];
        let report_input = fixture::report_input(&RULES, &tally, &sources, &inputs, &allow);
        let wanted = RowSelection::COMPLETE;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let analysis = LogAnalysis::new(&report_input);
        let report = pool.install(|| build(&analysis, wanted));
        report.campaigns.iter().map(printed).collect()
    }

    /// A campaign as a paragraph.
    fn printed(one: &Campaign<'_>) -> String {
        let Campaign {
            key,
            severity,
            clients,
            networks,
            paths,
            hits,
            answered,
            first_time,
            last_time,
            sample_paths,
            sample,
            guesses: _,
        } = one;
        let times = [first_time, last_time].map(|time| time.unwrap().rfc3339());
        let paths_of_it: Vec<_> = sample_paths.iter().map(|path| path.redacted()).collect();
        format!(
            "key {key}\n{severity}, {clients} clients of {networks} networks, {paths} paths\n{hits} hits, {answered} answered, {times:?}\n\
             {paths_of_it:?}\nline {}: {} {:?}\n\n",
            sample.line,
            sample.target.redacted(),
            sample.status
        )
    }

    fn requests_list(network: u8, client: u8, paths: &[&str]) -> Vec<Request> {
        (0..)
            .zip(paths)
            .map(|(minute, path)| (network, client, (*path).to_owned(), 404, minute))
            .collect()
    }

    #[test]
    fn three_networks_with_one_list() {
        let mut requests: Vec<_> = (1..=3)
            .flat_map(|network| requests_list(network, network + 10, &LIST))
            .collect();
        requests[2].3 = 200;
        requests.push((1, 77, "/.env".into(), 404, 59));
        requests.push((1, 11, "/shell.php".into(), 404, 58));
        requests.extend((1..4).flat_map(|client| {
            requests_list(
                9,
                client,
                &["/a/.env", "/b/.env", "/c/.env", "/d/.env", "/e/.env"],
            )
        }));
        insta::assert_snapshot!(campaigns_of(
            &requests.iter().map(line).collect::<Vec<_>>(),
            1000,
            false,
            2
        ));
    }

    #[test]
    fn the_key_depends_on_the_list() {
        let key = |requests: Vec<Request>| {
            let text = campaigns_of(
                &requests.iter().map(line).collect::<Vec<_>>(),
                1000,
                false,
                1,
            );
            text.lines()
                .find(|line| line.starts_with("key "))
                .map(ToOwned::to_owned)
        };
        let three = |list: &[&str]| {
            (1..=3)
                .flat_map(|network| requests_list(network, 1, list))
                .collect::<Vec<_>>()
        };
        let whole = key(three(&LIST));
        assert!(whole.is_some());
        let other_day: Vec<_> = (4..=8)
            .flat_map(|network| requests_list(network, 9, &LIST))
            .map(|r| (r.0, r.1, r.2, 403, 30))
            .collect();
        assert_eq!(key(other_day.clone()), whole);
        let interrupted: Vec<_> = other_day
            .into_iter()
            .enumerate()
            .filter(|(at, _)| *at != 7)
            .map(|(_, request)| request)
            .collect();
        assert_eq!(key(interrupted), whole);
        assert_ne!(key(three(&LIST[..5])), whole);
    }

    fn any_log() -> impl Strategy<Value = Vec<String>> {
        let list = (1..6_u8, 0..3_u8, 0..3 * LIST.len(), any::<u16>()).prop_map(
            |(network, client, without, status)| {
                let mut requests = requests_list(network, client, &LIST);
                if without < LIST.len() {
                    requests.remove(without);
                }
                requests[usize::from(status) % 5].3 =
                    [200, 301, 403, 404, 500][usize::from(status) % 5];
                requests
            },
        );
        let other = (
            1..10_u8,
            0..3_u8,
            prop::sample::select(vec![
                "/",
                "/index.html",
                "/.env",
                "/x.php",
                "/?q=../../etc/passwd",
                "/r4nd0m.bak",
            ]),
            0..60_u8,
        )
            .prop_map(|(network, client, path, minute)| {
                vec![(network, client, path.to_owned(), 404, minute)]
            });
        let parts = prop::collection::vec(prop_oneof![1 => list, 1 => other], 0..16);
        (parts, any::<prop::sample::Index>()).prop_map(|(parts, turn)| {
            let mut lines: Vec<String> = parts.concat().iter().map(line).collect();
            let turn = if lines.is_empty() {
                0
            } else {
                turn.index(lines.len())
            };
            lines.rotate_left(turn);
            lines
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_split_order_and_number_of_threads(log in any_log(), cut in 1..20_usize, threads in 1..5_usize) {
            let whole = campaigns_of(&log, log.len().max(1), false, 1);
            prop_assert_eq!(&campaigns_of(&log, cut, false, threads), &whole);
            prop_assert_eq!(&campaigns_of(&log, cut, true, 1), &whole);
        }
    }
}
