//! The campaigns of a report: which lists of paths several networks worked through, and what came of it.
//!
//! What makes a campaign is decided by [`context`](crate::context); here its hits are summed, and its key is made.

use std::cmp::Reverse;
use std::collections::HashMap;

use xxhash_rust::xxh3::Xxh3Default;

use super::build::Material;
use super::mask::shown;
use super::model::Campaign;
use super::rows::{self, Item};
use crate::client::{Client, Network};
use crate::context::{self, campaigns};
use crate::finding::Severity;
use crate::tally::span;

/// Paths that a row shows: enough to tell one list from another.
const SAMPLES: usize = 3;

/// The campaigns, the worst first, then those of most networks.
pub(super) fn of<'a>(material: &Material<'a>, items: &[Item<'a>]) -> Vec<Campaign<'a>> {
    let tally = material.tally;
    let asked = items.iter().filter(|item| counts(material, item)).map(|item| (item.view.client, item.view.path)).collect();
    let found = campaigns(asked, |client| Network::of(tally.client(client)), |path| tally.path(path));
    let of_client: HashMap<u32, usize> =
        found.iter().enumerate().flat_map(|(number, one)| one.clients.iter().map(move |client| (*client, number))).collect();
    let paths: Vec<HashMap<u32, Severity>> =
        found.iter().map(|one| one.paths.iter().map(|path| (*path, Severity::Info)).collect()).collect();
    let mut sums: Vec<Sum<'_, 'a>> = found.iter().zip(paths).map(|(list, paths)| Sum { list, paths, items: Vec::new() }).collect();
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
    let is_certain = item.rules.iter().any(|&rule| material.rules.rule(rule).is_certain());
    let is_somebody = !matches!(material.tally.client(item.view.client), Client::Text(b"" | b"-"));
    is_certain && is_somebody && !material.tally.path(item.view.path).is_empty()
}

/// A list, and the hits for its paths by its clients.
struct Sum<'c, 'a> {
    list: &'c context::Campaign,
    /// The worst that each path was asked for.
    paths: HashMap<u32, Severity>,
    items: Vec<&'c Item<'a>>,
}

impl<'c, 'a> Sum<'c, 'a> {
    fn add(&mut self, item: &'c Item<'a>) {
        if let Some(worst) = self.paths.get_mut(&item.view.path) {
            *worst = (*worst).max(item.severity);
            self.items.push(item);
        }
    }

    /// `None` where there is no hit, which does not happen: a list is made of hits.
    fn row(self, material: &Material<'a>) -> Option<Campaign<'a>> {
        let sum = |count: fn(&Item<'_>) -> u64| self.items.iter().map(|item| count(item)).sum();
        let times = self.items.iter().fold(None, |times, item| span(times, item.view.cell.times));
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

    /// Of the worst paths the first by text.
    fn sample_paths(&self, material: &Material<'a>) -> Vec<&'a [u8]> {
        let mut paths = self.list.paths.clone();
        // Stable: they come sorted by text.
        paths.sort_by_key(|path| Reverse(self.paths[path]));
        paths.into_iter().take(SAMPLES).map(|path| material.tally.path(path)).collect()
    }
}

/// Twelve hexadecimal digits of a list of paths. They come of the paths as shown: a report that was read back holds no
/// others.
fn key(material: &Material<'_>, paths: &[u32]) -> String {
    let mut shown: Vec<_> = paths.iter().map(|path| shown(material.tally.path(*path))).collect();
    shown.sort_unstable();
    shown.dedup();
    let mut hash = Xxh3Default::new();
    for path in shown {
        hash.update(path.as_bytes());
        hash.update(b"\n");
    }
    format!("{:012x}", hash.digest() >> 16)
}
