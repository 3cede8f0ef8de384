//! The new items of the fixture, and safe output for any log.

use proptest::prelude::*;

use crate::analysis::fixture;
use crate::analysis::novelty::*;
use crate::client::Client;
use crate::redact::sanitize::{self, csv_guard};

fn csv(news: &[NewItem<'_>]) -> String {
    let mut out = Vec::new();
    crate::render::csv::write_novelty(news, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn everything_in_the_first_report_is_new() {
    let (rules, mut seen) = (fixture::rules(), SeenHistory::new(1));
    let report = fixture::report(rules);
    let first = find_new(&report, &mut seen, 1, 0);
    insta::assert_snapshot!("first_report", csv(&first));
    assert!(first.is_sorted_by_key(|one| one.kind));
    let rows = report.answered.len() + report.rules.len() + report.paths.len() + report.clients.len() + report.campaigns.len();
    assert_eq!(first.len(), rows);
    assert_eq!(csv(&find_new(&report, &mut seen, 1, 0)), csv(&first), "built again with the same report_seq");
    assert_eq!(csv(&find_new(&report, &mut seen, 2, 0)), "kind,key,severity,hits,first_time,sample_target,source,line\n");
}

#[test]
fn only_unseen_items_are_new() {
    let (rules, mut seen) = (fixture::rules(), SeenHistory::new(1));
    let mut before = fixture::report(rules);
    before.answered.retain(|row| row.key != RowKey::Answer(Some(b"shop.example"), b"/.git/config", b"shop.example"));
    before.clients.retain(|row| row.key != RowKey::Client(Client::V4(0xcb00_7107)));
    before.campaigns.clear();
    let _ = find_new(&before, &mut seen, 1, 0);
    let report = fixture::report(rules);
    let found: Vec<_> = find_new(&report, &mut seen, 2, 0).into_iter().map(|one| (one.kind, one.key, one.hits)).collect();
    let git = (NoveltyKind::Answer, "shop.example/.git/config".to_owned(), 3);
    assert_eq!(found, [git, (NoveltyKind::Client, "203.0.113.7".into(), 5), (NoveltyKind::Campaign, "0123456789ab".into(), 8)]);
}

#[test]
fn items_that_differ_only_in_a_secret_are_one() {
    let (rules, mut seen) = (fixture::rules(), SeenHistory::new(1));
    let mut report = fixture::empty(rules);
    let row = fixture::report(rules).paths[0].clone();
    let path = |path: &'static [u8], hits| Row { key: RowKey::Path(path), hits, ..row.clone() };
    report.paths = vec![path(b"/a;token=first", 5), path(b"/b", 3), path(b"/a;token=second", 2)];
    let found: Vec<_> = find_new(&report, &mut seen, 1, 0).into_iter().map(|one| (one.key, one.hits)).collect();
    assert_eq!(found, [("/a;token=***".to_owned(), 7), ("/b".to_owned(), 3)]);
    report.paths = vec![path(b"/a;token=third", 1)];
    assert!(find_new(&report, &mut seen, 2, 0).is_empty());
}

#[test]
fn an_empty_path_is_a_dash() {
    let (rules, mut seen) = (fixture::rules(), SeenHistory::new(1));
    let mut report = fixture::empty(rules);
    let row = fixture::report(rules).paths[0].clone();
    report.paths = vec![Row { key: RowKey::Path(b""), ..row.clone() }];
    report.clients = vec![Row { key: RowKey::Client(Client::Text(b"")), ..row.clone() }];
    report.answered = vec![Row { key: RowKey::Answer(None, b"/.env", b"access.log"), ..row }];
    let keys: Vec<_> = find_new(&report, &mut seen, 1, 0).into_iter().map(|one| one.key).collect();
    assert_eq!(keys, ["/.env", "-", "-"]);
}

proptest! {
    #[test]
    fn no_log_byte_is_unsafe_in_csv(path: Vec<u8>, target in any::<Vec<u8>>(), host in "[=+@\",;\r\n\t a-z-]{0,12}", source: Vec<u8>) {
        let (rules, mut seen) = (fixture::rules(), SeenHistory::new(1));
        let mut report = fixture::empty(rules);
        let mut row = fixture::report(rules).paths[0].clone();
        (row.sample.target, row.sample.source) = (&target, &source);
        row.key = RowKey::Answer(Some(host.as_bytes()), &path, host.as_bytes());
        report.answered = vec![row.clone()];
        row.key = RowKey::Path(&path);
        report.paths = vec![row.clone()];
        row.key = RowKey::Client(Client::Text(&path));
        report.clients = vec![row];
        let found = find_new(&report, &mut seen, 1, 0);
        let text = csv(&found);
        prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let records: Vec<_> = reader.records().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(records.len(), 3);
        for (record, one) in records.iter().zip(&found) {
            prop_assert_eq!(record.len(), 8);
            prop_assert_eq!(&record[1], &*csv_guard(one.key.as_str().into()));
            prop_assert_eq!(&record[5], &*csv_guard(redacted(&target)));
            prop_assert_eq!(&record[6], &*csv_guard(sanitize::escape(&source)));
        }
    }
}
