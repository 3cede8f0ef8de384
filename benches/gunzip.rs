//! The lower bound for a scan of a gzip log: decompresses a file in one thread, with the library
//! that probewatch uses, and prints the size of its text. `cargo bench --bench gunzip -- FILE` runs
//! it; `benches/formats.sh` times it as a process next to the scan.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program to time, not to ship"
)]

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use flate2::Compression;
use flate2::bufread::{GzEncoder, MultiGzDecoder};

/// Bytes that are read and decompressed at a time.
const BLOCK: usize = 256 << 10;

fn main() {
    let Some(path) = std::env::args().skip(1).find(|arg| arg != "--bench") else {
        // `cargo test --benches` and `cargo bench` without arguments decompress a small known text.
        let mut packed = Vec::new();
        GzEncoder::new(&b"a\nb\n"[..], Compression::fast())
            .read_to_end(&mut packed)
            .unwrap();
        assert_eq!(text_len(&packed.repeat(2)[..]), 8);
        println!("usage: gunzip FILE");
        return;
    };
    println!(
        "{}",
        text_len(BufReader::with_capacity(BLOCK, File::open(path).unwrap()))
    );
}

fn text_len(packed: impl BufRead) -> usize {
    let (mut decoder, mut block, mut len) = (MultiGzDecoder::new(packed), vec![0; BLOCK], 0);
    loop {
        match decoder.read(&mut block).unwrap() {
            0 => return len,
            read => len += read,
        }
    }
}
