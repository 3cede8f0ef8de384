//! The lower bound for any log tool: maps a file and counts its newlines with `memchr` in the given
//! number of threads. `cargo bench --bench newlines -- THREADS FILE` runs it; `benches/compare.sh`
//! times it as a process next to the scan.

#![allow(unsafe_code, reason = "a map, to be compared with one")]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program to time, not to ship"
)]

use std::fs::File;
use std::path::PathBuf;
use std::thread;

use memmap2::Mmap;

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench");
    let (Some(threads), Some(path)) = (
        args.next().and_then(|n| n.parse::<usize>().ok()),
        args.next().map(PathBuf::from),
    ) else {
        // `cargo test --benches` and `cargo bench` without arguments count a small known text.
        assert_eq!(count(b"a\nb\nc", 2), 2);
        println!("usage: newlines THREADS FILE");
        return;
    };
    let file = File::open(&path).unwrap();
    // SAFETY: the file belongs to the benchmark and is not truncated meanwhile.
    let map = unsafe { Mmap::map(&file) }.unwrap();
    println!("{}", count(&map, threads.max(1)));
}

fn count(bytes: &[u8], threads: usize) -> usize {
    let part = bytes.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let counts: Vec<_> = bytes
            .chunks(part)
            .map(|chunk| scope.spawn(|| memchr::memchr_iter(b'\n', chunk).count()))
            .collect();
        counts.into_iter().map(|count| count.join().unwrap()).sum()
    })
}
