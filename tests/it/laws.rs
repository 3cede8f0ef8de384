//! A report says the same however its log is read: in any number of threads, mapped or not, plain, packed or piped.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::rig::{Rig, log};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn threads_maps_and_packing_change_no_byte() {
    let rig = Rig::new();
    let text = log(60_000);
    rig.file("access.log", &text);
    for format in ["json", "ndjson", "csv"] {
        let expected = rig.run(["scan", "-f", format, "-j1", "--mmap", "never", "access.log"]);
        assert_eq!(expected.code, 0, "{}", expected.stderr);
        for threads in ["1", "2", "8"] {
            for mmap in ["always", "never"] {
                let run = rig.run(["scan", "-f", format, "-j", threads, "--mmap", mmap, "access.log"]);
                assert!(run.stdout == expected.stdout, "{format}, {threads} threads, mmap {mmap}");
            }
        }
    }
    let plain = rig.run(["scan", "-f", "ndjson", "access.log"]).text();
    rig.file("access.log", gzip(text.as_bytes()));
    assert!(rig.run(["scan", "-f", "ndjson", "access.log"]).text() == plain, "packed");
}
