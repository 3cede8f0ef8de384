//! Finds secrets by their form: values of parameters with a secret name, secrets in the structure
//! of a URL, and tokens.
//!
//! - `password=...`, `"token": "..."`, `X-Api-Key: ...`, `<password>...<`, `--password ...`: only
//!   the name decides; the value does not matter.
//! - The password of `http://user:password@host` and the token of a reset link. URLs are found
//!   within other text and not validated.
//! - JSON web tokens, and credentials after `Basic` and `Bearer`. They are not decoded.
//!
//! The delimiters of values and URLs count by how often they are encoded, so those are found in the
//! text as logged, and all else in the text without escapes.

use std::ops::Range;

use super::forms::{MIN_RUN, end_of_run, is_base64url};
use super::names::is_secret_name;
use super::{DecodedByte, decoded_byte_at, decoded_bytes, has_encoded};
use crate::text::short_bytes::has_pair;

/// What precedes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    /// `name=`, `name =`, `name=>`
    Equals,
    /// `"name":`
    QuotedColon,
    /// `Name: `, as in a header, and the colon of `{name:value}`.
    Colon,
    /// `<name>`
    Tag,
}

/// Where a value is, which decides what ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the query of a target, or in a path. Blanks and `#` in it were encoded.
    Path,
    Query,
    Text,
}

/// A name that may precede a separator.
#[derive(Debug)]
struct Name {
    range: Range<usize>,
    /// The byte before it, or a blank.
    before: u8,
    /// How often the quote after it is encoded.
    quote: Option<usize>,
    /// A blank follows it, or the quote after it.
    is_spaced: bool,
}

impl Name {
    fn new(range: Range<usize>, before: u8) -> Self {
        Self {
            range,
            before,
            quote: None,
            is_spaced: false,
        }
    }

    fn is_open(&self) -> bool {
        self.quote.is_none() && !self.is_spaced
    }

    /// Whether it is an option of a command, so that its value may follow a blank.
    fn is_option(&self, text: &[u8]) -> bool {
        let mut start = decoded_bytes(text, self.range.start).take(2);
        self.is_spaced && self.quote.is_none() && start.all(|decoded| decoded.byte == b'-')
    }

    /// The separator that this byte is. `is_blank` is whether a blank follows.
    fn separator(&self, byte: u8, is_blank: impl FnOnce() -> bool) -> Option<Separator> {
        match byte {
            b'=' => Some(Separator::Equals),
            b':' if self.quote.is_some() => Some(Separator::QuotedColon),
            b':' if b"?&;,{(".contains(&self.before) || is_blank() => Some(Separator::Colon),
            b'>' if self.before == b'<' && self.is_open() => Some(Separator::Tag),
            _ => None,
        }
    }
}

/// Adds the values of secret names.
pub(crate) fn find(text: &[u8], found: &mut Vec<Range<usize>>) {
    if may_have_secret_params(text) {
        find_values(text, is_secret_name, found);
    }
}

