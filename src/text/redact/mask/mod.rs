//! Masks secrets of a log: passwords, tokens and session IDs.
//!
//! A secret is recognised by its form alone: the value of a parameter with a secret name
//! (`password=`), the password of a URL, a signed token, credentials of the `Authorization` header,
//! a reset link. A secret under a harmless name is missed, and an attack in a password field is
//! masked with it. Rules match before this, on the real text.
//!
//! A text is read byte by byte through its escapes and otherwise unchanged: `%3D`, the same encoded
//! again (`%253D`, any number of times), and the `\x3D`, `\u003D`, `\n` and `\"` of log writers.
//!
//! Texts that were redacted before, as an earlier report printed them, must not be masked or
//! escaped again. A marker after the text shows it: a newline and sixteen hexadecimal digits. No
//! client can send one: a field of a line is kept as logged and contains no newline, and a path
//! contains no control bytes. A decoded text may contain both, so it has no marker, and the marker
//! of its target counts for it.

mod forms;
mod names;
mod secrets;

use std::borrow::Cow;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::sanitize;
use crate::text::normalize;

/// Replaces a secret of any length.
const MASK: &[u8] = b"***";

/// The text of a log as every output shows it: masked, then [escaped](sanitize::escape).
#[must_use]
pub(crate) fn redacted(text: &[u8]) -> Cow<'_, str> {
    // Checked first: most texts that are not plain fail at one of their first bytes.
    if is_plain(text)
        && let Ok(shown) = std::str::from_utf8(text)
    {
        return Cow::Borrowed(shown);
    }
    match split_marker(text) {
        Some((text, _)) => sanitize::escape(text),
        None => masked_and_escaped(text),
    }
}

/// [`redacted`] for a text that has no marker, whatever it ends in.
fn masked_and_escaped(text: &[u8]) -> Cow<'_, str> {
    match mask(text) {
        Cow::Borrowed(text) => sanitize::escape(text),
        Cow::Owned(text) => Cow::Owned(sanitize::escape(&text).into_owned()),
    }
}

/// The value of a named field, as every output shows it: the name alone may make it secret.
#[must_use]
pub(crate) fn redacted_value<'a>(name: &[u8], value: &'a [u8]) -> Cow<'a, str> {
    let is_empty = matches!(value, b"" | b"-");
    if !is_empty && names::is_secret_name(name) {
        String::from_utf8_lossy(MASK)
    } else {
        redacted(value)
    }
}

/// What a byte may be part of, for [`is_plain`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteUse {
    /// Of no secret by itself, and no byte that an output escapes.
    Plain,
    /// Separates the name of a parameter from its value.
    Separator,
    /// An unsafe byte or the start of an escape, or in any secret but the value of a parameter and
    /// a one-time token: the `@` of a URL, the blank after `Basic`, the `J` of `eyJ`.
    Special,
}

const BYTE_USES: [ByteUse; 256] = {
    let mut uses = [ByteUse::Special; 256];
    let mut byte = b'!' as usize;
    while byte <= b'~' as usize {
        uses[byte] = match byte as u8 {
            b'"' | b'\\' | b'%' | b'@' | b'+' | b'J' | b'>' => ByteUse::Special,
            b'=' | b':' => ByteUse::Separator,
            _ => ByteUse::Plain,
        };
        byte += 1;
    }
    uses
};

/// Whether every output shows a text as it is: a quick check that most methods and paths pass, and
/// many targets. Nothing is masked or escaped, also in JSON. A text that does not pass may still be
/// unchanged.
pub(crate) fn is_plain(text: &[u8]) -> bool {
    for (at, &byte) in text.iter().enumerate() {
        match BYTE_USES[usize::from(byte)] {
            ByteUse::Plain => {}
            ByteUse::Separator if !secrets::separates_secret(text, at) => {}
            ByteUse::Separator | ByteUse::Special => return false,
        }
    }
    !(secrets::has_long_run(text) && (secrets::may_hold_token(text) || forms::has_keys(text)))
}

/// The decoded form of `target`, as every output shows it.
#[must_use]
pub(crate) fn redacted_decoded<'a>(target: &[u8], decoded: &'a [u8]) -> Cow<'a, str> {
    if split_marker(target).is_some() {
        return sanitize::escape(decoded);
    }
    match mask_decoded(target, decoded, mask) {
        Cow::Borrowed(masked) => sanitize::escape(masked),
        Cow::Owned(masked) => Cow::Owned(sanitize::escape(&masked).into_owned()),
    }
}

