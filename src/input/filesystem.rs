//! Tells file systems that may be mapped from those that may not.
//!
//! A map of a file on another machine turns a lost connection into a signal and shows changes late; one of a file that
//! a user's process serves is at that process's mercy. Reading has error codes for both.

use std::fs::File;

use rustix::fs::{FsWord, fstatfs};

/// The magic numbers of remote file systems and of those served by a process: `linux/magic.h`, and for FUSE and SMB2
/// `fs/fuse/inode.c` and `fs/smb/common/smb2pdu.h`.
const NOT_LOCAL: [FsWord; 8] = [
    0x6969,      // NFS
    0x517B,      // SMB
    0xFF53_4D42, // CIFS
    0xFE53_4D42, // SMB2
    0x6573_5546, // FUSE
    0x0102_1997, // 9p
    0x00C3_6400, // Ceph
    0x5346_414F, // AFS
];

/// Whether `file` lies on a file system of this machine. One that does not say so is taken not to.
pub(super) fn is_local(file: &File) -> bool {
    fstatfs(file).is_ok_and(|system| !NOT_LOCAL.contains(&system.f_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_file_is_local() {
        assert!(is_local(&tempfile::tempfile().unwrap()));
    }
}