/// Adds the values of the names that are wanted.
pub(super) fn find_values(
    text: &[u8],
    is_wanted: fn(&[u8]) -> bool,
    found: &mut Vec<Range<usize>>,
) {
    let mut name = Name::new(0..0, b' ');
    let mut place = if text.starts_with(b"/") {
        Place::Path
    } else {
        Place::Text
    };
    let mut at = 0;
    while let Some(decoded) = decoded_byte_at(text, at) {
        at = decoded.end;
        if decoded.byte == b'?' {
            place = Place::Query;
        }
        match decoded.byte {
            b if !is_blank(b)
                && !b"-=:&;|\n".contains(&b)
                && name.is_option(text)
                && is_wanted(&text[name.range.clone()]) =>
            {
                at = decoded_bytes(text, at)
                    .find(|next| is_blank(next.byte) || b"\n&;|\"'".contains(&next.byte))
                    .map_or(text.len(), |next| next.start);
                found.push(decoded.start..at);
                name = Name::new(at..at, b' ');
                continue;
            }
            b if is_name(b) => {
                if name.range.is_empty() || !name.is_open() {
                    name = Name::new(
                        decoded.start..at,
                        if name.range.is_empty() {
                            name.before
                        } else {
                            b' '
                        },
                    );
                }
                name.range.end = at;
                continue;
            }
            b'"' | b'\'' if !name.range.is_empty() && name.is_open() => {
                name.quote = Some(decoded.depth);
                continue;
            }
            b if is_blank(b) && !name.range.is_empty() => {
                name.is_spaced = true;
                continue;
            }
            _ => {}
        }
        let is_blank = || decoded_byte_at(text, at).is_some_and(|next| is_blank(next.byte));
        if let Some(separator) = name.separator(decoded.byte, is_blank)
            && is_wanted(&text[name.range.clone()])
        {
            let last = DecodedByte {
                depth: decoded.depth.max(name.quote.unwrap_or(0)),
                ..decoded
            };
            let value = value_after(text, (separator, &name), last, place);
            at = value.end;
            if !value.is_empty() {
                found.push(value);
            }
        }
        name = Name::new(at..at, decoded.byte);
    }
}

/// Whether the value of a secret name may be in it: a quick check, as most texts have none. A text
/// with escapes passes if a separator may be among them.
fn may_have_secret_params(text: &[u8]) -> bool {
    if memchr::memmem::find(text, b"--").is_some() {
        return true;
    }
    if memchr::memchr2(b'%', b'\\', text).is_some() {
        return memchr::memchr3(b'=', b'\\', b'>', text).is_some()
            || memchr::memchr(b':', text).is_some()
            || has_encoded(text, &[b"3", b"25"]);
    }
    memchr::memchr3_iter(b'=', b':', b'>', text).any(|separator| separates_secret(text, separator))
}

/// Whether the byte at `separator` separates a secret name from its value, in a text without
/// escapes.
pub(crate) fn separates_secret(text: &[u8], separator: usize) -> bool {
    let end = text[..separator]
        .iter()
        .rposition(|&byte| !is_blank(byte))
        .map_or(0, |at| at + 1);
    let quoted = text[..end]
        .strip_suffix(b"\"")
        .or_else(|| text[..end].strip_suffix(b"'"));
    let before = quoted.unwrap_or(&text[..end]);
    let start = before
        .iter()
        .rposition(|&byte| !is_name(byte))
        .map_or(0, |at| at + 1);
    let name = Name {
        range: start..before.len(),
        before: before[..start].last().copied().unwrap_or(b' '),
        quote: quoted.map(|_| 0),
        is_spaced: end < separator,
    };
    let is_blank = || text.get(separator + 1).copied().is_some_and(is_blank);
    name.separator(text[separator], is_blank).is_some() && is_secret_name(&before[start..])
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'[' | b']' | b'$')
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'+' | b'\t')
}

