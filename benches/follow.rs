//! Writes logs as a busy server does, lets `probewatch follow` read them, and measures it: its lag
//! from write to report, its memory, its descriptors, its processor time, and whether each probe on
//! the disk was reported once.
//!
//! `benches/soak.sh` and `benches/idle.sh` build and start it; it works in a temporary folder and
//! leaves nothing.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a program to measure with, not to ship"
)]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "numbers for people, with one decimal"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One line of this many is a probe.
const PROBE_EVERY: u64 = 20;
/// The time between two writes.
const TICK: Duration = Duration::from_millis(10);
/// The time between two rotations.
const ROTATE: Duration = Duration::from_secs(10);
/// How long after a rotation the server still writes to the old log.
const REOPEN: Duration = Duration::from_millis(100);
/// The time between two samples of the process.
const SAMPLE: Duration = Duration::from_secs(10);
/// The unit of processor time in `/proc` is a hundredth of a second.
const TICKS_PER_SECOND: f64 = 100.0;
/// Idle logs of `idle`.
const IDLE_LOGS: u64 = 1000;

fn main() {
    let args: Vec<_> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let number = |n: usize| args.get(n).and_then(|arg| arg.parse::<f64>().ok());
    let is_good = match (args.first().map(String::as_str), number(2), number(3)) {
        (Some("soak"), Some(minutes), Some(rate)) => soak(
            &args[1],
            Duration::from_secs_f64(minutes * 60.0),
            rate as u64,
        ),
        (Some("idle"), Some(seconds), Some(rate)) => {
            idle(&args[1], Duration::from_secs_f64(seconds), rate as u64)
        }
        // `cargo test --benches` and `cargo bench` without arguments: check that a written line is
        // recognized.
        _ => {
            let reports = Reports::default();
            reports.record(&line(7, true), 3);
            reports.record("no number", 3);
            assert_eq!(
                (
                    reports.seen.lock().unwrap().as_slice(),
                    reports.garbled.load(Ordering::Relaxed)
                ),
                ([0, 0, 0, 0, 0, 0, 0, 1].as_slice(), 1)
            );
            assert_eq!(
                (
                    percentile(&[4, 1, 3, 2], 50),
                    percentile(&[4, 1, 3, 2], 99),
                    percentile(&[], 99)
                ),
                (2, 4, 0)
            );
            println!(
                "usage: follow soak PROBEWATCH MINUTES RATE | follow idle PROBEWATCH SECONDS RATE"
            );
            true
        }
    };
    std::process::exit(i32::from(!is_good));
}

/// One busy log that is rotated.
fn soak(program: &str, time: Duration, rate: u64) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let (log, state) = (
        folder.path().join("access.log"),
        folder.path().join("state"),
    );
    let mut server = Server::new(&log, 0);
    let follow = Follow::start(program, &state, &["--from-start", log.to_str().unwrap()]);
    let (over, written) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let load = load(
        Arc::clone(&over),
        Arc::clone(&written),
        move |lines| server.tick(lines, true),
        rate,
    );
    println!(
        "{:>6} {:>9} {:>7} {:>5} {:>9} {:>9} {:>10} {:>6}",
        "s", "RSS kB", "CPU %", "fds", "p50 ms", "p99 ms", "probes", "lost"
    );
    let (start, mut before, mut samples) = (Instant::now(), follow.ticks(), Vec::new());
    let (first_ticks, mut checked) = (before, Checked::default());
    while start.elapsed() + SAMPLE / 2 < time {
        thread::sleep(SAMPLE);
        let ticks = follow.ticks();
        let lags = follow.reports.fresh_lags();
        // A log of two rotations ago was read to its end: it is checked and deleted.
        checked.add(&old_logs(folder.path(), 2), &follow.reports, true);
        let sample = (follow.memory(), follow.descriptors());
        let cpu = (ticks - before) as f64 / TICKS_PER_SECOND / SAMPLE.as_secs_f64() * 100.0;
        let (p50, p99) = (
            percentile(&lags, 50) as f64 / 1e3,
            percentile(&lags, 99) as f64 / 1e3,
        );
        let seconds = start.elapsed().as_secs();
        println!(
            "{seconds:>6} {:>9} {cpu:>7.1} {:>5} {p50:>9.1} {p99:>9.1} {:>10} {:>6}",
            sample.0,
            sample.1,
            lags.len(),
            checked.lost
        );
        before = ticks;
        samples.push(sample);
    }
    let share =
        (follow.ticks() - first_ticks) as f64 / TICKS_PER_SECOND / start.elapsed().as_secs_f64()
            * 100.0;
    over.store(true, Ordering::Relaxed);
    load.join().unwrap();
    follow
        .reports
        .wait(written.load(Ordering::Relaxed) / PROBE_EVERY);
    let (reports, code) = follow.end();
    checked.add(&old_logs(folder.path(), 0), &reports, false);
    checked.add(&[log], &reports, false);
    let lags = reports.lags.lock().unwrap();
    println!(
        "{} lines, {} probes on the disk, {} reported, exit {code}",
        written.load(Ordering::Relaxed),
        checked.lines,
        lags.len()
    );
    let third = samples.len().div_ceil(3);
    let most = |part: &[(u64, u64)]| {
        part.iter().fold((0, 0), |most, sample| {
            (most.0.max(sample.0), most.1.max(sample.1))
        })
    };
    let (early, late) = (
        most(&samples[..third]),
        most(&samples[samples.len() - third..]),
    );
    verdict(&[
        (
            "memory, kB: last third against first",
            late.0 as f64,
            early.0 as f64 * 1.05 + 2048.0,
        ),
        (
            "descriptors: last third against first",
            late.1 as f64,
            early.1 as f64 + 1.0,
        ),
        ("processor, % of a core", share, 15.0),
        ("lag, p50, ms", percentile(&lags, 50) as f64 / 1e3, 50.0),
        ("lag, p99, ms", percentile(&lags, 99) as f64 / 1e3, 50.0),
        ("lost", checked.lost as f64, 0.0),
        ("doubled", reports.doubled() as f64, 0.0),
        (
            "garbled",
            reports.garbled.load(Ordering::Relaxed) as f64,
            0.0,
        ),
    ])
}

