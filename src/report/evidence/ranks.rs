//! Names in the order of their texts, and the place of each by the number that a tally gave it.

use std::borrow::Cow;

use crate::client::Client;
use crate::intern::SymbolTables;
use crate::report::mask::Key;
use crate::report::sanitize::exact;

/// Names in order.
pub(super) struct Ranks<T> {
    pub(super) names: Vec<T>,
    /// By place.
    numbers: Vec<u32>,
    /// By number.
    places: Vec<u32>,
}

impl<T: Ord> Ranks<T> {
    /// The names of these numbers, which may come again and again; [`SymbolTables::OTHER`] has none.
    pub(super) fn of(numbers: impl Iterator<Item = u32>, name: impl Fn(u32) -> T) -> Self {
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
    pub(super) fn place(&self, number: u32) -> u32 {
        self.places.get(number as usize).copied().unwrap_or(SymbolTables::OTHER)
    }

    /// All names with their numbers.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (u32, &T)> {
        self.numbers.iter().copied().zip(&self.names)
    }
}

/// A client as it is told.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClientName<'a> {
    Address(Client<'a>),
    Text(Cow<'a, [u8]>),
}

impl<'a> ClientName<'a> {
    pub(super) fn of(client: Client<'a>) -> Self {
        match client {
            Client::Text(text) => Self::Text(Key::of(text).bytes()),
            address => Self::Address(address),
        }
    }

    pub(super) fn exact(&self) -> Cow<'_, str> {
        match self {
            Self::Address(address) => Cow::Owned(address.to_string()),
            Self::Text(text) => exact(text),
        }
    }
}

/// A path as it is told, and as it is shown.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PathName<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    pub(super) shown: Cow<'a, str>,
}

impl<'a> PathName<'a> {
    pub(super) fn of(path: &'a [u8]) -> Self {
        let key = Key::of(path);
        Self { shown: key.shown(), bytes: key.bytes() }
    }
}
