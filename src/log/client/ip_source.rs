//! The client IP behind a reverse proxy: the address that the nearest trusted proxy saw.
//!
//! A client can forge everything to the left of what trusted proxies wrote. So the field is read
//! from the right, and the first address that is not a trusted proxy is the client. The field is
//! read only if the peer is a trusted proxy, and only configured networks are trusted. Supports
//! `X-Forwarded-For` and similar lists (the nearest hop last), fields with one address
//! (`X-Real-IP`, `CF-Connecting-IP`), and `Forwarded` (RFC 7239, section 4). Resolves no names and
//! allocates nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::Client;

/// The header of RFC 7239; its elements are parameters.
const FORWARDED: &str = "forwarded";

/// The field that holds the client IP, and the trusted proxies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientIpSource {
    field: String,
    /// The first and last addresses of the trusted networks, sorted and disjoint.
    v4: Vec<(u32, u32)>,
    v6: Vec<(u128, u128)>,
}

impl ClientIpSource {
    /// Reads the client from a field such as `x-forwarded-for`, written by proxies in these
    /// networks. With no networks, the field is never trusted.
    #[must_use]
    pub fn new(field: &str, trusted: &[IpNet]) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for network in IpNet::aggregate(&trusted.to_vec()) {
            match network {
                IpNet::V4(net) => v4.push((net.network().to_bits(), net.broadcast().to_bits())),
                IpNet::V6(net) => v6.push((net.network().to_bits(), net.broadcast().to_bits())),
            }
        }
        v4.sort_unstable();
        v6.sort_unstable();
        Self {
            field: field.to_ascii_lowercase(),
            v4,
            v6,
        }
    }

    /// The name of the field, in lower case.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The client: `peer`, unless that is a trusted proxy; then the rightmost address of
    /// `forwarded` that is not a trusted proxy, or the leftmost if all are. If the field cannot be
    /// parsed, or a hop has no address, the client is `peer`.
    ///
    /// Addresses from the field are returned without brackets, port and zone.
    #[must_use]
    pub fn resolve<'a>(&self, peer: &'a [u8], forwarded: &'a [u8]) -> &'a [u8] {
        if self.is_trusted(peer) {
            self.forwarded_client(forwarded).unwrap_or(peer)
        } else {
            peer
        }
    }

    /// The client of a line that has `forwarded`, but not its peer, which is taken for a trusted
    /// proxy: `forwarded` is read from the right as in [`resolve`](Self::resolve), and the client
    /// is empty if it cannot be parsed.
    #[must_use]
    pub fn resolve_without_peer<'a>(&self, forwarded: &'a [u8]) -> &'a [u8] {
        self.forwarded_client(forwarded).unwrap_or_default()
    }

    /// The client named by the proxies, if every hop up to it can be parsed.
    fn forwarded_client<'a>(&self, forwarded: &'a [u8]) -> Option<&'a [u8]> {
        let is_parameters = self.field == FORWARDED;
        let mut furthest = None;
        for hop in forwarded
            .rsplit(|&b| b == b',')
            .map(trimmed)
            .filter(|hop| !hop.is_empty())
        {
            let node = if is_parameters {
                forwarded_node(hop)?
            } else {
                unquoted(hop)
            };
            if !self.is_trusted(node) {
                return is_address(node).then(|| strip_port_and_zone(node));
            }
            furthest = Some(strip_port_and_zone(node));
        }
        furthest
    }

    fn is_trusted(&self, node: &[u8]) -> bool {
        match Client::parse(node).address() {
            Some(IpAddr::V4(address)) => contains(&self.v4, Ipv4Addr::to_bits(address)),
            Some(IpAddr::V6(address)) => contains(&self.v6, Ipv6Addr::to_bits(address)),
            None => false,
        }
    }
}

fn is_address(node: &[u8]) -> bool {
    Client::parse(node).address().is_some()
}

/// Whether one of these sorted ranges contains a number.
fn contains<T: Ord + Copy>(ranges: &[(T, T)], number: T) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= number);
    after
        .checked_sub(1)
        .and_then(|at| ranges.get(at))
        .is_some_and(|(_, last)| number <= *last)
}