/// The decoded form of a target as logged, with `***` in place of all that `mask` hides.
///
/// Decoding reveals delimiters: the secret of `password=a%26b` is `a&b`, but in the decoded text it
/// would seem to end at `a`. So the target is masked before it is decoded, and once more for the
/// secrets that only decoding reveals.
pub(crate) fn mask_decoded<'a>(
    target: &[u8],
    decoded: &'a [u8],
    mask: impl Fn(&[u8]) -> Cow<'_, [u8]>,
) -> Cow<'a, [u8]> {
    let Cow::Owned(masked) = mask(target) else {
        return mask(decoded);
    };
    let (mut sent, mut decoded, mut spare) = (Vec::new(), Vec::new(), Vec::new());
    normalize::unescape(&masked, &mut sent);
    normalize::decode(&sent, &mut decoded, &mut spare);
    Cow::Owned(mask(&decoded).into_owned())
}

/// Decoded secrets that are searched for one by one; a text with more of them is masked as a whole.
const MAX_DECODED_VALUES: usize = 64;

/// Where the secrets are in the decoded form of `logged`, including those that only the logged form
/// reveals.
pub(crate) fn secrets_in_decoded(logged: &[u8], decoded: &[u8]) -> Vec<Range<usize>> {
    let mut ranges = secrets(decoded);
    if logged == decoded {
        return ranges;
    }
    let mut values: Vec<_> = secrets(logged)
        .into_iter()
        .flat_map(|secret| decoded_values(&logged[secret]))
        .collect();
    values.sort_unstable();
    values.dedup();
    if values.len() > MAX_DECODED_VALUES {
        return Vec::from_iter((!decoded.is_empty()).then_some(0..decoded.len()));
    }
    for value in values {
        ranges
            .extend(memchr::memmem::find_iter(decoded, &value).map(|at| at + 1..at + value.len()));
    }
    merged(ranges)
}

/// The text with `***` in place of every secret.
#[must_use]
pub(crate) fn mask(text: &[u8]) -> Cow<'_, [u8]> {
    mask_ranges(text, secrets(text))
}

/// The text with `***` in place of e-mail addresses and of the values of parameters that name
/// people. A marker stays.
#[must_use]
pub(crate) fn mask_people(text: &[u8]) -> Cow<'_, [u8]> {
    let end = split_marker(text).map_or(text.len(), |(text, _)| text.len());
    let undisguised = Undisguised::new(&text[..end]);
    let plain = undisguised
        .as_ref()
        .map_or(&text[..end], |undisguised| &undisguised.text[..]);
    if memchr::memchr3(b'=', b':', b'@', plain).is_none() && memchr::memchr(b'>', plain).is_none() {
        return Cow::Borrowed(text);
    }
    let mut ranges = Vec::new();
    find_emails(plain, &mut ranges);
    secrets::find_values(plain, names::is_person_name, &mut ranges);
    if let Some(undisguised) = &undisguised {
        undisguised.in_original(&mut ranges);
        // The value of `user=a%26b` seems to end at `a` there.
        secrets::find_values(&text[..end], names::is_person_name, &mut ranges);
    }
    mask_ranges(text, merged(ranges))
}

/// Adds e-mail addresses: a name, `@`, and a host whose last label has letters only; and the user
/// of a URL.
fn find_emails(text: &[u8], ranges: &mut Vec<Range<usize>>) {
    let is_delimiter = |byte: &u8| {
        byte.is_ascii_whitespace()
            || byte.is_ascii_control()
            || b"/?&=#;,\"'<>()[]{}|\\:@".contains(byte)
    };
    let mut searched = 0;
    for at in memchr::memchr_iter(b'@', text) {
        let start = text[searched..at]
            .iter()
            .rposition(is_delimiter)
            .map_or(searched, |delimiter| searched + delimiter + 1);
        let is_label =
            |b: &u8| b.is_ascii_alphanumeric() || !b.is_ascii() || matches!(b, b'.' | b'-');
        let length = text[at + 1..].iter().take_while(|b| is_label(b)).count();
        let host = &text[at + 1..at + 1 + length];
        let host = host.strip_suffix(b".").unwrap_or(host);
        let mut labels = host.split(|b| *b == b'.');
        // `package@1.2.3.min.js` is a version.
        let is_version = labels
            .clone()
            .take(2)
            .all(|label| label.iter().all(u8::is_ascii_digit));
        let last = labels.next_back().unwrap_or_default();
        let is_host = host.contains(&b'.')
            && last.len() >= 2
            && last.iter().all(u8::is_ascii_alphabetic)
            && !is_version;
        // The user may have a password.
        let before = text[searched..start]
            .strip_suffix(b":")
            .map_or(start, |before| {
                searched
                    + before
                        .iter()
                        .rposition(is_delimiter)
                        .map_or(0, |delimiter| delimiter + 1)
            });
        // A normalized path has one slash of two.
        if text[..before].ends_with(b"//") || text[..before].ends_with(b":/") {
            ranges.extend((before < at).then_some(before..at));
        } else if is_host && start < at {
            ranges.push(start..at + 1 + host.len());
        }
        searched = at + 1;
    }
}

