//! What a report is made of. Plain data; nothing is decided here.

use crate::log::finding::{RuleId, Severity};
use crate::log::log_entry::Outcome;
use crate::log::source::SourceInfo;
use crate::rules::{AllowList, RuleSet};
use crate::scan::input_summary::InputSummary;
use crate::tally::{Site, Tally};

/// Which hits a report covers.
#[derive(Debug, Clone, Copy)]
pub struct ReportFilter<'a> {
    /// Rules below this severity are left out; a distinct answer raises the severity by one level.
    pub min_severity: Severity,
    /// Outcomes to report; all where empty.
    pub outcomes: &'a [Outcome],
    /// Apps that the user declared for all sites.
    pub apps: &'a [RuleId],
}

impl Default for ReportFilter<'_> {
    fn default() -> Self {
        Self {
            min_severity: Severity::Info,
            outcomes: &[],
            apps: &[],
        }
    }
}

/// The input of a report: of a scan, of the new lines of a run, or of merged reports.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// The rules of the run.
    pub rules: &'a RuleSet,
    /// All hits.
    pub tally: &'a Tally,
    /// The logs, by number of the input.
    pub sources: &'a [SourceInfo],
    /// The inputs by the same numbers, without hits, because the analysis decides which lines are
    /// hits.
    pub inputs: &'a [InputSummary],
    /// Lines without a time, if a time range is set.
    pub without_time: u64,
    /// Which hits to report.
    pub filter: ReportFilter<'a>,
    /// The allow lists.
    pub allow: &'a AllowList,
}

impl<'a> ReportInput<'a> {
    /// The display name of a site: its host, or its input where hosts are not logged; for rotated
    /// inputs the current log, if it was read.
    pub(crate) fn site_name(&self, site: Site<'a>) -> &'a [u8] {
        match site {
            Site::Host(host) => host,
            Site::Input(input) => {
                let source = &self.sources[input as usize];
                let family_key = source.family_key();
                let log = self
                    .sources
                    .iter()
                    .find(|other| other.path == family_key.1 && other.family_key() == family_key);
                &log.unwrap_or(source).path
            }
        }
    }
}
