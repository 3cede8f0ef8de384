//! `--exec`: one program that runs as long as probewatch does and gets every alert as a line of
//! JSON on its standard input.
//!
//! Writes to the pipe never block. A program that ends is restarted: after one second at first,
//! after twice as long each time it runs for less than a minute, and after a minute at most. A line
//! counts as delivered when the program has read all of its bytes. What is left in the pipe when
//! the program ends is sent to the next one, from the start of its line. No shell is involved and
//! no arguments are passed. The standard output of the program is discarded, as that of probewatch
//! is for hits.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use super::AlertSinkError;
use super::queue::AlertQueue;
use crate::os::system::{OpenFileLimit, errno_message};

/// How long a program may take to read the remaining lines, and again to end after its standard
/// input is closed.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a program may take to end after SIGTERM.
const TERM_TIMEOUT: Duration = Duration::from_millis(500);

/// How often to check whether a program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The program, and the lines that it has not read yet.
#[derive(Debug)]
pub(super) struct ExecSink {
    program: PathBuf,
    child_settings: ChildSettings,
    queue: AlertQueue,
    /// Number of lines at the front of the queue that are written completely.
    written_lines: usize,
    /// Bytes written of the next line.
    partial_bytes: usize,
    /// Bytes written since the start of the first line in the queue.
    bytes_in_pipe: usize,
    state: ChildState,
    backoff: RestartBackoff,
    stop_timeout: Duration,
}

/// How the program is started.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChildSettings {
    /// Discards its standard error, as during the live view. Otherwise it is inherited.
    pub(crate) silent: bool,
    /// The limit of open files that it gets back.
    pub(crate) open_file_limit: Option<OpenFileLimit>,
}

#[derive(Debug)]
enum ChildState {
    Running {
        child: Child,
        stdin: ChildStdin,
    },
    /// Its standard input is closed, but it has not ended. `next` is sent at `at`.
    Stopping {
        child: Child,
        next: Signal,
        at: Instant,
    },
    /// Ended, or could not be started. It is started again at `until`.
    Waiting {
        until: Instant,
    },
}

impl ExecSink {
    pub(super) fn start(
        program: PathBuf,
        child_settings: ChildSettings,
        now: Instant,
    ) -> Result<Self, AlertSinkError> {
        Self::with_backoff(
            program,
            child_settings,
            RestartBackoff::default(),
            STOP_TIMEOUT,
            now,
        )
    }

    fn with_backoff(
        program: PathBuf,
        child_settings: ChildSettings,
        mut backoff: RestartBackoff,
        stop_timeout: Duration,
        now: Instant,
    ) -> Result<Self, AlertSinkError> {
        match spawn(&program, child_settings) {
            Ok(state) => {
                backoff.child_started(now);
                let queue = AlertQueue::new(format!("--exec {}", program.display()));
                Ok(Self {
                    program,
                    child_settings,
                    queue,
                    written_lines: 0,
                    partial_bytes: 0,
                    bytes_in_pipe: 0,
                    state,
                    backoff,
                    stop_timeout,
                })
            }
            Err(error) => Err(AlertSinkError::Exec { program, error }),
        }
    }

    pub(super) fn send_alert(&mut self, line: &[u8]) {
        self.queue.push(line);
        self.write_pending(Instant::now());
    }

    pub(super) fn poll(&mut self, now: Instant, notices: &mut Vec<String>) {
        self.check_child(now);
        self.write_pending(now);
        self.queue.collect(now, notices);
    }

    /// Checks whether the program ended, and whether to start it or to send it a signal.
    fn check_child(&mut self, now: Instant) {
        match &mut self.state {
            ChildState::Running { child, .. } => {
                if let Some(status) = exit_status(child) {
                    self.requeue_unread();
                    self.schedule_restart(&status, now);
                }
            }
            ChildState::Stopping { child, next, at } => {
                if let Some(status) = exit_status(child) {
                    self.schedule_restart(&status, now);
                } else if now >= *at {
                    signal(child, *next);
                    (*next, *at) = (Signal::KILL, now + self.stop_timeout);
                }
            }
            ChildState::Waiting { until } if now >= *until => self.restart(now),
            ChildState::Waiting { .. } => {}
        }
    }

