//! fail2ban and crowdsec: their own programs read the lists, in a configuration of the test.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::firewall::set_up_table;
use super::namespace::{Network, Process};
use super::servers::start_nginx;
use super::{
    LISTED, LISTED_AS, SPARED, empty_list, has_programs, list_of_log, output_of, plain, program,
    sample, stage,
};
use crate::harness::{Harness, finish, skip};

/// A key with which a firewall of the test queries crowdsec.
const KEY: &str = "0123456789abcdef";

#[test]
fn fail2ban_finds_each_address() {
    if !has_programs("fail2ban_finds_each_address", &["fail2ban-regex"]) {
        return;
    }
    let harness = stage();
    let list = list_of_log(&harness, "fail2ban");
    let filter = sample("fail2ban/filter.d/probewatch.conf");
    let found = |list: &Path| {
        output_of(
            program("fail2ban-regex")
                .args(["--out", "ip"])
                .arg(list)
                .arg(&filter),
        )
    };
    let addresses: BTreeSet<_> = found(&list).lines().map(str::to_owned).collect();
    assert_eq!(addresses, plain(&harness));
    let summary = output_of(program("fail2ban-regex").arg(&list).arg(&filter));
    assert!(
        summary.contains(&format!(
            "Lines: {0} lines, 0 ignored, {0} matched, 0 missed",
            LISTED.len()
        )),
        "{summary}"
    );
    assert_eq!(found(&empty_list(&harness, "fail2ban")), "");
    // Of another program, or in a reason.
    let odd = [
        "2026-11-23 18:00:00 sshd: probewatch: block 7.7.7.7 x",
        "2026-11-23 18:00:00 probewatch: blocked 7.7.7.7",
        "2026-11-23 18:00:00 probewatch: block no.example probewatch: block 7.7.7.7",
    ];
    let odd = harness.file("odd.log", odd.map(|line| format!("{line}\n")).concat());
    assert_eq!(found(&odd), "");
}

/// Debian's configuration of fail2ban in the folder, with the samples and without other jails.
/// `None`, with a message, if it is missing.
fn configure_fail2ban(test: &str, harness: &Harness, list: &Path) -> Option<()> {
    if !has_programs(test, &["fail2ban-client", "fail2ban-server"]) {
        return None;
    }
    if !fs::exists("/etc/fail2ban/action.d/nftables.conf").unwrap() {
        skip(test, "no configuration in /etc/fail2ban");
        return None;
    }
    for folder in ["action.d", "filter.d", "jail.d"] {
        fs::create_dir(harness.path(folder)).unwrap();
    }
    let actions = fs::read_dir("/etc/fail2ban/action.d")
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for from in actions.chain([sample("fail2ban/action.d/probewatch-nftables.conf")]) {
        fs::copy(
            &from,
            harness.path("action.d").join(from.file_name().unwrap()),
        )
        .unwrap();
    }
    for name in ["jail.conf", "paths-common.conf", "paths-debian.conf"] {
        fs::copy(format!("/etc/fail2ban/{name}"), harness.path(name)).unwrap();
    }
    fs::copy(
        sample("fail2ban/filter.d/probewatch.conf"),
        harness.path("filter.d/probewatch.conf"),
    )
    .unwrap();
    let jail = fs::read_to_string(sample("fail2ban/jail.d/probewatch.conf")).unwrap();
    harness.file(
        "jail.d/probewatch.conf",
        jail.replace("/var/lib/probewatch-block/list.log", list.to_str().unwrap()),
    );
    let here = |name: &str| harness.path(name).display().to_string();
    harness.file(
        "fail2ban.conf",
        format!(
            "[Definition]\nloglevel = INFO\nlogtarget = {}\nsyslogsocket = none\nsocket = {}\npidfile = {}\ndbfile = None\n\
             dbpurgeage = 1d\nallowipv6 = auto\n",
            here("fail2ban.log"),
            here("socket"),
            here("pid")
        ),
    );
    Some(())
}

