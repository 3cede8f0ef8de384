//! A running `follow` whose two streams are read while it runs, so that a test can wait for what it says.
//!
//! Nothing waits for a fixed time: a test names what it waits for, and fails with all that was said when it does not come.

use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::oracle::Hit;
use crate::harness::Harness;

/// Longer than anything takes on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// How to be told of changes: woken by the system, and by looking again and again.
pub(super) const MODES: [&[&str]; 2] = [&[], &["--poll", "--poll-interval", "100ms"]];

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The hits on standard output, in order.
    pub(super) hits: Vec<Hit>,
    /// What came on standard output and is no hit: lines for people, or the half of a line at the end.
    pub(super) other: Vec<String>,
    /// Standard error.
    pub(super) notices: String,
}

/// What the readers tell the test.
#[derive(Debug, Default)]
struct Shared {
    said: Mutex<Said>,
    news: Condvar,
}

/// A follower, ended with the test that started it.
pub(super) struct Follower {
    child: Child,
    shared: Arc<Shared>,
    stdout: Option<ChildStdout>,
    readers: Vec<JoinHandle<()>>,
}

/// What a follower left.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) said: Said,
}

/// `follow -f ndjson --from-start` with the rule the numbered lines match, which makes the start short.
pub(super) fn command(harness: &Harness, args: &[&str]) -> Command {
    harness.command(FOLLOW.iter().chain(args))
}

/// The arguments of [`command`] but its own.
pub(super) const FOLLOW: [&str; 6] = ["follow", "-f", "ndjson", "--from-start", "--only", "vcs/git"];

/// Starts [`command`].
pub(super) fn follow(harness: &Harness, args: &[&str]) -> Follower {
    Follower::start(&mut command(harness, args))
}

impl Follower {
    pub(super) fn start(command: &mut Command) -> Self {
        let mut follower = Self::start_unread(command);
        follower.read();
        follower
    }

    /// Standard output is not read before [`Self::read`].
    pub(super) fn start_unread(command: &mut Command) -> Self {
        Self::start_to(command, Stdio::piped())
    }

    /// With standard output somewhere else.
    pub(super) fn start_to(command: &mut Command, stdout: Stdio) -> Self {
        let mut child = command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        let shared = Arc::new(Shared::default());
        let stderr = child.stderr.take().unwrap();
        let told = Arc::clone(&shared);
        let reader = thread::spawn(move || {
            lines(stderr, |line| told.tell(|said| said.notices += &line));
        });
        Self { stdout: child.stdout.take(), child, shared, readers: vec![reader] }
    }

    /// Begins to read standard output.
    pub(super) fn read(&mut self) {
        let (stdout, told) = (self.stdout.take().unwrap(), Arc::clone(&self.shared));
        self.readers.push(thread::spawn(move || {
            lines(stdout, |line| {
                told.tell(|said| match line.strip_suffix('\n').and_then(|line| serde_json::from_str::<Value>(line).ok()) {
                    Some(hit) => said.hits.push(Hit(hit)),
                    None => said.other.push(line),
                });
            });
        }));
    }

    /// Leaves standard output, as a reader that ends.
    pub(super) fn hang_up(&mut self) {
        drop(self.stdout.take().unwrap());
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits until what was said is as it should be.
    pub(super) fn until(&mut self, what: &str, done: impl Fn(&Said) -> bool) {
        let start = Instant::now();
        let shared = Arc::clone(&self.shared);
        let mut said = shared.said.lock().unwrap();
        while !done(&said) {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none() || !self.readers.iter().all(JoinHandle::is_finished), "{what}: it ended: {ended:?}\n{}", tell(&said));
            assert!(start.elapsed() < DEADLINE, "{what}: it does not come\n{}", tell(&said));
            said = shared.news.wait_timeout(said, Duration::from_millis(50)).unwrap().0;
        }
    }

    /// Waits until the line with each of these numbers was reported.
    pub(super) fn until_seen(&mut self, numbers: impl IntoIterator<Item = u64>) {
        let numbers: Vec<u64> = numbers.into_iter().collect();
        let missing = |said: &Said| {
            let seen: std::collections::BTreeSet<u64> = said.hits.iter().filter_map(Hit::number).collect();
            numbers.iter().filter(|number| !seen.contains(number)).copied().collect::<Vec<_>>()
        };
        // Counting first: the sets are made only when they can be equal.
        let enough = numbers.len();
        let start = Instant::now();
        while start.elapsed() < DEADLINE {
            let shared = Arc::clone(&self.shared);
            let said = shared.said.lock().unwrap();
            if said.hits.len() >= enough && missing(&said).is_empty() {
                return;
            }
            if self.child.try_wait().unwrap().is_some() && self.readers.iter().all(JoinHandle::is_finished) {
                break;
            }
            drop(shared.news.wait_timeout(said, Duration::from_millis(20)).unwrap());
        }
        let said = self.shared.said.lock().unwrap();
        let missing = missing(&said);
        panic!("{} of {enough} lines are not reported, the first {:?}\n{}", missing.len(), &missing[..missing.len().min(10)], tell(&said));
    }

