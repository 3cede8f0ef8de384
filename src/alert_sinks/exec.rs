//! `--exec`: one program that runs as long as probewatch does and gets every alert as a line of JSON on its standard input.
//!
//! Writes to the pipe never block. A program that ends is restarted: after one second at first, after twice as long each
//! time it does not live for a minute, and after a minute at most. A line counts as delivered when the program has read all
//! of its bytes. What is left in the pipe when the program ends goes to the next one, from the start of its line. No shell
//! is involved and no arguments are passed. The standard output of the program is discarded, as that of probewatch is for
//! hits.

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
use super::queue::{AlertQueue, FailureNotifier};
use crate::system::errno_message;

/// How long a program may take to read the remaining lines, and again to end after its standard input is closed.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a program may take to end after SIGTERM.
const TERM_TIMEOUT: Duration = Duration::from_millis(500);

/// How often to check whether a program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The program, and the lines that it has not read yet.
#[derive(Debug)]
pub(super) struct ExecSink {
    program: PathBuf,
    silent: bool,
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
    failures: FailureNotifier,
    notices: Vec<String>,
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
    pub(super) fn start(program: PathBuf, silent: bool, now: Instant) -> Result<Self, AlertSinkError> {
        Self::with_backoff(program, silent, RestartBackoff::default(), STOP_TIMEOUT, now)
    }

    fn with_backoff(
        program: PathBuf,
        silent: bool,
        mut backoff: RestartBackoff,
        stop_timeout: Duration,
        now: Instant,
    ) -> Result<Self, AlertSinkError> {
        match spawn(&program, silent) {
            Ok(state) => {
                backoff.child_started(now);
                let failures = FailureNotifier::new(format!("--exec {}", program.display()));
                let (queue, notices) = (AlertQueue::default(), Vec::new());
                Ok(Self {
                    program,
                    silent,
                    queue,
                    written_lines: 0,
                    partial_bytes: 0,
                    bytes_in_pipe: 0,
                    state,
                    backoff,
                    stop_timeout,
                    failures,
                    notices,
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
        notices.append(&mut self.notices);
        self.failures.collect(&mut self.queue, now, notices);
    }

    /// Checks whether the program ended, and whether to start it or to send it a signal.
    fn check_child(&mut self, now: Instant) {
        match &mut self.state {
            ChildState::Running { child, .. } => {
                if let Some(how) = exit_status(child) {
                    self.requeue_unread();
                    self.schedule_restart(&how, now);
                }
            }
            ChildState::Stopping { child, next, at } => {
                if let Some(how) = exit_status(child) {
                    self.schedule_restart(&how, now);
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
        match spawn(&self.program, self.silent) {
            Ok(state) => self.state = state,
            Err(error) => {
                let until = self.backoff.child_ended(now);
                self.state = ChildState::Waiting { until };
                self.push_notice(&format!("cannot be started ({}); retrying", errno_message(&error)), until, now);
            }
        }
    }

    /// Handles the end of the program.
    fn schedule_restart(&mut self, how: &str, now: Instant) {
        let until = self.backoff.child_ended(now);
        self.state = ChildState::Waiting { until };
        self.push_notice(&format!("the program ended ({how}); restarting"), until, now);
    }

    fn push_notice(&mut self, what: &str, until: Instant, now: Instant) {
        let seconds = until.saturating_duration_since(now).as_secs_f64().ceil();
        self.notices.push(format!("--exec {}: {what} in {seconds} s", self.program.display()));
    }

    /// Writes as much as the pipe takes.
    fn write_pending(&mut self, now: Instant) {
        let ChildState::Running { stdin, .. } = &self.state else { return };
        let broken = loop {
            let Some(line) = self.queue.get(self.written_lines) else { break false };
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
        let ChildState::Running { stdin, .. } = &self.state else { return };
        // Linux keeps unread bytes as long as the write end is open, even without a reader.
        let Ok(unread) = rustix::io::ioctl_fionread(stdin) else { return };
        while self.written_lines > 0
            && let Some(length) = self.queue.get(0).map(<[u8]>::len)
            && self.bytes_in_pipe.saturating_sub(unread as usize) >= length
        {
            self.queue.pop();
            self.written_lines -= 1;
            self.bytes_in_pipe -= length;
        }
    }

    /// The program ended: what it did not read goes to the next one.
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
                ChildState::Stopping { child, next: Signal::TERM, at: now + self.stop_timeout }
            }
            other => other,
        };
    }

    /// Writes the remaining lines, closes the standard input and waits for the end: up to two seconds each. Then sends
    /// SIGTERM.
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
                self.notices.push(format!("--exec {}: the program did not end and was sent SIGTERM", self.program.display()));
                signal(child, Signal::TERM);
                wait_for_exit(child, Instant::now() + TERM_TIMEOUT);
            }
        }
        notices.append(&mut self.notices);
        self.failures.finish(&self.queue, notices);
    }

    /// Waits while lines remain that do not fit into the pipe or are not read: a program may end with unread input.
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
            let ChildState::Running { stdin, .. } = &self.state else { return };
            if self.queue.is_empty() || now >= deadline {
                return;
            }
            if self.written_lines < self.queue.len() {
                wait_for_room(stdin, POLL_INTERVAL);
            } else {
                thread::sleep(POLL_INTERVAL);
            }
        }
    }
}

/// Starts the program in its own process group, so that Ctrl-C does not end it before the last lines are written.
fn spawn(program: &Path, silent: bool) -> io::Result<ChildState> {
    let mut command = Command::new(program);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
    command.stderr(if silent { Stdio::null() } else { Stdio::inherit() });
    for ours in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"] {
        // These variables are for probewatch only.
        command.env_remove(ours);
    }
    let mut child = command.spawn()?;
    let stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    rustix::fs::fcntl_setfl(&stdin, OFlags::NONBLOCK)?;
    Ok(ChildState::Running { child, stdin })
}

/// Signals the program and its children. The program has not been waited for, so its process ID cannot have been reused.
fn signal(child: &Child, signal: Signal) {
    // It may have ended already.
    let _ = kill_process_group(Pid::from_child(child), signal);
}

fn wait_for_room(stdin: &ChildStdin, most: Duration) {
    let most = Timespec { tv_sec: 0, tv_nsec: most.subsec_nanos().into() };
    // An error shows in the next write.
    let _ = poll(&mut [PollFd::new(stdin, PollFlags::OUT)], Some(&most));
}

/// Whether the read end of a pipe is closed, so that what is in it will never be read.
fn has_no_reader(stdin: &ChildStdin) -> bool {
    let mut pipe = [PollFd::new(stdin, PollFlags::empty())];
    poll(&mut pipe, Some(&Timespec::default())).is_ok() && pipe[0].revents().contains(PollFlags::ERR)
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

/// The delay before a restart: it doubles each time the program ends early. Reads no clock: the time is passed in.
#[derive(Debug)]
struct RestartBackoff {
    /// The first delay.
    first: Duration,
    /// The longest delay. A program that lives this long resets the delay.
    most: Duration,
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
    fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, next: first, started: None }
    }

    /// Records a start.
    fn child_started(&mut self, now: Instant) {
        self.started = Some(now);
    }

    /// Records the end of the program. Returns when to restart it.
    fn child_ended(&mut self, now: Instant) -> Instant {
        if self.started.is_some_and(|started| now.saturating_duration_since(started) >= self.most) {
            self.next = self.first;
        }
        let pause = self.next;
        self.next = (pause * 2).min(self.most);
        now + pause
    }
}

#[cfg(test)]
mod tests;
