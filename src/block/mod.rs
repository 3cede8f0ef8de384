//! Addresses that must never be blocked: non-public ones, those of this machine, allowed clients,
//! trusted proxies, the edges of content delivery networks, and the ranges of search engines that
//! the user gave.
//!
//! Decides by address alone, never by what a client calls itself, and does not depend on hits.
//! Which clients are worth blocking is decided in `report::block_candidates`.
//!
//! The addresses of this machine are those that the kernel lists under `/proc/net`; no socket is
//! opened. The public address of a router in front of the machine is not listed there: it belongs
//! in an allow list.
//!
//! Sources for non-public and shared ranges: the IANA IPv4 and IPv6 Special-Purpose Address
//! Registries (RFC 6890 and the RFCs named there), the multicast ranges (RFC 5771, RFC 4291), and
//! that global unicast IPv6 is `2000::/3` (RFC 4291, section 2.4). Two kinds of entries are left
//! out: documentation addresses, so that examples work like real logs, and anycast services that
//! are globally reachable.

mod proxies;
mod ranges;

pub(crate) use self::proxies::{NO_BUILTIN_RANGES, ProxyOperator, ProxyRanges};
pub(crate) use self::ranges::{AddressRanges, RangesError};

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::{fmt, fs, io};

use ipnet::{IpNet, Ipv6Net};
use thiserror::Error;

use crate::log::client::{self, Client, Width, network_width, parse_network};
use crate::rules::AllowList;

/// Why a client is never blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    /// In a published range of a search engine.
    VerifiedBot,
    /// A proxy of a content delivery network, which stands for all visitors of the site.
    Edge(ProxyOperator),
}

/// Decides which clients are never blocked.
#[derive(Debug, Clone)]
pub(crate) struct BlockPolicy<'a> {
    interfaces: Vec<IpAddr>,
    trusted: &'a [IpNet],
    allow: &'a AllowList,
    verified: Option<&'a AddressRanges>,
    proxies: &'a ProxyRanges,
}

/// A value of `--trusted-proxy` that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum TrustedProxyError {
    /// It does not parse.
    #[error("'{0}' is no address or network; type 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32")]
    NoNetwork(String),
    /// It contains every address.
    #[error("'{0}' is every address there is; type the networks of your proxies, as 192.0.2.0/24")]
    Everything(String),
}

/// Parses a network of trusted proxies. The flag is true for a network so wide that it is probably
/// a typing error.
///
/// # Errors
///
/// The text is not a network, or it is a network of all addresses.
pub(crate) fn parse_trusted_proxy(text: &str) -> Result<(IpNet, bool), TrustedProxyError> {
    let network =
        parse_network(text).ok_or_else(|| TrustedProxyError::NoNetwork(text.to_owned()))?;
    match network_width(&network) {
        Width::Everything => Err(TrustedProxyError::Everything(text.to_owned())),
        wide => Ok((network, wide == Width::Wide)),
    }
}

impl<'a> BlockPolicy<'a> {
    /// `interfaces` are the addresses of this machine ([`interface_addresses`]), `trusted` the
    /// networks of proxies.
    #[must_use]
    pub(crate) fn new(interfaces: &[IpAddr], trusted: &'a [IpNet], allow: &'a AllowList) -> Self {
        Self {
            interfaces: interfaces.iter().map(IpAddr::to_canonical).collect(),
            trusted,
            allow,
            verified: None,
            proxies: ProxyRanges::NONE,
        }
    }

    /// Shelters the ranges of search engines too.
    #[must_use]
    pub(crate) fn with_verified(self, verified: &'a AddressRanges) -> Self {
        Self {
            verified: Some(verified),
            ..self
        }
    }

    /// Shelters the edges of content delivery networks too.
    #[must_use]
    pub(crate) fn with_proxies(self, proxies: &'a ProxyRanges) -> Self {
        Self { proxies, ..self }
    }

    /// Why a client is never blocked; `None` if it may be.
    #[must_use]
    pub(crate) fn never_block_reason(&self, client: Client<'_>) -> Option<NeverBlockReason> {
        let network = prefix_network(client).or_else(|| client.address().map(IpNet::from));
        network.map_or(Some(NeverBlockReason::NotAnAddress), |network| {
            self.network_reason(&network)
        })
    }

