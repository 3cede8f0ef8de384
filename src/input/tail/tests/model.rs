//! Tests the tail against a model with random programs of writes, rotations, copies, truncations,
//! compressions, deletions, stalls and kills.
//!
//! The model is the disk. A line is expected from the first poll at which it is complete in any
//! file of the log, and also if it is there at the end. Expected lines must be returned once,
//! others at most once. After a kill, only lines returned since the last saved checkpoints may be
//! returned again, with the same generation and offset.
//!
//! Lines destroyed before a poll are not expected, nor are lines with halves in two files. Three
//! more cases are excused, since the disk looks the same as in a correct case. First, a file of
//! another name beside a log that is followed alone belongs to it only by its inode and content:
//! without a saved checkpoint, or if it is a copy and nothing of it was read, it belongs to another
//! log. Second, a file of an unrelated name with the content of a log that still exists may be a
//! second log of the same server; that it is a copy shows only when the log is truncated. The same
//! applies to less than a kilobyte in a renamed log that had no whole line at the last poll, and
//! that the server may still write to.
//!
//! Random programs run with files open. The inode of a closed file can be given to a copy of the
//! next log, whose lines may then be returned twice: the single programs and `open_files` test that
//! limit.
//!
//! Runs 300 programs, or the number in `PROBEWATCH_MODEL_PROGRAMS` (`benches/model.sh` runs
//! 50,000).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tempfile::TempDir;

use super::{EmittedLine, FILE_LIMITS, MAX_OPEN, line, lines, number_of, record};
use crate::input::tail::{StartPosition, Tail, TailOptions};
use crate::log::source::{Checkpoint, ContentHash, HEAD};

/// Number of rotated files that are kept.
const KEPT_FILES: usize = 4;

#[derive(Debug, Clone, Copy)]
enum ModelStep {
    /// Writes whole lines; the first one completes a partial line.
    Write(usize),
    /// Writes N bytes of a line.
    Partial(usize),
    /// Renames the log; the writer keeps its file open.
    Rotate {
        create: bool,
    },
    /// The writer reopens the path.
    Reopen,
    /// Copies and truncates; lines written in between are lost. Optionally polls while the copy is
    /// incomplete, and in between.
    CopyTruncate {
        polls: bool,
        between: usize,
    },
    /// Truncates without a copy.
    Truncate,
    /// Compresses the newest uncompressed rotated file; optionally polls while that is incomplete.
    Compress {
        polls: bool,
        starts: bool,
    },
    /// Deletes the oldest rotated file.
    Delete,
    /// Polls, reads, and saves the checkpoints.
    PollStep,
    /// Polls and reads, and saves no checkpoints.
    PollUnsaved,
    /// Polls until quiet files are closed.
    Wait,
    /// Kills the tail and restarts it with the last saved checkpoints.
    Kill,
    /// Moves the log away, polls, moves it back, and optionally polls.
    AwayAndBack {
        polls: bool,
    },
    /// Moves the log to an unusual name, or copies it there and truncates it, or compresses it.
    Away {
        name: usize,
        how: ModelMove,
    },
    /// Lets the path lead to a new file with a running number. A log that is no link is rotated
    /// first.
    Link,
    /// Kills the tail; there is no poll until it is restarted.
    Down,
    Up,
}

/// How a log gets another name.
#[derive(Debug, Clone, Copy)]
enum ModelMove {
    Rename { create: bool },
    CopyTruncate { polls: bool },
    Gzip,
}

/// Names that no rotation tool gives.
const UNUSUAL_NAMES: [&str; 4] = [
    "access.log.bak",
    "access-1.log",
    "old.log",
    "access.log.1-backup",
];

/// The names of files that the path leads to as a link, up to their numbers.
const TARGET: &str = "real-";

