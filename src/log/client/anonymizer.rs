//! Hides clients: a network instead of an address, or a pseudonym that only the holder of a key can
//! trace back.
//!
//! Truncation keeps 24 bits of an IPv4 address and 48 bits of an IPv6 address. Names are replaced
//! whole, because any part of a name may identify its owner. A pseudonym is the first 64 bits of
//! HMAC-SHA-256 (RFC 2104, FIPS 180-4) of the address under a secret key: without the key it is
//! indistinguishable from random bits and addresses cannot be guessed by trial, as they can with a
//! plain hash. The same key gives the same pseudonym in every run. Callers must make sure that
//! sorting does not reveal an address.

use super::{Client, ClientKey};
use crate::text::redact::mask::{Undisguised, mask_people};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use thiserror::Error;

/// The minimum length of a key in bytes.
const MIN_KEY_BYTES: usize = 16;

/// The replacement of a name.
const NAME: &[u8] = b"***";

/// The prefix of all pseudonyms.
const PSEUDONYM: &str = "anon-";

/// Domain separation: the same key used for another purpose gives other values.
const PURPOSE: &[u8] = b"probewatch client 1\0";

/// A method of hiding clients.
#[derive(Clone)]
pub(crate) enum Anonymizer {
    /// Keep only the network.
    Truncate,
    /// Replace the client by a pseudonym.
    Key(Box<Hmac<Sha256>>),
}

/// A key that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum KeyError {
    /// The key is short enough to be guessed. Holds its length in bytes.
    #[error(
        "holds {0} bytes, and a key needs {MIN_KEY_BYTES}; make one with: head -c 32 /dev/urandom > FILE"
    )]
    Short(usize),
}

impl std::fmt::Debug for Anonymizer {
    /// Does not print the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Anonymizer {
    /// Creates pseudonyms with this key.
    ///
    /// # Errors
    ///
    /// The key is too short to be secret.
    pub(crate) fn with_key(key: &[u8]) -> Result<Self, KeyError> {
        match Hmac::<Sha256>::new_from_slice(key) {
            Ok(mac) if key.len() >= MIN_KEY_BYTES => Ok(Self::Key(Box::new(mac))),
            _ => Err(KeyError::Short(key.len())),
        }
    }

    /// The name used in machine-readable output.
    #[must_use]
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Truncate => "truncate",
            Self::Key(_) => "key",
        }
    }

    /// The replacement of a client: `192.0.2.0/24`, `2001:db8:1::/48`, or `anon-` and 16
    /// hexadecimal digits. An unknown client is returned unchanged.
    #[must_use]
    pub(crate) fn anonymize(&self, client: Client<'_>) -> ClientKey {
        let replacement = match (self, client) {
            (_, Client::Text(b"" | b"-" | b"unix:")) => return ClientKey::from(&client),
            (Self::Truncate, Client::V4(bits)) => format!("{}/24", network_v4(bits)),
            (Self::Truncate, Client::V6(bits)) => format!("{}/48", network_v6(bits)),
            (Self::Truncate, Client::Text(text)) => match super::parse_prefix(text) {
                Some((first, prefix)) => format!("{}/{}", network_v6(first), prefix.bits().min(48)),
                None => return ClientKey::Text(NAME.into()),
            },
            (Self::Key(mac), _) => pseudonym(mac, client),
        };
        ClientKey::Text(replacement.into_bytes().into())
    }

    /// The address whose country and network may be shown beside the replacement of a client. With
    /// truncation it is the first one of the replacement, so that nothing depends on what is
    /// hidden.
    #[must_use]
    pub(crate) fn geo_address(&self, client: Client<'_>) -> Option<IpAddr> {
        match (self, client.first_address()?) {
            (Self::Truncate, IpAddr::V4(address)) => Some(network_v4(address.to_bits()).into()),
            (Self::Truncate, IpAddr::V6(address)) => Some(network_v6(address.to_bits()).into()),
            (Self::Key(_), address) => Some(address),
        }
    }
}

/// The address with its last octet cleared.
fn network_v4(bits: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(bits & 0xffff_ff00)
}

