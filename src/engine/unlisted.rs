//! Of requests that no rule matched: which paths can be learnt, and what numbers they have.
//!
//! Assets, the pages that everyone asks for, and paths that no rule could name as they are, are passed over here, so
//! that they cost nothing later. Who asked is not looked at.

use crate::fingerprint::{Fingerprinter, SetAssocCache};
use crate::intern::SymbolTables;
use crate::log_entry::{LogEntry, RequestLine};
use crate::normalize::Normalizer;

/// Numbers the paths of requests, and remembers those of requests that came before.
#[derive(Debug, Default)]
pub(super) struct Numberer {
    take: Fingerprinter,
    /// Made when it is first needed: a scan needs none.
    numbers: Option<SetAssocCache<u32, 4>>,
    normalizer: Normalizer,
    request: Vec<u8>,
    path: Vec<u8>,
}

/// Stands for a path that is passed over.
const PASSED_OVER: u32 = u32::MAX;

/// The longest path that is learnt; names that people gave to files are shorter.
const LONGEST: usize = 128;

/// Bytes of a target that are kept as an example.
const EXAMPLE: usize = 256;

/// What pages are made of, and what a browser fetches along with them.
const ASSETS: [&[u8]; 22] = [
    b"avif", b"bmp", b"css", b"eot", b"gif", b"ico", b"jpeg", b"jpg", b"js", b"m4a", b"map", b"mjs", b"mp3", b"mp4", b"ogg", b"otf",
    b"png", b"svg", b"ttf", b"webp", b"woff", b"woff2",
];

/// What everyone asks for, at the root of a site.
const EVERYONES: [&[u8]; 14] = [
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

impl Numberer {
    /// The number of a request's path in lower case; `None` where it is passed over.
    pub(super) fn number(&mut self, request: &[u8], names: &mut SymbolTables) -> Option<u32> {
        // A copy that stays what it is: the bytes of a map may change, and a number is remembered.
        self.request.clear();
        self.request.extend_from_slice(request);
        let numbers = self.numbers.get_or_insert_with(|| SetAssocCache::new(1 << 14));
        let text = self.take.of(&self.request);
        let number = numbers.get(text).unwrap_or_else(|| {
            let target = RequestLine::parse(&self.request).target;
            self.path.clear();
            self.path.extend_from_slice(self.normalizer.folded_views(target).resolved);
            let can_be_learnt = is_candidate(&self.path) && means_itself(&self.path, &mut self.normalizer);
            let number = if can_be_learnt { names.paths.intern(self.path.as_slice(), Box::from) } else { PASSED_OVER };
            numbers.put(text, number);
            number
        });
        (number != PASSED_OVER).then_some(number)
    }
}

fn is_candidate(path: &[u8]) -> bool {
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or_default();
    let extension = name.iter().rposition(|&b| b == b'.').map_or(&b""[..], |dot| &name[dot + 1..]);
    path.first() == Some(&b'/')
        && path.len() <= LONGEST
        && path.iter().all(|b| b.is_ascii_graphic() && *b != b'%')
        && !ASSETS.contains(&extension)
        && !EVERYONES.contains(&path)
        && !path.starts_with(b"/.well-known/")
        && !name.starts_with(b"sitemap")
        && !name.starts_with(b"apple-touch-icon")
}

/// Whether a request for just this path comes to this path: a rule and its cases write it down as it is.
fn means_itself(path: &[u8], normalizer: &mut Normalizer) -> bool {
    let views = normalizer.folded_views(path);
    views.resolved == path && views.path == path
}

/// Whether the client says that it followed a link: from another page than the one it asks for, as many a brute force
/// has it.
pub(super) fn is_linked(record: &LogEntry<'_>) -> bool {
    let Some(referer) = record.referer else { return false };
    let Some(scheme) = memchr::memmem::find(referer, b"://") else { return false };
    let rest = &referer[scheme + 3..];
    let page = memchr::memchr(b'/', rest).map_or(&b"/"[..], |slash| &rest[slash..]);
    !without_query(page).eq_ignore_ascii_case(example(record.request))
}

/// What is kept of a request to show: its target without the query, or the beginning of that.
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
    fn a_path_is_numbered_once_however_it_is_written() {
        let (mut numberer, mut names) = (Numberer::default(), SymbolTables::default());
        let mut number = |target: &str| numberer.number(format!("GET {target} HTTP/1.1").as_bytes(), &mut names);
        let first = number("/Old.php?a=1");
        assert!(first.is_some());
        for same in ["/Old.php?a=1", "/old.php", "//old.php", "/x/../old%2ephp", "http://h/old.php"] {
            assert_eq!(number(same), first, "{same}");
        }
        assert_ne!(number("/older.php"), first);
        for passed_over in
            ["/", "/?x", "/robots.txt", "/a/b.css", "/sitemap_index.xml", "/.well-known/x", "/a%00b\u{e4}", "/%25x", "/a%20b", "x"]
        {
            assert_eq!(number(passed_over), None, "{passed_over}");
        }
        assert_eq!(number(&format!("/{}", "a".repeat(LONGEST))), None);
    }

    #[test]
    fn a_link_leads_from_another_page() {
        let linked = |referer: Option<&str>| {
            is_linked(&LogEntry { request: b"GET /a.php?x HTTP/1.1", referer: referer.map(str::as_bytes), ..LogEntry::default() })
        };
        assert!(linked(Some("https://example.org/")) && linked(Some("https://example.org")) && linked(Some("http://h/b.php")));
        for none in [None, Some(""), Some("x"), Some("http://h/a.php"), Some("http://h/A.php?y")] {
            assert!(!linked(none), "{none:?}");
        }
    }
}
