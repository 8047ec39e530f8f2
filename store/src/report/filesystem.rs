//! Which file system the data directory is on.
//!
//! The lock is a `mkdir`, which is atomic on a local file system. On a network file system, and on
//! one that a user process serves, nothing is promised: the doctor warns, and nothing more happens.

use std::path::Path;

/// The type of a file system, as a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// As `stat -f` names it; the magic number in hexadecimal when it is not known here.
    pub name: String,
    /// Why the lock cannot be relied on there.
    pub warning: Option<&'static str>,
}

/// Looks at the file system of a path, or of its nearest ancestor that exists. Nothing when the
/// operating system does not say.
#[must_use]
pub fn of_path(path: &Path) -> Option<FileSystem> {
    let here = Path::new(".");
    let existing = path
        .ancestors()
        .map(|path| if path.as_os_str().is_empty() { here } else { path })
        .find(|path| path.exists())?;
    look(existing)
}

#[cfg(target_os = "linux")]
fn look(path: &Path) -> Option<FileSystem> {
    // The kernel's magic numbers have 32 bits; the field is wider and, on some machines, signed.
    let magic = rustix::fs::statfs(path).ok()?.f_type;
    Some(of_magic(u32::try_from(i128::from(magic) & 0xFFFF_FFFF).unwrap_or_default()))
}

#[cfg(not(target_os = "linux"))]
fn look(_: &Path) -> Option<FileSystem> {
    None
}

const NETWORK: &str = "this is a network file system: the lock is a local mkdir and nothing is \
     promised here; move the data directory to a local disk";
const SERVED: &str = "a user process serves this file system (FUSE): whether its mkdir and fsync \
     are what the bus needs is unknown; move the data directory to a local disk";

/// From `linux/magic.h` and the file systems' own headers.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn of_magic(magic: u32) -> FileSystem {
    let (name, warning) = match magic {
        0xEF53 => ("ext2/ext3/ext4", None),
        0x5846_5342 => ("xfs", None),
        0x9123_683E => ("btrfs", None),
        0x0102_1994 => ("tmpfs", None),
        0x8584_58F6 => ("ramfs", None),
        0x794C_7630 => ("overlayfs", None),
        0x2FC1_2FC1 => ("zfs", None),
        0xF2F5_2010 => ("f2fs", None),
        0xCA45_1A4E => ("bcachefs", None),
        0x4D44 => ("vfat", None),
        0x2011_BAB0 => ("exfat", None),
        0x7366_746E => ("ntfs3", None),
        0x6969 => ("nfs", Some(NETWORK)),
        0xFF53_4D42 => ("cifs", Some(NETWORK)),
        0xFE53_4D42 => ("smb2", Some(NETWORK)),
        0x517B => ("smb", Some(NETWORK)),
        0x0102_1997 => ("9p", Some(NETWORK)),
        0x00C3_6400 => ("ceph", Some(NETWORK)),
        0x5346_414F | 0x6B41_4653 => ("afs", Some(NETWORK)),
        0x0BD0_0BD0 => ("lustre", Some(NETWORK)),
        0x0116_1970 => ("gfs2", Some(NETWORK)),
        0x7461_636F => ("ocfs2", Some(NETWORK)),
        0x786F_4256 => ("vboxsf", Some(NETWORK)),
        0x6573_5546 => ("fuse", Some(SERVED)),
        _ => return FileSystem { name: format!("{magic:#x}"), warning: None },
    };
    FileSystem { name: name.to_owned(), warning }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_and_served_file_systems_are_warned_of_and_local_ones_are_not() {
        for (magic, name, warned) in [
            (0x6969, "nfs", true),
            (0xFF53_4D42, "cifs", true),
            (0xFE53_4D42, "smb2", true),
            (0x517B, "smb", true),
            (0x0102_1997, "9p", true),
            (0x6573_5546, "fuse", true),
            (0xEF53, "ext2/ext3/ext4", false),
            (0x0102_1994, "tmpfs", false),
            (0xDEAD, "0xdead", false),
        ] {
            let found = of_magic(magic);
            assert_eq!((found.name.as_str(), found.warning.is_some()), (name, warned));
        }
    }

    #[test]
    fn a_path_that_does_not_exist_yet_is_on_the_file_system_of_its_ancestor() {
        let dir = tempfile::tempdir().unwrap();
        let found = of_path(dir.path());
        assert_eq!(of_path(&dir.path().join("not/yet/there")), found);
        assert_eq!(found.is_some(), cfg!(target_os = "linux"));
    }
}