/// The address with its last 80 bits cleared.
fn network_v6(bits: u128) -> Ipv6Addr {
    Ipv6Addr::from_bits(bits & u128::MAX << 80)
}

fn pseudonym(mac: &Hmac<Sha256>, client: Client<'_>) -> String {
    let mut mac = mac.clone();
    mac.update(PURPOSE);
    match client {
        Client::V4(bits) => mac.update(&bits.to_be_bytes()),
        Client::V6(bits) => mac.update(&bits.to_be_bytes()),
        // Names are case-insensitive. The leading byte keeps names of 4 or 16 bytes apart from
        // addresses.
        Client::Text(text) => mac.update(&[b"n", text.to_ascii_lowercase().as_slice()].concat()),
    }
    let sum = mac.finalize().into_bytes();
    let (first, _) = sum.split_first_chunk().unwrap_or((&[0; 8], &[]));
    format!("{PSEUDONYM}{:016x}", u64::from_be_bytes(*first))
}

/// The length of the longest address with a port.
const MAX_ADDRESS_LEN: usize = 52;

/// The shortest run of Base64 that is decoded: `1.2.3.4` has ten characters.
const MIN_BASE64_LEN: usize = 10;

/// What belongs to a value in Base64 besides letters and digits: as in a query, as in a path, and
/// if other text is beside it. A `+` may also be a space.
const BASE64_JOINS: [&[u8]; 5] = [b"+-_/", b"+-_", b"-_", b"+", b""];

/// How often Base64 is decoded.
const MAX_BASE64_DEPTH: u32 = 2;

/// Decimal numbers that are read as addresses, from 5.245.225.0 on. Shorter numbers are dates and
/// the like.
const MIN_NUMBER: u32 = 100_000_000;

/// Decimal numbers that are times from 2017 to 2033, unless a URL or a parameter has them as an
/// address.
const TIMES: Range<u32> = 1_500_000_000..2_000_000_000;

/// A part of a text that is hidden, and what replaces it.
type Replacement = (Range<usize>, String);

