//! The client field: one key for each address in any notation, and text for everything that only
//! looks like an address.

use std::collections::BTreeMap;

use crate::harness::{Harness, line};

/// Hits by client, for a log with one probe from each of these.
fn clients(fields: &[&str]) -> BTreeMap<String, u64> {
    let harness = Harness::new();
    harness.file(
        "access.log",
        fields
            .iter()
            .map(|field| line(field, "GET /.env HTTP/1.1", 404))
            .collect::<String>(),
    );
    let (run, report) = harness.json(["access.log"]);
    // The status of a line may be unknown if its client is broken.
    assert!([0, 3].contains(&run.code), "{}", run.stderr);
    assert_eq!(report["totals"]["hits"], fields.len(), "{}", run.stderr);
    let mut clients = BTreeMap::new();
    for row in report["clients"].as_array().unwrap() {
        *clients
            .entry(row["client"].as_str().unwrap().to_owned())
            .or_default() += row["hits"].as_u64().unwrap();
    }
    clients
}

/// Each stays the text it is.
fn assert_text(fields: &[&str]) {
    let expected = fields
        .iter()
        .map(|field| ((*field).to_owned(), 1))
        .collect();
    assert_eq!(clients(fields), expected);
}

/// Each may be part of an address, in a line that lost its start, or has marks around no address,
/// and is not a client.
fn assert_unknown(fields: &[&str]) {
    assert_eq!(
        clients(fields),
        BTreeMap::from([("-".to_owned(), fields.len() as u64)])
    );
}

/// I6.
#[test]
fn addresses_in_lenient_notations_are_not_addresses() {
    assert_text(&["127.0.0.1", "0x7f.0.0.1", "2130706433"]);
    assert_unknown(&[
        "0127.0.0.1",
        "127.1",
        "1.2.3",
        "1.2.3.4.5",
        "256.1.1.1",
        "1.2.3.04",
        "087.0.0.1",
    ]);
}

/// I7.
#[test]
fn a_mapped_address_is_the_address() {
    let found = clients(&[
        "1.2.3.4",
        "::ffff:1.2.3.4",
        "::FFFF:102:304",
        "[::ffff:1.2.3.4]",
        "0:0:0:0:0:ffff:1.2.3.4",
        "1.2.3.5",
    ]);
    assert_eq!(
        found,
        BTreeMap::from([("1.2.3.4".to_owned(), 5), ("1.2.3.5".to_owned(), 1)])
    );
    let found = clients(&["2001:db8::1", "2001:DB8:0:0:0:0:0:1", "2001:0db8::0001"]);
    assert_eq!(found, BTreeMap::from([("2001:db8::1".to_owned(), 3)]));
}

/// I9.
#[test]
fn host_names_are_kept_as_text() {
    assert_text(&[
        "host.example.com",
        "-",
        "unix:",
        "localhost",
        "größe.example",
    ]);
}

/// I10.
#[test]
fn zones_brackets_and_ports() {
    let found = clients(&[
        "fe80::1%eth0",
        "[fe80::1%eth0]:443",
        "fe80::1",
        "[fe80::1]",
        "192.0.2.1:8080",
        "192.0.2.1",
    ]);
    assert_eq!(
        found,
        BTreeMap::from([("fe80::1".to_owned(), 4), ("192.0.2.1".to_owned(), 2)])
    );
    assert_unknown(&["fe80::1%", "%"]);
    assert_unknown(&[
        "[]",
        "[::1]:x",
        "[fe80::1",
        "::1]:80",
        "192.0.2.1:99999",
        "192.0.2.1:",
        ":80",
        ":::",
        "[::1]]",
    ]);
}
