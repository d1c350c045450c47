"""System calls by number: those that the filters name, for each machine that has a filter, and the C library to make them.

Taken from the kernel's own tables (asm/unistd_64.h and asm-generic/unistd.h). None: the machine does not have the call.
From number 424 on, a call has the same number on every machine.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# What the kernel calls each machine in `seccomp_data.arch`; `os.uname().machine` names it.
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMN = {"x86_64": 0, "aarch64": 1}
_NUMBERS: "dict[str, tuple[int | None, int | None]]" = {
    # keys
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setparam": (142, 118), "prlimit64": (302, 261),
    "sched_setscheduler": (144, 119), "sched_setattr": (314, 274), "sched_setaffinity": (203, 122),
    # the kernel and the machine
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "quotactl": (179, 60),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "create_module": (174, None), "get_kernel_syms": (177, None),
    "query_module": (178, None), "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142),
    "settimeofday": (164, 170), "adjtimex": (159, 171), "clock_settime": (227, 112), "clock_adjtime": (305, 266),
    "syslog": (103, 116), "acct": (163, 89), "nfsservctl": (180, 42), "lookup_dcookie": (212, 18),
    "fanotify_init": (300, 262), "fanotify_mark": (301, 263), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264), "modify_ldt": (154, None), "iopl": (172, None), "ioperm": (173, None),
    "uselib": (134, None), "_sysctl": (156, None), "vhangup": (153, 58), "sethostname": (170, 161),
    "setdomainname": (171, 162),
    # namespaces and mounts
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "setns": (308, 268),
    "unshare": (272, 97),
    # processes of its own
    "clone": (56, 220), "fork": (57, None), "vfork": (58, None),
    # System V memory, semaphores and messages; POSIX message queues
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181), "mq_timedsend": (242, 182),
    "mq_timedreceive": (243, 183), "mq_notify": (244, 184),
    # sockets and devices
    "socket": (41, 198), "socketpair": (53, 199), "ioctl": (16, 29), "fcntl": (72, 25),
    # files: modes, owners, times, attributes
    "open": (2, None), "openat": (257, 56), "creat": (85, None), "mkdir": (83, None), "mkdirat": (258, 34),
    "mknod": (133, None), "mknodat": (259, 33), "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None),
    "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5),
    "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
}  # fmt: skip
_EVERYWHERE = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435, "openat2": 437, "pidfd_getfd": 438,
    "mount_setattr": 442, "quotactl_fd": 443, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466,
    "open_tree_attr": 467, "file_setattr": 469,
}  # fmt: skip


def numbers(machine: str, names: "Iterable[str]") -> list[int]:
    """The numbers of these calls on a machine; calls that it does not have are left out."""
    column = _COLUMN[machine]
    found = (_EVERYWHERE[name] if name in _EVERYWHERE else _NUMBERS[name][column] for name in names)
    return [number for number in found if number is not None]


_loaded: "list[Any]" = []


def libc() -> "Any":
    """The C library. Loaded at the first call: ctypes costs a millisecond, which not every start has to pay."""
    if not _loaded:
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        library.syscall.restype = ctypes.c_long
        _loaded.append(library)
    return _loaded[0]
