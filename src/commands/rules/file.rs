//! Rule files that this program writes: the old one or the new one at every instant, and nobody's mode is changed.
//!
//! A report is for its owner alone; a rule file is not: it keeps the mode it has, and a new one gets what the umask leaves.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::super::{Exit, message};

/// The text of a rule file, `None` where there is none.
///
/// # Errors
///
/// When it is there and cannot be read.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Puts a text in the place of a rule file, or where none was; says what went wrong.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), Exit> {
    write(path, text).map_err(|error| {
        let name = message::shown(&path.display().to_string());
        message::error(&format!("cannot write {name}: {error}; choose another file with --file"));
        Exit::Output
    })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    // A link stays a link: what it leads to is replaced.
    let path: PathBuf = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut staged =
        tempfile::Builder::new().prefix(".probewatch-").suffix(".tmp").permissions(Permissions::from_mode(0o666)).tempfile_in(folder)?;
    match fs::metadata(&path) {
        Ok(there) if there.is_file() => staged.as_file().set_permissions(there.permissions())?,
        Ok(_) => return Err(io::Error::other("it is no file")),
        Err(_) => {}
    }
    staged.write_all(text.as_bytes())?;
    staged.as_file().sync_all()?;
    staged.persist(&path)?;
    Ok(())
}
