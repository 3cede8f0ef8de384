//! The real `logrotate` with its own configuration, forced to rotate.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::follower::DEADLINE;
use crate::harness::{Harness, finish, skip};

/// On Debian it is not in every user's PATH.
const PLACES: [&str; 3] = [
    "/usr/sbin/logrotate",
    "/usr/local/sbin/logrotate",
    "/sbin/logrotate",
];

/// A configuration for the log of a harness.
pub(crate) struct Logrotate<'a> {
    harness: &'a Harness,
    program: &'static str,
}

impl<'a> Logrotate<'a> {
    /// Rotates `log/access.log`; `None`, with a message, if logrotate is not installed.
    pub(crate) fn new(test: &str, harness: &'a Harness, directives: &str) -> Option<Self> {
        let Some(program) = PLACES.into_iter().find(|place| Path::new(place).exists()) else {
            skip(test, "logrotate is not installed");
            return None;
        };
        let log = harness.path("log");
        // logrotate refuses folders that others may write to.
        fs::set_permissions(&log, fs::Permissions::from_mode(0o755)).unwrap();
        let conf = harness.file(
            "rotate.conf",
            format!(
                "\"{}/access.log\" {{\n rotate 99\n missingok\n{directives}\n}}\n",
                log.display()
            ),
        );
        fs::set_permissions(conf, fs::Permissions::from_mode(0o600)).unwrap();
        Some(Self { harness, program })
    }

    /// Rotates once.
    pub(crate) fn rotate(&self) {
        let mut command = Command::new(self.program);
        command
            .args(["-f", "-s", "rotate.state", "rotate.conf"])
            .current_dir(self.harness.path(""));
        let start = Instant::now();
        loop {
            let run = finish(&mut command);
            // Names with dates are the same within a second: then the log is not rotated.
            if run.stderr.contains("already exists, skipping rotation")
                && start.elapsed() < DEADLINE
            {
                thread::sleep(Duration::from_millis(100));
                continue;
            }
            // Here a server may still write to the file that is compressed, and gzip may complain.
            let is_noticed = run.stderr.contains("file size changed while zipping");
            assert!(
                run.code == 0 && (run.stderr.is_empty() || is_noticed),
                "logrotate failed with {}: {}",
                run.code,
                run.stderr
            );
            return;
        }
    }
}
