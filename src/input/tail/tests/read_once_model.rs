//! Tests reading once against a model: whatever is written, rotated and compressed between the
//! runs, together they return every line once.
//!
//! Runs 200 programs, or the number in `PROBEWATCH_MODEL_PROGRAMS`.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::read_once::OneShotRuns;
use super::{FILE_LIMITS, line, lines, number_of, record};
use crate::input::tail::StartPosition;

#[derive(Debug, Clone, Copy)]
enum OneShotStep {
    /// Writes whole lines; the first one completes a partial line.
    Write(usize),
    /// Writes N bytes of a line.
    Partial(usize),
    /// Renames the log; the writer keeps its file open until it reopens the path.
    Rotate {
        create: bool,
    },
    Reopen,
    /// Optionally with a run while the copy is incomplete, and one before the original is
    /// truncated.
    CopyTruncate {
        runs: bool,
    },
    /// Compresses the newest uncompressed rotated file; optionally with a run while that is
    /// incomplete, and one before the original is removed.
    Compress {
        runs: bool,
    },
    /// A run whose checkpoints are saved.
    Run,
    /// A run that is killed before it saves its checkpoints.
    Killed,
    /// Moves the log to an unusual name, or copies it there and truncates it, or compresses it.
    Away {
        name: usize,
        how: OneShotMove,
    },
}

/// How a log gets another name.
#[derive(Debug, Clone, Copy)]
enum OneShotMove {
    Rename,
    CopyTruncate { runs: bool },
    Gzip { runs: bool },
}

/// Names that no rotation tool gives; a number is added each time.
const UNUSUAL_NAMES: [&str; 3] = ["access.log.bak", "access-1.log", "old.log"];

/// How the log is named on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgumentKind {
    Alone,
    Folder,
    Glob,
    /// Every existing file, as a shell expands a glob.
    Each,
}

fn step() -> impl Strategy<Value = OneShotStep> {
    prop_oneof![
        6 => (1usize..30).prop_map(OneShotStep::Write),
        2 => (1usize..70).prop_map(OneShotStep::Partial),
        3 => any::<bool>().prop_map(|create| OneShotStep::Rotate { create }),
        3 => Just(OneShotStep::Reopen),
        3 => any::<bool>().prop_map(|runs| OneShotStep::CopyTruncate { runs }),
        3 => any::<bool>().prop_map(|runs| OneShotStep::Compress { runs }),
        5 => Just(OneShotStep::Run),
        1 => Just(OneShotStep::Killed),
        2 => (0..UNUSUAL_NAMES.len(), how()).prop_map(|(name, how)| OneShotStep::Away { name, how }),
    ]
}

fn how() -> impl Strategy<Value = OneShotMove> {
    prop_oneof![
        2 => Just(OneShotMove::Rename),
        2 => any::<bool>().prop_map(|runs| OneShotMove::CopyTruncate { runs }),
        1 => any::<bool>().prop_map(|runs| OneShotMove::Gzip { runs }),
    ]
}

struct OneShotModel {
    runs: OneShotRuns,
    named: ArgumentKind,
    writer: File,
    next: usize,
    written: usize,
    /// How often the log was moved to another name.
    moved: usize,
    fragments: HashSet<String>,
    /// Lines that were divided: the first half may be all but the newline.
    divided: HashSet<usize>,
    emitted: HashMap<usize, usize>,
    ids: HashMap<(u64, u64), String>,
}

impl OneShotModel {
    fn new(named: ArgumentKind, max_open: usize) -> Self {
        let runs = OneShotRuns {
            max_open,
            ..OneShotRuns::new()
        };
        let log = runs.path("access.log");
        fs::write(&log, lines(0..5)).unwrap();
        fs::write(runs.path("access.log.1"), lines(900_000..900_020)).unwrap();
        Self {
            writer: writer(&log),
            runs,
            named,
            next: 5,
            written: 0,
            moved: 0,
            fragments: HashSet::new(),
            divided: HashSet::new(),
            emitted: HashMap::new(),
            ids: HashMap::new(),
        }
    }

