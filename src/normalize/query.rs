//! Brings a decoded query into one form.
//!
//! What a server does with a parameter is not known here; only what a database or a shell would take for a space is one.

use super::decode::{Rounds, settle};

/// Decodes a query into `out`. `+` is a space, once and before anything is decoded, so that `%2B` stays a plus.
pub(super) fn decode(query: &[u8], out: &mut Vec<u8>, spare: &mut Vec<u8>) -> Rounds {
    out.clear();
    out.extend(query.iter().map(|&b| if b == b'+' { b' ' } else { b }));
    settle(out, spare)
}

/// Control bytes and the lone no-break space of Latin-1 become spaces, and so do SQL comments; the inside of a
/// `/*!50000 ... */` stays, because `MySQL` runs it.
pub(super) fn tidy(query: &mut Vec<u8>, spare: &mut Vec<u8>) {
    for at in 0..query.len() {
        let lone_nbsp = query[at] == 0xa0 && (at == 0 || query[at - 1] < 0x80);
        if query[at] < 0x20 || query[at] == 0x7f || lone_nbsp {
            query[at] = b' ';
        }
    }
    if memchr::memmem::find(query, b"/*").is_some() {
        without_comments(query, spare);
        std::mem::swap(query, spare);
    }
}

fn without_comments(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut rest = text;
    while let Some(start) = memchr::memmem::find(rest, b"/*") {
        let Some(length) = memchr::memmem::find(&rest[start + 2..], b"*/") else { break };
        out.extend_from_slice(&rest[..start]);
        out.push(b' ');
        let inside = &rest[start + 2..start + 2 + length];
        if let Some(run) = inside.strip_prefix(b"!") {
            let version = run.iter().take_while(|b| b.is_ascii_digit()).count();
            out.extend_from_slice(&run[version..]);
            out.push(b' ');
        }
        rest = &rest[start + length + 4..];
    }
    out.extend_from_slice(rest);
}
