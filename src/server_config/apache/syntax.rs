//! Splits an Apache configuration into lines and words, and expands its variables.
//!
//! One directive per line, continued after a backslash, with sections in angle brackets. Follows
//! Apache's own functions (`ap_cfg_getline`, `ap_getword_conf`). Source:
//! <https://httpd.apache.org/docs/2.4/configuring.html>.
//!
//! Variables come from `Define` and from Debian's `envvars` file, a shell script that is not run:
//! only simple assignments are understood. Sources:
//! <https://httpd.apache.org/docs/2.4/configuring.html#syntax>, `/etc/apache2/envvars` of Debian.

use std::collections::HashMap;
use std::path::Path;

use crate::server_config;

/// A directive, or the start or end of a section.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConfigLine {
    /// The number of its first line, from 1.
    pub(super) number: usize,
    /// The joined lines, without surrounding whitespace.
    pub(super) text: Vec<u8>,
}

/// The lines of a text, without empty lines and comments.
pub(super) fn lines(text: &[u8]) -> Vec<ConfigLine> {
    let mut lines = Vec::new();
    let mut open: Option<ConfigLine> = None;
    for (number, part) in text
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(text)
        .split(|byte| *byte == b'\n')
        .enumerate()
    {
        let part = part.strip_suffix(b"\r").unwrap_or(part);
        let mut line = open.take().unwrap_or(ConfigLine {
            number: number + 1,
            text: Vec::new(),
        });
        let (part, goes_on) = continued(part);
        line.text.extend_from_slice(part);
        if goes_on {
            open = Some(line);
        } else {
            lines.push(line);
        }
    }
    lines.extend(open);
    for line in &mut lines {
        line.text = line.text.trim_ascii().to_vec();
    }
    lines.retain(|line| !line.text.is_empty() && !line.text.starts_with(b"#"));
    lines
}

/// Two backslashes at the end of a line are a literal one, and the line ends.
fn continued(part: &[u8]) -> (&[u8], bool) {
    match part {
        [.., b'\\', b'\\'] => (&part[..part.len() - 1], false),
        [rest @ .., b'\\'] => (rest, true),
        _ => (part, false),
    }
}

/// The first word of a line in lower case, and the rest.
pub(super) fn split(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let end = text
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(text.len());
    (
        text[..end].to_ascii_lowercase(),
        text[end..].trim_ascii_start(),
    )
}

/// The words after the name of a directive, without quotes.
pub(super) fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut rest = text.trim_ascii_start();
    while let Some(&first) = rest.first() {
        let quote = Some(first).filter(|byte| matches!(byte, b'"' | b'\''));
        let (word, used) = word(if quote.is_some() { &rest[1..] } else { rest }, quote);
        words.push(word);
        rest = rest[used + usize::from(quote.is_some())..].trim_ascii_start();
    }
    words
}

/// A word, and its length including the closing quote.
fn word(text: &[u8], quote: Option<u8>) -> (Vec<u8>, usize) {
    let mut word = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match (byte, quote) {
            (byte, Some(quote)) if byte == quote => return (word, at + 1),
            (byte, None) if byte.is_ascii_whitespace() => return (word, at),
            (b'\\', _)
                if text
                    .get(at + 1)
                    .is_some_and(|next| *next == b'\\' || Some(*next) == quote) =>
            {
                word.push(text[at + 1]);
                at += 2;
            }
            _ => {
                word.push(byte);
                at += 1;
            }
        }
    }
    (word, at)
}

/// Variables and their values.
#[derive(Debug, Default)]
pub(super) struct ApacheVariables {
    values: HashMap<Vec<u8>, Vec<u8>>,
}

impl ApacheVariables {
    /// The variables of the `envvars` file in this folder, if there is one.
    pub(super) fn from_envvars(folder: &Path) -> Self {
        let mut variables = Self::default();
        // A second instance on Debian has its own folder, apache2-NAME, and a suffix for all its
        // folders.
        let name = folder
            .file_name()
            .map(|name| name.as_encoded_bytes().to_vec())
            .unwrap_or_default();
        let suffix = name
            .strip_prefix(b"apache2-")
            .map(|name| [b"-", name].concat())
            .unwrap_or_default();
        variables.define(b"SUFFIX", suffix);
        if let Ok(text) = server_config::read_config(&folder.join("envvars")) {
            for line in text.split(|byte| *byte == b'\n') {
                variables.read_shell_line(line);
            }
        }
        variables
    }

    pub(super) fn define(&mut self, name: &[u8], value: Vec<u8>) {
        self.values.insert(name.to_vec(), value);
    }

    pub(super) fn undefine(&mut self, name: &[u8]) {
        self.values.remove(name);
    }

    pub(super) fn has(&self, name: &[u8]) -> bool {
        self.values.contains_key(name)
    }

    /// Expands each `${NAME}` that is known; others stay.
    pub(super) fn expand(&self, text: &[u8]) -> Vec<u8> {
        self.substitute(text, false)
    }

    /// Reads a line of shell: `export NAME=value`, `NAME=value`, `: ${NAME:=value}`. Indented lines
    /// are conditional and ignored.
    fn read_shell_line(&mut self, line: &[u8]) {
        let line = line.trim_ascii_end();
        let line = line.strip_prefix(b"export ").unwrap_or(line);
        let (assignment, sign) = match line
            .strip_prefix(b": ${")
            .and_then(|rest| rest.strip_suffix(b"}"))
        {
            Some(default) => (default, &b":="[..]),
            None => (line, &b"="[..]),
        };
        let Some(at) = assignment
            .windows(sign.len())
            .position(|window| window == sign)
        else {
            return;
        };
        let (name, value) = (&assignment[..at], &assignment[at + sign.len()..]);
        if name.is_empty()
            || !name
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        {
            return;
        }
        let quoted = |quote: &[u8; 1]| {
            value
                .strip_prefix(quote)
                .and_then(|value| value.strip_suffix(quote))
        };
        let value = quoted(b"'").map_or_else(
            || self.substitute(quoted(b"\"").unwrap_or(value), true),
            <[u8]>::to_vec,
        );
        self.define(name, value);
    }

