//! Path globs: `*` any characters but `/`, `**` any number of segments, `?` one character but `/`.

/// The regex a glob stands for: under any prefix, or with `root` only at the start, and to the end of the path.
pub(super) fn to_regex(glob: &str, root: bool) -> String {
    let mut regex = String::from(if root { "^" } else { "" });
    let mut rest = glob;
    while let Some(c) = rest.chars().next() {
        let (piece, length) = if rest.starts_with("**/") {
            ("(?:[^/]+/)*".to_owned(), 3)
        } else if rest.starts_with("**") {
            (".*".to_owned(), 2)
        } else if c == '*' {
            ("[^/]*".to_owned(), 1)
        } else if c == '?' {
            ("[^/]".to_owned(), 1)
        } else {
            (regex::escape(c.to_ascii_lowercase().encode_utf8(&mut [0; 4])), c.len_utf8())
        };
        regex.push_str(&piece);
        rest = &rest[length..];
    }
    regex.push('$');
    regex
}

/// The longest piece of a glob without a wildcard: every match holds it.
pub(super) fn anchor(glob: &str) -> &str {
    // `/a/**/b` also matches `/a/b`: a piece that `**` and a slash follow ends before them.
    glob.split("**/").flat_map(|part| part.split(['*', '?'])).max_by_key(|piece| piece.len()).unwrap_or("")
}

/// What every match ends in: the piece behind the last wildcard.
pub(super) fn tail(glob: &str) -> &str {
    glob.rsplit(['*', '?']).next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_paths() {
        for (glob, root, path, expected) in [
            ("/wp-includes/**/*.php", false, "/wp-includes/a.php", true),
            ("/wp-includes/**/*.php", false, "/blog/wp-includes/x/y/a.php", true),
            ("/wp-includes/**/*.php", false, "/wp-includes/a.php/b", false),
            ("/wp-includes/**/*.php", false, "/my-wp-includes/a.php", false),
            ("/wp-includes/**/*.php", true, "/blog/wp-includes/a.php", false),
            ("/a?.php", true, "/ab.php", true),
            ("/a?.php", true, "/a/.php", false),
            ("/x/**", true, "/x/y/z", true),
        ] {
            let regex = regex::Regex::new(&to_regex(glob, root)).unwrap();
            assert_eq!(regex.is_match(path), expected, "{glob} {path}");
        }
        assert_eq!(anchor("/wp-includes/**/*.php"), "/wp-includes/");
        assert_eq!(anchor("/**/x.php"), "x.php");
        assert_eq!(anchor("**"), "");
        assert_eq!(["/a/**/*.php", "/a/**", "/a/?b/c", "/a"].map(tail), [".php", "", "b/c", "/a"]);
    }
}
