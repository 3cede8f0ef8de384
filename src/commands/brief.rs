//! What is looked for: rules, apps and what is allowed, as files say them. Read at the start, and again when asked to.

use rayon::ThreadPoolBuilder;

use super::run::{Failure, apps};
use super::{Settings, servers};
use crate::engine::Scope;
use crate::finding::RuleId;
use crate::formats::Formats;
use crate::rules::{AllowList, RuleSet, load};
use crate::scan::live::LiveJob;
use crate::source::Fingerprint;

/// What is looked for.
#[derive(Debug)]
pub(super) struct Brief {
    pub(super) rules: RuleSet,
    pub(super) scope: Scope,
    pub(super) formats: Formats,
    pub(super) apps: Vec<RuleId>,
}

impl Brief {
    /// Reads the files that the settings name.
    pub(super) fn read(settings: &Settings) -> Result<Self, Failure> {
        // A pool that is gone when the rules are there: whoever reads what comes in takes one thread.
        let rules = match ThreadPoolBuilder::new().build() {
            Ok(pool) => pool.install(|| load(&settings.rules))?,
            Err(_) => load(&settings.rules)?,
        };
        let apps = apps(&settings.apps, &rules)?;
        let scope = Scope {
            format: settings.formats.as_clf(),
            since: None,
            until: None,
            allow: AllowList::load(&settings.allow)?,
            max_line: settings.max_line,
            unlisted: false,
            windows: true,
        };
        Ok(Self { rules, scope, formats: servers::formats(settings)?, apps })
    }

    /// What is asked of the lines.
    pub(super) fn asked<'a>(&'a self, settings: &'a Settings) -> LiveJob<'a> {
        LiveJob {
            rules: &self.rules,
            scope: &self.scope,
            formats: &self.formats,
            min_severity: settings.min_severity,
            outcomes: &settings.outcomes,
            apps: &self.apps,
            prefix: settings.client.prefix,
        }
    }

    /// Tells these rules from others, by what they are called and how bad they are.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut names = String::new();
        for rule in self.rules.rules() {
            names.extend([&rule.id, "\t", &rule.class, "\t", rule.severity.as_str(), "\n"]);
        }
        Fingerprint::new(names.as_bytes()).hash
    }
}
