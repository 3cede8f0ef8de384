//! Mapped, read, piped or compressed: the same lines at the same offsets, each once, whatever the
//! work sizes.

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
use crate::input::decompress::fixture::{COMPRESSIONS, compress};
use crate::input::find::find;
use crate::input::lines::{self, LinesSummary, for_each_line};
use crate::input::magic::{self, Compression};
use crate::input::read::read_pipe;

/// A gzip file with a member for each part.
pub(super) fn gzip<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    compress(Compression::Gzip, parts)
}

fn compression() -> impl Strategy<Value = Compression> {
    prop::sample::select(&COMPRESSIONS[..])
}

/// Reads `content` through a pipe.
fn read_piped(content: &[u8], how: ReadMethod) -> (Vec<DeliveredLine>, ReadSummary) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let reader: Mutex<Option<PipeReader>> = Mutex::new(Some(reader));
    thread::scope(|scope| {
        scope.spawn(move || writer.write_all(content).unwrap());
        collect(how, |context| {
            read_pipe(reader.lock().unwrap().take().unwrap(), context)
        })
    })
}

/// Text of few letters, so that newlines, NULs and byte-order marks occur in all combinations.
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
        .prop_filter("looks like UTF-16", |text| magic::bom_len(text).is_ok())
}

fn sizes() -> impl Strategy<Value = (WorkSizes, usize)> {
    let some = || prop_oneof![1..20_usize, 1..4096_usize];
    (some(), some(), some()).prop_map(|(range, block, max_line)| {
        (
            WorkSizes {
                range: range as u64,
                block,
            },
            max_line,
        )
    })
}

proptest! {
    #[test]
    fn all_read_methods_deliver_the_same_lines(text in text(), (sizes, max_line) in sizes(), cut in any::<prop::sample::Index>(), compression in compression()) {
        let expected = reference(&text, max_line);
        let compressed = compress(compression, <[_; 2]>::from(text.split_at(cut.index(text.len() + 1))));
        let (plain_file, packed_file) = (temporary(&text), temporary(&compressed));
        let how = |mmap| ReadMethod { mmap, max_line, sizes };
        let summaries = [
            read_path(plain_file.path(), how(Mmap::Always)),
            read_path(plain_file.path(), how(Mmap::Never)),
            read_piped(&text, how(Mmap::Auto)),
            read_path(packed_file.path(), how(Mmap::Auto)),
            read_piped(&compressed, how(Mmap::Auto)),
        ];
        for (lines, summary) in &summaries {
            prop_assert_eq!(lines, &expected);
            prop_assert_eq!(summary, &summaries[0].1);
        }
        prop_assert_eq!(summaries[0].1.bytes, text.len() as u64);
        prop_assert_eq!(&summaries[0].1.damage, &None);
    }
}

proptest! {
    #[test]
    fn lines_in_order_are_the_same_lines(text in text(), compression in compression()) {
        let (plain, compressed) = (temporary(&text), temporary(&compress(compression, [text.as_slice()])));
        let held = |line: DeliveredLine| match line.body {
            DeliveredBody::Held(text) => {
                let ended = text.ends_with(b"\n");
                let text = text.strip_suffix(b"\n").unwrap_or(&text);
                (ended || !text.is_empty()).then(|| text.strip_suffix(b"\r").unwrap_or(text).to_vec())
            }
            DeliveredBody::Nuls(_) => None,
            DeliveredBody::Oversized(_) => panic!("unexpected oversized line"),
        };
        let expected: Vec<_> = reference(&text, MAX_LINE).into_iter().filter_map(held).collect();
        for file in [plain.path(), compressed.path()] {
            let mut lines = Vec::new();
            let end = for_each_line(file, MAX_LINE, |number, line| {
                assert_eq!(number, lines.len() as u64 + 1);
                lines.push(match line {
                    lines::InputLine::Text(text) => text.to_vec(),
                    lines::InputLine::Oversized(bytes) => panic!("{bytes} bytes are not too many"),
                });
                ControlFlow::Continue(())
            });
            prop_assert_eq!(&lines, &expected);
            prop_assert_eq!(end.unwrap(), LinesSummary { lines: expected.len() as u64, damage: None });
        }
    }
}

