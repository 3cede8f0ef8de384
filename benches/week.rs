//! Replays a week of hourly runs of `probewatch report` on real logs, and compares them with one
//! scan of all lines and with a slow reference of everything seen. Also compares the time of a run
//! with 10 MB of new lines with that of a scan of them.
//!
//! `benches/week.sh` builds and starts it. It works in a temporary folder and removes it.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a program to measure with, not to ship"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;
use jiff::fmt::strtime;
use serde_json::Value;

/// Hours of the replay.
const HOURS: usize = 7 * 24;
/// The largest state in bytes.
const MOST_STATE: u64 = 5 << 20;
/// New lines of the timed run.
const LARGE: usize = 10_000_000;
/// How much longer than a scan that run may take.
const MOST_MORE: Duration = Duration::from_millis(150);
/// How often each is timed.
const ROUNDS: usize = 7;
/// Findings of single lines only, with any severity: rules that depend on other lines have other
/// findings if the log is split.
const LOCAL: [&str; 4] = [
    "--min-severity",
    "info",
    "--disable",
    "prober/redirected,prober/unknown,prober/script-answered,prober/script-post-answered,prober/product-answered,prober/hidden-answered",
];

/// The folders and the program.
struct Bench {
    program: String,
    folder: tempfile::TempDir,
}

/// A site: its lines by hour since the first one.
struct Site {
    name: String,
    hours: Vec<String>,
}

/// A kind and a key of `new.csv`.
type Thing = (String, String);

fn main() {
    let args: Vec<_> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let fine = match args.first().map(String::as_str) {
        Some("replay") if args.len() > 2 => replay(args[1].clone(), &args[2..]),
        // `cargo test --benches` and `cargo bench` without arguments only check that lines are
        // assigned to hours.
        _ => {
            let site = site(
                "x",
                "a [17/May/2015:10:59:03 +0000]\nb\nc [17/May/2015:13:01:00 +0200]\nd [17/May/2015:12:00:00 +0000]\n",
            );
            let hours: Vec<_> = site
                .hours
                .iter()
                .map(|lines| lines.lines().count())
                .collect();
            assert_eq!(hours[..4], [2, 1, 1, 0]);
            println!("usage: week replay PROBEWATCH LOG...");
            true
        }
    };
    std::process::exit(i32::from(!fine));
}

fn replay(program: String, logs: &[String]) -> bool {
    let sites: Vec<_> = logs
        .iter()
        .map(|path| site(&name_of(path), &text_of(Path::new(path))))
        .collect();
    let bench = Bench {
        program,
        folder: tempfile::tempdir().unwrap(),
    };
    let lines: usize = sites
        .iter()
        .flat_map(|site| &site.hours)
        .map(|lines| lines.lines().count())
        .sum();
    println!("{} sites, {lines} lines, {HOURS} runs", sites.len());
    let (wrong_days, most_state, slowest) = bench.week(&sites);
    let wrong_sums = bench.sums();
    let (report, scan) = bench.large(&sites);
    let more = report.saturating_sub(scan);
    println!("a run of an hour: {slowest:?} at most; state: {most_state} bytes at most");
    println!("{LARGE} bytes of new lines: report {report:?}, scan {scan:?}, {more:?} more");
    let rows = [
        ("days whose news are wrong", wrong_days == 0),
        ("sums that are wrong", wrong_sums == 0),
        ("state too large", most_state < MOST_STATE),
        ("a run too slow", more < MOST_MORE),
    ];
    for (what, fine) in rows {
        println!("{what}: {}", if fine { "no" } else { "YES" });
    }
    rows.iter().all(|(_, fine)| *fine)
}

impl Bench {
    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Vec<u8> {
        let mut command = Command::new(&self.program);
        let output = command
            .args(args)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        output.stdout
    }

    fn report(&self, paths: &[String]) -> Vec<u8> {
        let args = ["report", "--state", "state", "--out", "out", "-q"]
            .into_iter()
            .chain(LOCAL)
            .chain(paths.iter().map(String::as_str));
        self.run(&args.collect::<Vec<_>>())
    }

    fn scan(&self, paths: &[String]) -> Value {
        let args = ["scan", "-q", "-f", "json"]
            .into_iter()
            .chain(LOCAL)
            .chain(paths.iter().map(String::as_str));
        serde_json::from_slice(&self.run(&args.collect::<Vec<_>>())).unwrap()
    }

