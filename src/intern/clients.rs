//! Numbers clients, however they are written: `192.0.2.7` and `::ffff:192.0.2.7` get one number.
//!
//! Every line comes through here, so a text that was seen before is found by its bytes, without reading it as an address. Where
//! IPv6 addresses of one prefix count as one client, they get one number too: that of their group.
//! What clients did is counted elsewhere.

use std::hint::black_box;

use super::Interner;
use crate::client::{Client, ClientKey, Ipv6Prefix};
use crate::fingerprint::{Fingerprint, FingerprintMap, Fingerprinter};

/// Texts that are known at a time. There may be more texts than clients, such as one for each port.
const MOST_TEXTS: usize = 1 << 18;
/// Bytes of a client, as nearly all are: an IPv6 address in brackets and a port take 47.
const SHORT: usize = 48;

/// Distinct clients, by number.
#[derive(Debug, Clone, Default)]
pub struct ClientInterner {
    keys: Interner<ClientKey>,
    take: Fingerprinter,
    texts: FingerprintMap,
    prefix: Option<Ipv6Prefix>,
}

impl ClientInterner {
    /// None yet, of whom those of one IPv6 prefix are to be one.
    #[must_use]
    pub fn with_prefix(prefix: Option<Ipv6Prefix>) -> Self {
        Self { prefix, ..Self::default() }
    }

    /// Which IPv6 addresses are one client; `None` for each by itself.
    #[must_use]
    pub fn prefix(&self) -> Option<Ipv6Prefix> {
        self.prefix
    }

    /// By what clients, as logged, are found; has them brought near.
    #[inline]
    pub fn fingerprints<'t>(&self, texts: impl ExactSizeIterator<Item = &'t [u8]>, fingerprints: &mut [Fingerprint]) {
        let fingerprints = &mut fingerprints[..texts.len()];
        self.take.of_each(texts, fingerprints);
        for fingerprint in fingerprints {
            self.texts.prefetch(*fingerprint);
        }
    }

    /// The number of a client, as logged.
    pub fn intern(&mut self, text: &[u8]) -> u32 {
        self.intern_by(self.take.of(text), text)
    }

    /// The same, for who took its [fingerprint](Self::fingerprints).
    #[inline]
    pub fn intern_by(&mut self, fingerprint: Fingerprint, text: &[u8]) -> u32 {
        match self.texts.get(fingerprint) {
            Some(number) => number,
            None => self.intern_new_text(text),
        }
    }

    #[cold]
    fn intern_new_text(&mut self, text: &[u8]) -> u32 {
        // A copy that stays what it is: the bytes of a map may change between two looks at them, and a number is
        // remembered.
        match text.len() {
            ..=SHORT => {
                let mut copy = [0; SHORT];
                copy[..text.len()].copy_from_slice(text);
                self.intern_text(&black_box(copy)[..text.len()])
            }
            _ => self.intern_text(&black_box(text.to_vec())),
        }
    }

    fn intern_text(&mut self, text: &[u8]) -> u32 {
        let number = self.intern_grouped(Client::from_log_field(text));
        if self.texts.len() == MOST_TEXTS {
            self.texts = FingerprintMap::default();
        }
        self.texts.put(self.take.of(text), number);
        number
    }

    /// The number of the group of a client, or of the client itself.
    pub fn intern_grouped(&mut self, client: Client<'_>) -> u32 {
        match self.prefix.and_then(|prefix| prefix.prefix_text(client)) {
            Some(group) => self.intern_client(Client::Text(group.as_bytes())),
            None => self.intern_client(client),
        }
    }

    /// The number of a client as it is: a group is known by its text.
    pub fn intern_client(&mut self, client: Client<'_>) -> u32 {
        self.keys.intern(&client, ClientKey::from)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.keys().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.keys().is_empty()
    }

    /// The number of a client, where it has one.
    #[must_use]
    pub fn find(&self, client: Client<'_>) -> Option<u32> {
        self.keys.find(&client)
    }

    /// The client with a number.
    #[must_use]
    pub fn resolve(&self, number: u32) -> Client<'_> {
        self.keys.resolve(number).client()
    }

    /// Takes in other clients; the new number of each, by its old one.
    pub fn merge(&mut self, other: &Self) -> Vec<u32> {
        self.keys.merge(&other.keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_of_one_prefix_have_one_id() {
        let mut clients = ClientInterner::with_prefix(Ipv6Prefix::new(64));
        let mut number = |text: &str| clients.intern(text.as_bytes());
        let one = number("2001:db8:1:2::1");
        for same in ["2001:db8:1:2::2", "2001:db8:1:2:ffff:ffff:ffff:ffff", "[2001:db8:1:2::7]:443", "2001:db8:1:2::1", "2001:db8:1:2::/64"]
        {
            assert_eq!(number(same), one, "{same}");
        }
        assert_ne!(number("2001:db8:1:3::1"), one);
        let four = number("192.0.2.1");
        assert_eq!(number("::ffff:192.0.2.1"), four);
        assert_ne!(number("192.0.2.2"), four);
        assert_eq!(clients.resolve(one), Client::Text(b"2001:db8:1:2::/64"));
        assert_eq!(clients.resolve(four), Client::parse(b"192.0.2.1"));
        // Texts are remembered by their bytes.
        assert_eq!(clients.intern(b"2001:db8::1"), clients.intern(b"2001:db8::2"));
    }

    proptest! {
        #[test]
        fn a_text_has_the_id_of_its_client(texts in prop::collection::vec("(::ffff:)?1[0-2]{0,2}\\.1\\.1\\.1(:80)?|[ab\0]{0,20}", 1..40)) {
            let mut clients = ClientInterner::default();
            for text in texts.iter().chain(&texts) {
                let number = clients.intern(text.as_bytes());
                prop_assert_eq!(clients.resolve(number), Client::from_log_field(text.as_bytes()));
                prop_assert_eq!(clients.intern_client(Client::from_log_field(text.as_bytes())), number);
            }
        }
    }
}