#[test]
fn fail2ban_takes_the_jail() {
    let harness = stage();
    let list = list_of_log(&harness, "fail2ban");
    let Some(()) = configure_fail2ban("fail2ban_takes_the_jail", &harness, &list) else {
        return;
    };
    let text = output_of(
        program("fail2ban-client")
            .arg("-c")
            .arg(harness.path(""))
            .arg("-d"),
    );
    for words in [
        format!("'addlogpath', '{}'", list.display()),
        "'probewatch', 'maxretry', 1".into(),
        "'bantime', '1d'".into(),
    ] {
        assert!(text.contains(&words), "{words}: {text}");
    }
    assert_eq!(text.matches("['add', ").count(), 1, "another jail: {text}");
}

#[test]
fn fail2ban_refuses_listed_addresses() {
    const TEST: &str = "fail2ban_refuses_listed_addresses";
    let harness = stage();
    let list = list_of_log(&harness, "fail2ban");
    let Some(()) = configure_fail2ban(TEST, &harness, &list) else {
        return;
    };
    let Some(network) = Network::new(TEST, &[&LISTED[..], &SPARED].concat()) else {
        return;
    };
    let Some(()) = set_up_table(TEST, &network.server) else {
        return;
    };
    let Some(_nginx) = start_nginx(TEST, &harness, &network, "") else {
        return;
    };
    let mut command = network.server.program("fail2ban-server");
    command
        .args(["-f", "-c"])
        .arg(harness.path(""))
        .arg("-s")
        .arg(harness.path("socket"))
        .arg("-p")
        .arg(harness.path("pid"));
    // The list has no time zone.
    let mut server = Process::start(command.env("TZ", "UTC"));
    for source in LISTED {
        server.wait_until(source, || network.has_no_answer(source, 80));
    }
    for source in SPARED {
        assert_eq!(network.status(source, 80, "/"), 200, "{source}");
    }
    let text = fs::read_to_string(harness.path("fail2ban.log")).unwrap();
    assert!(
        !text.contains("ERROR")
            && LISTED_AS
                .iter()
                .all(|network| text.contains(&format!(" Ban {network}\n"))),
        "{text}"
    );
}

/// A configuration of crowdsec in the folder, with its database and its API on a free port.
struct Crowdsec {
    harness: Harness,
    port: u16,
    _server: Process,
}

impl Crowdsec {
    fn start(test: &str) -> Option<Self> {
        if !has_programs(test, &["cscli", "crowdsec"]) {
            return None;
        }
        let harness = stage();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        configure(&harness, port);
        let machine = [
            "machines",
            "add",
            "test",
            "--password",
            "secret",
            "--force",
            "-f",
            "client.yaml",
            "--url",
        ];
        output_of(
            cscli(&harness)
                .args(machine)
                .arg(format!("http://127.0.0.1:{port}")),
        );
        output_of(cscli(&harness).args(["bouncers", "add", "test", "-k", KEY]));
        // Without `-no-cs` it would read the logs of this host.
        let mut command = harness.program("crowdsec");
        let mut server = Process::start(
            command
                .args(["-no-cs", "-c"])
                .arg(harness.path("config.yaml")),
        );
        server.wait_until("crowdsec listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Some(Self {
            harness,
            port,
            _server: server,
        })
    }

    /// What it decided, as `cscli` lists it.
    fn decisions(&self) -> Vec<Value> {
        let list = [
            "decisions",
            "list",
            "--origin",
            "cscli-import",
            "-o",
            "json",
        ];
        let alerts: Value =
            serde_json::from_str(&output_of(cscli(&self.harness).args(list))).unwrap();
        let alerts = alerts.as_array().cloned().unwrap_or_default();
        alerts
            .iter()
            .flat_map(|alert| alert["decisions"].as_array().unwrap().clone())
            .collect()
    }

    /// Whether a firewall that queries this address gets a ban.
    fn bans(&self, address: &str) -> bool {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(
            stream,
            "GET /v1/decisions?ip={address} HTTP/1.0\r\nX-Api-Key: {KEY}\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(" 200 "), "{answer}");
        body.contains("\"ban\"")
    }
}

