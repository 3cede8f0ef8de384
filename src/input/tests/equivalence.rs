//! Mapped, read, piped or packed: the same lines at the same offsets, each once, however the work is cut up.

use std::fs::{self, File};
use std::io::{PipeReader, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::input::decompress::fixture::{PACKINGS, pack};
use crate::input::find::find;
use crate::input::lines_in_order::{self, End, each_line};
use crate::input::magic::{self, Packing};
use crate::input::read::read_pipe;

/// A gzip file with a member for each part.
pub(super) fn gzip<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    pack(Packing::Gzip, parts)
}

fn packing() -> impl Strategy<Value = Packing> {
    prop::sample::select(&PACKINGS[..])
}

/// What comes out if `content` is written to a pipe.
fn read_piped(content: &[u8], how: How) -> (Vec<Line>, Reading) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let reader: Mutex<Option<PipeReader>> = Mutex::new(Some(reader));
    thread::scope(|scope| {
        scope.spawn(move || writer.write_all(content).unwrap());
        collect(how, |caller| read_pipe(reader.lock().unwrap().take().unwrap(), caller))
    })
}

/// Text of few letters, so that newlines, NULs and marks meet in every way.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just(b"\n".to_vec()),
        4 => prop::collection::vec(prop::sample::select(b"ab\r\xff".to_vec()), 1..20),
        1 => (1..200_usize).prop_map(|len| vec![0; len]),
        1 => (1..600_usize).prop_map(|len| vec![b'x'; len]),
    ];
    let mark = prop_oneof![9 => Just(&b""[..]), 1 => Just(&b"\xef\xbb\xbf"[..])];
    (mark, prop::collection::vec(piece, 0..60))
        .prop_map(|(mark, pieces)| [mark.to_vec(), pieces.concat()].concat())
        .prop_filter("looks like UTF-16", |text| magic::bom(text).is_ok())
}

fn sizes() -> impl Strategy<Value = (Sizes, usize)> {
    let some = || prop_oneof![1..20_usize, 1..4096_usize];
    (some(), some(), some()).prop_map(|(range, block, max_line)| (Sizes { range: range as u64, block }, max_line))
}

proptest! {
    #[test]
    fn every_way_delivers_the_same_lines(text in text(), (sizes, max_line) in sizes(), cut in any::<prop::sample::Index>(), packing in packing()) {
        let expected = reference(&text, max_line);
        let packed = pack(packing, <[_; 2]>::from(text.split_at(cut.index(text.len() + 1))));
        let (plain_file, packed_file) = (temporary(&text), temporary(&packed));
        let how = |mmap| How { mmap, max_line, sizes };
        let readings = [
            read_path(plain_file.path(), how(Mmap::Always)),
            read_path(plain_file.path(), how(Mmap::Never)),
            read_piped(&text, how(Mmap::Auto)),
            read_path(packed_file.path(), how(Mmap::Auto)),
            read_piped(&packed, how(Mmap::Auto)),
        ];
        for (lines, reading) in &readings {
            prop_assert_eq!(lines, &expected);
            prop_assert_eq!(reading, &readings[0].1);
        }
        prop_assert_eq!(readings[0].1.bytes, text.len() as u64);
        prop_assert_eq!(&readings[0].1.damage, &None);
    }
}

proptest! {
    #[test]
    fn one_after_the_other_they_are_the_same_lines(text in text(), packing in packing()) {
        let (plain, packed) = (temporary(&text), temporary(&pack(packing, [text.as_slice()])));
        let held = |line: Line| match line.body {
            What::Held(text) => {
                let ended = text.ends_with(b"\n");
                let text = text.strip_suffix(b"\n").unwrap_or(&text);
                let text: Vec<u8> = text.iter().copied().skip_while(|&byte| byte == 0).collect();
                (ended || !text.is_empty()).then(|| text.strip_suffix(b"\r").unwrap_or(&text).to_vec())
            }
            What::Oversized(_) => panic!("no line is so long"),
        };
        let expected: Vec<_> = reference(&text, MAX_LINE).into_iter().filter_map(held).collect();
        for file in [plain.path(), packed.path()] {
            let mut lines = Vec::new();
            let end = each_line(file, MAX_LINE, |number, line| {
                assert_eq!(number, lines.len() as u64 + 1);
                lines.push(match line {
                    lines_in_order::Line::Text(text) => text.to_vec(),
                    lines_in_order::Line::Oversized(bytes) => panic!("{bytes} bytes are not too many"),
                });
                ControlFlow::Continue(())
            });
            prop_assert_eq!(&lines, &expected);
            prop_assert_eq!(end.unwrap(), End { lines: expected.len() as u64, damage: None });
        }
    }
}

#[test]
fn the_limit_is_the_longest_line_that_is_held() {
    let text = [&[b'a'; 100][..], b"\n", &[b'b'; 101], b"\nc\n", &[b'd'; 101]].concat();
    for (range, block) in [(1 << 20, 1 << 20), (10, 10), (1, 1)] {
        for mmap in [Mmap::Always, Mmap::Never] {
            let how = How { mmap, max_line: 100, sizes: Sizes { range, block } };
            let (lines, _) = read_path(temporary(&text).path(), how);
            let long: Vec<_> = lines.iter().map(|line| matches!(line.body, What::Oversized(101))).collect();
            assert_eq!(long, [false, true, false, true]);
        }
    }
}

