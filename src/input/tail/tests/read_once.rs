//! Reading once: what a first run reads, what later runs find, and how unreadable files are
//! reported.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;

use super::{EmittedLine, MAX_OPEN, append, gzip, line, lines, number_of, record};
use crate::input::tail::{Notice, StartPosition, Tail, TailOptions};
use crate::log::source::Checkpoint;

/// A folder whose logs are read in several runs.
pub(super) struct OneShotRuns {
    pub(super) folder: TempDir,
    pub(super) state: Option<Vec<Checkpoint>>,
    /// All lines returned.
    pub(super) emitted: Vec<EmittedLine>,
    pub(super) notices: Vec<Notice>,
    /// File names with unfinished lines after the last run.
    pub(super) pending: Vec<String>,
    /// Maximum number of open logs.
    pub(super) max_open: usize,
}

impl OneShotRuns {
    pub(super) fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            state: None,
            emitted: Vec::new(),
            notices: Vec::new(),
            pending: Vec::new(),
            max_open: MAX_OPEN,
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A tail of `names`; an empty name is the folder.
    pub(super) fn tail(&self, names: &[&str], begin: StartPosition) -> Tail {
        let paths = names.iter().map(|name| {
            if name.is_empty() {
                self.folder.path().to_owned()
            } else {
                self.path(name)
            }
        });
        let options = TailOptions {
            start: begin,
            max_line: 4096,
            block: 512,
            max_open: self.max_open,
        };
        Tail::new(paths.collect(), options, self.state.clone())
    }

    /// One run; returns the numbers of its lines, `None` for other lines.
    pub(super) fn run(&mut self, names: &[&str]) -> Vec<Option<usize>> {
        self.run_with(names, StartPosition::ExplicitInputs)
    }

    pub(super) fn run_with(&mut self, names: &[&str], begin: StartPosition) -> Vec<Option<usize>> {
        let mut tail = self.tail(names, begin);
        let mut emitted = Vec::new();
        tail.read_once(Instant::now(), &mut |piece| record(&mut emitted, piece));
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        self.pending = tail
            .logs()
            .filter(|log| log.pending)
            .map(|log| name(log.path))
            .collect();
        self.notices = tail.notices();
        self.state = Some(tail.checkpoints());
        let numbers = emitted
            .iter()
            .map(|emitted| emitted.text.as_deref().and_then(number_of))
            .collect();
        self.emitted.extend(emitted);
        numbers
    }