    fn restart(&mut self, now: Instant) {
        self.backoff.child_started(now);
        match spawn(&self.program, self.child_settings) {
            Ok(state) => self.state = state,
            Err(error) => {
                let until = self.backoff.child_ended(now);
                self.state = ChildState::Waiting { until };
                self.push_notice(
                    &format!("cannot be started ({}); retrying", errno_message(&error)),
                    until,
                    now,
                );
            }
        }
    }

    /// Handles the end of the program.
    fn schedule_restart(&mut self, status: &str, now: Instant) {
        let until = self.backoff.child_ended(now);
        self.state = ChildState::Waiting { until };
        self.push_notice(
            &format!("the program ended ({status}); restarting"),
            until,
            now,
        );
    }

    fn push_notice(&mut self, text: &str, until: Instant, now: Instant) {
        let seconds = until.saturating_duration_since(now).as_secs_f64().ceil();
        self.queue.notice(&format!("{text} in {seconds} s"));
    }

    /// Writes as much as the pipe takes.
    fn write_pending(&mut self, now: Instant) {
        let ChildState::Running { stdin, .. } = &self.state else {
            return;
        };
        let broken = loop {
            let Some(line) = self.queue.get(self.written_lines) else {
                break false;
            };
            match rustix::io::write(stdin, &line[self.partial_bytes..]) {
                Ok(written) => {
                    self.partial_bytes += written;
                    self.bytes_in_pipe += written;
                    if self.partial_bytes == line.len() {
                        (self.written_lines, self.partial_bytes) = (self.written_lines + 1, 0);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break false,
                Err(_) => break true,
            }
        };
        // It may have closed its input after a write.
        let broken = broken || self.bytes_in_pipe > 0 && has_no_reader(stdin);
        self.remove_read_lines();
        if broken {
            self.requeue_unread();
            self.close_stdin(now);
        }
    }

    /// Removes the lines from the queue that the program has read.
    fn remove_read_lines(&mut self) {
        let ChildState::Running { stdin, .. } = &self.state else {
            return;
        };
        // Linux keeps unread bytes as long as the write end is open, even without a reader.
        let Ok(unread) = rustix::io::ioctl_fionread(stdin) else {
            return;
        };
        while self.written_lines > 0
            && let Some(length) = self.queue.get(0).map(<[u8]>::len)
            && self.bytes_in_pipe.saturating_sub(unread as usize) >= length
        {
            self.queue.pop();
            self.written_lines -= 1;
            self.bytes_in_pipe -= length;
        }
    }

    /// The program ended: what it did not read is sent to the next one.
    fn requeue_unread(&mut self) {
        self.remove_read_lines();
        (self.written_lines, self.partial_bytes, self.bytes_in_pipe) = (0, 0, 0);
    }

    /// Closes the program's standard input and gives it time to end.
    fn close_stdin(&mut self, now: Instant) {
        let resting = ChildState::Waiting { until: now };
        self.state = match std::mem::replace(&mut self.state, resting) {
            ChildState::Running { child, stdin } => {
                drop(stdin);
                ChildState::Stopping {
                    child,
                    next: Signal::TERM,
                    at: now + self.stop_timeout,
                }
            }
            other => other,
        };
    }

    /// Writes the remaining lines, closes the standard input and waits for the end: up to two
    /// seconds each. Then sends SIGTERM.
    pub(super) fn finish(mut self, notices: &mut Vec<String>) {
        if matches!(self.state, ChildState::Waiting { .. }) && !self.queue.is_empty() {
            self.restart(Instant::now());
        }
        self.drain(Instant::now() + self.stop_timeout);
        self.close_stdin(Instant::now());
        if let ChildState::Stopping { child, .. } = &mut self.state {
            if wait_for_exit(child, Instant::now() + self.stop_timeout) {
                // It read all of its input, or chose to end before.
                (0..self.written_lines).for_each(|_| self.queue.pop());
            } else {
                self.queue
                    .notice("the program did not end and was sent SIGTERM");
                signal(child, Signal::TERM);
                wait_for_exit(child, Instant::now() + TERM_TIMEOUT);
            }
        }
        self.queue.finish(notices);
    }

    /// Waits while lines remain that do not fit into the pipe or are not read: a program may end
    /// with unread input.
    fn drain(&mut self, deadline: Instant) {
        loop {
            let now = Instant::now();
            self.write_pending(now);
            if let ChildState::Running { child, .. } = &mut self.state
                && exit_status(child).is_some()
            {
                self.requeue_unread();
                self.state = ChildState::Waiting { until: now };
            }
            let ChildState::Running { stdin, .. } = &self.state else {
                return;
            };
            if self.queue.is_empty() || now >= deadline {
                return;
            }
            if self.written_lines < self.queue.len() {
                wait_until_writable(stdin, POLL_INTERVAL);
            } else {
                thread::sleep(POLL_INTERVAL);
            }
        }
    }
}

/// Starts the program in its own process group, so that Ctrl-C does not end it before the last
/// lines are written.
fn spawn(program: &Path, settings: ChildSettings) -> io::Result<ChildState> {
    let mut command = Command::new(program);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .process_group(0);
    command.stderr(if settings.silent {
        Stdio::null()
    } else {
        Stdio::inherit()
    });
    for ours in [
        "NOTIFY_SOCKET",
        "WATCHDOG_USEC",
        "WATCHDOG_PID",
        "LISTEN_FDS",
        "LISTEN_PID",
        "LISTEN_FDNAMES",
    ] {
        // These variables are for probewatch only.
        command.env_remove(ours);
    }
    let mut child = command.spawn()?;
    if let Some(limit) = settings.open_file_limit {
        limit.restore_in(Pid::from_child(&child));
    }
    let stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    rustix::fs::fcntl_setfl(&stdin, OFlags::NONBLOCK)?;
    Ok(ChildState::Running { child, stdin })
}

/// Signals the program and its children. The program has not been waited for, so its process ID
/// cannot have been reused.
fn signal(child: &Child, signal: Signal) {
    // It may have ended already.
    let _ = kill_process_group(Pid::from_child(child), signal);
}

fn wait_until_writable(stdin: &ChildStdin, timeout: Duration) {
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // An error shows in the next write.
    let _ = poll(&mut [PollFd::new(stdin, PollFlags::OUT)], Some(&timeout));
}

/// Whether the read end of a pipe is closed, so that what is in it will never be read.
fn has_no_reader(stdin: &ChildStdin) -> bool {
    let mut pipe = [PollFd::new(stdin, PollFlags::empty())];
    poll(&mut pipe, Some(&Timespec::default())).is_ok()
        && pipe[0].revents().contains(PollFlags::ERR)
}

/// The exit status of the program, if it has ended.
fn exit_status(child: &mut Child) -> Option<String> {
    match child.try_wait() {
        Ok(None) => None,
        Ok(Some(status)) => Some(status.to_string()),
        // If a parent process made the system reap children itself, the exit status is lost.
        Err(error) => Some(errno_message(&error)),
    }
}

fn wait_for_exit(child: &mut Child, deadline: Instant) -> bool {
    while exit_status(child).is_none() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(POLL_INTERVAL);
    }
    true
}

/// The delay before a restart: it doubles each time the program ends early. Reads no clock: the
/// time is passed in.
#[derive(Debug)]
struct RestartBackoff {
    /// The first delay.
    first: Duration,
    /// The longest delay. A program that runs this long resets the delay.
    max: Duration,
    next: Duration,
    started: Option<Instant>,
}

impl Default for RestartBackoff {
    /// One second at first, one minute at most.
    fn default() -> Self {
        Self::new(Duration::from_secs(1), Duration::from_secs(60))
    }
}

impl RestartBackoff {
    fn new(first: Duration, max: Duration) -> Self {
        Self {
            first,
            max,
            next: first,
            started: None,
        }
    }

