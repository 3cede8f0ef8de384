//! Decodes and normalises requests as logged to the views that rules match.
//!
//! Pure functions over bytes, with buffers of the caller. A plain target is returned unchanged
//! after one pass over its bytes. Case is preserved for reports; matching folds it. This module
//! does not depend on rules. The views are not safe to display: hostile text stays hostile.

mod alt_decoder;
mod byte_class;
mod decode;

pub(crate) use alt_decoder::{AltDecoder, AltDecoding, DecodingSource};
pub(crate) use decode::{
    DecodeRound, DecodeStatus, MAX_ROUNDS, decode, round_with_starts, rounds, unescape,
};

use std::ops::Range;

use self::decode::decode_in_place;
use crate::text::short_bytes::{append, has_pair};

/// The views of a request target that rules match. Views that need no decoding borrow from the log
/// line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedViews<'a> {
    /// The target, decoded only.
    pub target: &'a [u8],
    /// The path decoded and normalised, with `..` unresolved. It ends before a `#`, as in nginx
    /// (RFC 3986, 3.5: clients do not send a fragment).
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
        Some(Self {
            target,
            path,
            resolved: path,
            query,
            round_limit: false,
        })
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
            decode_path(path, &mut self.path, &mut self.spare),
            decode_query(query, &mut self.query, &mut self.spare),
        ];
        resolve(&self.path, &mut self.resolved);
        tidy_query(&mut self.query, &mut self.spare);
        DecodedViews {
            target: &self.target,
            path: &self.path,
            resolved: &self.resolved,
            query: &self.query,
            round_limit: rounds.contains(&DecodeStatus::RoundLimit),
        }
    }

    /// The views of a target in lower case, as rules match them.
    #[must_use]
    pub fn folded_views(&mut self, target: &[u8]) -> DecodedViews<'_> {
        if is_plain(target) {
            self.target.clear();
            append(&mut self.target, target);
            self.target.make_ascii_lowercase();
            let (path, query) = split(&self.target);
            return DecodedViews {
                target: &self.target,
                path,
                resolved: path,
                query,
                round_limit: false,
            };
        }
        let round_limit = self.undo(target).round_limit;
        for view in [
            &mut self.target,
            &mut self.path,
            &mut self.resolved,
            &mut self.query,
        ] {
            view.make_ascii_lowercase();
        }
        DecodedViews {
            target: &self.target,
            path: &self.path,
            resolved: &self.resolved,
            query: &self.query,
            round_limit,
        }
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
            append(&mut self.target, text);
        }
    }
}

/// Whether a text as logged may have an escape. An `&` is the start of one only with the `#` or `;`
/// of an entity, and most separate parameters.
fn needs_decoding(text: &[u8]) -> bool {
    let kinds = byte_class::of_text(text);
    kinds & byte_class::ENCODED != 0
        || kinds & byte_class::ESCAPE != 0 && kinds & byte_class::NEEDS_DECODING != 0
}

/// Path and query of a target.
fn split(target: &[u8]) -> (&[u8], &[u8]) {
    memchr::memchr(b'?', target).map_or((target, &[]), |q| (&target[..q], &target[q + 1..]))
}

/// The position of the `#` of a fragment in a path as sent.
fn fragment(path: &[u8]) -> Option<usize> {
    memchr::memchr(b'#', path)
}

/// Another way in which a server may read the path of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathReading {
    /// As a server without fragments reads it: `#` is a byte of the path.
    Fragment,
    /// As a server that ends the path at a file: `/.env/` is `/.env`, and `/x.php/a.css` runs
    /// `/x.php` with `PATH_INFO`.
    PathInfo,
}

impl PathReading {
    /// All of them.
    pub(crate) const ALL: [Self; 2] = [Self::Fragment, Self::PathInfo];

