//! The live view in a real terminal: what it shows while a busy log is written, and its keys.
//!
//! The terminal is tmux with its own socket. If tmux is not installed, the test is skipped with a
//! message.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{EXE, Harness, line, skip};

/// The timeout on a busy host.
const PATIENCE: Duration = Duration::from_secs(30);

/// A terminal of 80 by 24 in which the live view runs.
struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// Follows this log in it; `None` without tmux.
    fn open(harness: &Harness, log: &str) -> Option<Self> {
        let terminal = Self {
            socket: harness.path("tmux"),
        };
        let run = format!(
            "cd '{}' && '{EXE}' follow --tui {log}; echo \"ended with $?\"; sleep 60",
            harness.path(".").display()
        );
        let status = terminal.tmux(&[
            "-u",
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            "-s",
            "view",
            &run,
        ]);
        status.is_some().then_some(terminal)
    }

    /// The output of tmux; `None` if it failed or is not installed.
    fn tmux(&self, args: &[&str]) -> Option<String> {
        let mut command = Command::new("tmux");
        command
            .arg("-S")
            .arg(&self.socket)
            .args(args)
            .stdin(Stdio::null());
        command
            .env_remove("TMUX")
            .env_remove("NO_COLOR")
            .env_remove("COLUMNS")
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh");
        let output = command
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn press(&self, key: &str) {
        assert!(
            self.tmux(&["send-keys", "-t", "view", key]).is_some(),
            "the key {key} was not taken"
        );
    }

    /// Waits for a screen that satisfies the condition.
    fn wait(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let picture = self
                .tmux(&["capture-pane", "-p", "-t", "view"])
                .unwrap_or_default();
            if holds(&picture) {
                return picture;
            }
            assert!(Instant::now() < until, "not seen: {what}\n{picture}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

/// Lines of a busy site, with probes by two clients.
fn busy(from: usize, lines: usize) -> String {
    (from..from + lines)
        .map(|n| match n % 10 {
            1 => line("198.51.100.23", "GET /.git/config HTTP/1.1", 200),
            4 => line("198.51.100.23", "GET /wp-login.php HTTP/1.1", 404),
            7 => line(
                "203.0.113.9",
                "GET /?q=%1b[31m%27+union+select+1 HTTP/1.1",
                404,
            ),
            _ => line("192.0.2.1", &format!("GET /page/{n} HTTP/1.1"), 200),
        })
        .collect()
}

#[test]
fn shows_a_busy_log_and_handles_keys() {
    let harness = Harness::new();
    let log = harness.file("access.log", "");
    let Some(terminal) = Terminal::open(&harness, "access.log") else {
        return skip("the live view in a terminal", "tmux is not there");
    };
    let write = |from, lines| {
        OpenOptions::new()
            .append(true)
            .open(&log)
            .unwrap()
            .write_all(busy(from, lines).as_bytes())
            .unwrap();
    };
    terminal.wait("the empty view", |picture| picture.contains("q quit"));
    for part in 0..10 {
        write(part * 100, 100);
        thread::sleep(Duration::from_millis(20));
    }
    let picture = terminal.wait("all hits", |picture| {
        picture.contains("300/h") && picture.contains("access.log")
    });
    for part in [
        "probewatch",
        "access.log",
        "ANSWERED 1",
        "CLIENTS 2",
        "PATHS",
        "RULES",
        "ALERTS",
        "/.git/config",
        "vcs/git",
        "1,000/h",
    ] {
        assert!(picture.contains(part), "{part} in\n{picture}");
    }
    assert!(
        picture.lines().count() <= 24 && picture.lines().all(|line| line.chars().count() <= 80),
        "{picture}"
    );
    terminal.press("p");
    terminal.wait("the pause", |picture| picture.contains("PAUSED"));
    write(1_000, 100);
    terminal.wait("what came meanwhile", |picture| {
        picture.contains("PAUSED") && picture.contains("30")
    });
    terminal.press("p");
    terminal.wait("the newest counts", |picture| {
        picture.contains("330/h") && !picture.contains("PAUSED")
    });
    for key in ["/", "union", "Enter"] {
        terminal.press(key);
    }
    terminal.wait("one client less", |picture| {
        picture.contains("203.0.113.9") && !picture.contains("198.51.100.23")
    });
    terminal.press("Escape");
    terminal.wait("both clients", |picture| picture.contains("198.51.100.23"));
    terminal.press("?");
    terminal.wait("the keys", |picture| picture.contains("pause"));
    terminal.press("Escape");
    terminal.press("q");
    let end = terminal.wait("the end", |picture| picture.contains("ended with 0"));
    assert!(end.contains("1,100 lines"), "{end}");
}
