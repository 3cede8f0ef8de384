//! SymbolTables in the order of their texts, and the place of each by the number that a tally gave it.

use std::borrow::Cow;

use crate::client::Client;
use crate::intern::SymbolTables;
use crate::redact::mask::RedactedKey;
use crate::redact::sanitize::escape_lossless;

/// SymbolTables in order.
pub(crate) struct SortedIds<T> {
    pub(crate) names: Vec<T>,
    /// By place.
    numbers: Vec<u32>,
    /// By number.
    places: Vec<u32>,
}

impl<T: Ord> SortedIds<T> {
    /// The names of these numbers, which may come again and again; [`SymbolTables::OTHER`] has none.
    pub(crate) fn new(numbers: impl Iterator<Item = u32>, name: impl Fn(u32) -> T) -> Self {
        let mut is_used = Vec::new();
        for number in numbers.filter(|&number| number != SymbolTables::OTHER) {
            let at = number as usize;
            if at >= is_used.len() {
                is_used.resize(at + 1, false);
            }
            is_used[at] = true;
        }
        let used = (0..).zip(&is_used).filter(|(_, used)| **used);
        let mut sorted: Vec<(T, u32)> = used.map(|(number, _)| (name(number), number)).collect();
        sorted.sort_unstable();
        let (names, numbers): (Vec<T>, Vec<u32>) = sorted.into_iter().unzip();
        let mut places = vec![0; is_used.len()];
        for (place, number) in (0..).zip(&numbers) {
            places[*number as usize] = place;
        }
        Self { names, numbers, places }
    }

    /// The place of a name by its number; that of [`SymbolTables::OTHER`] is itself, behind all others.
    pub(crate) fn place(&self, number: u32) -> u32 {
        self.places.get(number as usize).copied().unwrap_or(SymbolTables::OTHER)
    }

    /// All names with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u32, &T)> {
        self.numbers.iter().copied().zip(&self.names)
    }
}

/// A client as it is told.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClientText<'a> {
    Address(Client<'a>),
    Text(Cow<'a, [u8]>),
}

impl<'a> ClientText<'a> {
    pub(crate) fn new(client: Client<'a>) -> Self {
        match client {
            Client::Text(text) => Self::Text(RedactedKey::new(text).into_bytes()),
            address => Self::Address(address),
        }
    }

    pub(crate) fn exact(&self) -> Cow<'_, str> {
        match self {
            Self::Address(address) => Cow::Owned(address.to_string()),
            Self::Text(text) => escape_lossless(text),
        }
    }
}

/// A path as it is told, and as it is shown.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PathText<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    pub(crate) shown: Cow<'a, str>,
}

impl<'a> PathText<'a> {
    pub(crate) fn new(path: &'a [u8]) -> Self {
        let key = RedactedKey::new(path);
        Self { shown: key.redacted(), bytes: key.into_bytes() }
    }
}
