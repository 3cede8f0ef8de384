//! A running `follow` whose output is read while it runs, so that a test can wait for it.
//!
//! Nothing waits for a fixed time: tests wait for a condition, and on a timeout fail with all
//! output.

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

/// The timeout on a busy host.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// The two ways to detect changes: inotify and polling.
pub(super) const MODES: [&[&str]; 2] = [&[], &["--poll", "--poll-interval", "100ms"]];

/// The output so far.
#[derive(Debug, Default)]
pub(super) struct FollowerOutput {
    /// The hits on standard output, in order.
    pub(super) hits: Vec<Hit>,
    /// Lines on standard output that are not hits: lines for people, or a partial line at the end.
    pub(super) other: Vec<String>,
    /// Standard error.
    pub(super) notices: String,
}

/// What the reader threads send to the test.
#[derive(Debug, Default)]
struct OutputChannel {
    output: Mutex<FollowerOutput>,
    news: Condvar,
}

/// A follower that is killed when the test ends.
pub(super) struct Follower {
    child: Child,
    shared: Arc<OutputChannel>,
    stdout: Option<ChildStdout>,
    readers: Vec<JoinHandle<()>>,
}

/// The output and exit status of a follower.
pub(super) struct FollowerResult {
    pub(super) status: ExitStatus,
    pub(super) output: FollowerOutput,
}

/// `follow -f ndjson --from-start` with only the rule that the numbered lines match, for a fast
/// start.
pub(super) fn command(harness: &Harness, args: &[&str]) -> Command {
    harness.command(FOLLOW.iter().chain(args))
}

/// The arguments of [`command`] before those of the test.
pub(super) const FOLLOW: [&str; 6] = [
    "follow",
    "-f",
    "ndjson",
    "--from-start",
    "--only",
    "vcs/git",
];

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

    /// With another standard output.
    pub(super) fn start_to(command: &mut Command, stdout: Stdio) -> Self {
        let mut child = command
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let shared = Arc::new(OutputChannel::default());
        let stderr = child.stderr.take().unwrap();
        let sender = Arc::clone(&shared);
        let reader = thread::spawn(move || {
            lines(stderr, |line| {
                sender.describe(|output| output.notices += &line);
            });
        });
        Self {
            stdout: child.stdout.take(),
            child,
            shared,
            readers: vec![reader],
        }
    }

    /// Starts reading standard output.
    pub(super) fn read(&mut self) {
        let (stdout, sender) = (self.stdout.take().unwrap(), Arc::clone(&self.shared));
        self.readers.push(thread::spawn(move || {
            lines(stdout, |line| {
                sender.describe(|output| {
                    match line
                        .strip_suffix('\n')
                        .and_then(|line| serde_json::from_str::<Value>(line).ok())
                    {
                        Some(hit) => output.hits.push(Hit(hit)),
                        None => output.other.push(line),
                    }
                });
            });
        }));
    }

    /// Closes standard output, as a reader that ends.
    pub(super) fn hang_up(&mut self) {
        drop(self.stdout.take().unwrap());
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits until a condition on the output holds.
    pub(super) fn until(&mut self, what: &str, done: impl Fn(&FollowerOutput) -> bool) {
        let start = Instant::now();
        let shared = Arc::clone(&self.shared);
        let mut output = shared.output.lock().unwrap();
        while !done(&output) {
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none() || !self.readers.iter().all(JoinHandle::is_finished),
                "{what}: it ended: {ended:?}\n{}",
                describe(&output)
            );
            assert!(
                start.elapsed() < DEADLINE,
                "{what}: it does not come\n{}",
                describe(&output)
            );
            output = shared
                .news
                .wait_timeout(output, Duration::from_millis(50))
                .unwrap()
                .0;
        }
    }

    /// Waits until the line with each of these numbers was reported.
    pub(super) fn until_seen(&mut self, numbers: impl IntoIterator<Item = u64>) {
        let numbers: Vec<u64> = numbers.into_iter().collect();
        let missing = |output: &FollowerOutput| {
            let seen: std::collections::BTreeSet<u64> =
                output.hits.iter().filter_map(Hit::number).collect();
            numbers
                .iter()
                .filter(|number| !seen.contains(number))
                .copied()
                .collect::<Vec<_>>()
        };
        // Compares counts first: the sets are built only if they can be equal.
        let enough = numbers.len();
        let start = Instant::now();
        while start.elapsed() < DEADLINE {
            let shared = Arc::clone(&self.shared);
            let output = shared.output.lock().unwrap();
            if output.hits.len() >= enough && missing(&output).is_empty() {
                return;
            }
            if self.child.try_wait().unwrap().is_some()
                && self.readers.iter().all(JoinHandle::is_finished)
            {
                break;
            }
            drop(
                shared
                    .news
                    .wait_timeout(output, Duration::from_millis(20))
                    .unwrap(),
            );
        }
        let output = self.shared.output.lock().unwrap();
        let missing = missing(&output);
        panic!(
            "{} of {enough} lines are not reported, the first {:?}\n{}",
            missing.len(),
            &missing[..missing.len().min(10)],
            describe(&output)
        );
    }

    /// The number of hits so far.
    pub(super) fn hits(&self) -> usize {
        self.shared.output.lock().unwrap().hits.len()
    }

    /// The number of lines for people so far.
    pub(super) fn lines(&self) -> usize {
        self.shared.output.lock().unwrap().other.len()
    }

    /// Standard error so far.
    pub(super) fn notices(&self) -> String {
        self.shared.output.lock().unwrap().notices.clone()
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Stops the process, and returns when it is stopped.
    pub(super) fn stall(&self) {
        self.signal(Signal::STOP);
        self.until_process("it stands", |follower| follower.process_state() == 'T');
    }

    pub(super) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Waits for a condition on the process.
    pub(super) fn until_process(&self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while !done(self) {
            let is_there = start.elapsed() < DEADLINE && self.process_state() != 'Z';
            assert!(
                is_there,
                "{what}: it does not come\n{}",
                describe(&self.shared.output.lock().unwrap())
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The state letter of `ps`: `T` stopped, `S` sleeping, `Z` ended.
    pub(super) fn process_state(&self) -> char {
        self.stat()[0].chars().next().unwrap()
    }

    /// CPU time of its threads in nanoseconds, because `stat` counts in ticks that are too long.
    pub(super) fn processor_time(&self) -> u64 {
        let tasks = std::fs::read_dir(self.proc("task")).unwrap();
        let times = tasks
            .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok());
        times
            .map(|time| {
                time.split_whitespace()
                    .next()
                    .unwrap()
                    .parse::<u64>()
                    .unwrap()
            })
            .sum()
    }

    /// The fields of `/proc/PID/stat` after the name.
    fn stat(&self) -> Vec<String> {
        let stat = std::fs::read_to_string(self.proc("stat")).unwrap();
        stat.rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    }

    /// Kilobytes of a kind of memory: `VmRSS`, `VmHWM`.
    pub(super) fn memory(&self, kind: &str) -> u64 {
        let status = std::fs::read_to_string(self.proc("status")).unwrap();
        let line = status.lines().find(|line| line.starts_with(kind)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// The targets of its descriptors.
    pub(super) fn descriptors(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.proc("fd")).unwrap();
        entries
            .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
            .collect()
    }

    fn proc(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.pid().as_raw_nonzero()))
    }

    /// Sends a signal and waits for the end.
    pub(super) fn end_with(self, signal: Signal) -> FollowerResult {
        self.signal(signal);
        self.ended()
    }

    /// Stops it as a service manager does, and returns its output.
    pub(super) fn end(self) -> FollowerOutput {
        let ended = self.end_with(Signal::TERM);
        assert_eq!(ended.code(), 143, "{}", ended.output.notices);
        ended.output
    }

    /// Kills it.
    pub(super) fn kill(self) -> FollowerOutput {
        self.end_with(Signal::KILL).output
    }

    /// Waits for its end.
    pub(super) fn ended(mut self) -> FollowerResult {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                start.elapsed() < DEADLINE,
                "it does not end\n{}",
                describe(&self.shared.output.lock().unwrap())
            );
            thread::sleep(Duration::from_millis(2));
        };
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        let output = std::mem::take(&mut *self.shared.output.lock().unwrap());
        assert!(!output.notices.contains("panicked"), "{}", output.notices);
        FollowerResult { status, output }
    }
}

