//! That nothing of a client is told, and nothing else changes.

use crate::analysis::anonymize::*;
use crate::analysis::fixture;
use crate::analysis::novelty::find_new;
use crate::analysis::seen::SeenHistory;
use crate::client::Client;
use crate::render::mail::{RunSummary, write_summary};
use crate::render::{GroupBy, OutputFormat, RenderOptions, ndjson, render};
use std::path::Path;

fn veils() -> [Anonymizer; 2] {
    [Anonymizer::Truncate, Anonymizer::with_key(&[7; 32]).unwrap()]
}

/// All that can be made of a report.
fn told(privacy: &Privacy) -> String {
    let report = fixture::report(fixture::rules());
    let found = find_new(&report, &mut SeenHistory::new(1), 1, 0);
    let mut out = Vec::new();
    privacy.with_redacted(&report, &found, |report, found| {
        for format in [OutputFormat::Table, OutputFormat::Csv, OutputFormat::Json] {
            for by in [None, Some(GroupBy::Pair), Some(GroupBy::Client), Some(GroupBy::Path), Some(GroupBy::Rule)] {
                render(report, &RenderOptions { format, by, ..RenderOptions::default() }, &mut out).unwrap();
            }
        }
        crate::render::csv::write_novelty(found, &mut out).unwrap();
        let page = RunSummary {
            report,
            news: found,
            label: "Run 1",
            host: None,
            is_first: false,
            folder: Path::new("x"),
            notes: &[],
            level: crate::finding::Severity::Low,
        };
        write_summary(&page, &mut out).unwrap();
    });
    let mut room = RedactionBuffers::default();
    ndjson::write(&privacy.hit(&fixture::hit(), &mut room), fixture::rules(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn no_output_tells_a_client() {
    let report = fixture::report(fixture::rules());
    let addresses: Vec<String> = report.clients.iter().filter_map(|row| Some(row.key.client()?.address()?.to_string())).collect();
    assert!(addresses.len() > 2);
    let open = told(&Privacy::default());
    assert!(addresses.iter().all(|address| open.contains(address.as_str())));
    for veil in veils() {
        let hidden = told(&Privacy::new(Some(veil), true));
        for address in &addresses {
            assert!(!hidden.contains(address.as_str()), "{address} in {hidden}");
        }
    }
}

#[test]
fn rows_are_in_the_order_of_what_is_told() {
    let report = fixture::report(fixture::rules());
    for veil in veils() {
        Privacy::new(Some(veil), true).with_redacted(&report, &[], |told, _| {
            assert_eq!(told.clients.len(), report.clients.len());
            let order = |row: &Row<'_>| Reverse((row.severity, row.answered, row.hits));
            assert!(told.clients.is_sorted_by(|a, b| (order(a), a.key) <= (order(b), b.key)));
            assert!(told.evidence.is_none() && told.hidden.is_some());
        });
    }
}

#[test]
fn secrets_are_told_where_that_is_asked_for() {
    let (masked, open) = (told(&Privacy::default()), told(&Privacy::new(None, false)));
    for (hidden, shown) in [("token=***", "token=a%26b"), ("bob:***@", "bob:hunter2@")] {
        assert!(masked.contains(hidden) && !masked.contains(shown), "{masked}");
        assert!(open.contains(shown) && !open.contains(hidden), "{open}");
    }
    assert!(open.contains(r"&x=\\x1b[2J"), "still escaped: {open}");
}

#[test]
fn an_empty_text_stays_empty() {
    let hit = crate::analysis::model::ReportedHit { target: b"", method: b"", path: b"", client: Client::Text(b""), ..fixture::hit() };
    for privacy in [Privacy::new(None, false), Privacy::new(Some(Anonymizer::Truncate), false)] {
        let mut room = RedactionBuffers::default();
        let told = privacy.hit(&hit, &mut room);
        assert_eq!((told.target, told.method, told.path, told.client), (&b""[..], &b""[..], &b""[..], Client::Text(b"")));
    }
}
