//! Which file systems are local, so that files can be mapped, and which are pseudo file systems
//! without logs.
//!
//! Files on remote file systems are read, not mapped: a lost connection raises SIGBUS on a map, and
//! changes show late. The same holds for FUSE, where a user's process serves the file.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FsWord, fstatfs, statfs};

/// Magic numbers of remote file systems and of FUSE: `linux/magic.h`, `fs/fuse/inode.c` and
/// `fs/smb/common/smb2pdu.h`.
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

/// Whether `file` is on a local file system. An unknown answer counts as remote.
pub(super) fn is_local(file: &File) -> bool {
    fstatfs(file).is_ok_and(|system| !REMOTE.contains(&system.f_type))
}

/// Magic numbers of the kernel's pseudo file systems (`linux/magic.h`). Some of their files never
/// end, and reading some blocks forever, such as `/proc/kmsg`.
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

/// Whether `path` is on a pseudo file system of the kernel.
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
    fn proc_is_a_pseudo_filesystem_and_a_temporary_folder_is_not() {
        assert!(is_on_pseudo_filesystem(Path::new("/proc/self/maps")));
        assert!(!is_on_pseudo_filesystem(
            tempfile::tempdir().unwrap().path()
        ));
    }
}