impl FollowerResult {
    /// The exit code; fails if a signal ended it.
    pub(super) fn code(&self) -> i32 {
        assert_eq!(
            self.status.signal(),
            None,
            "killed by a signal: {}",
            self.output.notices
        );
        self.status.code().unwrap()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl OutputChannel {
    fn describe(&self, news: impl FnOnce(&mut FollowerOutput)) {
        news(&mut self.output.lock().unwrap());
        self.news.notify_all();
    }
}

/// Reads lines with their newlines; the last one may have none.
fn lines(stream: impl Read, mut each: impl FnMut(String)) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while stream
        .read_until(b'\n', &mut line)
        .is_ok_and(|read| read > 0)
    {
        each(String::from_utf8(std::mem::take(&mut line)).expect("output is UTF-8"));
    }
}

/// The output, shortened for messages.
fn describe(output: &FollowerOutput) -> String {
    let last: Vec<_> = output
        .hits
        .iter()
        .rev()
        .take(3)
        .map(|hit| hit.0.to_string())
        .collect();
    format!(
        "{} hits, the last {last:#?}\nother: {:#?}\nstderr: {}",
        output.hits.len(),
        output.other,
        output.notices
    )
}

#[test]
fn the_harness_reads_output_and_exit_code() {
    let harness = Harness::new();
    let script = r#"echo '{"id":"1:0","target":"/.git/config?n=0000007"}'; echo note >&2; echo for people; read line < go; exit 5"#;
    assert!(
        Command::new("mkfifo")
            .arg(harness.path("go"))
            .status()
            .unwrap()
            .success()
    );
    let mut follower = Follower::start(&mut harness.shell(script));
    follower.until_seen([7]);
    follower.until("a note", |output| {
        output.notices == "note\n" && output.other == ["for people\n"]
    });
    follower.stall();
    follower.resume();
    std::fs::write(harness.path("go"), "\n").unwrap();
    let ended = follower.ended();
    assert_eq!((ended.code(), ended.output.hits.len()), (5, 1));
}
