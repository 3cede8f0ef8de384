//! The campaigns of a report: which lists of paths several networks worked through, and what came of it.
//!
//! What makes a campaign is decided by [`context`](crate::analysis::site); here its hits are summed, and its key is made.

use std::cmp::Reverse;

use foldhash::HashMap;
use xxhash_rust::xxh3::Xxh3Default;

use super::build::Material;
use super::model::Campaign;
use super::rows::{self, Item};
use crate::analysis::site::{self, campaigns};
use crate::client::{Client, Network};
use crate::finding::Severity;
use crate::redact::mask::redacted;
use crate::tally::span;

/// Paths that a row shows: enough to tell one list from another.
const SAMPLES: usize = 3;

/// The campaigns, the worst first, then those of most networks.
pub(crate) fn of<'a>(material: &Material<'a>, items: &[Item<'a>]) -> Vec<Campaign<'a>> {
    let tally = material.tally;
    let asked = items.iter().filter(|item| counts(material, item)).map(|item| (item.view.client, item.view.path)).collect();
    let found = campaigns(asked, |client| Network::of(tally.client(client)), |path| tally.path(path));
    let lists = || found.iter().enumerate();
    let of_client: HashMap<u32, usize> =
        lists().flat_map(|(number, one)| one.clients.iter().map(move |&client| (client, number))).collect();
    let mut sums: Vec<Sum<'_, 'a>> = found.iter().map(Sum::of).collect();
    for item in items {
        if let Some(number) = of_client.get(&item.view.client) {
            sums[*number].add(item);
        }
    }
    let mut rows: Vec<_> = sums.into_iter().filter_map(|sum| sum.row(material)).collect();
    rows.sort_by(|a, b| {
        let order = |row: &Campaign<'_>| Reverse((row.severity, row.networks, row.answered, row.hits));
        (order(a), &a.key).cmp(&(order(b), &b.key))
    });
    rows
}

/// Whether a hit tells of a list: its line alone makes it one, and says who asked and for which path.
fn counts(material: &Material<'_>, item: &Item<'_>) -> bool {
    // What a tally let go of is nobody's.
    if item.view.is_rest() {
        return false;
    }
    let is_certain = item.rules.iter().any(|&rule| material.rules.rule(rule).is_certain());
    let is_somebody = !matches!(material.tally.client(item.view.client), Client::Text(b"" | b"-"));
    is_certain && is_somebody && !material.tally.path(item.view.path).is_empty()
}

/// A list, and the hits for its paths by its clients.
struct Sum<'c, 'a> {
    list: &'c site::Campaign,
    /// The worst hit for each path.
    worst: HashMap<u32, Severity>,
    items: Vec<&'c Item<'a>>,
}

impl<'c, 'a> Sum<'c, 'a> {
    fn of(list: &'c site::Campaign) -> Self {
        let worst = list.paths.iter().map(|path| (*path, Severity::Info)).collect();
        Self { list, worst, items: Vec::new() }
    }

    fn add(&mut self, item: &'c Item<'a>) {
        if let Some(worst) = self.worst.get_mut(&item.view.path) {
            *worst = (*worst).max(item.severity);
            self.items.push(item);
        }
    }

    /// `None` where there is no hit, which does not happen: a list is made of hits.
    fn row(self, material: &Material<'a>) -> Option<Campaign<'a>> {
        let sum = |count: fn(&Item<'_>) -> u64| self.items.iter().map(|item| count(item)).sum();
        let times = self.items.iter().fold(None, |times, item| span(times, item.view.cell.times()));
        let (first_time, last_time) = times.unzip();
        Some(Campaign {
            key: key(material, &self.list.paths),
            severity: self.items.iter().map(|item| item.severity).max()?,
            clients: self.list.clients.len() as u64,
            networks: self.list.networks as u64,
            paths: self.list.paths.len() as u64,
            hits: sum(|item| item.view.cell.hits),
            answered: sum(|item| if item.answered { item.view.cell.hits } else { 0 }),
            first_time,
            last_time,
            sample_paths: self.sample_paths(material),
            sample: rows::sample(material, rows::proof(&self.items)),
        })
    }

    /// The worst paths, the longest of equals: `/` and other short ones are on every list.
    fn sample_paths(&self, material: &Material<'a>) -> Vec<&'a [u8]> {
        let mut paths: Vec<_> = self.list.paths.iter().map(|path| (self.worst[path], material.tally.path(*path))).collect();
        paths.sort_unstable_by_key(|&(worst, path)| (Reverse(worst), Reverse(path.len()), path));
        paths.into_iter().take(SAMPLES).map(|(_, path)| path).collect()
    }
}

/// Twelve hexadecimal digits of a list of paths. They come of the paths as shown: a report that was read back holds no
/// others.
fn key(material: &Material<'_>, paths: &[u32]) -> String {
    let mut shown: Vec<_> = paths.iter().map(|path| redacted(material.tally.path(*path))).collect();
    shown.sort_unstable();
    shown.dedup();
    let mut hash = Xxh3Default::new();
    for path in shown {
        hash.update(path.as_bytes());
        hash.update(b"\n");
    }
    format!("{:012x}", hash.digest() >> 16)
}

#[cfg(test)]
mod tests;
