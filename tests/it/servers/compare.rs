//! A report has the same hit for each request, whichever log it reads.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::requests::{self, Request};
use super::{Log, ServerRun, served};

/// The compared fields of a hit, which must not depend on the format. Texts as logged do, because
/// each format escapes them differently, and so does the severity: the grade of an answer depends
/// on its size, which not every format logs.
const COMPARED: [&str; 7] = [
    "client", "method", "path", "status", "outcome", "time", "rules",
];

/// The hits of a log by their lines.
type Hits = BTreeMap<u64, Vec<Value>>;

/// The hits of each log by its file name.
type HitsOfLogs = BTreeMap<String, Hits>;

fn hits(served: &ServerRun, args: &[&str]) -> HitsOfLogs {
    // A name is unknown by the status alone, which a client forges where nothing is escaped.
    let run = served.harness.run(
        ["scan", "-f", "ndjson", "--disable", "prober/unknown"]
            .iter()
            .chain(args),
    );
    assert_eq!(run.code, 0, "{}: {}", served.server, run.stderr);
    let mut logs = HitsOfLogs::new();
    for mut hit in run.objects() {
        // Floods are counted over all logs of a run, and here each request is in several.
        hit["rules"]
            .as_array_mut()
            .unwrap()
            .retain(|rule| !rule.as_str().unwrap().starts_with("flood/"));
        let name = hit["source"]
            .as_str()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned();
        logs.entry(name).or_default().insert(
            hit["line"].as_u64().unwrap(),
            COMPARED.map(|field| hit[field].clone()).to_vec(),
        );
    }
    logs
}

/// The hits of one log, with these flags.
fn hits_of(served: &ServerRun, log: &Log, flags: &[&str]) -> Hits {
    let mut logs = hits(served, &[flags, &[log.path.to_str().unwrap()]].concat());
    assert_eq!(logs.len(), 1, "{}: {}", served.server, log.name);
    logs.pop_first().unwrap().1
}

/// The hits of one log, with its format detected.
fn detected(served: &ServerRun, log: &Log) -> Hits {
    hits_of(served, log, &[])
}

/// Fails with the first lines that differ.
fn assert_same(served: &ServerRun, name: &str, expected: &Hits, found: &Hits) {
    let lines = expected
        .keys()
        .chain(found.keys())
        .collect::<std::collections::BTreeSet<_>>();
    let differing: Vec<_> = lines
        .into_iter()
        .filter(|line| expected.get(line) != found.get(line))
        .collect();
    let requests = requests::all();
    let preview: Vec<String> = differing
        .iter()
        .take(5)
        .map(|line| {
            let request = requests[**line as usize - 1].preview();
            format!(
                "{line}: {request}\n  combined: {:?}\n  {name}: {:?}",
                expected.get(line),
                found.get(line)
            )
        })
        .collect();
    assert!(
        differing.is_empty(),
        "{}: {} lines differ\n{}",
        served.server,
        differing.len(),
        preview.join("\n")
    );
}

/// The hits that a log in this format can show. `is_told`: the format is given, not detected.
fn knowable(hits: &Hits, log: &Log, is_told: bool) -> Hits {
    let requests = requests::all();
    let is_known = |request: &Request| match log.name {
        "common" => request.is_plain,
        "own" => !request.has_referer(),
        // Without escapes, a quote may be the end of a field, and text may look like an escape,
        // unless the format states that nothing is escaped.
        "none" => is_told || request.needs_no_escape(),
        _ => true,
    };
    hits.iter()
        .filter(|(line, _)| is_known(&requests[**line as usize - 1]))
        .map(|(line, hit)| (*line, hit.clone()))
        .collect()
}

/// Compares the hits of a log with those of the combined log of the same server.
fn assert_as_combined(served: &ServerRun, log: &Log, expected: &Hits, found: &Hits, is_told: bool) {
    assert!(
        expected.len() > 400,
        "{}: {} hits",
        served.server,
        expected.len()
    );
    assert_same(
        served,
        log.name,
        &knowable(expected, log, is_told),
        &knowable(found, log, is_told),
    );
}

#[test]
fn detected_formats_have_the_same_hits() {
    for served in served("formats of real servers") {
        let expected = detected(&served, served.log("combined"));
        for log in served.logs.iter().filter(|log| log.is_detected) {
            assert_as_combined(&served, log, &expected, &detected(&served, log), false);
        }
    }
}

#[test]
fn configured_formats_have_the_same_hits() {
    for served in served("formats of real configurations") {
        let mut logs = hits(&served, &[&served.flag()]);
        let expected = logs["combined.log"].clone();
        assert_same(
            &served,
            "combined, found out",
            &expected,
            &detected(&served, served.log("combined")),
        );
        for log in &served.logs {
            let found = logs
                .remove(&format!("{}.log", log.name))
                .unwrap_or_default();
            assert_as_combined(&served, log, &expected, &found, true);
        }
    }
}