fn step() -> impl Strategy<Value = ModelStep> {
    prop_oneof![
        6 => (1usize..30).prop_map(ModelStep::Write),
        2 => (1usize..70).prop_map(ModelStep::Partial),
        3 => any::<bool>().prop_map(|create| ModelStep::Rotate { create }),
        3 => Just(ModelStep::Reopen),
        3 => (any::<bool>(), 0usize..3).prop_map(|(polls, between)| ModelStep::CopyTruncate { polls, between }),
        1 => Just(ModelStep::Truncate),
        2 => any::<(bool, bool)>().prop_map(|(polls, starts)| ModelStep::Compress { polls, starts }),
        1 => Just(ModelStep::Delete),
        5 => Just(ModelStep::PollStep),
        2 => Just(ModelStep::PollUnsaved),
        1 => Just(ModelStep::Wait),
        2 => Just(ModelStep::Kill),
        1 => any::<bool>().prop_map(|polls| ModelStep::AwayAndBack { polls }),
        2 => (0..UNUSUAL_NAMES.len(), how()).prop_map(|(name, how)| ModelStep::Away { name, how }),
        2 => Just(ModelStep::Link),
        1 => Just(ModelStep::Down),
        1 => Just(ModelStep::Up),
    ]
}

fn how() -> impl Strategy<Value = ModelMove> {
    prop_oneof![
        2 => any::<bool>().prop_map(|create| ModelMove::Rename { create }),
        2 => any::<bool>().prop_map(|polls| ModelMove::CopyTruncate { polls }),
        1 => Just(ModelMove::Gzip),
    ]
}

/// The state of one program.
struct TailModel {
    folder: TempDir,
    paths: Vec<PathBuf>,
    options: TailOptions,
    tail: Tail,
    is_down: bool,
    now: Instant,
    state: Vec<Checkpoint>,
    writer: File,
    /// Number of targets that the path had as a link.
    targets: usize,
    /// Number of the next line, and how many of its bytes were written.
    next: usize,
    written: usize,
    /// Halves of lines that a truncation divided. They may be returned as they are.
    fragments: HashSet<String>,
    /// Lines that were returned unfinished, after their file was quiet for long.
    returned_early: HashSet<usize>,
    expected: BTreeSet<usize>,
    /// The first ID of each line.
    emitted: HashMap<usize, (u64, u64)>,
    /// Returned since the checkpoints were saved.
    unsaved: Vec<usize>,
    /// May be returned again.
    may_repeat: HashSet<usize>,
    /// The last offset and line number, by log.
    order: HashMap<u32, (u64, u64)>,
    text_of: HashMap<(u64, u64), String>,
    /// The files without a whole line at the last poll, by inode.
    unstarted: HashSet<u64>,
}

