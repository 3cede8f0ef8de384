//! Clients: behind proxies, and with several addresses of a prefix.

use serde_json::{Value, json};

use crate::harness::{Harness, line};

const PROBES: [&str; 4] = ["/.env", "/.git/config", "/wp-login.php", "/backup.sql"];

fn prober(client: &str) -> String {
    PROBES
        .iter()
        .map(|path| line(client, &format!("GET {path} HTTP/1.1"), 404))
        .collect()
}

/// The clients of a report and their hits.
fn clients(report: &Value) -> Vec<(String, u64)> {
    let row = |row: &Value| {
        (
            row["client"].as_str().unwrap().to_owned(),
            row["hits"].as_u64().unwrap(),
        )
    };
    let mut rows: Vec<_> = report["clients"]
        .as_array()
        .unwrap()
        .iter()
        .map(row)
        .collect();
    rows.sort();
    rows
}

/// I1.
#[test]
fn a_field_without_a_trusted_proxy_is_refused() {
    let harness = Harness::new();
    harness.file("access.log", prober("192.0.2.1"));
    for command in [
        &["scan"][..],
        &["learn"],
        &["follow"],
        &["report", "--state", "s", "--out", "o"],
    ] {
        let run =
            harness.run([command, &["--client-from", "x-forwarded-for", "access.log"]].concat());
        assert_eq!(
            (run.code, run.stdout.len()),
            (2, 0),
            "{command:?} {}",
            run.stderr
        );
        assert!(
            run.stderr.contains("--trusted-proxy 10.0.0.0/8"),
            "{}",
            run.stderr
        );
    }
    let run = harness.run([
        "scan",
        "--client-from",
        "X-Forwarded-For",
        "--trusted-proxy",
        "10.0.0.0/8",
        "access.log",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn a_proxy_list_with_one_invalid_line_is_refused() {
    let harness = Harness::new();
    harness.file("access.log", prober("192.0.2.1"));
    harness.file("proxies.txt", "# ours\n10.0.0.0/8\n10.0.0.300\n");
    let run = harness.run(["scan", "--trusted-proxy", "@proxies.txt", "access.log"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("proxies.txt:3") && run.stderr.contains("10.0.0.300"),
        "{}",
        run.stderr
    );
    harness.file("proxies.txt", "# ours\n10.0.0.0/8\n");
    harness.file(
        "probewatch.toml",
        "trusted-proxy = ['@proxies.txt']\nclient-from = 'x-real-ip'\n",
    );
    let run = harness.run(["scan", "--config", "probewatch.toml", "access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

/// I8.
#[test]
fn addresses_of_a_prefix_are_one_client() {
    let harness = Harness::new();
    let many: String = (0..3000)
        .map(|n| line(&format!("2001:db8:0:1::{n:x}"), "GET /.env HTTP/1.1", 404))
        .collect();
    harness.file(
        "a.log",
        many + &prober("2001:db8:0:2::1") + &prober("192.0.2.1") + &prober("::ffff:192.0.2.1"),
    );
    harness.file("b.log", prober("2001:db8:0:1::7") + &prober("host.example"));
    let expected = [
        ("192.0.2.1", 8),
        ("2001:db8:0:1::/64", 3004),
        ("2001:db8:0:2::/64", 4),
        ("host.example", 4),
    ];
    let expected = expected.map(|(client, hits)| (client.to_owned(), hits));
    for threads in ["1", "3"] {
        let (run, report) = harness.json(["--ipv6-prefix", "64", "-j", threads, "a.log", "b.log"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(clients(&report), expected);
        assert_eq!(report["ipv6_prefix"], 64);
    }
    let (_, report) = harness.json(["a.log", "b.log"]);
    assert_eq!(
        (clients(&report).len(), report.get("ipv6_prefix")),
        (3004 - 1, None)
    );
    let found = harness
        .run(["scan", "-f", "ndjson", "--ipv6-prefix", "48", "b.log"])
        .objects();
    assert_eq!(found[0]["client"], "2001:db8::/48");
    let run = harness.run(["scan", "--ipv6-prefix", "16", "a.log"]);
    assert!(
        run.code == 2 && run.stderr.contains("type 64"),
        "{}",
        run.stderr
    );
}

#[test]
fn requests_of_a_prefix_belong_to_one_client() {
    // Four probes from four addresses: only together do they make a prober.
    let harness = Harness::new();
    let spread: String = PROBES
        .iter()
        .zip(1..)
        .map(|(path, n)| {
            line(
                &format!("2620:fe:0:1::{n}"),
                &format!("GET {path} HTTP/1.1"),
                404,
            )
        })
        .collect();
    harness.file("access.log", spread);
    let run = harness.run([
        "report",
        "--state",
        "state",
        "--out",
        "out",
        "--ipv6-prefix",
        "64",
        "access.log",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let clients = std::fs::read_to_string(harness.path("out/latest/clients.csv")).unwrap();
    assert_eq!(clients.lines().count(), 2, "{clients}");
    assert!(clients.contains("2620:fe:0:1::/64,4,4,"), "{clients}");
    assert!(
        clients.contains(",true,") || clients.contains(",yes,"),
        "a candidate: {clients}"
    );
    // A reason not to block one address holds for its whole prefix.
    let args = [
        "--trusted-proxy",
        "2620:fe:0:1::9",
        "--ipv6-prefix",
        "64",
        "access.log",
    ];
    let run = harness.run([&["report", "--state", "state2", "--out", "out2"][..], &args].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let clients = std::fs::read_to_string(harness.path("out2/latest/clients.csv")).unwrap();
    assert!(clients.contains("a trusted proxy"), "{clients}");
}

#[test]
fn an_allow_entry_must_cover_the_whole_prefix() {
    let harness = Harness::new();
    harness.file(
        "access.log",
        prober("2001:db8::7") + &prober("2001:db8:0:1::7"),
    );
    harness.file(
        "allow.toml",
        "[[allow]]\nreason = 'ours'\nclients = ['2001:db8:0:1::/64', '2001:db8::7']\n",
    );
    let (run, report) =
        harness.json(["--allow", "allow.toml", "--ipv6-prefix", "64", "access.log"]);
    assert_eq!(clients(&report), [("2001:db8::/64".to_owned(), 4)]);
    assert!(
        run.stderr.contains("allow.toml:1: 2001:db8::7/128")
            && run.stderr.contains("type 2001:db8::/64"),
        "{}",
        run.stderr
    );
    let (run, report) = harness.json(["--allow", "allow.toml", "access.log"]);
    assert_eq!((clients(&report).len(), run.stderr.as_str()), (0, ""));
}

#[test]
fn reports_with_different_prefixes_are_not_merged() {
    let harness = Harness::new();
    let report = |name: &str, args: &[&str]| {
        let run = harness.run([&["scan", "-f", "json", "-o", name], args].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    harness.file("six.log", prober("2001:db8::1"));
    harness.file("more.log", prober("2001:db8::2"));
    harness.file("four.log", prober("192.0.2.1"));
    report("six.json", &["--ipv6-prefix", "64", "six.log"]);
    report("more.json", &["--ipv6-prefix", "64", "more.log"]);
    report("each.json", &["more.log"]);
    report("four.json", &["four.log"]);
    report(
        "whole.json",
        &["--ipv6-prefix", "64", "four.log", "more.log", "six.log"],
    );
    // Without IPv6 clients the prefix does not matter.
    let merged = harness.run(["merge", "-f", "json", "six.json", "more.json", "four.json"]);
    assert_eq!(
        merged.text(),
        std::fs::read_to_string(harness.path("whole.json")).unwrap(),
        "{}",
        merged.stderr
    );
    let refused = harness.run(["merge", "six.json", "four.json", "each.json"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("by /64") && refused.stderr.contains("--ipv6-prefix"),
        "{}",
        refused.stderr
    );
}

/// A line of a proxied request: the peer, the forwarded field, and the expected client.
const PROXIED_LINES: [(&str, &str, &str); 9] = [
    (
        "192.0.2.1",
        "203.0.113.66, 198.51.100.7, 192.0.2.9",
        "198.51.100.7",
    ),
    ("192.0.2.2", "198.51.100.8", "198.51.100.8"),
    ("192.0.2.3", "[2001:db8::7]:4711", "2001:db8::7"),
    ("192.0.2.4", "192.0.2.200, 192.0.2.9", "192.0.2.200"),
    ("192.0.2.5", "-", "192.0.2.5"),
    ("192.0.2.6", "198.51.100.9, unknown", "192.0.2.6"),
    // A client that is not a trusted proxy may send any field.
    ("198.51.100.50", "127.0.0.1, ::1", "198.51.100.50"),
    ("198.51.100.51", "203.0.113.66, 192.0.2.9", "198.51.100.51"),
    ("2001:db8::51", "203.0.113.66", "2001:db8::51"),
];

/// A log with a line for each of [`PROXIED_LINES`]; `write` formats the peer and the field.
fn proxied_log(head: &str, write: impl Fn(&str, &str) -> String) -> String {
    PROXIED_LINES
        .iter()
        .fold(head.to_owned(), |log, (peer, field, _)| {
            log + &write(peer, field) + "\n"
        })
}

/// Logs of a proxy in several formats: name, field, the format if it must be given, and text.
fn logs_behind() -> Vec<(&'static str, &'static str, Option<&'static str>, String)> {
    let main = |peer: &str, field: &str| {
        format!(
            "{} \"{field}\"",
            line(peer, "GET /.env HTTP/1.1", 404).trim_end()
        )
    };
    let json = |peer: &str, field: &str| {
        let time = "02/Nov/2026:08:01:00 +0000";
        json!({"time_local": time, "remote_addr": peer, "request": "GET /.env HTTP/1.1", "status": "404", "http_x_forwarded_for": field})
            .to_string()
    };
    let string = "$remote_addr|$msec|$request|$status|$http_x_real_ip";
    let asked =
        |peer: &str, field: &str| format!("{peer}|1793606460.123|GET /.env HTTP/1.1|404|{field}");
    let head = |column: &str| {
        format!("#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri-stem sc-status {column}\n")
    };
    // A log with columns cannot contain spaces: IIS writes a plus.
    let w3c = |peer: &str, field: &str| {
        format!(
            "2026-11-02 08:01:00 {peer} GET /.env 404 {}",
            field.replace(' ', "+")
        )
    };
    vec![
        ("main", "x-forwarded-for", None, proxied_log("", main)),
        ("json", "x-forwarded-for", None, proxied_log("", json)),
        ("asked", "x-real-ip", Some(string), proxied_log("", asked)),
        (
            "w3c",
            "x-forwarded-for",
            None,
            proxied_log(&head("X-Forwarded-For"), w3c),
        ),
        (
            "iis",
            "x-forwarded-for",
            None,
            proxied_log(&head("cs(X-Forwarded-For)"), w3c),
        ),
    ]
}

/// The clients of the hits, in the order of the lines.
fn hits_of_scan(harness: &Harness, args: &[&str]) -> Vec<String> {
    let run = harness.run(["scan", "-f", "ndjson"].iter().chain(args));
    assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
    run.objects()
        .iter()
        .map(|hit| hit["client"].as_str().unwrap().to_owned())
        .collect()
}

/// I1.
#[test]
fn the_client_is_the_rightmost_untrusted_address_in_every_format() {
    let harness = Harness::new();
    for (name, field, format, text) in logs_behind() {
        harness.file("access.log", text);
        let format: Vec<&str> = format
            .iter()
            .flat_map(|string| ["--log-format", string])
            .collect();
        let with =
            |flags: &[&str]| hits_of_scan(&harness, &[&format, flags, &["access.log"]].concat());
        let from = ["--client-from", field, "--trusted-proxy", "192.0.2.0/24"];
        assert_eq!(
            with(&from),
            PROXIED_LINES.map(|(_, _, client)| client),
            "{name}"
        );
        assert_eq!(with(&[]), PROXIED_LINES.map(|(peer, ..)| peer), "{name}");
        // Proxies that are not trusted, and a field that the log does not have.
        assert_eq!(
            with(&["--client-from", field, "--trusted-proxy", "10.0.0.0/8"]),
            PROXIED_LINES.map(|(peer, ..)| peer),
            "{name}"
        );
        assert_eq!(
            with(&[
                "--client-from",
                "x-nobody",
                "--trusted-proxy",
                "192.0.2.0/24"
            ]),
            PROXIED_LINES.map(|(peer, ..)| peer),
            "{name}"
        );
    }
}

#[test]
fn a_report_shows_the_real_clients() {
    for (name, field, format, text) in logs_behind() {
        let harness = Harness::new();
        harness.file("access.log", text);
        let format: Vec<&str> = format
            .iter()
            .flat_map(|string| ["--log-format", string])
            .collect();
        let args = [
            "--client-from",
            field,
            "--trusted-proxy",
            "192.0.2.0/24",
            "access.log",
        ];
        let run = harness.run(
            [
                &["report", "--state", "state", "--out", "out"],
                &format[..],
                &args,
            ]
            .concat(),
        );
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        let clients = std::fs::read_to_string(harness.path("out/latest/clients.csv")).unwrap();
        let mut hits_of_scan: Vec<&str> = clients
            .lines()
            .skip(1)
            .filter_map(|row| row.split(',').next())
            .collect();
        let mut expected = PROXIED_LINES.map(|(_, _, client)| client);
        hits_of_scan.sort_unstable();
        expected.sort_unstable();
        assert_eq!(hits_of_scan, expected, "{name}");
    }
}

const HOST_FIRST: &str = r#"$host $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;

/// A prober that sends another client's address as `Host`, in a log of [`HOST_FIRST`].
fn with_forged_host() -> String {
    prober("66.249.66.1 9.9.9.9")
}

/// Hits by client, by `scan` with one thread and several, from a file and from standard input,
/// compressed, and by `follow` and `report`.
fn clients_however_read(harness: &Harness, log: &str, expected: &[(&str, u64)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(client, hits)| ((*client).to_owned(), *hits))
        .collect();
    harness.file("access.log", log);
    for args in [
        &["-j", "1", "access.log"][..],
        &["-j", "3", "access.log"],
        &["--mmap", "always", "access.log"],
    ] {
        let (run, report) = harness.json(args);
        assert_eq!(clients(&report), expected, "{args:?} {}", run.stderr);
    }
    let run = harness.run_with_stdin(["scan", "-f", "json", "-"], log.as_bytes());
    assert_eq!(clients(&run.json()), expected, "{}", run.stderr);
    let of_lines = |run: &crate::harness::Run| {
        let mut counts = std::collections::BTreeMap::<String, u64>::new();
        for hit in run
            .objects()
            .iter()
            .filter(|object| object["type"] != "alert" && object.get("path").is_some())
        {
            *counts
                .entry(hit["client"].as_str().unwrap().to_owned())
                .or_default() += 1;
        }
        counts.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(
        of_lines(&harness.run(["scan", "-f", "ndjson", "access.log"])),
        expected
    );
    let run = harness.run(["report", "--state", "state", "--out", "out", "access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value =
        serde_json::from_slice(&std::fs::read(harness.path("out/latest/report.json")).unwrap())
            .unwrap();
    assert_eq!(clients(&report), expected);
}

/// The block candidates of the last report.
fn candidates(harness: &Harness) -> Vec<String> {
    let report: Value =
        serde_json::from_slice(&std::fs::read(harness.path("out/latest/report.json")).unwrap())
            .unwrap();
    let rows = report["clients"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["block_candidate"] == true);
    rows.map(|row| row["client"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_host_field_is_not_the_client() {
    // Googlebot requests pages, and a prober sends its address as host.
    let google: String = (0..20)
        .map(|n| {
            line(
                "www.example.org 66.249.66.1",
                &format!("GET /page/{n} HTTP/1.1"),
                200,
            )
        })
        .collect();
    for log in [with_forged_host() + &google, google + &with_forged_host()] {
        let harness = Harness::new();
        clients_however_read(&harness, &log, &[("9.9.9.9", 4)]);
        assert_eq!(candidates(&harness), ["9.9.9.9"]);
        let run = harness.run(["scan", "access.log"]);
        assert!(!run.stderr.contains("--log-format"), "{}", run.stderr);
    }
}

#[test]
fn lines_without_a_client_have_no_block_candidate() {
    let harness = Harness::new();
    clients_however_read(&harness, &with_forged_host(), &[("-", 4)]);
    assert_eq!(candidates(&harness), [""; 0]);
    let (run, report) = harness.json(["access.log", "access.log"]);
    assert_eq!(
        (&report["totals"]["parsed"], &report["totals"]["unparsed"]),
        (&Value::from(4), &Value::from(0))
    );
    let notes: Vec<_> = run
        .stderr
        .lines()
        .filter(|line| line.contains("two addresses"))
        .collect();
    assert!(
        notes.len() == 1
            && notes[0].contains("access.log: has 4 lines")
            && notes[0].contains(HOST_FIRST),
        "{}",
        run.stderr
    );
    // The command of the hint works.
    let (run, report) = harness.json(["--log-format", HOST_FIRST, "access.log"]);
    assert_eq!(
        (clients(&report), run.stderr.contains("two addresses")),
        (vec![("9.9.9.9".to_owned(), 4)], false),
        "{}",
        run.stderr
    );
    let client_first = HOST_FIRST.replace("$host $remote_addr", "$remote_addr $host");
    let (_, report) = harness.json(["--log-format", &client_first, "access.log"]);
    assert_eq!(clients(&report), [("66.249.66.1".to_owned(), 4)]);
}

#[test]
fn follow_and_report_show_an_unknown_client() {
    let harness = Harness::new();
    harness.file("access.log", with_forged_host());
    let run = harness.run(["report", "--state", "state", "--out", "out", "access.log"]);
    let summary = std::fs::read_to_string(harness.path("out/latest/summary.txt")).unwrap();
    // The text is wrapped.
    let summary = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        run.code == 0 && summary.contains("has 4 lines") && summary.contains(HOST_FIRST),
        "{summary}"
    );
    let child = crate::harness::spawn(&mut harness.command([
        "follow",
        "--from-start",
        "-f",
        "ndjson",
        "access.log",
    ]));
    std::thread::sleep(std::time::Duration::from_secs(1));
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let run = crate::harness::wait(child);
    assert!(
        run.stderr.matches("two addresses").count() == 1 && run.stderr.contains(HOST_FIRST),
        "{}",
        run.stderr
    );
    assert!(
        run.objects().iter().all(|hit| hit["client"] == "-"),
        "{}",
        run.text()
    );
}

#[test]
fn a_line_cut_at_its_start_has_no_client() {
    let harness = Harness::new();
    let log = line("0.3.105", "GET /.env HTTP/1.1", 404) + &prober("192.0.2.1");
    clients_however_read(&harness, &log, &[("-", 1), ("192.0.2.1", 4)]);
}

#[test]
fn the_cost_of_a_block_includes_unparsed_lines() {
    let harness = Harness::new();
    let unparsed = "22/Nov/2026 10:00 9.9.9.9 GET /page 200\n".repeat(30);
    harness.file(
        "access.log",
        prober("9.9.9.9") + &unparsed + &prober("1.1.1.1"),
    );
    let run = harness.run(["report", "--state", "state", "--out", "out", "access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(candidates(&harness), ["1.1.1.1"]);
}

#[test]
fn a_hint_is_printed_if_one_client_makes_all_requests() {
    const FIELD: &str = " \"198.51.100.7\"";
    let harness = Harness::new();
    let scan = |lines: usize, others: usize, field: &str, args: &[&str]| {
        let one = |n: usize| {
            let client = if n < others { "192.0.2.1" } else { "10.0.0.1" };
            line(client, &format!("GET /page/{n} HTTP/1.1"), 200)
                .replace("5.0\"\n", &format!("5.0\"{field}\n"))
        };
        harness.file("access.log", (0..lines).map(one).collect::<String>());
        harness.run([&["scan", "access.log"], args].concat()).stderr
    };
    let hint = scan(100, 5, FIELD, &[]);
    let typed = "--client-from x-forwarded-for --trusted-proxy 10.0.0.1";
    assert!(
        hint.contains("warning: one client makes 95 of 100 requests") && hint.contains(typed),
        "{hint}"
    );
    assert!(
        scan(100, 5, FIELD, &["-q"]).contains(typed),
        "a warning is not hidden"
    );
    assert!(!scan(100, 5, FIELD, &["--anonymize"]).contains("10.0.0.1"));
    let typed: Vec<&str> = typed.split(' ').collect();
    for (lines, others, field, args) in [
        (100, 6, FIELD, &[][..]),
        (99, 0, FIELD, &[]),
        (100, 0, "", &[]),
        (100, 0, " \"-\"", &[]),
        (100, 0, FIELD, &typed),
    ] {
        let hint = scan(lines, others, field, args);
        assert!(
            !hint.contains("--client-from"),
            "{lines} {others} {field} {hint}"
        );
    }
}

#[test]
fn the_client_of_an_unparsed_line_is_one_of_its_first_addresses() {
    let harness = Harness::new();
    let proxied_log = |bytes: usize| format!("{:bytes$}1.1.1.1\n", "a b c");
    let among = |others: &str| format!("{others}1.1.1.1\n");
    let unparsed = [
        proxied_log(249),
        proxied_log(250),
        among("8.8.8.1 8.8.8.2 8.8.8.3 "),
        among("8.8.8.1 8.8.8.2 8.8.8.3 8.8.8.4 "),
    ]
    .concat();
    harness.file("access.log", prober("1.1.1.1") + &unparsed);
    let (run, report) = harness.json(["access.log"]);
    let row = report["clients"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["client"] == "1.1.1.1")
        .unwrap();
    assert_eq!(
        (row["requests"].as_u64(), row["hits"].as_u64()),
        (Some(6), Some(4)),
        "{} {row}",
        run.stderr
    );
    assert_eq!(report["totals"]["requests"], 4);
}

/// A line of a client with this text before the time.
fn sent_by(before_time: &str, path: &str, status: u16) -> String {
    let line = line(before_time, &format!("GET {path} HTTP/1.1"), status);
    line.replacen(" - - [", " [", 1)
}

/// Lines of ordinary requests, then probes, each with its own text before the time.
fn log_of(visitor: impl Fn(usize) -> String, prober: &str) -> String {
    let pages = (0..60).map(|n| sent_by(&visitor(n), &format!("/page/{n}"), 200));
    let answers = PROBES.iter().map(|path| sent_by(prober, path, 404));
    pages.chain(answers).collect()
}

const SENT: &str = "66.249.66.1";

#[test]
fn a_user_with_an_address_hides_no_answer_in_an_envelope() {
    const ENVELOPES: [&str; 8] = [
        "",
        "<190>Nov 27 20:00:00 web nginx: ",
        "Nov 27 20:00:00 web nginx[12]: ",
        "2026-11-27T20:00:00.123456789Z stdout F ",
        "2026-11-27T20:00:00.123456789Z stdout P ",
        "2026-11-27T20:00:00.123456789Z ",
        "web-1  | ",
        "[pod/web-1/nginx] ",
    ];
    for user in [
        "-",
        "a b",
        "a 1.2.3.4",
        SENT,
        "a - 66.249.66.1",
        "66.249.66.1 - -",
    ] {
        let lines = (0..20)
            .map(|n| {
                line(
                    &format!("198.51.100.{n}"),
                    &format!("GET /{n} HTTP/1.1"),
                    200,
                )
            })
            .chain([sent_by(
                &format!("203.0.113.99 - {user}"),
                "/.git/config",
                200,
            )]);
        let lines: Vec<String> = lines.collect();
        let of_docker = |line: &String| json!({"log": line, "stream": "stdout"}).to_string() + "\n";
        let logs = ENVELOPES
            .map(|envelope| {
                lines
                    .iter()
                    .flat_map(|line| [envelope, line])
                    .collect::<String>()
            })
            .into_iter()
            .chain([lines.iter().map(of_docker).collect()]);
        for log in logs {
            let harness = Harness::new();
            harness.file("access.log", &log);
            let (_, report) = harness.json(["access.log"]);
            let last = log.lines().last();
            assert_eq!(report["totals"]["answered"], 1, "{last:?}");
            assert_eq!(
                clients(&report),
                [("203.0.113.99".to_owned(), 1)],
                "{last:?}"
            );
        }
    }
}

/// The addresses that `block` lists.
fn blocked(harness: &Harness) -> Vec<String> {
    let run = harness.run(["block", "access.log"]);
    let is_entry = |line: &&str| !line.starts_with('#');
    String::from_utf8(run.stdout)
        .unwrap()
        .lines()
        .filter(is_entry)
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_user_is_never_the_client() {
    for client in [
        "unix:",
        "localhost",
        "-",
        "crawl-1.example.net",
        "www.example.com:443 crawl.example.net",
        "access.log:203.0.113.9",
    ] {
        for user in [
            "66.249.66.1",
            "a - 66.249.66.1",
            "a : 66.249.66.1",
            "- 66.249.66.1",
            "66.249.66.1 - -",
            "[info]66.249.66.1 - -",
        ] {
            let harness = Harness::new();
            let log = log_of(|_| format!("{client} - -"), &format!("{client} - {user}"));
            harness.file("access.log", log);
            let listed = blocked(&harness);
            assert!(!listed.contains(&SENT.to_owned()), "{client} - {user}");
            // The answers of all lines are known, but for a bracket, which begins the time.
            let (_, report) = harness.json(["access.log"]);
            if !user.starts_with('[') {
                assert_eq!(report["totals"]["unparsed"], 0, "{client} - {user}");
            }
        }
    }
}

#[test]
fn a_header_before_the_client_is_never_the_client() {
    let formats: [fn(&str, &str) -> String; 8] = [
        |sent, client| format!("{sent} - {client}"),
        |sent, client| format!("{sent} - - {client}"),
        |sent, client| format!("{sent} - bob {client}"),
        |sent, client| format!("{sent} - {client} bob"),
        |sent, client| format!("{sent} -> {client}"),
        |sent, client| format!("{sent} bob {client}"),
        |sent, client| format!("{sent} - {client} - -"),
        |sent, client| format!("{sent} {client} - -"),
    ];
    for (number, format) in formats.iter().enumerate() {
        for usual in ["www.example.com", "-"] {
            for sent in [SENT, "a 66.249.66.1", "66.249.66.1 -"] {
                let harness = Harness::new();
                let log = log_of(
                    |n| format(usual, &format!("198.51.100.{n}")),
                    &format(sent, "203.0.113.9"),
                );
                harness.file("access.log", log);
                let listed = blocked(&harness);
                let is_right = listed.is_empty() || listed == ["203.0.113.9"];
                assert!(is_right, "format {number}, {usual}, {sent}: {listed:?}");
            }
        }
    }
    // `$http_x_forwarded_for - $remote_user`: no line has the address of its client.
    let harness = Harness::new();
    harness.file("access.log", log_of(|_| "- - -".into(), "66.249.66.1 - -"));
    assert_eq!(blocked(&harness), [""; 0]);
    let run = harness.run(["scan", "access.log"]);
    assert!(
        run.stderr.contains("one that a client may have sent"),
        "{}",
        run.stderr
    );
}

/// A line of a client before all others, or among them, must not hide its requests or theirs.
#[test]
fn one_line_makes_no_log_unread() {
    type Line = fn(&str, &str, &str, &str, u16) -> String;
    let time = "02/Nov/2026:08:01:00 +0000";
    let host_first: [Line; 4] = [
        |host, client, time, path, status| {
            format!(
                "{host} {client} - - [{time}] \"GET {path} HTTP/1.1\" {status} 268 \"-\" \"x\"\n"
            )
        },
        |host, client, time, path, status| {
            format!("{host}\t{client}\t{time}\tGET\t{path}\t{status}\t268\n")
        },
        |host, client, time, path, status| {
            format!("{host}|{client}|{time}|GET {path} HTTP/1.1|{status}|268\n")
        },
        |host, client, time, path, status| {
            format!("{host};{client};{time};GET;{path};{status};268\n")
        },
    ];
    let agent_last: [Line; 3] = [
        |agent, client, time, path, status| {
            format!("{time}\t{client}\tGET\t{path}\t{status}\t268\t{agent}\n")
        },
        |agent, client, time, path, status| {
            format!("{time}|{client}|GET|{path}|{status}|268|{agent}\n")
        },
        |agent, client, time, path, status| {
            format!("{time} {client} GET {path} {status} 268 \"{agent}\"\n")
        },
    ];
    let hosts = ["#Fields:", "#Version:", "#Software:", "#Remark:", "{", "[{"];
    let agents = ["GET / HTTP/1.1", "POST /a", "curl/8 ", "{", "#Fields:"];
    let cases = host_first
        .iter()
        .map(|line| (line, &hosts[..], "www.example.org"))
        .chain(agent_last.iter().map(|line| (line, &agents[..], "-")));
    for (line, sent, usual) in cases {
        for sent in sent {
            for at in [0, 30] {
                let page = |n: usize| {
                    let client = format!("198.51.100.{}", n % 40 + 1);
                    line(usual, &client, time, &format!("/page/{n}"), 404)
                };
                let mut lines: Vec<String> = (0..60).map(page).collect();
                lines.insert(at, line(sent, "203.0.113.9", time, "/.git/config", 200));
                let harness = Harness::new();
                harness.file("access.log", lines.concat());
                let (_, report) = harness.json(["access.log"]);
                assert_eq!(report["totals"]["answered"], 1, "{}", lines[at]);
                assert_eq!(
                    clients(&report),
                    [("203.0.113.9".to_owned(), 1)],
                    "{}",
                    lines[at]
                );
            }
        }
    }
}

/// `--client-from` in a log whose first field is that header: a proxy appends the client to what
/// the client sent.
#[test]
fn a_header_with_a_text_like_a_user_is_no_client() {
    for sent in ["66.249.66.1 - - [x]", "66.249.66.1 - a", "66.249.66.1 -"] {
        let harness = Harness::new();
        let log = log_of(
            |n| format!("198.51.100.{n} - -"),
            &format!("{sent}, 203.0.113.9 - -"),
        );
        harness.file("access.log", log);
        let run = harness.run([
            "block",
            "--client-from",
            "x-forwarded-for",
            "--trusted-proxy",
            "10.0.0.0/8",
            "access.log",
        ]);
        assert!(
            !run.text().contains("66.249.66.1"),
            "{sent}: {}",
            run.text()
        );
    }
}

#[test]
fn a_header_hides_no_answer_in_the_format_of_envoy() {
    let line = |path: &str, status: u16, [forwarded, agent, id]: [&str; 3]| {
        format!(
            "[2026-11-27T10:00:00.000Z] \"GET {path} HTTP/1.1\" {status} - 0 268 5 4 \"{forwarded}\" \"{agent}\" \"{id}\" \
             \"www.example.com\" \"10.0.0.3:80\"\n"
        )
    };
    for headers in [
        ["-", "curl", "id"],
        ["unknown", "curl", "id"],
        ["a b", "curl", "id"],
        ["_x", "curl", "id"],
        ["\\", "curl", "id"],
        ["\"", "curl", "id"],
        ["-", "a\\", "id"],
        ["-", "\" \"", "id"],
        ["-", "curl", "\\"],
        ["-", "curl", "a\" \"b"],
    ] {
        let pages = (0..60).map(|n| line(&format!("/page/{n}"), 404, ["-", "curl", "id"]));
        let harness = Harness::new();
        harness.file(
            "access.log",
            pages
                .chain([line("/.git/config", 200, headers)])
                .collect::<String>(),
        );
        let (_, report) = harness.json(["access.log"]);
        assert_eq!(report["totals"]["answered"], 1, "{headers:?}");
        assert_eq!(clients(&report), [("-".to_owned(), 1)], "{headers:?}");
    }
}

#[test]
fn lines_that_end_with_a_carriage_return_are_said() {
    let harness = Harness::new();
    let log = prober("192.0.2.1").replace('\n', "\r");
    harness.file("access.log", &log);
    let (run, report) = harness.json(["access.log"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let problem = report["inputs"][0]["problem"].as_str().unwrap();
    assert!(problem.contains("tr '\\r' '\\n'"), "{problem}");
    harness.file("access.log", log.replace('\r', "\r\n"));
    assert_eq!(harness.run(["scan", "access.log"]).code, 0);
}
