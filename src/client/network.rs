//! Networks that count as one client or one party.
//!
//! An IPv6 prefix is identified by its text, `2001:db8::/64`, in reports and when they are read back. IPv4 addresses and
//! names have no prefix.

use super::Client;
use std::fmt::{self, Write as _};
use std::net::Ipv6Addr;

/// The shortest prefix that may count as one client: registries assign no larger block to one party.
pub const MIN_PREFIX_BITS: u8 = 32;

/// The length of the IPv6 prefix that counts as one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ipv6Prefix(u8);

/// The text of a prefix, stored on the stack.
#[derive(Debug, Clone, Copy)]
pub struct PrefixText {
    bytes: [u8; LONGEST],
    len: usize,
}

const LONGEST: usize = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127".len();

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

    /// The prefix of a client as text; `None` if the client stands for itself. A longer prefix belongs to a shorter
    /// one.
    #[must_use]
    pub fn prefix_text(self, client: Client<'_>) -> Option<PrefixText> {
        let address = match client {
            Client::V6(bits) => bits,
            Client::Text(text) => parse_prefix(text).filter(|(_, prefix)| *prefix > self)?.0,
            Client::V4(_) => return None,
        };
        let mut text = PrefixText { bytes: [0; LONGEST], len: 0 };
        // The buffer fits the longest prefix.
        write!(text, "{}/{}", Ipv6Addr::from_bits(address & self.mask()), self.0).ok().map(|()| text)
    }

    fn mask(self) -> u128 {
        u128::MAX << (128 - u32::from(self.0))
    }
}

/// The first address and the length of a prefix in text form. Most texts are not prefixes.
#[must_use]
pub fn parse_prefix(text: &[u8]) -> Option<(u128, Ipv6Prefix)> {
    if text.len() > LONGEST {
        return None;
    }
    let slash = text.iter().rposition(|&b| b == b'/')?;
    let (address, bits) = (std::str::from_utf8(&text[..slash]).ok()?, std::str::from_utf8(&text[slash + 1..]).ok()?);
    let prefix = bits.bytes().all(|b| b.is_ascii_digit()).then(|| bits.parse().ok()).flatten().and_then(Ipv6Prefix::new)?;
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
        let room = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

/// What counts as one party: 256 IPv4 addresses, or the IPv6 block of one customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Network<'a> {
    /// The upper 24 bits of an IPv4 address.
    V4(u32),
    /// The upper 64 bits of an IPv6 address.
    V6(u64),
    /// A name stands for itself, and so does a prefix shorter than 64 bits.
    Text(&'a [u8]),
}

impl<'a> Network<'a> {
    /// The network of a client.
    #[must_use]
    pub fn from_client(client: Client<'a>) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(bits: u8, client: &str) -> Option<String> {
        let prefix_text = Ipv6Prefix::new(bits).unwrap().prefix_text(Client::parse(client.as_bytes()))?;
        Some(String::from_utf8(prefix_text.as_bytes().to_vec()).unwrap())
    }

    #[test]
    fn addresses_of_one_prefix_are_one_client() {
        assert_eq!(of(64, "2001:db8:1:2:3::9").as_deref(), Some("2001:db8:1:2::/64"));
        assert_eq!(of(64, "[2001:db8:1:2:ffff::]:80").as_deref(), Some("2001:db8:1:2::/64"));
        assert_eq!(of(48, "2001:db8:1:2::/64").as_deref(), Some("2001:db8:1::/48"));
        for other in ["192.0.2.1", "::ffff:192.0.2.1", "-", "", "host.example", "2001:db8::/32", "2001:db8::1/64", "2001:db8::/64"] {
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
        fn takes_any_bytes(text in prop::collection::vec(any::<u8>(), 0..60)) {
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
}
