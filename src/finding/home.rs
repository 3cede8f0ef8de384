//! Sizes of home pages, by host: what a site shows to everyone who requests `/`.
//!
//! Holds each size of a run of lines once; a page that is served again and again costs a comparison.

use foldhash::HashSet;

/// Sizes of home pages by the number of their host.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    sizes: HashSet<(u32, u64)>,
    /// The host and the size that were recorded last.
    last: Option<(u32, u64)>,
}

impl Homes {
    /// A host answered a request for its home page with so many bytes.
    #[inline]
    pub fn record(&mut self, host: u32, bytes: u64) {
        if self.last.replace((host, bytes)) != Some((host, bytes)) {
            self.sizes.insert((host, bytes));
        }
    }

    /// Hosts and sizes, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        self.sizes.iter().copied()
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.sizes.clear();
        self.last = None;
    }
}
