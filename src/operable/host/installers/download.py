"""`download`: a program, plain or in an archive (tar, zip; compressed with gzip, bzip2 or xz), into a private folder.

Fetched whole and checked against `verify_sha256` (a download without one is refused unless unpinned ones are allowed). Only
`extract_bin` is taken out of an archive, so that nothing else in it can be written anywhere; a link in its place is refused.
"""

import bz2
import gzip
import lzma
import os
import posixpath
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from operable.host.launch.fetch import fetch
from operable.host.launch.installer import Installer, InstallJob, MethodFailed
from operable.state.atomic import WholeFile

# The largest agent is 250 MB unpacked. For a tar the limit also applies to everything before the program.
LIMIT = 4 * 1024 * 1024 * 1024
_MEMBERS = 200_000
_CHUNK = 256 * 1024
_TAR_MAGIC = (257, b"ustar")
_START = 262  # as far as that magic goes
_COMPRESSED: tuple[tuple[bytes, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\0", lzma.open),
)
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError)


# Take one program out of what was downloaded, and nothing else.
# The content decides what the file is, not its name: zip, tar (plain or compressed), one compressed file, or the
# program itself. Only the wanted member is read, and its bytes are counted while they are unpacked. So names that climb
# out of the folder, links, devices and archives of terabytes have no effect. The program appears at its place complete
# and executable, or not at all.
def place(archive: str, wanted: str, target: str, *, limit: int = LIMIT) -> None:
    """Put the member `wanted` of the archive (or the file itself, if it is not an archive) at `target`, executable."""
    try:
        with _member(archive, wanted, limit) as source:
            _write(source, target, limit)
    except (NotImplementedError, RuntimeError, OSError, *_BROKEN) as problem:
        raise MethodFailed(f"what was fetched cannot be unpacked: {problem}") from problem


@contextmanager
def _member(archive: str, wanted: str, limit: int) -> Iterator[IO[bytes]]:
    with open(archive, "rb") as file:
        start = file.read(_START)
    opener = next((opener for magic, opener in _COMPRESSED if start.startswith(magic)), None)
    if start.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(archive) as contents, contents.open(_in_zip(contents, wanted)) as member:
            yield member
        return
    with open(archive, "rb") if opener is None else opener(archive, "rb") as content:
        inner = start if opener is None else content.read(_START)
        content.seek(0)
        if not inner[_TAR_MAGIC[0] :].startswith(_TAR_MAGIC[1]):
            yield content
            return
        with tarfile.open(fileobj=_Counted(content, limit), mode="r|") as contents:  # type: ignore[call-overload]
            yield _in_tar(contents, wanted)


def _in_zip(contents: zipfile.ZipFile, wanted: str) -> zipfile.ZipInfo:
    members = {info.filename: info for info in contents.infolist()}
    name = _choose(list(members), wanted)
    mode = members[name].external_attr >> 16
    if members[name].is_dir() or (mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG)):
        raise MethodFailed(f"{name!r} is not a regular file in the archive")
    return members[name]


def _in_tar(contents: tarfile.TarFile, wanted: str) -> IO[bytes]:
    """A stream is read once, so the first member that fits is taken; a bare name fits in any folder."""
    for count, member in enumerate(contents):
        if count > _MEMBERS:
            raise MethodFailed(f"the archive has more than {_MEMBERS} members")
        if _fits(member.name, wanted) and not member.isdir():
            content = contents.extractfile(member) if member.isreg() else None
            if content is None:
                raise MethodFailed(f"{member.name!r} is not a regular file in the archive")
            return content
    raise MethodFailed(f"the archive has no {wanted!r}")


def _choose(names: list[str], wanted: str) -> str:
    fitting = [name for name in names if _fits(name, wanted) and not name.endswith("/")]
    exact = [name for name in fitting if posixpath.normpath(name) == posixpath.normpath(wanted)]
    if not fitting:
        raise MethodFailed(f"the archive has no {wanted!r}")
    return (exact or fitting)[0]


def _fits(name: str, wanted: str) -> bool:
    normal = posixpath.normpath(name)
    if "/" in wanted.removeprefix("./"):
        return normal == posixpath.normpath(wanted)
    return posixpath.basename(normal) == posixpath.basename(wanted)


def _write(source: IO[bytes], target: str, limit: int) -> None:
    with WholeFile(target) as file:
        written = 0
        while chunk := source.read(_CHUNK):
            written += len(chunk)
            if written > limit:
                raise MethodFailed(f"the program unpacks to more than {limit} bytes")
            file.write(chunk)
        if not written:
            raise MethodFailed("the program in the archive is empty")
        os.fchmod(file.fd, 0o755)  # a program, in a folder that is its owner's


class _Counted:
    """A stream that ends the work when it has given more than `limit` bytes."""

    def __init__(self, content: Any, limit: int) -> None:
        self._content = content
        self._left = limit

    def read(self, size: int) -> bytes:
        chunk: bytes = self._content.read(size)
        self._left -= len(chunk)
        if self._left < 0:
            raise MethodFailed("the archive unpacks to more than is allowed")
        return chunk


def _install(job: InstallJob) -> list[str]:
    fetched = os.path.join(job.prefix, "download")
    fetch(job, fetched)
    folder = os.path.join(job.prefix, "bin")
    os.makedirs(folder, mode=0o755)
    place(fetched, job.install.extract_bin or job.name, os.path.join(folder, job.name))
    os.unlink(fetched)
    return [folder]


INSTALLER = Installer("download", _install)