    /// Records a start.
    fn child_started(&mut self, now: Instant) {
        self.started = Some(now);
    }

    /// Records the end of the program. Returns when to restart it.
    fn child_ended(&mut self, now: Instant) -> Instant {
        if self
            .started
            .is_some_and(|started| now.saturating_duration_since(started) >= self.max)
        {
            self.next = self.first;
        }
        let pause = self.next;
        self.next = (pause * 2).min(self.max);
        now + pause
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use crate::alert_sinks::exec::*;

    const SILENT: ChildSettings = ChildSettings {
        silent: true,
        open_file_limit: None,
    };

    /// The timeout of a test that hangs.
    const DEADLINE: Duration = Duration::from_secs(60);

    /// A program in its own folder, which is also its working folder.
    struct Program {
        folder: TempDir,
    }

    impl Program {
        fn new(script: &str) -> Self {
            let program = Self {
                folder: tempfile::tempdir().unwrap(),
            };
            program.write(script);
            program
        }

        /// Another process writes the script: while this process has it open for writing, a child
        /// of another test may inherit the descriptor, and then the script cannot be executed.
        fn write(&self, script: &str) {
            let script = format!(
                "#!/bin/sh\ncd '{}'\n{script}\n",
                self.folder.path().display()
            );
            let written = Command::new("sh")
                .args(["-c", "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\""])
                .arg(self.path())
                .arg(script)
                .status();
            assert!(written.unwrap().success());
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("program")
        }

        fn start(&self) -> ExecSink {
            self.start_with_timeout(DEADLINE)
        }

        fn start_with_timeout(&self, stop_timeout: Duration) -> ExecSink {
            let backoff = RestartBackoff::new(Duration::from_millis(1), Duration::from_millis(20));
            ExecSink::with_backoff(self.path(), SILENT, backoff, stop_timeout, Instant::now())
                .unwrap()
        }

        fn left(&self, name: &str) -> String {
            fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
        }
    }

    /// Polls until a condition holds. Returns the notices.
    fn poll_until(exec: &mut ExecSink, mut done: impl FnMut(&ExecSink) -> bool) -> Vec<String> {
        let (mut notices, deadline) = (Vec::new(), Instant::now() + DEADLINE);
        while !done(exec) {
            assert!(Instant::now() < deadline, "{exec:?} {notices:?}");
            exec.poll(Instant::now(), &mut notices);
            thread::sleep(Duration::from_millis(1));
        }
        notices
    }

    fn lines(count: usize) -> String {
        (0..count).fold(String::new(), |lines, n| {
            lines + &format!("{{\"alert\":{n}}}\n")
        })
    }

    fn send_all(exec: &mut ExecSink, lines: &str) {
        lines
            .split_inclusive('\n')
            .for_each(|line| exec.send_alert(line.as_bytes()));
    }

    #[test]
    fn the_program_gets_every_line_in_order() {
        let program = Program::new("echo \"$#\" > arguments; echo unseen; cat > out");
        let mut exec = program.start();
        send_all(&mut exec, &lines(900));
        let mut notices = Vec::new();
        exec.finish(&mut notices);
        assert_eq!(
            (notices, program.left("out"), program.left("arguments")),
            (vec![], lines(900), "0\n".into())
        );
    }

    #[test]
    fn a_program_that_ends_after_each_line_gets_all_of_them() {
        let program = Program::new("read -r line && printf '%s\\n' \"$line\" >> out");
        let mut exec = program.start();
        send_all(&mut exec, &lines(20));
        let notices = poll_until(&mut exec, |_| program.left("out").lines().count() >= 20);
        assert_eq!(
            program.left("out"),
            lines(20),
            "what was in the pipe when it ended was not lost, and nothing came twice"
        );
        let expected = format!(
            "--exec {}: the program ended (exit status: 0); restarting in 1 s",
            program.path().display()
        );
        assert!(
            notices.len() >= 19 && notices.iter().all(|notice| *notice == expected),
            "{notices:?}"
        );
    }

    #[test]
    fn a_partly_read_line_is_sent_again() {
        let program = Program::new(
            "if [ -e first ]; then exec cat >> out; fi; dd bs=1 count=5 of=first 2> /dev/null; exit 3",
        );
        let mut exec = program.start();
        // More than fits into the pipe.
        let long = format!("{{\"alert\":\"{}\"}}\n", "x".repeat(200_000));
        let all = [&lines(1), &long, &lines(2)].map(String::as_str).concat();
        send_all(&mut exec, &all);
        let notices = poll_until(&mut exec, |_| program.left("out").len() >= all.len());
        assert_eq!(
            (program.left("first").as_str(), program.left("out")),
            ("{\"ale", all)
        );
        assert!(notices[0].contains("ended (exit status: 3)"), "{notices:?}");
    }

    #[test]
    fn a_program_that_never_reads_delays_nothing() {
        let program = Program::new("echo $$ > number; exec sleep 600");
        let mut exec = program.start_with_timeout(Duration::from_millis(50));
        let line = format!("{}\n", "x".repeat(199));
        for _ in 0..5_000 {
            exec.send_alert(line.as_bytes());
        }
        poll_until(&mut exec, |_| program.left("number").ends_with('\n'));
        exec.poll(Instant::now(), &mut Vec::new());
        let mut notices = Vec::new();
        exec.finish(&mut notices);
        let prefix = format!("--exec {}", program.path().display());
        assert_eq!(
            notices,
            [
                format!("{prefix}: the program did not end and was sent SIGTERM"),
                format!("{prefix}: 1000 alerts were not delivered")
            ]
        );
        let stat = format!("/proc/{}/stat", program.left("number").trim());
        let deadline = Instant::now() + DEADLINE;
        while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(Instant::now() < deadline, "it lives");
            thread::sleep(POLL_INTERVAL);
        }
    }