#[test]
fn a_line_over_the_limit_is_not_held() {
    let text = [b"a\n".repeat(1000), vec![b'x'; 9 << 20], b"\nb\n".to_vec()].concat();
    for mmap in [Mmap::Always, Mmap::Never] {
        let largest = AtomicU64::new(0);
        let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
        let options = Options { mmap, max_line: 1000, stop: &stop, progress: &progress };
        let judge = |chunk: Chunk<'_>| {
            if let Body::Lines(lines) = chunk.body {
                largest.fetch_max(lines.len() as u64, std::sync::atomic::Ordering::Relaxed);
            }
        };
        read::read(&source(temporary(&text).path()), &options, &judge, &|()| {}).unwrap();
        assert!(largest.into_inner() <= 2000);
        assert_eq!(progress.into_inner(), text.len() as u64);
    }
}

#[test]
fn a_sparse_file_costs_nothing_and_keeps_its_offsets() {
    let file = NamedTempFile::new().unwrap();
    file.as_file().set_len(100 << 30).unwrap();
    for mmap in [Mmap::Always, Mmap::Never] {
        let (lines, reading) = read_path(file.path(), How::usual(mmap));
        assert_eq!((lines.len(), reading.bytes, reading.hole_bytes), (0, 100 << 30, 100 << 30));
    }
    let at = (6 << 30) + 12_345;
    file.as_file().write_all_at(b"one\ntwo\n", at).unwrap();
    for mmap in [Mmap::Always, Mmap::Never] {
        let (lines, reading) = read_path(file.path(), How::usual(mmap));
        assert_eq!(lines.iter().map(|line| line.offset).collect::<Vec<_>>(), [at, at + 4]);
        assert_eq!((reading.hole_bytes, reading.damage), ((100 << 30) - 8, None));
    }
}

#[test]
fn what_has_no_length_is_read_all_the_same() {
    let (lines, reading) = read_path("/proc/self/status".as_ref(), How::usual(Mmap::Always));
    assert!(lines.len() > 10 && reading.bytes > 100);
    let (lines, reading) = read_path(temporary(b"").path(), How::usual(Mmap::Always));
    assert_eq!((lines.len(), reading.bytes, reading.damage), (0, 0, None));
}

#[test]
fn names_do_not_decide_what_is_packed() {
    let folder = tempfile::tempdir().unwrap();
    let [plain, packed] = ["plain.gz", "packed"].map(|name| folder.path().join(name));
    fs::write(&plain, "one\n").unwrap();
    fs::write(&packed, gzip([&b"one\n"[..]])).unwrap();
    let readings = [plain, packed].map(|path| read_path(&path, How::usual(Mmap::Auto)));
    assert_eq!(readings[0], readings[1]);
    assert_eq!(readings[0].0.len(), 1);
}

#[test]
fn a_named_pipe_is_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let text = b"one\ntwo\n".repeat(100_000);
    thread::scope(|scope| {
        scope.spawn(|| File::options().write(true).open(&path).unwrap().write_all(&text).unwrap());
        let (lines, reading) = read_path(&path, How::usual(Mmap::Auto));
        assert_eq!((lines.len(), reading.bytes), (200_000, 800_000));
    });
}

#[test]
fn a_reading_ends_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let [plain, packed] = [temporary(b"one\n"), temporary(&gzip([&b"one\n"[..]]))];
    let (stop, progress) = (AtomicBool::new(true), AtomicU64::new(0));
    for path in [&pipe, plain.path(), packed.path()] {
        let options = Options { mmap: Mmap::Auto, max_line: MAX_LINE, stop: &stop, progress: &progress };
        let reading = read::read(&source(path), &options, &|_| panic!("judged"), &|()| {}).unwrap();
        assert_eq!((reading.stopped, reading.damage), (true, None));
    }
}

/// Runs itself in a process of its own: the limit holds for a whole process.
#[test]
fn ten_thousand_files_need_few_descriptors() {
    const HERE: &str = "input::tests::equivalence::ten_thousand_files_need_few_descriptors";
    if std::env::var_os("FEW_DESCRIPTORS").is_none() {
        let child = Command::new(std::env::current_exe().unwrap()).args(["--exact", HERE]).env("FEW_DESCRIPTORS", "1").output();
        assert!(child.unwrap().status.success());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for name in 0..10_000 {
        fs::write(folder.path().join(name.to_string()), "one\ntwo\n").unwrap();
    }
    let few = rustix::process::Rlimit { current: Some(64), maximum: Some(64) };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, few).unwrap();
    let found = find(&[folder.path().to_owned()]);
    assert_eq!((found.sources.len(), found.problems.len()), (10_000, 0));
    let lines = AtomicU64::new(0);
    let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
    let options = Options { mmap: Mmap::Always, max_line: MAX_LINE, stop: &stop, progress: &progress };
    let judge = |chunk: Chunk<'_>| split(chunk, MAX_LINE).len() as u64;
    let keep = |count| {
        lines.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
    };
    pool().install(|| {
        use rayon::prelude::*;
        found.sources.par_iter().for_each(|source| assert_eq!(read::read(source, &options, &judge, &keep).unwrap().bytes, 8));
    });
    assert_eq!(lines.into_inner(), 20_000);
}