proptest! {
    #[test]
    fn ranges_that_meet_deliver_each_line_once(text in text(), (sizes, max_line) in sizes(), cuts in prop::collection::vec(0..9_000_u64, 0..6)) {
        let file = temporary(&text);
        let mut bounds = [&[0][..], &cuts, &[u64::MAX]].concat();
        bounds.sort_unstable();
        for mmap in [Mmap::Always, Mmap::Never] {
            let (mut all, mut end, mut bytes) = (Vec::new(), 0, 0);
            for pair in bounds.windows(2) {
                let range = Some(ByteRange { from: pair[0], to: pair[1] });
                let (lines, summary) = collect_range(ReadMethod { mmap, max_line, sizes }, range, |context| read_by(&source(file.path()), context));
                // A line starts at the NULs before it.
                let after_nuls = after_nuls(&lines);
                let owned = |line: &DeliveredLine| {
                    line.offset >= end && (after_nuls.contains(&line.offset) || (pair[0]..pair[1]).contains(&line.offset))
                };
                prop_assert!(lines.iter().all(owned), "{:?} {:?}", pair, lines);
                prop_assert_eq!(&summary.damage, &None);
                if let Some(span) = summary.span.filter(|span| span.start < span.end) {
                    prop_assert_eq!(span.start, end);
                    end = span.end;
                }
                bytes += summary.bytes;
                all.extend(lines);
            }
            prop_assert_eq!(&all, &reference(&text, max_line));
            if !all.is_empty() {
                prop_assert_eq!((end, bytes), (text.len() as u64, text.len() as u64));
            }
        }
    }
}

#[test]
fn a_line_of_the_maximum_length_is_kept() {
    let text = [
        &[b'a'; 100][..],
        b"\n",
        &[b'b'; 101],
        b"\nc\n",
        &[b'd'; 101],
    ]
    .concat();
    for (range, block) in [(1 << 20, 1 << 20), (10, 10), (1, 1)] {
        for mmap in [Mmap::Always, Mmap::Never] {
            let how = ReadMethod {
                mmap,
                max_line: 100,
                sizes: WorkSizes { range, block },
            };
            let (lines, _) = read_path(temporary(&text).path(), how);
            let long: Vec<_> = lines
                .iter()
                .map(
                    |line| matches!(line.body, DeliveredBody::Oversized(line) if line.bytes == 101),
                )
                .collect();
            assert_eq!(long, [false, true, false, true]);
        }
    }
}

#[test]
fn the_line_after_a_long_run_of_nuls_is_delivered() {
    let nuls = 3 << 20;
    let text = [
        &b"one\n"[..],
        &vec![0; nuls],
        b"two\nthree",
        &vec![0; nuls],
        b"four\n",
    ]
    .concat();
    let expected = reference(&text, MAX_LINE);
    assert!(
        matches!(
            expected.iter().map(|line| &line.body).collect::<Vec<_>>()[..],
            [
                DeliveredBody::Held(_),
                DeliveredBody::Nuls(_),
                DeliveredBody::Held(_),
                DeliveredBody::Oversized(SkippedText {
                    nuls: 3_145_728,
                    ..
                }),
            ]
        ),
        "{expected:?}"
    );
    let file = temporary(&text);
    for (range, block) in [(1 << 20, 256 << 10), (8 << 20, 8 << 20), (1000, 1000)] {
        for mmap in [Mmap::Always, Mmap::Never] {
            let how = ReadMethod {
                mmap,
                max_line: MAX_LINE,
                sizes: WorkSizes { range, block },
            };
            let (lines, summary) = read_path(file.path(), how);
            assert!(lines == expected, "{mmap:?} {range} {block}");
            assert_eq!((summary.bytes, summary.hole_bytes), (text.len() as u64, 0));
        }
    }
}

#[test]
fn a_line_over_the_limit_is_not_kept() {
    let text = [b"a\n".repeat(1000), vec![b'x'; 9 << 20], b"\nb\n".to_vec()].concat();
    for mmap in [Mmap::Always, Mmap::Never] {
        let largest = AtomicU64::new(0);
        let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
        let options = ReadOptions {
            mmap,
            max_line: 1000,
            stop: &stop,
            progress: &progress,
            range: None,
        };
        let process = |chunk: Chunk<'_>| {
            if let Body::Lines(lines) = chunk.body {
                largest.fetch_max(lines.len() as u64, std::sync::atomic::Ordering::Relaxed);
            }
        };
        read::read(
            &source(temporary(&text).path()),
            &options,
            &process,
            &|()| {},
        )
        .unwrap();
        assert!(largest.into_inner() <= 2000);
        assert_eq!(progress.into_inner(), text.len() as u64);
    }
}