/// A text without escapes of the log writer and without disguises, as rules match it, and where
/// each byte of it is in the text.
#[derive(Debug)]
pub(crate) struct Undisguised {
    pub(crate) text: Vec<u8>,
    starts: Vec<usize>,
}

impl Undisguised {
    /// `None` if the text has neither.
    pub(crate) fn new(text: &[u8]) -> Option<Self> {
        if text.is_ascii() && memchr::memchr3(b'%', b'\\', b'&', text).is_none() {
            return None;
        }
        let undisguised = Self::without_escapes(text).without_disguises();
        (undisguised.text.len() != text.len()).then_some(undisguised)
    }

    /// The [`decoded_bytes`] of a text.
    fn without_escapes(text: &[u8]) -> Self {
        let decoded = decoded_bytes(text, 0);
        let (plain, mut starts): (Vec<u8>, Vec<usize>) =
            decoded.map(|decoded| (decoded.byte, decoded.start)).unzip();
        starts.push(text.len());
        Self {
            text: plain,
            starts,
        }
    }

    fn without_disguises(mut self) -> Self {
        for _ in 0..normalize::MAX_ROUNDS {
            let Some((text, starts)) = normalize::round_with_starts(&self.text, &self.starts)
            else {
                break;
            };
            self = Self { text, starts };
        }
        self
    }

    /// Changes ranges in it to those in the text.
    pub(crate) fn in_original(&self, ranges: &mut [Range<usize>]) {
        for range in ranges {
            *range = self.starts[range.start]..self.starts[range.end];
        }
    }
}

/// The text with `***` in place of these ranges, which are in order and apart.
fn mask_ranges(text: &[u8], secrets: Vec<Range<usize>>) -> Cow<'_, [u8]> {
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = Vec::with_capacity(text.len());
    let mut shown_to = 0;
    for secret in secrets {
        masked.extend_from_slice(&text[shown_to..secret.start]);
        masked.extend_from_slice(MASK);
        shown_to = secret.end;
    }
    masked.extend_from_slice(&text[shown_to..]);
    Cow::Owned(masked)
}

/// Where the secrets are: in order, apart from each other, none empty.
fn secrets(text: &[u8]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let unescaped = memchr::memchr2(b'%', b'\\', text)
        .is_some()
        .then(|| Undisguised::without_escapes(text));
    let plain = unescaped
        .as_ref()
        .map_or(text, |unescaped| &unescaped.text[..]);
    if secrets::has_long_run(plain) {
        secrets::find_reset_tokens(plain, &mut ranges);
        forms::find_keys(plain, &mut ranges);
        forms::find_private_keys(plain, &mut ranges);
    }
    secrets::find_signed(plain, &mut ranges);
    secrets::find_credentials(plain, &mut ranges);
    // `%u0070assword=` and `pass%26%23119%3Bord=`, which rules undo too.
    let is_disguised = |plain: &[u8]| {
        has_encoded(plain, &[b"u", b"U"]) || memchr::memmem::find(plain, b"&#").is_some()
    };
    if let Some(unescaped) = unescaped {
        unescaped.in_original(&mut ranges);
        if is_disguised(&unescaped.text) {
            let undisguised = unescaped.without_disguises();
            let mut revealed = Vec::new();
            secrets::find(&undisguised.text, &mut revealed);
            undisguised.in_original(&mut revealed);
            ranges.extend(revealed);
        }
    }
    secrets::find(text, &mut ranges);
    secrets::find_user_info(text, &mut ranges);
    merged(ranges)
}

/// In order and apart from each other.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|secret| secret.start);
    ranges.dedup_by(|next, kept| {
        let overlaps = next.start < kept.end;
        if overlaps {
            kept.end = kept.end.max(next.end);
        }
        overlaps
    });
    ranges
}

/// The decoded forms of a secret, with `=` before each, that contain a delimiter.
fn decoded_values(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut sent = Vec::new();
    normalize::unescape(&[b"=", secret].concat(), &mut sent);
    // A query has its `+` decoded before its escapes.
    let spaced = sent
        .iter()
        .map(|&b| if b == b'+' { b' ' } else { b })
        .collect::<Vec<_>>();
    let mut values = Vec::new();
    for text in [spaced, sent] {
        let rounds = normalize::rounds(&text);
        for value in std::iter::once(text).chain(rounds.into_iter().map(|round| round.text)) {
            if value.iter().any(|b| b"&;#?\"' ".contains(b)) && !values.contains(&value) {
                values.push(value);
            }
        }
    }
    values
}

