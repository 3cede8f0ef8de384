//! `--exec`: one program that runs as long as we do and gets every alert as a line of JSON on its standard input.
//!
//! The pipe is never waited for. A program that ends is started again: after a second at first, after twice as long each
//! time that it does not live for a minute, after a minute at most. A line counts as delivered when all its bytes were
//! read: what was left in the pipe when the program ended goes to the next one, from the start of its line. There is no
//! shell and there are no arguments; its standard output goes nowhere, as ours is for hits.

mod pace;

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use self::pace::Pace;
use super::error::ActionError;
use super::queue::Queue;
use super::trouble::Trouble;
use crate::system::errno_message;

/// How long a program may take to end once its standard input is closed, and again to take the last lines before that.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a program may take to end on SIGTERM.
const LAST_PATIENCE: Duration = Duration::from_millis(500);

/// Between two looks at a program that is to end.
const LOOK: Duration = Duration::from_millis(10);

/// The program, and the lines that it did not read yet.
#[derive(Debug)]
pub(super) struct Exec {
    program: PathBuf,
    silent: bool,
    queue: Queue,
    /// How many lines, at the front of the queue, are in the pipe as a whole.
    given: usize,
    /// How many bytes of the line behind them are.
    part: usize,
    /// Bytes of the first line, and of those behind it, that went into the pipe.
    in_flight: usize,
    state: State,
    pace: Pace,
    patience: Duration,
    trouble: Trouble,
    notices: Vec<String>,
}

#[derive(Debug)]
enum State {
    Running {
        child: Child,
        stdin: ChildStdin,
    },
    /// Reads no more, but has not ended; what it is sent next, and when.
    Leaving {
        child: Child,
        next: Signal,
        at: Instant,
    },
    /// Ended, or could not be started; when it is tried again.
    Resting {
        until: Instant,
    },
}

impl Exec {
    pub(super) fn start(program: PathBuf, silent: bool, now: Instant) -> Result<Self, ActionError> {
        Self::with_pace(program, silent, Pace::default(), PATIENCE, now)
    }

    fn with_pace(program: PathBuf, silent: bool, mut pace: Pace, patience: Duration, now: Instant) -> Result<Self, ActionError> {
        match spawn(&program, silent) {
            Ok(state) => {
                pace.started(now);
                let trouble = Trouble::new(format!("--exec {}", program.display()));
                let (queue, notices) = (Queue::default(), Vec::new());
                Ok(Self { program, silent, queue, given: 0, part: 0, in_flight: 0, state, pace, patience, trouble, notices })
            }
            Err(error) => Err(ActionError::Exec { program, error }),
        }
    }

    pub(super) fn tell(&mut self, line: &[u8]) {
        self.queue.push(line);
        self.feed(Instant::now());
    }

    pub(super) fn turn(&mut self, now: Instant, notices: &mut Vec<String>) {
        self.look(now);
        self.feed(now);
        notices.append(&mut self.notices);
        self.trouble.tell(&mut self.queue, now, notices);
    }

    /// Looks whether the program ended, or is to be started or ended.
    fn look(&mut self, now: Instant) {
        match &mut self.state {
            State::Running { child, .. } => {
                if let Some(how) = ended(child) {
                    self.settle();
                    self.rest(&how, now);
                }
            }
            State::Leaving { child, next, at } => {
                if let Some(how) = ended(child) {
                    self.rest(&how, now);
                } else if now >= *at {
                    signal(child, *next);
                    (*next, *at) = (Signal::KILL, now + self.patience);
                }
            }
            State::Resting { until } if now >= *until => self.start_again(now),
            State::Resting { .. } => {}
        }
    }

    fn start_again(&mut self, now: Instant) {
        self.pace.started(now);
        match spawn(&self.program, self.silent) {
            Ok(state) => self.state = state,
            Err(error) => {
                let until = self.pace.ended(now);
                self.state = State::Resting { until };
                self.say(&format!("cannot be started ({}); it is tried again", errno_message(&error)), until, now);
            }
        }
    }

    /// The program ended.
    fn rest(&mut self, how: &str, now: Instant) {
        let until = self.pace.ended(now);
        self.state = State::Resting { until };
        self.say(&format!("the program ended ({how}); it is started again"), until, now);
    }

    fn say(&mut self, what: &str, until: Instant, now: Instant) {
        let seconds = until.saturating_duration_since(now).as_secs_f64().ceil();
        self.notices.push(format!("--exec {}: {what} in {seconds} s", self.program.display()));
    }

