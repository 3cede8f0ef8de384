//! Compressed logs: damaged, concatenated, padded, misnamed, and larger than memory when
//! decompressed.
//!
//! Everything that can be decompressed counts, problems are reported, and other files are read in
//! any case.

use serde_json::Value;

use crate::compression::{COMPRESSIONS, Compression};
use crate::harness::{Harness, Run, log};
use crate::memory::bounded;

const LINES: u64 = 20_000;

/// Scans a compressed file and a plain one of 100 lines, which must always be read. Returns the
/// input entry of the compressed file.
fn scan(compressed: &[u8]) -> (Run, Value) {
    let harness = Harness::new();
    harness.file("a.packed", compressed);
    harness.file("b.log", log(100));
    let (run, report) = harness.json(["a.packed", "b.log"]);
    assert_eq!(
        (
            report["inputs"][1]["parsed"].as_u64(),
            report["inputs"][1]["problem"].as_str()
        ),
        (Some(100), None)
    );
    let input = report["inputs"][0].clone();
    assert_eq!(
        run.code,
        if input["problem"].is_null() { 0 } else { 3 },
        "{}",
        run.stderr
    );
    assert!(
        input["problem"].is_null() || run.stderr.contains("error: a.packed: "),
        "{}",
        run.stderr
    );
    (run, input)
}

fn lines(input: &Value) -> u64 {
    input["lines"].as_u64().unwrap()
}

fn problem(input: &Value) -> &str {
    input["problem"].as_str().expect("something is wrong")
}

/// C1. A partial line at the end does not count.
#[test]
fn a_truncated_compressed_log_yields_its_complete_lines() {
    for compression in COMPRESSIONS {
        let compressed = compression.pack(log(LINES as usize).as_bytes());
        let early = format!("{} stream ends early", compression.name());
        for len in [
            compressed.len() / 2,
            compressed.len() - 9,
            compressed.len() - 4,
        ] {
            let (_, input) = scan(&compressed[..len]);
            assert!(problem(&input).contains(&early), "{len}: {input}");
            assert!(
                lines(&input) > 1000 && lines(&input) <= LINES,
                "{len}: {input}"
            );
            assert_eq!(input["unparsed"], 0);
        }
        let (_, input) = scan(&compressed[..12]);
        assert_eq!(lines(&input), 0);
        assert!(problem(&input).contains(&early), "{input}");
    }
}

/// What a start meets during `gzip`: the plain file stays until the compressed one is complete.
#[test]
fn a_log_that_is_being_compressed_counts_once() {
    let text = log(LINES as usize);
    for compression in COMPRESSIONS {
        let compressed = compression.pack(text.as_bytes());
        for part in [0, compressed.len() / 2, compressed.len()] {
            let harness = Harness::new();
            std::fs::create_dir(harness.path("log")).unwrap();
            harness.file("log/access.log.1", &text);
            harness.file(
                format!("log/access.log.1.{}", compression.ending()),
                &compressed[..part],
            );
            let (run, report) = harness.json(["log"]);
            assert_eq!(
                (run.code, report["totals"]["lines"].as_u64()),
                (0, Some(LINES)),
                "{compression:?} {part}: {}",
                run.stderr
            );
            assert!(run.stderr.contains("left out"), "{}", run.stderr);
        }
    }
}

/// C2.
#[test]
fn a_damaged_compressed_log_is_read_up_to_the_damage() {
    for compression in COMPRESSIONS {
        let mut compressed = compression.pack(log(LINES as usize).as_bytes());
        let middle = compressed.len() / 2;
        compressed[middle..middle + 200]
            .iter_mut()
            .for_each(|byte| *byte ^= 0x55);
        let (_, input) = scan(&compressed);
        assert!(problem(&input).contains(compression.name()), "{input}");
        assert!(
            input["parsed"].as_u64().unwrap() > 1000,
            "{compression:?} {input}"
        );
    }
}

/// C3. The checksum may be after the text, or in the index of an xz file.
#[test]
fn a_wrong_checksum_is_reported_and_the_lines_count() {
    for (compression, ats) in [
        (Compression::Gzip, [8, 2]),
        (Compression::Zstd, [4, 1]),
        (Compression::Bzip2, [2, 4]),
        (Compression::Xz, [12, 8]),
    ] {
        for at in ats {
            let mut compressed = compression.pack(log(LINES as usize).as_bytes());
            let at = compressed.len() - at;
            compressed[at] ^= 1;
            let (_, input) = scan(&compressed);
            let names_checksum = matches!(compression, Compression::Gzip | Compression::Zstd);
            assert!(
                problem(&input).contains(if names_checksum {
                    "checksum mismatch"
                } else {
                    "corrupt or fails its checksum"
                }),
                "{input}"
            );
            assert!(problem(&input).contains("may be wrong"), "{input}");
            assert_eq!(
                (lines(&input), input["parsed"].as_u64()),
                (LINES, Some(LINES)),
                "{compression:?}"
            );
        }
    }
}

