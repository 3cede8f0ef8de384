//! Block candidates (I2-I5, I8, I9, I11): public addresses that clearly probe, and no others.
//!
//! Candidates in these tests have addresses of well-known public servers.

use std::process::Command;

use super::harness::{Folder, Out, number, report_ok};
use crate::follow::works;
use crate::harness::{Harness, Run, finish, line, skip};

const PUBLIC: [&str; 4] = ["8.8.8.8", "9.9.9.9", "1.1.1.1", "2620:fe:4700::1111"];

const PROBES: [&str; 6] = [
    "/.git/config",
    "/.env",
    "/phpinfo.php",
    "/id_rsa",
    "/db.sql",
    "/actuator/env",
];

/// A client that is clearly a prober.
fn prober(client: &str) -> String {
    PROBES
        .iter()
        .map(|path| line(client, &format!("GET {path} HTTP/1.1"), 404))
        .collect()
}

fn run(harness: &Harness, log: &str, args: &[&str]) -> (Run, Out) {
    harness.file("access.log", log);
    let run = report_ok(harness, &[args, &["access.log"]].concat());
    (run, Out::read(harness))
}

/// Whether the table shows a client as a candidate; `None` if it has no row.
fn candidate(folder: &Folder, client: &str) -> Option<bool> {
    let row = folder.client(client)?;
    let is_candidate = match row["block_candidate"].as_str() {
        "true" | "yes" => true,
        "false" | "no" | "" => false,
        other => panic!("block_candidate is {other:?}"),
    };
    let json = folder.report["clients"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["client"] == client)
        .unwrap();
    assert_eq!(
        json["block_candidate"].as_bool(),
        Some(is_candidate),
        "{json}"
    );
    assert!(!is_candidate || !row["block_reason"].is_empty(), "{row:?}");
    Some(is_candidate)
}

fn candidates(folder: &Folder) -> Vec<String> {
    let clients = folder
        .rows("clients.csv")
        .iter()
        .map(|row| row["client"].clone());
    clients
        .filter(|client| candidate(folder, client) == Some(true))
        .collect()
}

/// I2.
#[test]
fn private_addresses_are_reported_but_never_block_candidates() {
    const NEVER: [&str; 17] = [
        "127.0.0.1",
        "127.255.0.9",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.254",
        "192.168.1.1",
        "169.254.10.20",
        "100.64.0.1",
        "100.127.255.254",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "::1",
        "fc00::1",
        "fd12:3456::7",
        "fe80::1",
        "ff02::1",
    ];
    let harness = Harness::new();
    let log: String = NEVER
        .iter()
        .chain(&PUBLIC)
        .map(|client| prober(client))
        .collect();
    let (_, out) = run(&harness, &log, &[]);
    for client in NEVER {
        assert_eq!(candidate(out.last(), client), Some(false), "{client}");
        assert_eq!(
            number(out.last().client(client).unwrap(), "hits"),
            6,
            "{client} is reported all the same"
        );
    }
    for client in PUBLIC {
        assert_eq!(
            candidate(out.last(), client),
            Some(true),
            "{client}: {:?}",
            out.last().client(client)
        );
    }
}

/// I2. Also as IPv4-mapped IPv6 addresses.
#[test]
fn private_addresses_mapped_into_ipv6() {
    let harness = Harness::new();
    let (_, out) = run(
        &harness,
        &["::ffff:10.0.0.1", "::ffff:127.0.0.1"].map(prober).concat(),
        &[],
    );
    assert_eq!(candidates(out.last()), [""; 0]);
}

