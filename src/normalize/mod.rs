//! Decodes and normalises requests as logged to the views that rules match.
//!
//! Pure functions over bytes, with buffers of the caller. A plain target is returned unchanged after one pass over its bytes. This
//! module knows no rules. The views are not safe to display: hostile text stays hostile.

mod alt_decoder;
mod base64;
mod byte_class;
mod decode;
mod path;
mod query;
mod unescape;

pub use alt_decoder::{AltDecoder, AltDecoding, DecodingSource};
pub use decode::{DecodeRound, DecodeStatus, decode, rounds};
pub use unescape::unescape;

use std::ops::Range;

/// The views of a request target that rules match. Views that need no decoding borrow from the log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedViews<'a> {
    /// The target, decoded only.
    pub target: &'a [u8],
    /// The path decoded and normalised, with `..` unresolved. It ends before a `#`, as in nginx (RFC 3986, 3.5: clients do not send
    /// a fragment).
    pub path: &'a [u8],
    /// The path with `..` resolved, which reports call the path.
    pub resolved: &'a [u8],
    /// The query decoded, with `+` and comments as spaces.
    pub query: &'a [u8],
    /// More than [`MAX_ROUNDS`] rounds would have changed it.
    pub round_limit: bool,
}

impl<'a> DecodedViews<'a> {
    /// The views of a target that needs no decoding; `None` if it does.
    #[must_use]
    pub fn from_plain(target: &'a [u8]) -> Option<Self> {
        if !is_plain(target) {
            return None;
        }
        let (path, query) = split(target);
        Some(Self { target, path, resolved: path, query, round_limit: false })
    }
}

/// The buffers of [`Normalizer::views`], reused between lines.
#[derive(Debug, Default)]
pub struct Normalizer {
    sent: Vec<u8>,
    target: Vec<u8>,
    path: Vec<u8>,
    resolved: Vec<u8>,
    query: Vec<u8>,
    spare: Vec<u8>,
}

impl Normalizer {
    /// The views of a target as logged.
    #[must_use]
    pub fn views<'a>(&'a mut self, target: &'a [u8]) -> DecodedViews<'a> {
        DecodedViews::from_plain(target).unwrap_or_else(|| self.undo(target))
    }

    /// The views of a target that may need decoding.
    fn undo(&mut self, target: &[u8]) -> DecodedViews<'_> {
        unescape(target, &mut self.sent);
        let (path, query) = split(without_authority(&self.sent));
        let path = &path[..fragment(path).unwrap_or(path.len())];
        let rounds = [
            decode(&self.sent, &mut self.target, &mut self.spare),
            path::decode(path, &mut self.path, &mut self.spare),
            query::decode(query, &mut self.query, &mut self.spare),
        ];
        path::resolve(&self.path, &mut self.resolved);
        query::tidy(&mut self.query, &mut self.spare);
        DecodedViews {
            target: &self.target,
            path: &self.path,
            resolved: &self.resolved,
            query: &self.query,
            round_limit: rounds.contains(&DecodeStatus::RoundLimit),
        }
    }

    /// The same views in lower case, as rules match them.
    #[must_use]
    pub fn folded_views(&mut self, target: &[u8]) -> DecodedViews<'_> {
        if is_plain(target) {
            self.target.clear();
            self.target.extend_from_slice(target);
            self.target.make_ascii_lowercase();
            let (path, query) = split(&self.target);
            return DecodedViews { target: &self.target, path, resolved: path, query, round_limit: false };
        }
        let round_limit = self.undo(target).round_limit;
        for view in [&mut self.target, &mut self.path, &mut self.resolved, &mut self.query] {
            view.make_ascii_lowercase();
        }
        DecodedViews { target: &self.target, path: &self.path, resolved: &self.resolved, query: &self.query, round_limit }
    }

    /// A header as logged, decoded like a target and in lower case.
    #[must_use]
    pub fn folded_header(&mut self, text: &[u8]) -> &[u8] {
        self.decode_header(text);
        self.target.make_ascii_lowercase();
        &self.target
    }

    /// A header as logged, decoded like a target.
    #[must_use]
    pub fn header(&mut self, text: &[u8]) -> &[u8] {
        self.decode_header(text);
        &self.target
    }

    fn decode_header(&mut self, text: &[u8]) {
        if needs_decoding(text) {
            unescape(text, &mut self.sent);
            decode(&self.sent, &mut self.target, &mut self.spare);
        } else {
            self.target.clear();
            self.target.extend_from_slice(text);
        }
    }
}

