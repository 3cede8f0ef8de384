//! Scans lines of any format: directly where the engine can read them, otherwise through their
//! format.
//!
//! Trying the direct way first only saves work; the findings are the same either way.

use super::unread_fields;
use crate::engine::{LineScanner, ScanOptions, WorkerState};
use crate::formats::reader::{LineContext, LogReader, looks_like_clf};
use crate::log::finding::Findings;

/// Scans whole lines; the last one may lack its newline.
pub(crate) fn scan_any_format(
    log_reader: &mut LogReader,
    line_scanner: LineScanner<'_>,
    scan_options: &ScanOptions,
    lines: &[u8],
    context: &LineContext<'_>,
    worker_state: &mut WorkerState,
) -> Findings {
    // The user requested a format that the engine reads, and no other.
    let is_clf = scan_options.format.is_some();
    let direct = (is_clf || context.is_clf_first() && looks_like_clf(lines))
        .then(|| line_scanner.scan(lines, worker_state));
    let mut findings = match direct {
        Some(findings) if is_clf || findings.lines.unparsed == 0 => findings,
        direct if log_reader.is_needed(lines, context) => {
            if let Some(findings) = direct {
                worker_state.recycle(findings);
            }
            line_scanner.scan_any(lines, context, log_reader, worker_state)
        }
        direct => direct.unwrap_or_else(|| line_scanner.scan(lines, worker_state)),
    };
    findings.lines.unread = unread_fields::count(&findings, lines, &worker_state.names);
    findings
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use crate::formats::{ClientPosition, Formats, W3cHeader};
    use crate::log::time::TimeBound;
    use crate::rules::{RuleChoice, RuleSet, load};
    use crate::scan::any_format::*;
    use proptest::prelude::*;

    static FORMATS: LazyLock<Formats> = LazyLock::new(|| Formats::builtin().unwrap());
    static RULES: LazyLock<RuleSet> = LazyLock::new(|| load(&RuleChoice::default()).unwrap());

    /// A line of any format, some with a probe, some broken, some with NULs.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        let examples: Vec<String> = FORMATS
            .all()
            .filter_map(|format| Some(format.example.as_deref()?.lines().last()?.to_owned()))
            .collect();
        let insert = prop::sample::select(vec![
            "",
            "/.env",
            "\\",
            "\"",
            "\0",
            "\0\0\0",
            "?q=1%20union%20select%20",
            "#",
            "x",
        ]);
        let long = prop_oneof![6 => Just(0), 1 => 1..700_usize];
        (
            prop::sample::select(examples),
            any::<prop::sample::Index>(),
            insert,
            long,
            any::<bool>(),
        )
            .prop_map(|(line, at, text, long, ends)| {
                let mut line = line.into_bytes();
                let at = if ends {
                    line.len()
                } else {
                    at.index(line.len())
                };
                line.splice(at..at, text.bytes().chain(std::iter::repeat_n(b'a', long)));
                line
            })
    }

    /// Findings with names instead of IDs, because IDs depend on the order in which names were
    /// interned.
    fn with_names(mut findings: Findings, worker_state: &WorkerState) -> String {
        let names = &worker_state.names;
        let path = |number: &mut u32| {
            String::from_utf8_lossy(names.paths.resolve(std::mem::take(number))).into_owned()
        };
        let host = |number: u32| String::from_utf8_lossy(names.hosts.resolve(number)).into_owned();
        let client = |number: u32| names.clients.resolve(number);
        let rules = |number: &mut u32| names.rules.resolve(std::mem::take(number)).to_vec();
        let hits = findings.hits.iter_mut().map(|hit| {
            let (client, host) = (
                client(std::mem::take(&mut hit.client)),
                host(std::mem::take(&mut hit.host)),
            );
            (path(&mut hit.path), client, host, rules(&mut hit.rules))
        });
        let hits: Vec<_> = hits.collect();
        let unmatched = findings.unmatched.iter_mut().map(|seen| {
            (
                path(&mut seen.path),
                client(std::mem::take(&mut seen.client)),
            )
        });
        let unmatched: Vec<_> = unmatched.collect();
        let requests: Vec<_> = std::mem::take(&mut findings.requests)
            .into_iter()
            .map(|(number, answer)| (client(number), answer))
            .collect();
        let mentioned: Vec<_> = std::mem::take(&mut findings.mentioned)
            .into_iter()
            .map(client)
            .collect();
        let app_evidence = std::mem::take(&mut findings.app_evidence);
        let mut app_evidence: Vec<_> = app_evidence
            .iter()
            .map(|(app, site, few)| {
                (
                    app,
                    host(site),
                    few.kept_clients().len(),
                    few.sizes(),
                    few.magnitudes(),
                )
            })
            .collect();
        app_evidence.sort();
        let homes = std::mem::take(&mut findings.home);
        let mut homes: Vec<_> = homes
            .iter()
            .map(|(number, bytes)| (host(number), bytes))
            .collect();
        homes.sort();
        format!(
            "{requests:?}\n{mentioned:?}\n{hits:?}\n{unmatched:?}\n{app_evidence:?}\n{homes:?}\n{findings:?}"
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_500))]

        #[test]
        fn findings_equal_those_of_the_reader(
            lines in prop::collection::vec(line(), 0..40), is_w3c: bool, ended: bool, since in prop::option::of(Just(TimeBound::Instant(1_793_606_460))),
        ) {
            let mut text = if is_w3c { b"#Fields: date time c-ip cs-uri-stem sc-status\n".to_vec() } else { Vec::new() };
            text.extend(lines.join(&b'\n'));
            text.extend(ended.then_some(b'\n'));
            let scan_options = ScanOptions { since, max_line: 600, unmatched: true, ..ScanOptions::default() };
            let context = LineContext { formats: &FORMATS, preferred: &[], header: W3cHeader::from_log_start(&text, 600), layouts: None, clients: ClientPosition::Unknown, max_line: 600 };
            let line_scanner = LineScanner::new(&RULES, &scan_options);
            let mut worker_state = WorkerState::default();
            let found = with_names(scan_any_format(&mut LogReader::default(), line_scanner, &scan_options, &text, &context, &mut worker_state), &worker_state);
            let mut worker_state = WorkerState::default();
            let mut expected = line_scanner.scan_any(&text, &context, &mut LogReader::default(), &mut worker_state);
            expected.lines.unread = unread_fields::count(&expected, &text, &worker_state.names);
            prop_assert_eq!(found, with_names(expected, &worker_state));
        }
    }
}