    #[test]
    fn dropped_alerts_are_reported() {
        let program = Program::new("exec sleep 600");
        let mut exec = program.start_with_timeout(Duration::ZERO);
        send_all(&mut exec, &lines(1_234));
        let mut notices = Vec::new();
        exec.poll(Instant::now(), &mut notices);
        assert_eq!(
            notices,
            [format!(
                "--exec {}: 234 alerts were dropped, as the queue is full",
                program.path().display()
            )]
        );
        exec.finish(&mut notices);
    }

    #[test]
    fn a_program_that_closes_its_input_is_restarted() {
        let program = Program::new(
            "if [ -e first ]; then exec cat >> out; fi; exec < /dev/null; touch first; exec sleep 600",
        );
        let mut exec = program.start_with_timeout(Duration::from_millis(20));
        poll_until(&mut exec, |_| program.folder.path().join("first").exists());
        send_all(&mut exec, &lines(3));
        let notices = poll_until(&mut exec, |_| program.left("out") == lines(3));
        assert!(
            notices[0].contains("ended (signal: 15 (SIGTERM))"),
            "{notices:?}"
        );
    }

    #[test]
    fn lines_go_to_the_next_program_if_their_reader_closes_the_pipe() {
        let wait = "until [ -e sent ]; do sleep 0.01; done";
        let program = Program::new(&format!(
            "if [ -e first ]; then exec cat >> out; fi; exec 3<&0 < /dev/null; touch first; {wait}; exec 3<&-; exec sleep 600"
        ));
        let mut exec = program.start_with_timeout(Duration::from_millis(20));
        poll_until(&mut exec, |_| program.folder.path().join("first").exists());
        send_all(&mut exec, &lines(3));
        poll_until(&mut exec, |exec| exec.written_lines == 3);
        fs::write(program.folder.path().join("sent"), "").unwrap();
        poll_until(&mut exec, |_| program.left("out") == lines(3));
    }