    /// Gives the program as much as the pipe takes.
    fn feed(&mut self, now: Instant) {
        let State::Running { stdin, .. } = &self.state else { return };
        let broken = loop {
            let Some(line) = self.queue.get(self.given) else { break false };
            match rustix::io::write(stdin, &line[self.part..]) {
                Ok(written) => {
                    self.part += written;
                    self.in_flight += written;
                    if self.part == line.len() {
                        (self.given, self.part) = (self.given + 1, 0);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break false,
                Err(_) => break true,
            }
        };
        self.count_read();
        if broken {
            self.settle();
            self.leave(now);
        }
    }

    /// Takes the lines out of the queue whose last byte left the pipe.
    fn count_read(&mut self) {
        let State::Running { stdin, .. } = &self.state else { return };
        // Linux keeps what is unread as long as we hold our end, whether anyone may still read it or not.
        let Ok(unread) = rustix::io::ioctl_fionread(stdin) else { return };
        while self.given > 0
            && let Some(length) = self.queue.get(0).map(<[u8]>::len)
            && self.in_flight.saturating_sub(unread as usize) >= length
        {
            self.queue.pop();
            self.given -= 1;
            self.in_flight -= length;
        }
    }

    /// The pipe is at its end: what was not read from it waits for the next one.
    fn settle(&mut self) {
        self.count_read();
        (self.given, self.part, self.in_flight) = (0, 0, 0);
    }

    /// Closes the program's standard input, and gives it some time to end.
    fn leave(&mut self, now: Instant) {
        let resting = State::Resting { until: now };
        self.state = match std::mem::replace(&mut self.state, resting) {
            State::Running { child, stdin } => {
                drop(stdin);
                State::Leaving { child, next: Signal::TERM, at: now + self.patience }
            }
            other => other,
        };
    }

    /// Gives the program what still waits, closes its standard input, and waits for it; two seconds each. Then SIGTERM.
    pub(super) fn finish(mut self, notices: &mut Vec<String>) {
        if matches!(self.state, State::Resting { .. }) && !self.queue.is_empty() {
            self.start_again(Instant::now());
        }
        self.give_the_rest(Instant::now() + self.patience);
        self.leave(Instant::now());
        if let State::Leaving { child, .. } = &mut self.state {
            if ends_until(child, Instant::now() + self.patience) {
                // It read on to the end of the pipe, or knew why not.
                (0..self.given).for_each(|_| self.queue.pop());
            } else {
                self.notices.push(format!("--exec {}: the program did not end and was sent SIGTERM", self.program.display()));
                signal(child, Signal::TERM);
                ends_until(child, Instant::now() + LAST_PATIENCE);
            }
        }
        notices.append(&mut self.notices);
        self.trouble.finish(&self.queue, notices);
    }

    /// Waits for room in the pipe while lines wait, and until they are read: a program that was given all may still end
    /// without having read it.
    fn give_the_rest(&mut self, deadline: Instant) {
        loop {
            let now = Instant::now();
            self.feed(now);
            if let State::Running { child, .. } = &mut self.state
                && ended(child).is_some()
            {
                self.settle();
                self.state = State::Resting { until: now };
            }
            let State::Running { stdin, .. } = &self.state else { return };
            if self.queue.is_empty() || now >= deadline {
                return;
            }
            if self.given < self.queue.len() {
                wait_for_room(stdin, LOOK);
            } else {
                thread::sleep(LOOK);
            }
        }
    }
}

/// Starts the program in a process group of its own: Ctrl-C is meant for us, who have lines for it yet.
fn spawn(program: &Path, silent: bool) -> io::Result<State> {
    let mut command = Command::new(program);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
    command.stderr(if silent { Stdio::null() } else { Stdio::inherit() });
    for ours in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"] {
        // The service manager listens to us, not to what we start.
        command.env_remove(ours);
    }
    let mut child = command.spawn()?;
    let stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    rustix::fs::fcntl_setfl(&stdin, OFlags::NONBLOCK)?;
    Ok(State::Running { child, stdin })
}

/// To the program and to what it started. It has not been waited for, so its number is still its own.
fn signal(child: &Child, signal: Signal) {
    // It may be gone by now, which is what we want.
    let _ = kill_process_group(Pid::from_child(child), signal);
}

fn wait_for_room(stdin: &ChildStdin, most: Duration) {
    let most = Timespec { tv_sec: 0, tv_nsec: most.subsec_nanos().into() };
    // Whatever comes of it, the next write tells.
    let _ = poll(&mut [PollFd::new(stdin, PollFlags::OUT)], Some(&most));
}

/// How a program ended, if it did.
fn ended(child: &mut Child) -> Option<String> {
    match child.try_wait() {
        Ok(None) => None,
        Ok(Some(status)) => Some(status.to_string()),
        // Who started us may have told the system to wait for our children itself: it is gone, and nobody knows how.
        Err(error) => Some(errno_message(&error)),
    }
}

fn ends_until(child: &mut Child, deadline: Instant) -> bool {
    while ended(child).is_none() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}

#[cfg(test)]
mod tests;
