//! A writer and a rotator that do not wait for the tail.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{line, note, number_of};
use crate::input::tail::{StartPosition, Tail, TailOptions};

const LINES: usize = 20_000;

/// Runs a writer that writes all lines, and `rotate` again and again beside it; gives the numbers that were told.
fn follow(rotate: impl Fn(&Path, &Mutex<File>, usize) + Send + 'static) -> Vec<usize> {
    let folder = TempDir::new().unwrap();
    let log = folder.path().join("access.log");
    let options = TailOptions { start: StartPosition::Start, max_line: 4096, block: 64 << 10 };
    let mut tail = Tail::new(vec![log.clone()], options, None);
    let open = OpenOptions::new().append(true).create(true).open(&log).unwrap();
    let writer = Arc::new(Mutex::new(open));
    let done = Arc::new(AtomicBool::new(false));
    let (pen, over) = (Arc::clone(&writer), Arc::clone(&done));
    let writing = thread::spawn(move || {
        for number in 0..LINES {
            pen.lock().unwrap().write_all(line(number).as_bytes()).unwrap();
            if number % 20 == 0 {
                thread::sleep(Duration::from_micros(200));
            }
        }
        over.store(true, Ordering::Release);
    });
    let over = Arc::clone(&done);
    let rotating = thread::spawn(move || {
        for round in 0.. {
            if over.load(Ordering::Acquire) {
                break;
            }
            rotate(&log, &writer, round);
            thread::sleep(Duration::from_millis(15));
        }
    });
    let mut told = Vec::new();
    let mut now = Instant::now();
    let mut last = false;
    loop {
        tail.poll(now, None);
        while tail.read(now, &mut |piece| note(&mut told, piece)) {}
        if last {
            break;
        }
        last = done.load(Ordering::Acquire) && writing.is_finished() && rotating.is_finished();
        now += Duration::from_millis(250);
    }
    for _ in 0..8 {
        now += Duration::from_secs(3);
        tail.poll(now, None);
        while tail.read(now, &mut |piece| note(&mut told, piece)) {}
    }
    writing.join().unwrap();
    rotating.join().unwrap();
    told.iter().map(|told| number_of(told.text.as_deref().unwrap()).unwrap_or_else(|| panic!("garbled: {told:?}"))).collect()
}

fn shift(log: &Path) {
    for number in (1..1000).rev() {
        let name = |number: usize| format!("{}.{number}", log.display());
        let _ = fs::rename(name(number), name(number + 1));
    }
}

fn assert_all(mut told: Vec<usize>) {
    let count = told.len();
    told.sort_unstable();
    told.dedup();
    assert_eq!(count - told.len(), 0, "doubled");
    assert_eq!(LINES - told.len(), 0, "lost");
}

#[test]
fn renamed_while_it_is_written() {
    assert_all(follow(|log, writer, round| {
        shift(log);
        fs::rename(log, format!("{}.1", log.display())).unwrap();
        if round % 2 == 0 {
            thread::sleep(Duration::from_millis(5));
        }
        *writer.lock().unwrap() = OpenOptions::new().append(true).create(true).open(log).unwrap();
    }));
}

#[test]
fn copied_and_truncated_while_it_is_written() {
    assert_all(follow(|log, writer, _| {
        shift(log);
        // Nothing is written between, so that nothing is destroyed.
        let writer = writer.lock().unwrap();
        fs::copy(log, format!("{}.1", log.display())).unwrap();
        writer.set_len(0).unwrap();
    }));
}
