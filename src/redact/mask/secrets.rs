//! Finds secrets by their form: values of parameters with a secret name, secrets in the structure of a URL, and tokens.
//!
//! - `password=...`, `"token": "..."`: only the name decides; the value does not matter.
//! - The password of `http://user:password@host` and the token of a reset link. URLs are found within other text and not validated.
//! - JSON web tokens, and credentials after `Basic` and `Bearer`. They are not decoded.

use std::borrow::Cow;
use std::ops::Range;

use super::{DecodedByte, decoded_byte_at, decoded_bytes, has_encoded};
use crate::short_bytes::has_pair;

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

/// For each last letter, the letters before it in some word of the three lists: a quick check of a name.
const LAST_LETTERS: [u32; 256] = add_last_letters(&ENDINGS, add_last_letters(&WORDS, add_last_letters(&NAMES, [0; 256])));

const fn add_last_letters(words: &[&str], mut letters: [u32; 256]) -> [u32; 256] {
    let mut number = 0;
    while number < words.len() {
        let word = words[number].as_bytes();
        letters[word[word.len() - 1] as usize] |= 1 << (word[word.len() - 2] - b'a');
        number += 1;
    }
    letters
}

/// Whether the last two letters are those of a word. Case does not matter.
fn may_end_in_word(name: &[u8]) -> bool {
    let [.., before, last] = name else { return false };
    let letter = (before | 0x20).wrapping_sub(b'a');
    letter < 26 && LAST_LETTERS[usize::from(last.to_ascii_lowercase())] & 1 << letter != 0
}

