//! Hides clients: a network instead of an address, or a pseudonym that only the holder of a key can trace back.
//!
//! Truncation keeps 24 bits of an IPv4 address and 48 bits of an IPv6 address. Names are replaced whole, because any part
//! of a name may identify its owner. A pseudonym is the first 64 bits of HMAC-SHA-256 (RFC 2104, FIPS 180-4) of the
//! address under a secret key: without the key it is indistinguishable from random bits and addresses cannot be guessed
//! by trial, as they can with a plain hash. The same key gives the same pseudonym in every run. Callers must make sure
//! that sorting does not reveal an address.

use super::{Client, ClientKey};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::borrow::Cow;
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
    #[error("holds {0} bytes, and a key needs {MIN_KEY_BYTES}; make one with: head -c 32 /dev/urandom > FILE")]
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

    /// The replacement of a client: `192.0.2.0/24`, `2001:db8:1::/48`, or `anon-` and 16 hexadecimal digits. An
    /// unknown client is returned unchanged.
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

    /// The address whose country and network may be shown beside the replacement of a client. With truncation it is the first
    /// one of the replacement, so that nothing depends on what is hidden.
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
        // Names are case-insensitive. The leading byte keeps names of 4 or 16 bytes apart from addresses.
        Client::Text(text) => mac.update(&[b"n", text.to_ascii_lowercase().as_slice()].concat()),
    }
    let sum = mac.finalize().into_bytes();
    let (first, _) = sum.split_first_chunk().unwrap_or((&[0; 8], &[]));
    format!("{PSEUDONYM}{:016x}", u64::from_be_bytes(*first))
}

/// The length of the longest address with a port.
const MAX_ADDRESS_LEN: usize = 52;

/// A run of digits, dots and colons, with the position of each.
struct AddressToken {
    letters: Vec<u8>,
    /// The start of each letter, then the end of the run.
    at: Vec<usize>,
}

impl Anonymizer {
    /// The text with all addresses in it replaced. In a user `agent`, `Chrome/120.0.0.0` is a version and stays.
    #[must_use]
    pub(crate) fn anonymize_text<'t>(&self, text: &'t [u8], agent: bool) -> Cow<'t, [u8]> {
        let mut hidden: Vec<u8> = Vec::new();
        let (mut from, mut at, mut after_letter) = (0, 0, false);
        while at < text.len() {
            let token = AddressToken::at(text, at);
            if token.letters.is_empty() {
                after_letter = text[at].is_ascii_alphanumeric();
                at += escape(&text[at..]);
                continue;
            }
            for (range, address) in token.addresses(text, after_letter, agent) {
                hidden.extend_from_slice(&text[from..range.start]);
                hidden.extend_from_slice(self.address(address).as_bytes());
                from = range.end;
            }
            (at, after_letter) = (token.end(), true);
        }
        if from == 0 {
            return Cow::Borrowed(text);
        }
        hidden.extend_from_slice(&text[from..]);
        Cow::Owned(hidden)
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

impl AddressToken {
    /// The token that starts at this position; it may be empty.
    fn at(text: &[u8], start: usize) -> Self {
        let (mut letters, mut at, mut end) = (Vec::new(), Vec::new(), start);
        while let Some((letter, length)) = letter(&text[end..]) {
            letters.push(letter);
            at.push(end);
            end += length;
        }
        at.push(end);
        Self { letters, at }
    }

    fn end(&self) -> usize {
        self.at.last().copied().unwrap_or_default()
    }

    /// The addresses in the token, in order, with their ranges.
    fn addresses(&self, text: &[u8], after_letter: bool, agent: bool) -> Vec<(Range<usize>, IpAddr)> {
        let before_letter = text.get(self.end()).is_some_and(u8::is_ascii_alphanumeric);
        let ipv6 = if self.letters.len() > MAX_ADDRESS_LEN || after_letter || before_letter { None } else { self.ipv6() };
        match ipv6 {
            Some((length, address)) if is_identifying(address) => vec![(self.at[0]..self.at[length], address)],
            Some(_) => Vec::new(),
            None => self.ipv4_quads(text, [after_letter, before_letter], agent),
        }
    }

    /// Parses the token as an IPv6 address without trailing punctuation; returns the length of the address.
    fn ipv6(&self) -> Option<(usize, IpAddr)> {
        let mut letters = self.letters.as_slice();
        loop {
            if let Some(ipv6) = std::str::from_utf8(letters).ok().and_then(|text| text.parse::<Ipv6Addr>().ok()) {
                return Some((letters.len(), ipv6.to_canonical()));
            }
            letters = letters.strip_suffix(b".").or_else(|| letters.strip_suffix(b":"))?;
        }
    }

    /// The dotted quads between colons.
    fn ipv4_quads(&self, text: &[u8], [after_letter, before_letter]: [bool; 2], agent: bool) -> Vec<(Range<usize>, IpAddr)> {
        let mut matches = Vec::new();
        let mut start = 0;
        for piece in self.letters.split(|&letter| letter == b':') {
            let quad = piece.strip_suffix(b".").unwrap_or(piece);
            let (first, end) = (start, start + quad.len());
            start += piece.len() + 1;
            let Client::V4(bits) = Client::parse(quad) else { continue };
            let is_part = first == 0 && after_letter || end == self.letters.len() && before_letter;
            let range = self.at[first]..self.at[end];
            let is_version = agent && matches!(text.get(..range.start), Some([.., letter, b'/']) if letter.is_ascii_alphabetic());
            let address = Ipv4Addr::from_bits(bits).into();
            if !is_part && !is_version && is_identifying(address) {
                matches.push((range, address));
            }
        }
        matches
    }
}

