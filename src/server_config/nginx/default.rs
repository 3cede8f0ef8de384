//! What nginx knows from when it was built, and its configuration does not say: the folder that relative names start at, and
//! the log that is written where none is named.
//!
//! Packages differ; what is there decides. Sources: `nginx -V` of Debian (`--prefix=/usr/share/nginx
//! --http-log-path=/var/log/nginx/access.log`), of nginx.org's packages (`--prefix=/etc/nginx`), of Alpine
//! (`--prefix=/var/lib/nginx`), and <https://nginx.org/en/docs/configure.html> (`/usr/local/nginx`).

use std::path::{Path, PathBuf};

/// Folders that nginx may have been built for, whose configuration lies elsewhere.
const PREFIXES: [&str; 3] = ["/usr/share/nginx", "/var/lib/nginx", "/usr/local/nginx"];

/// Where all packages write requests to when nothing is said.
const PACKAGED: &str = "/var/log/nginx/access.log";

/// A name of a log, from the root on where it can be known; `folder` is that of the configuration.
pub(super) fn absolute(folder: &Path, name: PathBuf) -> PathBuf {
    if name.is_absolute() {
        return name;
    }
    let prefixes = || std::iter::once(prefix_of(folder)).chain(PREFIXES.iter().map(PathBuf::from));
    let there = prefixes().map(|prefix| prefix.join(&name)).find(|path| path.parent().is_some_and(Path::is_dir));
    there.unwrap_or_else(|| prefix_of(folder).join(name))
}

/// The log that is written where none is named.
pub(super) fn log(folder: &Path) -> PathBuf {
    let beside = prefix_of(folder).join("logs/access.log");
    if folder.ends_with("conf") || beside.is_file() { beside } else { PathBuf::from(PACKAGED) }
}

/// The prefix of a configuration that lies in `PREFIX` or `PREFIX/conf`.
fn prefix_of(folder: &Path) -> PathBuf {
    match folder.parent() {
        Some(parent) if folder.ends_with("conf") => parent.to_owned(),
        _ => folder.to_owned(),
    }
}
