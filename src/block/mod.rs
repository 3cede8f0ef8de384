//! Whom nobody must lock out: who is no address, not public, this machine, allowed, or a proxy in front of the site.
//!
//! Knows no hits: who deserves it is another question. Goes by addresses alone, never by what a client calls itself.

mod own;
mod special;

use std::fmt;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv6Net};
use thiserror::Error;

use crate::client::{Client, network};
use crate::rules::AllowList;
use crate::rules::network::{Width, network, width};
pub use own::{PROC_NET, addresses};

/// Why a client is never to be blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shelter {
    /// A name, or no client at all.
    NotAnAddress,
    /// No single party's on the internet: private, local, shared, multicast, reserved.
    Private,
    /// An interface of this machine.
    Own,
    /// An allow list names it.
    Allowed,
    /// A proxy in front of the site.
    Trusted,
}

/// Knows whom nobody must lock out.
#[derive(Debug, Clone)]
pub struct Guard<'a> {
    own: Vec<IpAddr>,
    trusted: &'a [IpNet],
    allow: &'a AllowList,
}

/// A network that cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TrustError {
    /// It is none.
    #[error("'{0}' is no address or network; type 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32")]
    NoNetwork(String),
    /// It is all there is.
    #[error("'{0}' is every address there is; type the networks of your proxies, as 192.0.2.0/24")]
    Everything(String),
}

/// Reads a network of trusted proxies, and whether it is so wide that it may be a slip of the pen.
///
/// # Errors
///
/// It is no network, or every address there is.
pub fn trusted(text: &str) -> Result<(IpNet, bool), TrustError> {
    let network = network(text).ok_or_else(|| TrustError::NoNetwork(text.to_owned()))?;
    match width(&network) {
        Width::Everything => Err(TrustError::Everything(text.to_owned())),
        wide => Ok((network, wide == Width::Wide)),
    }
}

impl<'a> Guard<'a> {
    /// `own` are the addresses of this machine ([`addresses`]), `trusted` the networks of proxies.
    #[must_use]
    pub fn new(own: &[IpAddr], trusted: &'a [IpNet], allow: &'a AllowList) -> Self {
        let mut own: Vec<_> = own.iter().map(IpAddr::to_canonical).collect();
        own.sort_unstable();
        Self { own, trusted, allow }
    }

    /// Why a client is never to be blocked; `None` where nothing forbids it.
    #[must_use]
    pub fn shelter(&self, client: Client<'_>) -> Option<Shelter> {
        if let Some(network) = group(client) {
            return self.shelter_of(&network);
        }
        let Some(address) = client.address() else { return Some(Shelter::NotAnAddress) };
        // What is said of this site in particular comes first: it tells a reader more.
        if self.own.binary_search(&address).is_ok() {
            Some(Shelter::Own)
        } else if self.allow.names(client) {
            Some(Shelter::Allowed)
        } else if self.trusted.iter().any(|network| network.contains(&address)) {
            Some(Shelter::Trusted)
        } else {
            special::is_special(address).then_some(Shelter::Private)
        }
    }

    /// The same of addresses that count as one client: what shelters one of them shelters all.
    fn shelter_of(&self, network: &IpNet) -> Option<Shelter> {
        if self.own.iter().any(|own| network.contains(own)) {
            Some(Shelter::Own)
        } else if self.allow.touches(network) {
            Some(Shelter::Allowed)
        } else if self.trusted.iter().any(|trusted| trusted.contains(network) || network.contains(trusted)) {
            Some(Shelter::Trusted)
        } else {
            let is_special = special::is_special(network.network()) || special::is_special(network.broadcast());
            is_special.then_some(Shelter::Private)
        }
    }

    /// Whether a network has an address in it that this machine, an allow list or a proxy has.
    #[must_use]
    pub fn touches(&self, network: &IpNet) -> bool {
        self.own.iter().any(|own| network.contains(own))
            || self.trusted.iter().any(|trusted| trusted.contains(network) || network.contains(trusted))
            || self.allow.touches(network)
    }
}

/// The network of a client that is a group of IPv6 addresses.
#[must_use]
pub fn group(client: Client<'_>) -> Option<IpNet> {
    let Client::Text(text) = client else { return None };
    let (first, prefix) = network::parse_prefix(text)?;
    Ipv6Net::new(first.into(), prefix.bits()).ok().map(IpNet::from)
}