/// A thousand idle logs, then one busy log.
fn idle(program: &str, time: Duration, rate: u64) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let sites = folder.path().join("sites");
    fs::create_dir(&sites).unwrap();
    for n in 0..IDLE_LOGS {
        fs::write(idle_log(&sites, n), line(n, true)).unwrap();
    }
    let busy = sites.join("busy.log");
    fs::write(&busy, line(IDLE_LOGS, true)).unwrap();
    let follow = Follow::start(
        program,
        &folder.path().join("state"),
        &["--from-start", sites.to_str().unwrap()],
    );
    follow.reports.wait(IDLE_LOGS + 1);
    // Neither the start counts nor the ten seconds after which a log is idle.
    thread::sleep(Duration::from_secs(12));
    let share = |from: u64, start: Instant| {
        (follow.ticks() - from) as f64 / TICKS_PER_SECOND / start.elapsed().as_secs_f64() * 100.0
    };
    let (ticks, start) = (follow.ticks(), Instant::now());
    thread::sleep(time);
    let idle = share(ticks, start);
    let (ticks, start) = (follow.ticks(), Instant::now());
    let _ = follow.reports.fresh_lags();
    let mut server = Server::new(&busy, IDLE_LOGS + 1);
    let (over, written) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let load = load(
        Arc::clone(&over),
        Arc::clone(&written),
        move |lines| server.tick(lines, false),
        rate,
    );
    let mut waits = Vec::new();
    for n in (0..IDLE_LOGS).step_by(37).cycle() {
        if start.elapsed() >= time {
            break;
        }
        // Numbers in idle logs begin above those of the busy one.
        let number = Reports::FIRST_IDLE + waits.len() as u64;
        let mut log = OpenOptions::new()
            .append(true)
            .open(idle_log(&sites, n))
            .unwrap();
        log.write_all(line(number, true).as_bytes()).unwrap();
        waits.push(follow.reports.idle_lag(waits.len()).as_micros() as u64);
        thread::sleep(Duration::from_millis(500));
    }
    let busy_share = share(ticks, start);
    over.store(true, Ordering::Relaxed);
    load.join().unwrap();
    let busy_probes = written.load(Ordering::Relaxed) / PROBE_EVERY;
    follow
        .reports
        .wait(IDLE_LOGS + 1 + busy_probes + waits.len() as u64);
    let (reports, code) = follow.end();
    let mut checked = Checked::default();
    checked.add(&[busy], &reports, false);
    let lags = reports.lags.lock().unwrap();
    println!(
        "{} lines in the busy log, {} lines in idle ones, processor while it is busy: {busy_share:.1} %, exit {code}",
        written.load(Ordering::Relaxed),
        waits.len()
    );
    let busy_lags: Vec<_> = lags[IDLE_LOGS as usize + 1..].to_vec();
    verdict(&[
        ("processor when all logs are idle, % of a core", idle, 0.5),
        (
            "lag, p50, ms",
            percentile(&busy_lags, 50) as f64 / 1e3,
            50.0,
        ),
        (
            "lag, p99, ms",
            percentile(&busy_lags, 99) as f64 / 1e3,
            50.0,
        ),
        (
            "longest lag of idle logs, ms",
            percentile(&waits, 100) as f64 / 1e3,
            1000.0,
        ),
        ("lost", checked.lost as f64, 0.0),
        ("doubled", reports.doubled() as f64, 0.0),
        (
            "garbled",
            reports.garbled.load(Ordering::Relaxed) as f64,
            0.0,
        ),
    ])
}

