//! Kinds of file systems: those whose files may be mapped, and those that hold no logs.
//!
//! A map of a file on another machine turns a lost connection into a signal and shows changes late; one of a file that
//! a user's process serves is at that process's mercy. Reading has error codes for both.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FsWord, fstatfs, statfs};

/// The magic numbers of remote file systems and of those served by a process: `linux/magic.h`, and for FUSE and SMB2
/// `fs/fuse/inode.c` and `fs/smb/common/smb2pdu.h`.
const REMOTE: [FsWord; 8] = [
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
    fstatfs(file).is_ok_and(|system| !REMOTE.contains(&system.f_type))
}

/// The magic numbers of file systems that the kernel makes up (`linux/magic.h`). Some of their files never end, and some wait for
/// ever: `/proc/kmsg`.
const PSEUDO: [FsWord; 10] = [
    0x9FA0,      // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x0027_E0EB, // cgroup
    0x6367_7270, // cgroup2
    0x6265_6570, // configfs
    0x6165_676C, // pstore
    0xCAFE_4A11, // bpf
];

/// Whether what is at `path` is made up by the kernel.
pub(super) fn is_on_pseudo_filesystem(path: &Path) -> bool {
    statfs(path).is_ok_and(|system| PSEUDO.contains(&system.f_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_file_is_local() {
        assert!(is_local(&tempfile::tempfile().unwrap()));
    }

    #[test]
    fn proc_is_of_the_kernel_and_a_temporary_folder_is_not() {
        assert!(is_on_pseudo_filesystem(Path::new("/proc/self/maps")));
        assert!(!is_on_pseudo_filesystem(tempfile::tempdir().unwrap().path()));
    }
}