/// C4. Also if a line continues in the next member, and if a member is empty.
#[test]
fn concatenated_members_are_one_log() {
    let text = log(LINES as usize);
    let bytes = text.as_bytes();
    for compression in COMPRESSIONS {
        let parts = [
            &bytes[..700_001],
            b"",
            &bytes[700_001..700_003],
            &bytes[700_003..],
        ];
        let compressed = parts.map(|part| compression.pack(part)).concat();
        let (_, input) = scan(&compressed);
        assert!(input["problem"].is_null(), "{input}");
        assert_eq!(
            (lines(&input), input["bytes"].as_u64()),
            (LINES, Some(bytes.len() as u64))
        );
        assert_eq!(input["parsed"], LINES);
    }
}

/// C4. What formats allow between their parts: skippable frames (`pzstd`), and padding between xz
/// streams.
#[test]
fn padding_between_members_is_skipped() {
    let part = log(100);
    let skippable = b"\x5a\x2a\x4d\x18\x03\0\0\0abc";
    for (compression, between) in [
        (Compression::Zstd, &skippable[..]),
        (Compression::Xz, &[0; 8]),
    ] {
        let one = compression.pack(part.as_bytes());
        let (run, input) = scan(&[&one, between, &one, between].concat());
        assert!(
            input["problem"].is_null() && run.stderr.is_empty(),
            "{}",
            run.stderr
        );
        assert_eq!(lines(&input), 200);
    }
    let (_, input) = scan(&[&skippable[..], &Compression::Zstd.pack(part.as_bytes())].concat());
    assert_eq!((lines(&input), input["problem"].as_str()), (100, None));
}

/// C5.
#[test]
fn trailing_zeros_are_padding_and_other_trailing_bytes_are_damage() {
    for compression in COMPRESSIONS {
        let compressed = compression.pack(log(LINES as usize).as_bytes());
        let (run, input) = scan(&[compressed.clone(), vec![0; 513]].concat());
        assert!(
            input["problem"].is_null() && run.stderr.contains("513 zero bytes follow"),
            "{}",
            run.stderr
        );
        assert_eq!(lines(&input), LINES);
        for junk in [b"junk".to_vec(), vec![0, 0, 7]] {
            let (_, input) = scan(&[compressed.clone(), junk].concat());
            assert!(
                problem(&input).contains(&format!("data after the {} stream", compression.name())),
                "{input}"
            );
            assert_eq!(lines(&input), LINES);
        }
    }
}

/// A compressed file that repeats `block`, and the bytes of its text.
fn bomb(harness: &Harness, compression: Compression, block: &[u8], times: usize) -> u64 {
    harness.file("bomb", compression.pack(block).repeat(times));
    (block.len() * times) as u64
}

/// C6. The other formats with less: their memory does not grow after the first ten megabytes.
#[test]
fn a_compressed_line_of_600_megabytes_needs_little_memory() {
    for compression in COMPRESSIONS {
        let harness = Harness::new();
        let bytes = bomb(
            &harness,
            compression,
            &vec![b'A'; 30_000_000],
            if compression == Compression::Gzip {
                20
            } else {
                5
            },
        );
        harness.file("b.log", log(100));
        let run = bounded(&mut harness.command(["scan", "-f", "json", "bomb", "b.log"]));
        let report = run.json();
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains("times its size"), "{}", run.stderr);
        assert!(
            !run.stderr.contains("First line"),
            "none was held: {}",
            run.stderr
        );
        let inputs = &report["inputs"];
        assert_eq!(
            (inputs[0]["oversized"].as_u64(), inputs[0]["bytes"].as_u64()),
            (Some(1), Some(bytes)),
            "{compression:?}"
        );
        assert_eq!(inputs[1]["parsed"], 100);
    }
}

/// C7. The same line more than a million times: no count needs more memory.
#[test]
fn a_compressed_log_of_equal_lines_needs_little_memory() {
    for compression in COMPRESSIONS {
        let harness = Harness::new();
        let bytes = bomb(&harness, compression, log(1).repeat(100_000).as_bytes(), 10);
        let run = bounded(&mut harness.command(["scan", "-f", "json", "bomb"]));
        let report = run.json();
        assert_eq!(
            (run.code, report["totals"]["bytes"].as_u64()),
            (0, Some(bytes)),
            "{compression:?} {}",
            run.stderr
        );
        assert_eq!(report["totals"]["parsed"], 1_000_000);
    }
}

