//! Brings a decoded path into one form.
//!
//! Case stays as it is, because reports show it; matching folds it.

/// Tidies a decoded path in place: `\` and NUL become `/`, `;params` and other control bytes go, `//` and `/./` become
/// `/`. `..` stays.
pub(super) fn tidy(path: &mut Vec<u8>) {
    let (mut write, mut skipping) = (0, false);
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
            0x01..=0x1f | 0x7f => continue,
            _ => {}
        }
        if !skipping {
            path[write] = byte;
            write += 1;
        }
    }
    write = drop_dot(path, write);
    path.truncate(write);
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
