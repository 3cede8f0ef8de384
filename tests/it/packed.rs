//! Packed logs: damaged, glued together, padded, misnamed, and such as unpack to more than there is memory.
//!
//! What could be unpacked counts, what is wrong is said, and the other files are read whatever one of them is.

use std::fs::File;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::laws::gzip;
use crate::memory::bounded;
use crate::rig::{Rig, Run, log};

const LINES: u64 = 20_000;

/// Scans a packed file beside a plain one of 100 lines, which must be read whatever the packed one is; the report's entry
/// of the packed one.
fn scan(packed: &[u8]) -> (Run, Value) {
    let rig = Rig::new();
    rig.file("a.log.gz", packed);
    rig.file("b.log", log(100));
    let (run, report) = rig.json(["a.log.gz", "b.log"]);
    assert_eq!((report["inputs"][1]["parsed"].as_u64(), report["inputs"][1]["problem"].as_str()), (Some(100), None));
    let input = report["inputs"][0].clone();
    assert_eq!(run.code, if input["problem"].is_null() { 0 } else { 3 }, "{}", run.stderr);
    assert!(input["problem"].is_null() || run.stderr.contains("error: a.log.gz: "), "{}", run.stderr);
    (run, input)
}

fn lines(input: &Value) -> u64 {
    input["lines"].as_u64().unwrap()
}

fn problem(input: &Value) -> &str {
    input["problem"].as_str().expect("something is wrong")
}

/// C1. Half a line at the end is no line.
#[test]
fn a_packed_log_that_ends_early_yields_its_whole_lines() {
    let packed = gzip(log(LINES as usize).as_bytes());
    for len in [packed.len() / 2, packed.len() - 9, packed.len() - 4] {
        let (_, input) = scan(&packed[..len]);
        assert!(problem(&input).contains("gzip stream ends early"), "{len}: {input}");
        assert!(lines(&input) > 1000 && lines(&input) <= LINES, "{len}: {input}");
        assert_eq!(input["unparsed"], 0);
    }
    let (_, input) = scan(&packed[..12]);
    assert_eq!(lines(&input), 0);
    assert!(problem(&input).contains("gzip stream ends early"), "{input}");
}

/// C2.
#[test]
fn a_packed_log_with_a_damaged_middle_is_read_up_to_there() {
    let mut packed = gzip(log(LINES as usize).as_bytes());
    let middle = packed.len() / 2;
    packed[middle..middle + 200].iter_mut().for_each(|byte| *byte ^= 0x55);
    let (_, input) = scan(&packed);
    assert!(problem(&input).contains("gzip"), "{input}");
    assert!(input["parsed"].as_u64().unwrap() > 1000, "{input}");
}

/// C3.
#[test]
fn a_wrong_checksum_is_told_and_the_lines_count() {
    for at in [8, 2] {
        let mut packed = gzip(log(LINES as usize).as_bytes());
        let at = packed.len() - at;
        packed[at] ^= 1;
        let (_, input) = scan(&packed);
        assert!(problem(&input).contains("checksum mismatch"), "{input}");
        assert_eq!((lines(&input), input["parsed"].as_u64()), (LINES, Some(LINES)));
    }
}

/// C4. Also where a line goes on in the next member, and where a member is empty.
#[test]
fn members_glued_together_are_one_log() {
    let text = log(LINES as usize);
    let bytes = text.as_bytes();
    let packed = [gzip(&bytes[..700_001]), gzip(b""), gzip(&bytes[700_001..700_003]), gzip(&bytes[700_003..])].concat();
    let (_, input) = scan(&packed);
    assert!(input["problem"].is_null(), "{input}");
    assert_eq!((lines(&input), input["bytes"].as_u64()), (LINES, Some(bytes.len() as u64)));
    assert_eq!(input["parsed"], LINES);
}

/// C5.
#[test]
fn zeros_behind_a_packed_log_are_padding_and_junk_is_not() {
    let packed = gzip(log(LINES as usize).as_bytes());
    let (run, input) = scan(&[packed.clone(), vec![0; 512]].concat());
    assert!(input["problem"].is_null() && run.stderr.contains("512 zero bytes follow"), "{}", run.stderr);
    assert_eq!(lines(&input), LINES);
    for junk in [b"junk".to_vec(), vec![0, 0, 7]] {
        let (_, input) = scan(&[packed.clone(), junk].concat());
        assert!(problem(&input).contains("follows the gzip stream"), "{input}");
        assert_eq!(lines(&input), LINES);
    }
}

/// A packed file of `block` over and over; the bytes of its text.
fn bomb(rig: &Rig, block: &[u8], times: usize) -> u64 {
    let file = File::create(rig.path("bomb.gz")).unwrap();
    let mut encoder = GzEncoder::new(file, Compression::default());
    for _ in 0..times {
        encoder.write_all(block).unwrap();
    }
    encoder.finish().unwrap();
    (block.len() * times) as u64
}

/// C6.
#[test]
fn a_packed_line_of_600_megabytes_costs_no_memory() {
    let rig = Rig::new();
    let bytes = bomb(&rig, &vec![b'A'; 1_000_000], 600);
    rig.file("b.log", log(100));
    let run = bounded(&mut rig.command(["scan", "-f", "json", "bomb.gz", "b.log"]));
    let report = run.json();
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("times its size"), "{}", run.stderr);
    assert!(!run.stderr.contains("First line"), "none was held: {}", run.stderr);
    let inputs = &report["inputs"];
    assert_eq!((inputs[0]["oversized"].as_u64(), inputs[0]["bytes"].as_u64()), (Some(1), Some(bytes)));
    assert_eq!(inputs[1]["parsed"], 100);
}

/// C7. The same line a million times and more: nothing that is counted grows with it.
#[test]
fn a_packed_log_of_many_equal_lines_costs_no_memory() {
    let rig = Rig::new();
    let block = log(1).repeat(10_000);
    let bytes = bomb(&rig, block.as_bytes(), 200);
    let run = bounded(&mut rig.command(["scan", "-f", "json", "bomb.gz"]));
    let report = run.json();
    assert_eq!((run.code, report["totals"]["bytes"].as_u64()), (0, Some(bytes)), "{}", run.stderr);
    assert_eq!(report["totals"]["parsed"], 2_000_000);
}

/// C8.
#[test]
fn what_a_file_is_does_not_depend_on_its_name() {
    let text = log(500);
    let rig = Rig::new();
    rig.file("plain.gz", &text);
    rig.file("packed.log", gzip(text.as_bytes()));
    let (run, report) = rig.json(["plain.gz", "packed.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for input in report["inputs"].as_array().unwrap() {
        assert_eq!((lines(input), input["hits"].as_u64()), (500, Some(50)));
    }
}

/// C9. Known by their first bytes, whatever they are called.
#[test]
fn other_packings_are_refused_by_name() {
    let heads: [(&[u8], &str); 4] =
        [(b"\x28\xb5\x2f\xfd\x04\x58", "zstd"), (b"BZh91AY&SY\x01", "bzip2"), (b"\xfd7zXZ\0\0\x04", "xz"), (b"PK\x03\x04\x14\0", "zip")];
    for (head, name) in heads {
        // Lines behind the head would be found, were it taken for text.
        let (_, input) = scan(&[head, b"\n", log(100).as_bytes()].concat());
        assert!(problem(&input).contains(&format!("packed with {name}")), "{input}");
        assert_eq!((lines(&input), input["hits"].as_u64()), (0, Some(0)));
    }
}
