//! Values of parameters with a secret name: `password=...`, `"token": "..."`.
//!
//! Only the name decides; the value does not matter.

use std::ops::Range;

use super::decoded_byte::{DecodedByte, decoded_bytes, has_encoded};

/// A name that ends in one of these is secret: `csrftoken`, `newPassword`.
const ENDINGS: [&str; 16] = [
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "jwt",
    "signature",
    "sessid",
    "sessionid",
    "session_id",
    "credential",
    "credentials",
];

/// A name whose last word is one of these is secret: `api_key`, `user[pass]`, `apiKey`, but not `monkey` or `bypass`.
const WORDS: [&str; 9] = ["key", "pass", "pwd", "pw", "auth", "authorization", "sig", "sid", "session"];

/// These are secret only as the whole name: many forms have a `country_code`.
const NAMES: [&str; 5] = ["code", "auth_code", "otp", "bearer", "samlresponse"];

/// Adds the values of secret names.
pub(crate) fn find(text: &[u8], found: &mut Vec<Range<usize>>) {
    if !may_have_params(text) {
        return;
    }
    let (mut name, mut quoted) = (0..0, false);
    let mut in_query = false;
    let mut at = 0;
    while let Some(decoded) = decoded_bytes(text, at).next() {
        at = decoded.end;
        match decoded.byte {
            b if is_name(b) && !quoted => name.end = decoded.end,
            b'"' | b'\'' if !name.is_empty() && !quoted => quoted = true,
            b'=' | b':' if (decoded.byte == b'=' || quoted) && is_secret_name(&text[name.clone()]) => {
                let value = value_after(text, decoded, in_query);
                (at, name, quoted) = (value.end, value.end..value.end, false);
                if !value.is_empty() {
                    found.push(value);
                }
            }
            b if is_name(b) => (name, quoted) = (decoded.start..at, false),
            _ => (name, quoted) = (at..at, false),
        }
        in_query |= decoded.byte == b'?';
    }
}

/// Whether there is a separator, encoded or not: a quick check, as most texts have none.
fn may_have_params(text: &[u8]) -> bool {
    let after_quote = |at: usize| at > 0 && matches!(text[at - 1], b'"' | b'\'' | b'2' | b'7');
    memchr::memchr2(b'=', b'\\', text).is_some() || memchr::memchr_iter(b':', text).any(after_quote) || has_encoded(text, &[b"3", b"25"])
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'[' | b']')
}

fn is_secret_name(escaped: &[u8]) -> bool {
    let name: Vec<u8> = decoded_bytes(escaped, 0).map(|decoded| decoded.byte).collect();
    let brackets = name.iter().rev().take_while(|b| matches!(b, b'[' | b']')).count();
    let name = &name[..name.len() - brackets];
    ENDINGS.iter().any(|word| ends_with(name, word).is_some())
        || WORDS.iter().any(|word| ends_with(name, word).is_some_and(|before| is_word_start(name, before)))
        || NAMES.iter().any(|word| ends_with(name, word) == Some(0))
}

/// Where `word` begins, if the name ends in it. Case does not matter.
fn ends_with(name: &[u8], word: &str) -> Option<usize> {
    let before = name.len().checked_sub(word.len())?;
    name[before..].eq_ignore_ascii_case(word.as_bytes()).then_some(before)
}

/// Whether a word begins here: at the start, after punctuation, or with a capital after a small letter.
fn is_word_start(name: &[u8], at: usize) -> bool {
    at == 0 || !name[at - 1].is_ascii_alphanumeric() || (name[at - 1].is_ascii_lowercase() && name[at].is_ascii_uppercase())
}

/// The value after a `=` or `:`. A delimiter that is encoded more often than the separator is part of it: the `%26` in
/// `password=a%26b`, but not that in `next=%3Ftoken%3Da%26b`. A `?` ends it where it begins the query, as in
/// `;jsessionid=1?page=2`.
fn value_after(text: &[u8], separator: DecodedByte, in_query: bool) -> Range<usize> {
    let delimiters = |from| decoded_bytes(text, from).filter(|decoded| decoded.depth <= separator.depth);
    let is_json = separator.byte == b':';
    let mut start = separator.end;
    let mut quote = None;
    for decoded in delimiters(start) {
        match decoded.byte {
            b' ' if is_json && decoded.start == start => start = decoded.end,
            b'"' | b'\'' if decoded.start == start => {
                (start, quote) = (decoded.end, Some(decoded.byte));
                break;
            }
            _ => break,
        }
    }
    let ends = |byte| match (quote, is_json) {
        (Some(quote), true) => byte == quote,
        (Some(quote), false) => byte == quote || matches!(byte, b'&' | b'#'),
        (None, true) => matches!(byte, b',' | b'}' | b' ' | b'&'),
        (None, false) => matches!(byte, b'&' | b';' | b'#' | b'"' | b'\'') || byte.is_ascii_whitespace() || (byte == b'?' && !in_query),
    };
    let end = delimiters(start).find(|decoded| ends(decoded.byte)).map_or(text.len(), |decoded| decoded.start);
    start..end
}