/// The value of the only `for` parameter of a hop (RFC 7239).
fn forwarded_node(hop: &[u8]) -> Option<&[u8]> {
    let mut nodes = hop.split(|&b| b == b';').filter_map(|pair| {
        let pair = trimmed(pair);
        let (name, value) = (pair.get(..4)?, pair.get(4..)?);
        name.eq_ignore_ascii_case(b"for=").then(|| unquoted(value))
    });
    let node = nodes.next()?;
    nodes.next().is_none().then_some(node)
}

/// The text without surrounding whitespace.
fn trimmed(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

/// The text without its quotes, plain or escaped by nginx (`\x22`), Apache or JSON (`\"`).
fn unquoted(text: &[u8]) -> &[u8] {
    for quote in [&b"\""[..], b"\\x22", b"\\\""] {
        if let Some(inside) = text
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        {
            return inside;
        }
    }
    text
}

/// The address without brackets, port and zone.
fn strip_port_and_zone(node: &[u8]) -> &[u8] {
    let until = |text: &'_ [u8], end: u8| text.iter().position(|&b| b == end);
    let address = match node.strip_prefix(b"[") {
        Some(rest) => &rest[..until(rest, b']').unwrap_or(rest.len())],
        None => match until(node, b':') {
            Some(colon) if !node[colon + 1..].contains(&b':') => &node[..colon],
            _ => node,
        },
    };
    &address[..until(address, b'%').unwrap_or(address.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn origin(field: &str, trusted: &[&str]) -> ClientIpSource {
        let trusted: Vec<IpNet> = trusted.iter().map(|net| net.parse().unwrap()).collect();
        ClientIpSource::new(field, &trusted)
    }

    fn real<'a>(origin: &ClientIpSource, peer: &'a str, forwarded: &'a str) -> &'a str {
        std::str::from_utf8(origin.resolve(peer.as_bytes(), forwarded.as_bytes())).unwrap()
    }

    #[test]
    fn the_rightmost_untrusted_address_is_the_client() {
        let proxies = origin("X-Forwarded-For", &["10.0.0.0/8", "2001:db8:1::/48"]);
        assert_eq!(proxies.field(), "x-forwarded-for");
        for (peer, forwarded, expected) in [
            // I1: a field sent by an untrusted peer is ignored.
            ("203.0.113.9", "127.0.0.1, ::1", "203.0.113.9"),
            ("10.0.0.1", "127.0.0.1, ::1", "::1"),
            ("10.0.0.1", "8.8.8.8", "8.8.8.8"),
            ("10.0.0.1", "1.1.1.1, 8.8.8.8, 10.0.0.7", "8.8.8.8"),
            ("10.0.0.1", "1.1.1.1,8.8.8.8,2001:db8:1::7", "8.8.8.8"),
            ("2001:db8:1::2", "8.8.8.8", "8.8.8.8"),
            ("::ffff:10.0.0.1", "8.8.8.8", "8.8.8.8"),
            ("10.0.0.1:443", "8.8.8.8:51000", "8.8.8.8"),
            (
                "10.0.0.1",
                "[2001:db8::7]:443, ::ffff:10.0.0.2",
                "2001:db8::7",
            ),
            ("10.0.0.1", "fe80::1%eth0", "fe80::1"),
            // All hops are trusted: the furthest one is the client.
            ("10.0.0.1", "10.1.1.1, 10.0.0.2", "10.1.1.1"),
            ("10.0.0.1", " , 8.8.8.8 ,, ", "8.8.8.8"),
            // A hop that cannot be parsed invalidates the field.
            ("10.0.0.1", "8.8.8.8, unknown", "10.0.0.1"),
            ("10.0.0.1", "8.8.8.8, unknown, 10.0.0.2", "10.0.0.1"),
            ("10.0.0.1", "0127.0.0.1", "10.0.0.1"),
            ("10.0.0.1", "8.8.8.8; DROP TABLE", "10.0.0.1"),
            ("10.0.0.1", "2130706433", "10.0.0.1"),
            ("10.0.0.1", "-", "10.0.0.1"),
            ("10.0.0.1", "", "10.0.0.1"),
            ("unix:", "8.8.8.8", "unix:"),
            ("010.0.0.1", "8.8.8.8", "010.0.0.1"),
            ("", "8.8.8.8", ""),
        ] {
            assert_eq!(
                real(&proxies, peer, forwarded),
                expected,
                "{peer} <- {forwarded}"
            );
        }
    }

    #[test]
    fn nodes_of_rfc_7239_are_parsed() {
        let proxies = origin("Forwarded", &["10.0.0.0/8"]);
        for (forwarded, expected) in [
            ("for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
            ("For=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
            (r"for=\x22[2001:db8:cafe::17]:4711\x22", "2001:db8:cafe::17"),
            (r#"for=\"[2001:db8:cafe::17]\""#, "2001:db8:cafe::17"),
            ("for=192.0.2.43, for=198.51.100.17", "198.51.100.17"),
            ("for=192.0.2.43, for=10.0.0.2;proto=https", "192.0.2.43"),
            ("for=192.0.2.43, for=unknown", "10.0.0.1"),
            ("for=192.0.2.43, for=_gazonk", "10.0.0.1"),
            ("for=192.0.2.43, proto=https", "10.0.0.1"),
            ("for=192.0.2.43;for=192.0.2.44", "10.0.0.1"),
            ("for=\"192.0.2.43, for=192.0.2.44", "192.0.2.44"),
            ("192.0.2.43", "10.0.0.1"),
        ] {
            assert_eq!(
                real(&proxies, "10.0.0.1", forwarded),
                expected,
                "{forwarded}"
            );
        }
    }

    #[test]
    fn without_trusted_proxies_the_field_is_ignored() {
        assert_eq!(
            real(&origin("x-real-ip", &[]), "10.0.0.1", "8.8.8.8"),
            "10.0.0.1"
        );
    }

    /// A slow reference implementation with the standard library.
    fn reference(trusted: &[IpNet], peer: &str, forwarded: &str) -> String {
        let address = |text: &str| Client::parse(text.as_bytes()).address();
        let is_trusted = |address: IpAddr| trusted.iter().any(|net| net.contains(&address));
        if !address(peer).is_some_and(is_trusted) {
            return peer.to_owned();
        }
        let hops: Vec<&str> = forwarded
            .split(',')
            .map(str::trim)
            .filter(|hop| !hop.is_empty())
            .collect();
        let mut found = peer.to_owned();
        for hop in hops.iter().rev() {
            let Some(hop) = address(hop) else {
                return peer.to_owned();
            };
            found = hop.to_string();
            if !is_trusted(hop) {
                return found;
            }
        }
        found
    }

    proptest! {
        #[test]
        fn agrees_with_the_reference(
            peer in "10\\.0\\.0\\.[0-9]|192\\.0\\.2\\.1|::1|-",
            hops in prop::collection::vec("(10\\.[01]\\.0\\.[0-3]|192\\.0\\.2\\.[0-9]|2001:db8::[0-9]|::ffff:10\\.0\\.0\\.1)(:80)?|\\[::1\\](:1)?|unknown| |fe80::1%a", 0..6),
            nets in prop::collection::vec(prop::sample::select(vec!["10.0.0.0/24", "10.0.0.1/32", "192.0.2.0/29", "2001:db8::/125", "::1/128", "10.0.0.2/31"]), 0..4),
        ) {
            let nets: Vec<IpNet> = nets.iter().map(|net| net.parse().unwrap()).collect();
            let forwarded = hops.join(", ");
            let resolved = ClientIpSource::new("x", &nets).resolve(peer.as_bytes(), forwarded.as_bytes()).to_vec();
            let reference = reference(&nets, &peer, &forwarded);
            prop_assert_eq!(Client::parse(&resolved), Client::parse(reference.as_bytes()));
        }

        #[test]
        fn any_bytes_are_accepted(peer in prop::collection::vec(any::<u8>(), 0..20), forwarded in prop::collection::vec(any::<u8>(), 0..60)) {
            for field in ["forwarded", "x-forwarded-for"] {
                let origin = origin(field, &["0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"]);
                let found = origin.resolve(&peer, &forwarded);
                prop_assert!(found == peer || Client::parse(found).address().is_some());
                let from_proxy = origin.resolve(b"10.0.0.1", &forwarded);
                prop_assert!(Client::parse(from_proxy).address().is_some());
            }
        }

        #[test]
        fn text_left_of_the_client_is_ignored(lie in "[^,]{0,30}", client in "192\\.0\\.2\\.[1-9][0-9]?") {
            let origin = origin("x-forwarded-for", &["10.0.0.0/8"]);
            let field = format!("{lie}, {client}, 10.0.0.2");
            prop_assert_eq!(origin.resolve(b"10.0.0.1", field.as_bytes()), client.as_bytes());
        }
    }
}
