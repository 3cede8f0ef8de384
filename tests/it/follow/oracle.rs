//! What must have been reported: the numbers of all lines on disk at the end, in any rotated file.
//!
//! Lines that a rotation destroyed may have been reported or not. Nothing may be reported that was
//! not written.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde_json::Value;

/// One object of standard output.
#[derive(Debug, Clone)]
pub(super) struct Hit(pub(super) Value);

impl Hit {
    /// The number in its line; `None` if the line was not written by the test.
    pub(super) fn number(&self) -> Option<u64> {
        let digits = self.0["target"].as_str()?.strip_prefix("/.git/config?n=")?;
        (digits.len() == DIGITS && digits.bytes().all(|b| b.is_ascii_digit()))
            .then(|| digits.parse().unwrap())
    }

    pub(super) fn id(&self) -> &str {
        self.0["id"].as_str().expect("a hit has an id")
    }

    fn generation(&self) -> &str {
        self.id().split(':').next().unwrap()
    }

    fn offset(&self) -> u64 {
        self.id()
            .split(':')
            .nth(1)
            .expect("a generation and an offset")
            .parse()
            .unwrap()
    }
}

/// Digits of a number.
pub(super) const DIGITS: usize = 7;

/// The numbers on disk, each with its offset in the text of its file.
pub(super) type Disk = BTreeMap<u64, u64>;

/// Reads every file in a folder. A partial line at the end does not count.
pub(super) fn on_disk(folder: &Path) -> Disk {
    let mut disk = Disk::new();
    collect(folder, &mut disk);
    disk
}

fn collect(folder: &Path, disk: &mut Disk) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, disk);
            continue;
        }
        for (number, offset) in numbers(&text(&path)) {
            assert_eq!(
                disk.insert(number, offset),
                None,
                "the test itself has {number} twice, again in {}",
                path.display()
            );
        }
    }
}

fn text(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut text = Vec::new();
    MultiGzDecoder::new(&bytes[..])
        .read_to_end(&mut text)
        .unwrap();
    text
}

/// The numbers of the complete lines, with the offset of each.
fn numbers(text: &[u8]) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive(|&b| b == b'\n') {
        if line.ends_with(b"\n")
            && let Some(number) = number(line)
        {
            found.push((number, offset));
        }
        offset += line.len() as u64;
    }
    found
}

fn number(line: &[u8]) -> Option<u64> {
    let at = memchr::memmem::find(line, b"/.git/config?n=")? + b"/.git/config?n=".len();
    std::str::from_utf8(line.get(at..at + DIGITS)?)
        .ok()?
        .parse()
        .ok()
}

/// Nothing lost, repeated or garbled, and each file in order, over all runs together.
pub(super) fn exactly_once(disk: &Disk, runs: &[&[Hit]]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for hit in runs.iter().copied().flatten() {
        if let Some(number) = hit.number()
            && !seen.insert(number)
        {
            return Err(format!("doubled: {}", hit.0));
        }
    }
    at_least_once(disk, runs)
}

/// Nothing lost or garbled, and repeated hits have the same ID and are from another run.
pub(super) fn at_least_once(disk: &Disk, runs: &[&[Hit]]) -> Result<(), String> {
    let (mut seen, mut ids) = (HashMap::new(), HashMap::new());
    for run in runs {
        in_order(run)?;
        for hit in *run {
            let Some(number) = hit.number() else {
                return Err(format!("garbled: {}", hit.0));
            };
            let id = seen.entry(number).or_insert_with(|| hit.id().to_owned());
            if id != hit.id() {
                return Err(format!("line {number} has two ids: {id} and {}", hit.id()));
            }
            if *ids.entry(hit.id().to_owned()).or_insert(number) != number {
                return Err(format!("two lines have one id: {}", hit.0));
            }
            if disk
                .get(&number)
                .is_some_and(|offset| *offset != hit.offset())
            {
                return Err(format!(
                    "line {number} stands at {}: {}",
                    disk[&number], hit.0
                ));
            }
        }
    }
    let lost: Vec<_> = disk
        .keys()
        .filter(|number| !seen.contains_key(number))
        .collect();
    let first = &lost[..lost.len().min(10)];
    if lost.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "lost {} of {}, the first {first:?}",
            lost.len(),
            disk.len()
        ))
    }
}

/// Each generation is reported from its start to its end, once.
fn in_order(run: &[Hit]) -> Result<(), String> {
    let mut last: HashMap<&str, (u64, u64, u64)> = HashMap::new();
    for hit in run {
        let this = (
            hit.offset(),
            hit.0["line"].as_u64().expect("a hit has a line"),
            hit.number().unwrap_or(0),
        );
        if let Some(last) = last.insert(hit.generation(), this)
            && !(last.0 < this.0 && last.1 < this.1 && last.2 < this.2)
        {
            return Err(format!(
                "out of order after offset, line and number {last:?}: {}",
                hit.0
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::follow::writer::line;
    use crate::harness::Harness;

    fn hit(number: u64, id: &str, line: u64) -> Hit {
        Hit(
            serde_json::json!({ "target": format!("/.git/config?n={number:07}"), "id": id, "line": line }),
        )
    }

    #[test]
    fn the_oracle_reads_plain_and_compressed_files_without_partial_lines() {
        let harness = Harness::new();
        let length = line(1).len() as u64;
        fs::create_dir_all(harness.path("old")).unwrap();
        harness.file("access.log", line(4) + line(5).trim_end());
        harness.file("access.log.1", "GET / HTTP/1.1\n".to_owned() + &line(3));
        let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
        compressed
            .write_all((line(1) + &line(2)).as_bytes())
            .unwrap();
        harness.file("old/access.log.2.gz", compressed.finish().unwrap());
        assert_eq!(
            on_disk(&harness.path("")),
            Disk::from([(1, 0), (2, length), (3, 15), (4, 0)])
        );
    }

    #[test]
    fn the_oracle_detects_lost_repeated_garbled_and_misordered_hits() {
        let disk = Disk::from([(1, 0), (2, 100), (3, 0)]);
        let all = [hit(1, "a:0", 1), hit(3, "b:0", 1), hit(2, "a:100", 2)];
        assert_eq!(exactly_once(&disk, &[&all]), Ok(()));
        assert_eq!(exactly_once(&disk, &[&all[..1], &all[1..]]), Ok(()));
        assert_eq!(at_least_once(&disk, &[&all[..2], &all[1..]]), Ok(()));
        let more = |more: Hit| all.iter().cloned().chain([more]).collect::<Vec<_>>();
        let cases = [
            (all[..2].to_vec(), "lost 1 of 3, the first [2]"),
            (more(hit(2, "a:100", 2)), "doubled"),
            (more(hit(4, "a:100", 3)), "out of order"),
            (more(hit(4, "a:200", 2)), "out of order"),
            (
                more(Hit(
                    serde_json::json!({ "target": "/.git/config?n=00000", "id": "c:0", "line": 1 }),
                )),
                "garbled",
            ),
            (
                vec![hit(1, "a:0", 1), hit(2, "a:99", 2), hit(3, "b:0", 1)],
                "line 2 stands at 100",
            ),
        ];
        for (hits, why) in cases {
            let output = exactly_once(&disk, &[&hits]).unwrap_err();
            assert!(output.contains(why), "{why}: {output}");
        }
        assert!(
            exactly_once(&disk, &[&all[..2], &all[1..]])
                .unwrap_err()
                .contains("doubled")
        );
        assert!(
            at_least_once(&disk, &[&all, &[hit(3, "c:0", 1)]])
                .unwrap_err()
                .contains("two ids")
        );
    }
}
