//! A run that is stopped or killed at a chosen system call, with fault injection of `strace`.
//!
//! Calls are counted in each thread; the first thread that reaches the number triggers the fault.
//! The tracer is a process of its own (`-D`), so that the run is a child of the test.

use std::fs;
use std::ops::Deref;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::follow::follower::DEADLINE;
use crate::follow::works;
use crate::harness::{Harness, Run, skip};

/// Whether calls can be traced here; prints a message if not.
pub(super) fn can_trace(test: &str) -> bool {
    let can = works(Command::new("strace").args(["-f", "-o", "/dev/null", "true"]));
    if !can {
        skip(test, "strace is not installed, or may not trace");
    }
    can
}

/// `report` with a tracer that writes to `trace`, with these additional options of the tracer.
pub(super) fn traced(harness: &Harness, options: &[&str], args: &[&str]) -> Command {
    let tracer = ["strace", "-D", "-f", "-q", "-o", "trace"]
        .iter()
        .chain(options)
        .copied()
        .collect::<Vec<_>>();
    harness.under(
        &tracer,
        ["report", "--state", "state", "--out", "out"]
            .iter()
            .chain(args),
    )
}

/// A traced run that has ended, and its process ID.
pub(super) struct TracedRun {
    pub(super) pid: u32,
    pub(super) output: Output,
}

impl Deref for TracedRun {
    type Target = Output;

    fn deref(&self) -> &Output {
        &self.output
    }
}

/// Waits for the end of a run, by a signal or by itself.
pub(super) fn output(command: &mut Command) -> TracedRun {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    TracedRun {
        pid: child.id(),
        output: child.wait_with_output().unwrap(),
    }
}

/// Whether a run was killed.
pub(super) fn was_killed(output: &Output) -> bool {
    output.status.signal() == Some(Signal::KILL.as_raw())
}

/// A stopped run.
pub(super) struct Interrupt {
    child: Option<Child>,
    pid: Pid,
}

impl Interrupt {
    /// Runs until the `when`th call of this name.
    pub(super) fn at(harness: &Harness, call: &str, when: usize, args: &[&str]) -> Self {
        let (which, what) = (
            format!("trace={call}"),
            format!("inject={call}:signal=STOP:when={when}"),
        );
        // With one thread, files are synced one by one, so that the same call is the same step of
        // each run.
        let args = [args, &["-j1"]].concat();
        let mut command = traced(harness, &["-e", &which, "-e", &what], &args);
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut interrupt = Self {
            pid: Pid::from_child(&child),
            child: Some(child),
        };
        let start = Instant::now();
        while !fs::read_to_string(harness.path("trace"))
            .is_ok_and(|trace| trace.contains("--- stopped by SIGSTOP ---"))
        {
            if interrupt
                .child
                .as_mut()
                .unwrap()
                .try_wait()
                .unwrap()
                .is_some()
            {
                let output = interrupt.child.take().unwrap().wait_with_output().unwrap();
                panic!(
                    "it ended before call {when} of {call}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
            }
            assert!(
                start.elapsed() < DEADLINE,
                "it does not get to call {when} of {call}"
            );
            thread::sleep(Duration::from_millis(5));
        }
        interrupt
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).unwrap();
    }

    /// Lets it continue to its end.
    pub(super) fn resume(mut self) -> Run {
        let mut child = self.child.take().unwrap();
        let start = Instant::now();
        // Another thread may reach its own call of this number, and stop the process again.
        while child.try_wait().unwrap().is_none() {
            let _ = kill_process(self.pid, Signal::CONT);
            assert!(start.elapsed() < DEADLINE, "it does not end");
            thread::sleep(Duration::from_millis(5));
        }
        Run::of(child.wait_with_output().unwrap())
    }

    /// Kills it, as a power cut would.
    pub(super) fn kill(mut self) {
        self.signal(Signal::KILL);
        assert!(was_killed(
            &self.child.take().unwrap().wait_with_output().unwrap()
        ));
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