/// C7. A file that needs more memory than allowed is refused, whatever it contains.
#[test]
fn a_compressed_log_with_too_large_a_window_is_refused() {
    // A zstd frame whose header requests a window of 3.75 TiB (RFC 8878, section 3.1.1.1.2), and
    // one raw block.
    let greedy = b"\x28\xb5\x2f\xfd\x00\xff\x21\0\0one\n";
    let (run, input) = scan(greedy);
    assert!(
        problem(&input).starts_with("needs a zstd window of 3932160 MiB, and 128 MiB is the limit"),
        "{input}"
    );
    assert!(
        run.stderr
            .contains("zstd -dc --long=31 FILE | probewatch scan -"),
        "{}",
        run.stderr
    );
    // After one that needs less.
    let (_, input) = scan(&[Compression::Zstd.pack(log(50).as_bytes()), greedy.to_vec()].concat());
    assert_eq!(lines(&input), 50);
    assert!(
        problem(&input).starts_with("needs a zstd window"),
        "{input}"
    );
}

/// C8.
#[test]
fn compression_is_detected_from_content() {
    let text = log(500);
    let harness = Harness::new();
    harness.file("plain.gz", &text);
    for compression in COMPRESSIONS {
        harness.file(
            format!("{}.log", compression.name()),
            compression.pack(text.as_bytes()),
        );
        harness.file(
            format!(
                "{}.{}",
                compression.name(),
                COMPRESSIONS[(compression as usize + 1) % 4].ending()
            ),
            compression.pack(text.as_bytes()),
        );
    }
    let (run, report) = harness.json(["."]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(report["inputs"].as_array().unwrap().len(), 9);
    for input in report["inputs"].as_array().unwrap() {
        assert_eq!(
            (lines(input), input["hits"].as_u64()),
            (500, Some(50)),
            "{input}"
        );
    }
}

/// C9. The same report from every compression, from a file and from a pipe, complete and truncated.
#[test]
fn a_compressed_log_has_the_same_report() {
    let text = log(30_000);
    for format in ["ndjson", "csv"] {
        let plain = Harness::new();
        plain.file("a.log", &text);
        let expected = plain.run(["scan", "-f", format, "a.log"]);
        assert_eq!(expected.code, 0, "{}", expected.stderr);
        let piped = plain.run_with_stdin(["scan", "-f", format, "-"], text.as_bytes());
        for compression in COMPRESSIONS {
            let harness = Harness::new();
            let compressed = compression.pack(text.as_bytes());
            harness.file("a.log", &compressed);
            for threads in ["1", "2", "5"] {
                let run = harness.run(["scan", "-f", format, "-j", threads, "a.log"]);
                assert!(
                    run.code == 0 && run.stdout == expected.stdout,
                    "{compression:?} {format} {threads}: {}",
                    run.stderr
                );
            }
            let run = harness.run_with_stdin(["scan", "-f", format, "-"], &compressed);
            assert!(
                run.code == 0 && run.stdout == piped.stdout,
                "{compression:?} {format}: {}",
                run.stderr
            );
            let run = harness.run_with_stdin(
                ["scan", "-f", format, "-"],
                &compressed[..compressed.len() / 2],
            );
            assert_eq!(run.code, 3, "{}", run.stderr);
            assert!(
                run.stderr
                    .contains(&format!("{} stream ends early", compression.name())),
                "{}",
                run.stderr
            );
            assert!(
                !run.stdout.is_empty() && run.stdout.len() < piped.stdout.len(),
                "{compression:?} {format}"
            );
        }
    }
}

/// C9. Other commands read compressed logs too.
#[test]
fn a_line_of_a_compressed_log_is_explained() {
    for compression in COMPRESSIONS {
        let harness = Harness::new();
        harness.file("a.packed", compression.pack(log(20).as_bytes()));
        let run = harness.run(["explain", "a.packed:4"]);
        assert!(
            run.code == 0 && run.text().contains("/.git/config"),
            "{compression:?} {}{}",
            run.text(),
            run.stderr
        );
    }
}

/// C9. Compression is recognised from the first bytes, with any name.
#[test]
fn other_compressions_are_refused_by_name() {
    let heads: [(&[u8], &str); 5] = [
        (b"PK\x03\x04\x14\0", "is a zip archive"),
        (b"\x04\x22\x4d\x18\x64", "compressed with lz4"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "compressed with 7z"),
        (b"LZIP\x01\x0c", "compressed with lzip"),
        (b"\x1f\x9d\x90", "compressed with compress"),
    ];
    for (head, name) in heads {
        // Lines after the header would be found if the file were read as text.
        let (_, input) = scan(&[head, b"\n", log(100).as_bytes()].concat());
        assert!(problem(&input).contains(name), "{input}");
        assert_eq!((lines(&input), input["hits"].as_u64()), (0, Some(0)));
    }
}
