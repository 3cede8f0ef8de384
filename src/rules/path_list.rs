//! Path lists: `.txt` files that become a rule without any format to learn.
//!
//! One path a line; `#` starts a comment. A line that is not a path is an error. It reads no file.

use std::path::Path;

use super::builder::{ExampleRequest, RuleBuilder, slug};
use super::error::RuleError;
use crate::log::finding::Severity;
use crate::text::normalize::Normalizer;

/// The most bytes of a path; no server accepts a longer target.
const MAX_LEN: usize = 2048;

/// Paths of a list that get a `must_match` case each.
const MATCH_CASES: usize = 3;

/// Whether a file is a path list, by its extension.
pub(super) fn is_list(file: &Path) -> bool {
    file.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("txt"))
}

/// The rule of a path list, and the line of its first path.
///
/// # Errors
///
/// Every line that is no path, with its number.
pub(super) fn parse(file: &Path, text: &str) -> Result<(RuleBuilder, usize), RuleError> {
    let name = file.display().to_string();
    let mut errors = Vec::new();
    let mut paths: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut first = 1;
    for (line, content) in lines(text) {
        match parse_path(content) {
            Ok(path) if seen.insert(path.to_ascii_lowercase()) => {
                first = if paths.is_empty() { line } else { first };
                paths.push(path);
            }
            Ok(_) => {}
            Err(message) => errors.push(RuleError::Line {
                file: name.clone(),
                line,
                message,
            }),
        }
    }
    if !errors.is_empty() {
        return Err(if errors.len() == 1 {
            errors.remove(0)
        } else {
            RuleError::Several(errors)
        });
    }
    if paths.is_empty() {
        return Err(RuleError::Syntax {
            file: name,
            message: "it holds no path; write one path a line, such as /old-admin.php".into(),
        });
    }
    let stem = file
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let title = format!(
        "Path of the list {}",
        file.file_name().unwrap_or_default().to_string_lossy()
    );
    let mut draft = RuleBuilder::new(
        format!("own/{}", slug(&stem, "list")),
        &title,
        "exposure",
        Severity::Medium,
    );
    draft.paths = paths;
    add_cases(&mut draft);
    Ok((draft, first))
}

/// The lines of a list that are not empty, without comments, and their numbers.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines()
        .enumerate()
        .map(|(n, line)| (n + 1, without_comment(line).trim()))
        .filter(|(_, line)| !line.is_empty())
}

/// A comment starts the line or follows a space: `/a#b` is a path with a fragment, which is an
/// error.
fn without_comment(line: &str) -> &str {
    let at = line.match_indices('#').map(|(at, _)| at).find(|at| {
        line[..*at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace)
    });
    at.map_or(line, |at| &line[..at])
}

/// Normalises a path like the path of a request. Drops scheme and host, and adds a missing slash.
///
/// # Errors
///
/// Why the text is no path.
pub(crate) fn parse_path(text: &str) -> Result<String, String> {
    let text = text.trim();
    let refuse = |why: &str| Err(format!("'{text}': {why}"));
    if text.len() > MAX_LEN {
        return Err(format!(
            "a path of {} bytes is too long; {MAX_LEN} is the most",
            text.len()
        ));
    }
    if text.contains('?') {
        return refuse(
            "this holds a query; write the path alone, or a rule with `words` for what is in the query",
        );
    }
    if text.contains('#') {
        return refuse("this holds a '#', which no browser sends; drop it and what follows");
    }
    if text.contains('*') {
        return refuse("'*' is no wildcard here; for a pattern, use `path_glob` in a rule file");
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return refuse(
            "a path holds no space; write one path a line, and a space within it as %20",
        );
    }
    let slash = if text.starts_with('/') || text.contains("://") {
        ""
    } else {
        "/"
    };
    let target = format!("{slash}{text}");
    let mut normalizer = Normalizer::default();
    let views = normalizer.views(target.as_bytes());
    let Ok(path) = String::from_utf8(views.resolved.to_vec()) else {
        return refuse("decoded, this is no UTF-8");
    };
    if !path.bytes().any(|b| b.is_ascii_alphanumeric() || b >= 0x80) || !path.starts_with('/') {
        return refuse("this names no file or folder; write a path such as /old-admin.php");
    }
    if views.round_limit || path.chars().any(char::is_control) {
        return refuse("this is encoded too many times; write the plain path");
    }
    Ok(path)
}

