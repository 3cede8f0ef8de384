//! Ids for clients, paths, hosts and rule lists, so that a hit is a few numbers and no text is copied twice.
//!
//! Each worker has its own tables and only adds to them: an id stays valid as long as the worker lives.

use super::{ClientInterner, Interner};
use crate::client::Ipv6Prefix;
use crate::finding::RuleId;

/// The symbol tables of a worker.
#[derive(Debug, Clone)]
pub struct SymbolTables {
    /// Clients.
    pub clients: ClientInterner,
    /// Normalised paths.
    pub paths: Interner<Box<[u8]>>,
    /// Virtual hosts in lower case; the first one is [`NO_HOST`](Self::NO_HOST).
    pub hosts: Interner<Box<[u8]>>,
    /// Sorted lists of rules; the first one is [`EMPTY_RULES`](Self::EMPTY_RULES).
    pub rules: Interner<Box<[RuleId]>>,
    /// A buffer for a host in lower case.
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

/// New ids by old ids, after a merge.
#[derive(Debug)]
pub struct IdRemap {
    /// Client ids.
    pub clients: Vec<u32>,
    /// Path ids.
    pub paths: Vec<u32>,
    /// Host ids.
    pub hosts: Vec<u32>,
    /// Rule list ids.
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
    /// The id of the empty rule list.
    pub const EMPTY_RULES: u32 = 0;
    /// The host id of a line without a host.
    pub const NO_HOST: u32 = 0;
    /// The id of evicted clients and paths.
    pub const OTHER: u32 = u32::MAX;
    /// The id of several inputs together.
    pub const NO_INPUT: u32 = u32::MAX;

    /// Empty tables; the addresses of one IPv6 prefix count as one client.
    #[must_use]
    pub fn with_prefix(prefix: Option<Ipv6Prefix>) -> Self {
        Self { clients: ClientInterner::with_prefix(prefix), ..Self::default() }
    }

    /// Whether the tables are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty() && self.paths.keys().is_empty() && self.hosts.keys().len() <= 1 && self.rules.keys().len() <= 1
    }

    /// The id of a virtual host as logged.
    pub fn host(&mut self, host: Option<&[u8]>) -> u32 {
        let Some(host) = host else { return Self::NO_HOST };
        self.folded.clear();
        self.folded.extend_from_slice(host);
        self.folded.make_ascii_lowercase();
        self.hosts.intern(&*self.folded, Box::from)
    }

    /// Merges the tables of another worker.
    pub fn merge(&mut self, other: &Self) -> IdRemap {
        IdRemap {
            clients: self.clients.merge(&other.clients),
            paths: self.paths.merge(&other.paths),
            hosts: self.hosts.merge(&other.hosts),
            rules: self.rules.merge(&other.rules),
        }
    }
}
