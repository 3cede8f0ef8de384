//! What `follow` and `report` match: rules, apps and allow lists from files. Loaded at the start and on reload.

use rayon::ThreadPoolBuilder;

use super::common::apps;
use super::{ScanSettings, server_logs};
use crate::commands::error::CommandError;
use crate::engine::ScanOptions;
use crate::finding::RuleId;
use crate::formats::Formats;
use crate::rules::{AllowList, RuleSet, load};
use crate::scan::live::LiveJob;
use crate::source::Fingerprint;

/// Rules, apps, allow lists and formats.
#[derive(Debug)]
pub(super) struct RuleContext {
    pub(super) rules: RuleSet,
    pub(super) scope: ScanOptions,
    pub(super) formats: Formats,
    pub(super) apps: Vec<RuleId>,
}

impl RuleContext {
    /// Loads the files that the settings name.
    pub(super) fn load(settings: &ScanSettings) -> Result<Self, CommandError> {
        // A temporary pool, because these commands read logs with one thread.
        let rules = match ThreadPoolBuilder::new().build() {
            Ok(pool) => pool.install(|| load(&settings.rules))?,
            Err(_) => load(&settings.rules)?,
        };
        let apps = apps(&settings.apps, &rules)?;
        let scope = ScanOptions {
            format: settings.formats.as_clf(),
            since: None,
            until: None,
            allow: AllowList::load(&settings.allow)?,
            max_line: settings.max_line,
            unlisted: false,
            windows: true,
        };
        Ok(Self { rules, scope, formats: server_logs::formats(settings)?, apps })
    }

    /// The job for scanning lines.
    pub(super) fn job<'a>(&'a self, settings: &'a ScanSettings) -> LiveJob<'a> {
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

    /// A hash of the IDs, classes and severities of the rules.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut names = String::new();
        for rule in self.rules.rules() {
            names.extend([&rule.id, "\t", &rule.class, "\t", rule.severity.as_str(), "\n"]);
        }
        Fingerprint::new(names.as_bytes()).hash
    }
}
