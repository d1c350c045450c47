"""The escapes themselves: a script of the standard library alone that runs inside an enclosure and tries each of them.

    python3 inside.py FILE         FILE is JSON: what the test has planted outside

It prints one JSON object: probe -> "refused ERRNO", "absent ERRNO" (this kernel does not have it), or "through TEXT". A
system call is made with arguments that do nothing if it is let through: a wrong pointer, flag or magic number, which the
kernel looks at only after it has granted the right. Whatever is written goes to files that the test has planted.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import signal
import socket
import stat
import struct
import sys
from typing import Any

PROBES = {}
FACTS: dict[str, Any] = {}
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
REFUSALS = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EROFS, errno.EOPNOTSUPP, errno.ENOTCONN}
ABSENCES = {errno.ENODEV, errno.ENXIO, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT}
BAD = ctypes.c_void_p(1)  # a pointer that leads nowhere
NULL = ctypes.c_void_p(0)
NOBODY = 0x3FFFFFFF  # a process that cannot exist
SECONDS = 5
# x86-64; the test does not run elsewhere.
NUMBERS = {
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "pidfd_open": 434, "pidfd_getfd": 438,
    "pidfd_send_signal": 424, "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321, "perf_event_open": 298,
    "userfaultfd": 323, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "quotactl": 179,
    "quotactl_fd": 443, "kexec_load": 246, "kexec_file_load": 320, "init_module": 175, "finit_module": 313,
    "delete_module": 176, "swapon": 167, "swapoff": 168, "reboot": 169, "settimeofday": 164, "clock_settime": 227,
    "adjtimex": 159, "clock_adjtime": 305, "syslog": 103, "acct": 163, "mount": 165, "umount2": 166, "pivot_root": 155,
    "chroot": 161, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "mount_setattr": 442, "setns": 308, "unshare": 272, "clone": 56, "clone3": 435, "open_by_handle_at": 304,
    "name_to_handle_at": 303, "fanotify_init": 300, "lookup_dcookie": 212, "modify_ldt": 154, "iopl": 172, "ioperm": 173,
    "sethostname": 170, "setdomainname": 171, "setpriority": 141, "ioprio_set": 251, "sched_setscheduler": 144,
    "sched_setattr": 314, "sched_setaffinity": 203, "prlimit64": 302, "fchmodat2": 452, "openat2": 437, "mknod": 133,
    "setxattr": 188, "setxattrat": 463, "move_pages": 279, "migrate_pages": 256, "process_madvise": 440, "tkill": 200,
    "tgkill": 234, "rt_sigqueueinfo": 129, "vhangup": 153, "nfsservctl": 180, "uselib": 134, "setgroups": 116, "setuid": 105,
    "capset": 126, "file_setattr": 469, "landlock_create_ruleset": 444, "memfd_create": 319, "shmget": 29, "semget": 64,
    "msgget": 68, "shmat": 30, "semop": 65, "msgsnd": 69, "mq_open": 240, "mq_unlink": 241, "mq_timedsend": 242,
    "process_mrelease": 448, "seccomp": 317, "personality": 135, "remap_file_pages": 216,
    "mbind": 237, "set_mempolicy": 238, "statmount": 457, "listmount": 458, "cachestat": 451, "umask": 95, "syncfs": 306,
}  # fmt: skip


def probe(kind):
    """Register a probe of a class of the ledger."""

    def register(function):
        PROBES[function.__name__] = (kind, function)
        return function

    return register


def call(name, *arguments):
    """A system call; OSError with its number."""
    number = NUMBERS[name] if isinstance(name, str) else name
    result = LIBC.syscall(ctypes.c_long(number), *map(_argument, arguments))
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _argument(value):
    if isinstance(value, bytes):
        return ctypes.c_char_p(value)
    return ctypes.c_long(value) if isinstance(value, int) else value


def raw(kind, name, *arguments):
    """A probe that is one system call with harmless arguments: anything but a refusal means that it is let through."""

    def attempt():
        call(name.split(":")[0], *arguments)
        return "it answered"

    attempt.__name__ = name.replace(":", "_")
    PROBES[f"call_{attempt.__name__}"] = (kind, attempt)


# --- keys, other processes' memory, interfaces of the kernel

raw("keys", "keyctl:session", 0, -3, 0)
raw("keys", "keyctl:read", 11, -4, NULL, 0)
raw("keys", "keyctl:join", 1, NULL)
raw("keys", "add_key", b"user", b"operable-probe-inside", b"x", 1, -3)
raw("keys", "request_key", b"user", b"operable-probe", NULL, 0)
raw("processes", "process_vm_readv", NOBODY, BAD, 1, BAD, 1, 0)
raw("processes", "process_vm_writev", NOBODY, BAD, 1, BAD, 1, 0)
raw("processes", "kcmp", NOBODY, NOBODY, 0, 0, 0)
raw("processes", "pidfd_getfd", -1, 0, 0)
raw("processes", "ptrace:seize", 0x4206, NOBODY, 0, 0)
raw("processes", "ptrace:attach", 16, NOBODY, 0, 0)
raw("processes", "ptrace:traceme", 0, 0, 0, 0)
raw("kernel", "bpf", 99, NULL, 0)
raw("kernel", "perf_event_open", BAD, 0, -1, -1, 0)
raw("kernel", "userfaultfd", 0x80000000)
raw("kernel", "userfaultfd:user", 1)
raw("kernel", "io_uring_setup", 1, BAD)
raw("kernel", "io_uring_enter", -1, 0, 0, 0, NULL, 0)
raw("kernel", "io_uring_register", -1, 0, NULL, 0)
raw("kernel", "quotactl", 0x800001 << 8, NULL, 0, NULL)
raw("kernel", "quotactl_fd", -1, 0x80000700, 0, NULL)
raw("kernel", "kexec_load", 0, 999, NULL, 1 << 40)
raw("kernel", "kexec_file_load", -1, -1, 0, NULL, 1 << 40)
raw("kernel", "init_module", BAD, 0, BAD)
raw("kernel", "finit_module", -1, BAD, 0)
raw("kernel", "delete_module", b"operable_no_such_module", 0)
raw("kernel", "swapon", b"/operable/no/such", 0)
raw("kernel", "swapoff", b"/operable/no/such")
raw("kernel", "reboot", 0, 0, 0, NULL)
raw("kernel", "syslog", 9999, NULL, 0)
raw("kernel", "syslog:read", 3, BAD, 1)
raw("kernel", "acct", BAD)
raw("kernel", "lookup_dcookie", 0, BAD, 0)
raw("kernel", "fanotify_init", 0, 0)
raw("kernel", "open_by_handle_at", -1, BAD, 0)
raw("kernel", "modify_ldt", 1, BAD, 16)
raw("kernel", "iopl", 3)
raw("kernel", "ioperm", 0, 1, 1)
raw("kernel", "uselib", b"/operable/no/such")
raw("clock", "settimeofday", BAD, NULL)
raw("clock", "clock_settime", 0, BAD)
raw("clock", "clock_adjtime", 0, BAD)
raw("names", "sethostname", BAD, 1)
raw("names", "setdomainname", BAD, 1)

# --- namespaces and mounts

raw("mounts", "mount", b"none", b"/", b"operable-no-such", 0, NULL)
raw("mounts", "mount:bind", b"/operable/no/such", b"/", NULL, 0x1000, NULL)
raw("mounts", "umount2", b"/usr", 0x7FFFFFFF)
raw("mounts", "pivot_root", b"/", b"/")
raw("mounts", "chroot", b"/")
raw("mounts", "open_tree", -1, b"/", 1)
raw("mounts", "move_mount", -1, b"", -1, b"", 4)
raw("mounts", "fsopen", b"tmpfs", 0)
raw("mounts", "fsconfig", -1, 6, NULL, NULL, 0)
raw("mounts", "fsmount", -1, 0, 0)
raw("mounts", "fspick", -1, b"/", 0)
raw("mounts", "mount_setattr", -1, b"/", 0, BAD, 32)
raw("namespaces", "setns", -1, 0)
for flag, word in (
    (0x10000000, "user"), (0x00020000, "mount"), (0x40000000, "network"), (0x20000000, "process"),
    (0x04000000, "host"), (0x08000000, "ipc"), (0x02000000, "cgroup"), (0x80, "time"),
):  # fmt: skip
    raw("namespaces", f"unshare:{word}", flag)


@probe("namespaces")
def clone_of_a_user_namespace():
    pid = call("clone", 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "a process in a user namespace of its own"


@probe("namespaces")
def clone3_of_a_user_namespace():
    arguments = struct.pack("11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    pid = call("clone3", ctypes.create_string_buffer(arguments, 88), 88)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "a process in a user namespace of its own"


# --- priorities and limits of others and of ourselves

raw("priorities", "setpriority:higher", 0, 0, os.getpriority(os.PRIO_PROCESS, 0) - 5)
raw("priorities", "ioprio_set:realtime", 1, 0, (1 << 13) | 4)


@probe("processes")
def the_limits_of_a_process_outside():
    call("prlimit64", FACTS["victim"], 7, NULL, ctypes.create_string_buffer(16))
    return "they can be read and set"


@probe("processes")
def the_pages_of_a_process_outside():
    call("move_pages", FACTS["victim"], 0, NULL, NULL, NULL, 0)
    return "they can be moved"


@probe("priorities")
def the_priority_of_a_process_outside():
    call("setpriority", 0, FACTS["victim"], 19)
    return "changed"


@probe("priorities")
def the_processors_of_a_process_outside():
    os.sched_setaffinity(FACTS["victim"], os.sched_getaffinity(0))
    return "changed"


@probe("priorities")
def a_deadline_class():
    attributes = struct.pack("2IQiI3Q", 48, 6, 0, 0, 0, 1_000_000, 10_000_000, 10_000_000)
    call("sched_setattr", 0, ctypes.create_string_buffer(attributes, 48), 0)
    return "SCHED_DEADLINE"


@probe("priorities")
def a_realtime_class():
    call("sched_setscheduler", 0, 1, ctypes.create_string_buffer(struct.pack("i", 1), 4))
    return "SCHED_FIFO"


# --- sockets

FAMILIES = {
    "ax25": 3, "ipx": 4, "appletalk": 5, "netrom": 6, "x25": 9, "rose": 11, "key": 15, "packet": 17, "ash": 18, "rds": 21,
    "wanpipe": 25, "llc": 26, "ib": 27, "mpls": 28, "can": 29, "tipc": 30, "bluetooth": 31, "iucv": 32, "rxrpc": 33,
    "isdn": 34, "phonet": 35, "ieee802154": 36, "caif": 37, "alg": 38, "nfc": 39, "vsock": 40, "kcm": 41, "qipcrtr": 42,
    "smc": 43, "xdp": 44, "mctp": 45,
}  # fmt: skip
TYPES = {
    "packet": 3,
    "key": 3,
    "alg": 5,
    "rds": 5,
    "tipc": 2,
    "kcm": 2,
    "can": 3,
    "bluetooth": 5,
    "xdp": 3,
    "nfc": 5,
}


def _family(word, number):
    def attempt():
        socket.socket(
            number,
            TYPES.get(word, socket.SOCK_STREAM if word in ("vsock", "smc") else socket.SOCK_DGRAM),
            2 if word == "key" else 0,
        ).close()
        return f"a socket of family {number}"

    PROBES[f"family_{word}"] = ("families", attempt)


for each, family in FAMILIES.items():
    _family(each, family)


@probe("families")
def a_raw_socket():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
    return "raw IP"


@probe("families")
def netlink_that_is_not_about_routes():
    for protocol in (4, 9, 12, 15, 16):  # sock_diag, audit, netfilter, uevent, generic
        try:
            socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol).close()
        except OSError:
            continue
        return f"netlink protocol {protocol}"
    raise PermissionError(errno.EPERM, "none")


def _connects(family, kind, address):
    with socket.socket(family, kind) as made:
        made.settimeout(2)
        made.connect(address)
        if kind == socket.SOCK_DGRAM:
            made.send(b"probe")
            made.recv(16)
    return f"connected to {address}"


@probe("network")
def tcp_to_the_host():
    return _connects(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", FACTS["tcp"]))


@probe("network")
def udp_to_the_host():
    return _connects(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", FACTS["udp"]))


@probe("network")
def tcp6_to_the_host():
    return _connects(socket.AF_INET6, socket.SOCK_STREAM, ("::1", FACTS["tcp6"]))


@probe("network")
def tcp_through_a_mapped_address():
    return _connects(socket.AF_INET6, socket.SOCK_STREAM, ("::ffff:127.0.0.1", FACTS["tcp"]))


@probe("network")
def tcp_to_any_address():
    return _connects(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", FACTS["tcp"]))


@probe("network")
def tcp_with_fast_open():
    with socket.socket() as made:
        made.settimeout(2)
        made.sendto(b"probe", 0x20000000, ("127.0.0.1", FACTS["tcp"]))
        made.getpeername()
    return "connected"


@probe("network")
def a_port_that_the_host_can_reach():
    with socket.create_server(("127.0.0.1", FACTS["free_port"])) as server:
        server.settimeout(1.5)
        with open(FACTS["ready"], "w") as file:
            file.write("listening")
        try:
            server.accept()
        except TimeoutError:
            raise PermissionError(errno.EPERM, "nobody came") from None
    return "the host connected"


@probe("unix sockets")
def a_socket_in_a_shown_folder():
    return _connects(socket.AF_UNIX, socket.SOCK_STREAM, FACTS["unix"])


@probe("unix sockets")
def a_datagram_socket_in_a_shown_folder():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.sendto(b"probe", FACTS["unix_datagram"])
    return "a datagram was sent"


@probe("unix sockets")
def a_socket_pair_that_is_connected_anew():
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with left, right:
        left.sendto(b"probe", FACTS["unix_datagram"])
    return "a datagram was sent"


@probe("abstract sockets")
def an_abstract_socket():
    return _connects(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + FACTS["abstract"])


@probe("abstract sockets")
def an_abstract_datagram_socket():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.sendto(b"probe", "\0" + FACTS["abstract_datagram"])
    return "a datagram was sent"


# --- signals


def _signals(send):
    victim = FACTS["victim"]
    send(victim)
    return f"process {victim} can be signalled"


@probe("processes")
def kill_a_process_outside():
    return _signals(lambda victim: os.kill(victim, 0))


@probe("processes")
def kill_the_host():
    os.kill(FACTS["host"], 0)
    return "the host can be signalled"


@probe("processes")
def kill_the_group_of_the_host():
    os.killpg(FACTS["host_group"], 0)
    return "the host's group can be signalled"


@probe("processes")
def a_signal_through_a_pidfd():
    return _signals(lambda victim: signal.pidfd_send_signal(os.pidfd_open(victim), 0))


@probe("processes")
def a_signal_to_a_thread():
    return _signals(lambda victim: call("tgkill", victim, victim, 0))


@probe("processes")
def a_signal_with_a_value():
    information = ctypes.create_string_buffer(struct.pack("3i", 0, 0, -1), 128)
    return _signals(lambda victim: call("rt_sigqueueinfo", victim, 0, information))


@probe("processes")
def the_owner_of_a_file_gets_a_signal():
    read, write = os.pipe()
    fcntl.fcntl(read, fcntl.F_SETOWN, FACTS["victim"])
    owner = fcntl.fcntl(read, fcntl.F_GETOWN)
    if owner != FACTS["victim"]:
        raise ProcessLookupError(errno.ESRCH, "not there")
    fcntl.fcntl(read, fcntl.F_SETSIG, signal.SIGUSR1)
    fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(write, b"x")
    import time

    time.sleep(0.2)
    if os.path.exists(FACTS["victim_signalled"]):
        return "the victim was signalled"
    raise PermissionError(errno.EPERM, "nothing arrived")


@probe("processes")
def the_environment_of_a_process_outside():
    return _reads(f"/proc/{FACTS['victim']}/environ", FACTS["canary"])


@probe("processes")
def the_memory_of_a_process_outside():
    with open(f"/proc/{FACTS['victim']}/mem", "rb"):
        return "its memory can be opened"


@probe("process information")
def the_files_of_a_process_outside():
    return str(os.listdir(f"/proc/{FACTS['victim']}/fd"))


@probe("processes")
def the_root_of_a_process_outside():
    return _reads(f"/proc/{FACTS['victim']}/root{FACTS['secret']}", FACTS["canary"])


@probe("files outside")
def the_root_of_the_first_process():
    return _reads(f"/proc/1/root{FACTS['secret']}", FACTS["canary"])


@probe("environment")
def the_environment_of_any_process():
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if FACTS["canary"].encode() in file.read():
                        found.append(name)
            except OSError:
                continue
    if not found:
        raise PermissionError(errno.EPERM, "the canary is in no environment")
    return f"the canary is in the environment of {found}"


# --- files


def _reads(path, content):
    with open(path, "rb") as file:
        if content.encode() not in file.read():
            raise PermissionError(errno.EPERM, "it has another content")
    return f"read {path}"


def _writes(path, flags=os.O_WRONLY | os.O_APPEND):
    os.close(os.open(path, flags))
    return f"opened {path} for writing"


@probe("files outside")
def read_a_secret_of_the_host():
    return _reads(FACTS["secret"], FACTS["canary"])


@probe("files outside")
def read_a_secret_through_our_own_root():
    return _reads(f"/proc/self/root{FACTS['secret']}", FACTS["canary"])


@probe("files outside")
def read_the_home_of_the_user():
    return _reads(FACTS["home_file"], FACTS["canary"])


@probe("files outside")
def read_the_passwords_of_the_host():
    with open("/etc/shadow", "rb") as file:
        return f"{len(file.read())} bytes of /etc/shadow"


@probe("writes outside")
def write_a_file_of_the_host():
    return _writes(FACTS["writable"])


@probe("writes outside")
def make_a_file_of_the_host():
    path = os.path.join(os.path.dirname(FACTS["writable"]), "made-by-a-probe")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    return f"made {path}"


@probe("writes outside")
def remove_a_file_of_the_host():
    os.unlink(FACTS["removable"])
    return "removed"


@probe("writes outside")
def rename_a_file_of_the_host():
    os.rename(FACTS["removable"], FACTS["removable"] + ".renamed")
    return "renamed"


@probe("writes outside")
def truncate_a_file_of_the_host():
    os.truncate(FACTS["removable"], 0)
    return "truncated"


@probe("writes outside")
def link_a_file_of_the_host():
    os.link(FACTS["writable"], os.path.join(FACTS["work"], "linked"))
    return _writes(os.path.join(FACTS["work"], "linked"))


@probe("writes outside")
def write_through_a_symbolic_link():
    link = os.path.join(FACTS["work"], "link")
    os.symlink(FACTS["writable"], link)
    return _writes(link)


@probe("writes outside")
def change_the_times_of_a_file_of_the_host():
    os.utime(FACTS["removable"], (1, 1))
    return "changed"


@probe("writes outside")
def change_the_mode_of_a_file_of_the_host():
    os.chmod(FACTS["removable"], 0o600)
    return "changed"


@probe("writes outside")
def change_the_owner_of_a_file_of_the_host():
    os.chown(FACTS["removable"], os.getuid(), os.getgid())
    return "changed"


@probe("writes outside")
def an_attribute_of_a_file_of_the_host():
    os.setxattr(FACTS["removable"], "user.probe", b"x")
    return "set"


@probe("writes outside")
def a_lease_on_a_file_of_the_host():
    with open(FACTS["writable"], "rb") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    return "a lease was taken"


@probe("kernel objects")
def a_lock_on_a_file_of_the_host():
    with open(FACTS["writable"], "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return "programs outside wait for it"


def _shown_folder(request):
    """Through a folder that is shown; whether its file system knows the command or not, it is refused before."""

    def attempt():
        folder = os.open(FACTS["work"], os.O_RDONLY)
        try:
            fcntl.ioctl(folder, request, bytes(1000))
        finally:
            os.close(folder)
        return "answered"

    return attempt


PROBES["ioctl_btrfs_subvolume"] = ("attributes", _shown_folder(0x5000940E))
PROBES["ioctl_btrfs_snapshot"] = ("attributes", _shown_folder(0x50009417))
PROBES["ioctl_btrfs_remove"] = ("attributes", _shown_folder(0x5000940F))


@probe("writes outside")
def write_the_system():
    for path in ("/usr/lib/os-release", "/etc/ld.so.cache", "/usr/bin/env"):
        try:
            return _writes(path)  # opened, never written
        except OSError:
            continue
    raise PermissionError(errno.EPERM, "nowhere")


@probe("leaked descriptors")
def a_descriptor_that_leads_outside():
    found = []
    for name in os.listdir("/proc/self/fd"):
        if int(name) <= 2:
            continue
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if (target.startswith("/") and not target.startswith("/proc/")) or "socket" in target:
            found.append(target)
    if not found:
        raise PermissionError(errno.EPERM, "none")
    return str(found)


def _kernel_file(name, path, flags=os.O_WRONLY, kind="kernel files"):
    def attempt():
        os.close(os.open(path, flags))
        return f"opened {path}"

    PROBES[f"open_{name}"] = (kind, attempt)


for each, path in {
    "hostname": "/proc/sys/kernel/hostname", "core_pattern": "/proc/sys/kernel/core_pattern", "sysrq": "/proc/sysrq-trigger",
    "modprobe": "/proc/sys/kernel/modprobe", "panic": "/proc/sys/kernel/panic", "binfmt": "/proc/sys/fs/binfmt_misc/register",
"cgroup_procs": "/sys/fs/cgroup/cgroup.procs", "uevent": "/sys/kernel/uevent_helper",
    "power": "/sys/power/state", "mem": "/dev/mem", "kmsg_write": "/dev/kmsg", "disk": "/dev/vda", "tun": "/dev/net/tun",
    "vsock": "/dev/vsock", "kvm": "/dev/kvm", "fuse": "/dev/fuse", "loop": "/dev/loop-control", "uinput": "/dev/uinput",
}.items():  # fmt: skip
    _kernel_file(each, path)
for each, path in {"kcore": "/proc/kcore", "kmsg": "/dev/kmsg"}.items():
    _kernel_file(each, path, os.O_RDONLY | os.O_NONBLOCK, "process information")
for each in ("kpagecount", "kpageflags", "kpagecgroup"):
    _kernel_file(each, f"/proc/{each}", os.O_RDONLY, "facts of the machine")


@probe("kernel files")
def never_be_chosen_when_memory_is_short():
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("-999")
    return "the kernel would end others first"


# --- processes inside that may do more than we: whoever takes one over has its rights


def _rights(pid):
    """(number of filters, capabilities) of a process."""
    with open(f"/proc/{pid}/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    return int(status.get("Seccomp_filters", "0")), int(status["CapPrm"], 16)


def _may_do_more():
    """Whoever has fewer filters than we, or a capability that we do not have."""
    filters, held = _rights("self")
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            its_filters, its_held = _rights(name)
        except OSError:
            continue
        if int(name) != os.getpid() and (its_filters < filters or its_held & ~held):
            found.append(int(name))
    return found


def taking_over(attempt):
    """A probe that tries this on every process that may do more."""

    def probe_all():
        for pid in _may_do_more():
            try:
                attempt(pid)
            except OSError as error:
                if error.errno not in (errno.EFAULT, errno.EIO):  # those come behind the check of rights
                    continue
            return f"{attempt.__name__} of process {pid}, which may do more than we"
        raise PermissionError(errno.EPERM, "none")

    PROBES[f"{attempt.__name__}_of_a_process_that_may_do_more"] = ("rights", probe_all)
    return attempt


@taking_over
def writing_the_memory(pid):
    os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))


@taking_over
def reading_the_memory(pid):
    os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY))


@taking_over
def reading_the_map(pid):
    with open(f"/proc/{pid}/maps", "rb") as file:
        if not file.read(1):
            raise PermissionError(errno.EPERM, "a thread of the kernel has no memory")


@taking_over
def writing_with_a_call(pid):
    here = ctypes.create_string_buffer(1)
    vectors = [
        ctypes.create_string_buffer(struct.pack("2Q", place, 1), 16) for place in (ctypes.addressof(here), 8)
    ]
    call("process_vm_writev", pid, vectors[0], 1, vectors[1], 1, 0)


@taking_over
def tracing(pid):
    call("ptrace", 0x4206, pid, 0, 0)


@taking_over
def taking_a_descriptor(pid):
    call("pidfd_getfd", os.pidfd_open(pid), 0, 0)


@taking_over
def listing_the_descriptors(pid):
    targets = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
    if not targets:
        raise PermissionError(errno.EPERM, "a thread of the kernel has none")


@taking_over
def entering_the_root(pid):
    os.listdir(f"/proc/{pid}/root/")


# --- bits, devices and attributes in a folder that may be written


def _own_file():
    path = os.path.join(FACTS["work"], "own")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    return path


def _special(path):
    if not os.lstat(path).st_mode & (stat.S_ISUID | stat.S_ISGID):
        raise PermissionError(errno.EPERM, "the bits were dropped")
    return f"{path} has {stat.filemode(os.lstat(path).st_mode)}"


@probe("special files")
def chmod_with_setuid():
    path = _own_file()
    os.chmod(path, 0o4755)
    return _special(path)


@probe("special files")
def fchmod_with_setgid():
    path = _own_file()
    with open(path) as file:
        os.fchmod(file.fileno(), 0o2755)
    return _special(path)


@probe("special files")
def fchmodat2_with_setuid():
    path = _own_file()
    call("fchmodat2", -100, path.encode(), 0o4755, 0)
    return _special(path)


@probe("special files")
def open_with_setuid():
    path = os.path.join(FACTS["work"], "opened")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o4755))
    return _special(path)


@probe("special files")
def openat2_with_setuid():
    path = os.path.join(FACTS["work"], "opened2")
    how = struct.pack("3Q", os.O_WRONLY | os.O_CREAT, 0o4755, 0)
    os.close(call("openat2", -100, path.encode(), ctypes.create_string_buffer(how, 24), 24))
    return _special(path)


@probe("special files")
def mknod_with_setuid():
    path = os.path.join(FACTS["work"], "node")
    os.mknod(path, stat.S_IFREG | 0o4755)
    return _special(path)


@probe("special files")
def mkdir_with_setgid():
    path = os.path.join(FACTS["work"], "folder")
    os.mkdir(path, 0o2755)
    return _special(path)


@probe("special files")
def a_character_device():
    os.mknod(os.path.join(FACTS["work"], "zero"), stat.S_IFCHR | 0o600, os.makedev(1, 5))
    return "made"


@probe("special files")
def a_block_device():
    os.mknod(os.path.join(FACTS["work"], "disk"), stat.S_IFBLK | 0o600, os.makedev(254, 0))
    return "made"


@probe("special files")
def a_file_with_capabilities():
    value = struct.pack("<5I", 0x02000001, 1 << 21, 0, 0, 0)
    os.setxattr(_own_file(), "security.capability", value)
    return "set"


@probe("special files")
def a_trusted_attribute():
    os.setxattr(_own_file(), "trusted.probe", b"x")
    return "set"


def _flags(request, value):
    def attempt():
        with open(_own_file(), "rb") as file:
            fcntl.ioctl(file, request, value)
        return "answered"

    return attempt


PROBES["ioctl_immutable"] = (
    "attributes",
    _flags(0x40086602, struct.pack("l", 0x80)),
)  # no-atime: harmless, same right
PROBES["ioctl_immutable_32"] = ("attributes", _flags(0x40046602, struct.pack("i", 0x80)))
PROBES["ioctl_project"] = ("attributes", _flags(0x401C5820, bytes(28)))
PROBES["ioctl_version"] = ("attributes", _flags(0x40087602, struct.pack("q", 7)))
PROBES["ioctl_version_ext4"] = ("attributes", _flags(0x40086604, struct.pack("q", 7)))
PROBES["ioctl_freeze"] = ("attributes", _flags(0xC0045878, bytes(4)))  # thaw, of what is not frozen
PROBES["ioctl_trim"] = ("attributes", _flags(0xC0185879, 1))  # a wrong pointer


@probe("attributes")
def file_setattr():
    call("file_setattr", -100, _own_file().encode(), ctypes.create_string_buffer(24), 24, 0)
    return "answered"


def _terminal(request, value):
    def attempt():
        leader, follower = os.openpty()
        try:
            fcntl.ioctl(follower, request, value)
        finally:
            os.close(leader)
            os.close(follower)
        return "answered"

    return attempt


PROBES["ioctl_type_into_a_terminal"] = ("terminal", _terminal(0x5412, b"x"))  # TIOCSTI
PROBES["ioctl_linux_console"] = ("terminal", _terminal(0x541C, b"\x63"))  # TIOCLINUX, an unknown subcode


@probe("terminal")
def the_terminal_of_the_host():
    os.close(os.open("/dev/tty", os.O_RDWR))
    return "opened /dev/tty"


# --- shared objects


@probe("process information")
def shared_memory_of_the_host():
    call("shmget", FACTS["shm_key"], 0, 0)
    return "found"


@probe("process information")
def semaphores_of_the_host():
    call("semget", FACTS["shm_key"], 0, 0)
    return "found"


@probe("process information")
def messages_of_the_host():
    call("msgget", FACTS["shm_key"], 0)
    return "found"


@probe("writes outside")
def write_to_shared_memory_of_the_host():
    address = call("shmat", call("shmget", FACTS["shm_key"], 0, 0), NULL, 0)
    ctypes.memmove(address, b"x", 1)
    return "written"


@probe("writes outside")
def raise_a_semaphore_of_the_host():
    operation = struct.pack("Hhh", 0, 1, 0)
    call("semop", call("semget", FACTS["shm_key"], 0, 0), operation, 1)
    return "raised"


@probe("writes outside")
def send_a_message_to_the_host():
    call("msgsnd", call("msgget", FACTS["shm_key"], 0), struct.pack("q8s", 1, b"probe"), 8, 0o4000)
    return "sent"


@probe("writes outside")
def send_to_a_message_queue_of_the_host():
    queue = call("mq_open", FACTS["queue"].encode(), os.O_WRONLY, 0, NULL)
    call("mq_timedsend", queue, b"probe", 5, 0, NULL)
    return "sent"


@probe("writes outside")
def remove_a_message_queue_of_the_host():
    """Last of its kind: without an enclosure it is gone."""
    call("mq_unlink", FACTS["queue"].encode())
    return "removed"


@probe("files outside")
def a_file_in_the_shared_memory_of_the_host():
    return _reads(FACTS["shm_file"], FACTS["canary"])


@probe("keys")
def a_key_of_the_host():
    serial = call("keyctl", 10, -4, b"user", b"operable-probe-canary", 0)
    return f"found key {serial}"


@probe("process information")
def keys_that_are_listed():
    with open("/proc/keys") as file:
        if "operable-probe-canary" in file.read():
            return "the key of the host is listed"
    raise PermissionError(errno.EPERM, "not listed")


# --- other architectures


def _machine_code(code):
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    result = function()
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return f"answered {result}"


@probe("kernel")
def a_call_of_the_32_bit_kernel():
    # push rbx; mov eax, 20 (getpid); int 0x80; pop rbx; ret
    return _machine_code(b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3")


@probe("kernel")
def a_call_of_x32():
    call(0x40000000 + 39)
    return "answered"


# --- rights


@probe("rights")
def gain_rights_through_a_setuid_program():
    with open("/proc/self/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    if status["NoNewPrivs"].strip() == "1":
        raise PermissionError(errno.EPERM, "no_new_privs is set")
    return "no_new_privs is not set"


@probe("rights")
def capabilities_over_the_host():
    with open("/proc/self/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    effective = int(status["CapEff"], 16)
    dangerous = {
        0: "chown",
        1: "dac_override",
        12: "net_admin",
        13: "net_raw",
        16: "sys_module",
        17: "sys_rawio",
        19: "sys_ptrace",
        21: "sys_admin",
        22: "sys_boot",
        25: "sys_time",
        27: "mknod",
    }
    held = [name for bit, name in dangerous.items() if effective >> bit & 1]
    if not held:
        raise PermissionError(errno.EPERM, "none")
    return f"it has {held}"


def main():
    with open(sys.argv[1]) as file:
        FACTS.update(json.load(file))
    signal.signal(
        signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError(errno.ETIMEDOUT, "no answer"))
    )
    wanted = FACTS.get("kinds")
    chosen = {name: entry for name, entry in PROBES.items() if wanted is None or entry[0] in wanted}
    outcomes = {name: [kind, _apart(name, attempt)] for name, (kind, attempt) in chosen.items()}
    print("OUTCOMES " + json.dumps(outcomes), flush=True)


def _apart(name, attempt):
    """In a process of its own, where there may be one: what one probe does to itself must not help the next one."""
    read, write = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        return _tried(name, attempt)
    if pid == 0:
        os.close(read)
        text = _tried(name, attempt)
        os.write(write, text.encode("utf-8", "replace")[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        text = file.read().decode()
    os.waitpid(pid, 0)
    return text or "refused: the process was ended"


def _tried(name, attempt):
    signal.alarm(SECONDS)
    try:
        return f"through {attempt()}"
    except OSError as error:
        return _outcome(name, error)
    finally:
        signal.alarm(0)


def _outcome(name, error):
    code = errno.errorcode.get(error.errno, str(error.errno))
    if error.errno in REFUSALS:
        return f"refused {code}"
    if not name.startswith(("call_", "ioctl_")):
        if error.errno in ABSENCES:
            return f"absent {code}"
        return f"refused {code}"  # it had no effect, which is what is looked at there
    if error.errno == errno.ENOTTY:
        return f"absent {code}"
    return f"through it looked at its arguments: {code}"


if __name__ == "__main__":
    main()
