//! nftables and ipset: lists are loaded in a namespace, drop what they name, and a refused list
//! changes nothing.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use super::namespace::{DEADLINE, Namespace, Network};
use super::{
    LISTED, LISTED_AS, MANY, SPARED, assert_refused, empty_list, has_programs, large_list,
    list_of_log, open_folder, output_of, plain, sample, stage,
};
use crate::harness::{Harness, Run, finish, skip};

/// The table of `nft-setup.nft` in a namespace; `None`, with a message, if this kernel has no
/// nftables.
pub(super) fn set_up_table(test: &str, namespace: &Namespace) -> Option<()> {
    if !has_programs(test, &["nft"]) {
        return None;
    }
    let setup = namespace
        .program("nft")
        .arg("-f")
        .arg(sample("nft-setup.nft"))
        .output()
        .unwrap();
    if !setup.status.success() {
        skip(
            test,
            &format!(
                "nft refuses the table: {}",
                String::from_utf8_lossy(&setup.stderr).trim()
            ),
        );
        return None;
    }
    Some(())
}

fn load(namespace: &Namespace, script: &str, list: &Path) -> Run {
    finish(namespace.program(sample(script)).arg(list))
}

pub(super) fn load_ok(namespace: &Namespace, script: &str, list: &Path) {
    let run = load(namespace, script, list);
    assert_eq!(
        (run.code, run.stderr.as_str(), run.text().as_str()),
        (0, "", ""),
        "{}",
        list.display()
    );
}

