//! The client field: one key for one address however it is written, and text for all that only looks like one.

use std::collections::BTreeMap;

use crate::harness::{Harness, line};

/// Hits by client, of a log with one probe from each of these.
fn clients(fields: &[&str]) -> BTreeMap<String, u64> {
    let harness = Harness::new();
    harness.file("access.log", fields.iter().map(|field| line(field, "GET /.env HTTP/1.1", 404)).collect::<String>());
    let (run, report) = harness.json(["access.log"]);
    assert_eq!((run.code, report["totals"]["hits"].as_u64()), (0, Some(fields.len() as u64)), "{}", run.stderr);
    report["clients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["client"].as_str().unwrap().to_owned(), row["hits"].as_u64().unwrap()))
        .collect()
}

/// Each stays the text it is, and none becomes another.
fn assert_text(fields: &[&str]) {
    let expected = fields.iter().map(|field| ((*field).to_owned(), 1)).collect();
    assert_eq!(clients(fields), expected);
}

/// Each may be a part of an address, in a line that lost its start, and is no client.
fn assert_unknown(fields: &[&str]) {
    assert_eq!(clients(fields), BTreeMap::from([("-".to_owned(), fields.len() as u64)]));
}

/// I6.
#[test]
fn addresses_in_lenient_notations_are_not_addresses() {
    assert_text(&["127.0.0.1", "0x7f.0.0.1", "2130706433"]);
    assert_unknown(&["0127.0.0.1", "127.1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.04", "087.0.0.1"]);
}

/// I7.
#[test]
fn a_mapped_address_is_the_address() {
    let found = clients(&["1.2.3.4", "::ffff:1.2.3.4", "::FFFF:102:304", "[::ffff:1.2.3.4]", "0:0:0:0:0:ffff:1.2.3.4", "1.2.3.5"]);
    assert_eq!(found, BTreeMap::from([("1.2.3.4".to_owned(), 5), ("1.2.3.5".to_owned(), 1)]));
    let found = clients(&["2001:db8::1", "2001:DB8:0:0:0:0:0:1", "2001:0db8::0001"]);
    assert_eq!(found, BTreeMap::from([("2001:db8::1".to_owned(), 3)]));
}

/// I9.
#[test]
fn host_names_are_kept_as_text() {
    assert_text(&["host.example.com", "-", "unix:", "localhost", "größe.example"]);
}

/// I10.
#[test]
fn zones_brackets_and_ports() {
    let found = clients(&["fe80::1%eth0", "[fe80::1%eth0]:443", "fe80::1", "[fe80::1]", "192.0.2.1:8080", "192.0.2.1"]);
    assert_eq!(found, BTreeMap::from([("fe80::1".to_owned(), 4), ("192.0.2.1".to_owned(), 2)]));
    assert_text(&["fe80::1%", "[]", "%", "[::1]:x"]);
    assert_unknown(&["[fe80::1", "::1]:80", "192.0.2.1:99999", "192.0.2.1:", ":80", ":::", "[::1]]"]);
}
