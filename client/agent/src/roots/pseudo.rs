//! Pseudo file systems: their entries belong to the kernel, and reading or writing them has effects. One
//! may be mounted anywhere, also beneath an allowed path.

use rustix::fd::AsFd;

/// The magic numbers of pseudo file systems, from `include/uapi/linux/magic.h` or the source file in the
/// comment.
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
    0x5049_4446, // pidfs
    0x6c6f_6f70, // binderfs
    0x9584_58f6, // hugetlbfs
    0x444d_4142, // dma-buf
    0x454d_444d, // devmem
    0x5345_434d, // secretmem
    0x474d_454d, // memory of guests
    0x6264_6576, // block devices
    0x6464_6178, // dax
    0x1130_7854, // MTD inodes
    0x0bad_1dea, // futexfs
    0x0000_9fa1, // openpromfs
    0x1366_1366, // the balloon of KVM
    0xc757_1590, // the memory manager of PowerPC
    0x0a64_7361, // functionfs, drivers/usb/gadget/function/f_fs.c
    0xaee7_1ee7, // gadgetfs, drivers/usb/gadget/legacy/inode.c
    0x6f70_726f, // oprofilefs, drivers/oprofile/oprofilefs.c until 5.12
    0x6672_6f67, // ibmasmfs, drivers/misc/ibmasm/ibmasmfs.c
    0x0072_6a77, // qib_fs, drivers/infiniband/hw/qib/qib_fs.c
    0x76a9_f425, // dlmfs, fs/ocfs2/dlmfs/dlmfs.c
    0x23c9_b64e, // spufs, arch/powerpc/platforms/cell/spufs/inode.c
    0x0068_7970, // hypfs, arch/s390/hypfs/inode.c
];

/// Returns whether an open file lies on a pseudo file system. If that cannot be determined, returns true.
pub(crate) fn is_pseudo(opened: impl AsFd) -> bool {
    let Ok(found) = rustix::fs::fstatfs(opened) else { return true };
    // The field's width depends on the processor; the number is in its lowest 32 bits.
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

    #[test]
    fn a_handle_of_a_process_is_no_file() {
        let this = rustix::process::getpid();
        let opened = rustix::process::pidfd_open(this, rustix::process::PidfdFlags::empty());
        // Before pidfs, such handles were anonymous inodes.
        assert!(is_pseudo(opened.unwrap()));
    }

    #[test]
    fn no_kind_stands_there_twice() {
        let kinds: std::collections::BTreeSet<_> = KINDS.iter().collect();
        assert_eq!(kinds.len(), KINDS.len());
        // File systems whose files have effects when they are written or read.
        for kind in [0x5049_4446, 0x6c6f_6f70, 0x0a64_7361, 0xaee7_1ee7] {
            assert!(kinds.contains(&kind), "{kind:#x}");
        }
    }
}