/// Adds the values of secret names.
pub(crate) fn find(text: &[u8], found: &mut Vec<Range<usize>>) {
    if !may_have_secret_params(text) {
        return;
    }
    let (mut name, mut quoted) = (0..0, false);
    let mut in_query = false;
    let mut at = 0;
    while let Some(decoded) = decoded_byte_at(text, at) {
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

/// Whether the value of a secret name may be in it: a quick check, as most texts have none. A text with escapes passes if a
/// separator may be among them.
pub(crate) fn may_have_secret_params(text: &[u8]) -> bool {
    if memchr::memchr2(b'%', b'\\', text).is_some() {
        return memchr::memchr2(b'=', b'\\', text).is_some() || memchr::memchr(b':', text).is_some() || has_encoded(text, &[b"3", b"25"]);
    }
    memchr::memchr2_iter(b'=', b':', text).any(|separator| {
        let before = &text[..separator];
        let quoted = before.strip_suffix(b"\"").or_else(|| before.strip_suffix(b"'"));
        if text[separator] == b':' && quoted.is_none() {
            return false;
        }
        let before = quoted.unwrap_or(before);
        let start = before.iter().rposition(|&byte| !is_name(byte)).map_or(0, |at| at + 1);
        is_secret_name(&before[start..])
    })
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'[' | b']')
}

fn is_secret_name(escaped: &[u8]) -> bool {
    let name: Cow<'_, [u8]> = if memchr::memchr2(b'%', b'\\', escaped).is_none() {
        Cow::Borrowed(escaped)
    } else {
        decoded_bytes(escaped, 0).map(|decoded| decoded.byte).collect()
    };
    let brackets = name.iter().rev().take_while(|b| matches!(b, b'[' | b']')).count();
    let name = &name[..name.len() - brackets];
    if !may_end_in_word(name) {
        return false;
    }
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

/// Path segments before a one-time token. `_` counts as `-`.
const TOKEN_PREFIX_SEGMENTS: [&str; 16] = [
    "reset",
    "reset-password",
    "password-reset",
    "activate",
    "activation",
    "confirm",
    "confirmation",
    "verify",
    "verify-email",
    "email-verification",
    "invite",
    "invitation",
    "magic",
    "magic-link",
    "magic-login",
    "unsubscribe",
];

/// Django writes `reset/<user>/<token>`: the token may be the second segment.
const MAX_SEGMENTS_AFTER: usize = 2;

/// The shortest one-time token.
const MIN_TOKEN: usize = 16;

/// The shortest user name that counts as an access token: GitHub's have 40 characters, GitLab's 20.
const MIN_USER_TOKEN: usize = 20;

/// Adds the passwords of URLs, and user names that are access tokens.
pub(crate) fn find_user_info(text: &[u8], found: &mut Vec<Range<usize>>) {
    if memchr::memchr(b'@', text).is_none() && !has_encoded(text, &[b"40", b"25"]) {
        return;
    }
    let mut last = [0; 3];
    let mut at = 0;
    while let Some(decoded) = decoded_byte_at(text, at) {
        at = decoded.end;
        last = [last[1], last[2], decoded.byte];
        if last == *b"://" {
            let (user_info, end) = authority(text, at, decoded.depth);
            found.extend(user_info);
            at = end;
        }
    }
}

/// What is secret in the authority that begins here, and where the authority ends.
fn authority(text: &[u8], start: usize, depth: usize) -> (Option<Range<usize>>, usize) {
    let (mut colon, mut host, mut end) = (None, None, text.len());
    for decoded in decoded_bytes(text, start).filter(|decoded| decoded.depth <= depth) {
        match decoded.byte {
            b':' if colon.is_none() => colon = Some(decoded.end),
            b'@' => host = Some(decoded.start),
            b'/' | b'?' | b'#' | b'&' | b';' | b' ' | b'"' | b'\'' | b'<' | b'>' => {
                end = decoded.start;
                break;
            }
            _ => {}
        }
    }
    let secret = host.and_then(|host| match colon {
        Some(colon) if colon < host => Some(colon..host),
        Some(colon) if colon == host => None,
        _ => is_user_token(&text[start..host]).then_some(start..host),
    });
    (secret, end)
}

fn is_user_token(user: &[u8]) -> bool {
    user.len() >= MIN_USER_TOKEN && user.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// Adds the one-time tokens of links.
pub(crate) fn find_reset_tokens(text: &[u8], found: &mut Vec<Range<usize>>) {
    if !may_hold_token(text) {
        return;
    }
    let (mut start, mut reach) = (0, 0);
    let mut segment = |end: usize, in_path: bool, next: usize| {
        let inside = &text[start..end];
        if reach > 0 && is_one_time_token(inside) {
            found.push(start..end);
        }
        reach = match (in_path, precedes_token(inside)) {
            (false, _) => 0,
            (true, true) => MAX_SEGMENTS_AFTER,
            (true, false) => reach.saturating_sub(1),
        };
        start = next;
    };
    for decoded in decoded_bytes(text, 0) {
        match decoded.byte {
            b'/' => segment(decoded.start, true, decoded.end),
            b'?' | b'#' | b'&' | b';' | b' ' | b'"' | b'\'' => segment(decoded.start, false, decoded.end),
            _ => {}
        }
    }
    segment(text.len(), false, text.len());
}

/// Whether some segment is long enough, which few are: a quick check. An encoded `/` also passes.
pub(crate) fn may_hold_token(text: &[u8]) -> bool {
    let is_long = |at: usize| text.get(at + 1..=at + MIN_TOKEN).is_some_and(|start| start.iter().copied().all(is_token));
    memchr::memchr_iter(b'/', text).any(is_long) || has_encoded(text, &[b"2f", b"2F", b"25"])
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~' | b':' | b'=')
}

fn precedes_token(segment: &[u8]) -> bool {
    let same = |word: &&str| {
        word.len() == segment.len() && word.bytes().zip(segment).all(|(w, s)| w == s.to_ascii_lowercase() || (w == b'-' && *s == b'_'))
    };
    TOKEN_PREFIX_SEGMENTS.iter().any(same)
}

/// Long, made of token characters, and neither a word nor a file name, as in `/verify/eval-stdin.php`.
fn is_one_time_token(segment: &[u8]) -> bool {
    let any = |test: fn(&u8) -> bool| segment.iter().any(test);
    let is_file = segment.iter().rposition(|&b| b == b'.').is_some_and(|dot| segment.len() - dot <= 6);
    segment.len() >= MIN_TOKEN
        && segment.iter().copied().all(is_token)
        && (any(u8::is_ascii_digit) || (any(u8::is_ascii_uppercase) && any(u8::is_ascii_lowercase)))
        && !is_file
}

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
    if !may_have_scheme(text) {
        return;
    }
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

/// Whether a text has the first two letters of `Basic` or `Bearer`: a quick check.
fn may_have_scheme(text: &[u8]) -> bool {
    has_pair(text, |first, second| first | 0x20 == b'b' && matches!(second | 0x20, b'a' | b'e'))
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
