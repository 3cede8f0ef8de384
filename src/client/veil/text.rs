//! Addresses in the middle of a text: a target, an agent or a whole line may name somebody too.
//!
//! Finds dotted quads and IPv6 addresses as people write them, their dots and colons percent-encoded once or twice as well. What
//! names no party, as 127.0.0.1 and 169.254.169.254 do, stays: it is part of an attack. It finds no address in other
//! disguises.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use super::{Veil, network_v4, network_v6, pseudonym};
use crate::client::Client;

/// Letters of the longest address, and of a port behind it.
const LONGEST: usize = 52;

/// Digits, dots and colons without a gap, and where each of them stands.
struct Word {
    letters: Vec<u8>,
    /// Where each begins; the last one is where the word ends.
    at: Vec<usize>,
}

impl Veil {
    /// The text with all addresses in it hidden. In the name of an `agent`, `Chrome/120.0.0.0` is a version.
    #[must_use]
    pub fn text<'t>(&self, text: &'t [u8], agent: bool) -> Cow<'t, [u8]> {
        let mut hidden: Vec<u8> = Vec::new();
        let (mut from, mut at, mut behind_letter) = (0, 0, false);
        while at < text.len() {
            let word = Word::at(text, at);
            if word.letters.is_empty() {
                behind_letter = text[at].is_ascii_alphanumeric();
                at += escape(&text[at..]);
                continue;
            }
            for (place, address) in word.addresses(text, behind_letter, agent) {
                hidden.extend_from_slice(&text[from..place.start]);
                hidden.extend_from_slice(self.address(address).as_bytes());
                from = place.end;
            }
            (at, behind_letter) = (word.end(), true);
        }
        if from == 0 {
            return Cow::Borrowed(text);
        }
        hidden.extend_from_slice(&text[from..]);
        Cow::Owned(hidden)
    }

    /// What stands in place of an address in a text.
    fn address(&self, address: IpAddr) -> String {
        match (self, address) {
            (Self::Truncate, IpAddr::V4(four)) => network_v4(four.to_bits()).to_string(),
            (Self::Truncate, IpAddr::V6(six)) => network_v6(six.to_bits()).to_string(),
            (Self::Key(mac), IpAddr::V4(four)) => pseudonym(mac, Client::V4(four.to_bits())),
            (Self::Key(mac), IpAddr::V6(six)) => pseudonym(mac, Client::V6(six.to_bits())),
        }
    }
}

impl Word {
    /// The word that begins at a place; it may have no letters.
    fn at(text: &[u8], start: usize) -> Self {
        let (mut letters, mut at, mut end) = (Vec::new(), Vec::new(), start);
        while let Some((letter, length)) = letter(&text[end..]) {
            letters.push(letter);
            at.push(end);
            end += length;
        }
        at.push(end);
        Self { letters, at }
    }

    fn end(&self) -> usize {
        self.at.last().copied().unwrap_or_default()
    }

    /// The addresses of the word, in their order, and where they stand.
    fn addresses(&self, text: &[u8], behind_letter: bool, agent: bool) -> Vec<(Range<usize>, IpAddr)> {
        let before_letter = text.get(self.end()).is_some_and(u8::is_ascii_alphanumeric);
        let six = if self.letters.len() > LONGEST || behind_letter || before_letter { None } else { self.six() };
        match six {
            Some((length, address)) if names_somebody(address) => vec![(self.at[0]..self.at[length], address)],
            Some(_) => Vec::new(),
            None => self.quads(text, [behind_letter, before_letter], agent),
        }
    }

    /// All of it but marks behind it, as an IPv6 address, and the length of that.
    fn six(&self) -> Option<(usize, IpAddr)> {
        let mut letters = self.letters.as_slice();
        loop {
            if let Some(six) = std::str::from_utf8(letters).ok().and_then(|text| text.parse::<Ipv6Addr>().ok()) {
                return Some((letters.len(), six.to_canonical()));
            }
            letters = letters.strip_suffix(b".").or_else(|| letters.strip_suffix(b":"))?;
        }
    }

    /// The dotted quads between colons.
    fn quads(&self, text: &[u8], [behind_letter, before_letter]: [bool; 2], agent: bool) -> Vec<(Range<usize>, IpAddr)> {
        let mut found = Vec::new();
        let mut start = 0;
        for piece in self.letters.split(|&letter| letter == b':') {
            let quad = piece.strip_suffix(b".").unwrap_or(piece);
            let (first, end) = (start, start + quad.len());
            start += piece.len() + 1;
            let Client::V4(bits) = Client::parse(quad) else { continue };
            let is_part = first == 0 && behind_letter || end == self.letters.len() && before_letter;
            let place = self.at[first]..self.at[end];
            let is_version = agent && matches!(text.get(..place.start), Some([.., letter, b'/']) if letter.is_ascii_alphabetic());
            let address = Ipv4Addr::from_bits(bits).into();
            if !is_part && !is_version && names_somebody(address) {
                found.push((place, address));
            }
        }
        found
    }
}

