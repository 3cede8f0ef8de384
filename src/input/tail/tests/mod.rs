//! Behavior of the tail: rotations, truncations and restarts, as single cases and as random
//! programs.

mod compressed;
mod model;
mod open_files;
mod read_once;
mod read_once_model;
mod rotation;
mod unusual_files;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{LineChunk, StartPosition, Tail, TailOptions};
use crate::input::read::Body;
use crate::log::source::Checkpoint;

/// As many open files as these tests need.
const MAX_OPEN: usize = 1000;
/// Limits of open files. With 0, every file is closed after each poll and each read that it can be
/// closed after.
pub(super) const FILE_LIMITS: [usize; 3] = [MAX_OPEN, 1, 0];

/// A line that the tail returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EmittedLine {
    log: u32,
    generation: u64,
    offset: u64,
    number: u64,
    /// The line without its newline; `None` for one over the limit.
    text: Option<String>,
}

/// A folder, a tail that follows files in it, and a simulated clock.
pub(super) struct TailHarness {
    folder: TempDir,
    paths: Vec<PathBuf>,
    options: TailOptions,
    tail: Tail,
    now: Instant,
    emitted: Vec<EmittedLine>,
    notices: Vec<String>,
}

impl TailHarness {
    /// A tail that follows `names` in a new folder, after `prepare` created the initial files.
    fn new(names: &[&str], from_start: bool, prepare: impl FnOnce(&Path)) -> Self {
        let folder = TempDir::new().unwrap();
        prepare(folder.path());
        let paths: Vec<_> = names.iter().map(|name| folder.path().join(name)).collect();
        let start = if from_start {
            StartPosition::Start
        } else {
            StartPosition::End
        };
        let options = TailOptions {
            start,
            max_line: 4096,
            block: 512,
            max_open: MAX_OPEN,
        };
        let tail = Tail::new(paths.clone(), options.clone(), None);
        let mut harness = Self {
            folder,
            paths,
            options,
            tail,
            now: Instant::now(),
            emitted: Vec::new(),
            notices: Vec::new(),
        };
        harness.poll_and_read();
        harness
    }

    /// Follows `access.log` from its start.
    fn from_start() -> Self {
        Self::new(&["access.log"], true, |_| {})
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn poll(&mut self) {
        self.tail.poll(self.now, None);
        self.notices
            .extend(self.tail.notices().into_iter().map(|notice| notice.what));
    }

    /// Polls and reads until there is no more data.
    fn poll_and_read(&mut self) {
        self.poll();
        let emitted = &mut self.emitted;
        let mut turns = 0;
        while self.tail.read(&mut |piece| record(emitted, piece)) {
            turns += 1;
            assert!(turns < 100_000, "reads without end");
        }
    }

    /// Polls and reads repeatedly while `seconds` pass.
    fn wait(&mut self, seconds: u64) {
        for _ in 0..seconds * 4 {
            self.now += Duration::from_millis(250);
            self.poll_and_read();
        }
    }

    /// Restarts as after a kill: reads since these checkpoints are lost.
    fn restart(&mut self, checkpoints: Vec<Checkpoint>) {
        self.tail = Tail::new(self.paths.clone(), self.options.clone(), Some(checkpoints));
        self.poll_and_read();
    }

    fn append(&self, name: &str, text: &str) {
        append(&self.path(name), text);
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    fn copy_truncate(&self, from: &str, to: &str) {
        fs::copy(self.path(from), self.path(to)).unwrap();
        OpenOptions::new()
            .write(true)
            .open(self.path(from))
            .unwrap()
            .set_len(0)
            .unwrap();
    }

    fn gzip(&self, name: &str) {
        gzip(&self.path(name));
    }

    fn lines(&self) -> Vec<&str> {
        self.emitted
            .iter()
            .map(|emitted| emitted.text.as_deref().unwrap_or("OVERSIZED"))
            .collect()
    }

    /// Asserts that the numbered lines were returned in order.
    fn assert_numbers(&self, count: usize) {
        let emitted: Vec<_> = self.lines().iter().map(|text| number_of(text)).collect();
        assert_eq!(
            emitted,
            (0..count).map(Some).collect::<Vec<_>>(),
            "{:?}",
            self.notices
        );
    }
}

/// Records the lines of a chunk.
pub(super) fn record(emitted: &mut Vec<EmittedLine>, piece: LineChunk<'_>) {
    let LineChunk {
        log,
        generation,
        lines_before,
        ..
    } = piece;
    let mut number = lines_before;
    let mut offset = piece.chunk.offset;
    let mut push = |text: Option<String>, length: u64| {
        number += 1;
        emitted.push(EmittedLine {
            log,
            generation,
            offset,
            number,
            text,
        });
        offset += length;
    };
    match piece.chunk.body {
        Body::Skipped(skipped) => {
            for _ in 0..skipped.lines() {
                push(None, skipped.bytes);
            }
        }
        Body::Lines(lines) => {
            assert!(!lines.is_empty());
            for line in lines.split_inclusive(|&byte| byte == b'\n') {
                let text = line.strip_suffix(b"\n").unwrap_or(line);
                push(
                    Some(String::from_utf8_lossy(text).into_owned()),
                    line.len() as u64,
                );
            }
        }
    }
}

/// The line with this number, in a log format.
pub(super) fn line(number: usize) -> String {
    format!(
        "192.0.2.7 - - [21/Nov/2026:10:00:00 +0000] \"GET /{number} HTTP/1.1\" 200 5 \"-\" \"-\"\n"
    )
}

/// The number of such a line; `None` if it is garbled.
pub(super) fn number_of(text: &str) -> Option<usize> {
    let number = text
        .split('/')
        .nth(3)?
        .strip_suffix(" HTTP")?
        .parse()
        .ok()?;
    (line(number).trim_end() == text).then_some(number)
}

pub(super) fn lines(numbers: std::ops::Range<usize>) -> String {
    numbers.map(line).collect()
}

pub(super) fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Compresses a file as `gzip` does, and then removes the original.
pub(super) fn gzip(path: &Path) {
    let compressed = PathBuf::from(format!("{}.gz", path.display()));
    let out = File::create(compressed).unwrap();
    let done = Command::new("gzip")
        .arg("-c")
        .stdin(File::open(path).unwrap())
        .stdout(Stdio::from(out))
        .status()
        .unwrap();
    assert!(done.success());
    fs::remove_file(path).unwrap();
}
