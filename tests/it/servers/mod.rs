//! The real nginx and Apache on 127.0.0.1, with several logs each: the same requests in every
//! format they write.
//!
//! A server gets all requests once per test, in order, and its logs have a line for each request:
//! the n-th line of every log is the n-th request. The hits in reports are compared. A server that
//! is not installed is skipped with a message.

mod apache;
mod compare;
mod configured;
pub(crate) mod daemon;
mod forged;
mod nginx;
mod requests;
mod spellings;

use std::path::PathBuf;

use crate::harness::Harness;

/// A log: its name, whether its format is detected, and the format by name or as in the
/// configuration.
type Kind = (&'static str, bool, &'static str);

/// A log that a server wrote.
struct Log {
    /// The name of its format in the tests.
    name: &'static str,
    path: PathBuf,
    /// Whether the format is detected.
    is_detected: bool,
    /// The format for `--log-format`.
    format: &'static str,
}

/// A server that has got all requests and was stopped: its logs and its configuration.
struct ServerRun {
    server: &'static str,
    harness: Harness,
    logs: Vec<Log>,
    conf: PathBuf,
    /// The answers, head and body.
    answers: Vec<Vec<u8>>,
}

impl ServerRun {
    fn new(
        server: &'static str,
        harness: Harness,
        conf: PathBuf,
        kinds: &[Kind],
        answers: Vec<Vec<u8>>,
    ) -> Self {
        let log = |&(name, is_detected, format): &Kind| Log {
            name,
            path: harness.path(format!("log/{name}.log")),
            is_detected,
            format,
        };
        let logs = kinds.iter().map(log).collect();
        Self {
            server,
            harness,
            logs,
            conf,
            answers,
        }
    }

    fn log(&self, name: &str) -> &Log {
        self.logs.iter().find(|log| log.name == name).unwrap()
    }

    /// The flag that names the configuration of this server.
    fn flag(&self) -> String {
        format!("--from-{}={}", self.server, self.conf.display())
    }
}

/// Both servers, if installed, after all requests.
fn served(test: &str) -> Vec<ServerRun> {
    first_requests(test, requests::ALL)
}

/// Both servers, after the first requests.
fn first_requests(test: &str, count: usize) -> Vec<ServerRun> {
    let requests = &requests::all()[..count];
    [
        nginx::served(test, requests),
        apache::served(test, requests),
    ]
    .into_iter()
    .flatten()
    .collect()
}
