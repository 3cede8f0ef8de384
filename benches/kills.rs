//! Kills `probewatch follow` again and again while it appends hits to a file and its log is
//! rotated, and compares that file with the logs on the disk.
//!
//! `benches/kills.sh` builds and starts it; it works in a temporary folder and leaves nothing.
//!
//! What `follow -f ndjson --state` promises, and what is therefore counted:
//!
//! - *Lost*: a probe in a whole line on the disk, in the log or in any rotated file, that no record
//!   names.
//! - *Doubled*: a probe with two ids; an id with two probes; an id twice in one run; and a record
//!   whose id lies before the offset that a state held when a run started. A run that is killed may
//!   have printed hits that its state does not hold yet: the next run prints those again, with the
//!   same id. Such records are counted as repeated.
//! - *Torn*: a line that is no JSON object. A run that is killed within a write may leave half a
//!   line, which the next run must end with a newline before it prints anything: such halves are
//!   counted by themselves. Any other is torn.
//! - *Misplaced*: an offset in an id that is not where the line begins in its file.
//!
//! With `report daily` or `report hourly` it kills `probewatch report` instead, at any moment of
//! runs that replace the folders of several periods ([`reports`]).

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a program to measure with, not to ship"
)]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "figures to be read, not to be calculated with"
)]

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// One line in this many is a probe.
const PROBE_EVERY: u64 = 20;
/// The server writes this often.
const TICK: Duration = Duration::from_millis(10);
/// Rotated files that are kept; of older ones, those are deleted of which every probe was found.
const KEPT: usize = 6;
/// How long a line may be on the disk before it counts as lost.
const PATIENCE: Duration = Duration::from_secs(120);
/// The output is read this often.
const READ: Duration = Duration::from_millis(100);
/// A row of figures is printed this often.
const ROW: Duration = Duration::from_secs(60);

fn main() {
    let args: Vec<_> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let number = |n: usize| args.get(n).and_then(|arg| arg.parse::<f64>().ok());
    let fine = if let (Some(program), Some("report"), Some(periods), Some(kills)) = (
        args.first(),
        args.get(1).map(String::as_str),
        args.get(2),
        number(3),
    ) {
        reports(program, periods, kills as u64)
    } else if let (Some(program), Some(minutes), Some(rate)) = (args.first(), number(1), number(2))
    {
        let followed = args.get(3).map_or("log/access.log", String::as_str);
        soak(
            program,
            Duration::from_secs_f64(minutes * 60.0),
            rate as u64,
            followed,
        )
    } else {
        // `cargo test --benches` and `cargo bench` without arguments come here: see that faults are
        // found.
        check_the_judge();
        println!(
            "usage: kills PROBEWATCH MINUTES RATE [log | log/access.log], or: kills PROBEWATCH report daily|hourly KILLS"
        );
        true
    };
    std::process::exit(i32::from(!fine));
}

