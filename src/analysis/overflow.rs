//! The share of a tally's [overflow](Tally::overflow_cells) in the rows of pairs, clients and paths.
//!
//! Its hits have no site and are in other cells as well, so totals, rules and answers never count them.

use foldhash::HashMap;

use super::build::{ReportInput, row_item};
use super::rows::RowItem;
use super::rule_status::{LogAnalysis, OverflowDecision};
use crate::intern::SymbolTables;
#[cfg(doc)]
use crate::tally::Tally;

/// The reported cells of the overflow, by the kind of row they belong to.
#[derive(Debug, Default)]
pub(crate) struct OverflowItems<'a> {
    pub(crate) pairs: Vec<RowItem<'a>>,
    pub(crate) clients: Vec<RowItem<'a>>,
    pub(crate) paths: Vec<RowItem<'a>>,
    /// Hits by client that may match a rule.
    pub(crate) matched: HashMap<u32, u64>,
    pub(crate) missing: MissingHits,
}

/// The most hits that a row of each kind may lack, because their status depends on the unknown site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MissingHits {
    pub(crate) pairs: u64,
    pub(crate) clients: u64,
    pub(crate) paths: u64,
}

impl<'a> OverflowItems<'a> {
    pub(crate) fn new(report_input: &ReportInput<'a>, analysis: &'a LogAnalysis<'a>) -> Self {
        let mut overflow = Self::default();
        let mut missing: HashMap<(u32, u32), u64> = HashMap::default();
        for (view, OverflowDecision { lower, upper }) in report_input.tally.overflow_cells().zip(analysis.overflow_decisions()) {
            let is_of_client = view.path == SymbolTables::OTHER;
            if is_of_client && upper.matched {
                *overflow.matched.entry(view.client).or_default() += view.cell.hits;
            }
            if !lower.reported && upper.reported {
                *missing.entry((view.client, view.path)).or_default() += view.cell.hits;
            }
            let items = match view.client {
                SymbolTables::OTHER => &mut overflow.paths,
                _ if is_of_client => &mut overflow.clients,
                _ => &mut overflow.pairs,
            };
            items.extend(lower.reported.then(|| row_item(analysis, view, lower)));
        }
        overflow.missing = MissingHits::new(&missing);
        overflow
    }
}

impl MissingHits {
    /// The most of each kind, by client and path; one of them may be [`SymbolTables::OTHER`].
    fn new(missing: &HashMap<(u32, u32), u64>) -> Self {
        let mut most = Self::default();
        for (&owner, &hits) in missing {
            let most = match owner {
                (SymbolTables::OTHER, _) => &mut most.paths,
                (_, SymbolTables::OTHER) => &mut most.clients,
                _ => &mut most.pairs,
            };
            *most = hits.max(*most);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::analysis::build::ReportFilter;
    use crate::analysis::build::{RowSelection, build};
    use crate::analysis::model::{InputSummary, Report};
    use crate::analysis::overflow::*;
    use crate::engine::{LineScanner, ScanOptions, WorkerState};
    use crate::finding::Severity;
    use crate::rules::AllowList;
    use crate::source::SourceInfo;
    use crate::tally::{Budget, LinePosition, Tally};

    const RULES: &str = r#"
[[app]]
id = "shop"
title = "Shop"
paths = ["/shop.css"]

[[rule]]
id = "t/login"
title = "Log-in page of the shop"
class = "panel"
severity = "low"
paths = ["/login"]
unless_app = "shop"

[[rule]]
id = "t/key"
title = "Key"
class = "backup"
severity = "low"
paths = ["/key"]
"#;

    /// A pair of as many cells as are kept.
    const BUDGET: Budget = Budget { cells: 160, clients: 24 };

    /// Reports one client that requests `path` on 300 hosts, after other clients loaded the page of a shop on one of
    /// them.
    fn with_report(path: &str, is_shop: bool, use_it: impl FnOnce(&Report<'_>)) {
        let rules = crate::rules::check(Path::new("t.toml"), RULES).unwrap();
        let line = |host: u32, client: u32, path: &str, status: u16, bytes: u32| {
            format!(
                "h{host}.example:80 192.0.2.{client} - - [02/Nov/2026:08:01:00 +0000] \"GET {path} HTTP/1.1\" {status} {bytes} \"-\" \"x\"\n"
            )
        };
        let shop = (2..6).filter(|_| is_shop).map(|client| line(7, client, "/shop.css", 200, 1000 * client));
        let log: String = shop.chain((0..300).map(|host| line(host, 1, path, 404, 9))).collect();
        let (asked, mut scratch, mut part) = (ScanOptions::default(), WorkerState::default(), Tally::default());
        part.add_findings(
            &LineScanner::new(&rules, &asked).scan(log.as_bytes(), &mut scratch),
            LinePosition { input: 0, chunk: 0, offset: 0, line: 0 },
        );
        let mut tally = Tally::with_budget(BUDGET);
        tally.merge(part.with_names(scratch.names));
        let (texts, allow) = ([SourceInfo::new(b"a.log".to_vec(), 0, vec![(0, 0)])], AllowList::default());
        let report_input = ReportInput {
            rules: &rules,
            tally: &tally,
            texts: &texts,
            inputs: &[InputSummary::default()],
            without_time: 0,
            filter: ReportFilter { min_severity: Severity::Low, ..ReportFilter::default() },
            allow: &allow,
        };
        let analysis = LogAnalysis::new(&report_input);
        let wanted = RowSelection { pairs: true, clients: true, paths: true, ..RowSelection::default() };
        use_it(&build(&report_input, &analysis, wanted));
    }

    #[test]
    fn rows_have_all_hits_if_the_site_does_not_matter() {
        for (path, is_shop) in [("/key", true), ("/login", false)] {
            with_report(path, is_shop, |report| {
                let hits = [&report.pairs, &report.clients, &report.paths].map(|rows| rows.iter().map(|row| row.hits).collect::<Vec<_>>());
                assert_eq!((hits, report.approximate), ([[300]; 3].map(Vec::from), None), "{path}");
            });
        }
    }

    #[test]
    fn hits_that_an_app_may_suppress_are_in_the_error_bound() {
        with_report("/login", true, |report| {
            let bound = report.approximate.unwrap();
            for (rows, missing) in [(&report.pairs, bound.pairs), (&report.clients, bound.clients), (&report.paths, bound.paths)] {
                assert!(rows[0].hits < 299 && rows[0].hits + missing >= 299, "{} {missing}", rows[0].hits);
            }
            assert_eq!(report.pairs[0].hits + bound.rest_hits, report.totals.sum.hits);
            assert_eq!(report.totals.sum.hits, 299, "one host is a shop");
        });
    }
}