/// I2. The addresses of this machine, which may be public.
#[test]
fn own_addresses() {
    const SETUP: &str = "ip link set lo up && ip addr add 9.9.9.9/32 dev lo && ip -6 addr add 2620:fe:4700::1111/128 dev lo";
    let harness = Harness::new();
    if !works(Command::new("unshare").args(["--net", "sh", "-c", SETUP])) {
        return skip("I2, own addresses", "needs root and ip");
    }
    harness.file("access.log", PUBLIC.map(prober).concat());
    let script = format!("{SETUP} && exec \"$0\" report --state state --out out access.log");
    let run = finish(&mut harness.under(&["unshare", "--net", "sh", "-c", &script], [""; 0]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let out = Out::read(&harness);
    for client in PUBLIC {
        let own = ["9.9.9.9", "2620:fe:4700::1111"].contains(&client);
        assert_eq!(
            candidate(out.last(), client),
            Some(!own),
            "{client}: {:?}",
            out.last().client(client)
        );
    }
}

/// I9. A host name is not an address.
#[test]
fn host_names_are_not_block_candidates() {
    let harness = Harness::new();
    let (_, out) = run(
        &harness,
        &["prober.example", "unix:", "-", "8.8.8", "0x08080808"]
            .map(prober)
            .concat(),
        &[],
    );
    assert_eq!(candidates(out.last()), [""; 0]);
}

/// I3.
#[test]
fn allowed_clients_and_trusted_proxies() {
    let harness = Harness::new();
    harness.file(
        "allow.toml",
        "[[allow]]\nreason = 'ours'\nclients = ['8.8.8.0/24']\n",
    );
    // Paths of an allow entry exempt other requests; its clients are never blocked.
    harness.file(
        "paths.toml",
        "[[allow]]\nreason = 'ours'\nclients = ['1.1.1.1']\npaths = ['/status-page']\n",
    );
    let args = [
        "--allow",
        "allow.toml",
        "--allow",
        "paths.toml",
        "--trusted-proxy",
        "9.9.9.0/24",
    ];
    let (_, out) = run(&harness, &PUBLIC.map(prober).concat(), &args);
    assert_eq!(candidates(out.last()), ["2620:fe:4700::1111"]);
    assert!(
        !out.last().summary.contains("8.8.8.8"),
        "{}",
        out.last().summary
    );
}

/// I3.
#[test]
fn a_list_with_one_invalid_entry_is_refused() {
    let harness = Harness::new();
    harness.file("access.log", PUBLIC.map(prober).concat());
    harness.file(
        "allow.toml",
        "[[allow]]\nreason = 'ours'\nclients = ['8.8.8.0/24', '9.9.9.300']\n",
    );
    for args in [
        &["--allow", "allow.toml"][..],
        &["--trusted-proxy", "9.9.9.300"],
        &["--trusted-proxy", "9.9.9.0/40"],
    ] {
        let run = super::harness::report(&harness, &[args, &["access.log"]].concat());
        assert_eq!(
            (run.code, run.stdout.len()),
            (2, 0),
            "{args:?}: {}",
            run.stderr
        );
        assert!(run.stderr.contains("9.9.9."), "{}", run.stderr);
        assert!(!harness.path("out/latest").exists());
    }
}

/// I4. Any client can send any user agent.
#[test]
fn a_user_agent_does_not_protect_from_blocking() {
    let harness = Harness::new();
    let agent = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    harness.file(
        "allow.toml",
        "[[allow]]\nreason = 'the crawler'\nagents = ['Googlebot']\npaths = ['/robots.txt']\n",
    );
    let log = prober("8.8.8.8").replace("Mozilla/5.0", agent) + &prober("9.9.9.9");
    let (_, out) = run(&harness, &log, &["--allow", "allow.toml"]);
    let mut found = candidates(out.last());
    found.sort();
    assert_eq!(found, ["8.8.8.8", "9.9.9.9"]);
}

/// I5. A list that allows all addresses is an error; one that allows very many causes a warning.
#[test]
fn lists_that_are_too_wide() {
    let harness = Harness::new();
    harness.file("access.log", PUBLIC.map(prober).concat());
    for net in ["0.0.0.0/0", "::/0"] {
        harness.file(
            "allow.toml",
            format!("[[allow]]\nreason = 'all'\nclients = ['{net}']\n"),
        );
        for args in [["--allow", "allow.toml"], ["--trusted-proxy", net]] {
            let run = super::harness::report(&harness, &[&args[..], &["access.log"]].concat());
            assert_eq!(
                (run.code, run.stdout.len()),
                (2, 0),
                "{args:?} {net}: {}",
                run.stderr
            );
            assert!(run.stderr.contains(net), "{}", run.stderr);
        }
    }
    for (net, warned) in [
        ("8.0.0.0/7", true),
        ("8.0.0.0/8", false),
        ("2600::/12", true),
        ("2606::/16", false),
    ] {
        let harness = Harness::new();
        harness.file("access.log", PUBLIC.map(prober).concat());
        let run = super::harness::report(&harness, &["--trusted-proxy", net, "access.log"]);
        assert_eq!(
            (run.code, run.stderr.contains(net)),
            (0, warned),
            "{net}: {}",
            run.stderr
        );
    }
}

/// A client that mostly does what visitors do: blocking it would cost more than it gains.
#[test]
fn the_cost_of_blocking() {
    let harness = Harness::new();
    let pages = |client: &str, count: u32| {
        (0..count)
            .map(|n| line(client, &format!("GET /page/{n} HTTP/1.1"), 200))
            .collect::<String>()
    };
    let log = prober("8.8.8.8")
        + &pages("8.8.8.8", 2)
        + &line("9.9.9.9", "GET /.git/config HTTP/1.1", 404)
        + &pages("9.9.9.9", 500);
    let (_, out) = run(&harness, &log, &[]);
    assert_eq!(
        (
            candidate(out.last(), "8.8.8.8"),
            candidate(out.last(), "9.9.9.9")
        ),
        (Some(true), Some(false))
    );
    let reason = &out.last().client("8.8.8.8").unwrap()["block_reason"];
    assert!(
        reason.contains('2') && reason.contains("ordinary"),
        "{reason}"
    );
    assert!(
        out.last().summary.contains("8.8.8.8"),
        "{}",
        out.last().summary
    );
    // One page is not a reason to block a client.
    let harness = Harness::new();
    let (_, out) = run(
        &harness,
        &line("1.1.1.1", "GET /server-status HTTP/1.1", 404),
        &[],
    );
    assert_eq!(candidate(out.last(), "1.1.1.1"), Some(false));
}

/// I8. Very many addresses of one network are reported as one network.
#[test]
fn addresses_of_one_network() {
    const MANY: u32 = 2_000;
    let harness = Harness::new();
    let log: String = (0..MANY)
        .map(|n| prober(&format!("2620:fe:1:2:{:x}:{:x}:0:{:x}", n % 7, n / 7, n)))
        .collect();
    let (_, out) = run(
        &harness,
        &(log + &prober("9.9.9.9") + &prober("9.9.9.10")),
        &[],
    );
    let rows = out.last().rows("clients.csv");
    let of = |network: &str| {
        rows.iter()
            .filter(|row| row["network"] == network)
            .collect::<Vec<_>>()
    };
    for (network, probers) in [("2620:fe:1:2::/64", MANY), ("9.9.9.0/24", 2)] {
        assert_eq!(of(network).len(), probers as usize, "{network}");
        assert!(
            of(network)
                .iter()
                .all(|row| number(row, "network_probers") == u64::from(probers)),
            "{network}"
        );
    }
    let summary = &out.last().summary;
    assert!(
        summary.contains("2620:fe:1:2::/64") && summary.contains("2000")
            || summary.contains("2,000"),
        "{summary}"
    );
    assert!(
        summary
            .lines()
            .filter(|line| line.contains("2620:fe:1:2:"))
            .count()
            < 10,
        "a network is one line: {summary}"
    );
}

/// I11.
#[test]
fn at_most_n_block_candidates() {
    let harness = Harness::new();
    let log: String = (1..=60)
        .map(|n| prober(&format!("8.8.{n}.8")).repeat(if n <= 5 { 3 } else { 1 }))
        .collect();
    let (run, out) = run(&harness, &log, &["--max-block", "5"]);
    let mut found = candidates(out.last());
    found.sort();
    assert_eq!(
        found,
        (1..=5).map(|n| format!("8.8.{n}.8")).collect::<Vec<_>>(),
        "the worst first"
    );
    let contains_55 = [&run.stderr, &out.last().summary, &run.text()]
        .into_iter()
        .any(|text| text.contains("55"));
    assert!(
        contains_55,
        "that 55 were left out: {}{}",
        run.stderr,
        out.last().summary
    );
    let harness = Harness::new();
    let (_, out) = self::run(&harness, &log, &["--max-block", "1"]);
    let found = candidates(out.last());
    assert!(
        found.len() == 1 && (1..=5).any(|n| found[0] == format!("8.8.{n}.8")),
        "{found:?}"
    );
    let harness = Harness::new();
    harness.file("access.log", &log);
    let none = super::harness::report(&harness, &["--max-block", "0", "access.log"]);
    assert_eq!((none.code, none.stdout.len()), (2, 0), "{}", none.stderr);
    assert!(none.stderr.contains("--max-block"), "{}", none.stderr);
}

/// I13. Only the client field counts, whatever else is in the line.
#[test]
fn an_address_in_a_user_agent_is_not_a_client() {
    let harness = Harness::new();
    let log = prober("192.168.1.1")
        .replace("Mozilla/5.0", "8.8.8.8")
        .replace("\"-\"", "\"http://9.9.9.9/\"");
    let (_, out) = run(&harness, &log, &[]);
    assert_eq!(candidates(out.last()), [""; 0]);
}