    /// How many hits there are by now.
    pub(super) fn hits(&self) -> usize {
        self.shared.said.lock().unwrap().hits.len()
    }

    /// How many lines for people there are by now.
    pub(super) fn lines(&self) -> usize {
        self.shared.said.lock().unwrap().other.len()
    }

    /// What standard error holds by now.
    pub(super) fn notices(&self) -> String {
        self.shared.said.lock().unwrap().notices.clone()
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Stops it where it stands, and comes back when it does stand.
    pub(super) fn stall(&self) {
        self.signal(Signal::STOP);
        self.until_process("it stands", |follower| follower.process_state() == 'T');
    }

    pub(super) fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// Waits for something to be seen in the process from outside.
    pub(super) fn until_process(&self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while !done(self) {
            let is_there = start.elapsed() < DEADLINE && self.process_state() != 'Z';
            assert!(is_there, "{what}: it does not come\n{}", tell(&self.shared.said.lock().unwrap()));
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The letter of `ps`: `T` stands still, `S` waits, `Z` has ended.
    pub(super) fn process_state(&self) -> char {
        self.stat()[0].chars().next().unwrap()
    }

    /// Processor time that its threads have taken, in nanoseconds: a fast machine does much within one tick of `stat`.
    pub(super) fn processor_time(&self) -> u64 {
        let tasks = std::fs::read_dir(self.proc("task")).unwrap();
        let times = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok());
        times.map(|time| time.split_whitespace().next().unwrap().parse::<u64>().unwrap()).sum()
    }

    /// The fields of `/proc/PID/stat` behind the name.
    fn stat(&self) -> Vec<String> {
        let stat = std::fs::read_to_string(self.proc("stat")).unwrap();
        stat.rsplit(')').next().unwrap().split_whitespace().map(str::to_owned).collect()
    }

    /// Kilobytes of a kind of memory: `VmRSS`, `VmHWM`.
    pub(super) fn memory(&self, kind: &str) -> u64 {
        let status = std::fs::read_to_string(self.proc("status")).unwrap();
        let line = status.lines().find(|line| line.starts_with(kind)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// What its descriptors lead to.
    pub(super) fn descriptors(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.proc("fd")).unwrap();
        entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok()).collect()
    }

    fn proc(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.pid().as_raw_nonzero()))
    }

    /// Sends a signal and waits for the end.
    pub(super) fn end_with(self, signal: Signal) -> Ended {
        self.signal(signal);
        self.ended()
    }

    /// Ends it as a service manager does, and gives what it said.
    pub(super) fn end(self) -> Said {
        let ended = self.end_with(Signal::TERM);
        assert_eq!(ended.code(), 143, "{}", ended.said.notices);
        ended.said
    }

    /// Ends it as a power cut does.
    pub(super) fn kill(self) -> Said {
        self.end_with(Signal::KILL).said
    }

    /// Waits for it to end by itself.
    pub(super) fn ended(mut self) -> Ended {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < DEADLINE, "it does not end\n{}", tell(&self.shared.said.lock().unwrap()));
            thread::sleep(Duration::from_millis(2));
        };
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        let said = std::mem::take(&mut *self.shared.said.lock().unwrap());
        assert!(!said.notices.contains("panicked"), "{}", said.notices);
        Ended { status, said }
    }
}

impl Ended {
    /// The exit code; a signal that ended it is a failure.
    pub(super) fn code(&self) -> i32 {
        assert_eq!(self.status.signal(), None, "killed by a signal: {}", self.said.notices);
        self.status.code().unwrap()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Shared {
    fn tell(&self, news: impl FnOnce(&mut Said)) {
        news(&mut self.said.lock().unwrap());
        self.news.notify_all();
    }
}

/// Gives each line with its newline; what is at the end without one as well.
fn lines(stream: impl Read, mut each: impl FnMut(String)) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while stream.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        each(String::from_utf8(std::mem::take(&mut line)).expect("output is UTF-8"));
    }
}

/// What was said, short enough to be read.
fn tell(said: &Said) -> String {
    let last: Vec<_> = said.hits.iter().rev().take(3).map(|hit| hit.0.to_string()).collect();
    format!("{} hits, the last {last:#?}\nother: {:#?}\nstderr: {}", said.hits.len(), said.other, said.notices)
}

#[test]
fn the_harness_reads_output_and_exit_code() {
    let harness = Harness::new();
    let script = r#"echo '{"id":"1:0","target":"/.git/config?n=0000007"}'; echo note >&2; echo for people; read line < go; exit 5"#;
    assert!(Command::new("mkfifo").arg(harness.path("go")).status().unwrap().success());
    let mut follower = Follower::start(&mut harness.shell(script));
    follower.until_seen([7]);
    follower.until("a note", |said| said.notices == "note\n" && said.other == ["for people\n"]);
    follower.stall();
    follower.go_on();
    std::fs::write(harness.path("go"), "\n").unwrap();
    let ended = follower.ended();
    assert_eq!((ended.code(), ended.said.hits.len()), (5, 1));
}
