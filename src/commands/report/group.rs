//! Which number a group has: that of `/etc/group`, or the number itself.
//!
//! Asks no name service; where groups come from elsewhere, the number is to be given.

use std::fs;

use super::failure::Failure;
use crate::commands::message::shown;

/// Where groups stand (group(5)).
const GROUPS: &str = "/etc/group";

/// The number of a group.
///
/// # Errors
///
/// There is none of that name.
pub(super) fn number(name: &str) -> Result<u32, Failure> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let groups = fs::read(GROUPS).map_err(|error| Failure::Group(format!("--group: cannot read {GROUPS}: {error}; give its number")))?;
    find(&groups, name.as_bytes())
        .ok_or_else(|| Failure::Group(format!("--group: {GROUPS} has no group '{}'; give one that it has, or a number", shown(name))))
}

/// `name:password:number:members`, a line a group.
fn find(groups: &[u8], name: &[u8]) -> Option<u32> {
    let field = |line: &[u8], number| Some(String::from_utf8_lossy(line.split(|&b| b == b':').nth(number)?).into_owned());
    let line = groups.split(|&b| b == b'\n').find(|line| line.split(|&b| b == b':').next() == Some(name))?;
    field(line, 2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use crate::commands::report::group::*;

    #[test]
    fn by_name_or_by_number() {
        let groups = b"root:x:0:\nadm:x:4:syslog,me\nbroken\nodd:x:many:\n";
        assert_eq!((find(groups, b"adm"), find(groups, b"root")), (Some(4), Some(0)));
        for name in [&b"ad"[..], b"broken", b"odd", b"me", b""] {
            assert_eq!(find(groups, name), None, "{}", String::from_utf8_lossy(name));
        }
        assert_eq!(number("1234").ok(), Some(1234));
    }
}
