//! Reads the access logs and their formats from the configuration of a web server.
//!
//! Reads configuration files only: opens no log, contacts no server and runs no program. Nothing is
//! guessed: a variable in a file name becomes a glob, and skipped directives are reported. A file
//! may contain any bytes, but its size and the depth of includes are limited.

mod apache;
mod diagnostics;
mod nginx;

pub(crate) use apache::read_apache;
pub(crate) use diagnostics::ServerConfigError;
use diagnostics::{ConfigNotices, Server};
pub(crate) use nginx::read_nginx;

use std::fs::File;
use std::io;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::input::wildcard::expand;
use crate::os::system::list_folder;

/// Paths of the nginx configuration in packages and source builds. `nginx -t` prints the path in
/// use.
pub(crate) const NGINX_CONFIG_PATHS: [&str; 5] = [
    "/etc/nginx/nginx.conf",
    "/usr/local/nginx/conf/nginx.conf",
    "/usr/local/etc/nginx/nginx.conf",
    "/usr/local/openresty/nginx/conf/nginx.conf",
    "/opt/homebrew/etc/nginx/nginx.conf",
];

/// Paths of the Apache configuration in packages and source builds.
///
/// Source: <https://cwiki.apache.org/confluence/display/HTTPD/DistrosDefaultLayout>.
pub(crate) const APACHE_CONFIG_PATHS: [&str; 7] = [
    "/etc/apache2/apache2.conf",
    "/etc/httpd/conf/httpd.conf",
    "/etc/apache2/httpd.conf",
    "/usr/local/etc/apache24/httpd.conf",
    "/usr/local/apache2/conf/httpd.conf",
    "/opt/homebrew/etc/httpd/httpd.conf",
    "/opt/bitnami/apache/conf/httpd.conf",
];

/// An access log that a configuration names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfiguredLog<F = ConfiguredFormat> {
    /// The file, or a glob if its name has parts that only the server can expand.
    pub path: PathBuf,
    /// The format of its lines: a name, until everything was read.
    pub format: F,
    /// Where it is configured: `file:line`. Unsanitized.
    pub location: String,
    /// What is unusual about it, to print after its path. May contain text of the configuration:
    /// sanitize it.
    pub note: Option<String>,
}

/// A log format from a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConfiguredFormat {
    /// The text of an nginx `log_format`: its strings joined, with the quoting and escapes of the
    /// configuration removed.
    Nginx {
        /// How values are escaped.
        escape: LogFormatEscape,
        /// The text with its variables.
        text: String,
    },
    /// The text of an Apache `LogFormat`, with the quoting of the configuration removed.
    Apache(String),
    /// A format that needs no definition: `combined`, `common` or `vhost_combined`.
    Named(&'static str),
}

/// How an nginx `log_format` escapes values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LogFormatEscape {
    /// `\xHH`.
    #[default]
    Default,
    /// JSON string escapes.
    Json,
    /// No escapes.
    None,
}

/// The logs of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ConfiguredLogs {
    /// The logs in the order of the configuration. A path with two formats is listed twice.
    pub logs: Vec<ConfiguredLog>,
    /// The error logs, which a glob of an access log may match too.
    pub error_logs: Vec<PathBuf>,
    /// Skipped and unusual directives, as sentences. They contain text of the configuration:
    /// sanitize them.
    pub notices: Vec<String>,
}

/// The first path that exists.
#[must_use]
pub(crate) fn first_existing(paths: &[&str]) -> Option<PathBuf> {
    paths
        .iter()
        .map(Path::new)
        .find(|path| path.is_file())
        .map(Path::to_owned)
}

/// The main file of a configuration.
fn read_main(path: &Path, server: &'static Server) -> Result<Vec<u8>, ServerConfigError> {
    read_config(path).map_err(|source| ServerConfigError::Unreadable {
        path: path.to_owned(),
        server,
        source,
    })
}

