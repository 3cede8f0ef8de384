//! The client address of a log line, in one form for all its spellings, and networks that count as
//! one client or one party.
//!
//! Parsing is strict: `0127.0.0.1`, `1.2.3` and `2130706433` are text, not addresses, and a network
//! such as `192.0.2.0/24` has no leading zeros. No name is resolved. An IPv6 prefix is identified
//! by its text, `2001:db8::/64`, in reports and when they are read back. IPv4 addresses and names
//! have no prefix.

mod anonymizer;
mod ip_source;

pub(crate) use anonymizer::Anonymizer;
pub(crate) use ip_source::ClientIpSource;

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use serde::{Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64;

use crate::text::redact::{LogText, text_schema};

/// A client, as tallies count it. `::ffff:1.2.3.4` and `1.2.3.4` are the same client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client<'a> {
    /// An IPv4 address.
    V4(u32),
    /// An IPv6 address that is not a mapped IPv4 address.
    V6(u128),
    /// A host name, `-`, or any other text.
    Text(&'a [u8]),
}

impl Client<'_> {
    /// A hash that is the same in every run.
    #[must_use]
    pub fn stable_hash(self) -> u64 {
        match self {
            Self::V4(bits) => xxh3_64(&bits.to_be_bytes()),
            Self::V6(bits) => xxh3_64(&bits.to_be_bytes()),
            Self::Text(text) => xxh3_64(text),
        }
    }

    /// The level of the client in samples: one of 2^k clients, chosen by their hash, has the level
    /// k or above. The same in every run.
    #[must_use]
    pub fn sample_level(self) -> u8 {
        self.stable_hash().leading_zeros() as u8
    }
}

/// A [`Client`] that owns its text. Hashes like the borrowed client, so tables can be searched with
/// either.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientKey {
    /// An IPv4 address.
    V4(u32),
    /// An IPv6 address.
    V6(u128),
    /// Other text.
    Text(Box<[u8]>),
}

impl ClientKey {
    /// The client, borrowed.
    #[must_use]
    pub fn client(&self) -> Client<'_> {
        match self {
            Self::V4(bits) => Client::V4(*bits),
            Self::V6(bits) => Client::V6(*bits),
            Self::Text(text) => Client::Text(text),
        }
    }
}

impl From<&Client<'_>> for ClientKey {
    fn from(client: &Client<'_>) -> Self {
        match *client {
            Client::V4(bits) => Self::V4(bits),
            Client::V6(bits) => Self::V6(bits),
            Client::Text(text) => Self::Text(text.into()),
        }
    }
}

impl Hash for Client<'_> {
    /// One hash word for an address, because every line is hashed. Keys that differ only in their
    /// kind are distinguished by comparison.
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::V4(bits) => state.write_u64(u64::from(*bits)),
            Self::V6(bits) => state.write_u128(*bits),
            Self::Text(text) => state.write(text),
        }
    }
}

impl Hash for ClientKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.client().hash(state);
    }
}

impl hashbrown::Equivalent<ClientKey> for Client<'_> {
    fn equivalent(&self, key: &ClientKey) -> bool {
        *self == key.client()
    }
}

impl<'a> Client<'a> {
    /// Parses a client field: an address, optionally in brackets, with a port (`1.2.3.4:80`,
    /// `[::1]:80`) or a zone (`fe80::1%eth0`). Port and zone are dropped. Any other field is text.
    #[must_use]
    pub fn parse(field: &'a [u8]) -> Self {
        if let Some(address) = parse_v4(field) {
            return Self::V4(address);
        }
        Self::parse_rare(field).unwrap_or(Self::Text(field))
    }