/// The length of an escape at the start of a text, which always ends a token: `%2F`, `%252F`, `\x22`, `\u0022`. Any other
/// byte has length 1.
fn escape(text: &[u8]) -> usize {
    let is_hex = |digits: Option<&[u8]>| digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    let (skipped, digits) = match text {
        [b'%', b'2', b'5', ..] if is_hex(text.get(3..5)) => (3, 2),
        [b'%', ..] => (1, 2),
        [b'\\', b'x', ..] => (2, 2),
        [b'\\', b'u', ..] => (2, 4),
        _ => return 1,
    };
    if is_hex(text.get(skipped..skipped + digits)) { skipped + digits } else { 1 }
}

/// A letter of an address at the start of a text, and the number of bytes that encode it.
fn letter(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'%', b'2', b'5', b'3', b'a' | b'A', ..] => Some((b':', 5)),
        [b'%', b'2', b'5', b'2', b'e' | b'E', ..] => Some((b'.', 5)),
        [b'%', b'3', b'a' | b'A', ..] => Some((b':', 3)),
        [b'%', b'2', b'e' | b'E', ..] => Some((b'.', 3)),
        [letter @ (b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' | b':' | b'.'), ..] => Some((*letter, 1)),
        _ => None,
    }
}

/// Whether an address identifies a party. Private networks do; loopback and link-local addresses do not.
fn is_identifying(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => !(four.is_loopback() || four.is_link_local() || four.is_unspecified() || four.is_broadcast()),
        IpAddr::V6(ipv6) => !(ipv6.is_loopback() || ipv6.is_unspecified()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";

    fn anonymized(anonymizer: &Anonymizer, client: &str) -> String {
        anonymizer.anonymize(Client::parse(client.as_bytes())).client().to_string()
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
            ("", ""),
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
            let shown = |anonymizer: &Anonymizer| anonymizer.geo_address(Client::parse(client.as_bytes())).unwrap().to_string();
            assert_eq!((shown(&Anonymizer::Truncate), shown(&key)), (truncated.to_owned(), with_key.to_owned()));
        }
        assert_eq!(key.geo_address(Client::parse(b"host.example")), None);
    }

    #[test]
    fn a_pseudonym_is_hmac_sha_256() {
        // HMAC-SHA-256 of the purpose and the four bytes of 192.0.2.77, as computed by `openssl dgst -sha256
        // -hmac`.
        let anonymizer = Anonymizer::with_key(KEY).unwrap();
        assert_eq!(anonymized(&anonymizer, "192.0.2.77"), "anon-4178e25efebaec49");
        assert_eq!(anonymized(&anonymizer, "::ffff:192.0.2.77"), anonymized(&anonymizer, "192.0.2.77"));
        assert_ne!(anonymized(&anonymizer, "192.0.2.78"), anonymized(&anonymizer, "192.0.2.77"));
        assert_ne!(anonymized(&Anonymizer::with_key(&[7; 32]).unwrap(), "192.0.2.77"), anonymized(&anonymizer, "192.0.2.77"));
        assert_eq!(anonymized(&anonymizer, "Host.example"), anonymized(&anonymizer, "host.EXAMPLE"));
        assert_eq!(Anonymizer::with_key(b"short").unwrap_err(), KeyError::Short(5));
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
        String::from_utf8(Anonymizer::Truncate.anonymize_text(text.as_bytes(), false).into_owned()).unwrap()
    }

    #[test]
    fn addresses_in_texts_are_truncated() {
        for (text, expected) in [
            ("/x?ip=192.0.2.77&y=1", "/x?ip=192.0.2.0&y=1"),
            ("192.0.2.77", "192.0.2.0"),
            ("a 192.0.2.77, 198.51.100.9.", "a 192.0.2.0, 198.51.100.0."),
            ("http://192.0.2.77:8080/a.sh", "http://192.0.2.0:8080/a.sh"),
            ("/?u=http%3A%2F%2F192%2E0%2e2%252E77%2Fx", "/?u=http%3A%2F%2F192.0.2.0%2Fx"),
            ("[2001:db8:1:2::9]:80", "[2001:db8:1::]:80"),
            ("/?a=2001%3Adb8%3A1%3A2%3A%3A9", "/?a=2001:db8:1::"),
            ("2001:db8:1:2::9, x", "2001:db8:1::, x"),
            ("::ffff:192.0.2.77", "192.0.2.0"),
            ("wget${IFS}10.1.2.3/x", "wget${IFS}10.1.2.0/x"),
            ("1.2.3.4 1.2.3.5", "1.2.3.0 1.2.3.0"),
            (r"\x22192.0.2.77\x22", r"\x22192.0.2.0\x22"),
            ("%22192.0.2.77%22 %2522192.0.2.77", "%22192.0.2.0%22 %2522192.0.2.0"),
            ("x%3A192.0.2.77", "x%3A192.0.2.0"),
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
            "01.2.3.4",
            "::",
            "...",
            "%3A%3A",
        ] {
            assert_eq!(hidden(text), text);
        }
        let agent = b"Mozilla/5.0 Chrome/120.1.2.3 (+http://192.0.2.77/bot)";
        assert_eq!(&*Anonymizer::Truncate.anonymize_text(agent, true), b"Mozilla/5.0 Chrome/120.1.2.3 (+http://192.0.2.0/bot)");
    }

    #[test]
    fn long_texts_take_linear_time() {
        // Each of these would take minutes if the search restarted at every byte.
        for unit in ["1.2.3.4", "1.", ":", "a:", "::1 ", "%3A", "1.2.3.4:", "%25"] {
            let text = unit.repeat((1 << 16) / unit.len());
            assert!(!Anonymizer::Truncate.anonymize_text(text.as_bytes(), false).is_empty(), "{unit}");
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
