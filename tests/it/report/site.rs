//! A server that writes numbered lines into a log, and a copy of everything it ever wrote.
//!
//! Each line is a probe of a path of its own, so that a line that is lost is told from one that is counted twice.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::harness::{self, Out, QUICK, Sums};
use crate::harness::{Harness, Run, finish, line};

/// The log, below the folder of the rig.
pub(super) const LOG: &str = "log/access.log";

/// The server.
pub(super) struct Site<'a> {
    pub(super) harness: &'a Harness,
    /// As the server holds it open.
    log: File,
    /// Every line, whole and in order.
    all: File,
    next: u64,
    /// What is missing of the line that was begun.
    rest: Option<(String, usize)>,
}

/// The line with this number.
pub(super) fn numbered(number: u64) -> String {
    let status = if number.is_multiple_of(7) { 200 } else { 404 };
    line(&format!("192.0.2.{}", number % 50), &format!("GET /{number:07}/.git/config HTTP/1.1"), status)
}

impl<'a> Site<'a> {
    /// With an empty log in a folder of its own.
    pub(super) fn new(harness: &'a Harness) -> Self {
        fs::create_dir_all(harness.path("log")).unwrap();
        Self { harness, log: append(&harness.path(LOG)), all: append(&harness.path("all.log")), next: 0, rest: None }
    }

    /// Writes so many lines.
    pub(super) fn write(&mut self, lines: u64) {
        for _ in 0..lines {
            let line = numbered(self.next);
            self.next += 1;
            self.put(&line);
        }
    }

    /// Writes any whole lines.
    pub(super) fn put(&mut self, text: &str) {
        self.finish_line();
        self.log.write_all(text.as_bytes()).unwrap();
        self.all.write_all(text.as_bytes()).unwrap();
    }

    /// Writes the first bytes of the next line.
    pub(super) fn begin_line(&mut self, bytes: usize) {
        self.finish_line();
        let line = numbered(self.next);
        self.next += 1;
        self.log.write_all(&line.as_bytes()[..bytes]).unwrap();
        self.rest = Some((line, bytes));
    }

    /// Writes what is missing of a line that was begun.
    pub(super) fn finish_line(&mut self) {
        if let Some((line, bytes)) = self.rest.take() {
            self.log.write_all(&line.as_bytes()[bytes..]).unwrap();
            self.all.write_all(line.as_bytes()).unwrap();
        }
    }

    /// Forgets a line that was begun: a crash of the server, say.
    pub(super) fn drop_line(&mut self) {
        self.rest = None;
    }

    /// Lines so far.
    pub(super) fn lines(&self) -> u64 {
        self.next
    }

    /// As a server does when it is told that its log was moved.
    pub(super) fn reopen(&mut self) {
        self.log = append(&self.harness.path(LOG));
    }

    /// Moves the log and all old ones on by one number, as logrotate does; the server keeps what it has open.
    pub(super) fn rotate(&self) {
        let old = |number: u32, packed: &str| self.harness.path(format!("{LOG}.{number}{packed}"));
        let last = (1..10_000).find(|&n| !old(n, "").exists() && !old(n, ".gz").exists()).unwrap();
        for number in (1..last).rev() {
            for packed in ["", ".gz"] {
                if old(number, packed).exists() {
                    fs::rename(old(number, packed), old(number + 1, packed)).unwrap();
                }
            }
        }
        fs::rename(self.harness.path(LOG), old(1, "")).unwrap();
        append(&self.harness.path(LOG));
    }

    /// Packs the old log with this number, as gzip does: the packed one is there before the plain one goes.
    pub(super) fn pack(&self, number: u32) {
        let plain = self.harness.path(format!("{LOG}.{number}"));
        let Ok(text) = fs::read(&plain) else { return };
        let mut packed = GzEncoder::new(File::create_new(with_gz(&plain)).unwrap(), Compression::fast());
        packed.write_all(&text).unwrap();
        packed.finish().unwrap();
        fs::remove_file(plain).unwrap();
    }

    /// `report` of the log, with the rule that its lines match.
    pub(super) fn args<'b>(args: &[&'b str]) -> Vec<&'b str> {
        [&QUICK, args, &[LOG]].concat()
    }

    /// Runs it over the log, and gives how it went.
    pub(super) fn try_run(&self, args: &[&str]) -> Run {
        finish(&mut harness::command(self.harness, &Self::args(args)))
    }

    /// Runs it over the log, which has to go well.
    pub(super) fn run(&self, args: &[&str]) -> Run {
        let run = self.try_run(args);
        assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
        run
    }

    /// What one scan of all lines finds.
    pub(super) fn expected(&self) -> Sums {
        Sums::scanned(self.harness, &[&["all.log"][..], &QUICK].concat())
    }

    /// The reports of all runs add up to all lines, and nothing is left beside them.
    pub(super) fn settle(&self, when: &str) -> Out {
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
    OpenOptions::new().append(true).create(true).open(path).unwrap()
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
    assert_eq!((fs::read_to_string(harness.path("all.log")).unwrap(), site.lines()), (text, 5));
    let sums = Sums::scanned(&harness, &[&["log"][..], &QUICK].concat());
    sums.assert_same(&site.expected(), "what lies in the folder");
    assert_eq!((sums.get("hits"), harness.path("log/access.log.2.gz").exists()), (5, true));
}
