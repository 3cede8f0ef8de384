//! What `${NAME}` stands for in an Apache configuration: what `Define` says, and Debian's `envvars` beside it.
//!
//! Of `envvars` only what sets a variable by itself is understood; it is a script, and none is run. Sources:
//! <https://httpd.apache.org/docs/2.4/configuring.html#syntax>, `/etc/apache2/envvars` of Debian.

use std::collections::HashMap;
use std::path::Path;

use super::super::config_files;

/// Names and what they stand for.
#[derive(Debug, Default)]
pub(super) struct ApacheVariables {
    values: HashMap<Vec<u8>, Vec<u8>>,
}

impl ApacheVariables {
    /// Those of the `envvars` in this folder, where there is one.
    pub(super) fn from_envvars(folder: &Path) -> Self {
        let mut variables = Self::default();
        // A second instance has its own folder, apache2-NAME, and a suffix to all its folders.
        let name = folder.file_name().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default();
        let suffix = name.strip_prefix(b"apache2-").map(|name| [b"-", name].concat()).unwrap_or_default();
        variables.define(b"SUFFIX", suffix);
        if let Ok(text) = config_files::read(&folder.join("envvars")) {
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

    /// A text with each `${NAME}` that is known written out; others stay.
    pub(super) fn expand(&self, text: &[u8]) -> Vec<u8> {
        self.substitute(text, false)
    }

    /// A line of shell: `export NAME=value`, `NAME=value`, `: ${NAME:=value}`. Indented ones depend on something.
    fn read_shell_line(&mut self, line: &[u8]) {
        let line = line.trim_ascii_end();
        let line = line.strip_prefix(b"export ").unwrap_or(line);
        let (assignment, sign) = match line.strip_prefix(b": ${").and_then(|rest| rest.strip_suffix(b"}")) {
            Some(default) => (default, &b":="[..]),
            None => (line, &b"="[..]),
        };
        let Some(at) = assignment.windows(sign.len()).position(|window| window == sign) else { return };
        let (name, value) = (&assignment[..at], &assignment[at + sign.len()..]);
        if name.is_empty() || !name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            return;
        }
        let quoted = |quote: &[u8; 1]| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
        let value = quoted(b"'").map_or_else(|| self.substitute(quoted(b"\"").unwrap_or(value), true), <[u8]>::to_vec);
        self.define(name, value);
    }

    /// `shell_syntax` is the shell's way, without braces and with nothing for what is unknown.
    fn substitute(&self, text: &[u8], shell_syntax: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        while let [byte, tail @ ..] = rest {
            rest = tail;
            if *byte != b'$' {
                out.push(*byte);
                continue;
            }
            let Some((name, behind)) = name(tail, shell_syntax) else {
                out.push(b'$');
                continue;
            };
            match self.values.get(name) {
                Some(value) => out.extend_from_slice(value),
                None if shell_syntax => {}
                None => out.extend([b"${", name, b"}"].concat()),
            }
            rest = behind;
        }
        out
    }
}

/// The name behind a `$`, and what stands behind it.
fn name(text: &[u8], shell_syntax: bool) -> Option<(&[u8], &[u8])> {
    if let Some(rest) = text.strip_prefix(b"{") {
        let end = rest.iter().position(|byte| *byte == b'}')?;
        return Some((&rest[..end], &rest[end + 1..]));
    }
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(text.len());
    (shell_syntax && end > 0).then(|| text.split_at(end))
}

/// A text with each of these parameters (`$name`, `%name`, `@name`) as a variable that nobody knows.
pub(super) fn mask_parameters(text: &[u8], parameters: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        // The longest first: $host and $hostname.
        let longest = parameters.iter().filter(|name| !name.is_empty() && rest.starts_with(name)).max_by_key(|name| name.len());
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
    use crate::server_config::apache::variables::*;
    use std::fs;

    fn value_in(folder: &str, envvars: &str, text: &str) -> String {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join(folder);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("envvars"), envvars).unwrap();
        String::from_utf8(ApacheVariables::from_envvars(&folder).expand(text.as_bytes())).unwrap()
    }

    #[test]
    fn debian_says_where_logs_are() {
        let debian = "unset HOME\nif [ \"${A##x}\" != \"$B\" ] ; then\n\tSUFFIX=\"-x\"\nelse\n\tSUFFIX=\nfi\n\
                      export APACHE_LOG_DIR=/var/log/apache2$SUFFIX\n## export X=y\n";
        assert_eq!(value_in("apache2", debian, "${APACHE_LOG_DIR}/a.log"), "/var/log/apache2/a.log");
        assert_eq!(value_in("apache2-b", debian, "${APACHE_LOG_DIR}/a.log"), "/var/log/apache2-b/a.log");
        let docker = ": ${APACHE_LOG_DIR:=/var/log/apache2$SUFFIX}\nexport APACHE_LOG_DIR\n";
        assert_eq!(value_in("apache2", docker, "${APACHE_LOG_DIR}"), "/var/log/apache2");
        assert_eq!(value_in("apache2", "A='$x y'\nB=\"${A}z\"", "${B}$B${C}$"), "$x yz$B${C}$");
    }

    #[test]
    fn a_folder_without_variables_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(ApacheVariables::from_envvars(folder.path()).expand(b"${A}/${"), b"${A}/${");
    }

    #[test]
    fn parameters_are_hidden() {
        let parameters = [b"$host".to_vec(), b"$hostname".to_vec(), b"@x".to_vec()];
        assert_eq!(mask_parameters(b"/l/$hostname-$host_@x.$y", &parameters), b"/l/${macro}-${macro}_${macro}.$y");
    }
}