/// Whether a text as logged holds a byte that begins an escape.
fn needs_decoding(text: &[u8]) -> bool {
    byte_class::all(text) & byte_class::ENCODED != 0
}

/// Path and query of a target.
fn split(target: &[u8]) -> (&[u8], &[u8]) {
    memchr::memchr(b'?', target).map_or((target, &[]), |q| (&target[..q], &target[q + 1..]))
}

/// The position of the `#` of a fragment in a path as sent.
fn fragment(path: &[u8]) -> Option<usize> {
    memchr::memchr(b'#', path)
}

/// Writes a request as a server without fragments reads it: each `#` in the path becomes `%23`. `target` is the range of the target
/// in the request. Returns the range of the new target; `None` if the path has no `#`.
pub fn escape_fragment(request: &[u8], target: Range<usize>, out: &mut Vec<u8>) -> Option<Range<usize>> {
    let (path, _) = split(&request[target.clone()]);
    fragment(path)?;
    let path = target.start..target.start + path.len();
    out.clear();
    out.extend_from_slice(&request[..path.start]);
    for &byte in &request[path.clone()] {
        out.extend_from_slice(if byte == b'#' { b"%23" } else { std::slice::from_ref(&byte) });
    }
    let grown = out.len() - path.end;
    out.extend_from_slice(&request[path.end..]);
    Some(target.start..target.end + grown)
}

/// A target without the `http://host` of the absolute form.
fn without_authority(target: &[u8]) -> &[u8] {
    let Some(scheme) = memchr::memmem::find(target, b"://") else { return target };
    if scheme == 0 || !target[..scheme].iter().all(u8::is_ascii_alphabetic) {
        return target;
    }
    let rest = &target[scheme + 3..];
    rest.iter().position(|b| matches!(b, b'/' | b'?')).map_or(b"/", |at| &rest[at..])
}

