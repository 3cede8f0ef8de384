//! Sizes of home pages, by host: what a site shows to everyone who asks for `/`.
//!
//! Holds a few sizes of each; a page that is served again and again costs a comparison.

use foldhash::HashMap;

use crate::soft_404::HomeSizes;

/// Sizes of home pages by the number of their host.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    sizes: HashMap<u32, HomeSizes>,
    /// The host and the size that were recorded last.
    last: Option<(u32, u64)>,
}

impl Homes {
    /// A host answered a request for its home page with so many bytes.
    #[inline]
    pub fn record(&mut self, host: u32, bytes: u64) {
        if self.last.replace((host, bytes)) != Some((host, bytes)) {
            self.sizes.entry(host).or_default().insert(bytes);
        }
    }

    /// The sizes of each host, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &HomeSizes)> {
        self.sizes.iter().map(|(host, sizes)| (*host, sizes))
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.sizes.clear();
        self.last = None;
    }
}