/// The value after a separator. A delimiter that is encoded more often than the separator is part
/// of it: the `%26` in `password=a%26b`, but not that in `next=%3Ftoken%3Da%26b`. A `?` ends it
/// where it begins the query, as in `;jsessionid=1?page=2`.
///
/// A `;` or a quote may be part of a password, so it ends a value only where something begins that
/// is no part of it: the name of another parameter after the `;`, a delimiter after the quote.
/// Outside a query this holds for `&` too.
fn value_after(
    text: &[u8],
    (separator, name): (Separator, &Name),
    last: DecodedByte,
    place: Place,
) -> Range<usize> {
    let delimiters = |from| decoded_bytes(text, from).filter(|decoded| decoded.depth <= last.depth);
    let mut start = last.end;
    let mut open = None;
    let may_be_spaced =
        name.is_spaced || matches!(separator, Separator::QuotedColon | Separator::Colon);
    for decoded in delimiters(start) {
        match decoded.byte {
            b if is_blank(b) && may_be_spaced && decoded.start == start => start = decoded.end,
            b'>' if separator == Separator::Equals && decoded.start == last.end => {
                start = decoded.end;
            }
            b'"' | b'\'' if decoded.start == start => {
                (start, open) = (decoded.end, Some(decoded));
                break;
            }
            _ => break,
        }
    }
    if let Some(open) = open {
        // A quote inside is written in another way than the one that opened the text, or after a
        // backslash.
        let mut before = b' ';
        let closes = |decoded: &DecodedByte| {
            let is_escaped = std::mem::replace(&mut before, decoded.byte) == b'\\'
                || decoded.end - decoded.start != open.end - open.start;
            decoded.byte == open.byte
                && !is_escaped
                && (separator == Separator::QuotedColon || ends_text(text, decoded.end, last.depth))
        };
        if let Some(close) = delimiters(start).find(closes) {
            return start..close.start;
        }
    }
    let bracket = decoded_byte_at(text, start)
        .filter(|first| first.byte == b'[' && separator == Separator::QuotedColon);
    start = bracket.map_or(start, |bracket| bracket.end);
    // A blank of an encoded query is encoded with it: `data=a%3Db%26password%3Dc%20d`.
    let is_in_encoded_query = name.before == b'&' && last.depth > 0;
    let ends = |decoded: &DecodedByte| match separator {
        Separator::Equals => match decoded.byte {
            b'#' => place != Place::Path,
            b'&' => place == Place::Query || begins_param(text, decoded.end),
            b';' => begins_param(text, decoded.end),
            b'"' | b'\'' => ends_text(text, decoded.end, last.depth),
            b'?' => place != Place::Query,
            byte => {
                byte.is_ascii_whitespace()
                    && place != Place::Path
                    && open.is_none()
                    && !is_in_encoded_query
            }
        },
        Separator::QuotedColon if bracket.is_some() => decoded.byte == b']',
        Separator::QuotedColon => {
            open.is_none() && matches!(decoded.byte, b',' | b'}' | b' ' | b'&')
        }
        Separator::Colon => {
            matches!(
                decoded.byte,
                b',' | b';' | b'"' | b'\'' | b'&' | b'}' | b')'
            ) || decoded.byte.is_ascii_whitespace()
        }
        Separator::Tag => decoded.byte == b'<',
    };
    let end = |start| {
        delimiters(start)
            .find(ends)
            .map_or(text.len(), |decoded| decoded.start)
    };
    let value = start..end(start);
    let is_scheme = separator == Separator::Colon
        && text[value.clone()].iter().all(u8::is_ascii_alphabetic)
        && ends_in_authorization(&text[..last.start]);
    if !is_scheme {
        return value;
    }
    // `Authorization: Digest ...`: the scheme is shown.
    match delimiters(value.end).find(|decoded| !is_blank(decoded.byte)) {
        Some(decoded) if decoded.start > value.end => decoded.start..end(decoded.start),
        _ => value,
    }
}

fn ends_in_authorization(text: &[u8]) -> bool {
    text.len()
        .checked_sub(AUTHORIZATION.len())
        .is_some_and(|start| text[start..].eq_ignore_ascii_case(AUTHORIZATION))
}

/// The header whose value begins with the name of a scheme.
const AUTHORIZATION: &[u8] = b"authorization";

/// Whether what begins here is no part of a quoted text: the end, or a delimiter that is encoded no
/// more than `depth` times.
fn ends_text(text: &[u8], at: usize, depth: usize) -> bool {
    let is_end = |byte: u8| byte.is_ascii_whitespace() || b"&#;,)}]>\"'".contains(&byte);
    decoded_byte_at(text, at).is_none_or(|next| next.depth <= depth && is_end(next.byte))
}

/// Whether a parameter begins here, maybe after blanks: a name and a `=`. Also at the end.
fn begins_param(text: &[u8], at: usize) -> bool {
    let mut rest = decoded_bytes(text, at)
        .skip_while(|decoded| is_blank(decoded.byte))
        .peekable();
    rest.peek().is_none_or(|first| is_name(first.byte))
        && rest
            .find(|decoded| !is_name(decoded.byte))
            .map_or(at == text.len(), |next| next.byte == b'=')
}

