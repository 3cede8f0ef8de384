//! Address ranges that are not public, or that many hosts share.
//!
//! Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and the RFCs named there), the multicast ranges
//! (RFC 5771, RFC 4291), and that global unicast IPv6 is `2000::/3` (RFC 4291, section 2.4). Two kinds of
//! entries are left out: documentation addresses, so that examples work like real logs, and anycast services that are
//! globally reachable.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
pub(super) fn is_reserved(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(four) => is_reserved_v4(four),
        IpAddr::V6(six) => is_reserved_v6(six),
    }
}

fn is_reserved_v4(address: Ipv4Addr) -> bool {
    V4.iter().any(|(start, length)| (address.to_bits() ^ start.to_bits()) >> (32 - length) == 0)
}

fn is_reserved_v6(address: Ipv6Addr) -> bool {
    let within = |(start, length): Range<Ipv6Addr>| (address.to_bits() ^ start.to_bits()) >> (128 - length) == 0;
    if !within(GLOBAL_UNICAST) || within(V6) {
        return true;
    }
    let [prefix, high, low, ..] = address.segments();
    prefix == SIX_TO_FOUR && is_reserved_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
