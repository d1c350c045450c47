"""What an enclosure with a root of its own is shown of the system: programs, libraries, and settings that say nothing of us.
And what no enclosure is shown of the kernel's own files (`masks`), whatever its root.

Of users, groups and hosts there are only the names that programs ask for (`etc/`). With the host's network, names are
resolved as on the host.

Theory of operation. Every mount costs: bubblewrap reads the list of all mounts for each. So a link into what is shown
anyway is made again as a link, and a small file is copied into the root, which is in memory and is read-only in the
end; only folders are mounted. What is there is looked up once, and again when a folder that names it has changed.
"""

import functools
import os
import time

from operable.proc.sandbox.entry import Read

# On merged systems these are links into /usr, and are made again as such.
PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# What programs read to find libraries, time zones and certificates. Nothing that names users, hosts or services of ours.
_SETTINGS = tuple(
    f"/etc/{name}"
    for name in (
        *("alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "fonts", "gai.conf"),
        *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "pki"),
        *("protocols", "services", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone"),
    )
)
# The folders of the names above.
_NAMING = ("/", "/etc", "/etc/ssl")
# These change while a session lives, and are mounted: a copy would be out of date.
_RESOLVING = ("/etc/hosts", "/etc/resolv.conf")
# Programs ask for their user, their group and localhost; they must not learn the users of the host.
_IDENTITY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "etc")
# The keys of the whole machine, by name. Each mount costs: what else /proc shows is in the report.
_MASKED = ("/proc/keys",)
_SYSCTL = "/proc/sys"
_LARGEST_COPY = 256 * 1024
_SETTLED_NS = 2_000_000_000


def shown(*, network: bool) -> list[str | Read]:
    """Words for bubblewrap. `network`: names are resolved as on the host."""
    words = [*_current()]
    if not network:
        return [*words, *_copy(f"{_IDENTITY}/hosts", "/etc/hosts")]
    for path in filter(os.path.exists, _RESOLVING):
        words += ["--ro-bind", os.path.realpath(path), path]
    return words


def masks() -> list[str]:
    """The kernel's settings belong to root of the host, by its number and not by a capability: a process with that number,
    in whatever namespace, could write there what the kernel is to run (core_pattern). Below something that is mounted, no
    process inside can mount a second /proc without it.
    """
    words = ["--ro-bind", _SYSCTL, _SYSCTL] if os.geteuid() == 0 and os.path.isdir(_SYSCTL) else []
    for path in filter(os.path.exists, _MASKED):
        words += ["--ro-bind", os.devnull, path]
    return words


def _current() -> tuple[str | Read, ...]:
    stamps = _stamps()
    # A clock ticks in milliseconds: what changed just now can change again, and have the same time.
    if time.time_ns() - max(stamps) < _SETTLED_NS:
        return _system.__wrapped__(stamps)
    return _system(stamps)


@functools.lru_cache(maxsize=1)
def _system(_: tuple[int, ...]) -> tuple[str | Read, ...]:
    words: list[str | Read] = []
    for path in PROGRAMS:
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            words += ["--ro-bind", path, path]
    for path in filter(os.path.exists, _SETTINGS):
        words += _setting(path)
    for name in ("passwd", "group"):
        words += _copy(f"{_IDENTITY}/{name}", f"/etc/{name}")
    return tuple(words)


def _setting(path: str) -> list[str | Read]:
    real = os.path.realpath(path)
    if os.path.islink(path) and real.startswith("/usr/"):
        return ["--symlink", real, path]
    if os.path.isfile(real) and os.path.getsize(real) <= _LARGEST_COPY:
        return _copy(real, path)
    return ["--ro-bind", real, path]


def _copy(source: str, path: str) -> list[str | Read]:
    return ["--perms", "0444", "--file", Read(source), path]


def _stamps() -> tuple[int, ...]:
    """What changes when a name is added to these folders, taken away, or leads elsewhere."""
    found = []
    for folder in _NAMING:
        try:
            state = os.stat(folder)
        except OSError:
            found.append(0)
        else:
            found += [state.st_ino, state.st_ctime_ns]
    return tuple(found)
