//! Whose a client is, as far as an address can tell: neighbours count as one.

use super::{Client, prefix};

/// What counts as one party: a network of 256 IPv4 addresses, or what one customer gets of IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Network<'a> {
    /// The upper 24 bits of an IPv4 address.
    V4(u32),
    /// The upper 64 bits of an IPv6 address.
    V6(u64),
    /// A name stands for itself, and so does a group of IPv6 addresses that is larger.
    Text(&'a [u8]),
}

impl<'a> Network<'a> {
    /// The network of a client.
    #[must_use]
    pub fn of(client: Client<'a>) -> Self {
        match client {
            Client::V4(bits) => Self::V4(bits >> 8),
            Client::V6(bits) => Self::V6((bits >> 64) as u64),
            Client::Text(text) => match prefix::group(text) {
                Some((first, prefix)) if prefix.bits() >= 64 => Self::V6((first >> 64) as u64),
                _ => Self::Text(text),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one() {
        let network = |text: &'static str| Network::of(Client::parse(text.as_bytes()));
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