    /// Replaces variables. With `shell_syntax`, braces are optional and unknown variables are
    /// empty.
    fn substitute(&self, text: &[u8], shell_syntax: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        while let [byte, tail @ ..] = rest {
            rest = tail;
            if *byte != b'$' {
                out.push(*byte);
                continue;
            }
            let Some((name, after)) = name(tail, shell_syntax) else {
                out.push(b'$');
                continue;
            };
            match self.values.get(name) {
                Some(value) => out.extend_from_slice(value),
                None if shell_syntax => {}
                None => out.extend([b"${", name, b"}"].concat()),
            }
            rest = after;
        }
        out
    }
}

/// The name after a `$`, and the rest.
fn name(text: &[u8], shell_syntax: bool) -> Option<(&[u8], &[u8])> {
    if let Some(rest) = text.strip_prefix(b"{") {
        let end = rest.iter().position(|byte| *byte == b'}')?;
        return Some((&rest[..end], &rest[end + 1..]));
    }
    let end = text
        .iter()
        .position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .unwrap_or(text.len());
    (shell_syntax && end > 0).then(|| text.split_at(end))
}

/// Replaces each parameter of a `<Macro>` (`$name`, `%name`, `@name`) with a variable that is never
/// defined, since its value depends on where the macro is used. Source:
/// <https://httpd.apache.org/docs/2.4/mod/mod_macro.html>.
pub(super) fn mask_parameters(text: &[u8], parameters: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        // The longest match first: $host and $hostname.
        let longest = parameters
            .iter()
            .filter(|name| !name.is_empty() && rest.starts_with(name))
            .max_by_key(|name| name.len());
        if let Some(name) = longest {
            out.extend_from_slice(b"${macro}");
            rest = &rest[name.len()..];
        } else {
            out.push(*byte);
            rest = tail;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn texts(text: &[u8]) -> Vec<(usize, String)> {
        lines(text)
            .into_iter()
            .map(|line| (line.number, String::from_utf8(line.text).unwrap()))
            .collect()
    }

    #[test]
    fn lines_continue_after_a_backslash() {
        let text = b"\xef\xbb\xbfa 1\r\n# no \\\n no\n\n  b \\\n 2 \\\n 3\nc \\\\\nd \\";
        assert_eq!(
            texts(text),
            [
                (1, "a 1".into()),
                (5, "b  2  3".into()),
                (8, "c \\".into()),
                (9, "d".into())
            ]
        );
    }

    #[test]
    fn quotes_are_removed_from_words() {
        let of = |text: &[u8]| {
            words(text)
                .into_iter()
                .map(|word| String::from_utf8(word).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            of(br#""%h \"%r\" %>s" combined"#),
            [r#"%h "%r" %>s"#, "combined"]
        );
        assert_eq!(of(br#"a 'b "c' "d\\e\t""#), ["a", "b \"c", r"d\e\t"]);
        assert_eq!(of(b" \"open "), ["open "]);
        assert_eq!(
            split(b"CustomLog  a b"),
            (b"customlog".to_vec(), &b"a b"[..])
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            for line in lines(&text) {
                drop(words(split(&line.text).1));
            }
        }
    }

    fn value_in(folder: &str, envvars: &str, text: &str) -> String {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join(folder);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("envvars"), envvars).unwrap();
        String::from_utf8(ApacheVariables::from_envvars(&folder).expand(text.as_bytes())).unwrap()
    }

    #[test]
    fn variables_of_debian_envvars() {
        let debian = "unset HOME\nif [ \"${A##x}\" != \"$B\" ] ; then\n\tSUFFIX=\"-x\"\nelse\n\tSUFFIX=\nfi\n\
                      export APACHE_LOG_DIR=/var/log/apache2$SUFFIX\n## export X=y\n";
        assert_eq!(
            value_in("apache2", debian, "${APACHE_LOG_DIR}/a.log"),
            "/var/log/apache2/a.log"
        );
        assert_eq!(
            value_in("apache2-b", debian, "${APACHE_LOG_DIR}/a.log"),
            "/var/log/apache2-b/a.log"
        );
        let docker = ": ${APACHE_LOG_DIR:=/var/log/apache2$SUFFIX}\nexport APACHE_LOG_DIR\n";
        assert_eq!(
            value_in("apache2", docker, "${APACHE_LOG_DIR}"),
            "/var/log/apache2"
        );
        assert_eq!(
            value_in("apache2", "A='$x y'\nB=\"${A}z\"", "${B}$B${C}$"),
            "$x yz$B${C}$"
        );
    }

    #[test]
    fn a_folder_without_envvars_has_no_variables() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            ApacheVariables::from_envvars(folder.path()).expand(b"${A}/${"),
            b"${A}/${"
        );
    }

    #[test]
    fn macro_parameters_are_masked() {
        let parameters = [b"$host".to_vec(), b"$hostname".to_vec(), b"@x".to_vec()];
        assert_eq!(
            mask_parameters(b"/l/$hostname-$host_@x.$y", &parameters),
            b"/l/${macro}-${macro}_${macro}.$y"
        );
    }
}
