//! Secrets with a form of their own: JSON web tokens, and credentials after `Basic` and `Bearer`.
//!
//! Does not decode them.

use std::ops::Range;

use super::decoded_byte::decoded_bytes;

/// The least characters of a part of a JSON web token.
const MIN_PART: usize = 8;

/// The shortest credentials.
const MIN_CREDENTIALS: usize = 8;

/// Adds JSON web tokens: each begins with `eyJ`, the Base64 of `{"`.
pub(crate) fn find_signed(text: &[u8], found: &mut Vec<Range<usize>>) {
    let mut at = 0;
    // `J` is the rarest of the three letters.
    for third in memchr::memchr_iter(b'J', text) {
        let start = third.saturating_sub(2);
        if start < at || !text[start..].starts_with(b"eyJ") {
            continue;
        }
        let head = end_of_run(text, start);
        let body = if text.get(head) == Some(&b'.') { end_of_run(text, head + 1) } else { head };
        at = head;
        if is_token_start(text, start) && head - start >= MIN_PART && body - head > MIN_PART {
            at = body;
            // A signature, or the three further parts of an encrypted token.
            for _ in 0..3 {
                if text.get(at) == Some(&b'.') && end_of_run(text, at + 1) > at + 1 {
                    at = end_of_run(text, at + 1);
                }
            }
            found.push(start..at);
        }
    }
}

/// Whether a token can begin here: after no Base64 character, or after an escape (`%3D`, `\x22`).
fn is_token_start(text: &[u8], start: usize) -> bool {
    let is_escape = || (start >= 3 && text[start - 3] == b'%') || text[..start].ends_with(b"\\x22");
    start == 0 || !is_base64url(text[start - 1]) || is_escape()
}

/// Where the run of base64url characters that begins at `start` ends.
fn end_of_run(text: &[u8], start: usize) -> usize {
    text[start..].iter().position(|&b| !is_base64url(b)).map_or(text.len(), |length| start + length)
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Adds the credentials after `Basic` and `Bearer`.
pub(crate) fn find_credentials(text: &[u8], found: &mut Vec<Range<usize>>) {
    let mut at = 0;
    while let Some(next) = memchr::memchr2(b'B', b'b', &text[at..]) {
        at += next;
        let Some(scheme) = ["basic", "bearer"].into_iter().find(|scheme| starts_with(&text[at..], scheme)) else {
            at += 1;
            continue;
        };
        let value = credentials(text, at + scheme.len());
        at = value.end;
        if is_credentials(&text[value.clone()]) {
            found.push(value);
        }
    }
}

fn starts_with(text: &[u8], word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}

/// What may be credentials at `from`, after at least one space.
fn credentials(text: &[u8], from: usize) -> Range<usize> {
    let start = decoded_bytes(text, from).take_while(|decoded| matches!(decoded.byte, b' ' | b'+')).last().map(|blank| blank.end);
    let end = start.and_then(|start| decoded_bytes(text, start).take_while(|decoded| is_token68(decoded.byte)).last()).map(|last| last.end);
    let start = start.unwrap_or(from);
    start..end.unwrap_or(start)
}

/// Base64 has digits or mixes upper and lower case; the `Browser` of `Basic Browser` does not.
fn is_credentials(value: &[u8]) -> bool {
    value.len() >= MIN_CREDENTIALS
        && (value.iter().any(|b| b.is_ascii_digit() || *b == b'=') || value.iter().skip(1).any(u8::is_ascii_uppercase))
}

/// The characters of RFC 9110's `token68`.
fn is_token68(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
}