/// It reads no log and calls no other server.
fn configure(harness: &Harness, port: u16) {
    let root = harness.path("").display().to_string();
    let root = root.trim_end_matches('/');
    for folder in ["data", "hub", "plugins", "notifications"] {
        fs::create_dir(harness.path(folder)).unwrap();
    }
    harness.file("simulation.yaml", "simulation: false\n");
    harness.file("hub/.index.json", "{}\n");
    harness.file("client.yaml", "");
    harness.file(
        "profiles.yaml",
        "name: default\nfilters:\n - Alert.Remediation == true\ndecisions:\n - type: ban\n   duration: 4h\non_success: break\n",
    );
    harness.file(
        "config.yaml",
        format!(
            "common: {{ daemonize: false, log_media: stdout, log_level: warning, working_dir: {root} }}\n\
             config_paths: {{ config_dir: {root}, data_dir: {root}/data, simulation_path: {root}/simulation.yaml, hub_dir: {root}/hub, \
             index_path: {root}/hub/.index.json, notification_dir: {root}/notifications, plugin_dir: {root}/plugins }}\n\
             crowdsec_service: {{ enable: false }}\n\
             cscli: {{ output: json, color: \"no\" }}\n\
             db_config: {{ type: sqlite, db_path: {root}/crowdsec.db, use_wal: true }}\n\
             api:\n  client: {{ credentials_path: {root}/client.yaml }}\n  \
             server: {{ log_level: warning, listen_uri: \"127.0.0.1:{port}\", profiles_path: {root}/profiles.yaml, \
             console_path: {root}/console.yaml }}\n\
             prometheus: {{ enabled: false }}\n"
        ),
    );
}

fn cscli(harness: &Harness) -> Command {
    let mut command = harness.program("cscli");
    command
        .args(["--error", "-c"])
        .arg(harness.path("config.yaml"));
    command
}

#[test]
fn crowdsec_imports_the_list() {
    let Some(crowdsec) = Crowdsec::start("crowdsec_imports_the_list") else {
        return;
    };
    let list = list_of_log(&crowdsec.harness, "crowdsec");
    output_of(
        cscli(&crowdsec.harness)
            .args(["decisions", "import", "-i"])
            .arg(&list),
    );
    let mut reader = csv::Reader::from_path(&list).unwrap();
    assert_eq!(
        reader.headers().unwrap(),
        vec!["duration", "reason", "scope", "type", "value"]
    );
    let rows: Vec<_> = reader.records().map(|row| row.unwrap()).collect();
    let decisions = crowdsec.decisions();
    assert_eq!(decisions.len(), rows.len());
    for row in &rows {
        let decision = decisions
            .iter()
            .find(|decision| decision["value"] == row[4])
            .unwrap();
        assert_eq!(
            (decision["scenario"].as_str(), decision["type"].as_str()),
            (Some(&row[1]), Some("ban"))
        );
        // Of a day, what is left after the last probe. `23h39m58.8s` in the answer.
        let duration = decision["duration"].as_str().unwrap();
        assert!(
            duration.starts_with("23h") && !row[1].is_empty(),
            "{decision}"
        );
    }
    let named: BTreeSet<_> = decisions
        .iter()
        .map(|decision| decision["value"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(named, LISTED_AS.map(str::to_owned).into());
    for address in LISTED.into_iter().chain(["2620:fe:4700:0:1::7"]) {
        assert!(crowdsec.bans(address), "{address}");
    }
    for address in SPARED.into_iter().chain(["2620:fe:4700:1::7"]) {
        assert!(!crowdsec.bans(address), "{address}");
    }
}

#[test]
fn crowdsec_refuses_a_broken_list_as_a_whole() {
    let Some(crowdsec) = Crowdsec::start("crowdsec_refuses_a_broken_list_as_a_whole") else {
        return;
    };
    let list = list_of_log(&crowdsec.harness, "crowdsec");
    output_of(
        cscli(&crowdsec.harness)
            .args(["decisions", "import", "-i"])
            .arg(empty_list(&crowdsec.harness, "crowdsec")),
    );
    assert_eq!(crowdsec.decisions().len(), 0);
    output_of(
        cscli(&crowdsec.harness)
            .args(["decisions", "import", "-i"])
            .arg(&list),
    );
    let broken = crowdsec.harness.file(
        "broken.csv",
        fs::read_to_string(&list).unwrap() + "24h,7.7.7.7\n",
    );
    let run = finish(
        cscli(&crowdsec.harness)
            .args(["decisions", "import", "-i"])
            .arg(broken),
    );
    assert_ne!(run.code, 0, "{}", run.stderr);
    assert_eq!(crowdsec.decisions().len(), LISTED.len());
}
