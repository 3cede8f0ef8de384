//! Writes logs as a busy server does, lets `probewatch follow` read them, and says how it did: its lag from write to
//! report, its memory, its descriptors, its processor time, and whether each probe that is on the disk was told once.
//!
//! `benches/soak.sh` and `benches/idle.sh` build and start it; it works in a temporary folder and leaves nothing.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, reason = "a program to measure with, not to ship")]
#![allow(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "figures to be read, with a digit behind the point")]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One line in so many is a probe.
const PROBE_EVERY: u64 = 20;
/// A writer writes so often.
const TICK: Duration = Duration::from_millis(10);
/// After so long a log is moved away.
const ROTATE: Duration = Duration::from_secs(10);
/// So long after that the server still writes into the old one.
const REOPEN: Duration = Duration::from_millis(100);
/// Samples of the process are so far apart.
const SAMPLE: Duration = Duration::from_secs(10);
/// Processor time is told in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;
/// Quiet logs of `idle`.
const QUIET: u64 = 1000;

fn main() {
    let args: Vec<_> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let number = |n: usize| args.get(n).and_then(|arg| arg.parse::<f64>().ok());
    let fine = match (args.first().map(String::as_str), number(2), number(3)) {
        (Some("soak"), Some(minutes), Some(rate)) => soak(&args[1], Duration::from_secs_f64(minutes * 60.0), rate as u64),
        (Some("idle"), Some(seconds), Some(rate)) => idle(&args[1], Duration::from_secs_f64(seconds), rate as u64),
        // `cargo test --benches` and `cargo bench` without arguments come here: see that what is written is found again.
        _ => {
            let told = Told::default();
            told.take(&line(7, true), 3);
            told.take("no number", 3);
            assert_eq!(
                (told.seen.lock().unwrap().as_slice(), told.garbled.load(Ordering::Relaxed)),
                ([0, 0, 0, 0, 0, 0, 0, 1].as_slice(), 1)
            );
            assert_eq!((percentile(&[4, 1, 3, 2], 50), percentile(&[4, 1, 3, 2], 99), percentile(&[], 99)), (2, 4, 0));
            println!("usage: follow soak PROBEWATCH MINUTES RATE | follow idle PROBEWATCH SECONDS RATE");
            true
        }
    };
    std::process::exit(i32::from(!fine));
}