    /// The address, if the whole field is one. Agrees with [`parse`](Self::parse).
    #[must_use]
    pub fn parse_address(field: &[u8]) -> Option<IpAddr> {
        // A cheap check first: most fields are a dash, a word or a name.
        let may_be_address = field.iter().any(|byte| matches!(byte, b'.' | b':'))
            && matches!(field[0], b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' | b':' | b'[');
        if may_be_address {
            Client::parse(field).address()
        } else {
            None
        }
    }

    /// A field without the marks that log writers put around an address: blanks, quotes, brackets,
    /// and a comma or semicolon after it. Brackets around an IPv6 address are kept if its port
    /// follows.
    #[must_use]
    pub fn without_marks(field: &'a [u8]) -> &'a [u8] {
        let mut text = field.trim_ascii();
        loop {
            let bare = match text {
                [rest @ .., b',' | b';']
                | [b'"', rest @ .., b'"']
                | [b'\'', rest @ .., b'\'']
                | [b'<', rest @ .., b'>']
                | [b'(', rest @ .., b')'] => rest,
                [b'[', rest @ .., b']'] if !rest.contains(&b']') => rest,
                // A port after an IPv4 address in brackets.
                [b'[', rest @ ..] => match rest
                    .iter()
                    .position(|b| *b == b']')
                    .map(|end| rest.split_at(end))
                {
                    Some((inside, [_, b':', ..])) if parse_v4(inside).is_some() => inside,
                    _ => return text,
                },
                _ => return text,
            };
            text = bare.trim_ascii();
        }
    }

    /// The only address of a comma-separated list that is not one of a private network, without
    /// marks; `None` if there are several or none, or if something else is in the list.
    #[must_use]
    pub fn only_public_in(list: &'a [u8]) -> Option<&'a [u8]> {
        let mut found = None;
        for part in list
            .split(|b| *b == b',')
            .map(Self::without_marks)
            .filter(|part| !matches!(*part, b"" | b"-"))
        {
            let address = Self::parse_address(part)?;
            if !is_private_or_shared(address)
                && found
                    .replace((address, part))
                    .is_some_and(|(other, _)| other != address)
            {
                return None;
            }
        }
        found.map(|(_, part)| part)
    }

    /// The addresses in a text, in order. Each is delimited by bytes that cannot occur in an
    /// address.
    pub fn addresses_in(text: &'a [u8]) -> impl Iterator<Item = Self> {
        let words =
            text.split(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b':')));
        let is_address = |word: &&[u8]| Self::parse_address(word).is_some();
        words
            .map(|word| {
                word.strip_suffix(b".")
                    .or(word.strip_suffix(b":"))
                    .unwrap_or(word)
            })
            .filter(is_address)
            .map(Self::parse)
    }

    /// Parses the client field of a log line. A fragment of an address, as in a line whose start is
    /// cut off, is `-`.
    #[must_use]
    pub fn from_log_field(field: &'a [u8]) -> Self {
        match Self::parse(field) {
            Self::Text(text) if is_fragment(text) => Self::Text(b"-"),
            client => client,
        }
    }

    /// Whether the client is unknown. Lines of several clients may be counted here.
    #[must_use]
    pub fn is_unknown(self) -> bool {
        matches!(self, Self::Text(b"" | b"-"))
    }

    /// The IP address, if it is one.
    #[must_use]
    pub fn address(self) -> Option<IpAddr> {
        match self {
            Self::V4(bits) => Some(IpAddr::V4(Ipv4Addr::from_bits(bits))),
            Self::V6(bits) => Some(IpAddr::V6(Ipv6Addr::from_bits(bits))),
            Self::Text(_) => None,
        }
    }

    /// The IP address, or the first one of an IPv6 prefix.
    #[must_use]
    pub fn first_address(self) -> Option<IpAddr> {
        match self {
            Self::Text(text) => {
                parse_prefix(text).map(|(first, _)| Ipv6Addr::from_bits(first).into())
            }
            _ => self.address(),
        }
    }

    /// The client as every output shows it: the canonical text of an address (RFC 5952), other text
    /// masked and escaped, `-` for none.
    #[must_use]
    pub fn redacted(self) -> Cow<'a, str> {
        match self {
            Self::Text(b"") => Cow::Borrowed("-"),
            Self::Text(text) => LogText::new(text).redacted(),
            Self::V4(bits) => Cow::Owned(Ipv4Addr::from_bits(bits).to_string()),
            Self::V6(bits) => Cow::Owned(Ipv6Addr::from_bits(bits).to_string()),
        }
    }

    #[cold]
    fn parse_rare(field: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(field).ok()?;
        let bare = match text.strip_prefix('[') {
            Some(rest) => {
                let (inside, rest) = rest.split_once(']')?;
                if !rest.is_empty() {
                    port(rest.strip_prefix(':')?)?;
                }
                inside
            }
            None => match text.rsplit_once(':') {
                Some((v4, digits)) if !v4.contains(':') => {
                    port(digits)?;
                    return parse_v4(v4.as_bytes()).map(Self::V4);
                }
                _ => text,
            },
        };
        let (address, zone) = bare.split_once('%').unwrap_or((bare, "-"));
        if zone.is_empty() {
            return None;
        }
        let v6: Ipv6Addr = address.parse().ok()?;
        Some(
            v6.to_ipv4_mapped()
                .map_or(Self::V6(v6.to_bits()), |v4| Self::V4(v4.to_bits())),
        )
    }
}

/// Whether a text is a fragment of one or more addresses: `0.3.105`, `105`, `:8a2e:370:7334`. Names
/// and partly masked addresses contain letters. A number of more than three digits is a client ID
/// in a log without addresses.
fn is_fragment(text: &[u8]) -> bool {
    let is_made_of = |is_part: fn(&u8) -> bool| !text.is_empty() && text.iter().all(is_part);
    let has = |byte: u8| text.contains(&byte);
    let of_v4 =
        is_made_of(|byte| byte.is_ascii_digit() || *byte == b'.') && (has(b'.') || text.len() <= 3);
    let of_v6 = has(b':')
        && is_made_of(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.' | b'[' | b']'));
    of_v4 || of_v6
}

/// Whether an address is private, link-local or of the machine itself: RFC 1122, RFC 1918, RFC
/// 3927, RFC 4193, RFC 4291.
pub(crate) fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => four.is_private() || four.is_loopback() || four.is_link_local(),
        IpAddr::V6(six) => {
            six.is_unique_local() || six.is_loopback() || six.is_unicast_link_local()
        }
    }
}

