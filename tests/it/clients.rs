//! Who asked: behind proxies, and where many addresses are one client.

use serde_json::Value;

use crate::rig::{Rig, line};

const PROBES: [&str; 4] = ["/.env", "/.git/config", "/wp-login.php", "/backup.sql"];

fn prober(client: &str) -> String {
    PROBES.iter().map(|path| line(client, &format!("GET {path} HTTP/1.1"), 404)).collect()
}

/// The clients of a report and their hits.
fn clients(report: &Value) -> Vec<(String, u64)> {
    let row = |row: &Value| (row["client"].as_str().unwrap().to_owned(), row["hits"].as_u64().unwrap());
    let mut rows: Vec<_> = report["clients"].as_array().unwrap().iter().map(row).collect();
    rows.sort();
    rows
}

#[test]
fn i1_a_field_without_a_trusted_proxy_is_refused() {
    let rig = Rig::new();
    rig.file("access.log", prober("192.0.2.1"));
    for command in [&["scan"][..], &["learn"], &["follow"], &["report", "--state", "s", "--out", "o"]] {
        let run = rig.run([command, &["--client-from", "x-forwarded-for", "access.log"]].concat());
        assert_eq!((run.code, run.stdout.len()), (2, 0), "{command:?} {}", run.stderr);
        assert!(run.stderr.contains("--trusted-proxy 10.0.0.0/8"), "{}", run.stderr);
    }
    let run = rig.run(["scan", "--client-from", "X-Forwarded-For", "--trusted-proxy", "10.0.0.0/8", "access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn a_list_of_proxies_with_one_wrong_line_is_refused_whole() {
    let rig = Rig::new();
    rig.file("access.log", prober("192.0.2.1"));
    rig.file("proxies.txt", "# ours\n10.0.0.0/8\n10.0.0.300\n");
    let run = rig.run(["scan", "--trusted-proxy", "@proxies.txt", "access.log"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("proxies.txt:3") && run.stderr.contains("10.0.0.300"), "{}", run.stderr);
    rig.file("proxies.txt", "# ours\n10.0.0.0/8\n");
    rig.file("probewatch.toml", "trusted-proxy = ['@proxies.txt']\nclient-from = 'x-real-ip'\n");
    let run = rig.run(["scan", "--config", "probewatch.toml", "access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn i8_addresses_of_a_prefix_are_one_client() {
    let rig = Rig::new();
    let many: String = (0..3000).map(|n| line(&format!("2001:db8:0:1::{n:x}"), "GET /.env HTTP/1.1", 404)).collect();
    rig.file("a.log", many + &prober("2001:db8:0:2::1") + &prober("192.0.2.1") + &prober("::ffff:192.0.2.1"));
    rig.file("b.log", prober("2001:db8:0:1::7") + &prober("host.example"));
    let expected = [("192.0.2.1", 8), ("2001:db8:0:1::/64", 3004), ("2001:db8:0:2::/64", 4), ("host.example", 4)];
    let expected = expected.map(|(client, hits)| (client.to_owned(), hits));
    for threads in ["1", "3"] {
        let (run, report) = rig.json(["--ipv6-prefix", "64", "-j", threads, "a.log", "b.log"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(clients(&report), expected);
        assert_eq!(report["ipv6_prefix"], 64);
    }
    let (_, report) = rig.json(["a.log", "b.log"]);
    assert_eq!((clients(&report).len(), report.get("ipv6_prefix")), (3004 - 1, None));
    let found = rig.run(["scan", "-f", "ndjson", "--ipv6-prefix", "48", "b.log"]).objects();
    assert_eq!(found[0]["client"], "2001:db8::/48");
    let run = rig.run(["scan", "--ipv6-prefix", "16", "a.log"]);
    assert!(run.code == 2 && run.stderr.contains("type 64"), "{}", run.stderr);
}

#[test]
fn what_one_address_of_a_prefix_did_the_client_did() {
    // Four probes from four addresses: only together are they a prober's.
    let rig = Rig::new();
    let spread: String =
        PROBES.iter().zip(1..).map(|(path, n)| line(&format!("2606:4700:0:1::{n}"), &format!("GET {path} HTTP/1.1"), 404)).collect();
    rig.file("access.log", spread);
    let run = rig.run(["report", "--state", "state", "--out", "out", "--ipv6-prefix", "64", "access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let clients = std::fs::read_to_string(rig.path("out/latest/clients.csv")).unwrap();
    assert_eq!(clients.lines().count(), 2, "{clients}");
    assert!(clients.contains("2606:4700:0:1::/64,4,4,"), "{clients}");
    assert!(clients.contains(",true,") || clients.contains(",yes,"), "a candidate: {clients}");
    // Who shelters one address of it shelters all.
    let args = ["--trusted-proxy", "2606:4700:0:1::9", "--ipv6-prefix", "64", "access.log"];
    let run = rig.run([&["report", "--state", "state2", "--out", "out2"][..], &args].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let clients = std::fs::read_to_string(rig.path("out2/latest/clients.csv")).unwrap();
    assert!(clients.contains("a trusted proxy"), "{clients}");
}

#[test]
fn an_allow_list_must_name_all_of_a_client() {
    let rig = Rig::new();
    rig.file("access.log", prober("2001:db8::7") + &prober("2001:db8:0:1::7"));
    rig.file("allow.toml", "[[allow]]\nreason = 'ours'\nclients = ['2001:db8:0:1::/64', '2001:db8::7']\n");
    let (run, report) = rig.json(["--allow", "allow.toml", "--ipv6-prefix", "64", "access.log"]);
    assert_eq!(clients(&report), [("2001:db8::/64".to_owned(), 4)]);
    assert!(run.stderr.contains("allow.toml:1: 2001:db8::7/128") && run.stderr.contains("type 2001:db8::/64"), "{}", run.stderr);
    let (run, report) = rig.json(["--allow", "allow.toml", "access.log"]);
    assert_eq!((clients(&report).len(), run.stderr.as_str()), (0, ""));
}

#[test]
fn reports_of_other_prefixes_are_not_added_up() {
    let rig = Rig::new();
    let report = |name: &str, args: &[&str]| {
        let run = rig.run([&["scan", "-f", "json", "-o", name], args].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    rig.file("six.log", prober("2001:db8::1"));
    rig.file("more.log", prober("2001:db8::2"));
    rig.file("four.log", prober("192.0.2.1"));
    report("six.json", &["--ipv6-prefix", "64", "six.log"]);
    report("more.json", &["--ipv6-prefix", "64", "more.log"]);
    report("each.json", &["more.log"]);
    report("four.json", &["four.log"]);
    report("whole.json", &["--ipv6-prefix", "64", "four.log", "more.log", "six.log"]);
    // Without IPv6 clients it is all one how they are counted.
    let merged = rig.run(["merge", "-f", "json", "six.json", "more.json", "four.json"]);
    assert_eq!(merged.text(), std::fs::read_to_string(rig.path("whole.json")).unwrap(), "{}", merged.stderr);
    let refused = rig.run(["merge", "six.json", "four.json", "each.json"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("by /64") && refused.stderr.contains("--ipv6-prefix"), "{}", refused.stderr);
}
