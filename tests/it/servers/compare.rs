//! What a report says of each request, whichever log it reads: the same.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Log, Served, requests, served};

/// What is compared of a hit: nothing of it may hang on the format. Texts as they were logged do, as each format escapes them in
/// its own way.
const COMPARED: [&str; 8] = ["client", "method", "path", "status", "outcome", "time", "severity", "rules"];

/// The hits of a log by their lines.
type Hits = BTreeMap<u64, Vec<Value>>;

fn hits(served: &Served, log: &Log, flags: &[&str]) -> Hits {
    let path = log.path.to_str().unwrap();
    let run = served.rig.run([&["scan", "-f", "ndjson", path], flags].concat());
    assert_eq!(run.code, 0, "{} {}: {}", served.server, log.name, run.stderr);
    let of = |hit: &Value| COMPARED.map(|field| hit[field].clone()).to_vec();
    run.objects().iter().map(|hit| (hit["line"].as_u64().unwrap(), of(hit))).collect()
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

/// Those whose request line alone can match: what a log without agents can know.
fn plain(hits: &Hits) -> Hits {
    let requests = requests::all();
    hits.iter().filter(|(line, _)| requests[**line as usize - 1].is_plain).map(|(line, hit)| (*line, hit.clone())).collect()
}

/// Compares each of these logs with the combined one of the same server.
fn assert_all_same(served: &Served, logs: &[&Log], flags: &[&str]) {
    let expected = hits(served, served.log("combined"), &[]);
    assert!(expected.len() > 500, "{}: {} hits", served.server, expected.len());
    for log in logs {
        let found = hits(served, log, flags);
        if log.name == "common" {
            assert_same(served, log.name, &plain(&expected), &plain(&found));
        } else {
            assert_same(served, log.name, &expected, &found);
        }
    }
}

#[test]
fn the_same_requests_are_the_same_hits_in_every_format_that_is_found_out() {
    for served in served("formats of real servers") {
        let logs: Vec<_> = served.logs.iter().filter(|log| log.is_detected).collect();
        assert!(logs.len() > 2);
        assert_all_same(&served, &logs, &[]);
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
    let lines_of = |served: &Served| hits(served, served.log("combined"), &[]);
    let (nginx, apache) = (lines_of(nginx), lines_of(apache));
    // Each writes down in its own way what is no request; of those that are, the paths and rules are the same.
    let both = nginx.iter().filter_map(|(line, hit)| Some((hit, apache.get(line)?)));
    let same = both.filter(|(one, other)| one[2] == other[2] && one[7] == other[7]).count();
    assert!(same > 600 && same * 100 > nginx.len() * 90, "{same} of {} and {}", nginx.len(), apache.len());
}