    #[test]
    fn a_deleted_program_is_retried() {
        let program = Program::new("rm program; exit 1");
        let mut exec = program.start();
        let has_notice =
            |notices: &[String], what: &str| notices.iter().any(|notice| notice.contains(what));
        let (mut notices, deadline) = (Vec::new(), Instant::now() + DEADLINE);
        while !has_notice(
            &notices,
            "cannot be started (no such file or directory); retrying in 1 s",
        ) {
            assert!(Instant::now() < deadline, "{notices:?}");
            exec.poll(Instant::now(), &mut notices);
        }
        send_all(&mut exec, &lines(3));
        program.write("cat >> out");
        poll_until(&mut exec, |_| program.left("out") == lines(3));
    }

    #[test]
    fn a_slow_program_is_given_time_at_the_end() {
        let program = Program::new(
            "while read -r line; do sleep 0.02; printf '%s\\n' \"$line\" >> out; done",
        );
        let mut exec = program.start();
        send_all(&mut exec, &lines(10));
        let mut notices = Vec::new();
        exec.finish(&mut notices);
        assert_eq!((program.left("out"), notices), (lines(10), vec![]));
    }

    #[test]
    fn a_stopped_program_is_started_for_the_last_lines() {
        let program = Program::new("read -r line && printf '%s\\n' \"$line\" >> out");
        let mut exec = program.start();
        exec.backoff = RestartBackoff::new(DEADLINE * 100, DEADLINE * 100);
        send_all(&mut exec, &lines(1));
        poll_until(&mut exec, |exec| {
            matches!(exec.state, ChildState::Waiting { .. })
        });
        send_all(&mut exec, &lines(3));
        let mut notices = Vec::new();
        exec.finish(&mut notices);
        assert_eq!(program.left("out"), [lines(1), lines(1)].concat());
        assert_eq!(
            notices,
            [format!(
                "--exec {}: 2 alerts were not delivered",
                program.path().display()
            )]
        );
    }

