//! Numbers for what findings name again and again, so that a hit is a few numbers and no text is copied twice.
//!
//! Each worker has its own and only ever adds to it: a number means the same for as long as the worker lives, whatever
//! became of the lines it was first given for.

use super::{ClientInterner, Interner};
use crate::client::Ipv6Prefix;
use crate::finding::RuleId;

/// The clients, paths and lists of rules that a worker met.
#[derive(Debug, Clone)]
pub struct SymbolTables {
    /// Clients, as logged or as read.
    pub clients: ClientInterner,
    /// Normalised paths.
    pub paths: Interner<Box<[u8]>>,
    /// Virtual hosts in lower case; the first one is [`NO_HOST`](Self::NO_HOST).
    pub hosts: Interner<Box<[u8]>>,
    /// Sorted lists of rules; the first one is [`EMPTY_RULES`](Self::EMPTY_RULES).
    pub rules: Interner<Box<[RuleId]>>,
    /// A host in lower case.
    folded: Vec<u8>,
}

impl Default for SymbolTables {
    fn default() -> Self {
        let mut rules = Interner::default();
        rules.intern(&[][..], Box::from);
        let mut hosts = Interner::default();
        hosts.intern(&b""[..], Box::from);
        Self { clients: ClientInterner::default(), paths: Interner::default(), hosts, rules, folded: Vec::new() }
    }
}

/// New numbers, by old ones.
#[derive(Debug)]
pub struct IdRemap {
    /// Those of clients.
    pub clients: Vec<u32>,
    /// Those of paths.
    pub paths: Vec<u32>,
    /// Those of virtual hosts.
    pub hosts: Vec<u32>,
    /// Those of lists of rules.
    pub rules: Vec<u32>,
}

impl IdRemap {
    /// The new number of a client, or of [`SymbolTables::OTHER`].
    #[must_use]
    pub fn client(&self, number: u32) -> u32 {
        self.clients.get(number as usize).copied().unwrap_or(SymbolTables::OTHER)
    }

    /// The new number of a path, or of [`SymbolTables::OTHER`].
    #[must_use]
    pub fn path(&self, number: u32) -> u32 {
        self.paths.get(number as usize).copied().unwrap_or(SymbolTables::OTHER)
    }
}

impl SymbolTables {
    /// The number of the list without rules.
    pub const EMPTY_RULES: u32 = 0;
    /// The number of the host of a line that names none.
    pub const NO_HOST: u32 = 0;
    /// No client's and no path's number: stands for those that were let go.
    pub const OTHER: u32 = u32::MAX;
    /// No input's number: stands for several inputs together.
    pub const NO_INPUT: u32 = u32::MAX;

    /// None yet, for clients of whom those of one IPv6 prefix are one.
    #[must_use]
    pub fn with_prefix(prefix: Option<Ipv6Prefix>) -> Self {
        Self { clients: ClientInterner::with_prefix(prefix), ..Self::default() }
    }

    /// Whether nothing has a number yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty() && self.paths.keys().is_empty() && self.hosts.keys().len() <= 1 && self.rules.keys().len() <= 1
    }

    /// The number of a virtual host as logged.
    pub fn host(&mut self, host: Option<&[u8]>) -> u32 {
        let Some(host) = host else { return Self::NO_HOST };
        self.folded.clear();
        self.folded.extend_from_slice(host);
        self.folded.make_ascii_lowercase();
        self.hosts.intern(&*self.folded, Box::from)
    }

    /// Takes in the names of another worker.
    pub fn merge(&mut self, other: &Self) -> IdRemap {
        IdRemap {
            clients: self.clients.merge(&other.clients),
            paths: self.paths.merge(&other.paths),
            hosts: self.hosts.merge(&other.hosts),
            rules: self.rules.merge(&other.rules),
        }
    }
}