/// The elements of both sets, as nft lists them.
fn nft_elements(namespace: &Namespace) -> BTreeSet<String> {
    let elements = |set| {
        let text = output_of(namespace.program("nft").args([
            "-j",
            "list",
            "set",
            "inet",
            "probewatch",
            set,
        ]));
        let json: Value = serde_json::from_str(&text).unwrap();
        let objects = json["nftables"].as_array().unwrap();
        let set = objects.iter().find_map(|object| object.get("set")).unwrap();
        set.get("elem")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let written = |element: Value| match element.get("prefix") {
        Some(prefix) => format!("{}/{}", prefix["addr"].as_str().unwrap(), prefix["len"]),
        None => element
            .as_str()
            .unwrap_or_else(|| panic!("neither an address nor a network: {element}"))
            .to_owned(),
    };
    ["block4", "block6"]
        .into_iter()
        .flat_map(elements)
        .map(written)
        .collect()
}

/// The packets that the chain dropped.
fn dropped(namespace: &Namespace) -> u64 {
    let json: Value = serde_json::from_str(&output_of(
        namespace.program("nft").args(["-j", "list", "counters"]),
    ))
    .unwrap();
    let objects = json["nftables"].as_array().unwrap();
    objects
        .iter()
        .filter_map(|object| object["counter"]["packets"].as_u64())
        .sum()
}

/// The elements of both sets, as ipset saves them.
fn ipset_elements(namespace: &Namespace) -> BTreeSet<String> {
    let text = output_of(namespace.program("ipset").arg("save"));
    let added = text
        .lines()
        .filter_map(|line| line.strip_prefix("add probewatch"));
    added
        .map(|line| line.split(' ').nth(1).unwrap().to_owned())
        .collect()
}

/// Lists that are no list any more: cut in the middle, with an invalid address, with a command,
/// with a huge network.
fn broken_lists(harness: &Harness, format: &str, command: &str) -> Vec<PathBuf> {
    let text = fs::read_to_string(list_of_log(harness, format)).unwrap();
    let cut = &text[..text.find(LISTED_AS[1]).unwrap()];
    [
        cut.to_owned(),
        text.replace(LISTED_AS[0], "8.8.8.888"),
        text.replace(LISTED_AS[2], "2606::4700::/64"),
        format!("{text}{command}\n"),
        text.replace(LISTED_AS[0], "8.0.0.0/8"),
        text.replace(LISTED_AS[2], "2000::/3"),
        text.replace(LISTED_AS[0], "dns.example"),
    ]
    .into_iter()
    .enumerate()
    .map(|(number, text)| harness.file(format!("broken{number}.{format}"), text))
    .collect()
}

#[test]
fn nftables_has_what_the_list_names() {
    let test = "nftables_has_what_the_list_names";
    let harness = stage();
    let Some(namespace) = Namespace::new(test) else {
        return;
    };
    let Some(()) = set_up_table(test, &namespace) else {
        return;
    };
    let list = list_of_log(&harness, "nft");
    for _ in 0..2 {
        load_ok(&namespace, "load-nft.sh", &list);
        assert_eq!(nft_elements(&namespace), plain(&harness));
    }
    // The setup may be loaded again, and another table stays.
    output_of(
        namespace
            .program("nft")
            .args(["add", "table", "inet", "other"]),
    );
    assert_eq!(set_up_table(test, &namespace), Some(()));
    load_ok(&namespace, "load-nft.sh", &list);
    assert_eq!(nft_elements(&namespace), plain(&harness));
    assert!(output_of(namespace.program("nft").args(["list", "tables"])).contains("inet other"));
    load_ok(&namespace, "load-nft.sh", &empty_list(&harness, "nft"));
    assert_eq!(nft_elements(&namespace), BTreeSet::new());
}

/// The unit grants two capabilities: to change nftables, and to read a list of another user.
#[test]
fn the_loader_needs_only_what_the_unit_grants() {
    let test = "the_loader_needs_only_what_the_unit_grants";
    let harness = stage();
    let Some(namespace) = Namespace::new(test) else {
        return;
    };
    let Some(()) = set_up_table(test, &namespace) else {
        return;
    };
    if !has_programs(test, &["setpriv"]) {
        return;
    }
    open_folder(&harness);
    let folder = harness.path("of-another-user");
    fs::create_dir(&folder).unwrap();
    fs::rename(list_of_log(&harness, "nft"), folder.join("list.nft")).unwrap();
    for (path, mode) in [(folder.join("list.nft"), 0o600), (folder.clone(), 0o700)] {
        chown(&path, Some(65534), Some(65534)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let load = |capabilities: &str| {
        let mut command = namespace.program("setpriv");
        command
            .args([
                &format!("--bounding-set=-all,{capabilities}"),
                "--no-new-privs",
            ])
            .arg(sample("load-nft.sh"));
        finish(command.arg(folder.join("list.nft")))
    };
    assert_eq!(load("+dac_read_search").code, 1);
    assert_eq!(load("+net_admin").code, 1);
    assert_eq!(nft_elements(&namespace), BTreeSet::new());
    let run = load("+net_admin,+dac_read_search");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(nft_elements(&namespace), plain(&harness));
    let unit = fs::read_to_string(sample("probewatch-block.service")).unwrap();
    assert!(unit.contains("\nCapabilityBoundingSet=CAP_NET_ADMIN CAP_DAC_READ_SEARCH\n"));
}

#[test]
fn nftables_takes_the_list_without_the_script() {
    let test = "nftables_takes_the_list_without_the_script";
    let harness = stage();
    let Some(namespace) = Namespace::new(test) else {
        return;
    };
    if !has_programs(test, &["nft"]) {
        return;
    }
    let list = list_of_log(&harness, "nft");
    let run = finish(namespace.program("nft").arg("-f").arg(&list));
    if run.stderr.contains("Operation not supported") {
        return skip(test, &run.stderr);
    }
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(nft_elements(&namespace), plain(&harness));
}

#[test]
fn a_broken_list_leaves_the_old_one_in_nftables() {
    let test = "a_broken_list_leaves_the_old_one_in_nftables";
    let harness = stage();
    let Some(namespace) = Namespace::new(test) else {
        return;
    };
    let Some(()) = set_up_table(test, &namespace) else {
        return;
    };
    load_ok(&namespace, "load-nft.sh", &list_of_log(&harness, "nft"));
    let before = output_of(namespace.program("nft").args(["list", "ruleset"]));
    let mut broken = broken_lists(&harness, "nft", "flush ruleset");
    for command in [
        "include \"/etc/hostname\"",
        "add rule inet probewatch input accept",
        "delete table inet probewatch",
        "!cat",
    ] {
        broken.extend(broken_lists(&harness, "nft", command).into_iter().nth(3));
        let list = broken.last().unwrap();
        assert_refused(&load(&namespace, "load-nft.sh", list), list);
    }
    for list in &broken {
        assert_refused(&load(&namespace, "load-nft.sh", list), list);
        assert_eq!(
            output_of(namespace.program("nft").args(["list", "ruleset"])),
            before,
            "{}",
            list.display()
        );
    }
    let missing = harness.path("missing.nft");
    assert_ne!(load(&namespace, "load-nft.sh", &missing).code, 0);
    assert_eq!(
        output_of(namespace.program("nft").args(["list", "ruleset"])),
        before
    );
}

#[test]
fn nftables_drops_requests_of_listed_addresses() {
    let test = "nftables_drops_requests_of_listed_addresses";
    let harness = stage();
    let Some(network) = Network::new(test, &[&LISTED[..], &SPARED].concat()) else {
        return;
    };
    let Some(()) = set_up_table(test, &network.server) else {
        return;
    };
    let Some(_server) = super::servers::start_nginx(test, &harness, &network, "") else {
        return;
    };
    for source in LISTED.iter().chain(&SPARED) {
        assert_eq!(
            network.status(source, 80, "/"),
            200,
            "{source} before the list"
        );
    }
    load_ok(
        &network.server,
        "load-nft.sh",
        &list_of_log(&harness, "nft"),
    );
    for source in SPARED {
        assert_eq!(network.status(source, 80, "/"), 200, "{source}");
    }
    assert_eq!(dropped(&network.server), 0);
    for source in LISTED {
        let before = dropped(&network.server);
        let start = Instant::now();
        // On a busy host, a client may give up before it sends a packet.
        while dropped(&network.server) == before {
            assert!(network.has_no_answer(source, 80), "{source}");
            assert!(start.elapsed() < DEADLINE, "no packet of {source} arrives");
        }
        // Other ports stay open.
        assert_eq!(network.status(source, 8080, "/"), 200, "{source}");
    }
    load_ok(&network.server, "load-nft.sh", &empty_list(&harness, "nft"));
    for source in LISTED {
        assert_eq!(
            network.status(source, 80, "/"),
            200,
            "{source} after an empty list"
        );
    }
}

#[test]
fn ipset_has_what_the_list_names() {
    let test = "ipset_has_what_the_list_names";
    let harness = stage();
    let Some(namespace) = namespace_with_ipset(test) else {
        return;
    };
    for _ in 0..2 {
        load_ok(&namespace, "load-ipset.sh", &list_of_log(&harness, "ipset"));
        assert_eq!(ipset_elements(&namespace), plain(&harness));
    }
    for listed in LISTED {
        let set = if listed.contains(':') {
            "probewatch6"
        } else {
            "probewatch4"
        };
        output_of(namespace.program("ipset").args(["-q", "test", set, listed]));
    }
    let names = output_of(namespace.program("ipset").args(["list", "-n"]));
    assert_eq!(
        names.lines().collect::<BTreeSet<_>>(),
        ["probewatch4", "probewatch6"].into(),
        "sets are left over"
    );
    load_ok(&namespace, "load-ipset.sh", &empty_list(&harness, "ipset"));
    assert_eq!(ipset_elements(&namespace), BTreeSet::new());
}

#[test]
fn ipset_takes_the_list_without_the_script() {
    let test = "ipset_takes_the_list_without_the_script";
    let harness = stage();
    let Some(namespace) = namespace_with_ipset(test) else {
        return;
    };
    let list = list_of_log(&harness, "ipset");
    for _ in 0..2 {
        output_of(
            namespace
                .program("ipset")
                .arg("restore")
                .arg("-file")
                .arg(&list),
        );
        assert_eq!(ipset_elements(&namespace), plain(&harness));
    }
}

#[test]
fn a_broken_list_leaves_the_old_one_in_ipset() {
    let test = "a_broken_list_leaves_the_old_one_in_ipset";
    let harness = stage();
    let Some(namespace) = namespace_with_ipset(test) else {
        return;
    };
    output_of(
        namespace
            .program("ipset")
            .args(["create", "other", "hash:ip"]),
    );
    load_ok(&namespace, "load-ipset.sh", &list_of_log(&harness, "ipset"));
    let before = output_of(namespace.program("ipset").arg("save"));
    for list in broken_lists(&harness, "ipset", "destroy other") {
        assert_refused(&load(&namespace, "load-ipset.sh", &list), &list);
        assert_eq!(
            output_of(namespace.program("ipset").arg("save")),
            before,
            "{}",
            list.display()
        );
    }
}

/// A namespace; `None`, with a message, if this kernel has no sets of ipset.
fn namespace_with_ipset(test: &str) -> Option<Namespace> {
    let namespace = Namespace::new(test)?;
    if !has_programs(test, &["ipset"]) {
        return None;
    }
    for family in ["inet", "inet6"] {
        let trial = namespace
            .program("ipset")
            .args(["create", "trial", "hash:net", "family", family])
            .output()
            .unwrap();
        if !trial.status.success() {
            skip(
                test,
                &format!(
                    "no set of ipset: {}",
                    String::from_utf8_lossy(&trial.stderr).trim()
                ),
            );
            return None;
        }
        output_of(namespace.program("ipset").args(["destroy", "trial"]));
    }
    Some(namespace)
}

#[test]
fn a_list_of_100_000_addresses_loads() {
    let test = "a_list_of_100_000_addresses_loads";
    let harness = Harness::new();
    let Some(namespace) = Namespace::new(test) else {
        return;
    };
    if set_up_table(test, &namespace).is_some() {
        load_ok(&namespace, "load-nft.sh", &large_list(&harness, "nft"));
        assert_eq!(nft_elements(&namespace).len(), MANY as usize);
    }
    if let Some(namespace) = namespace_with_ipset(test) {
        load_ok(&namespace, "load-ipset.sh", &large_list(&harness, "ipset"));
        assert_eq!(ipset_elements(&namespace).len(), MANY as usize);
    }
}