    fn step(&mut self, step: OneShotStep) {
        match step {
            OneShotStep::Write(count) => self.write(count),
            OneShotStep::Partial(bytes) => {
                let line = line(self.next);
                let end = (self.written + bytes).min(line.len() - 1);
                self.writer
                    .write_all(&line.as_bytes()[self.written..end])
                    .unwrap();
                self.written = end;
            }
            OneShotStep::Rotate { create } => {
                self.shift();
                let _ = fs::rename(self.runs.path("access.log"), self.runs.path("access.log.1"));
                if create {
                    File::create_new(self.runs.path("access.log")).unwrap();
                }
            }
            OneShotStep::Reopen => self.reopen(),
            OneShotStep::CopyTruncate { runs } => self.copy_truncate(runs),
            OneShotStep::Compress { runs } => self.compress(runs),
            OneShotStep::Run => self.run(true),
            OneShotStep::Killed => self.run(false),
            OneShotStep::Away { name, how } => self.away(name, how),
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

    /// A writer ends its line before it reopens its log.
    fn reopen(&mut self) {
        if self.written > 0 {
            self.write(1);
        }
        self.writer = writer(&self.runs.path("access.log"));
    }

    fn names(&self) -> Vec<PathBuf> {
        let number = |path: &PathBuf| -> u32 {
            path.to_str()
                .unwrap()
                .trim_end_matches(".gz")
                .rsplit('.')
                .next()
                .unwrap()
                .parse()
                .unwrap_or(0)
        };
        let mut names: Vec<_> = fs::read_dir(self.runs.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        names.sort_by_key(number);
        names
    }

    /// Makes room for a new `access.log.1`; nothing is ever deleted.
    fn shift(&mut self) {
        for name in self.names().into_iter().rev() {
            let text = name.to_str().unwrap();
            let (plain, ending) = text
                .strip_suffix(".gz")
                .map_or((text, ""), |plain| (plain, ".gz"));
            let (stem, number) = plain.rsplit_once('.').unwrap();
            if let Ok(number) = number.parse::<u32>() {
                fs::rename(&name, format!("{stem}.{}{ending}", number + 1)).unwrap();
            }
        }
    }

    fn copy_truncate(&mut self, runs: bool) {
        let Ok(text) = fs::read(self.runs.path("access.log")) else {
            return;
        };
        self.shift();
        let mut copy = File::create_new(self.runs.path("access.log.1")).unwrap();
        copy.write_all(&text[..text.len() / 2]).unwrap();
        if runs {
            self.run(true);
        }
        copy.write_all(&text[text.len() / 2..]).unwrap();
        if runs {
            self.run(true);
        }
        self.cut(&self.runs.path("access.log"));
    }

    fn cut(&mut self, log: &Path) {
        let file = OpenOptions::new().write(true).open(log).unwrap();
        file.set_len(0).unwrap();
        if self.written > 0 {
            // Its halves are in two files, or the second is in a deleted file: neither is a line.
            let line = line(self.next);
            self.fragments.insert(line[..self.written].to_owned());
            self.fragments
                .insert(line[self.written..].trim_end().to_owned());
            if file.metadata().unwrap().ino() == self.writer.metadata().unwrap().ino() {
                self.writer
                    .write_all(&line.as_bytes()[self.written..])
                    .unwrap();
                self.written = 0;
                self.next += 1;
                self.divided.insert(self.next - 1);
            }
        }
    }

    fn away(&mut self, name: usize, how: OneShotMove) {
        let log = self.runs.path("access.log");
        if !log.exists() || fs::metadata(&log).unwrap().len() == 0 {
            return;
        }
        if self.named != ArgumentKind::Folder {
            // If only the log is named, content is recognized only if some of it was read.
            self.write(1);
            self.run(true);
        }
        self.moved += 1;
        let stem = UNUSUAL_NAMES[name].trim_end_matches(".log");
        let away = self.runs.path(&format!(
            "{stem}-copy{}{}",
            self.moved,
            if stem == UNUSUAL_NAMES[name] {
                ""
            } else {
                ".log"
            }
        ));
        match how {
            OneShotMove::Rename => fs::rename(&log, away).unwrap(),
            OneShotMove::CopyTruncate { runs } => {
                fs::copy(&log, &away).unwrap();
                // Two logs that are written at the same time may have the same start; only the name
                // shows that one is a copy of the other.
                if runs && UNUSUAL_NAMES[name].starts_with("access") {
                    self.run(true);
                }
                self.cut(&log);
            }
            OneShotMove::Gzip { runs } => {
                fs::rename(&log, &away).unwrap();
                self.compress_file(&away, runs);
            }
        }
    }

    fn compress(&mut self, runs: bool) {
        let plain = |path: &PathBuf| {
            path.extension()
                .is_some_and(|ending| ending.to_str().unwrap().parse::<u32>().is_ok())
        };
        let Some(plain) = self.names().into_iter().find(plain) else {
            return;
        };
        self.compress_file(&plain, runs);
    }

    fn compress_file(&mut self, plain: &Path, runs: bool) {
        if fs::metadata(plain).unwrap().ino() == self.writer.metadata().unwrap().ino() {
            // With `delaycompress`, or after a signal to the writer, a file that is still written
            // to is not compressed.
            self.reopen();
        }
        let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
        compressed.write_all(&fs::read(plain).unwrap()).unwrap();
        let compressed = compressed.finish().unwrap();
        let mut out = File::create(format!("{}.gz", plain.display())).unwrap();
        out.write_all(&compressed[..compressed.len() / 2]).unwrap();
        if runs {
            self.run(true);
        }
        out.write_all(&compressed[compressed.len() / 2..]).unwrap();
        if runs {
            self.run(true);
        }
        fs::remove_file(plain).unwrap();
    }

    fn run(&mut self, save: bool) {
        let names: Vec<String> = match self.named {
            ArgumentKind::Alone => vec!["access.log".to_owned()],
            ArgumentKind::Folder => vec![String::new()],
            ArgumentKind::Glob => vec!["access.log*".to_owned()],
            ArgumentKind::Each => self
                .names()
                .iter()
                .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
                .collect(),
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if !save {
            let mut tail = self.runs.tail(&names, StartPosition::ExplicitInputs);
            let mut emitted = Vec::new();
            tail.read_once(Instant::now(), &mut |piece| record(&mut emitted, piece));
            let _ = tail.checkpoints();
            return;
        }
        let before = self.runs.emitted.len();
        self.runs.run(&names);
        let notices = &self.runs.notices;
        assert!(notices.iter().all(|notice| !notice.problem), "{notices:?}");
        for emitted in &self.runs.emitted[before..] {
            let text = emitted.text.clone().unwrap();
            let known = self
                .ids
                .insert((emitted.generation, emitted.offset), text.clone());
            assert!(
                known.is_none_or(|known| text.starts_with(&known)),
                "two lines of one name: {text}"
            );
            match number_of(&text) {
                Some(number) => *self.emitted.entry(number).or_default() += 1,
                None => assert!(self.fragments.contains(&text), "garbled: {text}"),
            }
        }
    }

    fn end(mut self) {
        if self.written > 0 {
            self.write(1);
        }
        self.run(true);
        self.run(true);
        for number in (0..self.next).filter(|number| !self.divided.contains(number)) {
            assert_eq!(
                self.emitted.get(&number),
                Some(&1),
                "line {number}; {:?}",
                self.runs.notices
            );
        }
        let old = usize::from(self.named != ArgumentKind::Alone);
        for number in 900_000..900_020 {
            assert_eq!(
                self.emitted.get(&number).copied().unwrap_or(0),
                old,
                "old line {number}"
            );
        }
    }
}

fn writer(path: &Path) -> File {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap()
}

fn programs() -> u32 {
    std::env::var("PROBEWATCH_MODEL_PROGRAMS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: programs(), failure_persistence: None, max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn runs_together_return_every_line_once(
        named in prop_oneof![Just(ArgumentKind::Alone), Just(ArgumentKind::Folder), Just(ArgumentKind::Glob), Just(ArgumentKind::Each)],
        max_open in prop::sample::select(FILE_LIMITS.as_slice()),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut model = OneShotModel::new(named, max_open);
        // A first run reads only the files that are named.
        if named == ArgumentKind::Alone {
            model.run(true);
        }
        for step in steps {
            model.step(step);
        }
        model.end();
    }
}