fn soak(program: &str, time: Duration, rate: u64, followed: &str) -> bool {
    let program = fs::canonicalize(program).unwrap();
    let mut dice = Dice::new();
    println!("seed {}", dice.0);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("log")).unwrap();
    let names = Arc::new(Mutex::new(()));
    let server = Server::new(
        &folder.join("log/access.log"),
        Dice(dice.next()),
        Arc::clone(&names),
    );
    let counts = Arc::clone(&server.counts);
    let over = Arc::new(AtomicBool::new(false));
    let serving = server.serve(Arc::clone(&over), rate);
    let mut check = OutputCheck::default();
    let mut output = Output::new(&folder.join("hits.ndjson"));
    let mut stops = Stops::default();
    let (start, mut row) = (Instant::now(), Instant::now());
    println!(
        "{:>6} {:>10} {:>8} {:>7} {:>5} {:>5} {:>5} {:>5} {:>8}",
        "s", "lines", "probes", "kills", "ends", "mv", "copy", "gzip", "repeated"
    );
    while start.elapsed() < time {
        let mut run = Run::start(&program, folder, followed, &mut check);
        let lives = dice.lifetime();
        let since = Instant::now();
        while since.elapsed() < lives && start.elapsed() < time && run.is_running() {
            thread::sleep(READ.min(lives.saturating_sub(since.elapsed())));
            check.take(&output.read());
        }
        let is_clean = dice.below(8) == 0;
        stops.end(run, is_clean);
        check.take(&output.read());
        check.end_run(is_clean);
        clean_up(&folder.join("log"), &names, &mut check, KEPT);
        if dice.below(3) == 0 {
            thread::sleep(Duration::from_millis(dice.below(4000)));
        }
        if row.elapsed() >= ROW {
            row = Instant::now();
            print_row(start, &counts, &check, &stops);
        }
    }
    over.store(true, Ordering::Relaxed);
    serving.join().unwrap();
    // The last run reads what is left, and is given time for it.
    let mut run = Run::start(&program, folder, followed, &mut check);
    let mut latest = Instant::now();
    while latest.elapsed() < Duration::from_secs(10) && run.is_running() {
        thread::sleep(READ);
        let new = output.read();
        if !new.is_empty() {
            latest = Instant::now();
        }
        check.take(&new);
    }
    stops.end(run, true);
    check.take(&output.read());
    check.end_run(true);
    check.deadline = Duration::ZERO;
    clean_up(&folder.join("log"), &names, &mut check, 0);
    check.compare(&folder.join("log/access.log"));
    print_row(start, &counts, &check, &stops);
    check.verdict(&stops)
}

fn print_row(start: Instant, counts: &Counts, check: &OutputCheck, stops: &Stops) {
    let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
    println!(
        "{:>6} {:>10} {:>8} {:>7} {:>5} {:>5} {:>5} {:>5} {:>8}",
        start.elapsed().as_secs(),
        count(&counts.lines),
        check.records.len(),
        stops.killed,
        stops.clean,
        count(&counts.renamed),
        count(&counts.copied),
        count(&counts.packed),
        check.repeated,
    );
}

/// Checks rotated files beyond the newest `keep`, oldest first, and deletes those that are done.
fn clean_up(folder: &Path, names: &Mutex<()>, check: &mut OutputCheck, keep: usize) {
    let _names = names.lock().unwrap();
    let mut logs = rotated(folder);
    while logs.len() > keep {
        let (_, oldest) = logs.pop().unwrap();
        if !check.compare(&oldest) {
            break;
        }
        fs::remove_file(oldest).unwrap();
    }
}

/// The rotated files with their numbers, newest first.
fn rotated(folder: &Path) -> Vec<(u64, PathBuf)> {
    let number = |path: &Path| {
        path.file_name()?
            .to_str()?
            .strip_prefix("access.log.")?
            .trim_end_matches(".gz")
            .parse::<u64>()
            .ok()
    };
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut logs: Vec<_> = paths
        .filter_map(|path| Some((number(&path)?, path)))
        .collect();
    logs.sort();
    logs
}

/// What the server did.
#[derive(Debug, Default)]
struct Counts {
    lines: AtomicU64,
    renamed: AtomicU64,
    copied: AtomicU64,
    packed: AtomicU64,
}

/// A server with its log open, which is rotated at random.
struct Server {
    path: PathBuf,
    log: File,
    dice: Dice,
    /// Held while files change their names.
    names: Arc<Mutex<()>>,
    counts: Arc<Counts>,
    lines: u64,
    rotate_at: Instant,
    reopen_at: Option<Instant>,
    is_to_pack: bool,
    packer: Option<JoinHandle<()>>,
}

impl Server {
    fn new(path: &Path, dice: Dice, names: Arc<Mutex<()>>) -> Self {
        Self {
            path: path.to_owned(),
            log: append(path),
            dice,
            names,
            counts: Arc::default(),
            lines: 0,
            rotate_at: Instant::now() + Duration::from_secs(5),
            reopen_at: None,
            is_to_pack: false,
            packer: None,
        }
    }