/// Base64 in either alphabet, with any bits at its end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Anonymizer {
    /// The text with all addresses in it replaced, also those that are disguised as rules undo it,
    /// numbers, with other separators, reversed or in Base64; and people in Base64. In a user
    /// `agent`, `Chrome/120.0.0.0` is a version and stays.
    #[must_use]
    pub(crate) fn anonymize_text<'t>(&self, text: &'t [u8], agent: bool) -> Cow<'t, [u8]> {
        let undisguised = Undisguised::new(text);
        let plain = undisguised
            .as_ref()
            .map_or(text, |undisguised| &undisguised.text[..]);
        let replacements = self.replacements(plain, agent, 0);
        if replacements.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut ranges, shown): (Vec<_>, Vec<_>) = replacements.into_iter().unzip();
        if let Some(undisguised) = &undisguised {
            undisguised.in_original(&mut ranges);
        }
        let (mut hidden, mut from): (Vec<u8>, _) = (Vec::new(), 0);
        for (range, shown) in ranges.into_iter().zip(shown) {
            hidden.extend_from_slice(&text[from..range.start]);
            hidden.extend_from_slice(shown.as_bytes());
            from = range.end;
        }
        hidden.extend_from_slice(&text[from..]);
        Cow::Owned(hidden)
    }

    /// What is hidden in a text without escapes, in order and apart.
    fn replacements(&self, text: &[u8], agent: bool, depth: u32) -> Vec<Replacement> {
        let mut found = Vec::new();
        let (mut at, mut after_letter) = (0, false);
        while at < text.len() {
            let end = at
                + text[at..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
                    .count();
            if at == end {
                after_letter = text[at].is_ascii_alphanumeric();
                at += 1;
                continue;
            }
            let addresses = AddressToken {
                text,
                range: at..end,
                after_letter,
                agent,
            }
            .addresses();
            found.extend(
                addresses
                    .into_iter()
                    .map(|(range, address)| (range, self.address(address))),
            );
            (at, after_letter) = (end, true);
        }
        let mut quad_end = 0;
        for at in 0..text.len() {
            let before = text[..at].last().copied().unwrap_or(b' ');
            if text[at].is_ascii_digit() && !before.is_ascii_digit() {
                if at >= quad_end
                    && let Some(quad) = quad_in_other_form(text, at, agent)
                {
                    quad_end = quad.end;
                    found.push(hidden_whole(quad));
                }
                found.extend(self.number(text, at, agent));
            }
            if matches!(text[at], b'2' | b'3' | b'f' | b'F') && !before.is_ascii_alphanumeric() {
                found.extend(
                    v6_with_dashes(&text[at..]).map(|length| hidden_whole(at..at + length)),
                );
            }
        }
        found.extend(reversed_v6(text).into_iter().map(hidden_whole));
        if depth < MAX_BASE64_DEPTH {
            let runs = BASE64_JOINS.iter().flat_map(|joins| {
                text.split(|byte| !(byte.is_ascii_alphanumeric() || joins.contains(byte)))
            });
            for run in runs.filter(|run| run.len() >= MIN_BASE64_LEN) {
                let is_hidden = |decoded: Vec<u8>| {
                    !self.replacements(&decoded, false, depth + 1).is_empty()
                        || matches!(mask_people(&decoded), Cow::Owned(_))
                };
                if decoded_text(run).is_some_and(is_hidden) {
                    let start = run.as_ptr().addr() - text.as_ptr().addr();
                    found.push(hidden_whole(start..start + run.len()));
                }
            }
        }
        // Of two that overlap, the one that begins first, and the longer.
        found.sort_by_key(|(range, _)| (range.start, Reverse(range.end)));
        let mut end = 0;
        found.retain(|(range, _)| {
            let is_apart = range.start >= end;
            end = end.max(range.end);
            is_apart
        });
        found
    }

    /// An IPv4 address as one number: `3405803854`, `0xcb00714e`, `031300070516`.
    fn number(&self, text: &[u8], at: usize, agent: bool) -> Option<Replacement> {
        let joins = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        let (before, rest) = text.split_at(at);
        let is_version = |before: &[u8]| {
            is_after_name(before)
                || before
                    .strip_suffix(b"(")
                    .is_some_and(|name| name.last().is_some_and(joins))
        };
        if before.last().is_some_and(joins) || agent && is_version(before) {
            return None;
        }
        let length = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .take(13)
            .count();
        let after = &rest[length..];
        if matches!(
            after,
            [b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z', ..]
        ) || matches!(after, [b'.', next, ..] if joins(next))
        {
            return None;
        }
        let digits = std::str::from_utf8(&rest[..length]).ok()?;
        let hex = digits
            .strip_prefix("0x")
            .or_else(|| digits.strip_prefix("0X"))
            .filter(|digits| digits.len() >= 7);
        let bits = if let Some(hex) = hex {
            u32::from_str_radix(hex, 16).ok()?
        } else if digits.starts_with('0') {
            (digits.len() >= 10).then(|| u32::from_str_radix(digits, 8).ok())??
        } else {
            let bits = digits.parse().ok().filter(|bits| *bits >= MIN_NUMBER)?;
            if TIMES.contains(&bits) && !is_place_of_address(before) {
                return None;
            }
            bits
        };
        is_identifying(Ipv4Addr::from_bits(bits).into())
            .then(|| (at..at + length, self.shown_number(bits, hex.is_none())))
    }

    /// A number stays one when it is truncated, as it may be something else.
    fn shown_number(&self, bits: u32, is_decimal: bool) -> String {
        match self {
            Self::Truncate if is_decimal => (bits & 0xffff_ff00).to_string(),
            _ => self.address(Ipv4Addr::from_bits(bits).into()),
        }
    }

    /// The replacement of an address inside a text.
    fn address(&self, address: IpAddr) -> String {
        match (self, address) {
            (Self::Truncate, IpAddr::V4(four)) => network_v4(four.to_bits()).to_string(),
            (Self::Truncate, IpAddr::V6(ipv6)) => network_v6(ipv6.to_bits()).to_string(),
            (Self::Key(mac), IpAddr::V4(four)) => pseudonym(mac, Client::V4(four.to_bits())),
            (Self::Key(mac), IpAddr::V6(ipv6)) => pseudonym(mac, Client::V6(ipv6.to_bits())),
        }
    }
}

/// The replacement of an address whose parts have an unknown order or number system.
fn hidden_whole(range: Range<usize>) -> Replacement {
    (range, String::from_utf8_lossy(NAME).into_owned())
}

/// Whether a text ends in a letter and a slash, as before the version of a product.
fn is_after_name(before: &[u8]) -> bool {
    matches!(before, [.., letter, b'/'] if letter.is_ascii_alphabetic())
}

/// Whether what follows is the host of a URL, or the value of a parameter such as `ip`.
fn is_place_of_address(before: &[u8]) -> bool {
    let Some(name) = before.strip_suffix(b"=") else {
        return before.ends_with(b"//") || before.ends_with(b"@");
    };
    let start = name
        .iter()
        .rposition(|byte| !byte.is_ascii_alphanumeric())
        .map_or(0, |at| at + 1);
    let name = name[start..].to_ascii_lowercase();
    [&b"ip"[..], b"addr", b"address", b"host", b"client"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// What separates the four numbers of an address. The last two are dots to browsers (UTS #46).
const QUAD_SEPARATORS: [&[u8]; 7] = [
    b".",
    b"-",
    b"_",
    b",",
    b"[.]",
    "\u{3002}".as_bytes(),
    "\u{ff61}".as_bytes(),
];

/// How far back the start of a list of numbers is looked for.
const MAX_NUMBERS_LEN: usize = 1_024;

/// The days of a month. Few versions have two numbers above it.
const MAX_DAY: u8 = 31;
/// The seconds of a minute: no part of a time is above it.
const MAX_SECOND: u8 = 59;

/// Four numbers that are an address in another form than the usual one: with leading zeros, in
/// octal or in hexadecimal digits, with other separators, or as the labels of a name such as
/// `4.3.2.1.in-addr.arpa`, where their order is unknown.
///
/// Text beside them makes them a version or a date, unless their numbers are too large for one:
/// then they are hidden with the numbers joined to them.
fn quad_in_other_form(text: &[u8], start: usize, agent: bool) -> Option<Range<usize>> {
    let (mut bits, mut octal_bits, mut is_odd, mut at) = (0, 0, false, start);
    let mut separator: &[u8] = b"";
    for number in 0..4 {
        if number == 1 {
            separator = QUAD_SEPARATORS
                .into_iter()
                .find(|separator| text[at..].starts_with(separator))?;
        }
        let part = QuadPart::parse(text[at..].strip_prefix(separator)?)?;
        (bits, octal_bits, is_odd) = (
            bits << 8 | part.value & 255,
            octal_bits << 8 | part.octal & 255,
            is_odd | part.is_odd,
        );
        at += separator.len() + part.length;
    }
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let joined_after = |at: usize| {
        let length = digits(text[at..].strip_prefix(separator)?);
        (length > 0).then_some(separator.len() + length)
    };
    let before = text[..start].last();
    let is_after_number = text[..start]
        .strip_suffix(separator)
        .is_some_and(|before| before.last().is_some_and(u8::is_ascii_digit));
    let is_alone = !is_after_number
        && joined_after(at).is_none()
        && !text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let is_label = matches!(text[at..], [b'.', letter, ..] if letter.is_ascii_alphabetic());
    let is_form = match separator {
        b"." => (is_odd || is_label) && !before.is_some_and(u8::is_ascii_alphanumeric),
        b"," => false,
        _ => true,
    };
    let above = |most: u8| move |part: &&u8| **part > most;
    let parts = bits.to_be_bytes();
    let is_large = parts.iter().filter(above(MAX_DAY)).count() >= 2
        && parts.iter().any(|part| above(MAX_SECOND)(&part));
    let is_other = || {
        let numbers = text[..start]
            .iter()
            .rev()
            .take(MAX_NUMBERS_LEN)
            .take_while(|byte| byte.is_ascii_digit() || separator.contains(byte))
            .count();
        let before = &text[..start - numbers];
        match separator {
            b"." => agent && is_after_name(before),
            // `char(104,101,108,108)` are the characters of a text.
            b"," => before.ends_with(b"("),
            _ => false,
        }
    };
    let is_somebody = [bits, octal_bits]
        .iter()
        .all(|bits| is_identifying(Ipv4Addr::from_bits(*bits).into()));
    if !((is_form && is_alone || is_large) && is_somebody && !is_other()) {
        return None;
    }
    while let Some(length) = joined_after(at) {
        at += length;
    }
    Some(start..at)
}

/// A number of a quad: `81`, `081`, `0121`, `0x51`.
struct QuadPart {
    /// Its value with decimal digits.
    value: u32,
    /// Its value if leading zeros mean octal digits.
    octal: u32,
    length: usize,
    is_odd: bool,
}

impl QuadPart {
    fn parse(text: &[u8]) -> Option<Self> {
        let count = |text: &[u8], is_digit: fn(&u8) -> bool| {
            text.iter()
                .take(5)
                .take_while(|byte| is_digit(byte))
                .count()
        };
        let number = |digits: &[u8], radix| {
            u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
        };
        if let [b'0', b'x' | b'X', hex @ ..] = text {
            let length = count(hex, u8::is_ascii_hexdigit);
            let value = number(&hex[..length], 16).filter(|value| *value <= 255)?;
            return Some(Self {
                value,
                octal: value,
                length: length + 2,
                is_odd: true,
            });
        }
        let length = count(text, u8::is_ascii_digit);
        let digits = &text[..length];
        let is_odd = length > 1 && digits[0] == b'0';
        let value = number(digits, 10)?;
        let octal = if is_odd {
            number(digits, 8).unwrap_or(value)
        } else {
            value
        };
        (length <= 4 && value.min(octal) <= 255).then_some(Self {
            value,
            octal,
            length,
            is_odd,
        })
    }
}

/// The length of an IPv6 address with `-` or `_` in place of its colons at the start of a text, as
/// in names of hosts. It begins with four digits: other texts with dashes are words.
fn v6_with_dashes(text: &[u8]) -> Option<usize> {
    let separator = *text.get(4).filter(|byte| matches!(byte, b'-' | b'_'))?;
    let length = text
        .iter()
        .take(MAX_ADDRESS_LEN)
        .take_while(|&&byte| byte.is_ascii_hexdigit() || byte == separator)
        .count();
    let colons: Vec<u8> = text[..length]
        .iter()
        .map(|&byte| if byte == separator { b':' } else { byte })
        .collect();
    let is_whole = !text.get(length).is_some_and(u8::is_ascii_alphanumeric);
    (is_whole
        && std::str::from_utf8(&colons)
            .ok()?
            .parse::<Ipv6Addr>()
            .is_ok())
    .then_some(length)
}

/// The digits before `.ip6.arpa`.
fn reversed_v6(text: &[u8]) -> Vec<Range<usize>> {
    const ZONE: &[u8] = b".ip6.arpa";
    let is_digit = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'.';
    let zones = memchr::memchr_iter(b'.', text).filter(|at| {
        text[*at..]
            .get(..ZONE.len())
            .is_some_and(|zone| zone.eq_ignore_ascii_case(ZONE))
    });
    zones
        .map(|at| {
            text[..at]
                .iter()
                .rposition(|byte| !is_digit(byte))
                .map_or(0, |before| before + 1)..at
        })
        .filter(|range| range.len() > 8)
        .collect()
}

/// The printable text of a run of Base64.
fn decoded_text(run: &[u8]) -> Option<Vec<u8>> {
    let run = if run.len() % 4 == 1 {
        &run[..run.len() - 1]
    } else {
        run
    };
    let standard: Vec<u8> = run
        .iter()
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            byte => *byte,
        })
        .collect();
    // Most runs are words, which are not text: the first bytes show it.
    let is_text = |text: &[u8]| {
        text.iter()
            .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
    };
    BASE64
        .decode(&standard[..8])
        .ok()
        .filter(|text| is_text(text))?;
    BASE64.decode(&standard).ok().filter(|text| is_text(text))
}

/// A run of hexadecimal digits, dots and colons.
struct AddressToken<'t> {
    text: &'t [u8],
    range: Range<usize>,
    after_letter: bool,
    /// The text is a user agent.
    agent: bool,
}