impl TailModel {
    fn new(folder_given: bool, old: bool, max_open: usize) -> Self {
        let folder = TempDir::new().unwrap();
        let log = folder.path().join("access.log");
        if old {
            fs::write(&log, lines(900_000..900_020)).unwrap();
            fs::write(folder.path().join("access.log.1"), lines(800_000..800_020)).unwrap();
        }
        let paths = vec![if folder_given {
            folder.path().to_owned()
        } else {
            log.clone()
        }];
        let options = TailOptions {
            start: StartPosition::End,
            max_line: 4096,
            block: 700,
            max_open,
        };
        let tail = Tail::new(paths.clone(), options.clone(), None);
        let mut model = Self {
            writer: writer(&log),
            folder,
            paths,
            options,
            tail,
            is_down: false,
            now: Instant::now(),
            state: Vec::new(),
            targets: 0,
            next: 0,
            written: 0,
            fragments: HashSet::new(),
            returned_early: HashSet::new(),
            expected: BTreeSet::new(),
            emitted: HashMap::new(),
            unsaved: Vec::new(),
            may_repeat: HashSet::new(),
            order: HashMap::new(),
            text_of: HashMap::new(),
            unstarted: HashSet::new(),
        };
        model.poll(true);
        model
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn step(&mut self, step: ModelStep) {
        match step {
            ModelStep::Write(count) => self.write(count),
            ModelStep::Partial(bytes) => self.partial(bytes),
            ModelStep::Rotate { create } => {
                self.shift();
                let _ = fs::rename(self.path("access.log"), self.path("access.log.1"));
                if create {
                    File::create_new(self.path("access.log")).unwrap();
                }
            }
            ModelStep::Reopen => self.reopen(),
            ModelStep::CopyTruncate { polls, between } => self.copy_truncate(polls, between),
            ModelStep::Truncate => self.truncate(),
            ModelStep::Compress { polls, starts } => self.compress(polls, starts),
            ModelStep::Delete => {
                if let Some(oldest) = self.rotated().pop() {
                    fs::remove_file(oldest).unwrap();
                }
            }
            ModelStep::PollStep => self.poll(true),
            ModelStep::PollUnsaved => self.poll(false),
            ModelStep::Wait => self.wait(),
            ModelStep::Kill | ModelStep::Up => self.kill(),
            ModelStep::Link => self.link(),
            ModelStep::Down => self.is_down = true,
            ModelStep::Away { name, how } => self.away(UNUSUAL_NAMES[name], how),
            ModelStep::AwayAndBack { polls } => {
                if fs::rename(self.path("access.log"), self.path("away")).is_ok() {
                    self.poll(true);
                    if self.path("access.log").exists() {
                        fs::remove_file(self.path("away")).unwrap();
                    } else {
                        fs::rename(self.path("away"), self.path("access.log")).unwrap();
                        if polls {
                            self.poll(true);
                        }
                    }
                }
            }
        }
    }

    fn write(&mut self, count: usize) {
        for _ in 0..count {
            self.writer
                .write_all(&line(self.next).as_bytes()[self.written..])
                .unwrap();
            self.next += 1;
            self.written = 0;
        }
    }

    fn partial(&mut self, bytes: usize) {
        let line = line(self.next);
        let end = (self.written + bytes).min(line.len() - 1);
        self.writer
            .write_all(&line.as_bytes()[self.written..end])
            .unwrap();
        self.written = end;
    }

    /// The rest of a partial line is written to another file or lost: neither half is a line.
    fn divide(&mut self) {
        if self.written > 0 {
            let line = line(self.next);
            self.fragments.insert(line[..self.written].to_owned());
            self.fragments
                .insert(line[self.written..].trim_end().to_owned());
            self.writer
                .write_all(&line.as_bytes()[self.written..])
                .unwrap();
            self.written = 0;
            self.next += 1;
        }
    }

    /// A writer ends its line before it reopens its log.
    fn reopen(&mut self) {
        if self.written > 0 {
            self.write(1);
        }
        self.writer = writer(&self.path("access.log"));
    }

    /// The rotated files, newest first.
    fn rotated(&self) -> Vec<PathBuf> {
        let names = (1..=KEPT_FILES).flat_map(|number| {
            [
                format!("access.log.{number}"),
                format!("access.log.{number}.gz"),
            ]
        });
        names
            .map(|name| self.path(&name))
            .filter(|path| path.exists())
            .collect()
    }

    /// Makes room for a new `access.log.1`.
    fn shift(&mut self) {
        for ending in ["", ".gz"] {
            let _ = fs::remove_file(self.path(&format!("access.log.{KEPT_FILES}{ending}")));
        }
        for number in (1..KEPT_FILES).rev() {
            for ending in ["", ".gz"] {
                let from = self.path(&format!("access.log.{number}{ending}"));
                let _ = fs::rename(
                    from,
                    self.path(&format!("access.log.{}{ending}", number + 1)),
                );
            }
        }
    }

    fn link(&mut self) {
        // In a folder that is followed, each target is a log of its own.
        if self.paths[0] == self.folder.path() {
            return;
        }
        let log = self.path("access.log");
        if log.exists() && !log.is_symlink() {
            self.shift();
            fs::rename(&log, self.path("access.log.1")).unwrap();
        }
        self.targets += 1;
        let target = format!("{TARGET}{:04}.log", self.targets);
        File::create_new(self.path(&target)).unwrap();
        symlink(target, self.path("next")).unwrap();
        fs::rename(self.path("next"), log).unwrap();
    }

    fn copy_truncate(&mut self, polls: bool, between: usize) {
        let Ok(text) = fs::read(self.path("access.log")) else {
            return;
        };
        self.shift();
        let mut copy = File::create_new(self.path("access.log.1")).unwrap();
        copy.write_all(&text[..text.len() / 2]).unwrap();
        if polls {
            self.poll(true);
        }
        copy.write_all(&text[text.len() / 2..]).unwrap();
        self.fragments
            .insert(line(self.next)[..self.written].to_owned());
        if polls {
            self.poll(false);
        }
        self.write(between);
        self.truncate();
    }

    fn truncate(&mut self) {
        if let Ok(file) = OpenOptions::new().write(true).open(self.path("access.log")) {
            file.set_len(0).unwrap();
            self.divide();
        }
    }

    fn away(&mut self, name: &str, how: ModelMove) {
        let (log, away) = (self.path("access.log"), self.path(name));
        if !log.exists() || log.is_symlink() {
            return;
        }
        let _ = fs::remove_file(self.path(&format!("{name}.gz")));
        match how {
            ModelMove::Rename { create } => {
                fs::rename(&log, away).unwrap();
                if create {
                    File::create_new(log).unwrap();
                }
            }
            ModelMove::CopyTruncate { polls } => {
                let is_unstarted = fs::metadata(&away)
                    .is_ok_and(|found| found.len() == 0 || self.unstarted.contains(&found.ino()));
                let copied = fs::copy(&log, away).unwrap();
                self.fragments
                    .insert(line(self.next)[..self.written].to_owned());
                // A server may write the same lines to two logs: while both exist, only the name
                // shows which is a copy, and few lines in a log that had no whole line at the last
                // poll may be the server's own.
                let may_be_its_own = is_unstarted && copied < HEAD as u64;
                if polls && name.starts_with("access") && !may_be_its_own {
                    self.poll(false);
                }
                self.truncate();
            }
            ModelMove::Gzip => {
                fs::rename(&log, &away).unwrap();
                self.compress_file(&away, false, false);
            }
        }
    }

    fn compress(&mut self, polls: bool, starts: bool) {
        let is_plain = |path: &PathBuf| {
            path.extension().is_none_or(|ending| ending != "gz") && !path.is_symlink()
        };
        let Some(plain) = self.rotated().into_iter().find(is_plain) else {
            return;
        };
        self.compress_file(&plain, polls, starts);
    }

    fn compress_file(&mut self, plain: &Path, polls: bool, starts: bool) {
        let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
        compressed.write_all(&fs::read(plain).unwrap()).unwrap();
        self.fragments
            .insert(line(self.next)[..self.written].to_owned());
        let compressed = compressed.finish().unwrap();
        let mut out = File::create(format!("{}.gz", plain.display())).unwrap();
        out.write_all(&compressed[..compressed.len() / 2]).unwrap();
        if starts {
            self.kill();
        }
        if polls {
            self.poll(true);
        }
        out.write_all(&compressed[compressed.len() / 2..]).unwrap();
        if starts {
            self.kill();
        }
        if polls {
            self.poll(false);
        }
        fs::remove_file(plain).unwrap();
    }

    fn poll(&mut self, save: bool) {
        if self.is_down {
            return;
        }
        self.record_expected();
        let files = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let unstarted = files.filter(|file| !fs::read(file).unwrap().contains(&b'\n'));
        self.unstarted = unstarted
            .map(|file| fs::metadata(file).unwrap().ino())
            .collect();
        self.now += Duration::from_millis(250);
        // All paths count as changed, also the one that a log was moved away from, so that a late
        // line in a closed log is found at once.
        let names = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .chain([self.path("access.log")]);
        self.tail.poll(self.now, Some(&names.collect()));
        self.tail.poll(self.now, None);
        if self.tail.has_new_generation() {
            self.save();
        }
        self.read();
        if save {
            self.save();
        }
    }

    fn save(&mut self) {
        self.state = self.tail.checkpoints();
        let names: Vec<_> = self
            .state
            .iter()
            .map(|checkpoint| checkpoint.generation)
            .filter(|name| *name != 0)
            .collect();
        assert_eq!(
            names.len(),
            names.iter().collect::<HashSet<_>>().len(),
            "a name was given twice"
        );
        let done: HashMap<u64, u64> = self
            .state
            .iter()
            .map(|checkpoint| (checkpoint.generation, checkpoint.offset))
            .collect();
        let emitted = &self.emitted;
        let after_checkpoint = |number: &usize| {
            emitted
                .get(number)
                .is_some_and(|(name, offset)| done.get(name).is_some_and(|done| offset >= done))
        };
        self.unsaved.retain(after_checkpoint);
        self.may_repeat.retain(after_checkpoint);
    }

    fn read(&mut self) {
        let mut emitted = Vec::new();
        let mut turns = 0;
        while self.tail.read(&mut |piece| record(&mut emitted, piece)) {
            turns += 1;
            assert!(turns < 10_000, "reads without end");
        }
        for emitted in emitted {
            self.receive(&emitted);
        }
    }

    fn receive(&mut self, emitted: &EmittedLine) {
        let text = emitted.text.clone().expect("no line is too long");
        let position = (emitted.offset, emitted.number);
        let before = self.order.insert(emitted.log, position);
        assert!(
            before.is_none_or(|(offset, number)| offset < position.0 && number < position.1),
            "out of order: {text}"
        );
        let id = (emitted.generation, emitted.offset);
        let first = self.text_of.entry(id).or_insert_with(|| text.clone());
        // A file may have been compressed when half of its last line was written.
        let same = first.starts_with(&text) || text.starts_with(&*first);
        assert!(same, "two lines have the name {id:?}: {first} and {text}");
        let Some(number) = number_of(&text) else {
            let fragments = |this: &Self| {
                this.fragments.contains(&text)
                    || this
                        .returned_early
                        .iter()
                        .any(|number| line(*number).contains(&text))
            };
            assert!(
                self.is_unfinished(&text) || fragments(self),
                "garbled: {text}"
            );
            return;
        };
        assert!(number < 800_000, "old: {text}");
        // All but its newline was there when its file was closed.
        let _ = self.is_unfinished(&text) && self.returned_early.remove(&number);
        match self.emitted.insert(number, id) {
            None => {}
            Some(_) if !self.may_repeat.remove(&number) => panic!("doubled: {number}"),
            Some(first) => assert_eq!(first, id, "line {number} came again under another name"),
        }
        self.unsaved.push(number);
    }

    /// Whether it is the start of the line that is being written, in a file that was closed for
    /// good.
    fn is_unfinished(&mut self, text: &str) -> bool {
        let line = line(self.next);
        let written = &line[..self.written];
        let unfinished = self.written > 0
            && (text == written
                || self.returned_early.contains(&self.next) && written.ends_with(text));
        if unfinished {
            // The rest may still be returned as a separate line.
            self.returned_early.insert(self.next);
            self.fragments
                .insert(line[self.written..].trim_end().to_owned());
        }
        unfinished
    }

    fn wait(&mut self) {
        for _ in 0..16 {
            self.now += Duration::from_secs(5);
            self.poll(true);
        }
    }

    fn kill(&mut self) {
        self.is_down = false;
        self.may_repeat.extend(self.unsaved.drain(..));
        self.order.clear();
        self.tail = Tail::new(
            self.paths.clone(),
            self.options.clone(),
            Some(self.state.clone()),
        );
        self.poll(false);
    }

    /// All whole lines on disk are expected from now on.
    fn record_expected(&mut self) {
        let files = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        for file in files.collect::<Vec<_>>() {
            let text = text_of(&file);
            let complete = text.rfind('\n').map_or("", |end| &text[..end]);
            if !self.is_known(&file, complete) {
                continue;
            }
            self.expected.extend(
                complete
                    .lines()
                    .filter_map(number_of)
                    .filter(|number| *number < 800_000),
            );
        }
    }

    /// A file of any name belongs to a log only if some of its content was read and saved. If only
    /// a file is followed, there is no other evidence.
    fn is_known(&self, file: &Path, text: &str) -> bool {
        let name = file.file_name().unwrap().to_str().unwrap();
        if name.starts_with(TARGET) {
            // Only a link shows that its targets belong to the log. A late line after the last link
            // was removed is lost.
            return self
                .rotated()
                .iter()
                .chain([&self.path("access.log")])
                .any(|path| path.is_symlink());
        }
        let is_given = self.paths[0] == self.folder.path()
            || name == "access.log"
            || self.rotated().iter().any(|rotated| rotated == file);
        let is_kept = |number: usize| {
            number >= 800_000
                || self.emitted.contains_key(&number)
                    && !self.unsaved.contains(&number)
                    && !self.may_repeat.contains(&number)
        };
        is_given || text.lines().find_map(number_of).is_some_and(is_kept) || self.is_in_state(file)
    }

    /// Whether a file is one of a checkpoint, by its inode and its head, even if nothing of it was
    /// returned. A new file may have the inode of a deleted one, and the same few bytes of a first
    /// line.
    fn is_in_state(&self, file: &Path) -> bool {
        let (Ok(metadata), Ok(bytes)) = (fs::metadata(file), fs::read(file)) else {
            return false;
        };
        let is_it = |known: &Checkpoint| {
            let begins =
                |head: &[u8]| head.contains(&b'\n') && ContentHash::new(head) == known.head;
            known.inode == metadata.ino()
                && bytes.get(..known.head.bytes as usize).is_some_and(begins)
        };
        self.state.iter().any(is_it)
    }

    fn end(mut self) {
        if self.is_down {
            self.kill();
        }
        self.wait();
        self.wait();
        let expected = self
            .expected
            .iter()
            .filter(|number| !self.returned_early.contains(number));
        let lost: Vec<_> = expected
            .filter(|number| !self.emitted.contains_key(number))
            .collect();
        assert!(
            lost.is_empty(),
            "lost: {lost:?}; notices: {:?}",
            self.tail.notices()
        );
    }
}

fn writer(path: &Path) -> File {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap()
}

/// The text of a file, as far as it can be decompressed.
fn text_of(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let mut text = Vec::new();
    if bytes.starts_with(b"\x1f\x8b") {
        let _ = MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text);
    } else {
        text = bytes;
    }
    String::from_utf8(text).unwrap()
}

