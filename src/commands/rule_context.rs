//! What `scan`, `learn`, `follow` and `report` match: rules, apps, allow lists and formats. Loaded at the start; `follow` also
//! loads it on reload. Reads no log.

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::common::apps;
use super::{ScanSettings, server_logs};
use crate::analysis::build::ReportFilter;
use crate::client::Ipv6Prefix;
use crate::commands::error::CommandError;
use crate::engine::ScanOptions;
use crate::finding::RuleId;
use crate::formats::Formats;
use crate::rules::{AllowList, RuleSet, load};
use crate::scan::ScanJob;
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
    /// Loads the files that the settings name, in a temporary pool: for commands that read logs with one thread.
    pub(super) fn load(settings: &ScanSettings) -> Result<Self, CommandError> {
        let rules = match ThreadPoolBuilder::new().build() {
            Ok(pool) => pool.install(|| load(&settings.rules))?,
            Err(_) => load(&settings.rules)?,
        };
        Self::with_rules(settings, rules)
    }

    /// The same in this pool, which reads the logs later.
    pub(super) fn load_in(pool: &ThreadPool, settings: &ScanSettings) -> Result<Self, CommandError> {
        Self::with_rules(settings, pool.install(|| load(&settings.rules))?)
    }

    fn with_rules(settings: &ScanSettings, rules: RuleSet) -> Result<Self, CommandError> {
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

    /// What a scan needs.
    pub(super) fn job(&self, prefix: Option<Ipv6Prefix>) -> ScanJob<'_> {
        ScanJob { rules: &self.rules, scope: &self.scope, formats: &self.formats, prefix }
    }

    /// The hits to report.
    pub(super) fn filter<'a>(&'a self, settings: &'a ScanSettings) -> ReportFilter<'a> {
        ReportFilter { min_severity: settings.min_severity, outcomes: &settings.outcomes, apps: &self.apps }
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
