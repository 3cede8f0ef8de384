//! The real `logrotate` with a configuration of its own, told to rotate now.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::follower::DEADLINE;
use crate::harness::{Harness, finish, skip};

/// Debian keeps it where not every user looks.
const PLACES: [&str; 3] = ["/usr/sbin/logrotate", "/usr/local/sbin/logrotate", "/sbin/logrotate"];

/// A configuration for the log of a rig.
pub(crate) struct Logrotate<'a> {
    harness: &'a Harness,
    program: &'static str,
}

impl<'a> Logrotate<'a> {
    /// Rotates `log/access.log` so; none where the program is missing, which is said.
    pub(crate) fn new(test: &str, harness: &'a Harness, directives: &str) -> Option<Self> {
        let Some(program) = PLACES.into_iter().find(|place| Path::new(place).exists()) else {
            skip(test, "logrotate is not installed");
            return None;
        };
        let log = harness.path("log");
        // It does not touch what others may write.
        fs::set_permissions(&log, fs::Permissions::from_mode(0o755)).unwrap();
        let conf = harness.file("rotate.conf", format!("\"{}/access.log\" {{\n rotate 99\n missingok\n{directives}\n}}\n", log.display()));
        fs::set_permissions(conf, fs::Permissions::from_mode(0o600)).unwrap();
        Some(Self { harness, program })
    }

    /// Rotates once.
    pub(crate) fn rotate(&self) {
        let mut command = Command::new(self.program);
        command.args(["-f", "-s", "rotate.state", "rotate.conf"]).current_dir(self.harness.path(""));
        let start = Instant::now();
        loop {
            let run = finish(&mut command);
            // Two names with a date are one within a second: the log stays where it is.
            if run.stderr.contains("already exists, skipping rotation") && start.elapsed() < DEADLINE {
                thread::sleep(Duration::from_millis(100));
                continue;
            }
            // A server that still writes into what is packed is what is asked for here, and gzip may notice.
            let is_noticed = run.stderr.contains("file size changed while zipping");
            assert!(run.code == 0 && (run.stderr.is_empty() || is_noticed), "logrotate failed with {}: {}", run.code, run.stderr);
            return;
        }
    }
}
