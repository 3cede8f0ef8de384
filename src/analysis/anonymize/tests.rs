//! No output contains anything of a client, and nothing else changes.

use crate::analysis::anonymize::*;
use crate::analysis::fixture;
use crate::analysis::novelty::{SeenHistory, find_new};
use crate::client::Client;
use crate::render::mail::{RunSummary, write_summary};
use crate::render::{GroupBy, OutputFormat, RenderOptions, ndjson, render};
use std::path::Path;

fn anonymizers() -> [Anonymizer; 2] {
    [Anonymizer::Truncate, Anonymizer::with_key(&[7; 32]).unwrap()]
}

/// Every output of a report.
fn redacted(privacy: &Privacy) -> String {
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
    ndjson::write(&privacy.hit(&fixture::hit(), &mut room), fixture::rules(), &mut ndjson::HitTexts::default(), &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn no_output_contains_a_client() {
    let report = fixture::report(fixture::rules());
    let addresses: Vec<String> = report.clients.iter().filter_map(|row| Some(row.key.client()?.address()?.to_string())).collect();
    assert!(addresses.len() > 2);
    let open = redacted(&Privacy::default());
    assert!(addresses.iter().all(|address| open.contains(address.as_str())));
    for anonymizer in anonymizers() {
        let hidden = redacted(&Privacy::new(Some(anonymizer), true));
        for address in &addresses {
            assert!(!hidden.contains(address.as_str()), "{address} in {hidden}");
        }
    }
}

#[test]
fn redacted_rows_are_sorted_by_printed_values() {
    let report = fixture::report(fixture::rules());
    for anonymizer in anonymizers() {
        Privacy::new(Some(anonymizer), true).with_redacted(&report, &[], |redacted, _| {
            assert_eq!(redacted.clients.len(), report.clients.len());
            let order = |row: &Row<'_>| Reverse((row.severity, row.answered, row.hits));
            assert!(redacted.clients.is_sorted_by(|a, b| (order(a), a.key) <= (order(b), b.key)));
            assert!(redacted.evidence.is_none() && redacted.hidden.is_some());
        });
    }
}

#[test]
fn secrets_are_printed_if_requested() {
    let (masked, open) = (redacted(&Privacy::default()), redacted(&Privacy::new(None, false)));
    for (hidden, shown) in [("token=***", "token=a%26b"), ("bob:***@", "bob:hunter2@")] {
        assert!(masked.contains(hidden) && !masked.contains(shown), "{masked}");
        assert!(open.contains(shown) && !open.contains(hidden), "{open}");
    }
    assert!(open.contains(r"&x=\\x1b[2J"), "still escaped: {open}");
}

#[test]
fn an_empty_text_stays_empty() {
    let hit = ReportedHit { target: b"", method: b"", path: b"", client: Client::Text(b""), ..fixture::hit() };
    for privacy in [Privacy::new(None, false), Privacy::new(Some(Anonymizer::Truncate), false)] {
        let mut room = RedactionBuffers::default();
        let redacted = privacy.hit(&hit, &mut room);
        assert_eq!((redacted.target, redacted.method, redacted.path, redacted.client), (&b""[..], &b""[..], &b""[..], Client::Text(b"")));
    }
}