#[test]
fn given_formats_have_the_same_hits() {
    for served in served("formats as they are pasted") {
        let expected = detected(&served, served.log("combined"));
        for log in &served.logs {
            assert_as_combined(
                &served,
                log,
                &expected,
                &hits_of(&served, log, &["--log-format", log.format]),
                true,
            );
        }
    }
}

/// Fails unless the lines of an input are accounted for as expected.
fn assert_counted(what: &str, input: &Value) {
    let of = |name: &str| input[name].as_u64().unwrap();
    assert_eq!(of("lines"), requests::ALL as u64, "{what}");
    assert_eq!(
        of("lines"),
        of("parsed") + of("unparsed") + of("oversized") + of("skipped"),
        "{what}: {input}"
    );
    assert!(of("parsed") > 950, "{what}: {input}");
}

#[test]
fn every_line_is_parsed_or_counted() {
    for served in served("lines of real servers") {
        for log in served.logs.iter().filter(|log| log.is_detected) {
            let report = served.harness.json([&log.path]).1;
            assert_counted(
                &format!("{} {}", served.server, log.name),
                &report["inputs"][0],
            );
        }
        let (run, report) = served.harness.json([served.flag()]);
        let inputs = report["inputs"].as_array().unwrap();
        assert_eq!(
            (run.code, inputs.len()),
            (0, served.logs.len()),
            "{}",
            run.stderr
        );
        for input in inputs {
            assert_counted(&format!("{} {}", served.server, input["path"]), input);
        }
    }
}

#[test]
fn hostile_probes_are_detected_with_every_escape_mode() {
    let requests = requests::all();
    for served in served("hostile probes") {
        let logs = hits(&served, &[&served.flag()]);
        assert_eq!(logs.len(), served.logs.len());
        for (name, hits) in &logs {
            let is_missed = |(line, request): &(u64, &Request)| {
                request.is_hostile_probe() && !hits.contains_key(line)
            };
            let missed: Vec<_> = (1..)
                .zip(&requests)
                .filter(is_missed)
                .map(|(line, request)| (line, request.preview()))
                .collect();
            assert!(missed.is_empty(), "{} {name}: {missed:#?}", served.server);
        }
    }
}

/// Text of a proxy is in the line: requests that ended before that field have none.
#[test]
fn the_real_client_is_read_from_logs_of_real_servers() {
    const FLAGS: [&str; 4] = [
        "--client-from",
        "x-forwarded-for",
        "--trusted-proxy",
        "203.0.113.0/24,10.0.0.0/8",
    ];
    // Their hits depend on other requests of the client, and so on how the client is identified.
    const BY_LINE: [&str; 4] = [
        "--disable",
        crate::invariants::CONTEXTUAL,
        "--disable",
        "flood/login",
    ];
    let flags = [FLAGS.as_slice(), &BY_LINE].concat();
    for served in served("proxied clients") {
        for log in served
            .logs
            .iter()
            .filter(|log| log.format.to_ascii_lowercase().contains("forwarded"))
        {
            let text = String::from_utf8_lossy(&fs::read(&log.path).unwrap()).into_owned();
            let lines: Vec<&str> = text.split('\n').collect();
            let mut expected = hits_of(&served, log, &BY_LINE);
            let mut proxied = 0;
            for (line, hit) in &mut expected {
                let number = *line as usize - 1;
                let client = format!("192.0.2.{}", number % 7);
                if lines[number].contains(&format!("{client}, 10.0.0.1"))
                    && hit[0].as_str().unwrap().starts_with("203.0.113.")
                {
                    hit[0] = client.into();
                    proxied += 1;
                }
            }
            assert!(proxied > 300, "{} {}: {proxied}", served.server, log.name);
            // What follows a host and a time taken is unknown unless the format is given.
            if log.name != "vhost" {
                assert_same(&served, log.name, &expected, &hits_of(&served, log, &flags));
            }
            let given = [&flags[..], &["--log-format", log.format]].concat();
            assert_same(&served, log.name, &expected, &hits_of(&served, log, &given));
            let of_configuration = hits(&served, &[&flags[..], &[&served.flag()]].concat());
            assert_same(
                &served,
                log.name,
                &expected,
                &of_configuration[&format!("{}.log", log.name)],
            );
        }
    }
}

#[test]
fn both_servers_get_the_same_requests() {
    let all = served("two servers");
    let [nginx, apache] = all.as_slice() else {
        return;
    };
    let lines_of = |served: &ServerRun| detected(served, served.log("combined"));
    let (nginx, apache) = (lines_of(nginx), lines_of(apache));
    // Each logs invalid requests differently; for valid ones, the paths and rules are the same.
    let both = nginx
        .iter()
        .filter_map(|(line, hit)| Some((hit, apache.get(line)?)));
    let same = both
        .filter(|(one, other)| one[2] == other[2] && one[6] == other[6])
        .count();
    assert!(
        same > 400 && same * 100 > nginx.len() * 90,
        "{same} of {} and {}",
        nginx.len(),
        apache.len()
    );
}
