//! File systems that hold no files: what is in them are the kernel's own affairs, and reading or
//! writing there does things. One may be mounted anywhere, beneath an allowed path too.

use rustix::fd::AsFd;

/// Their kinds, as the kernel numbers them in `linux/magic.h`.
const KINDS: &[u32] = &[
    0x0000_9fa0, // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x0000_1cd1, // devpts
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0xcafe_4a11, // bpf
    0x6265_6570, // configfs
    0x7363_6673, // securityfs
    0x6165_676c, // pstore
    0xde5e_81e4, // efivarfs
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
    0x5a3c_69f0, // apparmorfs
    0x4249_4e4d, // binfmt_misc
    0x1980_0202, // mqueue
    0x6759_6969, // rpc_pipefs
    0x6573_5543, // fusectl
    0x6e73_6673, // nsfs
    0x6e66_7364, // nfsd
    0x0765_5821, // resctrl
    0xabba_1974, // xenfs
    0x0000_9fa2, // usbdevfs
    0x534f_434b, // sockfs
    0x5049_5045, // pipefs
    0x0904_1934, // anonymous inodes
];

/// Whether something lies on such a file system. What cannot be told counts as one.
pub(crate) fn is_pseudo(opened: impl AsFd) -> bool {
    let Ok(found) = rustix::fs::fstatfs(opened) else { return true };
    // The word has different widths on different processors; the number is in its lowest 32 bits.
    let [a, b, c, d, ..] = found.f_type.to_le_bytes();
    KINDS.contains(&u32::from_le_bytes([a, b, c, d]))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn what_holds_files_is_told_from_what_does_not() {
        for (path, pseudo) in [("/proc", true), ("/proc/self/status", true), ("/sys", true)] {
            // A container may have no /sys.
            if let Ok(file) = File::open(path) {
                assert_eq!(is_pseudo(&file), pseudo, "{path}");
            }
        }
        assert!(!is_pseudo(File::open(std::env::temp_dir()).unwrap()));
    }
}
