//! Runs `report` as cron does, and reads its output: every folder of every run, checked and summed
//! up.
//!
//! In every test, [`Out::read`] checks each folder: its files, modes and columns, the sums in its
//! JSON, and that there is nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Harness, Run, assert_clean, assert_conserved, finish};

/// The files of a run's folder, sorted by name. With `--html` there is a page too.
pub(super) const FILES: [&str; 8] = [
    "answered.csv",
    "clients.csv",
    "new.csv",
    "pairs.csv",
    "paths.csv",
    "report.json",
    "rules.csv",
    "summary.txt",
];

const PAIR: &str = "client,path,rules,classes,severity,outcome,hits,first_time,last_time,status,sample_target,source,line";

/// The columns of each table, in order. More may follow.
const COLUMNS: [(&str, &str); 6] = [
    (
        "answered.csv",
        "site,path,rules,classes,severity,status,bytes,method,hits,clients,first_time,last_time,why,command,sample_target,source,line",
    ),
    (
        "clients.csv",
        "client,hits,paths,rules,severity,answered,other_requests,first_time,last_time,user_agent,sample_target,source,line,\
         block_candidate,block_reason,network,network_probers,floods",
    ),
    (
        "new.csv",
        "kind,key,severity,hits,first_time,sample_target,source,line",
    ),
    ("pairs.csv", PAIR),
    (
        "paths.csv",
        "path,rules,classes,severity,hits,clients,answered,first_time,last_time,sample_target,source,line",
    ),
    (
        "rules.csv",
        "rule,class,severity,cve,hits,clients,paths,answered,first_time,last_time",
    ),
];

/// One rule, for a fast start, with any severity.
pub(super) const QUICK: [&str; 4] = ["--only", "vcs/git", "--min-severity", "info"];

/// Whether to run the long tests in full: if `REPORT_FULL` is set. Otherwise each prints what it
/// leaves out.
pub(super) fn full() -> bool {
    std::env::var_os("REPORT_FULL").is_some()
}

/// `report --state state --out out` and these arguments.
pub(super) fn command(harness: &Harness, args: &[&str]) -> Command {
    harness.command(
        ["report", "--state", "state", "--out", "out"]
            .iter()
            .chain(args),
    )
}

/// Runs [`command`] to its end.
pub(super) fn report(harness: &Harness, args: &[&str]) -> Run {
    finish(&mut command(harness, args))
}

/// Runs [`command`], which must succeed.
pub(super) fn report_ok(harness: &Harness, args: &[&str]) -> Run {
    let run = report(harness, args);
    assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
    run
}

/// A row of a table by column.
pub(super) type Row = BTreeMap<String, String>;

/// A folder of reports.
pub(super) struct Folder {
    pub(super) name: String,
    /// `report.json`.
    pub(super) report: Value,
    pub(super) summary: String,
    tables: BTreeMap<&'static str, Vec<Row>>,
}

/// All report folders sorted by name, which is by number.
pub(super) struct Out {
    pub(super) folders: Vec<Folder>,
    /// The target of `latest`.
    pub(super) latest: Option<String>,
}

impl Out {
    /// Reads and checks `out` and `state`: both contain what they should, and nothing else.
    pub(super) fn read(harness: &Harness) -> Self {
        let state = harness.path("state");
        for (name, mode) in entries(&state) {
            assert!(
                ["report.json", "report.lock"].contains(&name.as_str()),
                "left in the state: {name}"
            );
            assert_eq!(mode & 0o777, 0o600, "state/{name}");
        }
        Self::read_as(&harness.path("out"), 0o600)
    }

    /// The folders in `out` alone, with this file mode.
    pub(super) fn read_as(out: &Path, mode: u32) -> Self {
        let read = Self::visible(out, mode);
        let (owner, hidden): (Vec<_>, Vec<_>) = entries(out)
            .into_iter()
            .filter(|(name, _)| name.starts_with('.'))
            .partition(|(name, _)| name == ".state");
        assert!(hidden.is_empty(), "left in {}: {hidden:?}", out.display());
        assert!(
            owner.iter().all(|(_, mode)| mode & 0o777 == 0o600),
            "{owner:?}"
        );
        read
    }

