//! Normalises queries.
//!
//! Everything that a database or a shell reads as a space becomes a space.

use super::decode::{DecodeStatus, decode_in_place};

/// Decodes a query into `out`. `+` becomes a space before decoding, so that `%2B` stays a plus.
pub(super) fn decode(query: &[u8], out: &mut Vec<u8>, spare: &mut Vec<u8>) -> DecodeStatus {
    out.clear();
    out.extend(query.iter().map(|&b| if b == b'+' { b' ' } else { b }));
    decode_in_place(out, spare)
}

/// Replaces control bytes, the no-break space of Latin-1 and SQL comments by spaces. The content of `/*!50000 ... */` is kept,
/// because `MySQL` runs it.
pub(super) fn tidy(query: &mut Vec<u8>, spare: &mut Vec<u8>) {
    for at in 0..query.len() {
        if is_space(query, at) {
            query[at] = b' ';
        }
    }
    if memchr::memmem::find(query, b"/*").is_some() {
        spare.clear();
        without_comments(query, b" ", spare);
        std::mem::swap(query, spare);
    }
}

/// Whether a database reads the byte at `at` as a space: a control byte, or a no-break space that is not part of UTF-8.
pub(super) fn is_space(text: &[u8], at: usize) -> bool {
    let byte = text[at];
    byte < 0x20 || byte == 0x7f || (byte == 0xa0 && (at == 0 || text[at - 1] < 0x80))
}

/// Appends a text with its SQL comments replaced by `gap`.
pub(super) fn without_comments(text: &[u8], gap: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(start) = memchr::memmem::find(rest, b"/*") {
        let Some(length) = memchr::memmem::find(&rest[start + 2..], b"*/") else { break };
        out.extend_from_slice(&rest[..start]);
        out.extend_from_slice(gap);
        let inside = &rest[start + 2..start + 2 + length];
        if let Some(run) = inside.strip_prefix(b"!") {
            let version = run.iter().take_while(|b| b.is_ascii_digit()).count();
            out.extend_from_slice(&run[version..]);
            out.extend_from_slice(gap);
        }
        rest = &rest[start + length + 4..];
    }
    out.extend_from_slice(rest);
}
