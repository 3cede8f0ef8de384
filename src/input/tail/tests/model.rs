//! A tail against a model: programs of writes, rotations, copies, truncations, packing, deletions, stalls and kills.
//!
//! The model is the disk itself. A line is owed from the first look at which it stood, whole, in any file of the family,
//! and at the end if it stands there then. Owed lines are told once, others at most once; after a kill only those told
//! since the last checkpoints may come again, under the same name and offset.
//!
//! What is destroyed on the disk before a look is not owed, nor is a line of which two files hold one half each. Three things
//! more are excused, as nothing on the disk tells them apart from what is right. A file of another name beside a log that is
//! followed alone is that log's only by its inode and its text: one of which no checkpoint was kept, or that is a copy and of
//! which nothing was read, is another log's. And a file of an unrelated name with the text of a log that is still there may
//! be a second log that the server writes the same lines to; that it was a copy shows only when the log is truncated. The same
//! goes for less than a kilobyte in a log that was renamed while it was empty, and that the server may still write to.
//!
//! Runs 300 programs, or as many as `PROBEWATCH_MODEL_PROGRAMS` says (5,000 for a night).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tempfile::TempDir;

use super::{Told, line, lines, note, number_of};
use crate::input::tail::{First, Options, Tail};
use crate::source::{Checkpoint, Fingerprint, HEAD};

/// Rotated files that are kept.
const KEPT: usize = 4;

#[derive(Debug, Clone, Copy)]
enum Step {
    /// Whole lines; the first one completes a partial line.
    Write(usize),
    /// So many bytes of a line.
    Partial(usize),
    /// Renames; the writer keeps its file.
    Rotate {
        create: bool,
    },
    /// The writer opens the path anew.
    Reopen,
    /// Copies and truncates; lines written between are lost. Perhaps somebody looks while the copy is half done, and
    /// between.
    CopyTruncate {
        looks: bool,
        between: usize,
    },
    /// Truncates without a copy.
    Truncate,
    /// Packs the newest rotated file that is not; perhaps somebody looks while it is half done.
    Compress {
        looks: bool,
        starts: bool,
    },
    /// Deletes the oldest rotated file.
    Delete,
    /// Looks and reads, and keeps the checkpoints.
    Look,
    /// The same without keeping them.
    LookOnly,
    /// The same for a time that closes what is quiet.
    Wait,
    /// Kills and starts anew with the checkpoints kept last.
    Kill,
    /// Moves the log away, looks, moves it back, and perhaps looks.
    AwayAndBack {
        looks: bool,
    },
    /// Moves it to a name that no rotation gives, or copies it there and truncates it, or packs it.
    Away {
        name: usize,
        how: How,
    },
    /// Kills; nothing looks until it is started again.
    Down,
    Up,
}

/// How a log comes by another name.
#[derive(Debug, Clone, Copy)]
enum How {
    Rename { create: bool },
    CopyTruncate { looks: bool },
    Gzip,
}

/// Names that no rotation gives.
const AWAY: [&str; 4] = ["access.log.bak", "access-1.log", "old.log", "access.log.1-2026112223.backup"];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1usize..30).prop_map(Step::Write),
        2 => (1usize..70).prop_map(Step::Partial),
        3 => any::<bool>().prop_map(|create| Step::Rotate { create }),
        3 => Just(Step::Reopen),
        3 => (any::<bool>(), 0usize..3).prop_map(|(looks, between)| Step::CopyTruncate { looks, between }),
        1 => Just(Step::Truncate),
        2 => any::<(bool, bool)>().prop_map(|(looks, starts)| Step::Compress { looks, starts }),
        1 => Just(Step::Delete),
        5 => Just(Step::Look),
        2 => Just(Step::LookOnly),
        1 => Just(Step::Wait),
        2 => Just(Step::Kill),
        1 => any::<bool>().prop_map(|looks| Step::AwayAndBack { looks }),
        2 => (0..AWAY.len(), how()).prop_map(|(name, how)| Step::Away { name, how }),
        1 => Just(Step::Down),
        1 => Just(Step::Up),
    ]
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        2 => any::<bool>().prop_map(|create| How::Rename { create }),
        2 => any::<bool>().prop_map(|looks| How::CopyTruncate { looks }),
        1 => Just(How::Gzip),
    ]
}