    /// The folders that a reader sees, without hidden entries.
    pub(super) fn visible(out: &Path, mode: u32) -> Self {
        let mut read = Self {
            folders: Vec::new(),
            latest: None,
        };
        for (name, bits) in entries(out)
            .into_iter()
            .filter(|(name, _)| !name.starts_with('.'))
        {
            let path = out.join(&name);
            if name == "latest" {
                read.latest = Some(
                    fs::read_link(&path)
                        .expect("latest is a link")
                        .into_os_string()
                        .into_string()
                        .unwrap(),
                );
                continue;
            }
            if name == "index.html" {
                assert_eq!(bits & 0o777, mode, "{}", path.display());
                continue;
            }
            assert!(is_ours(&name), "no folder of a run: {}", path.display());
            // Whoever may read the files may enter the folder.
            assert_eq!(
                bits & 0o777,
                mode | (mode & 0o444) >> 2,
                "{}",
                path.display()
            );
            read.folders.push(Folder::read(&path, name, mode));
        }
        let by_number = |name: &str| {
            name.split('-')
                .next()
                .and_then(|digits| digits.parse::<u64>().ok())
        };
        read.folders
            .sort_by(|a, b| (by_number(&a.name), &a.name).cmp(&(by_number(&b.name), &b.name)));
        read
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.folders
            .iter()
            .map(|folder| folder.name.as_str())
            .collect()
    }

    pub(super) fn last(&self) -> &Folder {
        self.folders.last().expect("a folder of a run")
    }

    pub(super) fn sums(&self) -> Sums {
        Sums::of(self.folders.iter().map(|folder| &folder.report))
    }
}

impl Folder {
    fn read(path: &Path, name: String, mode: u32) -> Self {
        let there = entries(path);
        let files = there
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| *name != "report.html");
        assert_eq!(files.collect::<Vec<_>>(), FILES, "{}", path.display());
        for (file, bits) in &there {
            assert!(
                fs::symlink_metadata(path.join(file)).unwrap().is_file(),
                "{name}/{file}"
            );
            assert_eq!(bits & 0o777, mode, "{name}/{file}");
            assert_clean(&fs::read(path.join(file)).unwrap());
        }
        let report: Value =
            serde_json::from_slice(&fs::read(path.join("report.json")).unwrap()).unwrap();
        assert_conserved(&report);
        let tables = COLUMNS
            .map(|(file, columns)| (file, table(&path.join(file), columns)))
            .into();
        let folder = Self {
            name,
            report,
            summary: fs::read_to_string(path.join("summary.txt")).unwrap(),
            tables,
        };
        folder.agrees();
        folder
    }

    /// The tables agree with the JSON.
    fn agrees(&self) {
        for (file, list) in [
            ("pairs.csv", "pairs"),
            ("clients.csv", "clients"),
            ("paths.csv", "paths"),
            ("rules.csv", "rules"),
            ("answered.csv", "answered"),
        ] {
            let hits = |row: &Value| row["hits"].as_u64().unwrap();
            let json: Vec<_> = self.report[list]
                .as_array()
                .unwrap()
                .iter()
                .map(hits)
                .collect();
            let csv: Vec<_> = self
                .rows(file)
                .iter()
                .map(|row| number(row, "hits"))
                .collect();
            assert_eq!(csv, json, "{}/{file}", self.name);
        }
        for row in self.rows("answered.csv") {
            let is_of_row =
                |pair: &&Row| pair["path"] == row["path"] && pair["outcome"] == "answered";
            assert!(
                self.rows("pairs.csv").iter().any(|pair| is_of_row(&pair)),
                "{}: {row:?}",
                self.name
            );
        }
        assert!(!self.summary.trim().is_empty(), "{}: no summary", self.name);
    }

    /// The rows of a table.
    pub(super) fn rows(&self, file: &str) -> &[Row] {
        &self.tables[file]
    }

    /// The row of `clients.csv` about this client.
    pub(super) fn client(&self, client: &str) -> Option<&Row> {
        self.rows("clients.csv")
            .iter()
            .find(|row| row["client"] == client)
    }

    /// The sums of this folder alone.
    pub(super) fn sums(&self) -> Sums {
        Sums::of([&self.report])
    }
}

/// A number in a row.
pub(super) fn number(row: &Row, column: &str) -> u64 {
    row[column]
        .parse()
        .unwrap_or_else(|_| panic!("{column} is no number: {row:?}"))
}

/// The names in a folder with their modes, sorted; empty if there is no folder.
pub(super) fn entries(folder: &Path) -> Vec<(String, u32)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut entries: Vec<_> = entries
        .map(|entry| {
            let entry = entry.unwrap();
            (
                entry.file_name().into_string().unwrap(),
                entry.metadata().unwrap().permissions().mode(),
            )
        })
        .collect();
    entries.sort();
    entries
}

/// `000012-20261121T000500Z`, `2026-11-20` or `2026-11-20T13`.
fn is_ours(name: &str) -> bool {
    let shape: String = name
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    let (number, time) = shape.split_once('-').unwrap_or((&shape, ""));
    (number.len() >= 6 && number.bytes().all(|b| b == b'0') && time == "00000000T000000Z")
        || shape == "0000-00-00"
        || shape == "0000-00-00T00"
}