    /// Writes this many lines a second until it is over; late ticks are made up for.
    fn serve(mut self, over: Arc<AtomicBool>, rate: u64) -> JoinHandle<()> {
        thread::spawn(move || {
            let start = Instant::now();
            while !over.load(Ordering::Relaxed) {
                let due = (start.elapsed().as_secs_f64() * rate as f64) as u64;
                self.write(due.saturating_sub(self.lines).min(rate));
                self.turn();
                thread::sleep(TICK);
            }
            if let Some(packer) = self.packer {
                packer.join().unwrap();
            }
        })
    }

    /// Writes lines in two parts, cut anywhere.
    fn write(&mut self, lines: u64) {
        let mut text = String::with_capacity(lines as usize * 130);
        for number in self.lines..self.lines + lines {
            write_line(number, &mut text);
        }
        self.lines += lines;
        self.counts.lines.store(self.lines, Ordering::Relaxed);
        let (first, second) = text
            .as_bytes()
            .split_at(self.dice.below(text.len() as u64 + 1) as usize);
        self.log.write_all(first).unwrap();
        self.log.write_all(second).unwrap();
    }

    /// Rotates, opens the log anew and packs, each when it is time.
    fn turn(&mut self) {
        if self.reopen_at.is_some_and(|at| Instant::now() >= at) {
            (self.log, self.reopen_at) = (append(&self.path), None);
            if std::mem::take(&mut self.is_to_pack) {
                let path = self.path.with_extension("log.1");
                self.packer = Some(thread::spawn(move || pack(&path)));
            }
        }
        let is_busy = self.reopen_at.is_some()
            || self
                .packer
                .as_ref()
                .is_some_and(|packer| !packer.is_finished());
        if is_busy || Instant::now() < self.rotate_at {
            return;
        }
        self.rotate();
        self.rotate_at = Instant::now() + Duration::from_millis(200 + self.dice.below(19_800));
    }

