//! A server as a child process: started on a free port, sent requests, and stopped by its process
//! ID, also if a test fails.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::Harness;

/// The timeout on a busy host.
const DEADLINE: Duration = Duration::from_secs(60);

/// Another process may take a port that was free a moment ago.
const TRIES: usize = 5;

/// A server that listens.
pub(crate) struct Daemon {
    process: Child,
    port: u16,
}

impl Daemon {
    /// Starts the command for a port, and waits until it listens.
    pub(crate) fn start(harness: &Harness, command: impl Fn(u16) -> Command) -> Self {
        for _ in 0..TRIES {
            let port = TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap()
                .port();
            // Apache signals its whole process group when it ends.
            let process = command(port)
                .process_group(0)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut daemon = Self { process, port };
            if daemon.listens() {
                return daemon;
            }
        }
        panic!(
            "the server does not start: {}",
            fs::read_to_string(harness.path("error.log")).unwrap_or_default()
        );
    }

    fn listens(&mut self) -> bool {
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if self.process.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(start.elapsed() < DEADLINE, "the server does not listen");
            thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Its port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Sends these bytes and reads the answer until the server closes the connection, which it does
    /// after it wrote its log line.
    pub(crate) fn send(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        // It may close before it has read everything.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        // A reset ends an answer too.
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    /// Waits until a log has a line for each request, and stops the server.
    pub(crate) fn finish(self, logs: &[&Path], lines: usize) {
        let count = |log: &Path| {
            fs::read(log).map_or(0, |text| text.split(|byte| *byte == b'\n').count() - 1)
        };
        let start = Instant::now();
        for log in logs {
            while count(log) < lines {
                assert!(
                    start.elapsed() < DEADLINE,
                    "{}: {} of {lines} lines",
                    log.display(),
                    count(log)
                );
                thread::sleep(Duration::from_millis(5));
            }
        }
        drop(self);
        for log in logs {
            assert_eq!(count(log), lines, "{}", log.display());
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Its workers end only with a clean stop.
        if self.process.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
            let _ = self.process.wait();
        }
    }
}