impl fmt::Display for Shelter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAnAddress => "not an address",
            Self::Private => "not a public address",
            Self::Own => "an address of this machine",
            Self::Allowed => "named by an allow list",
            Self::Trusted => "a trusted proxy",
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
    fn each_shelter_and_nobody_else() {
        let list = allow(
            "[[allow]]\nreason = 'cdn'\nclients = ['8.8.8.0/24', 'scan.example.net']\n\
             [[allow]]\nreason = 'robots'\nagents = ['Googlebot']\n[[allow]]\nreason = 'health'\nclients = ['9.9.9.9']\npaths = ['/health']\n",
        );
        let own = ["93.184.216.34".parse().unwrap(), "::ffff:93.184.216.35".parse().unwrap(), "2606:2800::1".parse().unwrap()];
        let proxies = [trusted("104.16.0.0/13").unwrap().0, trusted("2400:cb00::/32").unwrap().0];
        let guard = Guard::new(&own, &proxies, &list);
        let shelter = |text: &str| guard.shelter(Client::parse(text.as_bytes()));
        for text in ["-", "", "unix:", "bot.example", "scan.example.net", "0127.0.0.1", "2130706433", "1.2.3"] {
            assert_eq!(shelter(text), Some(Shelter::NotAnAddress), "{text}");
        }
        for text in ["127.0.0.1", "10.1.2.3", "::1", "fd00::1", "fe80::1%eth0", "::ffff:192.168.0.1", "[fc00::1]:443", "172.31.0.1:80"] {
            assert_eq!(shelter(text), Some(Shelter::Private), "{text}");
        }
        for text in ["93.184.216.34", "::ffff:93.184.216.34", "93.184.216.35", "2606:2800::1", "[2606:2800::1]:9"] {
            assert_eq!(shelter(text), Some(Shelter::Own), "{text}");
        }
        for text in ["8.8.8.8", "9.9.9.9"] {
            assert_eq!(shelter(text), Some(Shelter::Allowed), "{text}");
        }
        for text in ["104.16.0.1", "104.23.255.255", "2400:cb00::1"] {
            assert_eq!(shelter(text), Some(Shelter::Trusted), "{text}");
        }
        for text in ["93.184.216.36", "8.8.4.4", "104.24.0.0", "66.249.66.1", "203.0.113.9", "2606:2800::2"] {
            assert_eq!(shelter(text), None, "{text}");
        }
        for (group, why) in [
            ("2606:2800::/64", Some(Shelter::Own)),
            ("2400:cb00:1::/64", Some(Shelter::Trusted)),
            ("fd00:1::/64", Some(Shelter::Private)),
            ("2606:2801::/64", None),
        ] {
            assert_eq!(shelter(group), why, "{group}");
        }
        assert!(guard.touches(&"2606:2800::/64".parse().unwrap()) && guard.touches(&"2400:cb00:1::/64".parse().unwrap()));
        assert!(!guard.touches(&"2606:2801::/64".parse().unwrap()));
    }

    #[test]
    fn a_proxy_is_a_network_and_not_the_internet() {
        assert_eq!(trusted("10.0.0.0/8").map(|(_, wide)| wide), Ok(false));
        assert_eq!(trusted("8.0.0.0/7").map(|(_, wide)| wide), Ok(true));
        assert_eq!(trusted("0.0.0.0/0"), Err(TrustError::Everything("0.0.0.0/0".into())));
        assert_eq!(trusted("::/0"), Err(TrustError::Everything("::/0".into())));
        assert_eq!(trusted("proxy"), Err(TrustError::NoNetwork("proxy".into())));
        assert_eq!(trusted("010.0.0.0/8"), Err(TrustError::NoNetwork("010.0.0.0/8".into())));
    }

    proptest! {
        #[test]
        fn text_is_never_let_through(field in prop::collection::vec(any::<u8>(), 0..40)) {
            let list = AllowList::default();
            let guard = Guard::new(&[], &[], &list);
            let client = Client::parse(&field);
            if client.address().is_none() {
                prop_assert_eq!(guard.shelter(client), Some(Shelter::NotAnAddress));
            }
        }
    }
}
