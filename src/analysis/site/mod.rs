//! What only a whole log shows of a site: its apps, the probers, and its history. Each is a pure function of merged
//! evidence, so it is the same for any split of a log.

mod history;

pub use history::{RuleHashes, SiteHistory, SiteName};

use std::hash::Hash;

use foldhash::HashSet;

use crate::finding::{BoundedSet, RuleId};

/// The apps of every site. A site runs an app if it answered requests that only this app answers, to several clients
/// and with different answers.
#[derive(Debug)]
pub struct DetectedApps<K> {
    seen: HashSet<(RuleId, K)>,
    declared: Vec<RuleId>,
}

impl<K: Copy + Eq + Hash + Ord> DetectedApps<K> {
    /// The apps with sufficient evidence; the apps of `declared` run on all sites.
    pub fn from_evidence<'a>(signs: impl Iterator<Item = (RuleId, K, &'a BoundedSet)>, declared: &[RuleId]) -> Self {
        let enough = signs.filter(|(app, _, few)| few.is_sufficient() && !declared.contains(app));
        Self { seen: enough.map(|(app, site, _)| (app, site)).collect(), declared: declared.to_vec() }
    }

    /// Adds an app that a site is known to run.
    pub fn add(&mut self, app: RuleId, site: K) {
        if !self.declared.contains(&app) {
            self.seen.insert((app, site));
        }
    }

    /// Whether a site runs an app.
    #[must_use]
    pub fn runs(&self, app: RuleId, site: K) -> bool {
        self.declared.contains(&app) || (!self.seen.is_empty() && self.seen.contains(&(app, site)))
    }

    /// Whether any site runs an app.
    #[must_use]
    pub fn runs_anywhere(&self, app: RuleId) -> bool {
        self.declared.contains(&app) || self.seen.iter().any(|(seen, _)| *seen == app)
    }

    /// Every app and its site, `None` if it was declared for all sites; in a fixed order.
    #[must_use]
    pub fn all(&self) -> Vec<(RuleId, Option<K>)> {
        let mut all: Vec<_> = self.declared.iter().map(|&app| (app, None)).collect();
        all.extend(self.seen.iter().map(|&(app, site)| (app, Some(site))));
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The clients that are probers, by number.
#[derive(Debug, Default)]
pub struct ProberSet {
    is_prober: Vec<bool>,
}

impl ProberSet {
    /// The clients with at least `distinct_paths` distinct paths, from pairs of a client and a path in any order.
    #[must_use]
    pub fn from_requests(mut requested: Vec<(u32, u32)>, distinct_paths: u32) -> Self {
        requested.sort_unstable();
        requested.dedup();
        let mut is_prober = Vec::new();
        for paths in requested.chunk_by(|a, b| a.0 == b.0).filter(|paths| paths.len() >= distinct_paths as usize) {
            let client = paths[0].0 as usize;
            is_prober.resize(client + 1, false);
            is_prober[client] = true;
        }
        Self { is_prober }
    }

    /// Whether a client is a prober.
    #[must_use]
    pub fn contains(&self, client: u32) -> bool {
        self.is_prober.get(client as usize).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::site::*;

    #[test]
    fn counts_distinct_paths() {
        let requested = vec![(7, 1), (2, 1), (7, 2), (2, 1), (2, 1), (7, 1), (9, 3), (9, 4)];
        let probers = ProberSet::from_requests(requested, 2);
        assert_eq!((0..12).filter(|&client| probers.contains(client)).collect::<Vec<_>>(), [7, 9]);
        assert!(!ProberSet::from_requests(vec![(1, 1)], 2).contains(1));
    }
}
