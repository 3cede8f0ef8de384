//! A server that writes numbered lines to a log, and a copy of everything it wrote.
//!
//! Each line is a probe for its own path, so that lost lines can be distinguished from repeated
//! ones.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::harness::{self, Out, QUICK, Sums};
use crate::harness::{Harness, Run, finish, line};

/// The log, below the folder of the harness.
pub(super) const LOG: &str = "log/access.log";

/// The server.
pub(super) struct Site<'a> {
    pub(super) harness: &'a Harness,
    /// The server's open file.
    log: File,
    /// Every complete line, in order.
    all: File,
    next: u64,
    /// The number of days that the lines are spread over.
    days: u64,
    /// The rest of a line that was started.
    rest: Option<(String, usize)>,
}

/// The line with this number.
pub(super) fn numbered(number: u64) -> String {
    let status = if number.is_multiple_of(7) { 200 } else { 404 };
    line(
        &format!("192.0.2.{}", number % 50),
        &format!("GET /{number:07}/.git/config HTTP/1.1"),
        status,
    )
}

impl<'a> Site<'a> {
    /// With an empty log in its own folder.
    pub(super) fn new(harness: &'a Harness) -> Self {
        fs::create_dir_all(harness.path("log")).unwrap();
        Self {
            harness,
            log: append(&harness.path(LOG)),
            all: append(&harness.path("all.log")),
            next: 0,
            days: 1,
            rest: None,
        }
    }

    /// Spreads lines over this many days.
    pub(super) fn over_days(self, days: u64) -> Self {
        Self { days, ..self }
    }

    /// The next line.
    fn next_line(&mut self) -> String {
        let day = format!("[{:02}/Nov/", 2 + self.next % self.days);
        let line = numbered(self.next).replace("[02/Nov/", &day);
        self.next += 1;
        line
    }

    /// Writes this many lines.
    pub(super) fn write(&mut self, lines: u64) {
        for _ in 0..lines {
            let line = self.next_line();
            self.put(&line);
        }
    }

    /// Writes any complete lines.
    pub(super) fn put(&mut self, text: &str) {
        self.finish_line();
        self.log.write_all(text.as_bytes()).unwrap();
        self.all.write_all(text.as_bytes()).unwrap();
    }

    /// Writes the first bytes of the next line.
    pub(super) fn begin_line(&mut self, bytes: usize) {
        self.finish_line();
        let line = self.next_line();
        self.log.write_all(&line.as_bytes()[..bytes]).unwrap();
        self.rest = Some((line, bytes));
    }

    /// Writes the rest of a line that was started.
    pub(super) fn finish_line(&mut self) {
        if let Some((line, bytes)) = self.rest.take() {
            self.log.write_all(&line.as_bytes()[bytes..]).unwrap();
            self.all.write_all(line.as_bytes()).unwrap();
        }
    }

    /// Drops a line that was started, as in a crash of the server.
    pub(super) fn drop_line(&mut self) {
        self.rest = None;
    }

    /// Number of lines so far.
    pub(super) fn lines(&self) -> u64 {
        self.next
    }

    /// As a server does after its log was moved.
    pub(super) fn reopen(&mut self) {
        self.log = append(&self.harness.path(LOG));
    }

    /// Moves the log and all old ones by one number, as logrotate does; the server keeps its open
    /// file.
    pub(super) fn rotate(&self) {
        let old = |number: u32, compressed: &str| {
            self.harness.path(format!("{LOG}.{number}{compressed}"))
        };
        let last = (1..10_000)
            .find(|&n| !old(n, "").exists() && !old(n, ".gz").exists())
            .unwrap();
        for number in (1..last).rev() {
            for compressed in ["", ".gz"] {
                if old(number, compressed).exists() {
                    fs::rename(old(number, compressed), old(number + 1, compressed)).unwrap();
                }
            }
        }
        fs::rename(self.harness.path(LOG), old(1, "")).unwrap();
        append(&self.harness.path(LOG));
    }

    /// Compresses the old log with this number, as gzip does: the compressed one exists before the
    /// plain one is removed.
    pub(super) fn pack(&self, number: u32) {
        let plain = self.harness.path(format!("{LOG}.{number}"));
        let Ok(text) = fs::read(&plain) else { return };
        let mut compressed = GzEncoder::new(
            File::create_new(with_gz(&plain)).unwrap(),
            Compression::fast(),
        );
        compressed.write_all(&text).unwrap();
        compressed.finish().unwrap();
        fs::remove_file(plain).unwrap();
    }

    /// `report` of the log, with the rule that its lines match.
    pub(super) fn args<'b>(args: &[&'b str]) -> Vec<&'b str> {
        [&QUICK, args, &[LOG]].concat()
    }

    /// Runs it on the log.
    pub(super) fn try_run(&self, args: &[&str]) -> Run {
        finish(&mut harness::command(self.harness, &Self::args(args)))
    }

    /// Runs it on the log, which must succeed.
    pub(super) fn run(&self, args: &[&str]) -> Run {
        let run = self.try_run(args);
        assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
        run
    }

    /// What one scan of all lines finds.
    pub(super) fn expected(&self) -> Sums {
        Sums::scanned(self.harness, &[&["all.log"][..], &QUICK].concat())
    }

    /// The reports of all runs add up to all lines, and nothing else is left.
    pub(super) fn assert_complete(&self, when: &str) -> Out {
        let out = Out::read(self.harness);
        out.sums().assert_same(&self.expected(), when);
        out
    }
}

fn with_gz(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    name.into()
}

fn append(path: &Path) -> File {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap()
}

#[test]
fn the_server_writes_complete_lines_to_both_logs() {
    let harness = Harness::new();
    let mut site = Site::new(&harness);
    site.write(2);
    site.begin_line(30);
    site.rotate();
    site.write(1);
    site.reopen();
    site.write(1);
    site.rotate();
    site.reopen();
    site.pack(2);
    let text: String = (0..5).map(numbered).collect();
    assert_eq!(
        (
            fs::read_to_string(harness.path("all.log")).unwrap(),
            site.lines()
        ),
        (text, 5)
    );
    let sums = Sums::scanned(&harness, &[&["log"][..], &QUICK].concat());
    sums.assert_same(&site.expected(), "what lies in the folder");
    assert_eq!(
        (
            sums.get("hits"),
            harness.path("log/access.log.2.gz").exists()
        ),
        (5, true)
    );
}