fn idle_log(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("idle-{n}.log"))
}

/// Prints each measured value and its limit. Returns whether all are within their limits.
fn verdict(rows: &[(&str, f64, f64)]) -> bool {
    println!("\n| value | measured | limit | |\n| --- | ---: | ---: | --- |");
    for (what, found, most) in rows {
        println!(
            "| {what} | {found:.1} | {most:.1} | {} |",
            if found <= most { "met" } else { "EXCEEDED" }
        );
    }
    rows.iter().all(|(_, found, most)| found <= most)
}

/// A server with its log open.
struct Server {
    path: PathBuf,
    log: File,
    next: u64,
    lines: u64,
    rotations: u64,
    rotated: Instant,
    /// When the log was renamed, until the new one is opened.
    reopen_since: Option<Instant>,
}

impl Server {
    fn new(path: &Path, first: u64) -> Self {
        Self {
            path: path.to_owned(),
            log: append(path),
            next: first,
            lines: 0,
            rotations: 0,
            rotated: Instant::now(),
            reopen_since: None,
        }
    }

    /// Writes this many lines at once, and rotates the log when it is time.
    fn tick(&mut self, lines: u64, rotate: bool) {
        let mut text = String::with_capacity(lines as usize * 130);
        for _ in 0..lines {
            self.lines += 1;
            let probe = self.lines.is_multiple_of(PROBE_EVERY);
            text += &line(if probe { self.next } else { self.lines }, probe);
            self.next += u64::from(probe);
        }
        self.log.write_all(text.as_bytes()).unwrap();
        if rotate && self.rotated.elapsed() >= ROTATE {
            self.rotations += 1;
            fs::rename(
                &self.path,
                self.path.with_extension(format!("log.{}", self.rotations)),
            )
            .unwrap();
            drop(append(&self.path));
            (self.rotated, self.reopen_since) = (Instant::now(), Some(Instant::now()));
        }
        if self
            .reopen_since
            .is_some_and(|since| since.elapsed() >= REOPEN)
        {
            (self.log, self.reopen_since) = (append(&self.path), None);
        }
    }
}

fn append(path: &Path) -> File {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap()
}

/// An ordinary line, or a probe with its number and the time it is written, in microseconds.
fn line(number: u64, probe: bool) -> String {
    let client = number % 250;
    if !probe {
        return format!(
            "192.0.2.{client} - - [02/Nov/2026:08:01:00 +0000] \"GET /page/{} HTTP/1.1\" 200 5120 \"-\" \"Mozilla/5.0\"\n",
            number % 9973
        );
    }
    format!(
        "198.51.100.{client} - - [02/Nov/2026:08:01:00 +0000] \"GET /.git/config?n={number}.{} HTTP/1.1\" 404 153 \"-\" \"Mozilla/5.0\"\n",
        now()
    )
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_micros() as u64
}

/// Writes at this rate in its own thread; a late write has more lines.
fn load(
    over: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
    mut tick: impl FnMut(u64) + Send + 'static,
    rate: u64,
) -> JoinHandle<()> {
    thread::spawn(move || {
        let start = Instant::now();
        let mut lines = 0;
        // The last lines end with a probe, so the number of probes is known.
        while !over.load(Ordering::Relaxed) || lines % PROBE_EVERY != 0 {
            let due = (start.elapsed().as_secs_f64() * rate as f64) as u64;
            let more = (due.saturating_sub(lines) / PROBE_EVERY * PROBE_EVERY).min(rate);
            if more > 0 {
                tick(more);
                lines += more;
                written.store(lines, Ordering::Relaxed);
            }
            thread::sleep(TICK);
        }
    })
}

/// The reports that were read.
#[derive(Default)]
struct Reports {
    /// The number of reports, by the number of the probe.
    seen: Mutex<Vec<u8>>,
    /// The lags of probes in idle logs, in the order of the reports.
    idle_lags: Mutex<Vec<Duration>>,
    /// Microseconds from write to report, in the order of the reports.
    lags: Mutex<Vec<u64>>,
    /// The number of lags that [`Self::fresh_lags`] returned.
    given: AtomicU64,
    garbled: AtomicU64,
}

impl Reports {
    /// The first number of probes in idle logs.
    const FIRST_IDLE: u64 = 1 << 40;

