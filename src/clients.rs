//! What each client asked for, matched or not.

use crate::client::{Client, ClientKey};
use crate::intern::Interner;

/// Counts of one client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientCount {
    /// All its requests.
    pub requests: u64,
    /// Those of them that matched a rule, reported or not.
    pub matched: u64,
}

/// Counts by client.
#[derive(Debug, Default)]
pub struct Clients {
    keys: Interner<ClientKey>,
    counts: Vec<ClientCount>,
}

impl Clients {
    /// The number of a client.
    pub fn number(&mut self, client: Client<'_>) -> usize {
        let number = self.keys.number(&client, ClientKey::from);
        if number == self.counts.len() {
            self.counts.push(ClientCount::default());
        }
        number
    }

    /// The client with a number.
    #[must_use]
    pub fn client(&self, number: usize) -> Client<'_> {
        self.keys.key(number).client()
    }

    /// The counts of the client with a number.
    #[must_use]
    pub fn count(&self, number: usize) -> ClientCount {
        self.counts[number]
    }

    /// The same, to be changed.
    pub fn count_mut(&mut self, number: usize) -> &mut ClientCount {
        &mut self.counts[number]
    }

    /// Adds other counts; the new number of each of the others' clients.
    pub fn absorb(&mut self, other: &Self) -> Vec<usize> {
        let add = |(key, count): (&ClientKey, &ClientCount)| {
            let number = self.number(key.client());
            self.counts[number].requests += count.requests;
            self.counts[number].matched += count.matched;
            number
        };
        other.keys.keys().iter().zip(&other.counts).map(add).collect()
    }
}