    fn rotate(&mut self) {
        let names = Arc::clone(&self.names);
        let _names = names.lock().unwrap();
        let newest = self.path.with_extension("log.1");
        for (number, path) in rotated(self.path.parent().unwrap()).into_iter().rev() {
            let ending = if path.extension().is_some_and(|ending| ending == "gz") {
                ".gz"
            } else {
                ""
            };
            fs::rename(
                &path,
                self.path
                    .with_extension(format!("log.{}{ending}", number + 1)),
            )
            .unwrap();
        }
        match self.dice.below(3) {
            0 => {
                // The server writes nothing between the copy and the cut, as lines of that time
                // would be destroyed.
                thread::sleep(Duration::from_millis(self.dice.below(1500)));
                fs::copy(&self.path, newest).unwrap();
                thread::sleep(Duration::from_millis(self.dice.below(300)));
                OpenOptions::new()
                    .write(true)
                    .open(&self.path)
                    .unwrap()
                    .set_len(0)
                    .unwrap();
                self.counts.copied.fetch_add(1, Ordering::Relaxed);
            }
            kind => {
                fs::rename(&self.path, newest).unwrap();
                drop(append(&self.path));
                // It writes to the renamed file for a while yet.
                self.reopen_at =
                    Some(Instant::now() + Duration::from_millis(self.dice.below(1000)));
                self.is_to_pack = kind == 1;
                let count = if self.is_to_pack {
                    &self.counts.packed
                } else {
                    &self.counts.renamed
                };
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        if self.dice.below(3) == 0 {
            // A log of few lines, which is known by them alone.
            let few = 1 + self.dice.below(10);
            self.write(few);
            thread::sleep(Duration::from_millis(self.dice.below(1500)));
        }
    }
}

/// Packs as gzip does: into a new file, bit by bit; then the plain one is deleted.
fn pack(path: &Path) {
    thread::sleep(Duration::from_millis(100));
    let mut text = File::open(path).unwrap();
    let mut packed = GzEncoder::new(
        File::create(path.with_extension("1.gz")).unwrap(),
        Compression::fast(),
    );
    let mut block = vec![0; 256 * 1024];
    loop {
        let length = text.read(&mut block).unwrap();
        if length == 0 {
            break;
        }
        packed.write_all(&block[..length]).unwrap();
        thread::sleep(TICK);
    }
    packed.finish().unwrap();
    fs::remove_file(path).unwrap();
}

fn append(path: &Path) -> File {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap()
}

/// An ordinary line, or a probe with its number.
fn write_line(number: u64, text: &mut String) {
    let (client, agent) = (number % 250, "Mozilla/5.0 (X11; Linux x86_64)");
    let time = "02/Nov/2026:08:01:00 +0000";
    let line = if number.is_multiple_of(PROBE_EVERY) {
        writeln!(
            text,
            "198.51.100.{client} - - [{time}] \"GET {PROBE}{} HTTP/1.1\" 404 153 \"-\" \"{agent}\"",
            number / PROBE_EVERY
        )
    } else {
        writeln!(
            text,
            "192.0.2.{client} - - [{time}] \"GET /page/{number} HTTP/1.1\" 200 5120 \"-\" \"{agent}\""
        )
    };
    line.unwrap();
}

const PROBE: &str = "/.git/config?n=";

/// The number of the probe in a line of a log or in the target of a record.
fn number_of(text: &str) -> Option<u64> {
    let rest = text.split_once(PROBE)?.1;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits].parse().ok()
}

/// A run of the program.
struct Run {
    child: Child,
    state: PathBuf,
}

impl Run {
    fn start(program: &Path, folder: &Path, followed: &str, check: &mut OutputCheck) -> Self {
        let state = folder.join("state/follow.json");
        check.start_run(&state);
        let mut command = Command::new(program);
        command.args([
            "follow",
            "-q",
            "-f",
            "ndjson",
            "--from-start",
            "--state",
            "state",
            followed,
        ]);
        let child = command
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(append(&folder.join("hits.ndjson")))
            .spawn()
            .unwrap();
        Self { child, state }
    }

    fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How runs ended.
#[derive(Debug, Default)]
struct Stops {
    killed: u64,
    clean: u64,
    /// With another code than the signal's, or by themselves.
    wrong: u64,
}

impl Stops {
    fn end(&mut self, mut run: Run, is_clean: bool) {
        if let Some(status) = run.child.try_wait().unwrap() {
            println!(
                "a run ended by itself: {status}; its state is {}",
                run.state.display()
            );
            self.wrong += 1;
            return;
        }
        if is_clean {
            // A second signal ends it at once: wait for as long as it takes.
            kill_process(Pid::from_child(&run.child), Signal::TERM).unwrap();
            let code = run.child.wait().unwrap().code();
            // A run that has not yet begun to listen is ended by the system.
            if code.is_some_and(|code| code != 143) {
                println!("a run that was stopped ended with {code:?}");
                self.wrong += 1;
            }
            self.clean += 1;
        } else {
            run.child.kill().unwrap();
            run.child.wait().unwrap();
            self.killed += 1;
        }
    }
}

/// The file that the runs append to.
struct Output {
    path: PathBuf,
    offset: u64,
}

impl Output {
    fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            offset: 0,
        }
    }

    /// What was appended since the last call.
    fn read(&mut self) -> Vec<u8> {
        let mut new = Vec::new();
        if let Ok(mut file) = File::open(&self.path) {
            file.seek(SeekFrom::Start(self.offset)).unwrap();
            file.read_to_end(&mut new).unwrap();
            self.offset += new.len() as u64;
        }
        new
    }
}

/// A record of a probe.
#[derive(Debug, Clone, Copy)]
struct Record {
    generation: u64,
    offset: u64,
    /// The last run that printed it.
    run: u64,
}

