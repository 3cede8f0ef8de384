//! Brings a decoded path into one form.
//!
//! Case stays as it is, because reports show it; matching folds it.

use super::decode::{DecodeStatus, MAX_ROUNDS, decode_in_place};

/// Decodes and tidies a path into `out`. Where a control byte stood within an escape, what is left is decoded once more.
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

/// Tidies a decoded path in place: `\` and NUL become `/`, `;params`, other control bytes and spaces at the end go, `//` and
/// `/./` become `/`. `..` stays. Whether control bytes went, which may have stood within an escape.
fn tidy(path: &mut Vec<u8>) -> bool {
    let (mut write, mut skipping, mut dropped) = (0, false, false);
    for read in 0..path.len() {
        let byte = match path[read] {
            // A server that stops at NUL has seen what stands before it, one that drops it goes on behind it.
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

/// Forgets a `.` segment that ends at `end`.
fn drop_dot(path: &[u8], end: usize) -> usize {
    if path[..end].ends_with(b"/.") { end - 1 } else { end }
}

/// Resolves the `..` segments of a tidied path; what leads above the root stays at the root.
pub(super) fn resolve(path: &[u8], resolved: &mut Vec<u8>) {
    resolved.clear();
    for segment in path.split_inclusive(|&b| b == b'/') {
        if !matches!(segment, b"../" | b"..") {
            resolved.extend_from_slice(segment);
            continue;
        }
        // Take back the slash, then the segment before it.
        let end = resolved.len().saturating_sub(1);
        let keep = resolved[..end].iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
        resolved.truncate(if end == 0 { resolved.len() } else { keep });
    }
}
