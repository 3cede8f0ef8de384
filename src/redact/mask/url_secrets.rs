//! Secrets in the structure of a URL: the password of `http://user:password@host`, the token of a reset link.
//!
//! Finds URLs within other text and does not validate them.

use std::ops::Range;

use super::decoded_byte::{decoded_bytes, has_encoded};

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
    while let Some(decoded) = decoded_bytes(text, at).next() {
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
fn may_hold_token(text: &[u8]) -> bool {
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