/// Whether an address may be that of a proxy: a [private](is_private) one, or one that the
/// customers of a carrier or the machines of a cloud share (RFC 6598).
pub(crate) fn is_private_or_shared(address: IpAddr) -> bool {
    let is_shared = |four: Ipv4Addr| matches!(four.octets(), [100, 64..128, ..]);
    is_private(address) || matches!(address, IpAddr::V4(four) if is_shared(four))
}

/// A port number, or `None`.
fn port(digits: &str) -> Option<u16> {
    digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| digits.parse().ok())?
}

/// Parses an IPv4 address that is the whole field.
fn parse_v4(field: &[u8]) -> Option<u32> {
    parse_v4_prefix(field)
        .filter(|(_, length)| *length == field.len())
        .map(|(address, _)| address)
}

/// Parses an IPv4 address at the start of `text`, up to a space or the end, and returns its length:
/// four decimal numbers of at most 255 without leading zeros. Runs for every line.
fn parse_v4_prefix(text: &[u8]) -> Option<(u32, usize)> {
    const MAX_PREFIX_TEXT: usize = "255.255.255.255".len();
    let (mut address, mut part, mut digits, mut dots) = (0_u32, 0_u32, 0_u32, 0_u32);
    let mut end = text.len().min(MAX_PREFIX_TEXT + 1);
    for (i, &b) in text[..end].iter().enumerate() {
        let digit = u32::from(b.wrapping_sub(b'0'));
        if digit < 10 {
            if digits > 0 && part == 0 {
                return None;
            }
            part = part * 10 + digit;
            digits += 1;
            if part > 255 {
                return None;
            }
        } else if b == b'.' && digits > 0 {
            address = address << 8 | part;
            (part, digits) = (0, 0);
            dots += 1;
        } else if b == b' ' {
            end = i;
            break;
        } else {
            return None;
        }
    }
    (dots == 3 && digits > 0 && end <= MAX_PREFIX_TEXT).then_some((address << 8 | part, end))
}

impl fmt::Display for Client<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.redacted().fmt(f)
    }
}

impl Serialize for Client<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.redacted())
    }
}