/// What the output says, against what may be said and what is on the disk.
#[derive(Debug)]
struct OutputCheck {
    /// The records, by the number of their probe.
    records: HashMap<u64, Record>,
    ids: HashSet<(u64, u64)>,
    run: u64,
    /// How far a state held each generation when a run started.
    held: HashMap<u64, u64>,
    /// A line that is not ended yet.
    line: Vec<u8>,
    /// Half a line was left by a run that was killed: the next byte must be a newline.
    is_half: bool,
    /// Rotated files that are not wholly reported, and since when.
    waiting: HashMap<u64, Instant>,
    deadline: Duration,
    on_disk: u64,
    repeated: u64,
    halves: u64,
    lost: u64,
    doubled: u64,
    torn: u64,
    misplaced: u64,
}

impl Default for OutputCheck {
    fn default() -> Self {
        Self {
            records: HashMap::new(),
            ids: HashSet::new(),
            run: 0,
            held: HashMap::new(),
            line: Vec::new(),
            is_half: false,
            waiting: HashMap::new(),
            deadline: PATIENCE,
            on_disk: 0,
            repeated: 0,
            halves: 0,
            lost: 0,
            doubled: 0,
            torn: 0,
            misplaced: 0,
        }
    }
}

impl OutputCheck {
    /// A run starts with this state.
    fn start_run(&mut self, state: &Path) {
        self.run += 1;
        let Ok(text) = fs::read(state) else { return };
        let state: Value = serde_json::from_slice(&text).expect("a state is whole at any moment");
        let held = |log: &Value| Some((log["generation"].as_u64()?, log["offset"].as_u64()?));
        for (generation, offset) in state["state"]["checkpoints"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(held)
        {
            let held = self.held.entry(generation).or_default();
            *held = offset.max(*held);
        }
    }

    /// Takes bytes of the output.
    fn take(&mut self, mut new: &[u8]) {
        if self.is_half
            && let Some((first, rest)) = new.split_first()
        {
            self.is_half = false;
            if *first == b'\n' {
                new = rest;
            } else {
                println!(
                    "half a line goes on: {}",
                    String::from_utf8_lossy(&new[..new.len().min(200)])
                );
                self.torn += 1;
            }
        }
        for part in new.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.take_line(&line);
            }
        }
    }

    fn take_line(&mut self, line: &[u8]) {
        let object = serde_json::from_slice::<Value>(line).ok();
        let parts = object.as_ref().and_then(|object| {
            let (generation, offset) = object["id"].as_str()?.split_once(':')?;
            Some((
                number_of(object["target"].as_str()?)?,
                u64::from_str_radix(generation, 16).ok()?,
                offset.parse().ok()?,
            ))
        });
        let Some((number, generation, offset)) = parts else {
            println!("torn: {}", String::from_utf8_lossy(line));
            self.torn += 1;
            return;
        };
        let new = Record {
            generation,
            offset,
            run: self.run,
        };
        let fault = match self.records.insert(number, new) {
            None if self.ids.insert((generation, offset)) => None,
            None => Some("its id is another probe's".to_owned()),
            Some(old) if (old.generation, old.offset) != (generation, offset) => {
                Some(format!("it had another id, {old:x?}"))
            }
            Some(old) if old.run == self.run => Some("it comes twice in one run".to_owned()),
            Some(_)
                if self
                    .held
                    .get(&generation)
                    .is_some_and(|held| offset < *held) =>
            {
                Some("the state held it".to_owned())
            }
            Some(_) => {
                self.repeated += 1;
                None
            }
        };
        if let Some(fault) = fault {
            println!(
                "doubled in run {}, probe {number}: {fault}: {}",
                self.run,
                String::from_utf8_lossy(line)
            );
            self.doubled += 1;
        }
    }

    /// A run has ended, and all of its output was taken.
    fn end_run(&mut self, is_clean: bool) {
        let half = std::mem::take(&mut self.line);
        if half.is_empty() {
            return;
        }
        self.is_half = true;
        if is_clean {
            println!(
                "a run that was stopped left half a line: {}",
                String::from_utf8_lossy(&half)
            );
            self.torn += 1;
        } else {
            self.halves += 1;
        }
    }

    /// Compares a log with the records; false where some are missing yet, and it may be too early
    /// for them.
    fn compare(&mut self, log: &Path) -> bool {
        let bytes = fs::read(log).unwrap();
        let mut text = Vec::new();
        if log.extension().is_some_and(|ending| ending == "gz") {
            MultiGzDecoder::new(&bytes[..])
                .read_to_end(&mut text)
                .unwrap();
        } else {
            text = bytes;
        }
        let mut probes = Vec::new();
        let mut offset = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if line.ends_with(b"\n")
                && let Some(number) = number_of(&String::from_utf8_lossy(line))
            {
                probes.push((number, offset));
            }
            offset += line.len() as u64;
        }
        let missing: Vec<_> = probes
            .iter()
            .map(|(number, _)| *number)
            .filter(|number| !self.records.contains_key(number))
            .collect();
        if let Some(first) = missing.first() {
            if self
                .waiting
                .entry(*first)
                .or_insert_with(Instant::now)
                .elapsed()
                < self.deadline
            {
                return false;
            }
            println!(
                "lost from {}: {} of {}, the first {first}",
                log.display(),
                missing.len(),
                probes.len()
            );
            self.lost += missing.len() as u64;
        }
        self.on_disk += probes.len() as u64;
        for (number, offset) in probes {
            if self
                .records
                .get(&number)
                .is_some_and(|record| record.offset != offset)
            {
                println!(
                    "misplaced: {number} begins at {offset} in {}: {:x?}",
                    log.display(),
                    self.records[&number]
                );
                self.misplaced += 1;
            }
        }
        true
    }

    /// Prints what was found beside what is allowed; whether all of it is.
    fn verdict(&self, stops: &Stops) -> bool {
        println!(
            "\n{} probes on the disk, {} reported; {} runs were killed, {} stopped",
            self.on_disk,
            self.records.len(),
            stops.killed,
            stops.clean
        );
        println!(
            "{} records came again after a kill, {} kills left half a line",
            self.repeated, self.halves
        );
        println!("\n| what | found | at most | |\n| --- | ---: | ---: | --- |");
        let rows = [
            ("lost", self.lost),
            ("doubled", self.doubled),
            ("torn", self.torn),
            ("misplaced", self.misplaced),
            (
                "reported, but not on the disk",
                self.records.len() as u64 - self.on_disk.min(self.records.len() as u64),
            ),
            ("runs that ended otherwise", stops.wrong),
        ];
        for (what, found) in rows {
            println!(
                "| {what} | {found} | 0 | {} |",
                if found == 0 { "good" } else { "NOT GOOD" }
            );
        }
        rows.iter().all(|(_, found)| *found == 0)
    }
}