/// Path segments before a one-time token. `_` counts as `-`.
const TOKEN_PREFIX_SEGMENTS: [&str; 31] = [
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
    "token",
    "access-token",
    "auth-token",
    "secret",
    "api-key",
    "apikey",
    "jwt",
    "forgot-password",
    "new-password",
    "set-password",
    "recover",
    "recovery",
    "verification",
    "accept-invitation",
    "webhooks",
];

/// Django writes `reset/<user>/<token>`: the token may be the second segment.
const MAX_SEGMENTS_AFTER: usize = 2;

/// The shortest one-time token.
const MIN_TOKEN: usize = 16;

/// The shortest number of a channel in a webhook of Slack.
const SLACK_PART: usize = 9;

/// The shortest user name that counts as an access token: GitHub's have 40 characters, GitLab's 20.
const MIN_USER_TOKEN: usize = 20;

/// Adds the passwords of URLs, and user names that are access tokens.
pub(crate) fn find_user_info(text: &[u8], found: &mut Vec<Range<usize>>) {
    if memchr::memchr(b'@', text).is_none() && !has_encoded(text, &[b"40", b"25"]) {
        return;
    }
    let mut last = 0;
    let mut at = 0;
    while let Some(decoded) = decoded_byte_at(text, at) {
        at = decoded.end;
        // A path has one slash of the two.
        if matches!(last, b':' | b'/') && decoded.byte == b'/' {
            let (user_info, end) = authority(text, at, decoded.depth);
            found.extend(user_info);
            at = end;
        }
        last = decoded.byte;
    }
}