/// The length of what an escape at the start of a text stands for, which ends a word whatever it is: `%2F`, `%252F`, `\x22`,
/// `\u0022`; of any other byte one.
fn escape(text: &[u8]) -> usize {
    let is_hex = |digits: Option<&[u8]>| digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    let (skipped, digits) = match text {
        [b'%', b'2', b'5', ..] if is_hex(text.get(3..5)) => (3, 2),
        [b'%', ..] => (1, 2),
        [b'\\', b'x', ..] => (2, 2),
        [b'\\', b'u', ..] => (2, 4),
        _ => return 1,
    };
    if is_hex(text.get(skipped..skipped + digits)) { skipped + digits } else { 1 }
}

/// A letter of an address at the start of a text, and how many bytes stand for it.
fn letter(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'%', b'2', b'5', b'3', b'a' | b'A', ..] => Some((b':', 5)),
        [b'%', b'2', b'5', b'2', b'e' | b'E', ..] => Some((b'.', 5)),
        [b'%', b'3', b'a' | b'A', ..] => Some((b':', 3)),
        [b'%', b'2', b'e' | b'E', ..] => Some((b'.', 3)),
        [letter @ (b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' | b':' | b'.'), ..] => Some((*letter, 1)),
        _ => None,
    }
}

/// Whether an address is somebody's, be it in a network of one's own.
fn names_somebody(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => !(four.is_loopback() || four.is_link_local() || four.is_unspecified() || four.is_broadcast()),
        IpAddr::V6(six) => !(six.is_loopback() || six.is_unspecified()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hidden(text: &str) -> String {
        String::from_utf8(Veil::Truncate.text(text.as_bytes(), false).into_owned()).unwrap()
    }

    #[test]
    fn addresses_are_found_in_texts() {
        for (text, expected) in [
            ("/x?ip=192.0.2.77&y=1", "/x?ip=192.0.2.0&y=1"),
            ("192.0.2.77", "192.0.2.0"),
            ("a 192.0.2.77, 198.51.100.9.", "a 192.0.2.0, 198.51.100.0."),
            ("http://192.0.2.77:8080/a.sh", "http://192.0.2.0:8080/a.sh"),
            ("/?u=http%3A%2F%2F192%2E0%2e2%252E77%2Fx", "/?u=http%3A%2F%2F192.0.2.0%2Fx"),
            ("[2001:db8:1:2::9]:80", "[2001:db8:1::]:80"),
            ("/?a=2001%3Adb8%3A1%3A2%3A%3A9", "/?a=2001:db8:1::"),
            ("2001:db8:1:2::9, x", "2001:db8:1::, x"),
            ("::ffff:192.0.2.77", "192.0.2.0"),
            ("wget${IFS}10.1.2.3/x", "wget${IFS}10.1.2.0/x"),
            ("1.2.3.4 1.2.3.5", "1.2.3.0 1.2.3.0"),
            (r"\x22192.0.2.77\x22", r"\x22192.0.2.0\x22"),
            ("%22192.0.2.77%22 %2522192.0.2.77", "%22192.0.2.0%22 %2522192.0.2.0"),
            ("x%3A192.0.2.77", "x%3A192.0.2.0"),
        ] {
            assert_eq!(hidden(text), expected);
        }
    }

    #[test]
    fn what_is_none_stays() {
        for text in [
            "",
            "/",
            "127.0.0.1",
            "http://169.254.169.254/latest/meta-data",
            "[::1]",
            "0.0.0.0",
            "1.2.3",
            "1.2.3.4.5",
            "v1.2.3.4",
            "1.2.3.4a",
            "Foo::bar",
            "std::dead::beef",
            "08:01:00",
            "1.2.3.400",
            "01.2.3.4",
            "::",
            "...",
            "%3A%3A",
        ] {
            assert_eq!(hidden(text), text);
        }
        let agent = b"Mozilla/5.0 Chrome/120.1.2.3 (+http://192.0.2.77/bot)";
        assert_eq!(&*Veil::Truncate.text(agent, true), b"Mozilla/5.0 Chrome/120.1.2.3 (+http://192.0.2.0/bot)");
    }

    #[test]
    fn takes_no_text_twice() {
        // Each of these would take minutes if a search began anew at every step.
        for unit in ["1.2.3.4", "1.", ":", "a:", "::1 ", "%3A", "1.2.3.4:", "%25"] {
            let text = unit.repeat((1 << 16) / unit.len());
            assert!(!Veil::Truncate.text(text.as_bytes(), false).is_empty(), "{unit}");
        }
    }

    proptest! {
        #[test]
        fn takes_any_bytes_and_settles(text in prop::collection::vec(any::<u8>(), 0..60), seeded in "([0-9a-f:.%]|%3A|%2E|192\\.0\\.2\\.7|[a-z/ ]){0,30}") {
            for text in [&text, seeded.as_bytes()] {
                let once = Veil::Truncate.text(text, false).into_owned();
                prop_assert!(Veil::Truncate.text(&once, false).len() <= once.len() + 8);
            }
        }

        #[test]
        fn the_address_is_gone(before in "[g-z/=?& ]{0,8}[/=?& ]", last in 1_u8..255, after in "([/&? ][a-z]{0,5})?") {
            let text = format!("{before}203.0.113.{last}{after}");
            prop_assert_eq!(hidden(&text), format!("{before}203.0.113.0{after}"));
        }
    }
}