/// Kills of one state and one folder of reports, before both are checked.
const ROUND: u64 = 10;

/// What rounds of `report` left that must not be.
#[derive(Debug, Default)]
struct ReportFaults {
    lost: u64,
    doubled: u64,
    incomplete: u64,
    stuck: u64,
    leftovers: u64,
}

/// Kills runs of `report --daily` or `--hourly`. Each reads new lines of four periods, and so
/// replaces their folders.
///
/// In the round after [`ROUND`] kills a run must succeed; then each probe is in one report, each
/// folder has all files, and nothing else is there. The periods are other ones in each round,
/// because the names decide the order of a listing on most file systems.
fn reports(program: &str, periods: &str, kills: u64) -> bool {
    let program = fs::canonicalize(program).unwrap();
    let mut dice = Dice::new();
    println!("seed {}", dice.0);
    let (mut faults, mut rounds, mut killed, mut bad_rounds) = (ReportFaults::default(), 0, 0, 0);
    while killed < kills {
        rounds += 1;
        let folder = tempfile::tempdir().unwrap();
        let mut round = ReportRound {
            program: &program,
            folder: folder.path(),
            periods,
            first: dice.below(24),
            probes: 0,
        };
        round.write(&mut dice);
        let start = Instant::now();
        let mut is_fine = round.start().wait().unwrap().success();
        let usual = start.elapsed().as_micros() as u64;
        for _ in 0..ROUND {
            round.write(&mut dice);
            let mut run = round.start();
            // Half of the runs are killed late, when they publish and remove.
            let earliest = if dice.below(2) == 0 { 0 } else { usual / 2 };
            thread::sleep(Duration::from_micros(
                earliest + dice.below(usual * 5 / 4 - earliest),
            ));
            // It may have ended before.
            let _ = run.kill();
            match run.wait().unwrap().code() {
                None => killed += 1,
                Some(0) => {}
                Some(_) => is_fine = false,
            }
        }
        is_fine &= round.start().wait().unwrap().success();
        let before = (
            faults.lost,
            faults.doubled,
            faults.incomplete,
            faults.leftovers,
        );
        faults.stuck += u64::from(!is_fine);
        round.check(&mut faults);
        bad_rounds += u64::from(
            !is_fine
                || before
                    != (
                        faults.lost,
                        faults.doubled,
                        faults.incomplete,
                        faults.leftovers,
                    ),
        );
    }
    println!("{killed} runs of report --{periods} were killed in {rounds} rounds");
    println!("\n| what | found | at most | |\n| --- | ---: | ---: | --- |");
    let rows = [
        ("probes lost", faults.lost),
        ("probes doubled", faults.doubled),
        ("incomplete folders", faults.incomplete),
        ("rounds with a run that failed", faults.stuck),
        ("other entries", faults.leftovers),
        ("rounds with any of these", bad_rounds),
    ];
    for (what, found) in rows {
        println!(
            "| {what} | {found} | 0 | {} |",
            if found == 0 { "good" } else { "NOT GOOD" }
        );
    }
    bad_rounds == 0
}