text_schema!(Client<'_>);

/// The shortest prefix that may count as one client: registries assign no larger block to one
/// party.
pub(crate) const MIN_PREFIX_BITS: u8 = 32;

/// The length of the IPv6 prefix that counts as one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ipv6Prefix(u8);

/// The text of a prefix, stored on the stack.
#[derive(Debug, Clone, Copy)]
pub struct PrefixText {
    bytes: [u8; MAX_PREFIX_TEXT],
    len: usize,
}

const MAX_PREFIX_TEXT: usize = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127".len();

impl Ipv6Prefix {
    /// Creates a prefix of this many bits, from [`MIN_PREFIX_BITS`] to 127; `None` otherwise.
    #[must_use]
    pub fn new(bits: u8) -> Option<Self> {
        (MIN_PREFIX_BITS..128).contains(&bits).then_some(Self(bits))
    }

    /// The prefix length in bits.
    #[must_use]
    pub fn bits(self) -> u8 {
        self.0
    }

    /// The prefix of a client as text; `None` if the client is its own prefix. A longer prefix
    /// belongs to a shorter one.
    #[must_use]
    pub fn prefix_text(self, client: Client<'_>) -> Option<PrefixText> {
        let address = match client {
            Client::V6(bits) => bits,
            Client::Text(text) => parse_prefix(text).filter(|(_, prefix)| *prefix > self)?.0,
            Client::V4(_) => return None,
        };
        let mut text = PrefixText {
            bytes: [0; MAX_PREFIX_TEXT],
            len: 0,
        };
        // The buffer fits the longest prefix.
        write!(
            text,
            "{}/{}",
            Ipv6Addr::from_bits(address & self.mask()),
            self.0
        )
        .ok()
        .map(|()| text)
    }

    fn mask(self) -> u128 {
        u128::MAX << (128 - u32::from(self.0))
    }
}

/// The first address and the length of a prefix in text form. Most texts are not prefixes.
#[must_use]
pub(crate) fn parse_prefix(text: &[u8]) -> Option<(u128, Ipv6Prefix)> {
    if text.len() > MAX_PREFIX_TEXT {
        return None;
    }
    let slash = text.iter().rposition(|&b| b == b'/')?;
    let (address, bits) = (
        std::str::from_utf8(&text[..slash]).ok()?,
        std::str::from_utf8(&text[slash + 1..]).ok()?,
    );
    let prefix = bits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| bits.parse().ok())
        .flatten()
        .and_then(Ipv6Prefix::new)?;
    let address = address.parse::<Ipv6Addr>().ok()?.to_bits();
    (address & !prefix.mask() == 0).then_some((address, prefix))
}

impl PrefixText {
    /// The text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Write for PrefixText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let target = self
            .bytes
            .get_mut(self.len..self.len + text.len())
            .ok_or(fmt::Error)?;
        target.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

/// What counts as one party: 256 IPv4 addresses, or the IPv6 block of one customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Network<'a> {
    /// The upper 24 bits of an IPv4 address.
    V4(u32),
    /// The upper 64 bits of an IPv6 address.
    V6(u64),
    /// A name is its own prefix, and so is a prefix shorter than 64 bits.
    Text(&'a [u8]),
}

impl<'a> Network<'a> {
    /// The network of a client.
    #[must_use]
    pub(crate) fn from_client(client: Client<'a>) -> Self {
        match client {
            Client::V4(bits) => Self::V4(bits >> 8),
            Client::V6(bits) => Self::V6((bits >> 64) as u64),
            Client::Text(text) => match parse_prefix(text) {
                Some((first, prefix)) if prefix.bits() >= 64 => Self::V6((first >> 64) as u64),
                _ => Self::Text(text),
            },
        }
    }
}

/// The widest network without a warning: the largest block that registries ever allocated to one
/// party.
const WIDEST_V4: u8 = 8;
/// The widest IPv6 network without a warning.
const WIDEST_V6: u8 = 16;

/// The size of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// A network that one party may own.
    Usual,
    /// Wider than a /8, or than a /16 of IPv6: probably a mistake.
    Wide,
    /// All addresses.
    Everything,
}

/// Parses a network; an address is a network of one. An IPv4-mapped IPv6 network becomes IPv4, as
/// clients do.
#[must_use]
pub(crate) fn parse_network(text: &str) -> Option<IpNet> {
    // `IpNet`'s own parser reads 010.0.0.0/8 as 10.0.0.0/8.
    let network = match text.split_once('/') {
        Some((address, length)) => IpNet::new(address.parse().ok()?, prefix_len(length)?).ok()?,
        None => text.parse::<IpAddr>().ok()?.into(),
    };
    match network {
        IpNet::V6(six) if six.prefix_len() >= 96 => match six.addr().to_ipv4_mapped() {
            Some(four) => IpNet::new(four.into(), six.prefix_len() - 96).ok(),
            None => Some(network),
        },
        _ => Some(network),
    }
}

/// A prefix length, digits only.
fn prefix_len(digits: &str) -> Option<u8> {
    digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| digits.parse().ok())?
}

