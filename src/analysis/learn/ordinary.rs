//! The pages of a site: what clients that do not probe asked for and got, by whatever way they came to it.
//!
//! What was never given to an ordinary client is not the site's, as far as its log can tell.

use super::prober::KnownProbers;
use crate::tally::Tally;

/// The paths that ordinary clients were given, sorted.
pub(crate) struct NormalPages<'a> {
    paths: Vec<&'a [u8]>,
}

impl<'a> NormalPages<'a> {
    pub(crate) fn new(tally: &'a Tally, probers: &KnownProbers<'_>) -> Self {
        let unlisted = tally.unmatched();
        let given = unlisted.pairs().filter(|(client, _, got)| *got && !probers.contains(*client)).map(|(_, path, _)| path);
        Self::from_paths(unlisted.normal_paths().chain(given).map(|path| tally.path(path)).collect())
    }

    fn from_paths(mut paths: Vec<&'a [u8]>) -> Self {
        paths.sort_unstable();
        paths.dedup();
        Self { paths }
    }

    /// Whether a rule on this path would find an ordinary page: the path itself, or one below it.
    pub(crate) fn covers(&self, path: &[u8]) -> bool {
        let folder = [path.strip_suffix(b"/").unwrap_or(path), b"/"].concat();
        let is_there = |start: &[u8]| self.paths.get(self.paths.partition_point(|p| *p < start)).is_some_and(|p| p.starts_with(start));
        self.paths.binary_search(&path).is_ok() || is_there(&folder)
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::learn::ordinary::*;

    #[test]
    fn a_folder_with_an_ordinary_page_is_ordinary() {
        let ordinary = NormalPages::from_paths(vec![b"/shop/item", b"/blog", b"/shop-old/x"]);
        for path in ["/blog", "/shop", "/shop/", "/shop/item", "/shop-old"] {
            assert!(ordinary.covers(path.as_bytes()), "{path}");
        }
        for path in ["/blo", "/blog/", "/shop/ite", "/shop/item.php", "/z"] {
            assert!(!ordinary.covers(path.as_bytes()), "{path}");
        }
    }
}