/// The world of one program.
struct World {
    folder: TempDir,
    paths: Vec<PathBuf>,
    options: Options,
    tail: Tail,
    is_down: bool,
    now: Instant,
    state: Vec<Checkpoint>,
    writer: File,
    /// The next line's number, and how much of it was written.
    next: usize,
    begun: usize,
    /// What a truncation made of lines that were half written: they may be told as they are.
    torn: HashSet<String>,
    /// Lines that were told unfinished, after their file was quiet for long.
    spoilt: HashSet<usize>,
    owed: BTreeSet<usize>,
    /// What was told of each line, first.
    told: HashMap<usize, (u64, u64)>,
    /// Told since the checkpoints were kept.
    unkept: Vec<usize>,
    /// May be told again.
    again: HashSet<usize>,
    /// The last offset and line number told, by log.
    order: HashMap<u32, (u64, u64)>,
    text_of: HashMap<(u64, u64), String>,
}

impl World {
    fn new(folder_given: bool, old: bool) -> Self {
        let folder = TempDir::new().unwrap();
        let log = folder.path().join("access.log");
        if old {
            fs::write(&log, lines(900_000..900_020)).unwrap();
            fs::write(folder.path().join("access.log.1"), lines(800_000..800_020)).unwrap();
        }
        let paths = vec![if folder_given { folder.path().to_owned() } else { log.clone() }];
        let options = Options { begin: First::End, max_line: 4096, block: 700 };
        let tail = Tail::new(paths.clone(), options.clone(), None);
        let mut world = Self {
            writer: writer(&log),
            folder,
            paths,
            options,
            tail,
            is_down: false,
            now: Instant::now(),
            state: Vec::new(),
            next: 0,
            begun: 0,
            torn: HashSet::new(),
            spoilt: HashSet::new(),
            owed: BTreeSet::new(),
            told: HashMap::new(),
            unkept: Vec::new(),
            again: HashSet::new(),
            order: HashMap::new(),
            text_of: HashMap::new(),
        };
        world.look(true);
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Write(count) => self.write(count),
            Step::Partial(bytes) => self.partial(bytes),
            Step::Rotate { create } => {
                self.shift();
                let _ = fs::rename(self.path("access.log"), self.path("access.log.1"));
                if create {
                    File::create_new(self.path("access.log")).unwrap();
                }
            }
            Step::Reopen => self.reopen(),
            Step::CopyTruncate { looks, between } => self.copy_truncate(looks, between),
            Step::Truncate => self.truncate(),
            Step::Compress { looks, starts } => self.compress(looks, starts),
            Step::Delete => {
                if let Some(oldest) = self.rotated().pop() {
                    fs::remove_file(oldest).unwrap();
                }
            }
            Step::Look => self.look(true),
            Step::LookOnly => self.look(false),
            Step::Wait => self.wait(),
            Step::Kill | Step::Up => self.kill(),
            Step::Down => self.is_down = true,
            Step::Away { name, how } => self.away(AWAY[name], how),
            Step::AwayAndBack { looks } => {
                if fs::rename(self.path("access.log"), self.path("away")).is_ok() {
                    self.look(true);
                    if self.path("access.log").exists() {
                        fs::remove_file(self.path("away")).unwrap();
                    } else {
                        fs::rename(self.path("away"), self.path("access.log")).unwrap();
                        if looks {
                            self.look(true);
                        }
                    }
                }
            }
        }
    }

    fn write(&mut self, count: usize) {
        for _ in 0..count {
            self.writer.write_all(&line(self.next).as_bytes()[self.begun..]).unwrap();
            self.next += 1;
            self.begun = 0;
        }
    }

    fn partial(&mut self, bytes: usize) {
        let line = line(self.next);
        let end = (self.begun + bytes).min(line.len() - 1);
        self.writer.write_all(&line.as_bytes()[self.begun..end]).unwrap();
        self.begun = end;
    }

    /// The rest of a half-written line goes to another file, or to none: neither half is a line.
    fn tear(&mut self) {
        if self.begun > 0 {
            let line = line(self.next);
            self.torn.insert(line[..self.begun].to_owned());
            self.torn.insert(line[self.begun..].trim_end().to_owned());
            self.writer.write_all(&line.as_bytes()[self.begun..]).unwrap();
            self.begun = 0;
            self.next += 1;
        }
    }

    /// A writer ends its line before it opens its log anew.
    fn reopen(&mut self) {
        if self.begun > 0 {
            self.write(1);
        }
        self.writer = writer(&self.path("access.log"));
    }

    /// The rotated files, newest first.
    fn rotated(&self) -> Vec<PathBuf> {
        let names = (1..=KEPT).flat_map(|number| [format!("access.log.{number}"), format!("access.log.{number}.gz")]);
        names.map(|name| self.path(&name)).filter(|path| path.exists()).collect()
    }

    /// Makes room for a new `access.log.1`.
    fn shift(&mut self) {
        for ending in ["", ".gz"] {
            let _ = fs::remove_file(self.path(&format!("access.log.{KEPT}{ending}")));
        }
        for number in (1..KEPT).rev() {
            for ending in ["", ".gz"] {
                let from = self.path(&format!("access.log.{number}{ending}"));
                let _ = fs::rename(from, self.path(&format!("access.log.{}{ending}", number + 1)));
            }
        }
    }

    fn copy_truncate(&mut self, looks: bool, between: usize) {
        let Ok(text) = fs::read(self.path("access.log")) else { return };
        self.shift();
        let mut copy = File::create_new(self.path("access.log.1")).unwrap();
        copy.write_all(&text[..text.len() / 2]).unwrap();
        if looks {
            self.look(true);
        }
        copy.write_all(&text[text.len() / 2..]).unwrap();
        self.torn.insert(line(self.next)[..self.begun].to_owned());
        if looks {
            self.look(false);
        }
        self.write(between);
        self.truncate();
    }

    fn truncate(&mut self) {
        if let Ok(file) = OpenOptions::new().write(true).open(self.path("access.log")) {
            file.set_len(0).unwrap();
            self.tear();
        }
    }

    fn away(&mut self, name: &str, how: How) {
        let (log, away) = (self.path("access.log"), self.path(name));
        if !log.exists() {
            return;
        }
        let _ = fs::remove_file(self.path(&format!("{name}.gz")));
        match how {
            How::Rename { create } => {
                fs::rename(&log, away).unwrap();
                if create {
                    File::create_new(log).unwrap();
                }
            }
            How::CopyTruncate { looks } => {
                let is_empty = fs::metadata(&away).is_ok_and(|found| found.len() == 0);
                let copied = fs::copy(&log, away).unwrap();
                self.torn.insert(line(self.next)[..self.begun].to_owned());
                // A server may write the same lines to two logs: as long as both are there, only the name says which is a copy, and few
                // lines in the log that was renamed while it was empty may be the server's own.
                let may_be_its_own = is_empty && copied < HEAD as u64;
                if looks && name.starts_with("access") && !may_be_its_own {
                    self.look(false);
                }
                self.truncate();
            }
            How::Gzip => {
                fs::rename(&log, &away).unwrap();
                self.pack(&away, false, false);
            }
        }
    }

    fn compress(&mut self, looks: bool, starts: bool) {
        let Some(plain) = self.rotated().into_iter().find(|path| path.extension().is_none_or(|ending| ending != "gz")) else { return };
        self.pack(&plain, looks, starts);
    }

    fn pack(&mut self, plain: &Path, looks: bool, starts: bool) {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&fs::read(plain).unwrap()).unwrap();
        self.torn.insert(line(self.next)[..self.begun].to_owned());
        let packed = packed.finish().unwrap();
        let mut out = File::create(format!("{}.gz", plain.display())).unwrap();
        out.write_all(&packed[..packed.len() / 2]).unwrap();
        if starts {
            self.kill();
        }
        if looks {
            self.look(true);
        }
        out.write_all(&packed[packed.len() / 2..]).unwrap();
        if starts {
            self.kill();
        }
        if looks {
            self.look(false);
        }
        fs::remove_file(plain).unwrap();
    }

    fn look(&mut self, keep: bool) {
        if self.is_down {
            return;
        }
        self.note_owed();
        self.now += Duration::from_millis(250);
        // Woken, as by a system that tells of everything, the name that a log was moved away from too: a line that comes late to a
        // closed log is seen at once.
        let names = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path()).chain([self.path("access.log")]);
        self.tail.look(self.now, Some(&names.collect()));
        self.tail.look(self.now, None);
        if self.tail.has_new() {
            self.keep();
        }
        self.read();
        if keep {
            self.keep();
        }
    }

    fn keep(&mut self) {
        self.state = self.tail.checkpoints();
        let names: Vec<_> = self.state.iter().map(|checkpoint| checkpoint.generation).filter(|name| *name != 0).collect();
        assert_eq!(names.len(), names.iter().collect::<HashSet<_>>().len(), "a name was given twice");
        let done: HashMap<u64, u64> = self.state.iter().map(|checkpoint| (checkpoint.generation, checkpoint.offset)).collect();
        let told = &self.told;
        let behind = |number: &usize| told.get(number).is_some_and(|(name, offset)| done.get(name).is_some_and(|done| offset >= done));
        self.unkept.retain(behind);
        self.again.retain(behind);
    }

    fn read(&mut self) {
        let mut told = Vec::new();
        let mut turns = 0;
        while self.tail.read(self.now, &mut |piece| note(&mut told, piece)) {
            turns += 1;
            assert!(turns < 10_000, "reads without end");
        }
        for told in told {
            self.hear(&told);
        }
    }

    fn hear(&mut self, told: &Told) {
        let text = told.text.clone().expect("no line is too long");
        let place = (told.offset, told.number);
        let before = self.order.insert(told.log, place);
        assert!(before.is_none_or(|(offset, number)| offset < place.0 && number < place.1), "out of order: {text}");
        let id = (told.generation, told.offset);
        let first = self.text_of.entry(id).or_insert_with(|| text.clone());
        // A file may have been packed when half of its last line was written.
        let same = first.starts_with(&text) || text.starts_with(&*first);
        assert!(same, "two lines have the name {id:?}: {first} and {text}");
        let Some(number) = number_of(&text) else {
            let torn = |this: &Self| this.torn.contains(&text) || this.spoilt.iter().any(|number| line(*number).contains(&text));
            assert!(self.is_unfinished(&text) || torn(self), "garbled: {text}");
            return;
        };
        assert!(number < 800_000, "old: {text}");
        // All but its newline was there when its file was closed.
        let _ = self.is_unfinished(&text) && self.spoilt.remove(&number);
        match self.told.insert(number, id) {
            None => {}
            Some(_) if !self.again.remove(&number) => panic!("doubled: {number}"),
            Some(first) => assert_eq!(first, id, "line {number} came again under another name"),
        }
        self.unkept.push(number);
    }

    /// The beginning of the line that is being written, in a file that was closed for good.
    fn is_unfinished(&mut self, text: &str) -> bool {
        let line = line(self.next);
        let begun = &line[..self.begun];
        let unfinished = self.begun > 0 && (text == begun || self.spoilt.contains(&self.next) && begun.ends_with(text));
        if unfinished {
            // Its rest may come all the same, as a line of its own.
            self.spoilt.insert(self.next);
            self.torn.insert(line[self.begun..].trim_end().to_owned());
        }
        unfinished
    }

    fn wait(&mut self) {
        for _ in 0..16 {
            self.now += Duration::from_secs(5);
            self.look(true);
        }
    }

    fn kill(&mut self) {
        self.is_down = false;
        self.again.extend(self.unkept.drain(..));
        self.order.clear();
        self.tail = Tail::new(self.paths.clone(), self.options.clone(), Some(self.state.clone()));
        self.look(false);
    }

    /// All whole lines on disk are owed from now on.
    fn note_owed(&mut self) {
        let files = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        for file in files.collect::<Vec<_>>() {
            let text = text_of(&file);
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            if !self.is_known(&file, whole) {
                continue;
            }
            self.owed.extend(whole.lines().filter_map(number_of).filter(|number| *number < 800_000));
        }
    }

    /// What lies under any name is one log's only if some of its text was read, and kept: where a file is followed, nothing
    /// else says that it is its.
    fn is_known(&self, file: &Path, text: &str) -> bool {
        let name = file.file_name().unwrap().to_str().unwrap();
        let is_given = self.paths[0] == self.folder.path() || name == "access.log" || self.rotated().iter().any(|rotated| rotated == file);
        let is_kept = |number: usize| {
            number >= 800_000 || self.told.contains_key(&number) && !self.unkept.contains(&number) && !self.again.contains(&number)
        };
        is_given || text.lines().find_map(number_of).is_some_and(is_kept) || self.is_in_state(file)
    }

    /// Whether a file is one that a checkpoint speaks of, by its inode and its beginning, of which nothing need have been told.
    fn is_in_state(&self, file: &Path) -> bool {
        let (Ok(metadata), Ok(bytes)) = (fs::metadata(file), fs::read(file)) else { return false };
        let is_it = |known: &Checkpoint| {
            let begins = |length| bytes.get(..length).is_some_and(|head| Fingerprint::of(head) == known.head);
            known.inode == metadata.ino() && known.head.bytes > 0 && begins(known.head.bytes as usize)
        };
        self.state.iter().any(is_it)
    }

    fn end(mut self) {
        if self.is_down {
            self.kill();
        }
        self.wait();
        self.wait();
        let owed = self.owed.iter().filter(|number| !self.spoilt.contains(number));
        let lost: Vec<_> = owed.filter(|number| !self.told.contains_key(number)).collect();
        assert!(lost.is_empty(), "lost: {lost:?}; notices: {:?}", self.tail.notices());
    }
}