/// One byte of a text, unescaped, and where its escape is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DecodedByte {
    /// The byte.
    pub(crate) byte: u8,
    /// How often it was percent-encoded. An escape of the log writer does not count: the client
    /// sent the byte as it is.
    pub(crate) depth: usize,
    /// Where it begins.
    pub(crate) start: usize,
    /// Where the next one begins.
    pub(crate) end: usize,
}

/// The decoded bytes of a text from `start` on.
pub(crate) fn decoded_bytes(text: &[u8], start: usize) -> impl Iterator<Item = DecodedByte> {
    let mut at = start;
    std::iter::from_fn(move || {
        let decoded = decoded_byte_at(text, at)?;
        at = decoded.end;
        Some(decoded)
    })
}

/// Whether one of these follows a `%`: a quick check before all bytes are decoded.
pub(crate) fn has_encoded(text: &[u8], digits: &[&[u8]]) -> bool {
    memchr::memchr_iter(b'%', text).any(|at| {
        digits
            .iter()
            .any(|digits| text[at + 1..].starts_with(digits))
    })
}

#[inline]
pub(crate) fn decoded_byte_at(text: &[u8], start: usize) -> Option<DecodedByte> {
    let bare = DecodedByte {
        byte: *text.get(start)?,
        depth: 0,
        start,
        end: start + 1,
    };
    let decoded = match bare.byte {
        b'%' => {
            let (mut digits, mut depth) = (start + 1, 1);
            while text[digits..].starts_with(b"25") && hex(text, digits + 2).is_some() {
                (digits, depth) = (digits + 2, depth + 1);
            }
            hex(text, digits).map(|byte| DecodedByte {
                byte,
                depth,
                start,
                end: digits + 2,
            })
        }
        b'\\' => match text.get(start + 1) {
            Some(b'x') => hex(text, start + 2).map(|byte| DecodedByte {
                byte,
                depth: 0,
                start,
                end: start + 4,
            }),
            Some(&quote @ (b'"' | b'\'')) => Some(DecodedByte {
                byte: quote,
                depth: 0,
                start,
                end: start + 2,
            }),
            Some(b'n' | b'r' | b't') => Some(DecodedByte {
                byte: b'\n',
                depth: 0,
                start,
                end: start + 2,
            }),
            Some(b'u') if text[start + 2..].starts_with(b"00") => {
                hex(text, start + 4).map(|byte| DecodedByte {
                    byte,
                    depth: 0,
                    start,
                    end: start + 6,
                })
            }
            _ => None,
        },
        _ => None,
    };
    Some(decoded.unwrap_or(bare))
}

fn hex(text: &[u8], at: usize) -> Option<u8> {
    let digit = |i: usize| char::from(*text.get(i)?).to_digit(16);
    Some((digit(at)? * 16 + digit(at + 1)?) as u8)
}

/// Bytes of a marker.
const MARKER_LEN: usize = 17;

/// A redacted text, with a hash that distinguishes texts that became equal by masking.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RedactedKey<'a> {
    /// The text without secrets; any bytes.
    pub text: Cow<'a, [u8]>,
    /// A hash of the text as it was logged, where that held secrets.
    pub hash: Option<u64>,
}

impl<'a> RedactedKey<'a> {
    /// The key of a text as logged, or of one with a marker.
    #[must_use]
    pub(crate) fn new(text: &'a [u8]) -> Self {
        if let Some((text, hash)) = split_marker(text) {
            return Self {
                text: Cow::Borrowed(text),
                hash: Some(hash),
            };
        }
        match mask(text) {
            Cow::Borrowed(text) => Self {
                text: Cow::Borrowed(text),
                hash: None,
            },
            masked @ Cow::Owned(_) => Self {
                text: masked,
                hash: Some(xxh3_64(text)),
            },
        }
    }

    /// The text as every output shows it.
    #[must_use]
    pub(crate) fn redacted(&self) -> Cow<'a, str> {
        match &self.text {
            Cow::Borrowed(text) => sanitize::escape(text),
            Cow::Owned(text) => Cow::Owned(sanitize::escape(text).into_owned()),
        }
    }

    /// The bytes of its key in a tally: the text, with a marker where it held secrets.
    #[must_use]
    pub(crate) fn into_bytes(self) -> Cow<'a, [u8]> {
        match self.hash {
            None => self.text,
            Some(hash) => Cow::Owned(with_marker(&self.text, hash)),
        }
    }
}

/// The text with a marker if redacting it would change it: outputs show it as it is.
#[must_use]
pub(crate) fn pre_redacted(shown: &str) -> Vec<u8> {
    if redacted(shown.as_bytes()) == shown {
        shown.as_bytes().to_vec()
    } else {
        with_marker(shown.as_bytes(), 0)
    }
}