/// The logs of the configuration at `path`, with their formats. `format_of` fails with a name that
/// is not defined.
fn resolve<F>(
    path: &Path,
    server: &'static Server,
    logs: Vec<ConfiguredLog<F>>,
    notices: ConfigNotices,
    format_of: impl Fn(F) -> Result<ConfiguredFormat, String>,
) -> Result<ConfiguredLogs, ServerConfigError> {
    let notices = notices.into_sentences();
    let with_format = |log: ConfiguredLog<F>| match format_of(log.format) {
        Ok(format) => Ok(ConfiguredLog {
            path: log.path,
            format,
            location: log.location,
            note: log.note,
        }),
        Err(name) => Err(ServerConfigError::NoFormat {
            location: log.location,
            name,
            server,
        }),
    };
    let logs = logs
        .into_iter()
        .map(with_format)
        .collect::<Result<Vec<_>, _>>()?;
    if logs.is_empty() {
        return Err(ServerConfigError::NoLog {
            path: path.to_owned(),
            notices,
            server,
        });
    }
    Ok(ConfiguredLogs {
        logs: dedup(logs),
        error_logs: Vec::new(),
        notices,
    })
}

/// Removes duplicates: several sites may write the same log in the same format.
fn dedup(logs: Vec<ConfiguredLog>) -> Vec<ConfiguredLog> {
    let mut unique: Vec<ConfiguredLog> = Vec::new();
    for log in logs {
        match unique
            .iter_mut()
            .find(|other| other.path == log.path && other.format == log.format)
        {
            Some(first) => first.note = first.note.take().filter(|_| log.note.is_some()),
            None => unique.push(log),
        }
    }
    unique
}

/// Maximum size of a file: lists of a million addresses are a tenth of it.
const MAX_BYTES: u64 = 256 << 20;

/// Maximum depth of includes. The servers themselves stop at 128, or when they run out of file
/// descriptors.
const MAX_DEPTH: usize = 32;

/// The absolute folder of a file, because relative names in a configuration do not refer to our
/// working directory.
fn config_folder(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path);
    absolute
        .as_deref()
        .unwrap_or(path)
        .parent()
        .unwrap_or(Path::new(""))
        .to_owned()
}

/// The folder of a server whose configuration is in this folder: itself, or its parent for `conf`.
fn prefix_of(folder: &Path) -> &Path {
    folder
        .parent()
        .filter(|_| folder.ends_with("conf"))
        .unwrap_or(folder)
}

/// The content of a file.
fn read_config(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if path.is_dir() {
        return Err(io::Error::other("it is a folder"));
    }
    let read = File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_end(&mut text)? as u64;
    if read > MAX_BYTES {
        return Err(io::Error::other(
            "it is larger than 256 MiB, too large for a configuration",
        ));
    }
    Ok(text)
}

/// Whether a server treats a name as a glob.
fn is_pattern(name: &[u8]) -> bool {
    name.iter().any(|byte| b"*?[".contains(byte))
}

/// The files that match a glob, sorted by name. Both servers use glob(3): `*` matches neither
/// hidden files nor path separators.
fn matching_files(pattern: &Path) -> io::Result<Vec<PathBuf>> {
    let mut matches = expand(pattern);
    if let Some((folder, error)) = matches.failures.pop() {
        return Err(io::Error::other(format!("{}: {error}", folder.display())));
    }
    matches.paths.sort();
    Ok(matches.paths)
}

/// All files in a folder and its subfolders, sorted by name.
fn files_recursive(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    descend(folder, MAX_DEPTH, &mut files)?;
    Ok(files)
}

fn descend(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for (name, _) in list_folder(folder)? {
        let path = folder.join(name);
        if !path.is_dir() {
            files.push(path);
        } else if depth > 0 {
            descend(&path, depth - 1, files)?;
        }
    }
    Ok(())
}

/// A glob that is being built.
#[derive(Debug, Default)]
struct PathPattern {
    bytes: Vec<u8>,
    /// The name without escapes, for a name without unknown parts.
    plain: Vec<u8>,
    has_unknown: bool,
}

impl PathPattern {
    /// Appends a literal byte.
    fn literal(&mut self, byte: u8) {
        self.plain.push(byte);
        match byte {
            b'*' | b'?' | b'[' => self.bytes.extend([b'[', byte, b']']),
            _ => self.bytes.push(byte),
        }
    }

    /// Appends a literal byte, for use in a fold.
    fn with(mut self, byte: u8) -> Self {
        self.literal(byte);
        self
    }

    /// Appends an unknown part. Two in a row are joined, since `**` would match folders.
    fn unknown(&mut self) {
        self.has_unknown = true;
        if self.bytes.last() != Some(&b'*') {
            self.bytes.push(b'*');
        }
    }

    /// Whether it has an unknown part.
    fn is_pattern(&self) -> bool {
        self.has_unknown
    }

