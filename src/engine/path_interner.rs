//! The ids of paths that no rule matched and that `learn` can propose.
//!
//! Assets, pages that every browser requests, and paths that a rule cannot name literally are
//! skipped here, so that they cost nothing later. Clients do not matter here.

use crate::collections::fingerprint::{Fingerprinter, SetAssocCache};
use crate::collections::intern::SymbolTables;
use crate::log::log_entry::{LogEntry, RequestLine};
use crate::text::normalize::Normalizer;
use crate::text::short_bytes::append;

/// Interns the paths of requests, and caches the ids of earlier requests.
#[derive(Debug, Default)]
pub(super) struct PathInterner {
    take: Fingerprinter,
    /// Allocated on first use: a scan does not need it.
    numbers: Option<SetAssocCache<u32, 4>>,
    normalizer: Normalizer,
    request: Vec<u8>,
    path: Vec<u8>,
}

/// The id of a skipped path.
const SKIPPED: u32 = u32::MAX;

/// The longest path that can be proposed; file names that people choose are shorter.
const MAX_PATH_LEN: usize = 128;

/// Bytes of a target that are kept as an example.
const EXAMPLE: usize = 256;

/// Extensions of assets that browsers fetch with a page.
const ASSETS: [&[u8]; 22] = [
    b"avif", b"bmp", b"css", b"eot", b"gif", b"ico", b"jpeg", b"jpg", b"js", b"m4a", b"map",
    b"mjs", b"mp3", b"mp4", b"ogg", b"otf", b"png", b"svg", b"ttf", b"webp", b"woff", b"woff2",
];

/// Common paths at the root of a site.
const COMMON_PATHS: [&[u8]; 14] = [
    b"/",
    b"/ads.txt",
    b"/app-ads.txt",
    b"/atom.xml",
    b"/browserconfig.xml",
    b"/favicon.ico",
    b"/humans.txt",
    b"/index.html",
    b"/index.php",
    b"/manifest.json",
    b"/robots.txt",
    b"/rss.xml",
    b"/security.txt",
    b"/site.webmanifest",
];

impl PathInterner {
    /// The id of a request's path in lower case; `None` if it is skipped.
    pub(super) fn intern(&mut self, request: &[u8], names: &mut SymbolTables) -> Option<u32> {
        // A copy: the bytes of a memory map may change, and the id is cached.
        self.request.clear();
        append(&mut self.request, request);
        let numbers = self
            .numbers
            .get_or_insert_with(|| SetAssocCache::new(1 << 14));
        let text = self.take.fingerprint(&self.request);
        let intern = numbers.get(text).unwrap_or_else(|| {
            let target = RequestLine::parse(&self.request).target;
            self.path.clear();
            append(
                &mut self.path,
                self.normalizer.folded_views(target).resolved,
            );
            let can_be_learnt =
                is_candidate(&self.path) && is_canonical(&self.path, &mut self.normalizer);
            let intern = if can_be_learnt {
                names.paths.intern(self.path.as_slice(), Box::from)
            } else {
                SKIPPED
            };
            numbers.insert(text, intern);
            intern
        });
        (intern != SKIPPED).then_some(intern)
    }
}

fn is_candidate(path: &[u8]) -> bool {
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or_default();
    let extension = name
        .iter()
        .rposition(|&b| b == b'.')
        .map_or(&b""[..], |dot| &name[dot + 1..]);
    path.first() == Some(&b'/')
        && path.len() <= MAX_PATH_LEN
        && path.iter().all(|b| b.is_ascii_graphic() && *b != b'%')
        && !ASSETS.contains(&extension)
        && !COMMON_PATHS.contains(&path)
        && !path.starts_with(b"/.well-known/")
        && !name.starts_with(b"sitemap")
        && !name.starts_with(b"apple-touch-icon")
}

/// Whether the path decodes to itself: a rule and its cases hold it literally.
fn is_canonical(path: &[u8], normalizer: &mut Normalizer) -> bool {
    let views = normalizer.folded_views(path);
    views.resolved == path && views.path == path
}

/// Whether the client followed a link from another page. Many brute force tools send the requested
/// page as referer.
pub(super) fn is_linked(record: &LogEntry<'_>) -> bool {
    let Some(referer) = record.referer else {
        return false;
    };
    let Some(scheme) = memchr::memmem::find(referer, b"://") else {
        return false;
    };
    let rest = &referer[scheme + 3..];
    let page = memchr::memchr(b'/', rest).map_or(&b"/"[..], |slash| &rest[slash..]);
    !without_query(page).eq_ignore_ascii_case(example(record.request))
}

/// The example to show for a request: its target without the query, truncated.
pub(super) fn example(request: &[u8]) -> &[u8] {
    let path = without_query(RequestLine::parse(request).target);
    &path[..path.len().min(EXAMPLE)]
}

fn without_query(target: &[u8]) -> &[u8] {
    &target[..memchr::memchr(b'?', target).unwrap_or(target.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_paths_have_one_id() {
        let (mut interner, mut names) = (PathInterner::default(), SymbolTables::default());
        let mut intern =
            |target: &str| interner.intern(format!("GET {target} HTTP/1.1").as_bytes(), &mut names);
        let first = intern("/Old.php?a=1");
        assert!(first.is_some());
        for same in [
            "/Old.php?a=1",
            "/old.php",
            "//old.php",
            "/x/../old%2ephp",
            "http://h/old.php",
        ] {
            assert_eq!(intern(same), first, "{same}");
        }
        assert_ne!(intern("/older.php"), first);
        for passed_over in [
            "/",
            "/?x",
            "/robots.txt",
            "/a/b.css",
            "/sitemap_index.xml",
            "/.well-known/x",
            "/a%00b\u{e4}",
            "/%25x",
            "/a%20b",
            "x",
        ] {
            assert_eq!(intern(passed_over), None, "{passed_over}");
        }
        assert_eq!(intern(&format!("/{}", "a".repeat(MAX_PATH_LEN))), None);
    }

    #[test]
    fn a_link_leads_from_another_page() {
        let linked = |referer: Option<&str>| {
            is_linked(&LogEntry {
                request: b"GET /a.php?x HTTP/1.1",
                referer: referer.map(str::as_bytes),
                ..LogEntry::default()
            })
        };
        assert!(
            linked(Some("https://example.org/"))
                && linked(Some("https://example.org"))
                && linked(Some("http://h/b.php"))
        );
        for none in [
            None,
            Some(""),
            Some("x"),
            Some("http://h/a.php"),
            Some("http://h/A.php?y"),
        ] {
            assert!(!linked(none), "{none:?}");
        }
    }
}