    /// Records a line of output that was read at `now`.
    fn record(&self, line: &str, now: u64) {
        let Some((number, written)) = stamp(line) else {
            self.garbled.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let lag = now.saturating_sub(written);
        if number >= Self::FIRST_IDLE {
            self.idle_lags
                .lock()
                .unwrap()
                .push(Duration::from_micros(lag));
        } else {
            let mut seen = self.seen.lock().unwrap();
            let length = seen.len().max(number as usize + 1);
            seen.resize(length, 0);
            seen[number as usize] = seen[number as usize].saturating_add(1);
        }
        self.lags.lock().unwrap().push(lag);
    }

    /// The lags since the last call.
    fn fresh_lags(&self) -> Vec<u64> {
        let lags = self.lags.lock().unwrap();
        let from = self.given.swap(lags.len() as u64, Ordering::Relaxed);
        lags[from as usize..].to_vec()
    }

    /// Waits for this many reports, at most 30 seconds.
    fn wait(&self, count: u64) {
        let start = Instant::now();
        while (self.lags.lock().unwrap().len() as u64) < count
            && start.elapsed() < Duration::from_secs(30)
        {
            thread::sleep(TICK);
        }
    }

    /// The lag of a probe in an idle log; a minute if it is not reported.
    fn idle_lag(&self, index: usize) -> Duration {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(60) {
            if let Some(lag) = self.idle_lags.lock().unwrap().get(index) {
                return *lag;
            }
            thread::sleep(Duration::from_millis(1));
        }
        start.elapsed()
    }

    fn doubled(&self) -> usize {
        self.seen
            .lock()
            .unwrap()
            .iter()
            .filter(|times| **times > 1)
            .count()
    }
}

/// The number and the time in a line of a log or of a report.
fn stamp(line: &str) -> Option<(u64, u64)> {
    let rest = line.split_once("/.git/config?n=")?.1;
    let (number, rest) = rest.split_once('.')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    Some((number.parse().ok()?, rest[..digits].parse().ok()?))
}

/// The probes on the disk, compared with the reports.
#[derive(Default)]
struct Checked {
    lines: u64,
    lost: u64,
}

impl Checked {
    fn add(&mut self, logs: &[PathBuf], reports: &Reports, remove: bool) {
        for log in logs {
            let seen = reports.seen.lock().unwrap().clone();
            for number in BufReader::new(File::open(log).unwrap())
                .lines()
                .filter_map(|line| stamp(&line.unwrap()))
                .map(|(number, _)| number)
            {
                self.lines += 1;
                self.lost += u64::from(
                    number < Reports::FIRST_IDLE
                        && seen.get(number as usize).is_none_or(|times| *times == 0),
                );
            }
            if remove {
                fs::remove_file(log).unwrap();
            }
        }
    }
}

/// The rotated logs without the latest `keep`.
fn old_logs(folder: &Path, keep: usize) -> Vec<PathBuf> {
    let number = |path: &Path| {
        path.file_name()?
            .to_str()?
            .strip_prefix("access.log.")?
            .parse::<u64>()
            .ok()
    };
    let mut logs: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| number(path).is_some())
        .collect();
    logs.sort_by_key(|path| number(path));
    logs.truncate(logs.len().saturating_sub(keep));
    logs
}

/// The running command, and a thread that reads its output.
struct Follow {
    child: Child,
    reports: Arc<Reports>,
    reader: Option<JoinHandle<()>>,
}

impl Follow {
    fn start(program: &str, state: &Path, args: &[&str]) -> Self {
        let mut command = Command::new(program);
        command
            .args(["follow", "-q", "-f", "ndjson", "--state"])
            .arg(state)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdout, reports) = (child.stdout.take().unwrap(), Arc::new(Reports::default()));
        let recorder = Arc::clone(&reports);
        let reader = thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                recorder.record(&line, now());
            }
        });
        Self {
            child,
            reports,
            reader: Some(reader),
        }
    }

    fn proc(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.child.id()))
    }

    /// Processor time so far.
    fn ticks(&self) -> u64 {
        let stat = fs::read_to_string(self.proc("stat")).expect("it ended");
        stat.rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|ticks| ticks.parse::<u64>().unwrap())
            .sum()
    }

    /// Resident kilobytes.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(self.proc("status")).unwrap();
        status
            .lines()
            .find_map(|line| {
                line.strip_prefix("VmRSS:")?
                    .trim()
                    .split(' ')
                    .next()?
                    .parse()
                    .ok()
            })
            .expect("it ended")
    }

    fn descriptors(&self) -> u64 {
        fs::read_dir(self.proc("fd")).unwrap().count() as u64
    }

    /// Ends it with SIGTERM. Returns the reports and its exit code.
    fn end(mut self) -> (Arc<Reports>, i32) {
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::TERM,
        )
        .unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        self.reader.take().unwrap().join().unwrap();
        (Arc::clone(&self.reports), code)
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The value that `percent` of a hundred values do not exceed.
fn percentile(values: &[u64], percent: usize) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted
        .get((sorted.len() * percent).div_ceil(100).saturating_sub(1))
        .copied()
        .unwrap_or(0)
}