    #[test]
    fn a_program_that_cannot_be_started_is_an_error() {
        let program = Program::new("");
        let refusal = |program: PathBuf| {
            ExecSink::start(
                program,
                ChildSettings {
                    silent: false,
                    ..SILENT
                },
                Instant::now(),
            )
            .unwrap_err()
            .to_string()
        };
        let advice = "--exec takes the path of a program, or a name in PATH, and no arguments: put those in a script";
        let missing = program.folder.path().join("missing");
        assert_eq!(
            refusal(missing.clone()),
            format!(
                "cannot start {}: no such file or directory; {advice}",
                missing.display()
            )
        );
        let folder = program.folder.path().to_owned();
        assert_eq!(
            refusal(folder.clone()),
            format!(
                "cannot start {}: permission denied; {advice}",
                folder.display()
            )
        );
        assert!(
            refusal("cat /dev/null".into()).contains("no arguments"),
            "nothing is taken for a shell's command"
        );
        let mut notices = Vec::new();
        ExecSink::start("cat".into(), SILENT, Instant::now())
            .unwrap()
            .finish(&mut notices);
        assert_eq!(notices, [""; 0]);
    }

    #[test]
    fn the_delay_doubles_to_a_minute_and_is_reset() {
        let (mut backoff, mut now, mut pauses) =
            (RestartBackoff::default(), Instant::now(), Vec::new());
        for lived in [0, 1, 0, 0, 0, 0, 5, 60, 0] {
            backoff.child_started(now);
            now += Duration::from_secs(lived);
            let again = backoff.child_ended(now);
            pauses.push((again - now).as_secs());
            now = again;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 1, 2]);
    }
}
