//! Rules that need many requests.

use std::path::Path;

use crate::analysis::build::ReportFilter;
use crate::analysis::rule_status::*;
use crate::engine::{LineScanner, ScanOptions as Asked, WorkerState};
use crate::rules::AllowList;
use crate::source::SourceInfo;
use crate::tally::{LinePosition, Tally};

const RULES: &str = r#"
[[rule]]
id = "t/flood"
title = "Floods"
class = "panel"
severity = "critical"
paths = ["/a", "/b", "/c"]
window = { by = "client", count = 3, within = "60s" }

[[rule]]
id = "t/guess"
title = "Guesses"
class = "exposure"
severity = "high"
paths = ["/guess"]
with_client = { distinct_paths = 3 }

[[rule]]
id = "t/key"
title = "Key"
class = "backup"
severity = "low"
paths = ["/c"]
"#;

#[test]
fn enough_requests_within_a_window_are_findings() {
    // Three requests match the rule, and one does not.
    assert_eq!(reported(RULES), [("/a", vec!["t/flood"]), ("/b", vec!["t/flood"]), ("/c", vec!["t/flood", "t/key"])]);
    assert_eq!(reported(&RULES.replace("count = 3", "count = 4")), [("/c", vec!["t/key"])]);
}

/// The paths of reported hits and their rules.
fn reported(text: &str) -> Vec<(&'static str, Vec<&'static str>)> {
    let rules = crate::rules::check(Path::new("t.toml"), text).unwrap();
    let asked = Asked { windows: true, ..Asked::default() };
    let (mut scratch, mut tally) = (WorkerState::default(), Tally::default());
    let line = |path| format!("192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] \"GET {path} HTTP/1.1\" 404 9 \"-\" \"x\"\n");
    let log = ["/a", "/b", "/c", "/guess"].map(line).concat();
    tally.add_findings(
        &LineScanner::new(&rules, &asked).scan(log.as_bytes(), &mut scratch),
        LinePosition { input: 0, chunk: 0, offset: 0, line: 0 },
    );
    let (tally, texts, allow) =
        (tally.with_names(scratch.names), [SourceInfo::new(b"a.log".to_vec(), 0, vec![(0, 0)])], AllowList::default());
    let report_input = ReportInput {
        rules: &rules,
        tally: &tally,
        texts: &texts,
        inputs: &[],
        without_time: 0,
        filter: ReportFilter::default(),
        allow: &allow,
    };
    let analysis = LogAnalysis::new(&report_input);
    assert_eq!(tally.cells().count(), 4, "all are kept");
    let mut rows = Vec::new();
    for (view, decision) in tally.cells().zip(analysis.decisions()) {
        assert_eq!(decision.matched, decision.reported);
        let known =
            |text: &str| ["/a", "/b", "/c", "/guess", "t/flood", "t/guess", "t/key"].into_iter().find(|known| *known == text).unwrap();
        let list = analysis.list(decision).iter().map(|&rule| known(&rules.rule(rule).id)).collect();
        if decision.reported {
            rows.push((known(std::str::from_utf8(tally.path(view.path)).unwrap()), list));
        }
    }
    rows.sort();
    rows
}