    /// Why a network is never blocked: a reason for one of its addresses holds for all of them.
    #[must_use]
    pub(crate) fn network_reason(&self, network: &IpNet) -> Option<NeverBlockReason> {
        // Reasons that are specific to this site come first: they are more useful to the reader.
        if self
            .interfaces
            .iter()
            .any(|address| network.contains(address))
        {
            Some(NeverBlockReason::OwnAddress)
        } else if self.allow.overlaps(network) {
            Some(NeverBlockReason::Allowed)
        } else if self
            .trusted
            .iter()
            .any(|trusted| trusted.contains(network) || network.contains(trusted))
        {
            Some(NeverBlockReason::TrustedProxy)
        } else if self.verified.is_some_and(|ranges| ranges.overlaps(network)) {
            Some(NeverBlockReason::VerifiedBot)
        } else if let Some(operator) = self.proxies.operator(network) {
            Some(NeverBlockReason::Edge(operator))
        } else {
            let is_reserved = is_reserved(network.network()) || is_reserved(network.broadcast());
            is_reserved.then_some(NeverBlockReason::NotPublic)
        }
    }

    /// The ranges of proxies.
    #[must_use]
    pub(crate) fn proxies(&self) -> &'a ProxyRanges {
        self.proxies
    }

    /// Whether a network contains an address of this machine, an allowed client, a proxy or a
    /// search engine.
    #[must_use]
    pub(crate) fn overlaps(&self, network: &IpNet) -> bool {
        self.network_reason(network)
            .is_some_and(|reason| reason != NeverBlockReason::NotPublic)
    }
}

/// The network of a client that is an IPv6 prefix.
#[must_use]
pub(crate) fn prefix_network(client: Client<'_>) -> Option<IpNet> {
    let Client::Text(text) = client else {
        return None;
    };
    let (first, prefix) = client::parse_prefix(text)?;
    Ipv6Net::new(first.into(), prefix.bits())
        .ok()
        .map(IpNet::from)
}

impl fmt::Display for NeverBlockReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Edge(operator) => return write!(f, "one of {}", operator.its("edges")),
            Self::NotAnAddress => "not an address",
            Self::NotPublic => "not a public address",
            Self::OwnAddress => "an address of this machine",
            Self::Allowed => "named by an allow list",
            Self::TrustedProxy => "a trusted proxy",
            Self::VerifiedBot => "in a published range of a search engine",
        })
    }
}

/// The folder where the kernel lists network interfaces.
pub(crate) const PROC_NET: &str = "/proc/net";

/// The addresses of all interfaces, sorted. `folder` is [`PROC_NET`].
///
/// # Errors
///
/// The IPv4 file cannot be read, as on systems other than Linux. A missing IPv6 file is not an
/// error.
pub(crate) fn interface_addresses(folder: &Path) -> io::Result<Vec<IpAddr>> {
    let mut addresses = parse_fib_trie(&fs::read_to_string(folder.join("fib_trie"))?);
    match fs::read_to_string(folder.join("if_inet6")) {
        Ok(text) => addresses.extend(parse_if_inet6(&text)),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    addresses.sort_unstable();
    addresses.dedup();
    Ok(addresses)
}

/// IPv4: the routing trie has the address on one line and `host LOCAL` on a later one.
fn parse_fib_trie(text: &str) -> Vec<IpAddr> {
    let mut address = None;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(leaf) = line.strip_prefix("|-- ") {
            address = leaf.parse::<Ipv4Addr>().ok();
        } else if line == "/32 host LOCAL" {
            found.extend(address.map(IpAddr::from));
        }
    }
    found
}

/// IPv6: each line begins with the address as 32 hexadecimal digits.
fn parse_if_inet6(text: &str) -> impl Iterator<Item = IpAddr> {
    let address = |line: &str| u128::from_str_radix(line.get(..32)?, 16).ok();
    text.lines()
        .filter_map(address)
        .map(|bits| Ipv6Addr::from_bits(bits).into())
}

/// The first address of a range and its prefix length.
type Range<T> = (T, u8);

