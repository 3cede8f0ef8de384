//! Which apps a site runs: it answered what only they have, to several clients, with answers that differ.
//!
//! What a sign of an app is, rules say; what an app silences, they say as well.

use std::hash::Hash;

use foldhash::HashSet;

use crate::finding::{BoundedSet, RuleId};

/// The apps of every site.
#[derive(Debug)]
pub struct Apps<K> {
    seen: HashSet<(RuleId, K)>,
    said: Vec<RuleId>,
}

impl<K: Copy + Eq + Hash + Ord> Apps<K> {
    /// Weighs what was seen; the apps of `said` run everywhere.
    pub fn weigh<'a>(signs: impl Iterator<Item = (RuleId, K, &'a BoundedSet)>, said: &[RuleId]) -> Self {
        let enough = signs.filter(|(app, _, few)| few.is_sufficient() && !said.contains(app));
        Self { seen: enough.map(|(app, site, _)| (app, site)).collect(), said: said.to_vec() }
    }

    /// Takes in that a site is known to run an app.
    pub fn add(&mut self, app: RuleId, site: K) {
        if !self.said.contains(&app) {
            self.seen.insert((app, site));
        }
    }

    /// Whether a site runs an app.
    #[must_use]
    pub fn run(&self, app: RuleId, site: K) -> bool {
        self.said.contains(&app) || (!self.seen.is_empty() && self.seen.contains(&(app, site)))
    }

    /// Whether an app runs anywhere.
    #[must_use]
    pub fn run_somewhere(&self, app: RuleId) -> bool {
        self.said.contains(&app) || self.seen.iter().any(|(seen, _)| *seen == app)
    }

    /// Every app and the site it was seen on, `None` where it was said to run everywhere; in a fixed order.
    #[must_use]
    pub fn all(&self) -> Vec<(RuleId, Option<K>)> {
        let mut all: Vec<_> = self.said.iter().map(|&app| (app, None)).collect();
        all.extend(self.seen.iter().map(|&(app, site)| (app, Some(site))));
        all.sort_unstable();
        all.dedup();
        all
    }
}
