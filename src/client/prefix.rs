//! Whom one IPv6 prefix makes one client: who has an address of it has all of them.
//!
//! A group is known by its text, `2001:db8::/64`: that is what a report shows, and what is read back. IPv4 and names have none.

use std::fmt::{self, Write as _};
use std::net::Ipv6Addr;

use super::Client;

/// The widest prefix that may count as one client: registries give no larger one to a party.
pub const WIDEST: u8 = 32;

/// How many bits of an IPv6 address make a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix(u8);

/// The text of a group, on the stack.
#[derive(Debug, Clone, Copy)]
pub struct GroupText {
    bytes: [u8; LONGEST],
    len: usize,
}

const LONGEST: usize = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127".len();

impl Prefix {
    /// A prefix of so many bits, from [`WIDEST`] to 127; `None` for others.
    #[must_use]
    pub fn new(bits: u8) -> Option<Self> {
        (WIDEST..128).contains(&bits).then_some(Self(bits))
    }

    /// Its bits.
    #[must_use]
    pub fn bits(self) -> u8 {
        self.0
    }

    /// The text of the group that a client belongs to; `None` where it stands for itself. A smaller group belongs to a larger one.
    #[must_use]
    pub fn group(self, client: Client<'_>) -> Option<GroupText> {
        let address = match client {
            Client::V6(bits) => bits,
            Client::Text(text) => group(text).filter(|(_, prefix)| *prefix > self)?.0,
            Client::V4(_) => return None,
        };
        let mut text = GroupText { bytes: [0; LONGEST], len: 0 };
        // There is room for the longest.
        write!(text, "{}/{}", Ipv6Addr::from_bits(address & self.mask()), self.0).ok().map(|()| text)
    }

    fn mask(self) -> u128 {
        u128::MAX << (128 - u32::from(self.0))
    }
}

/// The first address and the prefix of a group, if the text is that of one; hardly any text is.
#[must_use]
pub fn group(text: &[u8]) -> Option<(u128, Prefix)> {
    if text.len() > LONGEST {
        return None;
    }
    let slash = text.iter().rposition(|&b| b == b'/')?;
    let (address, bits) = (std::str::from_utf8(&text[..slash]).ok()?, std::str::from_utf8(&text[slash + 1..]).ok()?);
    let prefix = bits.bytes().all(|b| b.is_ascii_digit()).then(|| bits.parse().ok()).flatten().and_then(Prefix::new)?;
    let address = address.parse::<Ipv6Addr>().ok()?.to_bits();
    (address & !prefix.mask() == 0).then_some((address, prefix))
}

impl GroupText {
    /// The text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Write for GroupText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(bits: u8, client: &str) -> Option<String> {
        let group = Prefix::new(bits).unwrap().group(Client::parse(client.as_bytes()))?;
        Some(String::from_utf8(group.as_bytes().to_vec()).unwrap())
    }

    #[test]
    fn addresses_of_one_prefix_are_one_client() {
        assert_eq!(of(64, "2001:db8:1:2:3::9").as_deref(), Some("2001:db8:1:2::/64"));
        assert_eq!(of(64, "[2001:db8:1:2:ffff::]:80").as_deref(), Some("2001:db8:1:2::/64"));
        assert_eq!(of(48, "2001:db8:1:2::/64").as_deref(), Some("2001:db8:1::/48"));
        for other in ["192.0.2.1", "::ffff:192.0.2.1", "-", "", "host.example", "2001:db8::/32", "2001:db8::1/64", "2001:db8::/64"] {
            assert_eq!(of(64, other), None, "{other}");
        }
        assert_eq!((Prefix::new(31), Prefix::new(128)), (None, None));
    }

    proptest! {
        #[test]
        fn a_group_is_read_back(address: u128, bits in WIDEST..128) {
            let prefix = Prefix::new(bits).unwrap();
            let text = prefix.group(Client::V6(address)).unwrap();
            prop_assert_eq!(group(text.as_bytes()), Some((address & prefix.mask(), prefix)));
            prop_assert_eq!(Client::parse(text.as_bytes()), Client::Text(text.as_bytes()));
        }

        #[test]
        fn takes_any_bytes(text in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = group(&text);
        }
    }
}
