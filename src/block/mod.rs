//! Addresses that must never be blocked: non-public ones, those of this machine, allowed clients and trusted proxies.
//!
//! Decides by address alone, never by what a client calls itself, and knows nothing about hits. Which clients are worth
//! blocking is decided in `analysis::block_candidates`.

mod interfaces;
mod reserved;

use std::fmt;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv6Net};
use thiserror::Error;

use crate::client::{Client, network};
use crate::rules::AllowList;
use crate::rules::network::{Width, network, width};
pub use interfaces::{PROC_NET, interface_addresses};

/// Why a client is never blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeverBlockReason {
    /// A host name, or an empty client field.
    NotAnAddress,
    /// Private, local, shared, multicast or reserved.
    NotPublic,
    /// An address of an interface of this machine.
    OwnAddress,
    /// Listed in an allow list.
    Allowed,
    /// A proxy in front of the site.
    TrustedProxy,
}

/// Decides which clients are never blocked.
#[derive(Debug, Clone)]
pub struct BlockPolicy<'a> {
    interfaces: Vec<IpAddr>,
    trusted: &'a [IpNet],
    allow: &'a AllowList,
}

/// A value of `--trusted-proxy` that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TrustedProxyError {
    /// It does not parse.
    #[error("'{0}' is no address or network; type 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32")]
    NoNetwork(String),
    /// It contains every address.
    #[error("'{0}' is every address there is; type the networks of your proxies, as 192.0.2.0/24")]
    Everything(String),
}

/// Parses a network of trusted proxies. The flag is true for a network so wide that it is probably a typing error.
///
/// # Errors
///
/// The text is not a network, or it is a network of all addresses.
pub fn parse_trusted_proxy(text: &str) -> Result<(IpNet, bool), TrustedProxyError> {
    let network = network(text).ok_or_else(|| TrustedProxyError::NoNetwork(text.to_owned()))?;
    match width(&network) {
        Width::Everything => Err(TrustedProxyError::Everything(text.to_owned())),
        wide => Ok((network, wide == Width::Wide)),
    }
}

impl<'a> BlockPolicy<'a> {
    /// `interfaces` are the addresses of this machine ([`interface_addresses`]), `trusted` the networks of proxies.
    #[must_use]
    pub fn new(interfaces: &[IpAddr], trusted: &'a [IpNet], allow: &'a AllowList) -> Self {
        let mut interfaces: Vec<_> = interfaces.iter().map(IpAddr::to_canonical).collect();
        interfaces.sort_unstable();
        Self { interfaces, trusted, allow }
    }

    /// Why a client is never blocked; `None` if it may be.
    #[must_use]
    pub fn never_block_reason(&self, client: Client<'_>) -> Option<NeverBlockReason> {
        if let Some(network) = prefix_network(client) {
            return self.network_reason(&network);
        }
        let Some(address) = client.address() else { return Some(NeverBlockReason::NotAnAddress) };
        // Reasons that are specific to this site come first: they are more useful to the reader.
        if self.interfaces.binary_search(&address).is_ok() {
            Some(NeverBlockReason::OwnAddress)
        } else if self.allow.names(client) {
            Some(NeverBlockReason::Allowed)
        } else if self.trusted.iter().any(|network| network.contains(&address)) {
            Some(NeverBlockReason::TrustedProxy)
        } else {
            reserved::is_reserved(address).then_some(NeverBlockReason::NotPublic)
        }
    }

    /// The same for a prefix that counts as one client: a reason for one of its addresses holds for all of them.
    fn network_reason(&self, network: &IpNet) -> Option<NeverBlockReason> {
        if self.interfaces.iter().any(|address| network.contains(address)) {
            Some(NeverBlockReason::OwnAddress)
        } else if self.allow.touches(network) {
            Some(NeverBlockReason::Allowed)
        } else if self.trusted.iter().any(|trusted| trusted.contains(network) || network.contains(trusted)) {
            Some(NeverBlockReason::TrustedProxy)
        } else {
            let is_reserved = reserved::is_reserved(network.network()) || reserved::is_reserved(network.broadcast());
            is_reserved.then_some(NeverBlockReason::NotPublic)
        }
    }

    /// Whether a network contains an address of this machine, an allowed client or a trusted proxy.
    #[must_use]
    pub fn overlaps(&self, network: &IpNet) -> bool {
        self.interfaces.iter().any(|address| network.contains(address))
            || self.trusted.iter().any(|trusted| trusted.contains(network) || network.contains(trusted))
            || self.allow.touches(network)
    }
}

/// The network of a client that stands for an IPv6 prefix.
#[must_use]
pub fn prefix_network(client: Client<'_>) -> Option<IpNet> {
    let Client::Text(text) = client else { return None };
    let (first, prefix) = network::parse_prefix(text)?;
    Ipv6Net::new(first.into(), prefix.bits()).ok().map(IpNet::from)
}

