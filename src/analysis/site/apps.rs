//! Which apps a site runs: it answered what only they have, to several clients, with answers that differ.
//!
//! What a sign of an app is, rules say; what an app silences, they say as well.

use std::hash::Hash;

use foldhash::HashSet;

use crate::finding::{BoundedSet, RuleId};

/// The apps of every site.
#[derive(Debug)]
pub struct DetectedApps<K> {
    seen: HashSet<(RuleId, K)>,
    declared: Vec<RuleId>,
}

impl<K: Copy + Eq + Hash + Ord> DetectedApps<K> {
    /// Weighs what was seen; the apps of `declared` run everywhere.
    pub fn from_evidence<'a>(signs: impl Iterator<Item = (RuleId, K, &'a BoundedSet)>, declared: &[RuleId]) -> Self {
        let enough = signs.filter(|(app, _, few)| few.is_sufficient() && !declared.contains(app));
        Self { seen: enough.map(|(app, site, _)| (app, site)).collect(), declared: declared.to_vec() }
    }

    /// Takes in that a site is known to run an app.
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

    /// Whether an app runs anywhere.
    #[must_use]
    pub fn runs_anywhere(&self, app: RuleId) -> bool {
        self.declared.contains(&app) || self.seen.iter().any(|(seen, _)| *seen == app)
    }

    /// Every app and the site it was seen on, `None` where it was declared to run everywhere; in a fixed order.
    #[must_use]
    pub fn all(&self) -> Vec<(RuleId, Option<K>)> {
        let mut all: Vec<_> = self.declared.iter().map(|&app| (app, None)).collect();
        all.extend(self.seen.iter().map(|&(app, site)| (app, Some(site))));
        all.sort_unstable();
        all.dedup();
        all
    }
}