/// What is secret in the authority that begins here, and where the authority ends.
fn authority(text: &[u8], start: usize, depth: usize) -> (Option<Range<usize>>, usize) {
    let (mut colon, mut host, mut end) = (None, None, text.len());
    for decoded in decoded_bytes(text, start) {
        match decoded.byte {
            // However often they are encoded: rules and `decoded` show `//bob%3Apassword%40host`
            // decoded.
            b':' if colon.is_none() => colon = Some(decoded.end),
            b'@' => host = Some(decoded.start),
            b'/' | b'?' | b'#' | b'&' | b';' | b' ' | b'"' | b'\'' | b'<' | b'>'
                if decoded.depth <= depth =>
            {
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
    user.len() >= MIN_USER_TOKEN
        && user
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// Adds the one-time tokens of links.
pub(crate) fn find_reset_tokens(text: &[u8], found: &mut Vec<Range<usize>>) {
    if !may_hold_token(text) {
        return;
    }
    let (mut start, mut reach) = (0, 0);
    let mut segment = |end: usize, in_path: bool, next: usize| {
        let inside = &text[start..end];
        if let Some(id) = session_id(inside) {
            found.push(start + id.start..start + id.end);
        } else if reach > 0 && is_one_time_token(inside) {
            found.push(start..end);
        }
        reach = match (in_path, precedes_token(inside)) {
            (false, _) => 0,
            (true, true) => MAX_SEGMENTS_AFTER,
            (true, false) => reach.saturating_sub(1),
        };
        start = next;
    };
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'/' => segment(at, true, at + 1),
            b'?' | b'#' | b'&' | b';' | b' ' | b'"' | b'\'' | b')' | b',' | b'>' => {
                segment(at, false, at + 1);
            }
            _ => {}
        }
    }
    segment(text.len(), false, text.len());
}

/// Whether a text has a run of token characters as long as the shortest one-time token or key. The
/// check looks at few bytes of most texts.
pub(crate) fn has_long_run(text: &[u8]) -> bool {
    let mut at = 0;
    while let Some(probed) = text.get(at..at + MIN_RUN) {
        match probed.iter().rposition(|&byte| !is_token(byte)) {
            None => return true,
            Some(gap) => at += gap + 1,
        }
    }
    false
}

/// Whether some segment is long enough, which few are, or begins like a session ID: a quick check.
pub(crate) fn may_hold_token(text: &[u8]) -> bool {
    let is_long = |at: usize| {
        text.get(at + 1..=at + MIN_TOKEN)
            .is_some_and(|start| start.iter().copied().all(is_token))
    };
    memchr::memchr_iter(b'/', text).any(|at| is_long(at) || session_id(&text[at + 1..]).is_some())
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~' | b':' | b'=')
}

/// The session ID of ASP.NET without cookies, in the segment `(S(...))`.
fn session_id(segment: &[u8]) -> Option<Range<usize>> {
    let [b'(', b'A' | b'F' | b'S' | b'X', b'(', rest @ ..] = segment else {
        return None;
    };
    let length = rest
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        .count();
    (length >= MIN_TOKEN).then_some(3..3 + length)
}

/// The second part of a webhook of Slack, as in `/services/T0123/B0123/<token>`.
fn is_slack_webhook(segment: &[u8]) -> bool {
    segment.len() >= SLACK_PART
        && segment.first() == Some(&b'B')
        && segment
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        && segment.iter().any(u8::is_ascii_digit)
}

fn precedes_token(segment: &[u8]) -> bool {
    let same = |word: &&str| {
        word.len() == segment.len()
            && word
                .bytes()
                .zip(segment)
                .all(|(w, s)| w == s.to_ascii_lowercase() || (w == b'-' && *s == b'_'))
    };
    TOKEN_PREFIX_SEGMENTS.iter().any(same) || is_slack_webhook(segment)
}

/// Long, made of token characters, and neither a word nor a file name, as in
/// `/verify/eval-stdin.php`.
fn is_one_time_token(segment: &[u8]) -> bool {
    let any = |test: fn(&u8) -> bool| segment.iter().any(test);
    let is_file = segment
        .iter()
        .rposition(|&b| b == b'.')
        .is_some_and(|dot| segment.len() - dot <= 6);
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
        let body = if text.get(head) == Some(&b'.') {
            end_of_run(text, head + 1)
        } else {
            head
        };
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

/// Whether a token can begin here: after no Base64 character.
fn is_token_start(text: &[u8], start: usize) -> bool {
    start == 0 || !is_base64url(text[start - 1])
}

/// Adds the credentials after `Basic` and `Bearer`.
pub(crate) fn find_credentials(text: &[u8], found: &mut Vec<Range<usize>>) {
    if !may_have_scheme(text) {
        return;
    }
    let mut at = 0;
    while let Some(next) = memchr::memchr2(b'B', b'b', &text[at..]) {
        at += next;
        let Some(scheme) = ["basic", "bearer"]
            .into_iter()
            .find(|scheme| starts_with(&text[at..], scheme))
        else {
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
    has_pair(text, |first, second| {
        first | 0x20 == b'b' && matches!(second | 0x20, b'a' | b'e')
    })
}

fn starts_with(text: &[u8], word: &str) -> bool {
    text.get(..word.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}

/// What may be credentials at `from`, after at least one space.
fn credentials(text: &[u8], from: usize) -> Range<usize> {
    let count = |from: usize, test: fn(u8) -> bool| {
        text[from..].iter().take_while(|byte| test(**byte)).count()
    };
    let start = from + count(from, |byte| matches!(byte, b' ' | b'+'));
    if start == from {
        from..from
    } else {
        start..start + count(start, is_token68)
    }
}

/// Base64 has digits or mixes upper and lower case; the `Browser` of `Basic Browser` does not.
fn is_credentials(value: &[u8]) -> bool {
    value.len() >= MIN_CREDENTIALS
        && (value.iter().any(|b| b.is_ascii_digit() || *b == b'=')
            || value.iter().skip(1).any(u8::is_ascii_uppercase))
}

/// The characters of RFC 9110's `token68`.
fn is_token68(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
}