fn programs() -> u32 {
    std::env::var("PROBEWATCH_MODEL_PROGRAMS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(300)
}

/// Runs a program with many open files, and with as few as possible; follows the folder, or only
/// the log.
fn run(folder: bool, old: bool, steps: impl IntoIterator<Item = ModelStep>) {
    let steps: Vec<ModelStep> = steps.into_iter().collect();
    for max_open in FILE_LIMITS {
        run_with(folder, old, max_open, &steps);
    }
}

fn run_with(folder: bool, old: bool, max_open: usize, steps: &[ModelStep]) {
    let mut model = TailModel::new(folder, old, max_open);
    for step in steps {
        model.step(*step);
    }
    model.end();
}

/// The file that is overwritten with the copy was the log before, and is still open.
#[test]
fn a_log_is_copied_over_the_previous_one() {
    let before = ModelStep::Away {
        name: 0,
        how: ModelMove::Rename { create: false },
    };
    let over = ModelStep::Away {
        name: 0,
        how: ModelMove::CopyTruncate { polls: true },
    };
    run(
        false,
        true,
        [
            before,
            ModelStep::Write(1),
            ModelStep::Reopen,
            ModelStep::Write(1),
            over,
        ],
    );
}

/// The copy was recorded while it was incomplete, and the log itself was read further by then.
#[test]
fn a_log_is_moved_back_and_copied_between_two_polls() {
    let copy = ModelStep::CopyTruncate {
        polls: true,
        between: 0,
    };
    run(
        true,
        false,
        [
            ModelStep::Write(2),
            ModelStep::AwayAndBack { polls: false },
            copy,
            ModelStep::Write(1),
            ModelStep::Down,
        ],
    );
}

/// The rest of the first copy is being read when it is overwritten with a copy of the new log.
#[test]
fn a_copy_is_overwritten_with_a_copy_of_the_next_log() {
    let copy = ModelStep::Away {
        name: 1,
        how: ModelMove::CopyTruncate { polls: true },
    };
    let compress = ModelStep::Compress {
        polls: true,
        starts: false,
    };
    let rotate = ModelStep::Rotate { create: false };
    run(
        true,
        false,
        [
            ModelStep::Write(1),
            copy,
            rotate,
            ModelStep::Reopen,
            compress,
            ModelStep::Write(1),
            copy,
        ],
    );
}

/// The file that is copied over was renamed when it was empty.
#[test]
fn a_log_that_is_copied_over_an_empty_one() {
    let before = ModelStep::Away {
        name: 3,
        how: ModelMove::Rename { create: false },
    };
    let over = |polls| ModelStep::Away {
        name: 3,
        how: ModelMove::CopyTruncate { polls },
    };
    run(
        false,
        false,
        [before, ModelStep::Reopen, ModelStep::Write(30), over(true)],
    );
    run(
        false,
        false,
        [
            before,
            ModelStep::Reopen,
            ModelStep::Write(1),
            ModelStep::PollStep,
            over(false),
            ModelStep::PollStep,
        ],
    );
}

/// The few bytes in a truncated log are not a copy of any file with the same start.
#[test]
fn a_line_that_begins_in_a_truncated_log_that_is_rotated() {
    let copy = ModelStep::CopyTruncate {
        polls: false,
        between: 0,
    };
    let begun = [
        copy,
        ModelStep::Partial(1),
        ModelStep::PollStep,
        ModelStep::AwayAndBack { polls: false },
        ModelStep::Rotate { create: false },
    ];
    run(
        false,
        true,
        begun
            .into_iter()
            .chain([ModelStep::Partial(72), ModelStep::Wait, ModelStep::Reopen]),
    );
}

/// It was closed under a name that no rotation gives, and is gone soon after its late line.
#[test]
fn a_late_line_in_a_log_that_was_moved_away() {
    let away = |create| ModelStep::Away {
        name: 3,
        how: ModelMove::Rename { create },
    };
    run(
        false,
        true,
        [
            ModelStep::Delete,
            away(true),
            ModelStep::Wait,
            ModelStep::Write(1),
            ModelStep::PollStep,
            away(false),
        ],
    );
}

/// After the restart, the log continues in its copy. The compressed file is a copy of it too, not
/// more of the first half that was recorded.
#[test]
fn the_copy_of_a_log_that_was_moved_away_and_back_is_compressed() {
    let copy = ModelStep::CopyTruncate {
        polls: true,
        between: 0,
    };
    let compress = ModelStep::Compress {
        polls: false,
        starts: true,
    };
    run(
        true,
        false,
        [
            ModelStep::Write(2),
            ModelStep::AwayAndBack { polls: false },
            ModelStep::Partial(1),
            copy,
            compress,
        ],
    );
}

/// The copy was recorded up to the middle of a line.
#[test]
fn a_copy_that_ended_within_a_line_grows() {
    let copy = ModelStep::CopyTruncate {
        polls: true,
        between: 0,
    };
    let half = [
        ModelStep::Partial(13),
        ModelStep::Truncate,
        ModelStep::Partial(64),
        ModelStep::AwayAndBack { polls: false },
        copy,
    ];
    run(true, false, half.into_iter().chain([ModelStep::Kill]));
    run(
        true,
        false,
        half.into_iter().chain([
            ModelStep::Down,
            ModelStep::Compress {
                polls: false,
                starts: false,
            },
        ]),
    );
}

/// The file that is copied over was renamed when it was empty, and loses its name to the truncated
/// log.
#[test]
fn a_copy_that_is_replaced_by_the_truncated_log() {
    let rename = ModelStep::Away {
        name: 2,
        how: ModelMove::Rename { create: false },
    };
    let copy = ModelStep::Away {
        name: 2,
        how: ModelMove::CopyTruncate { polls: false },
    };
    run(
        true,
        false,
        [
            rename,
            ModelStep::Reopen,
            ModelStep::Write(1),
            ModelStep::PollStep,
            copy,
            rename,
        ],
    );
}

/// A copy is overwritten with a copy of the log that was truncated and written to since.
#[test]
fn a_copy_is_overwritten_after_the_log_was_truncated() {
    let copy = |polls| ModelStep::Away {
        name: 1,
        how: ModelMove::CopyTruncate { polls },
    };
    let write = ModelStep::Write(1);
    run(
        true,
        false,
        [
            write,
            ModelStep::Reopen,
            copy(true),
            write,
            ModelStep::PollStep,
            write,
            copy(false),
        ],
    );
}

/// The compressed file has more bytes than the renamed log, which is compared with it.
#[test]
fn a_log_that_was_moved_away_and_back_is_compressed_under_a_third_name() {
    let compress = ModelStep::Away {
        name: 0,
        how: ModelMove::Gzip,
    };
    run(
        true,
        false,
        [
            ModelStep::AwayAndBack { polls: false },
            ModelStep::Write(1),
            compress,
        ],
    );
    let rotate = ModelStep::Rotate { create: false };
    run(
        true,
        false,
        [
            ModelStep::Partial(1),
            ModelStep::AwayAndBack { polls: false },
            ModelStep::Reopen,
            compress,
            rotate,
        ],
    );
}

/// The log had the name of a rotated file when it was first found, and is compressed and rotated
/// after it was closed.
#[test]
fn a_closed_log_of_a_rotated_name_is_rotated_again() {
    let compress_away = ModelStep::Away {
        name: 0,
        how: ModelMove::Gzip,
    };
    let restarted = [
        compress_away,
        ModelStep::Delete,
        ModelStep::Kill,
        ModelStep::PollStep,
        ModelStep::Reopen,
        ModelStep::Down,
    ];
    let rotate = ModelStep::Rotate { create: false };
    let compress = ModelStep::Compress {
        polls: false,
        starts: false,
    };
    let late = [
        rotate,
        ModelStep::Write(1),
        ModelStep::Up,
        compress,
        ModelStep::Write(1),
        ModelStep::Wait,
        rotate,
        ModelStep::PollStep,
    ];
    run(true, true, restarted.into_iter().chain(late));
}

/// The rotated file was found before the log was created, and is replaced by a copy of it.
#[test]
fn a_rotated_file_is_found_before_its_log() {
    let rotate = ModelStep::Rotate { create: true };
    let missing = [
        ModelStep::Away {
            name: 0,
            how: ModelMove::Gzip,
        },
        ModelStep::Kill,
        rotate,
        rotate,
    ];
    let created = [
        ModelStep::AwayAndBack { polls: false },
        ModelStep::Reopen,
        ModelStep::Write(2),
    ];
    run(
        true,
        false,
        missing
            .into_iter()
            .chain(created)
            .chain([ModelStep::CopyTruncate {
                polls: true,
                between: 0,
            }]),
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: programs(), failure_persistence: None, max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn no_line_is_lost_doubled_or_garbled(
        folder: bool,
        old: bool,
        steps in prop::collection::vec(step(), 1..40),
    ) {
        run_with(folder, old, MAX_OPEN, &steps);
    }
}
