//! Brings a decoded query into one form.
//!
//! What a server does with a parameter is not known here; only what a database or a shell would take for a space is one.

use super::decode::{DecodeStatus, decode_in_place};

/// Decodes a query into `out`. `+` is a space, once and before anything is decoded, so that `%2B` stays a plus.
pub(super) fn decode(query: &[u8], out: &mut Vec<u8>, spare: &mut Vec<u8>) -> DecodeStatus {
    out.clear();
    out.extend(query.iter().map(|&b| if b == b'+' { b' ' } else { b }));
    decode_in_place(out, spare)
}

/// Control bytes and the lone no-break space of Latin-1 become spaces, and so do SQL comments; the inside of a
/// `/*!50000 ... */` stays, because `MySQL` runs it.
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

/// Whether the byte there is a space to a database: a control byte, or a no-break space that is no part of UTF-8.
pub(super) fn is_space(text: &[u8], at: usize) -> bool {
    let byte = text[at];
    byte < 0x20 || byte == 0x7f || (byte == 0xa0 && (at == 0 || text[at - 1] < 0x80))
}

/// Appends a text without its SQL comments: `gap` in their place.
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