impl AddressToken<'_> {
    fn letters(&self) -> &[u8] {
        &self.text[self.range.clone()]
    }

    /// The addresses in the token, in order, with their ranges.
    fn addresses(&self) -> Vec<(Range<usize>, IpAddr)> {
        let before_letter = self
            .text
            .get(self.range.end)
            .is_some_and(u8::is_ascii_alphanumeric);
        match self.ipv6(before_letter) {
            Some((range, address)) if is_identifying(address) => vec![(range, address)],
            Some(_) => Vec::new(),
            None => self.ipv4_quads(before_letter),
        }
    }

    /// The IPv6 address of the token: after the word that begins before it, as in `source:2a02::1`,
    /// and without what follows a dot or a colon, as a port does.
    fn ipv6(&self, before_letter: bool) -> Option<(Range<usize>, IpAddr)> {
        let is_end = |byte: &u8| matches!(byte, b'.' | b':');
        let mut letters = self.letters();
        if letters.len() > MAX_ADDRESS_LEN {
            return None;
        }
        let mut start = self.range.start;
        if self.after_letter {
            let word = letters.iter().position(|byte| *byte == b':')? + 1;
            (letters, start) = (&letters[word..], start + word);
        }
        if before_letter {
            letters = &letters[..letters.iter().rposition(is_end)?];
        }
        loop {
            if let Some(ipv6) = std::str::from_utf8(letters)
                .ok()
                .and_then(|text| text.parse::<Ipv6Addr>().ok())
            {
                return Some((start..start + letters.len(), ipv6.to_canonical()));
            }
            letters = &letters[..letters.iter().rposition(is_end)?];
        }
    }

    /// The dotted quads between colons.
    fn ipv4_quads(&self, before_letter: bool) -> Vec<(Range<usize>, IpAddr)> {
        let mut matches = Vec::new();
        let mut start = self.range.start;
        for piece in self.letters().split(|&letter| letter == b':') {
            let quad = piece.strip_suffix(b".").unwrap_or(piece);
            let range = start..start + quad.len();
            start += piece.len() + 1;
            let Client::V4(bits) = Client::parse(quad) else {
                continue;
            };
            let is_part = range.start == self.range.start && self.after_letter
                || range.end == self.range.end && before_letter;
            let is_version = self.agent && is_after_name(&self.text[..range.start]);
            let address = Ipv4Addr::from_bits(bits).into();
            if !is_part && !is_version && is_identifying(address) {
                matches.push((range, address));
            }
        }
        matches
    }
}