    fn append(&self, name: &str, text: &str) {
        append(&self.path(name), text);
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    pub(super) fn problems(&self) -> Vec<&str> {
        self.notices
            .iter()
            .filter(|notice| notice.problem)
            .map(|notice| notice.what.as_str())
            .collect()
    }
}

pub(super) fn some(numbers: std::ops::Range<usize>) -> Vec<Option<usize>> {
    numbers.map(Some).collect()
}

/// Sets the modification time to two minutes ago.
fn make_old(path: &Path) {
    let then = SystemTime::now() - Duration::from_secs(120);
    OpenOptions::new()
        .append(true)
        .open(path)
        .unwrap()
        .set_times(FileTimes::new().set_modified(then))
        .unwrap();
}

#[test]
fn a_first_run_reads_the_named_files() {
    let mut runs = OneShotRuns::new();
    runs.append("access.log.2", &lines(0..10));
    gzip(&runs.path("access.log.2"));
    runs.append("access.log.1", &lines(10..20));
    runs.append("access.log", &lines(20..30));
    assert_eq!(runs.run(&["access.log"]), some(20..30));
    assert_eq!(runs.run(&["access.log"]), []);
    runs.append("access.log", &lines(30..35));
    runs.rename("access.log.2.gz", "access.log.3.gz");
    gzip(&runs.path("access.log.1"));
    runs.rename("access.log.1.gz", "access.log.2.gz");
    runs.rename("access.log", "access.log.1");
    runs.append("access.log", &lines(35..40));
    assert_eq!(runs.run(&["access.log"]), some(30..40));
    assert!(runs.notices.is_empty(), "{:?}", runs.notices);
}

#[test]
fn all_files_of_a_glob_or_folder_are_read_once() {
    for names in [
        &["access.log", "access.log.1", "access.log.2.gz"][..],
        &["access.log*"],
        &[""],
    ] {
        let mut runs = OneShotRuns::new();
        runs.append("access.log.2", &lines(0..10));
        gzip(&runs.path("access.log.2"));
        runs.append("access.log.1", &lines(10..20));
        runs.append("access.log", &lines(20..30));
        assert_eq!(runs.run(names), some(0..30), "{names:?}");
        assert_eq!(runs.run(names), []);
        runs.rename("access.log.2.gz", "access.log.3.gz");
        gzip(&runs.path("access.log.1"));
        runs.rename("access.log.1.gz", "access.log.2.gz");
        runs.append("access.log", &lines(30..35));
        runs.rename("access.log", "access.log.1");
        let more = if names.len() > 1 {
            &["access.log.1", "access.log.2.gz", "access.log.3.gz"]
        } else {
            names
        };
        assert_eq!(runs.run(more), some(30..35), "{names:?}");
        runs.append("access.log", &lines(35..40));
        assert_eq!(runs.run(names), some(35..40), "{names:?}");
        assert!(runs.notices.is_empty(), "{:?}", runs.notices);
    }
}

#[test]
fn rotated_files_without_their_log_are_read_once() {
    let mut runs = OneShotRuns::new();
    runs.append("access.log.2", &lines(0..10));
    gzip(&runs.path("access.log.2"));
    runs.append("access.log", &lines(900..910));
    assert_eq!(runs.run(&["access.log.2.gz"]), some(0..10));
    assert_eq!(runs.run(&["access.log.2.gz"]), []);
    // Other content under that name is new; the same content under another name is not.
    runs.rename("access.log.2.gz", "access.log.3.gz");
    runs.append("access.log.2", &lines(10..20));
    gzip(&runs.path("access.log.2"));
    assert_eq!(
        runs.run(&["access.log.2.gz", "access.log.3.gz"]),
        some(10..20)
    );
    assert!(runs.notices.is_empty(), "{:?}", runs.notices);
}

/// The read calls of this thread so far.
fn read_calls() -> usize {
    let counts = fs::read_to_string("/proc/thread-self/io").unwrap();
    let calls = counts.lines().find_map(|line| line.strip_prefix("syscr: "));
    calls.unwrap().parse().unwrap()
}

#[test]
fn rotated_files_are_not_compared_with_each_other() {
    const FILES: usize = 400;
    let mut runs = OneShotRuns::new();
    for number in 0..FILES {
        runs.append(&format!("access.log.{}", FILES - number), &line(number));
    }
    let before = read_calls();
    assert_eq!(runs.run(&[""]), some(0..FILES));
    let calls = (read_calls() - before) / FILES;
    assert!(calls < 40, "{calls} calls for each file");
}

#[test]
fn a_compressed_file_of_any_name_is_read() {
    let mut runs = OneShotRuns::new();
    runs.append("compressed", &lines(0..10));
    gzip(&runs.path("compressed"));
    runs.rename("compressed.gz", "compressed");
    assert_eq!(runs.run(&["compressed"]), some(0..10));
    assert_eq!(runs.run(&["compressed"]), []);
    assert!(runs.notices.is_empty(), "{:?}", runs.notices);
}

#[test]
fn a_file_that_is_being_compressed_is_read_once() {
    for is_complete in [false, true] {
        let mut runs = OneShotRuns::new();
        runs.append("access.log", &lines(0..5));
        assert_eq!(runs.run(&["access.log"]), some(0..5));
        runs.append("access.log", &lines(5..100));
        runs.rename("access.log", "access.log.2");
        runs.append("access.log.1", &lines(100..200));
        runs.append("access.log", &lines(200..210));
        let compressed = {
            let copy = runs.path("copy");
            fs::copy(runs.path("access.log.1"), &copy).unwrap();
            gzip(&copy);
            let compressed = fs::read(runs.path("copy.gz")).unwrap();
            fs::remove_file(runs.path("copy.gz")).unwrap();
            compressed
        };
        let part = if is_complete {
            &compressed[..]
        } else {
            &compressed[..compressed.len() / 2]
        };
        fs::write(runs.path("access.log.1.gz"), part).unwrap();
        assert_eq!(runs.run(&["access.log"]), some(5..210));
        fs::write(runs.path("access.log.1.gz"), &compressed).unwrap();
        fs::remove_file(runs.path("access.log.1")).unwrap();
        assert_eq!(runs.run(&["access.log"]), []);
        assert!(runs.problems().is_empty(), "{:?}", runs.notices);
    }
}

#[test]
fn the_same_file_by_many_names_is_read_once() {
    let mut runs = OneShotRuns::new();
    runs.append("access.log", &lines(0..10));
    fs::hard_link(runs.path("access.log"), runs.path("hard.log")).unwrap();
    std::os::unix::fs::symlink("access.log", runs.path("soft.log")).unwrap();
    assert_eq!(
        runs.run(&["soft.log", "access.log", "hard.log", "./access.log", ""]),
        some(0..10)
    );
    runs.append("access.log", &lines(10..12));
    assert_eq!(
        runs.run(&["soft.log", "access.log", "hard.log", "./access.log", ""]),
        some(10..12)
    );
}

#[test]
fn a_log_with_olddir_in_a_folder_is_read_once() {
    let mut runs = OneShotRuns::new();
    fs::create_dir(runs.path("old")).unwrap();
    runs.append("access.log", &lines(10..20));
    runs.append("old/access.log.1", &lines(0..10));
    assert_eq!(runs.run(&[""]), some(0..20));
    runs.append("access.log", &lines(20..25));
    runs.rename("old/access.log.1", "old/access.log.2");
    gzip(&runs.path("old/access.log.2"));
    runs.rename("access.log", "old/access.log.1");
    runs.append("access.log", &lines(25..30));
    assert_eq!(runs.run(&[""]), some(20..30));
    assert_eq!(runs.run(&[""]), []);
}

#[test]
fn a_new_log_of_a_folder_is_read_with_its_rotated_files() {
    let mut runs = OneShotRuns::new();
    runs.append("a.log", &lines(0..10));
    for names in [&[""][..], &["*.log"]] {
        runs.state = None;
        fs::remove_file(runs.path("b.log")).ok();
        fs::remove_file(runs.path("b.log.1")).ok();
        assert_eq!(runs.run(names), some(0..10));
        runs.append("b.log.1", &lines(10..20));
        runs.append("b.log", &lines(20..30));
        assert_eq!(runs.run(names), some(10..30));
    }
}

#[test]
fn from_the_start_everything_is_read() {
    let mut runs = OneShotRuns::new();
    runs.append("access.log.1", &lines(0..10));
    runs.append("access.log", &lines(10..20));
    assert_eq!(
        runs.run_with(&["access.log"], StartPosition::Start),
        some(0..20)
    );
    assert_eq!(runs.run_with(&["access.log"], StartPosition::Start), []);
}

#[test]
fn an_unfinished_line_waits_for_its_end() {
    let mut runs = OneShotRuns::new();
    runs.append("access.log", &lines(0..3));
    runs.append("access.log", &line(3)[..20]);
    assert_eq!(runs.run(&["access.log"]), some(0..3));
    assert_eq!(runs.pending, ["access.log"]);
    make_old(&runs.path("access.log"));
    assert_eq!(runs.run(&["access.log"]), []);
    runs.append("access.log", &line(3)[20..]);
    assert_eq!(runs.run(&["access.log"]), some(3..4));
    assert!(runs.pending.is_empty());
}

#[test]
fn an_unfinished_line_of_a_final_rotated_file_is_returned() {
    for complete in [0, 3] {
        let mut runs = OneShotRuns::new();
        File::create(runs.path("access.log")).unwrap();
        runs.run(&["access.log"]);
        runs.append("access.log", &lines(0..complete));
        runs.append("access.log", line(complete).trim_end());
        runs.rename("access.log", "access.log.1");
        assert_eq!(runs.run(&["access.log"]), some(0..complete));
        assert_eq!(runs.pending.len(), usize::from(complete > 0));
        make_old(&runs.path("access.log.1"));
        assert_eq!(runs.run(&["access.log"]), some(complete..complete + 1));
        assert_eq!(runs.run(&["access.log"]), []);
        assert!(runs.pending.is_empty());
    }
}

#[test]
fn a_log_without_a_whole_line_is_pending() {
    let mut runs = OneShotRuns::new();
    runs.append("access.log", "half a li");
    assert_eq!(runs.run(&["access.log"]), []);
    assert_eq!(runs.pending, ["access.log"]);
    runs.append("access.log", "ne\n");
    assert_eq!(runs.run(&["access.log"]), [None]);
}

#[test]
fn a_named_file_that_never_existed_is_a_problem() {
    let mut runs = OneShotRuns::new();
    for _ in 0..2 {
        runs.run(&["access.log"]);
        assert_eq!(runs.problems(), ["no such file"]);
        runs.run(&["*.log"]);
        assert_eq!(runs.problems(), ["matches nothing"]);
    }
    runs.append("access.log", &line(0));
    assert_eq!(runs.run(&["access.log"]), some(0..1));
    // The log does not exist at the moment, between its renaming and its first new line.
    runs.append("access.log", &line(1));
    runs.rename("access.log", "access.log.1");
    assert_eq!(runs.run(&["access.log"]), some(1..2));
    assert!(runs.problems().is_empty(), "{:?}", runs.notices);
    assert_eq!(runs.run(&["*.log"]), []);
    assert!(runs.problems().is_empty(), "{:?}", runs.notices);
}

#[test]
fn a_path_that_is_not_a_file_is_a_problem() {
    let mut runs = OneShotRuns::new();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        runs.path("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    for name in ["pipe", "/dev/null"] {
        runs.run(&[name]);
        assert_eq!(runs.problems().len(), 1, "{name}");
    }
    runs.run(&[""]);
    assert!(runs.problems().is_empty());
}

#[test]
fn damage_is_reported_once() {
    let mut runs = OneShotRuns::new();
    runs.append("access.log.1", &lines(0..2000));
    gzip(&runs.path("access.log.1"));
    let compressed = fs::read(runs.path("access.log.1.gz")).unwrap();
    fs::write(
        runs.path("access.log.1.gz"),
        &compressed[..compressed.len() / 2],
    )
    .unwrap();
    std::thread::sleep(Duration::from_millis(2100));
    let read = runs.run(&["access.log.1.gz"]);
    assert!(
        read.len() > 500 && read.len() < 2000 && read == some(0..read.len()),
        "{}",
        read.len()
    );
    assert_eq!(runs.problems().len(), 1, "{:?}", runs.notices);
    assert!(runs.problems()[0].contains("ends early"));
    assert_eq!(runs.run(&["access.log.1.gz"]), []);
    assert!(runs.notices.is_empty(), "{:?}", runs.notices);
}

#[test]
fn an_unsupported_compression_is_reported_once() {
    let mut runs = OneShotRuns::new();
    runs.append("access.log", &lines(0..3));
    runs.run(&["access.log"]);
    fs::write(runs.path("access.log.1.Z"), b"\x1f\x9d\x90 and so on").unwrap();
    runs.run(&["access.log"]);
    assert_eq!(runs.problems().len(), 1, "{:?}", runs.notices);
    assert!(runs.problems()[0].contains("is compressed with compress"));
    runs.rename("access.log.1.Z", "access.log.2.Z");
    runs.run(&["access.log"]);
    assert!(runs.notices.is_empty(), "{:?}", runs.notices);
}

#[test]
fn an_older_copy_is_read_again_and_reported() {
    let mut runs = OneShotRuns::new();
    runs.append("access.log", &lines(0..100));
    runs.run(&["access.log"]);
    fs::remove_file(runs.path("access.log")).unwrap();
    runs.append("access.log", &lines(0..50));
    assert_eq!(runs.run(&["access.log"]), some(0..50));
    assert_eq!(runs.notices.len(), 1, "{:?}", runs.notices);
    assert!(runs.notices[0].what.contains("older copy") && !runs.notices[0].problem);
    assert_eq!(runs.run(&["access.log"]), []);
    assert!(runs.notices.is_empty(), "{:?}", runs.notices);
}

#[test]
fn a_vanished_log_is_reported() {
    let mut runs = OneShotRuns::new();
    runs.append("access.log", &lines(0..100));
    runs.run(&["access.log"]);
    fs::write(runs.path("access.log"), lines(200..300)).unwrap();
    assert_eq!(runs.run(&["access.log"]), some(200..300));
    assert_eq!(runs.notices.len(), 1, "{:?}", runs.notices);
    assert!(
        runs.notices[0]
            .what
            .contains("was not found: lines that were added to it since may have been passed over")
    );
    assert!(!runs.notices[0].problem);
    runs.run(&["access.log"]);
    assert!(runs.notices.is_empty(), "{:?}", runs.notices);
}

#[test]
fn a_restored_older_sibling_is_not_read() {
    let mut runs = OneShotRuns::new();
    runs.append("access.log.1", &lines(10..20));
    runs.append("access.log", &lines(20..30));
    assert_eq!(runs.run(&["access.log"]), some(20..30));
    runs.append("access.log.5", &lines(0..10));
    make_old(&runs.path("access.log.5"));
    assert_eq!(runs.run(&["access.log"]), []);
    assert!(runs.notices[0].what.contains("older"), "{:?}", runs.notices);
    assert_eq!(runs.run(&["access.log"]), []);
    assert!(runs.notices.is_empty(), "{:?}", runs.notices);
    // A tool that counts upwards creates new files with higher numbers.
    runs.append("access.log.7", &lines(40..45));
    assert_eq!(runs.run(&["access.log"]), some(40..45));
    // A file that is named is read in any case.
    runs.append("access.log.6", &lines(30..35));
    make_old(&runs.path("access.log.6"));
    assert_eq!(runs.run(&["access.log", "access.log.6"]), some(30..35));
}

#[test]
fn unsaved_lines_are_read_again_with_the_same_id() {
    let mut runs = OneShotRuns::new();
    runs.append("access.log", &lines(0..10));
    runs.run(&["access.log"]);
    let before = runs.state.clone();
    runs.append("access.log", &lines(10..20));
    assert_eq!(runs.run(&["access.log"]), some(10..20));
    runs.state = before;
    assert_eq!(runs.run(&["access.log"]), some(10..20));
    let emitted = &runs.emitted;
    assert_eq!(emitted[10].offset, emitted[20].offset);
    assert_eq!(
        (emitted[10].generation, emitted[10].number),
        (emitted[20].generation, 11)
    );
}

#[test]
fn measuring_the_backlog_reads_nothing() {
    let mut runs = OneShotRuns::new();
    runs.append("access.log", &lines(0..10));
    runs.run(&["access.log"]);
    runs.append("access.log", &lines(10..20));
    let mut tail = runs.tail(&["access.log"], StartPosition::ExplicitInputs);
    tail.measure_backlog(Instant::now());
    let logs: Vec<_> = tail
        .logs()
        .map(|log| (log.lines, log.lag, log.live))
        .collect();
    assert_eq!(logs, [(10, lines(10..20).len() as u64, true)]);
}

#[test]
fn a_run_ends_although_lines_are_appended() {
    let runs = OneShotRuns::new();
    runs.append("access.log", &lines(0..10));
    let mut tail = runs.tail(&["access.log"], StartPosition::ExplicitInputs);
    let mut writer = OpenOptions::new()
        .append(true)
        .open(runs.path("access.log"))
        .unwrap();
    let mut pieces = 0;
    // A writer that is faster than the reader does not keep it from ending.
    tail.read_once(Instant::now(), &mut |_| {
        pieces += 1;
        writer.write_all(lines(0..50).as_bytes()).unwrap();
        assert!(pieces < 1000, "reads without end");
    });
    assert!(pieces > 0);
}

/// The link of a customer leads to a file with a number in its name, and the folder of each
/// customer has a number too.
#[test]
fn a_number_of_a_folder_leads_to_no_other_log() {
    // The second number is the 15th of January 2012 as well.
    for (customer, other) in [("100234", "100235"), ("120115", "120116")] {
        let mut runs = OneShotRuns::new();
        for (folder, number) in [(customer, 1), (other, 11)] {
            fs::create_dir(runs.path(folder)).unwrap();
            runs.append(&format!("{folder}/access-0001.log"), &line(number));
        }
        let log = format!("{customer}/access.log");
        let switch = |runs: &OneShotRuns, number: u32| {
            let _ = fs::remove_file(runs.path(&log));
            std::os::unix::fs::symlink(format!("access-000{number}.log"), runs.path(&log)).unwrap();
        };
        switch(&runs, 1);
        assert_eq!(runs.run(&[&log]), [Some(1)]);
        runs.append(&format!("{customer}/access-0002.log"), &line(2));
        runs.append(&format!("{other}/access-0002.log"), &line(12));
        switch(&runs, 2);
        assert_eq!(runs.run(&[&log]), [Some(2)], "{:?}", runs.notices);
    }
}