impl fmt::Display for NeverBlockReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAnAddress => "not an address",
            Self::NotPublic => "not a public address",
            Self::OwnAddress => "an address of this machine",
            Self::Allowed => "named by an allow list",
            Self::TrustedProxy => "a trusted proxy",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn allow(text: &str) -> AllowList {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("allow.toml");
        fs::write(&file, text).unwrap();
        AllowList::load(&[file]).unwrap()
    }

    #[test]
    fn each_reason_and_none_for_public_addresses() {
        let list = allow(
            "[[allow]]\nreason = 'cdn'\nclients = ['8.8.8.0/24', 'scan.example.net']\n\
             [[allow]]\nreason = 'robots'\nagents = ['Googlebot']\n[[allow]]\nreason = 'health'\nclients = ['9.9.9.9']\npaths = ['/health']\n",
        );
        let interfaces = ["93.184.216.34".parse().unwrap(), "::ffff:93.184.216.35".parse().unwrap(), "2606:2800::1".parse().unwrap()];
        let proxies = [parse_trusted_proxy("104.16.0.0/13").unwrap().0, parse_trusted_proxy("2400:cb00::/32").unwrap().0];
        let policy = BlockPolicy::new(&interfaces, &proxies, &list);
        let reason = |text: &str| policy.never_block_reason(Client::parse(text.as_bytes()));
        for text in ["-", "", "unix:", "bot.example", "scan.example.net", "0127.0.0.1", "2130706433", "1.2.3"] {
            assert_eq!(reason(text), Some(NeverBlockReason::NotAnAddress), "{text}");
        }
        for text in ["127.0.0.1", "10.1.2.3", "::1", "fd00::1", "fe80::1%eth0", "::ffff:192.168.0.1", "[fc00::1]:443", "172.31.0.1:80"] {
            assert_eq!(reason(text), Some(NeverBlockReason::NotPublic), "{text}");
        }
        for text in ["93.184.216.34", "::ffff:93.184.216.34", "93.184.216.35", "2606:2800::1", "[2606:2800::1]:9"] {
            assert_eq!(reason(text), Some(NeverBlockReason::OwnAddress), "{text}");
        }
        for text in ["8.8.8.8", "9.9.9.9"] {
            assert_eq!(reason(text), Some(NeverBlockReason::Allowed), "{text}");
        }
        for text in ["104.16.0.1", "104.23.255.255", "2400:cb00::1"] {
            assert_eq!(reason(text), Some(NeverBlockReason::TrustedProxy), "{text}");
        }
        for text in ["93.184.216.36", "8.8.4.4", "104.24.0.0", "66.249.66.1", "203.0.113.9", "2606:2800::2"] {
            assert_eq!(reason(text), None, "{text}");
        }
        for (prefix, expected) in [
            ("2606:2800::/64", Some(NeverBlockReason::OwnAddress)),
            ("2400:cb00:1::/64", Some(NeverBlockReason::TrustedProxy)),
            ("fd00:1::/64", Some(NeverBlockReason::NotPublic)),
            ("2606:2801::/64", None),
        ] {
            assert_eq!(reason(prefix), expected, "{prefix}");
        }
        assert!(policy.overlaps(&"2606:2800::/64".parse().unwrap()) && policy.overlaps(&"2400:cb00:1::/64".parse().unwrap()));
        assert!(!policy.overlaps(&"2606:2801::/64".parse().unwrap()));
    }

    #[test]
    fn a_proxy_is_a_network_and_not_the_internet() {
        assert_eq!(parse_trusted_proxy("10.0.0.0/8").map(|(_, wide)| wide), Ok(false));
        assert_eq!(parse_trusted_proxy("8.0.0.0/7").map(|(_, wide)| wide), Ok(true));
        assert_eq!(parse_trusted_proxy("0.0.0.0/0"), Err(TrustedProxyError::Everything("0.0.0.0/0".into())));
        assert_eq!(parse_trusted_proxy("::/0"), Err(TrustedProxyError::Everything("::/0".into())));
        assert_eq!(parse_trusted_proxy("proxy"), Err(TrustedProxyError::NoNetwork("proxy".into())));
        assert_eq!(parse_trusted_proxy("010.0.0.0/8"), Err(TrustedProxyError::NoNetwork("010.0.0.0/8".into())));
    }

    proptest! {
        #[test]
        fn a_client_that_is_not_an_address_is_never_blocked(field in prop::collection::vec(any::<u8>(), 0..40)) {
            let list = AllowList::default();
            let policy = BlockPolicy::new(&[], &[], &list);
            let client = Client::parse(&field);
            if client.address().is_none() {
                prop_assert_eq!(policy.never_block_reason(client), Some(NeverBlockReason::NotAnAddress));
            }
        }
    }
}