fn writer(path: &Path) -> File {
    OpenOptions::new().append(true).create(true).open(path).unwrap()
}

/// The text of a file, as far as it can be unpacked.
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
    std::env::var("PROBEWATCH_MODEL_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(300)
}

/// Follows the folder, or the log alone, through a program.
fn run(folder: bool, old: bool, steps: impl IntoIterator<Item = Step>) {
    let mut world = World::new(folder, old);
    for step in steps {
        world.step(step);
    }
    world.end();
}

/// The file that is copied over was the log before, and is still open.
#[test]
fn a_log_that_is_copied_over_the_one_before() {
    let before = Step::Away { name: 0, how: How::Rename { create: false } };
    let over = Step::Away { name: 0, how: How::CopyTruncate { looks: true } };
    run(false, true, [before, Step::Write(1), Step::Reopen, Step::Write(1), over]);
}

/// The copy was noted while it was half done, and the log itself was read further by then.
#[test]
fn a_log_that_is_moved_back_and_copied_between_two_looks() {
    let copy = Step::CopyTruncate { looks: true, between: 0 };
    run(true, false, [Step::Write(2), Step::AwayAndBack { looks: false }, copy, Step::Write(1), Step::Down]);
}

/// The rest of the first copy was being read when it was written over with a copy of the new log.
#[test]
fn a_copy_that_is_written_over_with_a_copy_of_the_next_log() {
    let copy = Step::Away { name: 1, how: How::CopyTruncate { looks: true } };
    let packed = Step::Compress { looks: true, starts: false };
    run(true, false, [Step::Write(1), copy, Step::Rotate { create: false }, Step::Reopen, packed, Step::Write(1), copy]);
}

