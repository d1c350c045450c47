"""Brings a package here: from a folder, an archive (tar, zip) or a git repository, into a folder that goes afterwards.

Only plain files are taken, under names that cannot climb out, within limits. Of a repository one commit is asked for, and
its tree is taken as an archive: no work tree is made, and no hook, filter or submodule of it plays a part.
"""

import os
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from operable.distribution.folder import BYTECODE, BYTES, FILES, LEFT_OUT, too_large, walk
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import redact_url

_GIT_TIMEOUT = 300.0
_CHUNK = 1 << 20
_ENTRIES = 2 * FILES  # of an archive, its folders included
_DESCRIPTION = 64 * 1024  # bytes of a long name or of further facts about an entry
_DESCRIPTIONS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
_REMOTE = re.compile(r"(git\+|https?://|ssh://|file://|[\w.-]+@[\w.-]+:)", re.ASCII)
_REVISION = re.compile(r"[A-Za-z0-9][\w./+-]{0,199}", re.ASCII)
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "file:https:ssh",
    "GIT_PROTOCOL_FROM_USER": "0",
    "LC_ALL": "C.UTF-8",
}
# What reaches a repository of the user: keys, certificates and the way out.
_INHERITED = ("SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_SSL_CAINFO", "SSL_CERT_FILE",
              "SSL_CERT_DIR", "XDG_CONFIG_HOME", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "NO_PROXY",
              "no_proxy", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fetched:
    """A copy of a package. `source` is what an update asks again; `revision` is the commit, of a repository."""

    folder: str
    source: str
    revision: str | None


@contextmanager
def fetched(source: str, revision: str | None, marker: str) -> Iterator[Fetched]:
    """The package in a folder that is removed afterwards; `marker` is the file that it has at its top."""
    with tempfile.TemporaryDirectory(prefix="operable-package-") as room:
        target, commit = os.path.join(room, "package"), None
        os.mkdir(target)
        place = os.path.abspath(os.path.expanduser(source))
        if os.path.isdir(place) and not source.startswith("git+"):
            origin = place
            _copy(place, target)
        elif os.path.isfile(place):
            origin = place
            _unpack(place, target)
        elif _REMOTE.match(source):
            origin = _address(source)
            commit = _from_git(origin.removeprefix("git+"), revision, room, target)
        else:
            hint = "a folder, an archive, or the address of a git repository: https://…, ssh://…, git+FOLDER"
            message = f"there is no package at {redact_url(source)}"
            raise Fail("not_found", "PACKAGE_NOT_FOUND", message, hint=hint, target=redact_url(source))
        if revision is not None and commit is None:
            raise Fail(
                "usage", "CONFLICTING_OPTIONS", "only a git repository has revisions", target="--revision"
            )
        yield Fetched(_top(target, marker, source), origin, commit)


def _address(source: str) -> str:
    """The address as it is asked again; of a folder of this machine its whole path."""
    inner = source.removeprefix("git+")
    if source.startswith("git+") and not _REMOTE.match(inner):
        return f"git+{os.path.abspath(os.path.expanduser(inner))}"
    return source


def _top(folder: str, marker: str, source: str) -> str:
    """The folder that has the marker: an archive often has one folder with everything in it."""
    names = os.listdir(folder)
    inner = os.path.join(folder, names[0]) if len(names) == 1 else folder
    for place in (folder, inner):
        if os.path.isfile(os.path.join(place, marker)):
            for each in LEFT_OUT:  # no digest, signature or consent is about it, so it does not come
                _drop(os.path.join(place, each))
            return place
    shown = redact_url(source)
    raise Fail("validation", "PACKAGE_WITHOUT_MANIFEST", f"{shown} has no {marker} at its top", target=shown)


def _drop(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _copy(source: str, target: str) -> None:
    room = _Room(target)
    for path, status in walk(source):
        with open(os.path.join(source, path), "rb") as file:
            room.write(path, file, executable=bool(status.st_mode & stat.S_IXUSR))


def _unpack(archive: str, target: str) -> None:
    room = _Room(target)
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as contents:
                for entry in contents.infolist():
                    mode = entry.external_attr >> 16
                    if entry.is_dir():
                        continue
                    if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
                        raise _not_plain(entry.filename)
                    with contents.open(entry) as file:
                        room.write(entry.filename, file, executable=bool(mode & stat.S_IXUSR))
            return
        with tarfile.open(archive, "r:*", tarinfo=_Member) as found:
            for number, member in enumerate(found):
                if number > _ENTRIES:
                    raise too_large(member.name[:200])
                if member.isdir() or member.type in (tarfile.XGLTYPE, tarfile.XHDTYPE):
                    continue
                inner = found.extractfile(member) if member.isreg() else None
                if inner is None:
                    raise _not_plain(member.name)
                with inner as file:
                    room.write(member.name, file, executable=bool(member.mode & stat.S_IXUSR))
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        EOFError,
        OSError,
        ValueError,
        NotImplementedError,
        RuntimeError,
    ) as problem:
        message = f"the archive cannot be unpacked: {problem}"
        raise Fail("validation", "PACKAGE_ARCHIVE_BROKEN", message, target=archive) from problem


class _Member(tarfile.TarInfo):
    """One entry of a tar file. What only describes the next one is read into memory whole, so it has a limit."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Member":
        found = super().frombuf(buf, encoding, errors)
        if found.type in _DESCRIPTIONS and found.size > _DESCRIPTION:
            raise tarfile.ReadError(f"a name or a description in it has {found.size} bytes")
        return found


class _Room:
    """A folder that files are written to, under names that stay in it, within the limits of a package."""

    def __init__(self, folder: str) -> None:
        self._folder, self._files, self._bytes = folder, 0, 0

    def write(self, name: str, source: IO[bytes], *, executable: bool) -> None:
        parts = name.split("/")
        if name.startswith("/") or "\\" in name or "\0" in name or ".." in parts:
            raise _not_plain(name)
        if BYTECODE in parts:
            return
        path = os.path.join(self._folder, *(part for part in parts if part not in ("", ".")))
        self._files += 1
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            while chunk := source.read(_CHUNK):
                self._bytes += len(chunk)
                if self._bytes > BYTES or self._files > FILES:
                    raise too_large(name)
                file.write(chunk)
        os.chmod(path, 0o755 if executable else 0o644)


def _not_plain(name: str) -> Fail:
    message = f"{name[:200]} in the archive is a link, a device, or a name that leads out of it"
    return Fail("validation", "PACKAGE_NOT_FILES", message, target=name[:200])


def _from_git(url: str, revision: str | None, room: str, target: str) -> str:
    """Take the tree of one commit; gives its id."""
    if revision is not None and not _REVISION.fullmatch(revision):
        raise Fail(
            "validation", "REVISION_INVALID", "that is not a branch, a tag or a commit", target=revision[:80]
        )
    if url.startswith("http://"):
        hint = "use https:// or ssh://"
        raise Fail(
            "validation",
            "PACKAGE_SOURCE_OPEN",
            "what comes over http:// can be changed on its way",
            hint=hint,
        )
    here, archive = os.path.join(room, "git"), os.path.join(room, "package.tar")
    _git(["init", "--quiet", "--bare", "--template=", here], url)
    at = ["--git-dir", here, "-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never"]
    words = [
        "fetch",
        "--quiet",
        "--no-tags",
        "--depth=1",
        "--no-recurse-submodules",
        "--",
        url,
        revision or "HEAD",
    ]
    _git([*at, *words], url)
    commit = _git([*at, "rev-parse", "--verify", "FETCH_HEAD^{commit}"], url).decode("ascii").strip()
    _git([*at, "archive", "--format=tar", f"--output={archive}", commit], url)
    _unpack(archive, target)
    shutil.rmtree(here, ignore_errors=True)
    return commit


def _git(words: list[str], url: str) -> bytes:
    from operable.proc.run import output
    from operable.proc.spawn import prepare

    done = output(prepare(["git", *words], env=_ENVIRONMENT, inherit=_INHERITED), timeout=_GIT_TIMEOUT)
    if done.status == 0:
        return done.stdout
    from operable.kernel.redact import redact_text

    shown = redact_url(url)
    said = redact_text(done.stderr.strip()).splitlines()
    message = (
        f"{shown} cannot be fetched: {said[-1][:300] if said else f'git ended with status {done.status}'}"
    )
    hint = "git fetch with the same address says more"
    raise Fail("not_found", "PACKAGE_UNREACHABLE", message, hint=hint, target=shown)