/// How much of the internet a network is.
#[must_use]
pub(crate) fn network_width(network: &IpNet) -> Width {
    match network {
        _ if network.prefix_len() == 0 => Width::Everything,
        IpNet::V4(four) if four.prefix_len() < WIDEST_V4 => Width::Wide,
        IpNet::V6(six) if six.prefix_len() < WIDEST_V6 => Width::Wide,
        _ => Width::Usual,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings_of_one_address_are_equal() {
        let cases = [
            ("1.2.3.4", "1.2.3.4"),
            ("::ffff:1.2.3.4", "1.2.3.4"),
            ("1.2.3.4:8080", "1.2.3.4"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("fe80::1%eth0", "fe80::1"),
            ("2001:0DB8:0:0::1", "2001:db8::1"),
        ];
        for (written, shown) in cases {
            let client = Client::parse(written.as_bytes());
            assert!(client.address().is_some(), "{written}");
            assert_eq!(client.to_string(), shown);
        }
    }

    #[test]
    fn malformed_addresses_are_text() {
        for text in [
            "0127.0.0.1",
            "127.0.0.01",
            "0x7f.0.0.1",
            "1.2.3",
            "2130706433",
            "1.2.3.4.5",
            "1.2.3.256",
            "-",
            "unix:",
            "host.example",
            "[::1",
            "[::1]x",
            "[::1]:",
            "1.2.3.4:99999",
            "fe80::1%",
            "",
            ":::",
            "1.2.3.4:+80",
        ] {
            assert_eq!(
                Client::parse(text.as_bytes()),
                Client::Text(text.as_bytes()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_fragment_of_an_address_is_an_unknown_client() {
        for text in [
            "0.3.105",
            "2.0.3.256",
            ".3.105",
            "105",
            "7.",
            ".",
            ":8a2e:370:7334",
            "1.2.3.4:99999",
            "db8:1]:443",
            ":443",
            "-",
        ] {
            assert_eq!(
                Client::from_log_field(text.as_bytes()),
                Client::Text(b"-"),
                "{text}"
            );
        }
        for text in [
            "34600",
            "192.0.2.x",
            "192.0.2.0/24",
            "host.example",
            "3com.example",
            "unix:",
            "a3f9c2",
            "2001:db8::/64",
            "",
        ] {
            assert_eq!(
                Client::from_log_field(text.as_bytes()),
                Client::Text(text.as_bytes()),
                "{text}"
            );
        }
        assert_eq!(
            Client::from_log_field(b"192.0.2.7:80"),
            Client::parse(b"192.0.2.7")
        );
    }

    #[test]
    fn addresses_are_found_in_a_text() {
        let text = b"x 192.0.2.1 [2001:db8::7]:443, client: 198.51.100.7, 10:00:00 a.b.c.d 1.2.3 203.0.113.9: end 203.0.113.8.";
        let found: Vec<_> = Client::addresses_in(text)
            .map(|client| client.to_string())
            .collect();
        assert_eq!(
            found,
            [
                "192.0.2.1",
                "2001:db8::7",
                "198.51.100.7",
                "203.0.113.9",
                "203.0.113.8"
            ]
        );
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_library(text in "[0-9]{1,3}(\\.[0-9]{1,3}){3}|[0-9a-f:.]{2,40}") {
            let parsed = Client::parse(text.as_bytes()).address();
            if let Ok(theirs) = text.parse::<IpAddr>() {
                prop_assert_eq!(parsed, Some(theirs.to_canonical()));
            } else if !text.contains(':') {
                prop_assert_eq!(parsed, None);
            }
        }

        #[test]
        fn keys_hash_like_clients(field in prop::collection::vec(any::<u8>(), 0..20), bits: u32) {
            use std::hash::BuildHasher;
            let state = foldhash::fast::RandomState::default();
            for client in [Client::parse(&field), Client::V4(bits), Client::V6(u128::from(bits))] {
                let key = ClientKey::from(&client);
                prop_assert_eq!(state.hash_one(client), state.hash_one(&key));
                prop_assert_eq!(key.client(), client);
            }
        }

        #[test]
        fn never_panics(field in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Client::parse(&field);
            prop_assert!(Client::parse_address(&field) == Client::parse(&field).address());
        }
    }

    fn of(bits: u8, client: &str) -> Option<String> {
        let prefix_text = Ipv6Prefix::new(bits)
            .unwrap()
            .prefix_text(Client::parse(client.as_bytes()))?;
        Some(String::from_utf8(prefix_text.as_bytes().to_vec()).unwrap())
    }

    #[test]
    fn addresses_of_one_prefix_are_one_client() {
        assert_eq!(
            of(64, "2001:db8:1:2:3::9").as_deref(),
            Some("2001:db8:1:2::/64")
        );
        assert_eq!(
            of(64, "[2001:db8:1:2:ffff::]:80").as_deref(),
            Some("2001:db8:1:2::/64")
        );
        assert_eq!(
            of(48, "2001:db8:1:2::/64").as_deref(),
            Some("2001:db8:1::/48")
        );
        for other in [
            "192.0.2.1",
            "::ffff:192.0.2.1",
            "-",
            "",
            "host.example",
            "2001:db8::/32",
            "2001:db8::1/64",
            "2001:db8::/64",
        ] {
            assert_eq!(of(64, other), None, "{other}");
        }
        assert_eq!((Ipv6Prefix::new(31), Ipv6Prefix::new(128)), (None, None));
    }

    proptest! {
        #[test]
        fn a_group_is_read_back(address: u128, bits in MIN_PREFIX_BITS..128) {
            let prefix = Ipv6Prefix::new(bits).unwrap();
            let text = prefix.prefix_text(Client::V6(address)).unwrap();
            prop_assert_eq!(parse_prefix(text.as_bytes()), Some((address & prefix.mask(), prefix)));
            prop_assert_eq!(Client::parse(text.as_bytes()), Client::Text(text.as_bytes()));
        }

        #[test]
        fn any_bytes_are_accepted(text in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = parse_prefix(&text);
        }
    }

    #[test]
    fn neighbouring_addresses_share_a_network() {
        let network = |text: &'static str| Network::from_client(Client::parse(text.as_bytes()));
        assert_eq!(network("192.0.2.1"), network("192.0.2.254"));
        assert_ne!(network("192.0.2.1"), network("192.0.3.1"));
        assert_eq!(network("2001:db8:1:2::1"), network("2001:db8:1:2:ffff::"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
        assert_ne!(network("a.example"), network("b.example"));
        assert_eq!(network("2001:db8:1:2::1"), network("2001:db8:1:2::/64"));
        assert_eq!(network("2001:db8:1:2::/80"), network("2001:db8:1:2:1::/80"));
        assert_ne!(network("2001:db8:1::/48"), network("2001:db8:1::1"));
    }

    #[test]
    fn invalid_networks_are_rejected() {
        for text in [
            "",
            "-",
            "1.2.3",
            "0127.0.0.1",
            "127.0.0.01",
            "010.0.0.0/8",
            "0x7f.0.0.1",
            "2130706433",
            "10.0.0.0/33",
            "10.0.0.0/-1",
            "10.0.0.0/+8",
            "10.0.0.0/08x",
            "10.0.0.0/",
            "/8",
            "10/8",
            "::/129",
            "fe80::1%eth0",
            "[::1]",
            "unix:",
            "host.example",
            "10.0.0.0/255.0.0.0",
        ] {
            assert_eq!(parse_network(text), None, "{text}");
        }
        for (text, read) in [
            ("192.0.2.7", "192.0.2.7/32"),
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("::ffff:198.51.100.7", "198.51.100.7/32"),
            ("::ffff:198.51.100.0/120", "198.51.100.0/24"),
            ("2001:DB8::/32", "2001:db8::/32"),
        ] {
            assert_eq!(
                parse_network(text)
                    .map(|network| network.to_string())
                    .as_deref(),
                Some(read),
                "{text}"
            );
        }
    }

    #[test]
    fn wide_networks_are_recognised() {
        let of = |text: &str| network_width(&parse_network(text).unwrap());
        for text in ["0.0.0.0/0", "::/0", "::ffff:0.0.0.0/96", "1.2.3.4/0"] {
            assert_eq!(of(text), Width::Everything, "{text}");
        }
        for text in ["0.0.0.0/1", "10.0.0.0/7", "2000::/3", "2000::/15"] {
            assert_eq!(of(text), Width::Wide, "{text}");
        }
        for text in ["10.0.0.0/8", "2001::/16", "192.0.2.7", "2001:db8::1"] {
            assert_eq!(of(text), Width::Usual, "{text}");
        }
    }
}