/// Adds cases to a rule that has only paths: `must_match` has a plain and an encoded request,
/// `must_not_match` similar ones.
pub(crate) fn add_cases(draft: &mut RuleBuilder) {
    let get = |target: &str| ExampleRequest::new(format!("GET {target}"));
    let (method, first_paths) = (
        draft.methods.first().map_or("GET", String::as_str),
        draft.paths.iter().take(MATCH_CASES),
    );
    draft.must_match = first_paths
        .map(|path| ExampleRequest::new(format!("{method} {}", encode_path(path))))
        .collect();
    let Some(first) = draft.paths.first() else {
        return;
    };
    draft.must_match.push(ExampleRequest::new(format!(
        "{method} {}",
        with_encoded_letter(first)
    )));
    let bare = first.trim_end_matches('/');
    let similar = [
        format!("{bare}-notes"),
        format!("/my-{}", &bare[1..]),
        format!("/about{}x", bare.replace('/', "-")),
    ];
    let must_not_match = similar.into_iter().filter(|target| {
        !draft
            .paths
            .iter()
            .any(|path| contains_segments(path, target))
    });
    draft.must_not_match = must_not_match
        .take(1)
        .map(|target| get(&encode_path(&target)))
        .collect();
    draft
        .must_not_match
        .push(get(&format!("/?page={}", encode_path(first))));
}

/// Whether a path of a rule is in a requested path, as whole segments.
pub(super) fn contains_segments(literal: &str, path: &str) -> bool {
    let (literal, path) = (literal.to_ascii_lowercase(), path.to_ascii_lowercase());
    path.match_indices(&literal).any(|(at, _)| {
        let rest = &path[at + literal.len()..];
        rest.is_empty() || rest.starts_with('/') || literal.ends_with('/')
    })
}

/// A path as a client sends it.
#[must_use]
pub(crate) fn encode_path(path: &str) -> String {
    percent_encoded(path, b"/-._~!$()=:@,")
}

/// A text with every byte percent-encoded except letters, digits and `unescaped`.
pub(super) fn percent_encoded(text: &str, unescaped: &[u8]) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || unescaped.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&percent_escape(byte));
        }
    }
    out
}

/// A path with one letter percent-encoded, as ordinary clients never send it.
fn with_encoded_letter(path: &str) -> String {
    let last = path.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
    let letter = path[last..]
        .find(|c: char| c.is_ascii_alphanumeric())
        .map(|at| last + at);
    match letter.or_else(|| path.find(|c: char| c.is_ascii_alphanumeric())) {
        Some(at) => format!(
            "{}{}{}",
            encode_path(&path[..at]),
            percent_escape(path.as_bytes()[at]),
            encode_path(&path[at + 1..])
        ),
        None => format!("/.{}", encode_path(path)),
    }
}

fn percent_escape(byte: u8) -> String {
    format!("%{byte:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_paths() {
        for (line, expected) in [
            ("/a.php", "/a.php"),
            ("a/b", "/a/b"),
            ("https://example.org/x/", "/x/"),
            ("/a//b/./c", "/a/b/c"),
            ("/%61dmin%20area", "/admin area"),
            ("/x/../y.php", "/y.php"),
        ] {
            assert_eq!(parse_path(line).as_deref(), Ok(expected), "{line}");
        }
        for line in [
            "/",
            "/a?b=1",
            "/a#b",
            "/a/*.php",
            "/a b",
            "https://example.org",
            "..",
            "/\u{1}",
            "/%ff%fe",
        ] {
            assert!(parse_path(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_list_is_one_rule() {
        let text = "\u{feff}# mine\r\n\r\n/old.php # gone\r\nadmin2/\r\n/OLD.php\r\n";
        let (draft, line) = parse(Path::new("My Paths.txt"), text).unwrap();
        assert_eq!((draft.id.as_str(), line), ("own/my-paths", 3));
        assert_eq!(draft.paths, ["/old.php", "/admin2/"]);
    }

    #[test]
    fn every_line_that_is_no_path_is_reported() {
        let error = parse(Path::new("a.txt"), "/a\n/b?c\n/d\n/\n")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("a.txt:2: '/b?c'") && error.contains("a.txt:4: '/'"),
            "{error}"
        );
        assert!(
            parse(Path::new("a.txt"), "# nothing\n")
                .unwrap_err()
                .to_string()
                .contains("one path a line")
        );
    }

    #[test]
    fn a_path_contains_whole_segments() {
        for (literal, path, expected) in [
            ("/a", "/a", true),
            ("/a", "/x/A/b", true),
            ("/a", "/ab", false),
            ("/a", "/ab/a", true),
            ("/a/", "/a/b", true),
            ("/a/", "/a", false),
        ] {
            assert_eq!(
                contains_segments(literal, path),
                expected,
                "{literal} {path}"
            );
        }
    }
}
