//! Encodings in each field of a log: decoded, or matched by a rule if there is nothing to decode.
//!
//! `tests/cases/evasions.tsv` has at least one line for each trick and field: the class of a rule
//! that must match, and a request without anything else that matches; or `-` and why the trick does
//! not apply.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::detection::{Labelled, TRICKS};
use crate::harness::Harness;

const FIELDS: [&str; 4] = ["path", "query", "referer", "agent"];

/// Whether the encoded text is in the stated field, and nowhere else.
fn is_in_field(field: &str, request: &Labelled) -> bool {
    let place = match (&*request.referer, request.agent.contains("Firefox")) {
        ("-", true) if request.request.contains('?') => "query",
        ("-", true) => "path",
        ("-", false) => "agent",
        _ => "referer",
    };
    place == field && (FIELDS[..2].contains(&field) || request.request == "GET / HTTP/1.1")
}

#[test]
fn every_encoding_is_decoded_in_every_field() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/evasions.tsv");
    let text = fs::read_to_string(path).unwrap();
    let (mut covered, mut requests) = (BTreeSet::new(), Vec::new());
    for line in text.lines() {
        let [trick, field, class, rest] =
            line.splitn(4, '\t').collect::<Vec<_>>().try_into().unwrap();
        assert!(FIELDS.contains(&field), "no such field: {line}");
        covered.insert((trick, field));
        if class == "-" {
            assert!(rest.len() > 20, "why not? {line}");
            continue;
        }
        let request = Labelled::of_line(class, &format!("{trick}\t{rest}"));
        assert!(is_in_field(field, &request), "not in the {field}: {line}");
        requests.push((line, class, request));
    }
    let wanted: BTreeSet<_> = TRICKS[1..]
        .iter()
        .flat_map(|trick| FIELDS.map(|field| (*trick, field)))
        .collect();
    assert_eq!(covered, wanted, "each trick in each field, or why not");

    let harness = Harness::new();
    let log: String = requests
        .iter()
        .zip(1..)
        .map(|((_, _, request), number)| request.log_line(number))
        .collect();
    harness.file("access.log", log);
    let run = harness.run(["scan", "-f", "ndjson", "access.log"]);
    let hits = run.objects();
    let seen = |number: usize, class: &str| {
        let of_line = hits.iter().find(|hit| hit["line"] == number);
        of_line.is_some_and(|hit| {
            hit["classes"]
                .as_array()
                .unwrap()
                .iter()
                .any(|seen| seen == class)
        })
    };
    let missed: Vec<_> = requests
        .iter()
        .zip(1..)
        .filter(|((_, class, _), number)| !seen(*number, class))
        .map(|((line, ..), _)| *line)
        .collect();
    assert!(
        missed.is_empty(),
        "not seen through:\n{}",
        missed.join("\n")
    );
}