    /// The glob, or the plain name if it has no unknown part.
    fn finish(self) -> Vec<u8> {
        if self.has_unknown {
            self.bytes
        } else {
            self.plain
        }
    }
}

/// A name with `strftime` conversions: `access.%Y-%m-%d.log`.
fn from_strftime(name: &[u8]) -> PathPattern {
    let mut pattern = PathPattern::default();
    let mut bytes = name.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'%' => match bytes.next() {
                Some(b'%') => pattern.literal(b'%'),
                // A modifier precedes its conversion.
                Some(b'E' | b'O' | b'-' | b'_' | b'^' | b'#') => {
                    bytes.next();
                    pattern.unknown();
                }
                _ => pattern.unknown(),
            },
            _ => pattern.literal(byte),
        }
    }
    pattern
}

/// A name with nginx variables: `$host`, `${host}`.
fn from_variables(name: &[u8]) -> PathPattern {
    let mut pattern = PathPattern::default();
    let mut rest = name;
    while let [byte, tail @ ..] = rest {
        let len = if *byte == b'$' { variable(tail) } else { 0 };
        if len > 0 {
            pattern.unknown();
        } else {
            pattern.literal(*byte);
        }
        rest = &tail[len..];
    }
    pattern
}

/// The length of a variable name after its `$`, including braces; 0 if there is none.
fn variable(text: &[u8]) -> usize {
    let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    match text {
        [b'{', name @ ..] => name
            .iter()
            .position(|byte| *byte == b'}')
            .map_or(0, |end| end + 2),
        name => name.iter().take_while(is_letter).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pattern: PathPattern) -> String {
        String::from_utf8(pattern.finish()).unwrap()
    }

    #[test]
    fn strftime_conversions_become_stars() {
        assert_eq!(
            text(from_strftime(b"/l/access.%Y-%m-%d.log")),
            "/l/access.*-*-*.log"
        );
        assert_eq!(
            text(from_strftime(b"/l/%Y%m%d/a[1].log")),
            "/l/*/a[[]1].log"
        );
        assert_eq!(text(from_strftime(b"/l/100%%[x]")), "/l/100%[x]");
        assert_eq!(text(from_strftime(b"a%")), "a*");
        assert_eq!(text(from_strftime(b"a.%-d.log")), "a.*.log");
    }

    #[test]
    fn variables_become_stars() {
        assert_eq!(
            text(from_variables(b"/l/$host.access.log")),
            "/l/*.access.log"
        );
        assert_eq!(
            text(from_variables(b"/l/${host}_$server_port/a?.log")),
            "/l/*_*/a[?].log"
        );
        assert_eq!(text(from_variables(b"/l/$host$uri")), "/l/*");
        assert_eq!(text(from_variables(b"/l/[a]*$")), "/l/[a]*$");
        assert_eq!(text(from_variables(b"/l/${open")), "/l/${open");
    }
}

#[cfg(test)]
mod fixture {
    //! Configurations for tests, each in its own folder.

    use std::fs;
    use std::path::Path;

    use tempfile::TempDir;

    use super::{ConfiguredLog, ConfiguredLogs, ServerConfigError};

    /// Names and contents of files.
    pub(super) type ConfigFixture<'a> = &'a [(&'a str, &'a str)];

    /// Creates a folder with these files.
    pub(super) fn folder(files: ConfigFixture<'_>) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    /// Reads a configuration that starts with the file `first`. Paths in the result are relative to
    /// the folder.
    pub(super) fn read(
        files: ConfigFixture<'_>,
        first: &str,
        reader: fn(&Path) -> Result<ConfiguredLogs, ServerConfigError>,
    ) -> Result<ConfiguredLogs, String> {
        let folder = folder(files);
        let location = folder.path().to_str().unwrap().to_owned();
        let plain = |text: String| text.replace(&format!("{location}/"), "");
        let logs = reader(&folder.path().join(first)).map_err(|error| plain(error.to_string()))?;
        let matches = logs.logs.into_iter().map(|log| ConfiguredLog {
            path: plain(log.path.to_str().unwrap().to_owned()).into(),
            location: plain(log.location),
            ..log
        });
        Ok(ConfiguredLogs {
            logs: matches.collect(),
            error_logs: Vec::new(),
            notices: logs.notices.into_iter().map(plain).collect(),
        })
    }
}