/// Reads a table; each row has as many cells as the header, and the header starts with the known
/// columns.
fn table(path: &Path, columns: &str) -> Vec<Row> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(false)
        .from_path(path)
        .unwrap();
    let header = reader.headers().unwrap().clone();
    let found = header.iter().collect::<Vec<_>>().join(",");
    assert!(found.starts_with(columns), "{}: {found}", path.display());
    let row = |record: csv::StringRecord| {
        header
            .iter()
            .zip(record.iter())
            .map(|(name, cell)| (name.to_owned(), cell.to_owned()))
            .collect()
    };
    reader
        .records()
        .map(|record| row(record.unwrap_or_else(|e| panic!("{}: {e}", path.display()))))
        .collect()
}

/// What adds up over runs: line counts, and the hits of each pair and each rule. An incomplete line
/// belongs to the run that reads its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sums(BTreeMap<String, u64>);

impl Sums {
    pub(super) fn of<'a>(reports: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut sums = Self::default();
        for report in reports {
            sums.add(report);
        }
        sums
    }

    fn add(&mut self, report: &Value) {
        let mut count = |what: String, more: u64| *self.0.entry(what).or_default() += more;
        let totals = |name: &str| report["totals"][name].as_u64().unwrap();
        count("lines".into(), totals("lines") - totals("pending"));
        for name in [
            "parsed",
            "unparsed",
            "oversized",
            "skipped",
            "requests",
            "hits",
        ] {
            count(name.into(), totals(name));
        }
        for row in report["pairs"].as_array().unwrap() {
            count(
                format!("{} {} {}", row["client"], row["path"], row["outcome"]),
                row["hits"].as_u64().unwrap(),
            );
        }
        for row in report["rules"].as_array().unwrap() {
            count(row["rule"].to_string(), row["hits"].as_u64().unwrap());
        }
    }

    /// What one `scan` with these arguments finds.
    pub(super) fn scanned(harness: &Harness, args: &[&str]) -> Self {
        let (run, report) = harness.json(args);
        assert!([0, 3].contains(&run.code), "{}", run.stderr);
        Self::of([&report])
    }

    /// A sum such as `lines`.
    pub(super) fn get(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// Asserts that both are equal, and otherwise lists what is lost and what is repeated.
    pub(super) fn assert_same(&self, expected: &Self, when: &str) {
        let names = self
            .0
            .keys()
            .chain(expected.0.keys())
            .collect::<std::collections::BTreeSet<_>>();
        let wrong: Vec<_> = names
            .into_iter()
            .filter(|name| self.get(name) != expected.get(name))
            .map(|name| {
                format!(
                    "{name}: {} instead of {}",
                    self.get(name),
                    expected.get(name)
                )
            })
            .collect();
        assert!(
            wrong.is_empty(),
            "{when}: {} sums are wrong\n{}",
            wrong.len(),
            wrong[..wrong.len().min(20)].join("\n")
        );
    }
}

/// Everything in a folder: file contents, link targets and modes.
pub(super) fn snapshot(folder: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut snapshot = BTreeMap::new();
    for (name, mode) in entries(folder) {
        let path = folder.join(&name);
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        let bytes = if kind.is_symlink() {
            fs::read_link(&path)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes()
        } else if kind.is_dir() {
            snapshot.extend(
                self::snapshot(&path)
                    .into_iter()
                    .map(|(inner, what)| (format!("{name}/{inner}"), what)),
            );
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        snapshot.insert(name, (mode, bytes));
    }
    snapshot
}

#[test]
fn the_harness_recognises_run_folders() {
    for name in [
        "000001-20261121T000500Z",
        "1234567-20261121T000500Z",
        "2026-11-20",
        "2026-11-20T13",
    ] {
        assert!(is_ours(name), "{name}");
    }
    for name in [
        "1-20261121T000500Z",
        "000001-20261121",
        "notes",
        "2026-11",
        "000001",
        "2026-11-20T",
    ] {
        assert!(!is_ours(name), "{name}");
    }
}

#[test]
fn the_harness_sums_up_rows() {
    let harness = Harness::new();
    harness.file("a.log", crate::harness::log(30));
    harness.file(
        "b.log",
        crate::harness::log(50).replace("192.0.2.3 ", "192.0.2.4 "),
    );
    let of = |name: &str| harness.json([&[name][..], &QUICK].concat()).1;
    let both = Sums::scanned(&harness, &[&["a.log", "b.log"][..], &QUICK].concat());
    let (a, b) = (of("a.log"), of("b.log"));
    Sums::of([&a, &b]).assert_same(&both, "two parts");
    assert_eq!(
        (both.get("lines"), both.get("hits"), both.get("\"vcs/git\"")),
        (80, 8, 8)
    );
    assert_ne!(Sums::of([&a]), both);
    assert_ne!(Sums::of([&a, &b, &b]), both);
}