    /// Writes a request that is read in this way by the ordinary rules. `target` is the range of
    /// the target in the request. Returns the range of the new target; `None` if it is the old one.
    pub(crate) fn rewrite(
        self,
        request: &[u8],
        target: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Option<Range<usize>> {
        let (path, _) = split(&request[target.clone()]);
        let end = match self {
            Self::Fragment => fragment(path).map(|_| path.len()),
            Self::PathInfo => file_end(path),
        }?;
        let path = target.start..target.start + path.len();
        out.clear();
        out.extend_from_slice(&request[..path.start]);
        for byte in &request[path.start..path.start + end] {
            let is_escaped = self == Self::Fragment && *byte == b'#';
            out.extend_from_slice(if is_escaped {
                b"%23"
            } else {
                std::slice::from_ref(byte)
            });
        }
        let query = out.len();
        out.extend_from_slice(&request[path.end..]);
        Some(target.start..query + target.end - path.end)
    }
}

/// The end of the first file in a path, if slashes follow it to the end, or segments follow a
/// script.
fn file_end(path: &[u8]) -> Option<usize> {
    let dot = memchr::memchr(b'.', path)?;
    memchr::memchr_iter(b'/', &path[dot..])
        .map(|at| dot + at)
        .find(|&end| {
            let name = &path[memchr::memrchr(b'/', &path[..end]).map_or(0, |slash| slash + 1)..end];
            let Some(dot) = memchr::memrchr(b'.', name) else {
                return false;
            };
            let is_last = || path[end..].iter().all(|byte| *byte == b'/');
            SCRIPTS
                .iter()
                .any(|extension| name[dot + 1..].eq_ignore_ascii_case(extension.as_bytes()))
                || is_last()
        })
}

/// The extensions of scripts, which servers run with the rest of the path as `PATH_INFO`.
const SCRIPTS: [&str; 14] = [
    "php", "php3", "php4", "php5", "php7", "phtml", "asp", "aspx", "ashx", "jsp", "jspx", "cgi",
    "cfm", "pl",
];

/// A target without the `http://host` of the absolute form.
fn without_authority(target: &[u8]) -> &[u8] {
    let Some(scheme) = memchr::memmem::find(target, b"://") else {
        return target;
    };
    if scheme == 0 || !target[..scheme].iter().all(u8::is_ascii_alphabetic) {
        return target;
    }
    let rest = &target[scheme + 3..];
    rest.iter()
        .position(|b| matches!(b, b'/' | b'?'))
        .map_or(b"/", |at| &rest[at..])
}

/// Whether all views equal the target: it begins with a slash and needs no decoding or
/// normalization.
fn is_plain(target: &[u8]) -> bool {
    if target.first() != Some(&b'/')
        || byte_class::of_text(target) & byte_class::NEEDS_DECODING != 0
    {
        return false;
    }
    let is_trigger = |a, b| is_untidy(a, b) || a == b'&' && b == b'#' || a == b' ' && b == b'?';
    !has_pair(target, is_trigger) && target.last() != Some(&b' ')
}

/// Whether two adjacent bytes may make [`tidy_path`] remove something: `//` or `/.`.
fn is_untidy(a: u8, b: u8) -> bool {
    a == b'/' && (b == b'/' || b == b'.')
}

/// Decodes and normalises a path into `out`. If a control byte was inside an escape, the rest is
/// decoded again.
fn decode_path(path: &[u8], out: &mut Vec<u8>, spare: &mut Vec<u8>) -> DecodeStatus {
    out.clear();
    append(out, path);
    let mut rounds = decode_in_place(out, spare);
    for _ in 0..MAX_ROUNDS {
        if !tidy_path(out) {
            return rounds;
        }
        rounds = rounds.max(decode_in_place(out, spare));
    }
    tidy_path(out);
    DecodeStatus::RoundLimit
}

/// Normalises a decoded path in place: `\` and NUL become `/`; `;params`, other control bytes and
/// trailing spaces are removed; `//` and `/./` become `/`. `..` is kept. Returns whether control
/// bytes were removed, which may have been inside an escape.
fn tidy_path(path: &mut Vec<u8>) -> bool {
    if is_tidy(path) {
        return false;
    }
    let (mut write, mut skipping, mut dropped) = (0, false, false);
    for read in 0..path.len() {
        let byte = match path[read] {
            // Some servers stop at NUL, others drop it; as a slash it ends a segment for both.
            b'\\' | 0 => b'/',
            other => other,
        };
        match byte {
            b'/' => {
                skipping = false;
                write = drop_dot(path, write);
                if write > 0 && path[write - 1] == b'/' {
                    continue;
                }
            }
            b';' => skipping = true,
            0x01..=0x1f | 0x7f => {
                dropped = true;
                continue;
            }
            _ => {}
        }
        if !skipping {
            path[write] = byte;
            write += 1;
        }
    }
    while path[..write].ends_with(b" ") {
        write -= 1;
    }
    write = drop_dot(path, write);
    path.truncate(write);
    dropped
}

/// Whether [`tidy_path`] changes nothing, as for most paths.
fn is_tidy(path: &[u8]) -> bool {
    if path.last().is_none_or(|&last| last == b' ')
        || byte_class::of_text(path) & byte_class::NEEDS_DECODING != 0
    {
        return false;
    }
    !has_pair(path, is_untidy)
}

/// Drops a `.` segment that ends at `end`.
fn drop_dot(path: &[u8], end: usize) -> usize {
    if path[..end].ends_with(b"/.") {
        end - 1
    } else {
        end
    }
}

/// Resolves the `..` segments of a normalised path; those above the root are ignored.
fn resolve(path: &[u8], resolved: &mut Vec<u8>) {
    resolved.clear();
    for segment in path.split_inclusive(|&b| b == b'/') {
        if !matches!(segment, b"../" | b"..") {
            append(resolved, segment);
            continue;
        }
        // Remove the slash, then the segment before it.
        let end = resolved.len().saturating_sub(1);
        let keep = resolved[..end]
            .iter()
            .rposition(|&b| b == b'/')
            .map_or(0, |slash| slash + 1);
        resolved.truncate(if end == 0 { resolved.len() } else { keep });
    }
}

/// Decodes a query into `out`. `+` becomes a space before decoding, so that `%2B` stays a plus.
fn decode_query(query: &[u8], out: &mut Vec<u8>, spare: &mut Vec<u8>) -> DecodeStatus {
    out.clear();
    out.extend(query.iter().map(|&b| if b == b'+' { b' ' } else { b }));
    decode_in_place(out, spare)
}

/// Replaces control bytes, the no-break space of Latin-1 and SQL comments by spaces. The content of
/// `/*!50000 ... */` is kept, because `MySQL` runs it.
fn tidy_query(query: &mut Vec<u8>, spare: &mut Vec<u8>) {
    for at in 0..query.len() {
        if is_space(query, at) {
            query[at] = b' ';
        }
    }
    if memchr::memmem::find(query, b"/*").is_some() {
        spare.clear();
        without_comments(query, b" ", spare);
        std::mem::swap(query, spare);
    }
}

/// Whether a database reads the byte at `at` as a space: a control byte, or a no-break space that
/// is not part of UTF-8.
fn is_space(text: &[u8], at: usize) -> bool {
    let byte = text[at];
    byte < 0x20 || byte == 0x7f || (byte == 0xa0 && (at == 0 || text[at - 1] < 0x80))
}

/// Appends a text with its SQL comments replaced by `gap`.
fn without_comments(text: &[u8], gap: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(start) = memchr::memmem::find(rest, b"/*") {
        let Some(length) = memchr::memmem::find(&rest[start + 2..], b"*/") else {
            break;
        };
        out.extend_from_slice(&rest[..start]);
        out.extend_from_slice(gap);
        let inside = &rest[start + 2..start + 2 + length];
        if let Some(run) = inside.strip_prefix(b"!") {
            let version = run.iter().take_while(|b| b.is_ascii_digit()).count();
            out.extend_from_slice(&run[version..]);
            out.extend_from_slice(gap);
        }
        rest = &rest[start + length + 4..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen(target: &str) -> [String; 4] {
        let mut normalizer = Normalizer::default();
        let views = normalizer.views(target.as_bytes());
        [views.target, views.path, views.resolved, views.query]
            .map(|v| String::from_utf8_lossy(v).into_owned())
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
            (
                "http://example.org/wp-login.php?a=1",
                "/wp-login.php",
                "/wp-login.php",
            ),
            ("http://example.org", "/", "/"),
            (
                "/cgi-bin/.%2e/.%2e/bin/sh",
                "/cgi-bin/../../bin/sh",
                "/bin/sh",
            ),
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
            assert_eq!(
                [views[1].as_str(), views[2].as_str()],
                [path, resolved],
                "{target}"
            );
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
    fn a_path_ends_at_a_file() {
        for (path, file) in [
            ("/.env/", Some("/.env")),
            ("/a/id.bak//", Some("/a/id.bak")),
            ("/wp-login.php/x.css", Some("/wp-login.php")),
            ("/a.PHP/b/c.php/", Some("/a.PHP")),
            ("/a.zip/preview", None),
            ("/sites/www.example.com/logo.png", None),
            ("/v1.2/a", None),
            ("/a.php", None),
            ("/a/", None),
        ] {
            assert_eq!(
                file_end(path.as_bytes()).map(|end| &path[..end]),
                file,
                "{path}"
            );
        }
        let (mut out, request) = (Vec::new(), b"GET /x.php/a#b?c=d HTTP/1.1");
        let target = PathReading::PathInfo.rewrite(request, 4..18, &mut out);
        assert_eq!(
            (out.as_slice(), target),
            (&b"GET /x.php?c=d HTTP/1.1"[..], Some(4..14))
        );
    }

    #[test]
    fn the_target_is_only_decoded() {
        assert_eq!(
            seen("//a/..;/b%0d%0aX:1?q=1+2")[0],
            "//a/..;/b\r\nX:1?q=1+2"
        );
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
            (prop::collection::vec(any::<u8>(), 0..20))
                .prop_map(|text| [b"/".as_slice(), &text].concat()),
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
        fn a_text_that_needs_no_decoding_is_unchanged(text in "[a-zlt60%&#;=?+* \\u{e9}\\u{ff0f}\\\\-]{0,12}") {
            if !needs_decoding(text.as_bytes()) {
                let (mut sent, mut decoded, mut spare) = (Vec::new(), Vec::new(), Vec::new());
                unescape(text.as_bytes(), &mut sent);
                decode(&sent, &mut decoded, &mut spare);
                prop_assert_eq!(decoded.as_slice(), text.as_bytes());
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