    /// Runs every hour. Returns on how many days `new.csv` was wrong, the largest state, and the
    /// slowest run.
    fn week(&self, sites: &[Site]) -> (usize, u64, Duration) {
        for folder in ["log", "all", "new"] {
            fs::create_dir(self.path(folder)).unwrap();
        }
        let in_folder = |folder: &str| {
            sites
                .iter()
                .map(|site| format!("{folder}/{}.log", site.name))
                .collect::<Vec<_>>()
        };
        let (logs, new) = (in_folder("log"), in_folder("new"));
        let (mut seen, mut listed_before, mut wrong, mut state, mut slowest) =
            (BTreeSet::new(), BTreeSet::new(), 0, 0, Duration::ZERO);
        for day in 0..HOURS / 24 {
            let mut expected = BTreeSet::new();
            for hour in day * 24..(day + 1) * 24 {
                for site in sites {
                    let lines = &site.hours[hour];
                    append(&self.path(format!("log/{}.log", site.name)), lines);
                    append(&self.path(format!("all/{}.log", site.name)), lines);
                    fs::write(self.path(format!("new/{}.log", site.name)), lines).unwrap();
                }
                if hour % 24 == 12 {
                    for site in sites {
                        self.rotate(&site.name, day);
                    }
                }
                let start = Instant::now();
                self.report(&logs);
                slowest = slowest.max(start.elapsed());
                expected.extend(
                    things(&self.scan(&new))
                        .into_iter()
                        .filter(|thing| seen.insert(thing.clone())),
                );
                state = state
                    .max(fs::metadata(self.path("state/report.json")).map_or(0, |file| file.len()));
            }
            let reported: BTreeSet<_> = self
                .folders()
                .iter()
                .flat_map(|folder| listed(&folder.join("new.csv")))
                .collect();
            let of_day: BTreeSet<_> = reported.difference(&listed_before).cloned().collect();
            if of_day != expected {
                wrong += 1;
                let first = |a: &BTreeSet<Thing>, b: &BTreeSet<Thing>| {
                    a.difference(b).take(3).cloned().collect::<Vec<_>>()
                };
                println!(
                    "day {day}: reported and not new {:?}; new and not reported {:?}",
                    first(&of_day, &expected),
                    first(&expected, &of_day)
                );
            }
            println!("day {day}: {} things are new", of_day.len());
            listed_before = reported;
        }
        (wrong, state, slowest)
    }

    /// As logrotate does with `create`, `compress` and `delaycompress`, except that old logs keep
    /// their number.
    fn rotate(&self, site: &str, day: usize) {
        let path = |number: usize| self.path(format!("log/{site}.log.{number}"));
        if day > 0 {
            assert!(
                Command::new("gzip")
                    .arg(path(101 - day))
                    .status()
                    .unwrap()
                    .success()
            );
        }
        fs::rename(self.path(format!("log/{site}.log")), path(100 - day)).unwrap();
        append(&self.path(format!("log/{site}.log")), "");
    }

    /// How many sums over all runs differ from those of one scan.
    fn sums(&self) -> usize {
        let mut found = BTreeMap::new();
        for folder in self.folders() {
            add(
                &mut found,
                &serde_json::from_slice(&fs::read(folder.join("report.json")).unwrap()).unwrap(),
            );
        }
        let mut expected = BTreeMap::new();
        add(&mut expected, &self.scan(&["all".to_owned()]));
        let names: BTreeSet<_> = found.keys().chain(expected.keys()).collect();
        let wrong: Vec<_> = names
            .iter()
            .filter(|name| found.get(**name) != expected.get(**name))
            .collect();
        for name in wrong.iter().take(5) {
            println!(
                "{name}: {:?} instead of {:?}",
                found.get(**name),
                expected.get(**name)
            );
        }
        println!("{} sums", names.len());
        wrong.len()
    }