/// One log, written to all the time and moved away again and again.
fn soak(program: &str, time: Duration, rate: u64) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let (log, state) = (folder.path().join("access.log"), folder.path().join("state"));
    let mut server = Server::new(&log, 0);
    let follow = Follow::start(program, &state, &["--from-start", log.to_str().unwrap()]);
    let (over, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let load = load(Arc::clone(&over), Arc::clone(&written), move |lines| server.tick(lines, true), rate);
    println!("{:>6} {:>9} {:>7} {:>5} {:>9} {:>9} {:>10} {:>6}", "s", "RSS kB", "CPU %", "fds", "p50 ms", "p99 ms", "probes", "lost");
    let (start, mut before, mut samples) = (Instant::now(), follow.ticks(), Vec::new());
    let (first_ticks, mut checked) = (before, Checked::default());
    while start.elapsed() + SAMPLE / 2 < time {
        thread::sleep(SAMPLE);
        let ticks = follow.ticks();
        let lags = follow.told.fresh_lags();
        // What was moved away two rotations ago is long read: it is checked, and makes room.
        checked.take(&old_logs(folder.path(), 2), &follow.told, true);
        let sample = (follow.memory(), follow.descriptors());
        let cpu = (ticks - before) as f64 / TICKS_PER_SECOND / SAMPLE.as_secs_f64() * 100.0;
        let (p50, p99) = (percentile(&lags, 50) as f64 / 1e3, percentile(&lags, 99) as f64 / 1e3);
        let seconds = start.elapsed().as_secs();
        println!("{seconds:>6} {:>9} {cpu:>7.1} {:>5} {p50:>9.1} {p99:>9.1} {:>10} {:>6}", sample.0, sample.1, lags.len(), checked.lost);
        before = ticks;
        samples.push(sample);
    }
    let share = (follow.ticks() - first_ticks) as f64 / TICKS_PER_SECOND / start.elapsed().as_secs_f64() * 100.0;
    over.store(true, Ordering::Relaxed);
    load.join().unwrap();
    follow.told.wait(written.load(Ordering::Relaxed) / PROBE_EVERY);
    let (told, code) = follow.end();
    checked.take(&old_logs(folder.path(), 0), &told, false);
    checked.take(&[log], &told, false);
    let lags = told.lags.lock().unwrap();
    println!("{} lines, {} probes on the disk, {} told, exit {code}", written.load(Ordering::Relaxed), checked.lines, lags.len());
    let third = samples.len().div_ceil(3);
    let most = |part: &[(u64, u64)]| part.iter().fold((0, 0), |most, sample| (most.0.max(sample.0), most.1.max(sample.1)));
    let (early, late) = (most(&samples[..third]), most(&samples[samples.len() - third..]));
    verdict(&[
        ("memory, kB: last third against first", late.0 as f64, early.0 as f64 * 1.05 + 2048.0),
        ("descriptors: last third against first", late.1 as f64, early.1 as f64 + 1.0),
        ("processor, % of a core", share, 15.0),
        ("lag, p50, ms", percentile(&lags, 50) as f64 / 1e3, 300.0),
        ("lag, p99, ms", percentile(&lags, 99) as f64 / 1e3, 300.0),
        ("lost", checked.lost as f64, 0.0),
        ("doubled", told.doubled() as f64, 0.0),
        ("garbled", told.garbled.load(Ordering::Relaxed) as f64, 0.0),
    ])
}

/// A thousand logs that rest, and one that does not.
fn idle(program: &str, time: Duration, rate: u64) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let sites = folder.path().join("sites");
    fs::create_dir(&sites).unwrap();
    for n in 0..QUIET {
        fs::write(quiet_log(&sites, n), line(n, true)).unwrap();
    }
    let hot = sites.join("hot.log");
    fs::write(&hot, line(QUIET, true)).unwrap();
    let follow = Follow::start(program, &folder.path().join("state"), &["--from-start", sites.to_str().unwrap()]);
    follow.told.wait(QUIET + 1);
    // The start is over: what it took does not count.
    thread::sleep(Duration::from_secs(2));
    let share = |from: u64, start: Instant| (follow.ticks() - from) as f64 / TICKS_PER_SECOND / start.elapsed().as_secs_f64() * 100.0;
    let (ticks, start) = (follow.ticks(), Instant::now());
    thread::sleep(time);
    let idle = share(ticks, start);
    let (ticks, start) = (follow.ticks(), Instant::now());
    let _ = follow.told.fresh_lags();
    let mut server = Server::new(&hot, QUIET + 1);
    let (over, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let load = load(Arc::clone(&over), Arc::clone(&written), move |lines| server.tick(lines, false), rate);
    let mut waits = Vec::new();
    for n in (0..QUIET).step_by(37).cycle() {
        if start.elapsed() >= time {
            break;
        }
        // Numbers of quiet logs begin where no hot one comes.
        let number = Told::ASIDE + waits.len() as u64;
        let mut log = OpenOptions::new().append(true).open(quiet_log(&sites, n)).unwrap();
        log.write_all(line(number, true).as_bytes()).unwrap();
        waits.push(follow.told.aside(waits.len()).as_micros() as u64);
        thread::sleep(Duration::from_millis(500));
    }
    let busy = share(ticks, start);
    over.store(true, Ordering::Relaxed);
    load.join().unwrap();
    let hot_probes = written.load(Ordering::Relaxed) / PROBE_EVERY;
    follow.told.wait(QUIET + 1 + hot_probes + waits.len() as u64);
    let (told, code) = follow.end();
    let mut checked = Checked::default();
    checked.take(&[hot], &told, false);
    let lags = told.lags.lock().unwrap();
    println!(
        "{} lines in the hot log, {} lines in quiet ones, processor while it is hot: {busy:.1} %, exit {code}",
        written.load(Ordering::Relaxed),
        waits.len()
    );
    let hot_lags: Vec<_> = lags[QUIET as usize + 1..].to_vec();
    verdict(&[
        ("processor when all rest, % of a core", idle, 1.0),
        ("lag, p50, ms", percentile(&hot_lags, 50) as f64 / 1e3, 300.0),
        ("lag, p99, ms", percentile(&hot_lags, 99) as f64 / 1e3, 300.0),
        ("lag of quiet logs, the longest, ms", percentile(&waits, 100) as f64 / 1e3, 1000.0),
        ("lost", checked.lost as f64, 0.0),
        ("doubled", told.doubled() as f64, 0.0),
        ("garbled", told.garbled.load(Ordering::Relaxed) as f64, 0.0),
    ])
}

