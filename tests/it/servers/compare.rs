//! What a report says of each request, whichever log it reads: the same.

use std::collections::BTreeMap;

use serde_json::Value;

use super::requests::{self, Request};
use super::{Log, Served, served};

/// What is compared of a hit: nothing of it may hang on the format. Texts as they were logged do, as each format escapes them in
/// its own way.
const COMPARED: [&str; 8] = ["client", "method", "path", "status", "outcome", "time", "severity", "rules"];

/// The formats that a configuration names are not given to the reader yet (`Settings::named`): what it does not find out by itself
/// is left out, and texts are read as if they were escaped. To be turned to `true`, and away, when they are.
const FORMATS_ARE_TAKEN: bool = false;

/// The hits of a log by their lines.
type Hits = BTreeMap<u64, Vec<Value>>;

/// The hits of each log by its file name.
type HitsOfLogs = BTreeMap<String, Hits>;

fn hits(served: &Served, argument: &str) -> HitsOfLogs {
    let run = served.rig.run(["scan", "-f", "ndjson", argument]);
    assert!(run.code == 0 || !FORMATS_ARE_TAKEN, "{}: {}", served.server, run.stderr);
    let mut logs = HitsOfLogs::new();
    for hit in run.objects() {
        let name = hit["source"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        logs.entry(name).or_default().insert(hit["line"].as_u64().unwrap(), COMPARED.map(|field| hit[field].clone()).to_vec());
    }
    logs
}

/// Those of one log, its format found out.
fn detected(served: &Served, log: &Log) -> Hits {
    let mut logs = hits(served, log.path.to_str().unwrap());
    assert_eq!(logs.len(), 1, "{}: {}", served.server, log.name);
    logs.pop_first().unwrap().1
}

/// Fails with the first lines that are not the same.
fn assert_same(served: &Served, name: &str, expected: &Hits, found: &Hits) {
    let lines = expected.keys().chain(found.keys()).collect::<std::collections::BTreeSet<_>>();
    let differing: Vec<_> = lines.into_iter().filter(|line| expected.get(line) != found.get(line)).collect();
    let requests = requests::all();
    let shown: Vec<String> = differing
        .iter()
        .take(5)
        .map(|line| {
            let request = requests[**line as usize - 1].bytes.escape_ascii().to_string();
            format!("{line}: {:.200}\n  combined: {:?}\n  {name}: {:?}", request, expected.get(line), found.get(line))
        })
        .collect();
    assert!(differing.is_empty(), "{}: {} lines differ\n{}", served.server, differing.len(), shown.join("\n"));
}

/// Those that a log can know of, as its format goes. `is_told`: the format is known, and not found out.
fn known(hits: &Hits, log: &Log, is_told: bool) -> Hits {
    let requests = requests::all();
    let is_known = |request: &Request| match log.name {
        "common" => request.is_plain,
        // Nobody can tell a quote from the end of a field, nor text from an escape, unless it is said that nothing is escaped.
        "none" => is_told || request.needs_no_escape(),
        _ => true,
    };
    hits.iter().filter(|(line, _)| is_known(&requests[**line as usize - 1])).map(|(line, hit)| (*line, hit.clone())).collect()
}

/// Compares the hits of a log with those of the combined one of the same server.
fn assert_as_combined(served: &Served, log: &Log, expected: &Hits, found: &Hits, is_told: bool) {
    assert!(expected.len() > 400, "{}: {} hits", served.server, expected.len());
    assert_same(served, log.name, &known(expected, log, is_told), &known(found, log, is_told));
}

#[test]
fn the_same_requests_are_the_same_hits_in_every_format_that_is_found_out() {
    for served in served("formats of real servers") {
        let expected = detected(&served, served.log("combined"));
        for log in served.logs.iter().filter(|log| log.is_detected) {
            assert_as_combined(&served, log, &expected, &detected(&served, log), false);
        }
    }
}

#[test]
fn the_same_requests_are_the_same_hits_in_every_format_that_a_configuration_names() {
    for served in served("formats of real configurations") {
        let mut logs = hits(&served, &served.flag());
        let expected = logs["combined.log"].clone();
        for log in served.logs.iter().filter(|log| log.is_detected || FORMATS_ARE_TAKEN) {
            let found = logs.remove(&format!("{}.log", log.name)).unwrap_or_default();
            assert_as_combined(&served, log, &expected, &found, FORMATS_ARE_TAKEN);
        }
    }
}

#[test]
fn every_line_is_parsed_or_counted() {
    for served in served("lines of real servers") {
        for log in served.logs.iter().filter(|log| log.is_detected) {
            let report = served.rig.json([&log.path]).1;
            let of = |name: &str| report["totals"][name].as_u64().unwrap();
            assert_eq!(of("lines"), requests::ALL as u64, "{} {}", served.server, log.name);
            assert!(of("parsed") > 950, "{} {}: {}", served.server, log.name, report["totals"]);
        }
    }
}

#[test]
fn both_servers_are_asked_the_same() {
    let all = served("two servers");
    let [nginx, apache] = all.as_slice() else { return };
    let lines_of = |served: &Served| detected(served, served.log("combined"));
    let (nginx, apache) = (lines_of(nginx), lines_of(apache));
    // Each writes down in its own way what is no request; of those that are, the paths and rules are the same.
    let both = nginx.iter().filter_map(|(line, hit)| Some((hit, apache.get(line)?)));
    let same = both.filter(|(one, other)| one[2] == other[2] && one[7] == other[7]).count();
    assert!(same > 400 && same * 100 > nginx.len() * 90, "{same} of {} and {}", nginx.len(), apache.len());
}
