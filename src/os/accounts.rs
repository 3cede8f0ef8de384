//! The databases of users and groups; see passwd(5) and group(5). No name service is queried.

use std::{fs, io};

pub(crate) const GROUP_FILE: &str = "/etc/group";
pub(crate) const PASSWD_FILE: &str = "/etc/passwd";

/// The name for a number in a database.
pub(crate) fn name(database: &str, number: u32) -> Option<String> {
    let text = fs::read(database).ok()?;
    let name = entries(&text).find(|(name, id)| *id == Some(number) && !name.is_empty())?;
    Some(String::from_utf8_lossy(name.0).into_owned())
}

/// The number of a group.
///
/// # Errors
///
/// The database cannot be read.
pub(crate) fn group_id(name: &str) -> io::Result<Option<u32>> {
    Ok(find(&fs::read(GROUP_FILE)?, name))
}

fn find(text: &[u8], name: &str) -> Option<u32> {
    entries(text)
        .find(|(entry, _)| *entry == name.as_bytes())?
        .1
}

/// Each line is `name:password:number:...`.
fn entries(text: &[u8]) -> impl Iterator<Item = (&[u8], Option<u32>)> {
    text.split(|&byte| byte == b'\n').map(|line| {
        let mut fields = line.split(|&byte| byte == b':');
        let name = fields.next().unwrap_or_default();
        let number = fields
            .nth(1)
            .and_then(|number| std::str::from_utf8(number).ok());
        (name, number.and_then(|number| number.parse().ok()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_finds_the_name_for_an_id() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("group");
        fs::write(
            &list,
            "root:x:0:\n# a note\nadm:x:4:syslog,jo\nodd\n:x:5:\n",
        )
        .unwrap();
        let name_of = |number| name(list.to_str().unwrap(), number);
        assert_eq!(
            [4, 0, 5, 44].map(name_of),
            [Some("adm".to_owned()), Some("root".to_owned()), None, None]
        );
        assert_eq!(name("/nonexistent", 4), None);
    }

    #[test]
    fn finds_groups_by_name() {
        let groups = b"root:x:0:\nadm:x:4:syslog,me\nbroken\nodd:x:many:\n";
        assert_eq!(
            (find(groups, "adm"), find(groups, "root")),
            (Some(4), Some(0))
        );
        for name in ["ad", "broken", "odd", "me", ""] {
            assert_eq!(find(groups, name), None, "{name}");
        }
    }
}
