//! Hides who asked: a network in place of an address, or a pseudonym that only the holder of a key can trace back.
//!
//! Truncation keeps 24 bits of an IPv4 address and 48 of an IPv6 one; a name tells too much in any part, so nothing of it is kept.
//! A pseudonym is the first 64 bits of HMAC-SHA-256 (RFC 2104, FIPS 180-4) of the address under a secret key: without the key it
//! cannot be told from chance, and nobody can try all addresses, as with a mere hash; the same key gives the same pseudonym in
//! every run. It decides nothing and sorts nothing: whoever uses it has to see that no order gives an address away.

mod text;

use std::net::{Ipv4Addr, Ipv6Addr};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

use super::{Client, ClientKey};

/// Bytes that a key has at least.
const SHORTEST_KEY: usize = 16;

/// What stands in place of a name.
const NAME: &[u8] = b"***";

/// What pseudonyms begin with.
const PSEUDONYM: &str = "anon-";

/// Tells these pseudonyms from what else somebody may make of the same key.
const PURPOSE: &[u8] = b"probewatch client 1\0";

/// A way to hide clients.
#[derive(Clone)]
pub enum Veil {
    /// Only their network is told.
    Truncate,
    /// A pseudonym is told.
    Key(Box<Hmac<Sha256>>),
}

/// A key that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeyError {
    /// It could be guessed. Holds its bytes.
    #[error("holds {0} bytes, and a key needs {SHORTEST_KEY}; make one with: head -c 32 /dev/urandom > FILE")]
    Short(usize),
}

impl std::fmt::Debug for Veil {
    /// Says nothing of the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Veil {
    /// Pseudonyms made with this key.
    ///
    /// # Errors
    ///
    /// It is too short to be a secret.
    pub fn keyed(key: &[u8]) -> Result<Self, KeyError> {
        match Hmac::<Sha256>::new_from_slice(key) {
            Ok(mac) if key.len() >= SHORTEST_KEY => Ok(Self::Key(Box::new(mac))),
            _ => Err(KeyError::Short(key.len())),
        }
    }

    /// The word for programs.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Truncate => "truncate",
            Self::Key(_) => "key",
        }
    }

    /// What is told of a client: `192.0.2.0/24`, `2001:db8:1::/48`, or `anon-` and 16 hexadecimal digits. What is no client
    /// stays what it is.
    #[must_use]
    pub fn client(&self, client: Client<'_>) -> ClientKey {
        let told = match (self, client) {
            (_, Client::Text(b"" | b"-" | b"unix:")) => return ClientKey::from(&client),
            (Self::Truncate, Client::V4(bits)) => format!("{}/24", network_v4(bits)),
            (Self::Truncate, Client::V6(bits)) => format!("{}/48", network_v6(bits)),
            (Self::Truncate, Client::Text(text)) => match super::prefix::group(text) {
                Some((first, prefix)) => format!("{}/{}", network_v6(first), prefix.bits().min(48)),
                None => return ClientKey::Text(NAME.into()),
            },
            (Self::Key(mac), _) => pseudonym(mac, client),
        };
        ClientKey::Text(told.into_bytes().into())
    }
}

/// The address without its last octet.
fn network_v4(bits: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(bits & 0xffff_ff00)
}

/// The address without its last 80 bits.
fn network_v6(bits: u128) -> Ipv6Addr {
    Ipv6Addr::from_bits(bits & u128::MAX << 80)
}

fn pseudonym(mac: &Hmac<Sha256>, client: Client<'_>) -> String {
    let mut mac = mac.clone();
    mac.update(PURPOSE);
    match client {
        Client::V4(bits) => mac.update(&bits.to_be_bytes()),
        Client::V6(bits) => mac.update(&bits.to_be_bytes()),
        // Names are the same in any case. One byte before them: four or sixteen of them are no address.
        Client::Text(text) => mac.update(&[b"n", text.to_ascii_lowercase().as_slice()].concat()),
    }
    let sum = mac.finalize().into_bytes();
    let (first, _) = sum.split_first_chunk().unwrap_or((&[0; 8], &[]));
    format!("{PSEUDONYM}{:016x}", u64::from_be_bytes(*first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";

    fn told(veil: &Veil, client: &str) -> String {
        veil.client(Client::parse(client.as_bytes())).client().to_string()
    }

    #[test]
    fn a_network_in_place_of_an_address() {
        for (client, expected) in [
            ("192.0.2.77", "192.0.2.0/24"),
            ("::ffff:192.0.2.77", "192.0.2.0/24"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
            ("2001:db8:1:2::/64", "2001:db8:1::/48"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("dsl-192-0-2-77.isp.example", "***"),
            ("-", "-"),
            ("", ""),
        ] {
            assert_eq!(told(&Veil::Truncate, client), expected);
        }
    }

    #[test]
    fn a_pseudonym_is_that_of_the_standard() {
        // HMAC-SHA-256 of the purpose and the four bytes of 192.0.2.77, as `openssl dgst -sha256 -hmac` has it.
        let veil = Veil::keyed(KEY).unwrap();
        assert_eq!(told(&veil, "192.0.2.77"), "anon-4178e25efebaec49");
        assert_eq!(told(&veil, "::ffff:192.0.2.77"), told(&veil, "192.0.2.77"));
        assert_ne!(told(&veil, "192.0.2.78"), told(&veil, "192.0.2.77"));
        assert_ne!(told(&Veil::keyed(&[7; 32]).unwrap(), "192.0.2.77"), told(&veil, "192.0.2.77"));
        assert_eq!(told(&veil, "Host.example"), told(&veil, "host.EXAMPLE"));
        assert_eq!(Veil::keyed(b"short").unwrap_err(), KeyError::Short(5));
        assert_eq!(format!("{veil:?}"), "key");
    }

    proptest! {
        #[test]
        fn nothing_of_the_last_bits_is_told(address: u32, other: u8, six: u128, rest: u64) {
            let truncated = |client: Client<'_>| Veil::Truncate.client(client);
            prop_assert_eq!(truncated(Client::V4(address)), truncated(Client::V4(address & !255 | u32::from(other))));
            prop_assert_eq!(truncated(Client::V6(six)), truncated(Client::V6(six >> 80 << 80 | u128::from(rest))));
        }

        #[test]
        fn takes_any_client(field in prop::collection::vec(any::<u8>(), 0..40)) {
            for veil in [Veil::Truncate, Veil::keyed(KEY).unwrap()] {
                let _ = veil.client(Client::parse(&field));
            }
        }
    }
}