/// Whether all views equal the target: it begins with a slash and needs no decoding or normalization.
fn is_plain(target: &[u8]) -> bool {
    if target.first() != Some(&b'/') || byte_class::all(target) & byte_class::NEEDS_DECODING != 0 {
        return false;
    }
    let mut trigger = false;
    // No early exit, so that the compiler can vectorize the loop.
    for (&a, &b) in target.iter().zip(&target[1..]) {
        trigger |= (a == b'/') && (b == b'/') || (b == b'.');
        trigger |= (a == b'&') && (b == b'#') || (a == b' ') && (b == b'?');
    }
    !trigger && target.last() != Some(&b' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seen(target: &str) -> [String; 4] {
        let mut normalizer = Normalizer::default();
        let views = normalizer.views(target.as_bytes());
        [views.target, views.path, views.resolved, views.query].map(|v| String::from_utf8_lossy(v).into_owned())
    }

    #[test]
    fn decodes_paths() {
        for (target, path, resolved) in [
            ("/.env", "/.env", "/.env"),
            ("/%2e%65nv", "/.env", "/.env"),
            ("/%252e%2565nv", "/.env", "/.env"),
            ("/%u002eenv", "/.env", "/.env"),
            ("/%c0%aeenv", "/.env", "/.env"),
            ("/%e0%80%aeenv", "/.env", "/.env"),
            ("/%ef%bc%8eenv", "/.env", "/.env"),
            ("/%uff0eenv", "/.env", "/.env"),
            ("//./a//.git/./config", "/a/.git/config", "/a/.git/config"),
            ("/a/b/../../.env", "/a/b/../../.env", "/.env"),
            (r"/a\x5C..\x5C.env", "/a/../.env", "/.env"),
            (r"/a\\..\\.env", "/a/../.env", "/.env"),
            ("/a/..;/manager/html", "/a/../manager/html", "/manager/html"),
            ("/;x=1/actuator;jsessionid=1", "/actuator", "/actuator"),
            ("/.env%00.jpg", "/.env/.jpg", "/.env/.jpg"),
            ("/.e%09nv", "/.env", "/.env"),
            ("/.env%20%09?a=1", "/.env", "/.env"),
            ("/.env ?a=1", "/.env", "/.env"),
            ("/.%%0165nv", "/.env", "/.env"),
            ("http://example.org/wp-login.php?a=1", "/wp-login.php", "/wp-login.php"),
            ("http://example.org", "/", "/"),
            ("/cgi-bin/.%2e/.%2e/bin/sh", "/cgi-bin/../../bin/sh", "/bin/sh"),
            ("/../../etc/passwd", "/../../etc/passwd", "/etc/passwd"),
            ("/a/b/..", "/a/b/..", "/a/"),
            ("/.env#x", "/.env", "/.env"),
            ("/.e%6ev#", "/.env", "/.env"),
            ("/.env#/a.css?b=c", "/.env", "/.env"),
            ("/.env%23x", "/.env#x", "/.env#x"),
            ("/#/.env", "/", "/"),
            ("http://example.org/.env#/a", "/.env", "/.env"),
            ("*", "*", "*"),
            ("", "", ""),
        ] {
            let views = seen(target);
            assert_eq!([views[1].as_str(), views[2].as_str()], [path, resolved], "{target}");
        }
    }

    #[test]
    fn decodes_queries() {
        for (target, query) in [
            ("/?q=union+select", "q=union select"),
            ("/?q=a%2Bb", "q=a+b"),
            ("/?q=union/**/select/*x*/1", "q=union select 1"),
            ("/?q=/*!50000union*/+select", "q= union  select"),
            ("/?q=%26%23x3c%3bscript", "q=<script"),
            ("/?q=&#60;script&gt;", "q=<script>"),
            (r"/?q=\x5Cx3cscript\x5Cu003e", "q=<script>"),
            ("/?q=1%0aor%a01", "q=1 or 1"),
            ("/?q=%2527", "q='"),
            ("/?a=b?c=d", "a=b?c=d"),
            ("/?accept=*/*", "accept=*/*"),
        ] {
            assert_eq!(seen(target)[3], query, "{target}");
        }
    }

    #[test]
    fn the_target_is_only_decoded() {
        assert_eq!(seen("//a/..;/b%0d%0aX:1?q=1+2")[0], "//a/..;/b\r\nX:1?q=1+2");
    }

    #[test]
    fn reports_the_round_limit() {
        let mut normalizer = Normalizer::default();
        assert!(!normalizer.views(b"/%25252e").round_limit);
        assert!(normalizer.views(b"/%2525252525252e").round_limit);
    }

    /// Bytes of every class, and texts of adjacent escapes.
    fn any_text() -> impl Strategy<Value = Vec<u8>> {
        let pieces = prop::sample::select(vec![
            &b"%"[..],
            b"%25",
            b"25",
            b"2e",
            b"%2e",
            b"%u002e",
            b"%c0%ae",
            b"\xc0\xae",
            b"\xef\xbc\x8e",
            b"&#x2e;",
            b"&lt;",
            b"&",
            b"#",
            b"\\x2e",
            b"\\u002e",
            b"\\",
            b"/",
            b"//",
            b".",
            b"..",
            b";",
            b"?",
            b"+",
            b"/*",
            b"*/",
            b"/*!5",
            b"\0",
            b"\t",
            b"%01",
            b" ",
            b"a",
            b"://",
            b"u",
        ]);
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..80),
            prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat()),
            (prop::collection::vec(any::<u8>(), 0..20)).prop_map(|text| [b"/".as_slice(), &text].concat()),
        ]
    }

    proptest! {
        #[test]
        fn never_grows_and_a_second_pass_changes_nothing(target in any_text()) {
            let mut normalizer = Normalizer::default();
            let header = normalizer.folded_header(&target).len();
            prop_assert!(header <= target.len());
            let views = normalizer.views(&target);
            // An absolute URL without a path has the path `/`.
            let most = target.len().max(1);
            for view in [views.target, views.path, views.resolved, views.query] {
                prop_assert!(view.len() <= most);
            }
            if !views.round_limit {
                let (mut again, mut spare) = (Vec::new(), Vec::new());
                for view in [views.target, views.path, views.query] {
                    prop_assert_eq!(decode(view, &mut again, &mut spare), DecodeStatus::Complete);
                    prop_assert_eq!(again.as_slice(), view);
                }
            }
        }

        #[test]
        fn the_fast_path_gives_the_same_views(target in "/[a-z0-9/._?=&<>'()-]{0,60}") {
            let mut normalizer = Normalizer::default();
            let short = normalizer.views(target.as_bytes());
            let short = [short.target, short.path, short.resolved, short.query].map(<[u8]>::to_vec);
            // A needless escape at the start forces the slow path.
            let mut long = Normalizer::default();
            let escaped = format!("\\x{:02x}{}", target.as_bytes()[0], &target[1..]);
            let long = long.views(escaped.as_bytes());
            prop_assert_eq!(short, [long.target, long.path, long.resolved, long.query].map(<[u8]>::to_vec));
        }

        #[test]
        fn never_panics(target in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut normalizer = Normalizer::default();
            let _ = normalizer.views(&target);
            let _ = normalizer.folded_header(&target);
        }
    }
}