/// The text with a marker, so that outputs show its secrets. One that has a marker is unchanged.
#[must_use]
pub(crate) fn unredacted(text: &[u8]) -> Vec<u8> {
    if split_marker(text).is_some() {
        text.to_vec()
    } else {
        with_marker(text, 0)
    }
}

fn with_marker(text: &[u8], hash: u64) -> Vec<u8> {
    let mut marked = Vec::with_capacity(text.len() + MARKER_LEN);
    marked.extend_from_slice(text);
    marked.extend_from_slice(format!("\n{hash:016x}").as_bytes());
    marked
}

/// The text before a marker, and the hash in the marker.
#[inline]
pub(crate) fn split_marker(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let (text, marker) = bytes.split_at(bytes.len().checked_sub(MARKER_LEN)?);
    let digits = marker.strip_prefix(b"\n")?;
    let hash = std::str::from_utf8(digits)
        .ok()
        .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    Some((text, u64::from_str_radix(hash, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_plain_text_is_shown_as_it_is(text in "[:/@=bearic J?y. e0-9+&-]{0,24}|(/(reset|[a-z]{1,9})){1,2}/[a-zA-Z0-9]{12,20}|.{0,8}") {
            if is_plain(text.as_bytes()) {
                prop_assert_eq!(serde_json::to_string(&masked_and_escaped(text.as_bytes())).unwrap(), format!("\"{text}\""));
            }
        }
    }

    #[test]
    fn paths_without_secrets_are_plain() {
        for text in [
            "GET",
            "HTTP/1.1",
            "/.env",
            "/wp-login.php?action=rp&lang=en",
            "/a/b/c.php?x=1:2#top",
            "/verify/eval.php",
            "",
        ] {
            assert!(is_plain(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn masks_secrets() {
        let cases = [
            (
                "/login?user=bob&password=hunter2&next=/",
                "/login?user=bob&password=***&next=/",
            ),
            ("/a?TOKEN=abc", "/a?TOKEN=***"),
            ("/a?access_token=abc#top", "/a?access_token=***#top"),
            ("/a?accessToken=abc;b=c", "/a?accessToken=***;b=c"),
            ("/a?user[password]=abc&x=1", "/a?user[password]=***&x=1"),
            (
                "/a?user%5Bpassword%5D=abc&x=1",
                "/a?user%5Bpassword%5D=***&x=1",
            ),
            ("/a?tokens[]=1&token[]=2", "/a?tokens[]=1&token[]=***"),
            (
                "/a?X-Amz-Signature=00ff&X-Amz-Date=1",
                "/a?X-Amz-Signature=***&X-Amz-Date=1",
            ),
            ("/a;jsessionid=00FF?x=1", "/a;jsessionid=***?x=1"),
            (
                "/a?next=%2Fb%3Ftoken%3Dabc%26x%3D1&y=2",
                "/a?next=%2Fb%3Ftoken%3D***%26x%3D1&y=2",
            ),
            (
                "/a?next=%252Fb%253Fkey%253Dabc%2526x%253D1",
                "/a?next=%252Fb%253Fkey%253D***%2526x%253D1",
            ),
            ("/a?password=p%26ss%23&x=1", "/a?password=***&x=1"),
            (r"/a?password=abc\x22&x=1", r"/a?password=***\x22&x=1"),
            (
                r#"{"user":"bob","password":"hunter2 & more","x":1}"#,
                r#"{"user":"bob","password":"***","x":1}"#,
            ),
            (
                r#"{\"password\": \"hunter2\"}"#,
                r#"{\"password\": \"***\"}"#,
            ),
            ("/oauth?code=abc&state=1", "/oauth?code=***&state=1"),
            ("/a?n=4111111111111111&m=378282246310005", "/a?n=***&m=***"),
            (
                "/a?n=5500-0000-0000-0004&m=3782-822463-10005",
                "/a?n=***&m=***",
            ),
            (
                "http://bob:hunter2@example.com/x",
                "http://bob:***@example.com/x",
            ),
            (
                "/p?url=http%3A%2F%2Fbob%3Ahunter2%40example.com%2Fx",
                "/p?url=http%3A%2F%2Fbob%3A***%40example.com%2Fx",
            ),
            (
                "https://ghp_0123456789abcdefABCD@github.com/a",
                "https://***@github.com/a",
            ),
            (
                "/x/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl/y",
                "/x/***/y",
            ),
            (
                "/x?a%3DeyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln&b=1",
                "/x?a%3D***&b=1",
            ),
            (
                "curl Authorization: Basic dXNlcjpwYXNz end",
                "curl Authorization: Basic *** end",
            ),
            ("x bearer%20abcDEF0123456789", "x bearer%20***"),
            (
                "/reset-password/0123456789abcdef0123",
                "/reset-password/***",
            ),
            (
                "/accounts/reset/MQ/5xx-0123456789abcdef0123/",
                "/accounts/reset/MQ/***/",
            ),
            (
                "/Users/Magic_Link/abcdefghijKLMNOPQRSTUV?x=1",
                "/Users/Magic_Link/***?x=1",
            ),
            (
                "/a?password1=a&pass2=b&pin=1&password[0]=c&x=1",
                "/a?password1=***&pass2=***&pin=***&password[0]=***&x=1",
            ),
            ("/a?password=a;b&x=1", "/a?password=***&x=1"),
            ("/a?password=a;b;x=1", "/a?password=***;x=1"),
            ("/a?password=a'b\"c&x=1", "/a?password=***&x=1"),
            ("/a?password='a'&x=1", "/a?password='***'&x=1"),
            ("/a?password='a&b'&x=1", "/a?password='***'&x=1"),
            (
                "{'password' => 'a', 'x': 1}",
                "{'password' => '***', 'x': 1}",
            ),
            (
                r#"{"password":"a\"b","x":1}"#,
                r#"{"password":"***","x":1}"#,
            ),
            (r#"{"token":["a","b"],"x":1}"#, r#"{"token":[***],"x":1}"#),
            (
                "/a?d={%22password%22:%22a,b%22}",
                "/a?d={%22password%22:%22***%22}",
            ),
            (
                "<a><password>b c</password></a>",
                "<a><password>***</password></a>",
            ),
            (
                "X-Api-Key: abc, Password: d",
                "X-Api-Key: ***, Password: ***",
            ),
            ("/a?d={password:a,x:1}", "/a?d={password:***,x:1}"),
            ("/a/password=b&c/d", "/a/password=***"),
            (
                "Authorization: Digest abc end",
                "Authorization: Digest *** end",
            ),
            ("//bob:hunter2@example.com/x", "//bob:***@example.com/x"),
            ("/(S(0123456789abcdefghij))/x", "/(S(***))/x"),
            (
                "/services/T0123456/B01234567/abcdefghijKLMNOPQRSTUV",
                "/services/T0123456/B01234567/***",
            ),
            (
                "/bot123456789:AAbcdefghijklmnopqrstuvwxyz01234567/x",
                "/bot123456789:***/x",
            ),
            ("/x?a=AKIAIOSFODNN7EXAMPLE&b=1", "/x?a=***&b=1"),
            ("/x?a%3DAKIAIOSFODNN7EXAMPLE&b=1", "/x?a%3D***&b=1"),
            (r"\x22AKIAIOSFODNN7EXAMPLE\x22", r"\x22***\x22"),
            (
                "-----BEGIN PRIVATE KEY----- abcdefghijklmnop -----END PRIVATE KEY-----",
                "-----BEGIN PRIVATE KEY-----***-----END PRIVATE KEY-----",
            ),
        ];
        for (text, masked) in cases {
            assert_eq!(redacted(text.as_bytes()), masked);
            assert_eq!(redacted(masked.as_bytes()), masked, "twice");
        }
    }

    #[test]
    fn leaves_other_text_unchanged() {
        let plain = [
            "/index.php?id=1 union select password from users",
            "/?page=../../etc/passwd",
            "/?bypass=1&monkey=2&compass=3&keyboard=4&country_code=DE&encode=5&passport=6",
            "/?password=&token=",
            "/wp-login.php?action=rp",
            "/reset/../../../../../../etc/passwd",
            "/verify/phpunit-eval-stdin2.php",
            "/confirm?redirect=www.evil1-site.example.com",
            "/?u=http://good.example.com@evil.example.com/",
            "http://token:8080/a",
            "/token:8080/a",
            "Mozilla/5.0 (compatible; Basic Browser; +http://example.com/bot)",
            "/?x=${jndi:ldap://evil.example.com:1389/a}",
            "/?a=1=2==3",
            "token",
            "=",
            "",
        ];
        for text in plain {
            assert!(matches!(mask(text.as_bytes()), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn an_attack_next_to_a_secret_is_kept() {
        assert_eq!(
            redacted(b"/?token=abc&cmd=;cat /etc/passwd"),
            "/?token=***&cmd=;cat /etc/passwd"
        );
        assert_eq!(redacted(b"/?pass=x' or 1=1"), "/?pass=***' or 1=1");
    }

    #[test]
    fn a_secret_stays_hidden_when_its_delimiters_are_decoded() {
        assert_eq!(
            redacted_decoded(b"/?password=a%26b%2520c&x=<", b"/?password=a&b c&x=<"),
            "/?password=***&x=<"
        );
        assert_eq!(
            redacted_decoded(b"/?password=my+dog%23&x=1", b"/?password=my dog#&x=1"),
            "/?password=***&x=1"
        );
        assert_eq!(
            redacted_decoded(b"/?password=a%u0026b&x=1", b"/?password=a&b&x=1"),
            "/?password=***&x=1"
        );
        assert_eq!(
            redacted_decoded(b"/?password=a%26amp;b&x=1", b"/?password=a&b&x=1"),
            "/?password=***&x=1"
        );
        assert_eq!(
            redacted_decoded(
                b"/?password=a%26b&%70assword=c",
                b"/?password=a&b&password=c"
            ),
            "/?password=***&password=***"
        );
        assert_eq!(redacted_decoded(b"/%2e%2e/x", b"/../x"), "/../x");
    }

    fn decoded(target: &[u8]) -> Vec<u8> {
        let (mut sent, mut decoded, mut spare) = (Vec::new(), Vec::new(), Vec::new());
        normalize::unescape(target, &mut sent);
        normalize::decode(&sent, &mut decoded, &mut spare);
        decoded
    }

    /// How long this thread ran, in nanoseconds.
    fn thread_time() -> u64 {
        let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        statistics.split(' ').next().unwrap().parse().unwrap()
    }

    #[test]
    fn masking_a_decoded_text_takes_linear_time() {
        const PARTS: usize = 64;
        let time_of = |secrets: usize, times: usize| {
            let target = b"password=%26&".repeat(secrets);
            let decoded = decoded(&target);
            let start = thread_time();
            for _ in 0..times {
                assert!(redacted_decoded(&target, &decoded).starts_with("password=***&"));
            }
            thread_time() - start
        };
        // Both mask as many bytes. The long one took 64 times as long when every secret was
        // searched in the whole decoded text.
        let (short, long) = (time_of(4_000, PARTS), time_of(4_000 * PARTS, 1));
        assert!(long < 8 * short, "{short} ns, {long} ns");
    }

    #[test]
    fn a_decoded_text_cannot_end_in_a_marker() {
        let target = b"/?password=hunter2&x=%0a0123456789abcdef";
        assert_eq!(
            redacted_decoded(target, &decoded(target)),
            r"/?password=***&x=\x0a0123456789abcdef"
        );
        let plain = b"/?x=%0a0123456789abcdef";
        assert_eq!(
            redacted_decoded(plain, &decoded(plain)),
            r"/?x=\x0a0123456789abcdef"
        );
        assert_eq!(
            redacted_decoded(&unredacted(plain), &decoded(plain)),
            r"/?x=\x0a0123456789abcdef"
        );
    }

    #[test]
    fn masking_takes_linear_time() {
        // Each of these would take minutes if a search restarted at every position.
        for bomb in [
            "basic+",
            "token=",
            "://",
            "eyJ.",
            "reset/",
            "eyJaaaaaaaa.",
            "password=\"",
            "%25",
            "a:",
            "password=%26",
            "token%3D",
            "password='",
            "password=;",
            "password=;a",
            "'token':[",
            "<token>",
            "key ",
            "Key: ",
            "ghp_",
            "xoxb-",
            "EAA-",
            "eyJhbGciOiJI.",
            "eyJhbGciOiJIUzI1NiJ9.",
            "%u0070assword=",
            "4111-",
            "SG.aaaaaaaaaaaaaaaa.",
            "MNOaaaaaaaaaaaaaaaaaaaaaaa.",
            "a-",
            "SG.",
            "-----BEGIN",
            "%25252",
            "//a:",
        ] {
            let text = bomb.repeat((1 << 20) / bomb.len());
            assert!(!redacted(text.as_bytes()).is_empty(), "{bomb}");
        }
    }

    proptest! {
        #[test]
        fn no_byte_of_a_target_shortens_its_decoded_form(pieces in prop::collection::vec(prop_oneof![
            prop::sample::select(vec!["\n", "%0a", "%250A", "&newline;", "&#10;", "\\n", "\\x0a", "0123456789abcdef", "password=", "&x="])
                .prop_map(|piece| piece.as_bytes().to_vec()),
            any::<Vec<u8>>(),
        ], 0..8)) {
            let target = pieces.concat();
            let decoded = decoded(&target);
            if split_marker(&target).is_some() {
                // It was redacted before. No line has such a target, as it has no newline.
                prop_assert_eq!(&*redacted_decoded(&target, &decoded), &*sanitize::escape(&decoded));
                return Ok(());
            }
            let masked = mask_decoded(&target, &decoded, mask);
            prop_assert_eq!(&*redacted_decoded(&target, &decoded), &*sanitize::escape(&masked));
            if let Cow::Borrowed(unmasked) = masked {
                prop_assert_eq!(unmasked, &decoded[..]);
            }
            prop_assert_eq!(&*redacted_decoded(&unredacted(&target), &decoded), &*sanitize::escape(&decoded));
        }

        #[test]
        fn masked_text_has_a_size_limit(text in prop::collection::vec(
            prop::sample::select(vec!["token", "=", "%3D", "%253d", "&", "%26", "://", "a:b@", "eyJabcdefgh", ".", "reset", "/", "Basic ", "\"", "'",
                ":", "aB3", "0123456789abcdefG", "%", "\\x22", " ", "é", "[", "]"]), 0..24)) {
            let text = text.concat();
            let once = mask(text.as_bytes()).into_owned();
            prop_assert!(once.len() <= text.len() + 3 * text.len());
        }

        #[test]
        fn any_bytes_can_be_redacted(text in any::<Vec<u8>>()) {
            let _ = redacted(&text);
        }

        #[test]
        fn a_session_key_is_masked(before in "[a-z/]{0,9}", secret in "Q[A-Za-z0-9.,:!*()%+/_-]{5,20}Q", after in "(&x[0-9]{1,5}=[a-z]{0,5}){0,2}") {
            let masked = redacted(format!("/{before}?session_key={secret}{after}").as_bytes()).into_owned();
            prop_assert_eq!(masked, format!("/{before}?session_key=***{after}"));
        }
    }

    #[test]
    fn decodes_every_escape() {
        let read = |text: &[u8]| {
            decoded_bytes(text, 0)
                .map(|o| (o.byte, o.depth))
                .collect::<Vec<_>>()
        };
        assert_eq!(read(b"a%3D"), [(b'a', 0), (b'=', 1)]);
        assert_eq!(read(b"%253d%25253D"), [(b'=', 2), (b'=', 3)]);
        assert_eq!(read(br"\x3d\x"), [(b'=', 0), (b'\\', 0), (b'x', 0)]);
        assert_eq!(read(br#"\"a"#), [(b'"', 0), (b'a', 0)]);
        assert_eq!(read(b"%"), [(b'%', 0)]);
        assert_eq!(read(b"%25"), [(b'%', 1)]);
        assert_eq!(read(b"%2525"), [(b'%', 2)]);
    }

    #[test]
    fn texts_with_equal_masks_have_different_keys() {
        let (one, other) = (
            RedactedKey::new(b"/reset-password/0123456789abcdef0123"),
            RedactedKey::new(b"/reset-password/0123456789abcdef0124"),
        );
        assert_eq!(
            (&*one.text, &*other.text),
            (&b"/reset-password/***"[..], &b"/reset-password/***"[..])
        );
        assert_ne!(one, other);
        assert_ne!(one.clone().into_bytes(), other.into_bytes());
        assert_eq!(redacted(&one.into_bytes()), "/reset-password/***");
        assert_eq!(
            RedactedKey::new(b"/plain"),
            RedactedKey {
                text: Cow::Borrowed(b"/plain"),
                hash: None
            }
        );
    }

    #[test]
    fn a_redacted_text_is_not_masked_again() {
        // Without a marker more of it would be masked.
        let earlier = "/?password=***&x=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";
        assert_ne!(redacted(earlier.as_bytes()), earlier);
        assert_eq!(redacted(&pre_redacted(earlier)), earlier);
        assert_eq!(pre_redacted("/plain"), b"/plain");
    }

    #[test]
    fn an_unredacted_text_keeps_its_secrets() {
        assert_eq!(
            redacted(&unredacted(b"/?password=hunter2\x1b")),
            "/?password=hunter2\\x1b"
        );
        assert_eq!(
            redacted_decoded(&unredacted(b"/?password=a%26b"), b"/?password=a&b"),
            "/?password=a&b"
        );
        let earlier = pre_redacted("/?password=***");
        assert_eq!(unredacted(&unredacted(b"/x")), unredacted(b"/x"));
        assert_eq!(redacted(&unredacted(&earlier)), "/?password=***");
    }

    proptest! {
        #[test]
        fn a_key_is_redacted_like_its_text(text in "(/(reset|a)|[/?;](token|password|x)=[a-zA-Z0-9%.]{0,20}|\u{202e}|é|\\\\x1b){0,6}", bytes in any::<Vec<u8>>()) {
            for text in [text.as_bytes(), &bytes] {
                if text.contains(&b'\n') {
                    continue;
                }
                let key = RedactedKey::new(text);
                let kept = key.clone().into_bytes().into_owned();
                prop_assert_eq!(redacted(&kept), redacted(text));
                prop_assert_eq!(RedactedKey::new(&kept), key);
                let earlier = pre_redacted(&redacted(text));
                prop_assert_eq!(redacted(&earlier), redacted(text));
            }
        }
    }
}
