//! NULs in a log: no log writer writes them, a hole in the file leaves them.

use memchr::memchr_iter;

/// A line of so many bytes is looked through for NULs: a hole takes whole blocks of a disk, and the shortest have
/// so many. The line it begins in may parse, with the hole in its request and other lines swallowed. Nearly all lines are
/// shorter.
const MAY_HOLD_A_HOLE: usize = 512;

/// NULs before a line.
#[must_use]
#[inline]
pub fn leading_nuls(line: &[u8]) -> usize {
    if line.first() == Some(&0) { line.iter().take_while(|&&byte| byte == 0).count() } else { 0 }
}

/// NULs in a line that is long enough to hold a hole.
#[must_use]
#[inline]
pub fn nuls_within(line: &[u8]) -> usize {
    if line.len() >= MAY_HOLD_A_HOLE { memchr_iter(0, line).count() } else { 0 }
}
