//! Networks as people type them: `192.0.2.7`, `192.0.2.0/24`, `2001:db8::/32`; and how much is too much to let through.
//!
//! Strict like the addresses of a log: no leading zeros, no short forms. Resolves no name.

use std::net::IpAddr;

use ipnet::IpNet;

/// The widest network that nobody asks about: the largest blocks that registries ever gave to one party.
const WIDEST_V4: u8 = 8;
/// The same for IPv6.
const WIDEST_V6: u8 = 16;

/// How much of the internet a network is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// What one party may well own.
    Usual,
    /// Wider than a /8, or than a /16 of IPv6: perhaps a slip of the pen.
    Wide,
    /// Every address there is.
    Everything,
}

/// Reads a network; an address is a network of one. One of IPv4 written as IPv6 is that of IPv4, as clients are.
#[must_use]
pub fn network(text: &str) -> Option<IpNet> {
    // Not `IpNet`'s own reader: it takes 010.0.0.0/8 for 10.0.0.0/8.
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

/// A number of bits, in digits alone.
fn prefix_len(digits: &str) -> Option<u8> {
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// How much of the internet a network is.
#[must_use]
pub fn width(network: &IpNet) -> Width {
    match network {
        _ if network.prefix_len() == 0 => Width::Everything,
        IpNet::V4(four) if four.prefix_len() < WIDEST_V4 => Width::Wide,
        IpNet::V6(six) if six.prefix_len() < WIDEST_V6 => Width::Wide,
        _ => Width::Usual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(network(text), None, "{text}");
        }
        for (text, read) in [
            ("192.0.2.7", "192.0.2.7/32"),
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("::ffff:198.51.100.7", "198.51.100.7/32"),
            ("::ffff:198.51.100.0/120", "198.51.100.0/24"),
            ("2001:DB8::/32", "2001:db8::/32"),
        ] {
            assert_eq!(network(text).map(|network| network.to_string()).as_deref(), Some(read), "{text}");
        }
    }

    #[test]
    fn wide_networks_are_recognised() {
        let of = |text: &str| width(&network(text).unwrap());
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
