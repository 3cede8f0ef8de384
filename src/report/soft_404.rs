//! Sites that answer any path: one entry per site, from hits graded as soft 404s.
//!
//! Hosts of one server with the same answers share an entry. Grades nothing itself.

use std::cmp::Reverse;

use foldhash::HashMap;

use super::model::Soft404;
use super::rows::RowItem;
use crate::collections::intern::SymbolTables;
use crate::judge::rule_status::LogAnalysis;
use crate::soft_404::{Answer, Grade, HOSTS, Reason};
use crate::tally::Site;

/// Sizes within this share belong to the same page.
const SIZE_TOLERANCE: f64 = 0.05;
/// Hosts share a server if their ranges of sizes overlap by at least this share.
const SHARED: f64 = 1.0 / 3.0;

/// The soft 404s of one site.
#[derive(Debug, Default)]
struct Soft404Site<'a> {
    names: Vec<&'a [u8]>,
    is_host: bool,
    sizes: Vec<u64>,
    paths: Vec<u32>,
    requests: u64,
    reasons: HashMap<Reason, u64>,
}

/// The sites, those with most requests first.
pub(crate) fn sites<'a>(analysis: &LogAnalysis<'a>, items: &[&RowItem<'a>]) -> Vec<Soft404<'a>> {
    let mut sites: HashMap<Site<'a>, Soft404Site<'a>> = HashMap::default();
    for item in items.iter().filter(|item| item.has_grade(Answer::Soft404)) {
        let scope = analysis.site_root(item.view.site);
        let site = sites.entry(scope).or_default();
        if site.names.is_empty() {
            site.names.push(analysis.input.site_name(scope));
            site.is_host = matches!(scope, Site::Host(_));
        }
        site.add(item);
    }
    let mut sites: Vec<Soft404Site<'a>> = sites.into_values().collect();
    sites.iter_mut().for_each(Soft404Site::tidy);
    sites.sort_by_key(|site| (Reverse(site.requests), site.names[0]));
    let mut rows: Vec<Soft404<'a>> = servers(sites).into_iter().map(Soft404Site::entry).collect();
    rows.sort_by(|a, b| {
        let order = |site: &Soft404<'a>| {
            (
                Reverse(site.requests),
                site.site,
                Reverse(site.paths),
                site.grade.reason,
            )
        };
        order(a).cmp(&order(b)).then_with(|| a.sizes.cmp(&b.sizes))
    });
    rows
}

/// Merges three or more hosts with the same answers.
fn servers<'a>(sites: Vec<Soft404Site<'a>>) -> Vec<Soft404Site<'a>> {
    let (hosts, mut all): (Vec<_>, Vec<_>) = sites.into_iter().partition(|site| site.is_host);
    let mut servers: Vec<Vec<Soft404Site<'a>>> = Vec::new();
    for host in hosts {
        let is_similar =
            |server: &mut Vec<Soft404Site<'a>>| server.iter().any(|other| other.is_similar(&host));
        // The smaller one is moved: a client may invent thousands of hosts.
        let join = |one: Vec<Soft404Site<'a>>, other: Vec<Soft404Site<'a>>| {
            let (mut large, small) = if one.len() < other.len() {
                (other, one)
            } else {
                (one, other)
            };
            large.extend(small);
            large
        };
        let mut joined = servers
            .extract_if(.., is_similar)
            .reduce(join)
            .unwrap_or_default();
        joined.push(host);
        servers.push(joined);
    }
    for server in &mut servers {
        server.sort_by_key(|site| (Reverse(site.requests), site.names[0]));
    }
    for server in servers {
        if server.len() < HOSTS {
            all.extend(server);
        } else {
            let mut merged = server.into_iter().reduce(Soft404Site::merged);
            merged.iter_mut().for_each(Soft404Site::tidy);
            all.extend(merged);
        }
    }
    all
}

