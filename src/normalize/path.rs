//! Normalises paths.
//!
//! Case is preserved for reports; matching folds it.

use super::decode::{DecodeStatus, MAX_ROUNDS, decode_in_place};

/// Decodes and normalises a path into `out`. If a control byte was inside an escape, the rest is decoded again.
pub(super) fn decode(path: &[u8], out: &mut Vec<u8>, spare: &mut Vec<u8>) -> DecodeStatus {
    out.clear();
    out.extend_from_slice(path);
    let mut rounds = decode_in_place(out, spare);
    for _ in 0..MAX_ROUNDS {
        if !tidy(out) {
            return rounds;
        }
        rounds = rounds.max(decode_in_place(out, spare));
    }
    tidy(out);
    DecodeStatus::RoundLimit
}

/// Normalises a decoded path in place: `\` and NUL become `/`; `;params`, other control bytes and trailing spaces are removed; `//`
/// and `/./` become `/`. `..` is kept. Returns whether control bytes were removed, which may have been inside an escape.
fn tidy(path: &mut Vec<u8>) -> bool {
    let (mut write, mut skipping, mut dropped) = (0, false, false);
    for read in 0..path.len() {
        let byte = match path[read] {
            // Some servers stop at NUL, others drop it; as a slash it ends a segment for both.
            b'\\' | 0 => b'/',
            other => other,
        };
        match byte {
            b'/' => {
                skipping = false;
                write = drop_dot(path, write);
                if write > 0 && path[write - 1] == b'/' {
                    continue;
                }
            }
            b';' => skipping = true,
            0x01..=0x1f | 0x7f => {
                dropped = true;
                continue;
            }
            _ => {}
        }
        if !skipping {
            path[write] = byte;
            write += 1;
        }
    }
    while path[..write].ends_with(b" ") {
        write -= 1;
    }
    write = drop_dot(path, write);
    path.truncate(write);
    dropped
}

/// Drops a `.` segment that ends at `end`.
fn drop_dot(path: &[u8], end: usize) -> usize {
    if path[..end].ends_with(b"/.") { end - 1 } else { end }
}

/// Resolves the `..` segments of a normalised path; those above the root are ignored.
pub(super) fn resolve(path: &[u8], resolved: &mut Vec<u8>) {
    resolved.clear();
    for segment in path.split_inclusive(|&b| b == b'/') {
        if !matches!(segment, b"../" | b"..") {
            resolved.extend_from_slice(segment);
            continue;
        }
        // Remove the slash, then the segment before it.
        let end = resolved.len().saturating_sub(1);
        let keep = resolved[..end].iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
        resolved.truncate(if end == 0 { resolved.len() } else { keep });
    }
}