const V4: [Range<Ipv4Addr>; 13] = [
    (Ipv4Addr::UNSPECIFIED, 8),          // this network, RFC 791
    (Ipv4Addr::new(10, 0, 0, 0), 8),     // private, RFC 1918
    (Ipv4Addr::new(100, 64, 0, 0), 10),  // shared by a carrier's customers, RFC 6598
    (Ipv4Addr::new(127, 0, 0, 0), 8),    // loopback, RFC 1122
    (Ipv4Addr::new(169, 254, 0, 0), 16), // link-local, RFC 3927
    (Ipv4Addr::new(172, 16, 0, 0), 12),  // private, RFC 1918
    (Ipv4Addr::new(192, 0, 0, 0), 24),   // protocol assignments, RFC 6890
    (Ipv4Addr::new(192, 88, 99, 0), 24), // 6to4 relays, RFC 7526
    (Ipv4Addr::new(192, 168, 0, 0), 16), // private, RFC 1918
    (Ipv4Addr::new(198, 18, 0, 0), 15),  // benchmarking, RFC 2544
    (Ipv4Addr::new(224, 0, 0, 0), 4),    // multicast, RFC 5771
    (Ipv4Addr::new(240, 0, 0, 0), 4),    // reserved, RFC 1112
    (Ipv4Addr::BROADCAST, 32),           // RFC 8190
];

const GLOBAL_UNICAST: Range<Ipv6Addr> = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// In [`GLOBAL_UNICAST`], but not reachable or shared by all users of a service (Teredo, RFC 4380).
const V6: Range<Ipv6Addr> = (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23);

/// 6to4: an IPv4 address follows these bits (RFC 3056).
const SIX_TO_FOUR: u16 = 0x2002;

/// Whether an address is not public.
fn is_reserved(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(four) => is_reserved_v4(four),
        IpAddr::V6(six) => is_reserved_v6(six),
    }
}

fn is_reserved_v4(address: Ipv4Addr) -> bool {
    V4.iter()
        .any(|(start, length)| (address.to_bits() ^ start.to_bits()) >> (32 - length) == 0)
}

