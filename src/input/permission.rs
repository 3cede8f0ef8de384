//! Which group may read what the user may not, for a message that says what to type.
//!
//! Looks at modes and at the lists of groups and users, and changes nothing. Where a group is no help, it names none: one that has no
//! right to read either, one that the user is in, and that of root.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const GROUPS: &str = "/etc/group";
const USERS: &str = "/etc/passwd";

/// Rights of the group: to read a file, to pass through a folder, and both to list one.
const READ: u32 = 0o040;
const SEARCH: u32 = 0o010;

/// Why a path may not be read, to be put after the path and a colon.
#[must_use]
pub fn describe_denied(path: &Path) -> String {
    let Some(group) = group_of(path) else { return "permission denied".to_owned() };
    let user = name_of(USERS, rustix::process::geteuid().as_raw()).unwrap_or_else(|| "USER".to_owned());
    format!("permission denied; the group {group} may read it: type sudo usermod -aG {group} {user} and log in again")
}

/// The group that may read a path, or pass through the folder that is in the way.
fn group_of(path: &Path) -> Option<String> {
    let (found, needed) = match fs::metadata(path) {
        Ok(found) => {
            let needed = if found.is_dir() { READ | SEARCH } else { READ };
            (found, needed)
        }
        // The nearest folder that can be looked at is the one that may not be passed.
        Err(_) => (path.ancestors().skip(1).find_map(|folder| fs::metadata(folder).ok())?, SEARCH),
    };
    let group = group_with_access(&found, needed)?;
    name_of(GROUPS, group)
}

fn group_with_access(found: &Metadata, needed: u32) -> Option<u32> {
    let group = found.gid();
    let is_member = || {
        let own = rustix::process::getegid().as_raw() == group;
        own || rustix::process::getgroups().is_ok_and(|groups| groups.iter().any(|one| one.as_raw() == group))
    };
    (found.mode() & needed == needed && group != 0 && !is_member()).then_some(group)
}

/// The name that a list gives to a number: the first and the third field of its lines.
fn name_of(list: &str, number: u32) -> Option<String> {
    let text = fs::read_to_string(list).ok()?;
    let name = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(number)).then(|| name.to_owned())
    };
    text.lines().find_map(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_gives_the_name_of_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("group");
        fs::write(&list, "root:x:0:\n# a note\nadm:x:4:syslog,jo\nodd\n:x:5:\n").unwrap();
        let name = |number| name_of(list.to_str().unwrap(), number);
        assert_eq!([name(4), name(0), name(5), name(44)], [Some("adm".to_owned()), Some("root".to_owned()), None, None]);
        assert_eq!(name_of("/nonexistent", 4), None);
    }
}