/// A log, a state and reports in a folder.
struct ReportRound<'a> {
    program: &'a Path,
    folder: &'a Path,
    periods: &'a str,
    /// The first day or hour of the lines.
    first: u64,
    probes: u64,
}

impl ReportRound<'_> {
    /// Writes a few probes in each of four periods.
    fn write(&mut self, dice: &mut Dice) {
        let mut text = String::new();
        for place in 0..8 + dice.below(8) {
            let period = self.first + place % 4;
            let (day, hour) = if self.periods == "hourly" {
                (1 + period / 24, period % 24)
            } else {
                (1 + period, dice.below(24))
            };
            let time = format!("{day:02}/Nov/2026:{hour:02}:01:00 +0000");
            writeln!(text, "198.51.100.7 - - [{time}] \"GET /{}/.git/config HTTP/1.1\" 404 153 \"-\" \"curl/8\"", self.probes).unwrap();
            self.probes += 1;
        }
        append(&self.folder.join("access.log"))
            .write_all(text.as_bytes())
            .unwrap();
    }

    fn start(&self) -> Child {
        let mut command = Command::new(self.program);
        command.args([
            "report", "-q", "--only", "vcs/git", "--state", "state", "--out", "out",
        ]);
        command
            .args([&format!("--{}", self.periods), "access.log"])
            .current_dir(self.folder);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn check(&self, faults: &mut ReportFaults) {
        let mut counts: HashMap<u64, u64> = HashMap::new();
        for folder in fs::read_dir(self.folder.join("out"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            let name = folder.file_name().unwrap().to_str().unwrap();
            if matches!(name, "latest" | ".state") {
                continue;
            }
            if !name.starts_with("2026-11-") || name.contains(".incomplete") {
                faults.leftovers += 1;
                continue;
            }
            let report = fs::read(folder.join("report.json"))
                .ok()
                .and_then(|text| serde_json::from_slice::<Value>(&text).ok());
            if fs::read_dir(&folder).unwrap().count() != REPORT_FILES || report.is_none() {
                println!("incomplete: {}", folder.display());
                faults.incomplete += 1;
            }
            for pair in report
                .iter()
                .flat_map(|report| report["pairs"].as_array().unwrap())
            {
                let number = pair["path"]
                    .as_str()
                    .and_then(|path| path.split('/').nth(1))
                    .and_then(|number| number.parse().ok());
                *counts.entry(number.unwrap()).or_default() += pair["hits"].as_u64().unwrap();
            }
        }
        for probe in 0..self.probes {
            match counts.get(&probe).copied().unwrap_or(0) {
                0 => faults.lost += 1,
                1 => {}
                _ => faults.doubled += 1,
            }
        }
    }
}

/// Files of a report folder.
const REPORT_FILES: usize = 8;

/// Numbers that look random: `SplitMix64`.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn new() -> Self {
        Self(
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap()
                .as_nanos() as u64,
        )
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// How long a run lives: many die while they start, some live through a rotation.
    fn lifetime(&mut self) -> Duration {
        let most = [60, 300, 2_000, 8_000, 25_000][self.below(5) as usize];
        Duration::from_millis(self.below(most))
    }
}

