//! Configurations for tests, in folders of their own.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{ConfiguredLog, ConfiguredLogs, ServerConfigError};

/// Names and texts.
pub(super) type ConfigFixture<'a> = &'a [(&'a str, &'a str)];

/// A folder with these files.
pub(super) fn folder(files: ConfigFixture<'_>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Reads a folder with these files by `reader`, beginning with `first`; paths are told from the folder.
pub(super) fn read(
    files: ConfigFixture<'_>,
    first: &str,
    reader: fn(&Path) -> Result<ConfiguredLogs, ServerConfigError>,
) -> Result<ConfiguredLogs, String> {
    let folder = folder(files);
    let location = folder.path().to_str().unwrap().to_owned();
    let plain = |text: String| text.replace(&format!("{location}/"), "");
    let logs = reader(&folder.path().join(first)).map_err(|error| plain(error.to_string()))?;
    let found = logs.found.into_iter().map(|log| ConfiguredLog {
        path: plain(log.path.to_str().unwrap().to_owned()).into(),
        from: plain(log.from),
        ..log
    });
    Ok(ConfiguredLogs { found: found.collect(), error_logs: Vec::new(), notices: logs.notices.into_iter().map(plain).collect() })
}
