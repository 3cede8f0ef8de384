//! `follow --geoip`: databases that are replaced while it runs.

use std::fs;
use std::fs::OpenOptions;
use std::io::Write as _;

use serde_json::json;

use super::follower::{Follower, follow};
use crate::geoip::mmdb::{Database, Value};
use crate::geoip::{cities, systems};
use crate::harness::{Harness, line};

fn stage() -> Harness {
    let harness = Harness::new();
    harness.file("geo.mmdb", cities());
    harness.file("asn.mmdb", systems());
    harness.file("access.log", probe(1));
    harness
}

/// A numbered hit of a client with data.
fn probe(number: u32) -> String {
    line(
        "192.0.2.1",
        &format!("GET /.git/config?n={number:07} HTTP/1.1"),
        404,
    )
}

/// A database with another country.
fn other() -> Vec<u8> {
    let mut database = Database::new(4, 24);
    let country = Value::Map(vec![("iso_code", "SE".into())]);
    database.insert("192.0.2.0/24", &Value::Map(vec![("country", country)]));
    database.to_bytes()
}

fn append(harness: &Harness, text: &str) {
    OpenOptions::new()
        .append(true)
        .open(harness.path("access.log"))
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

/// Appends a hit and waits for it.
fn next(harness: &Harness, follower: &mut Follower, number: u32) {
    append(harness, &probe(number));
    follower.until_seen([number.into()]);
}

/// Replaces the database as an updater does: by a rename.
fn replace(harness: &Harness, bytes: &[u8]) {
    harness.file("new.tmp", bytes);
    fs::rename(harness.path("new.tmp"), harness.path("geo.mmdb")).unwrap();
}

#[test]
fn a_replaced_database_is_read_again_and_a_bad_one_is_not() {
    let harness = stage();
    let mut follower = follow(
        &harness,
        &["--geoip", "geo.mmdb", "--geoip", "asn.mmdb", "access.log"],
    );
    follower.until_seen([1]);
    replace(&harness, &other());
    follower.until("it is read again", |output| {
        output
            .notices
            .contains("geo.mmdb was replaced, and is read again")
    });
    next(&harness, &mut follower, 2);
    replace(&harness, b"<html>an error page</html>\n");
    follower.until("it is refused", |output| {
        output
            .notices
            .contains("geo.mmdb is no GeoIP database: it is text")
    });
    assert!(
        follower.notices().contains("the old one is kept"),
        "{}",
        follower.notices()
    );
    next(&harness, &mut follower, 3);
    fs::remove_file(harness.path("geo.mmdb")).unwrap();
    follower.until("it is missed", |output| {
        output.notices.contains("geo.mmdb cannot be read")
    });
    next(&harness, &mut follower, 4);
    // Written in place, as a download does.
    fs::write(harness.path("geo.mmdb"), cities()).unwrap();
    follower.until("it is read again", |output| {
        output.notices.matches("geo.mmdb was replaced").count() == 2
    });
    next(&harness, &mut follower, 5);
    let output = follower.end();
    let countries: Vec<_> = output
        .hits
        .iter()
        .map(|hit| json!([hit.0["country"], hit.0["asn"]]))
        .collect();
    assert_eq!(
        countries,
        ["DE", "SE", "SE", "SE", "DE"].map(|country| json!([country, 64_500]))
    );
    assert_eq!(
        output.notices.matches("the old one is kept").count(),
        2,
        "{}",
        output.notices
    );
}

#[test]
fn lines_have_the_country_and_the_summary_the_networks() {
    let harness = stage();
    let args = [
        "follow",
        "--from-start",
        "--only",
        "vcs/git",
        "--geoip",
        "geo.mmdb",
        "--geoip",
        "asn.mmdb",
        "access.log",
    ];
    let mut follower = Follower::start(&mut harness.command(args));
    follower.until("a hit", |output| {
        output
            .other
            .iter()
            .any(|line| line.contains("192.0.2.1") && line.contains(" DE "))
    });
    let output = follower.end();
    let text = output.other.concat();
    assert!(
        text.contains("NETWORKS") && text.contains("Example Hosting GmbH"),
        "{text}"
    );
}

#[test]
fn lines_of_hidden_clients_have_the_country() {
    let harness = stage();
    let mut follower = follow(
        &harness,
        &["--anonymize", "--geoip", "geo.mmdb", "access.log"],
    );
    follower.until_seen([1]);
    let output = follower.end();
    assert_eq!(
        (&output.hits[0].0["client"], &output.hits[0].0["country"]),
        (&json!("192.0.2.0/24"), &json!("DE"))
    );
}