/// Whether an address identifies a party. Private networks do; loopback and link-local addresses do
/// not.
fn is_identifying(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => {
            !(four.is_loopback()
                || four.is_link_local()
                || four.is_unspecified()
                || four.is_broadcast())
        }
        IpAddr::V6(ipv6) => !(ipv6.is_loopback() || ipv6.is_unspecified()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";

    fn anonymized(anonymizer: &Anonymizer, client: &str) -> String {
        anonymizer
            .anonymize(Client::parse(client.as_bytes()))
            .client()
            .to_string()
    }

    #[test]
    fn truncation_keeps_the_network() {
        for (client, expected) in [
            ("192.0.2.77", "192.0.2.0/24"),
            ("::ffff:192.0.2.77", "192.0.2.0/24"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
            ("2001:db8:1:2::/64", "2001:db8:1::/48"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("dsl-192-0-2-77.isp.example", "***"),
            ("-", "-"),
            ("", "-"),
        ] {
            assert_eq!(anonymized(&Anonymizer::Truncate, client), expected);
        }
    }

    #[test]
    fn data_on_a_truncated_client_is_that_of_its_network() {
        let key = Anonymizer::with_key(KEY).unwrap();
        for (client, truncated, with_key) in [
            ("192.0.2.77", "192.0.2.0", "192.0.2.77"),
            ("2001:db8:1:2::9", "2001:db8:1::", "2001:db8:1:2::9"),
            ("2001:db8:1:2::/64", "2001:db8:1::", "2001:db8:1:2::"),
            ("2001:db8::/32", "2001:db8::", "2001:db8::"),
        ] {
            let shown = |anonymizer: &Anonymizer| {
                anonymizer
                    .geo_address(Client::parse(client.as_bytes()))
                    .unwrap()
                    .to_string()
            };
            assert_eq!(
                (shown(&Anonymizer::Truncate), shown(&key)),
                (truncated.to_owned(), with_key.to_owned())
            );
        }
        assert_eq!(key.geo_address(Client::parse(b"host.example")), None);
    }

    #[test]
    fn a_pseudonym_is_hmac_sha_256() {
        // HMAC-SHA-256 of the purpose and the four bytes of 192.0.2.77, as computed by
        // `openssl dgst -sha256 -hmac`.
        let anonymizer = Anonymizer::with_key(KEY).unwrap();
        assert_eq!(
            anonymized(&anonymizer, "192.0.2.77"),
            "anon-4178e25efebaec49"
        );
        assert_eq!(
            anonymized(&anonymizer, "::ffff:192.0.2.77"),
            anonymized(&anonymizer, "192.0.2.77")
        );
        assert_ne!(
            anonymized(&anonymizer, "192.0.2.78"),
            anonymized(&anonymizer, "192.0.2.77")
        );
        assert_ne!(
            anonymized(&Anonymizer::with_key(&[7; 32]).unwrap(), "192.0.2.77"),
            anonymized(&anonymizer, "192.0.2.77")
        );
        assert_eq!(
            anonymized(&anonymizer, "Host.example"),
            anonymized(&anonymizer, "host.EXAMPLE")
        );
        assert_eq!(
            Anonymizer::with_key(b"short").unwrap_err(),
            KeyError::Short(5)
        );
        assert_eq!(format!("{anonymizer:?}"), "key");
    }

    proptest! {
        #[test]
        fn the_last_bits_are_not_revealed(address: u32, other: u8, ipv6: u128, rest: u64) {
            let truncated = |client: Client<'_>| Anonymizer::Truncate.anonymize(client);
            prop_assert_eq!(truncated(Client::V4(address)), truncated(Client::V4(address & !255 | u32::from(other))));
            prop_assert_eq!(truncated(Client::V6(ipv6)), truncated(Client::V6(ipv6 >> 80 << 80 | u128::from(rest))));
        }

        #[test]
        fn any_client_is_accepted(field in prop::collection::vec(any::<u8>(), 0..40)) {
            for anonymizer in [Anonymizer::Truncate, Anonymizer::with_key(KEY).unwrap()] {
                let _ = anonymizer.anonymize(Client::parse(&field));
            }
        }
    }

    fn hidden(text: &str) -> String {
        String::from_utf8(
            Anonymizer::Truncate
                .anonymize_text(text.as_bytes(), false)
                .into_owned(),
        )
        .unwrap()
    }

    #[test]
    fn addresses_in_texts_are_truncated() {
        for (text, expected) in [
            ("/x?ip=192.0.2.77&y=1", "/x?ip=192.0.2.0&y=1"),
            ("192.0.2.77", "192.0.2.0"),
            ("a 192.0.2.77, 198.51.100.9.", "a 192.0.2.0, 198.51.100.0."),
            ("http://192.0.2.77:8080/a.sh", "http://192.0.2.0:8080/a.sh"),
            (
                "/?u=http%3A%2F%2F192%2E0%2e2%252E77%2Fx",
                "/?u=http%3A%2F%2F192.0.2.0%2Fx",
            ),
            ("[2001:db8:1:2::9]:80", "[2001:db8:1::]:80"),
            ("/?a=2001%3Adb8%3A1%3A2%3A%3A9", "/?a=2001:db8:1::"),
            ("2001:db8:1:2::9, x", "2001:db8:1::, x"),
            ("::ffff:192.0.2.77", "192.0.2.0"),
            ("wget${IFS}10.1.2.3/x", "wget${IFS}10.1.2.0/x"),
            ("1.2.3.4 1.2.3.5", "1.2.3.0 1.2.3.0"),
            (r"\x22192.0.2.77\x22", r"\x22192.0.2.0\x22"),
            (
                "%22192.0.2.77%22 %2522192.0.2.77",
                "%22192.0.2.0%22 %2522192.0.2.0",
            ),
            ("x%3A192.0.2.77", "x%3A192.0.2.0"),
            ("ip:2001:db8:1:2::9", "ip:2001:db8:1::"),
            ("source:2001:db8:1:2::9.", "source:2001:db8:1::."),
            ("2001:db8:1:2:3:4:5:6:80", "2001:db8:1:::80"),
            ("backup81.2.69.142.sql", "backup***.sql"),
            ("81.2.69.142abc", "***abc"),
            ("..81.2.69.142", "..***"),
            ("81.2.69.142.20261120", "***"),
            ("2026-11-20-81-2-69-142", "2026-11-***"),
            ("v6-2001-db8-1-2--9", "v6-***"),
            (
                "81\u{3002}2\u{3002}69\u{ff61}142",
                "81\u{3002}2\u{3002}69\u{ff61}142",
            ),
            ("81\u{3002}2\u{3002}69\u{3002}142", "***"),
            ("81[.]2[.]69[.]142", "***"),
            ("81,2,69,142", "***"),
        ] {
            assert_eq!(hidden(text), expected);
        }
    }

    #[test]
    fn texts_without_client_addresses_are_unchanged() {
        for text in [
            "",
            "/",
            "127.0.0.1",
            "http://169.254.169.254/latest/meta-data",
            "[::1]",
            "0.0.0.0",
            "1.2.3",
            "1.2.3.4.5",
            "v1.2.3.4",
            "1.2.3.4a",
            "Foo::bar",
            "std::dead::beef",
            "08:01:00",
            "1.2.3.400",
            "v01.2.3.4",
            "::",
            "...",
            "%3A%3A",
            "2026-11-27-13-45-59",
            "char(104,101,108,108,111)",
            "1,2,3,4",
            "lib-1.2.3.4.5",
        ] {
            assert_eq!(hidden(text), text);
        }
        let agent = b"App/5.120.64.99.70 Chrome/120.0.6099.109";
        assert_eq!(&*Anonymizer::Truncate.anonymize_text(agent, true), agent);
        let agent = b"Mozilla/5.0 Chrome/120.1.2.3 (+http://192.0.2.77/bot)";
        assert_eq!(
            &*Anonymizer::Truncate.anonymize_text(agent, true),
            b"Mozilla/5.0 Chrome/120.1.2.3 (+http://192.0.2.0/bot)"
        );
    }

    #[test]
    fn long_texts_take_linear_time() {
        // Each of these would take minutes if the search restarted at every byte.
        for unit in [
            "1.2.3.4", "1.", ":", "a:", "::1 ", "%3A", "1.2.3.4:", "%25", "99.", "99,", "a99-",
            "-2001",
        ] {
            let text = unit.repeat((1 << 16) / unit.len());
            assert!(
                !Anonymizer::Truncate
                    .anonymize_text(text.as_bytes(), false)
                    .is_empty(),
                "{unit}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_accepted(text in prop::collection::vec(any::<u8>(), 0..60), seeded in "([0-9a-f:.%]|%3A|%2E|192\\.0\\.2\\.7|[a-z/ ]){0,30}") {
            for text in [&text, seeded.as_bytes()] {
                let once = Anonymizer::Truncate.anonymize_text(text, false).into_owned();
                prop_assert!(Anonymizer::Truncate.anonymize_text(&once, false).len() <= once.len() + 8);
            }
        }

        #[test]
        fn addresses_are_truncated(before in "[g-z/=?& ]{0,8}[/=?& ]", last in 1_u8..255, after in "([/&? ][a-z]{0,5})?") {
            let text = format!("{before}203.0.113.{last}{after}");
            prop_assert_eq!(hidden(&text), format!("{before}203.0.113.0{after}"));
        }
    }
}