fn quiet_log(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("quiet-{n}.log"))
}

/// Prints what was found beside what is allowed; whether all of it is.
fn verdict(rows: &[(&str, f64, f64)]) -> bool {
    println!("\n| what | found | at most | |\n| --- | ---: | ---: | --- |");
    for (what, found, most) in rows {
        println!("| {what} | {found:.1} | {most:.1} | {} |", if found <= most { "good" } else { "NOT GOOD" });
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
    turned: Instant,
    late: Option<Instant>,
}

impl Server {
    fn new(path: &Path, first: u64) -> Self {
        Self { path: path.to_owned(), log: append(path), next: first, lines: 0, rotations: 0, turned: Instant::now(), late: None }
    }

    /// Writes so many lines at once, and moves the log away when it is time.
    fn tick(&mut self, lines: u64, rotate: bool) {
        let mut text = String::with_capacity(lines as usize * 130);
        for _ in 0..lines {
            self.lines += 1;
            let probe = self.lines.is_multiple_of(PROBE_EVERY);
            text += &line(if probe { self.next } else { self.lines }, probe);
            self.next += u64::from(probe);
        }
        self.log.write_all(text.as_bytes()).unwrap();
        if rotate && self.turned.elapsed() >= ROTATE {
            self.rotations += 1;
            fs::rename(&self.path, self.path.with_extension(format!("log.{}", self.rotations))).unwrap();
            drop(append(&self.path));
            (self.turned, self.late) = (Instant::now(), Some(Instant::now()));
        }
        if self.late.is_some_and(|late| late.elapsed() >= REOPEN) {
            (self.log, self.late) = (append(&self.path), None);
        }
    }
}

fn append(path: &Path) -> File {
    OpenOptions::new().append(true).create(true).open(path).unwrap()
}

/// An ordinary line or a probe, which carries its number and when it was written, in microseconds.
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
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}