    /// The median times of a report of many new lines, with a large state, and of a scan of them.
    fn large(&self, sites: &[Site]) -> (Duration, Duration) {
        let text: String = sites
            .iter()
            .flat_map(|site| &site.hours)
            .map(String::as_str)
            .collect();
        let mut text = text.repeat(LARGE / text.len().max(1) + 1);
        text.truncate(text[..LARGE].rfind('\n').unwrap() + 1);
        fs::write(self.path("large.log"), &text).unwrap();
        let (mut reports, mut scans) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let log = format!("log/{}.log", sites[0].name);
            append(&self.path(&log), &text);
            let start = Instant::now();
            self.report(&[log]);
            reports.push(start.elapsed());
            let start = Instant::now();
            self.scan(&["large.log".to_owned()]);
            scans.push(start.elapsed());
            println!("round {round}: {:?} and {:?}", reports[round], scans[round]);
        }
        let median = |times: &mut Vec<Duration>| {
            times.sort();
            times[ROUNDS / 2]
        };
        (median(&mut reports), median(&mut scans))
    }

    fn folders(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path("out")) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.file_name().is_some_and(|name| name != "latest"))
            .collect()
    }
}

/// What adds up: hits of each pair and rule, and line counts.
fn add(sums: &mut BTreeMap<String, u64>, report: &Value) {
    for name in [
        "lines",
        "parsed",
        "unparsed",
        "oversized",
        "requests",
        "hits",
    ] {
        *sums.entry(name.to_owned()).or_default() += report["totals"][name].as_u64().unwrap();
    }
    for row in report["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .chain(report["rules"].as_array().unwrap())
    {
        let key = format!(
            "{} {} {} {}",
            row["client"], row["path"], row["outcome"], row["rule"]
        );
        *sums.entry(key).or_default() += row["hits"].as_u64().unwrap();
    }
}

/// What a report could list as new, except for campaigns.
fn things(report: &Value) -> BTreeSet<Thing> {
    let lists = [
        ("rule", "rules", "rule"),
        ("path", "paths", "path"),
        ("client", "clients", "client"),
        ("answer", "answered", "path"),
    ];
    let mut things = BTreeSet::new();
    for (kind, list, key) in lists {
        for row in report[list].as_array().unwrap() {
            let host = if kind == "answer" {
                row["sample"]["host"].as_str().unwrap_or("")
            } else {
                ""
            };
            // A request without a path is reported with the path `-`.
            let key = row[key]
                .as_str()
                .filter(|key| !key.is_empty())
                .unwrap_or("-");
            things.insert((kind.to_owned(), format!("{host}{key}")));
        }
    }
    things
}

fn listed(path: &Path) -> Vec<Thing> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let rows = reader.records().map(Result::unwrap);
    // Cells that a spreadsheet would read as a formula have a prefix.
    let plain = |cell: &str| cell.strip_prefix('\'').unwrap_or(cell).to_owned();
    rows.map(|row| (row[0].to_owned(), plain(&row[1])))
        .filter(|(kind, _)| kind != "campaign")
        .collect()
}

/// Assigns lines to hours since the first one. A line without a time, or with an earlier one, stays
/// with the line before it.
fn site(name: &str, text: &str) -> Site {
    let (mut hours, mut first, mut now) = (vec![String::new(); HOURS], None, 0);
    for line in text.lines() {
        if let Some(hour) = hour(line) {
            let since = hour - *first.get_or_insert(hour);
            now = now.max(usize::try_from(since).unwrap_or(0));
        }
        if let Some(lines) = hours.get_mut(now) {
            *lines += line;
            lines.push('\n');
        }
    }
    Site {
        name: name.to_owned(),
        hours,
    }
}

/// Hours since 1970 of `[17/May/2015:10:05:03 +0000]`.
fn hour(line: &str) -> Option<i64> {
    let time = line.split_once('[')?.1.split_once(']')?.0;
    let stamp = strtime::parse("%d/%b/%Y:%H:%M:%S %z", time)
        .ok()?
        .to_timestamp()
        .ok()?;
    Some(stamp.as_second().div_euclid(3600))
}

fn text_of(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    let mut text = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        MultiGzDecoder::new(&bytes[..])
            .read_to_end(&mut text)
            .unwrap();
    } else {
        text = bytes;
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn name_of(path: &str) -> String {
    let name = Path::new(path).file_name().unwrap().to_str().unwrap();
    name.split('.').next().unwrap().to_owned()
}

fn append(path: &Path, text: &str) {
    let mut file: File = OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}
