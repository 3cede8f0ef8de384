//! Leaves out a packed file that lies beside what it is packed from: a reading that meets `gzip` at its work would count
//! the same lines twice.
//!
//! The names say where to look, the texts decide: all that can be unpacked must stand at the start of the plain file. Each
//! file that is left out is named.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::decompress::Decompressor;
use super::find::{FoundInputs, InputSource, SourceKind};
use super::magic::{self, HEAD};
use super::peek::PeekReader;
use super::rotation_names::{file_name_bytes, strip_compression_suffix};

/// Bytes compared in one go.
const BLOCK: usize = 64 << 10;

/// Takes packed files out of `found` whose text is that of another file in it, and adds a notice for each.
pub fn exclude_compressed_copies(found: &mut FoundInputs) {
    let plain: HashSet<PathBuf> =
        found.sources.iter().filter(|source| source.kind == SourceKind::File).map(|source| source.path.clone()).collect();
    let plain_copy_of = |source: &InputSource| {
        let path = source.path.with_file_name(OsStr::from_bytes(strip_compression_suffix(&file_name_bytes(&source.path))));
        let is_beside = source.kind == SourceKind::File && path != source.path && plain.contains(&path);
        (is_beside && is_compressed_copy(&path, &source.path).unwrap_or(false)).then_some(path)
    };
    let mut kept = Vec::with_capacity(found.sources.len());
    for source in std::mem::take(&mut found.sources) {
        match plain_copy_of(&source) {
            Some(plain) => found.notices.push(format!("{} holds what {} holds; left out", source.path.display(), plain.display())),
            None => kept.push(source),
        }
    }
    found.sources = kept;
}

/// Whether all that can be unpacked of a file stands at the start of a plain one.
fn is_compressed_copy(plain: &Path, compressed: &Path) -> io::Result<bool> {
    let mut plain = BufReader::with_capacity(BLOCK, File::open(plain)?);
    let source = PeekReader::new(File::open(compressed)?, HEAD);
    if source.head().is_empty() {
        // Nothing was written to it yet.
        return Ok(true);
    }
    let Ok(Some(compression)) = magic::detect(source.head()) else { return Ok(false) };
    let mut text = Decompressor::new(BufReader::with_capacity(BLOCK, source), compression);
    let (mut here, mut there) = (vec![0; BLOCK], vec![0; BLOCK]);
    // What ends early is still being packed.
    while let Ok(read @ 1..) = text.read(&mut here) {
        match plain.read_exact(&mut there[..read]) {
            Ok(()) if here[..read] == there[..read] => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::decompress::fixture::{COMPRESSIONS, pack};
    use crate::input::find::find;
    use std::fs;

    /// The names that stay, where `access.log.1` holds `plain` and the packed file so many halves of the packed `text`.
    fn stay(plain: &[u8], text: &[u8], halves: usize) -> Vec<String> {
        let mut all = COMPRESSIONS.map(|compression| {
            let folder = tempfile::tempdir().unwrap();
            let compressed = pack(compression, [text]);
            fs::write(folder.path().join("access.log.1"), plain).unwrap();
            fs::write(folder.path().join("access.log.1.gz"), &compressed[..compressed.len() * halves / 2]).unwrap();
            let mut found = find(&[folder.path().to_owned()]);
            exclude_compressed_copies(&mut found);
            assert_eq!(found.notices.len(), 2 - found.sources.len());
            found.sources.iter().map(|source| source.path.file_name().unwrap().to_str().unwrap().to_owned()).collect::<Vec<_>>()
        });
        all.sort();
        assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
        all[0].clone()
    }

    #[test]
    fn what_is_packed_from_its_neighbour_is_left_out_at_every_step() {
        let text = b"one line of many\n".repeat(20_000);
        for halves in 0..=2 {
            assert_eq!(stay(&text, &text, halves), ["access.log.1"], "{halves}");
        }
        // Lines that came late, behind the packing.
        assert_eq!(stay(&text, &text[..text.len() - 17], 2), ["access.log.1"]);
    }

    #[test]
    fn another_text_stays() {
        let text = b"one line of many\n".repeat(20_000);
        let more = [&text[..], b"one more\n"].concat();
        let other = [&text[..text.len() - 1], b"!"].concat();
        for compressed in [&more[..], &other, b"x\n"] {
            assert_eq!(stay(&text, compressed, 2), ["access.log.1", "access.log.1.gz"]);
        }
    }

    #[test]
    fn what_is_not_packed_and_what_lies_alone_stays() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("a", "one\n"), ("a.gz", "one\n"), ("b.gz", "")] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let mut found = find(&[folder.path().to_owned()]);
        exclude_compressed_copies(&mut found);
        assert_eq!((found.sources.len(), found.notices.len()), (3, 0));
    }
}
