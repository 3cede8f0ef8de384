//! From cron to the firewall: `report` keeps lists, and after each run the scripts load them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use jiff::SignedDuration;

use super::namespace::Network;
use super::{LISTED, LISTED_AS, SPARED, firewall, prober, servers, stage};
use crate::harness::{Harness, Run, finish};

/// Runs `report`, which keeps both lists.
fn report(harness: &Harness, args: &[&str]) -> Run {
    const KEEPS: [&str; 15] = [
        "report",
        "--state",
        "state",
        "--out",
        "out",
        "--allow",
        "allow.toml",
        "--block-out",
        "list.nft",
        "--block-format",
        "nft",
        "--block-out",
        "list.nginx",
        "--block-format",
        "nginx",
    ];
    let run = harness.run([&KEEPS[..], args, &["access.log"]].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    run
}

/// The lists name this, in both formats.
fn assert_lists(harness: &Harness, expected: &[&str]) {
    let deny = |line: &str| {
        line.strip_prefix("deny ")
            .map(|rest| rest.split(';').next().unwrap().to_owned())
    };
    let element = |line: &str| {
        line.strip_prefix("  ")
            .map(|rest| rest.split([',', ' ']).next().unwrap().to_owned())
    };
    let nginx: BTreeSet<_> = fs::read_to_string(harness.path("list.nginx"))
        .unwrap()
        .lines()
        .filter_map(deny)
        .collect();
    let nft: BTreeSet<_> = fs::read_to_string(harness.path("list.nft"))
        .unwrap()
        .lines()
        .filter_map(element)
        .collect();
    let expected: BTreeSet<_> = expected
        .iter()
        .map(|address| (*address).to_owned())
        .collect();
    assert_eq!((&nft, &nginx), (&expected, &expected));
}

/// Both loaders, as cron starts them.
fn load(harness: &Harness, network: &Network, target: &Path) {
    firewall::load_ok(&network.server, "load-nft.sh", &harness.path("list.nft"));
    let mut nginx = network.server.program(super::sample("load-nginx.sh"));
    let run = finish(
        nginx
            .arg(harness.path("list.nginx"))
            .arg(target)
            .env("NGINX", servers::nginx_command(harness)),
    );
    assert_eq!(
        (run.code, run.stderr.as_str(), run.text().as_str()),
        (0, "", "")
    );
}

#[test]
fn lists_follow_the_log_from_run_to_run() {
    const TEST: &str = "lists_follow_the_log_from_run_to_run";
    const LATER: &str = "208.67.220.220";
    let harness = stage();
    let Some(network) = Network::new(TEST, &[&LISTED[..], &SPARED, &[LATER]].concat()) else {
        return;
    };
    let Some(()) = firewall::set_up_table(TEST, &network.server) else {
        return;
    };
    fs::create_dir(harness.path("conf.d")).unwrap();
    let target = harness.path("conf.d/probewatch.conf");
    let Some(_server) = servers::start_nginx(TEST, &harness, &network, "include conf.d/*.conf;")
    else {
        return;
    };

    report(&harness, &[]);
    assert_lists(&harness, &LISTED_AS);
    load(&harness, &network, &target);
    let old = fs::read(harness.path("list.nft")).unwrap();
    // Of port 8080 the firewall knows nothing: there nginx refuses.
    let assert_blocked = |sources: &[&str]| {
        for source in sources {
            assert!(network.has_no_answer(source, 80), "{source}");
            network.wait_for(source, 8080, 403);
        }
    };
    let assert_free = |sources: &[&str]| {
        for source in sources {
            network.wait_for(source, 8080, 200);
            assert_eq!(network.status(source, 80, "/"), 200, "{source}");
        }
    };
    assert_blocked(&LISTED);
    assert_free(&SPARED);
    assert_free(&[LATER]);

    // Without new lines, the same lists.
    report(&harness, &[]);
    assert_eq!(fs::read(harness.path("list.nft")).unwrap(), old);
    load(&harness, &network, &target);
    assert_blocked(&LISTED);

    // A new prober.
    let mut log = fs::OpenOptions::new()
        .append(true)
        .open(harness.path("access.log"))
        .unwrap();
    log.write_all(prober(LATER, SignedDuration::from_secs(30)).as_bytes())
        .unwrap();
    report(&harness, &[]);
    assert_lists(&harness, &[&LISTED_AS[..], &[LATER]].concat());
    load(&harness, &network, &target);
    assert_blocked(&[LATER]);
    assert_free(&SPARED);

    // Without new lines, those that probed 20 minutes ago leave the lists.
    report(&harness, &["--ttl", "15m"]);
    assert_lists(&harness, &[LATER]);
    load(&harness, &network, &target);
    assert_blocked(&[LATER]);
    assert_free(&LISTED);
}