/// The file that is copied over was renamed when it was empty.
#[test]
fn a_log_that_is_copied_over_an_empty_one() {
    let before = Step::Away { name: 3, how: How::Rename { create: false } };
    let over = |looks| Step::Away { name: 3, how: How::CopyTruncate { looks } };
    run(false, false, [before, Step::Reopen, Step::Write(30), over(true)]);
    run(false, false, [before, Step::Reopen, Step::Write(1), Step::Look, over(false), Step::Look]);
}

/// What little stands in the file of a truncated log is no copy of whatever begins like it.
#[test]
fn a_line_that_begins_in_a_truncated_log_that_is_rotated() {
    let copy = Step::CopyTruncate { looks: false, between: 0 };
    let begun = [copy, Step::Partial(1), Step::Look, Step::AwayAndBack { looks: false }, Step::Rotate { create: false }];
    run(false, true, begun.into_iter().chain([Step::Partial(72), Step::Wait, Step::Reopen]));
}

/// It was closed under a name that no rotation gives, and is gone soon after its late line.
#[test]
fn a_late_line_in_a_log_that_was_moved_away() {
    let away = |create| Step::Away { name: 3, how: How::Rename { create } };
    run(false, true, [Step::Delete, away(true), Step::Wait, Step::Write(1), Step::Look, away(false)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: programs(), failure_persistence: None, max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn no_line_is_lost_doubled_or_garbled(folder: bool, old: bool, steps in prop::collection::vec(step(), 1..40)) {
        run(folder, old, steps);
    }
}