impl<'a> Soft404Site<'a> {
    fn add(&mut self, item: &RowItem<'a>) {
        let Some(Grade { reason, .. }) = item.grade else {
            return;
        };
        self.sizes
            .extend(item.view.response().size().map(|size| size.bytes));
        self.paths
            .extend((item.view.path != SymbolTables::OTHER).then_some(item.view.path));
        self.requests += item.view.cell.hits;
        *self.reasons.entry(reason.kind()).or_default() += item.view.cell.hits;
    }

    fn tidy(&mut self) {
        self.sizes.sort_unstable();
        self.sizes.dedup();
        self.paths.sort_unstable();
        self.paths.dedup();
    }

    /// Whether two hosts answer with about the same range of sizes.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share of sizes and counts, far below 2^52"
    )]
    fn is_similar(&self, other: &Self) -> bool {
        let ends = |site: &Self| {
            Some((
                *site.sizes.first()? as f64 * (1.0 - SIZE_TOLERANCE),
                *site.sizes.last()? as f64 * (1.0 + SIZE_TOLERANCE),
            ))
        };
        match (ends(self), ends(other)) {
            (Some((low, high)), Some((other_low, other_high))) => {
                let shared = high.min(other_high) - low.max(other_low);
                shared >= SHARED * (high.max(other_high) - low.min(other_low))
            }
            // Without sizes there is no difference.
            _ => true,
        }
    }

    /// Both, not [tidy](Self::tidy).
    fn merged(mut self, mut other: Self) -> Self {
        self.names.append(&mut other.names);
        self.sizes.append(&mut other.sizes);
        self.paths.append(&mut other.paths);
        self.requests += other.requests;
        for (reason, hits) in other.reasons {
            *self.reasons.entry(reason).or_default() += hits;
        }
        self
    }

    fn entry(self) -> Soft404<'a> {
        let reason = self
            .reasons
            .iter()
            .max_by_key(|(reason, hits)| (**hits, Reverse(**reason)))
            .map(|(reason, _)| *reason);
        let grade = Grade {
            answer: Answer::Soft404,
            reason: reason.unwrap_or(Reason::AnswersAnything),
        };
        Soft404 {
            site: self.names[0].into(),
            hosts: self.names.len() as u64,
            grade,
            sizes: ranges(&self.sizes),
            paths: self.paths.len() as u64,
            requests: self.requests,
        }
    }
}

/// Sorted sizes as ranges: similar sizes share a range; if there are too many ranges, the nearest
/// are merged.
#[expect(
    clippy::cast_precision_loss,
    reason = "a share of sizes and counts, far below 2^52"
)]
pub(crate) fn ranges(sizes: &[u64]) -> Vec<(u64, u64)> {
    let is_similar = |a: &u64, b: &u64| (*b - *a) as f64 <= SIZE_TOLERANCE * *b as f64;
    let mut ranges: Vec<(u64, u64)> = sizes
        .chunk_by(is_similar)
        .map(|run| (run[0], run[run.len() - 1]))
        .collect();
    while ranges.len() > Soft404::MAX_RANGES {
        let gap = |at: usize| ranges[at + 1].0 as f64 / ranges[at].1.max(1) as f64;
        let Some(at) = (0..ranges.len() - 1).min_by(|a, b| gap(*a).total_cmp(&gap(*b))) else {
            break;
        };
        ranges[at].1 = ranges.remove(at + 1).1;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use crate::report::soft_404::*;

    #[test]
    fn sizes_become_ranges() {
        assert_eq!(ranges(&[]), []);
        assert_eq!(ranges(&[612]), [(612, 612)]);
        assert_eq!(
            ranges(&[2_100, 2_110, 2_190, 48_211]),
            [(2_100, 2_190), (48_211, 48_211)]
        );
        assert_eq!(
            ranges(&[1, 50, 1_000, 1_040, 10_000, 20_000, 40_000, 80_000]),
            [
                (1, 1),
                (50, 50),
                (1_000, 1_040),
                (10_000, 40_000),
                (80_000, 80_000)
            ]
        );
    }
}