/// Writes at this rate in a thread of its own; late ticks are made up for.
fn load(over: Arc<AtomicBool>, written: Arc<AtomicU64>, mut tick: impl FnMut(u64) + Send + 'static, rate: u64) -> JoinHandle<()> {
    thread::spawn(move || {
        let start = Instant::now();
        let mut lines = 0;
        // A whole number of probes is written, so that it is known how many are to come.
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

/// What was reported.
#[derive(Default)]
struct Told {
    /// How often, by number.
    seen: Mutex<Vec<u8>>,
    /// When, for the numbers that stand aside.
    aside: Mutex<Vec<Duration>>,
    /// Microseconds from write to report, in the order of the reports.
    lags: Mutex<Vec<u64>>,
    /// How many of them [`Self::fresh_lags`] gave.
    given: AtomicU64,
    garbled: AtomicU64,
}

impl Told {
    /// Numbers from here on are counted for themselves.
    const ASIDE: u64 = 1 << 40;

    /// Takes one line of output that came at `now`.
    fn take(&self, line: &str, now: u64) {
        let Some((number, written)) = stamp(line) else {
            self.garbled.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let lag = now.saturating_sub(written);
        if number >= Self::ASIDE {
            self.aside.lock().unwrap().push(Duration::from_micros(lag));
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

    /// Waits for so many reports, and not for ever: what does not come is lost.
    fn wait(&self, reports: u64) {
        let start = Instant::now();
        while (self.lags.lock().unwrap().len() as u64) < reports && start.elapsed() < Duration::from_secs(30) {
            thread::sleep(TICK);
        }
    }

    /// The lag of a number that stands aside; a minute when it does not come.
    fn aside(&self, index: usize) -> Duration {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(60) {
            if let Some(lag) = self.aside.lock().unwrap().get(index) {
                return *lag;
            }
            thread::sleep(Duration::from_millis(1));
        }
        start.elapsed()
    }

    fn doubled(&self) -> usize {
        self.seen.lock().unwrap().iter().filter(|times| **times > 1).count()
    }
}

/// The number and the time in a line of a log or of a report.
fn stamp(line: &str) -> Option<(u64, u64)> {
    let rest = line.split_once("/.git/config?n=")?.1;
    let (number, rest) = rest.split_once('.')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    Some((number.parse().ok()?, rest[..digits].parse().ok()?))
}

/// What is on the disk against what was told.
#[derive(Default)]
struct Checked {
    lines: u64,
    lost: u64,
}

impl Checked {
    fn take(&mut self, logs: &[PathBuf], told: &Told, remove: bool) {
        for log in logs {
            let seen = told.seen.lock().unwrap().clone();
            for number in
                BufReader::new(File::open(log).unwrap()).lines().filter_map(|line| stamp(&line.unwrap())).map(|(number, _)| number)
            {
                self.lines += 1;
                self.lost += u64::from(number < Told::ASIDE && seen.get(number as usize).is_none_or(|times| *times == 0));
            }
            if remove {
                fs::remove_file(log).unwrap();
            }
        }
    }
}

/// The logs that were moved away, but the latest `keep`.
fn old_logs(folder: &Path, keep: usize) -> Vec<PathBuf> {
    let number = |path: &Path| path.file_name()?.to_str()?.strip_prefix("access.log.")?.parse::<u64>().ok();
    let mut logs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| number(path).is_some()).collect();
    logs.sort_by_key(|path| number(path));
    logs.truncate(logs.len().saturating_sub(keep));
    logs
}

/// The command at work, and a thread that reads what it says.
struct Follow {
    child: Child,
    told: Arc<Told>,
    reader: Option<JoinHandle<()>>,
}

impl Follow {
    fn start(program: &str, state: &Path, args: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(["follow", "-q", "-f", "ndjson", "--state"]).arg(state).args(args).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdout, told) = (child.stdout.take().unwrap(), Arc::new(Told::default()));
        let taker = Arc::clone(&told);
        let reader = thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                taker.take(&line, now());
            }
        });
        Self { child, told, reader: Some(reader) }
    }

    fn proc(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.child.id()))
    }

    /// Processor time so far.
    fn ticks(&self) -> u64 {
        let stat = fs::read_to_string(self.proc("stat")).expect("it ended");
        stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
    }

    /// Resident kilobytes.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(self.proc("status")).unwrap();
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().split(' ').next()?.parse().ok()).expect("it ended")
    }

    fn descriptors(&self) -> u64 {
        fs::read_dir(self.proc("fd")).unwrap().count() as u64
    }

    /// Ends it in order; what was told, and its exit code.
    fn end(mut self) -> (Arc<Told>, i32) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), rustix::process::Signal::TERM).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        self.reader.take().unwrap().join().unwrap();
        (Arc::clone(&self.told), code)
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The value that so many of a hundred do not exceed.
fn percentile(values: &[u64], percent: usize) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0)
}
