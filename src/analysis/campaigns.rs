//! The campaigns of a report: which lists of paths several networks worked through, and what came of it.
//!
//! What makes a campaign is decided by [`context`](crate::analysis::site); here its hits are summed, and its key is made.

use std::cmp::Reverse;

use foldhash::HashMap;
use xxhash_rust::xxh3::Xxh3Default;

use super::build::ReportInput;
use super::model::Campaign;
use super::rows::{self, RowItem};
use crate::analysis::site::{self, find_campaigns};
use crate::client::{Client, Network};
use crate::finding::Severity;
use crate::redact::mask::redacted;
use crate::tally::union_span;

/// Paths that a row shows: enough to tell one list from another.
const SAMPLES: usize = 3;

/// The campaigns, the worst first, then those of most networks.
pub(crate) fn campaign_rows<'a>(material: &ReportInput<'a>, items: &[RowItem<'a>]) -> Vec<Campaign<'a>> {
    let tally = material.tally;
    let asked = items.iter().filter(|item| counts(material, item)).map(|item| (item.view.client, item.view.path)).collect();
    let found = find_campaigns(asked, |client| Network::from_client(tally.client(client)), |path| tally.path(path));
    let lists = || found.iter().enumerate();
    let of_client: HashMap<u32, usize> =
        lists().flat_map(|(number, one)| one.clients.iter().map(move |&client| (client, number))).collect();
    let mut sums: Vec<CampaignSum<'_, 'a>> = found.iter().map(CampaignSum::new).collect();
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
fn counts(material: &ReportInput<'_>, item: &RowItem<'_>) -> bool {
    // What a tally let go of is nobody's.
    if item.view.is_other() {
        return false;
    }
    let is_certain = item.rules.iter().any(|&rule| material.rules.rule(rule).is_certain());
    let is_somebody = !matches!(material.tally.client(item.view.client), Client::Text(b"" | b"-"));
    is_certain && is_somebody && !material.tally.path(item.view.path).is_empty()
}

/// A list, and the hits for its paths by its clients.
struct CampaignSum<'c, 'a> {
    list: &'c site::CampaignGroup,
    /// The worst hit for each path.
    worst: HashMap<u32, Severity>,
    items: Vec<&'c RowItem<'a>>,
}

impl<'c, 'a> CampaignSum<'c, 'a> {
    fn new(list: &'c site::CampaignGroup) -> Self {
        let worst = list.paths.iter().map(|path| (*path, Severity::Info)).collect();
        Self { list, worst, items: Vec::new() }
    }

    fn add(&mut self, item: &'c RowItem<'a>) {
        if let Some(worst) = self.worst.get_mut(&item.view.path) {
            *worst = (*worst).max(item.severity);
            self.items.push(item);
        }
    }

    /// `None` where there is no hit, which does not happen: a list is made of hits.
    fn row(self, material: &ReportInput<'a>) -> Option<Campaign<'a>> {
        let sum = |count: fn(&RowItem<'_>) -> u64| self.items.iter().map(|item| count(item)).sum();
        let times = self.items.iter().fold(None, |times, item| union_span(times, item.view.cell.times()));
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
            sample: rows::sample(material, rows::best_sample(&self.items)),
        })
    }

    /// The worst paths, the longest of equals: `/` and other short ones are on every list.
    fn sample_paths(&self, material: &ReportInput<'a>) -> Vec<&'a [u8]> {
        let mut paths: Vec<_> = self.list.paths.iter().map(|path| (self.worst[path], material.tally.path(*path))).collect();
        paths.sort_unstable_by_key(|&(worst, path)| (Reverse(worst), Reverse(path.len()), path));
        paths.into_iter().take(SAMPLES).map(|(_, path)| path).collect()
    }
}

/// Twelve hexadecimal digits of a list of paths. They come of the paths as shown: a report that was read back holds no
/// others.
fn key(material: &ReportInput<'_>, paths: &[u32]) -> String {
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