fn is_reserved_v6(address: Ipv6Addr) -> bool {
    let within = |(start, length): Range<Ipv6Addr>| {
        (address.to_bits() ^ start.to_bits()) >> (128 - length) == 0
    };
    if !within(GLOBAL_UNICAST) || within(V6) {
        return true;
    }
    let [prefix, high, low, ..] = address.segments();
    prefix == SIX_TO_FOUR
        && is_reserved_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

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
        let interfaces = [
            "93.184.216.34".parse().unwrap(),
            "::ffff:93.184.216.35".parse().unwrap(),
            "2606:2800::1".parse().unwrap(),
        ];
        let proxies = [
            parse_trusted_proxy("104.16.0.0/13").unwrap().0,
            parse_trusted_proxy("2400:cb00::/32").unwrap().0,
        ];
        let policy = BlockPolicy::new(&interfaces, &proxies, &list);
        let reason = |text: &str| policy.never_block_reason(Client::parse(text.as_bytes()));
        for text in [
            "-",
            "",
            "unix:",
            "bot.example",
            "scan.example.net",
            "0127.0.0.1",
            "2130706433",
            "1.2.3",
        ] {
            assert_eq!(reason(text), Some(NeverBlockReason::NotAnAddress), "{text}");
        }
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "::1",
            "fd00::1",
            "fe80::1%eth0",
            "::ffff:192.168.0.1",
            "[fc00::1]:443",
            "172.31.0.1:80",
        ] {
            assert_eq!(reason(text), Some(NeverBlockReason::NotPublic), "{text}");
        }
        for text in [
            "93.184.216.34",
            "::ffff:93.184.216.34",
            "93.184.216.35",
            "2606:2800::1",
            "[2606:2800::1]:9",
        ] {
            assert_eq!(reason(text), Some(NeverBlockReason::OwnAddress), "{text}");
        }
        for text in ["8.8.8.8", "9.9.9.9"] {
            assert_eq!(reason(text), Some(NeverBlockReason::Allowed), "{text}");
        }
        for text in ["104.16.0.1", "104.23.255.255", "2400:cb00::1"] {
            assert_eq!(reason(text), Some(NeverBlockReason::TrustedProxy), "{text}");
        }
        for text in [
            "93.184.216.36",
            "8.8.4.4",
            "104.24.0.0",
            "66.249.66.1",
            "203.0.113.9",
            "2606:2800::2",
        ] {
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
        assert!(
            policy.overlaps(&"2606:2800::/64".parse().unwrap())
                && policy.overlaps(&"2400:cb00:1::/64".parse().unwrap())
        );
        assert!(!policy.overlaps(&"2606:2801::/64".parse().unwrap()));
    }

    #[test]
    fn a_proxy_is_a_network_and_not_the_internet() {
        assert_eq!(
            parse_trusted_proxy("10.0.0.0/8").map(|(_, wide)| wide),
            Ok(false)
        );
        assert_eq!(
            parse_trusted_proxy("8.0.0.0/7").map(|(_, wide)| wide),
            Ok(true)
        );
        assert_eq!(
            parse_trusted_proxy("0.0.0.0/0"),
            Err(TrustedProxyError::Everything("0.0.0.0/0".into()))
        );
        assert_eq!(
            parse_trusted_proxy("::/0"),
            Err(TrustedProxyError::Everything("::/0".into()))
        );
        assert_eq!(
            parse_trusted_proxy("proxy"),
            Err(TrustedProxyError::NoNetwork("proxy".into()))
        );
        assert_eq!(
            parse_trusted_proxy("010.0.0.0/8"),
            Err(TrustedProxyError::NoNetwork("010.0.0.0/8".into()))
        );
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

    const TRIE: &str = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     +-- 127.0.0.0/8 2 0 2\n\
         \u{20}       +-- 127.0.0.0/31 1 0 0\n           |-- 127.0.0.0\n              /8 host LOCAL\n           |-- 127.0.0.1\n\
         \u{20}             /32 host LOCAL\n     +-- 192.0.2.0/24 2 0 2\n           |-- 192.0.2.0\n              /24 link UNICAST\n\
         \u{20}          |-- 192.0.2.2\n              /32 host LOCAL\n        |-- 192.0.2.255\n           /32 link BROADCAST\nLocal:\n\
         \u{20}          |-- 192.0.2.2\n              /32 host LOCAL\n";
    const LIST: &str = "20010db8000000000000000000000002 04 40 00 82     eth0\n00000000000000000000000000000001 01 80 10 80       lo\nshort\n";

    #[test]
    fn parses_the_files_of_the_kernel() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            interface_addresses(folder.path()).unwrap_err().kind(),
            ErrorKind::NotFound
        );
        fs::write(folder.path().join("fib_trie"), TRIE).unwrap();
        let texts = || {
            interface_addresses(folder.path())
                .unwrap()
                .iter()
                .map(IpAddr::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(texts(), ["127.0.0.1", "192.0.2.2"]);
        fs::write(folder.path().join("if_inet6"), LIST).unwrap();
        assert_eq!(texts(), ["127.0.0.1", "192.0.2.2", "::1", "2001:db8::2"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_has_a_loopback_address() {
        let own = interface_addresses(Path::new(PROC_NET)).unwrap();
        assert!(own.contains(&IpAddr::V4(Ipv4Addr::LOCALHOST)), "{own:?}");
    }

    #[test]
    fn the_first_and_the_last_of_each_range() {
        for text in [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.0.0",
            "169.254.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.0",
            "192.0.0.255",
            "192.88.99.1",
            "192.168.0.0",
            "192.168.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "224.0.0.0",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "64:ff9b::102:304",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:1ff:ffff::",
            "2002:a00:1::1",
            "2002:7f00:1::",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "5f00::1",
            "4000::",
        ] {
            assert!(is_reserved(text.parse().unwrap()), "{text}");
        }
        for text in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.2.1",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "203.0.113.9",
            "223.255.255.255",
            "2001:200::1",
            "2001:db8::1",
            "2606:4700::1",
            "2002:808:808::1",
            "3fff::1",
            "::ffff:8.8.8.8",
        ] {
            assert!(!is_reserved(text.parse().unwrap()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn includes_what_the_standard_library_classifies(bits: u32, wide: u128) {
            let four = Ipv4Addr::from_bits(bits);
            let known = four.is_private() || four.is_loopback() || four.is_link_local() || four.is_multicast()
                || four.is_unspecified() || four.is_broadcast();
            prop_assert!(!known || is_reserved(four.into()));
            prop_assert_eq!(is_reserved(four.into()), is_reserved(four.to_ipv6_mapped().into()));
            let six = Ipv6Addr::from_bits(wide);
            let known = six.is_loopback() || six.is_unspecified() || six.is_multicast() || six.is_unique_local()
                || six.is_unicast_link_local();
            prop_assert!(!known || is_reserved(six.into()));
        }
    }
}