#[test]
fn holes_are_skipped_and_offsets_are_kept() {
    let file = NamedTempFile::new().unwrap();
    file.as_file().set_len(100 << 30).unwrap();
    for mmap in [Mmap::Always, Mmap::Never] {
        let (lines, summary) = read_path(file.path(), ReadMethod::usual(mmap));
        assert_eq!(
            (lines.len(), summary.bytes, summary.hole_bytes),
            (0, 100 << 30, 100 << 30)
        );
    }
    let at = (6 << 30) + 12_345;
    file.as_file().write_all_at(b"one\ntwo\n", at).unwrap();
    for mmap in [Mmap::Always, Mmap::Never] {
        let (lines, summary) = read_path(file.path(), ReadMethod::usual(mmap));
        assert_eq!(
            lines.iter().map(|line| line.offset).collect::<Vec<_>>(),
            [at, at + 4]
        );
        assert_eq!(
            (summary.hole_bytes, summary.damage),
            ((100 << 30) - 8, None)
        );
    }
}

#[test]
fn a_file_of_length_zero_with_content_is_read() {
    let (lines, summary) = read_path(
        "/proc/self/status".as_ref(),
        ReadMethod::usual(Mmap::Always),
    );
    assert!(lines.len() > 10 && summary.bytes > 100);
    let (lines, summary) = read_path(temporary(b"").path(), ReadMethod::usual(Mmap::Always));
    assert_eq!((lines.len(), summary.bytes, summary.damage), (0, 0, None));
}

#[test]
fn file_names_do_not_determine_the_compression() {
    let folder = tempfile::tempdir().unwrap();
    let [plain, compressed] = ["plain.gz", "compressed"].map(|name| folder.path().join(name));
    fs::write(&plain, "one\n").unwrap();
    fs::write(&compressed, gzip([&b"one\n"[..]])).unwrap();
    let summaries = [plain, compressed].map(|path| read_path(&path, ReadMethod::usual(Mmap::Auto)));
    assert_eq!(summaries[0], summaries[1]);
    assert_eq!(summaries[0].0.len(), 1);
}

#[test]
fn a_named_pipe_is_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    let text = b"one\ntwo\n".repeat(100_000);
    thread::scope(|scope| {
        scope.spawn(|| {
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .write_all(&text)
                .unwrap();
        });
        let (lines, summary) = read_path(&path, ReadMethod::usual(Mmap::Auto));
        assert_eq!((lines.len(), summary.bytes), (200_000, 800_000));
    });
}

#[test]
fn a_read_ends_when_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    let [plain, compressed] = [temporary(b"one\n"), temporary(&gzip([&b"one\n"[..]]))];
    let (stop, progress) = (AtomicBool::new(true), AtomicU64::new(0));
    for path in [&pipe, plain.path(), compressed.path()] {
        let options = ReadOptions {
            mmap: Mmap::Auto,
            max_line: MAX_LINE,
            stop: &stop,
            progress: &progress,
            range: None,
        };
        let summary =
            read::read(&source(path), &options, &|_| panic!("processed"), &|()| {}).unwrap();
        assert_eq!((summary.stopped, summary.damage), (true, None));
    }
}

/// Runs itself in a separate process, because the limit applies to a whole process.
#[test]
fn ten_thousand_files_need_few_descriptors() {
    const THIS_TEST: &str = "input::tests::equivalence::ten_thousand_files_need_few_descriptors";
    if std::env::var_os("FEW_DESCRIPTORS").is_none() {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", THIS_TEST])
            .env("FEW_DESCRIPTORS", "1")
            .output();
        assert!(child.unwrap().status.success());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for name in 0..10_000 {
        fs::write(folder.path().join(name.to_string()), "one\ntwo\n").unwrap();
    }
    let few = rustix::process::Rlimit {
        current: Some(64),
        maximum: Some(64),
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, few).unwrap();
    let found = find(&[folder.path().to_owned()]);
    assert_eq!((found.sources.len(), found.problems.len()), (10_000, 0));
    let lines = AtomicU64::new(0);
    let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
    let options = ReadOptions {
        mmap: Mmap::Always,
        max_line: MAX_LINE,
        stop: &stop,
        progress: &progress,
        range: None,
    };
    let process = |chunk: Chunk<'_>| split(chunk, MAX_LINE).len() as u64;
    let commit = |count| {
        lines.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
    };
    pool().install(|| {
        use rayon::prelude::*;
        found.sources.par_iter().for_each(|source| {
            assert_eq!(
                read::read(source, &options, &process, &commit)
                    .unwrap()
                    .bytes,
                8
            );
        });
    });
    assert_eq!(lines.into_inner(), 20_000);
}