/// Each fault is found, and what is allowed is not taken for one.
fn check_the_judge() {
    let record = |number: u64, offset: u64| {
        format!("{{\"id\":\"00000000000000ab:{offset}\",\"target\":\"{PROBE}{number}\"}}\n")
    };
    let mut text = String::new();
    (0..PROBE_EVERY * 2).for_each(|number| write_line(number, &mut text));
    let second = text
        .rfind('\n')
        .map(|_| {
            text.lines()
                .take(PROBE_EVERY as usize)
                .map(|line| line.len() as u64 + 1)
                .sum::<u64>()
        })
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (log, state) = (
        folder.path().join("access.log"),
        folder.path().join("state"),
    );
    fs::write(&log, text).unwrap();
    let judged = |first: &str, is_clean: bool, next: &str| {
        let mut check = OutputCheck {
            deadline: Duration::ZERO,
            ..OutputCheck::default()
        };
        check.take(first.as_bytes());
        check.end_run(is_clean);
        fs::write(
            &state,
            format!(
                "{{\"state\":{{\"checkpoints\":[{{\"generation\":171,\"offset\":{second}}}]}}}}"
            ),
        )
        .unwrap();
        check.start_run(&state);
        check.take(next.as_bytes());
        check.compare(&log);
        (
            check.lost,
            check.doubled,
            check.torn,
            check.misplaced,
            check.repeated,
            check.halves,
        )
    };
    let (a, b) = (record(0, 0), record(1, second));
    let both = a.clone() + &b;
    assert_eq!(judged(&both, true, ""), (0, 0, 0, 0, 0, 0));
    assert_eq!(judged(&both, false, &b), (0, 0, 0, 0, 1, 0));
    assert_eq!(judged(&both, false, &a), (0, 1, 0, 0, 0, 0));
    assert_eq!(judged(&a, false, &(b.clone() + &b)), (0, 1, 0, 0, 0, 0));
    assert_eq!(judged(&a, false, ""), (1, 0, 0, 0, 0, 0));
    assert_eq!(
        judged(&(a.clone() + &b[..9]), false, &("\n".to_owned() + &b)),
        (0, 0, 0, 0, 0, 1)
    );
    assert_eq!(
        judged(&(a.clone() + &b[..9]), true, &("\n".to_owned() + &b)),
        (0, 0, 1, 0, 0, 0)
    );
    assert_eq!(
        judged(&(a.clone() + &b[..9]), false, &(b.clone() + &b)),
        (0, 1, 1, 0, 0, 1)
    );
    assert_eq!(
        judged(&(a + &record(1, second + 1)), false, ""),
        (0, 0, 0, 1, 0, 0)
    );
}
