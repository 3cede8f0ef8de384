//! The real nginx and Apache on 127.0.0.1, several logs of each at once: the same requests in every format they write.
//!
//! A server is asked once for a test, in order, and its logs have a line for each request: the n-th line of every log is the n-th
//! request. What is compared is what a report says of them. A server that is not installed is left out by name.

mod apache;
mod compare;
mod configured;
pub(crate) mod daemon;
mod nginx;
mod requests;
mod spellings;

use std::path::PathBuf;

use crate::harness::Harness;

/// A log by its name, whether its format is found out without a flag, and the format by its name or as the configuration has it.
type Kind = (&'static str, bool, &'static str);

/// A log that a server wrote.
struct Log {
    /// What its format is called here.
    name: &'static str,
    path: PathBuf,
    /// Whether the format is found out without a flag.
    is_detected: bool,
    /// The format for `--log-format`.
    format: &'static str,
}

/// A server that was asked everything and has ended: its logs, and its configuration.
struct Served {
    server: &'static str,
    harness: Harness,
    logs: Vec<Log>,
    conf: PathBuf,
    /// The answers, head and body.
    answers: Vec<Vec<u8>>,
}

impl Served {
    fn new(server: &'static str, harness: Harness, conf: PathBuf, kinds: &[Kind], answers: Vec<Vec<u8>>) -> Self {
        let log = |&(name, is_detected, format): &Kind| Log { name, path: harness.path(format!("log/{name}.log")), is_detected, format };
        let logs = kinds.iter().map(log).collect();
        Self { server, harness, logs, conf, answers }
    }

    fn log(&self, name: &str) -> &Log {
        self.logs.iter().find(|log| log.name == name).unwrap()
    }

    /// What the configuration of this server is named with.
    fn flag(&self) -> String {
        format!("--from-{}={}", self.server, self.conf.display())
    }
}

/// Both servers, where they are installed, asked everything.
fn served(test: &str) -> Vec<Served> {
    served_so_many(test, requests::ALL)
}

/// Both servers, asked the first so many requests.
fn served_so_many(test: &str, asked: usize) -> Vec<Served> {
    let requests = &requests::all()[..asked];
    [nginx::served(test, requests), apache::served(test, requests)].into_iter().flatten().collect()
}
