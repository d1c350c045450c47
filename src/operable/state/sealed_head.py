"""The head of a sealed log: the file `<log>.head`, which says how far the log had come.

    SEQ HASH                  the newest record that is on disk for certain
    open SEQ SEQ …            the records that were begun and not yet closed; left out if empty
    batch HASH HASH …         the records that were written just before the newest one, with it; left out if empty
    signed                    a record of the log says that its heads are signed; left out if none does
    log DIGEST                of the name of the log that this head belongs to; only in signed heads of a log with a name
    ed25519 KEY SIGNATURE     over the lines above, where the operator gave a key; both in base64

The next head is on disk as `<log>.head.new` before its records are, or with them (`operable.state.sealed_attribute`),
and gets its name after them. So records ahead of the head are those of a writer that crashed if they are announced
there, and another writer's if not. Without a head, dropping the newest records would not show. A signature shows a
head that another program made; it does not show that an older head was put back, an anchor does. The name shows a head
of another log that was signed with the same key.
"""

import base64
import hashlib
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from operable.kernel.data_class import dataclass
from operable.state.atomic import opened, sync_folder, write_all, write_whole
from operable.state.sealed_attribute import carried

# Everything that is begun at one moment in one log: more is a leak, and refused.
OPEN_LIMIT = 4096
_LIMIT = 128 * 1024
_FIRST = re.compile(r"(-1|\d{1,18}) ((?:sha256:)?[0-9a-f]{64})\Z")
_NAME = re.compile(r"log ([0-9a-f]{64})\Z")
_SIGNED_AS = b"operable sealed head 1\n"

Signer = Callable[[bytes], str]
"""Makes the last line of a head from the lines before it."""


class UnreadableHeadError(ValueError):
    """There is a file in the place of the head, and it is not one."""


@dataclass(frozen=True, slots=True)
class Head:
    """A record of a chain: its number and its hash."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq} {self.hash}"


@dataclass(frozen=True, slots=True)
class Stated:
    """What the file says. `signature` is its last line, over `body`; `batch` are hashes; `coming` are announcements."""

    head: Head
    open: tuple[int, ...] = ()
    batch: tuple[str, ...] = ()
    is_marked: bool = False  # the line `signed`
    name: str | None = None  # the line `log`
    body: bytes = b""
    signature: str | None = None
    coming: "tuple[Stated, ...]" = ()  # what `.head.new` says, and what the log carries since before a power cut
    has_carried: bool = False  # whether `coming` has the latter

    def announces(self, head: Head) -> bool:
        """Whether this is the newest record of the batch, or one that a crash in the middle of it left as the newest."""
        hashes = (*self.batch, self.head.hash)
        place = head.seq - self.head.seq + len(hashes) - 1
        return 0 <= place < len(hashes) and hashes[place] == head.hash

    def is_signed_with(self, signer: Signer) -> bool:
        """Whether the holder of this private key made it: a signature of Ed25519 is always the same."""
        return self.signature is not None and self.signature == signer(self.body)

    def is_of(self, name: str | None) -> bool:
        """Whether this may be the head of the log with this name (`digest_name`). Heads had none in earlier versions."""
        return name is None or self.name is None or self.name == name

    @property
    def is_unsigned(self) -> bool:
        """Whether nothing in this head says that the log was ever signed."""
        return self.signature is None and not self.is_marked

    @property
    def key(self) -> bytes | None:
        """The public key that the signature names. It says nothing about who made it."""
        return (
            None if self.signature is None else decode_key(self.signature.partition(" ")[2].partition(" ")[0])
        )


def digest_name(name: str) -> str:
    """How a head spells the name of its log: of one length, whatever the name is."""
    return hashlib.sha256(os.fsencode(name)).hexdigest()


def decode_key(text: object) -> bytes | None:
    """A public key as heads and records spell it. Returns None for anything else."""
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except ValueError:
        return None


def parse_head(text: str) -> Head:
    """The first line of a head, as it is kept elsewhere as an anchor. Raises ValueError if it is not one."""
    match = _FIRST.match(text.strip("\n"))
    if match is None:
        raise ValueError("a head is a sequence number and a hash of 64 hex digits")
    return Head(int(match[1]), match[2])


def read_head(log: str) -> Stated | None:
    """The stated head of a log. Returns None if it has none; raises UnreadableHeadError for anything else than a head."""
    stated = _read(f"{log}.head")
    if stated is None:
        return None
    coming: list[Stated] = []
    with suppress(UnreadableHeadError):  # its writer was killed before the records: it announces nothing
        announced = _read(f"{log}.head.new")
        coming += [] if announced is None else [announced]
    data = carried(log)
    with suppress(ValueError):  # not ours
        coming += [] if data is None else [_parsed(data)]
    return replace(stated, coming=tuple(coming), has_carried=data is not None)


def _read(path: str) -> Stated | None:
    try:
        with opened(path, os.O_RDONLY) as fd, os.fdopen(os.dup(fd), "rb") as file:
            data = file.read(_LIMIT + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableHeadError(error.strerror or "unreadable") from error
    try:
        return _parsed(data)
    except ValueError as error:
        raise UnreadableHeadError(str(error)) from error


def _parsed(data: bytes) -> Stated:
    if len(data) > _LIMIT or not data.endswith(b"\n"):
        raise ValueError("not a whole head")
    first, *rest = data.decode("ascii").split("\n")[:-1]
    numbers: tuple[int, ...] = ()
    if rest and rest[0].startswith("open "):
        numbers = tuple(int(word) for word in rest.pop(0)[5:].split(" "))
    batch: tuple[str, ...] = ()
    if rest and rest[0].startswith("batch "):
        batch = tuple(rest.pop(0)[6:].split(" "))
    is_marked = bool(rest) and rest[0] == "signed" and bool(rest.pop(0))
    named = _NAME.match(rest[0]) if rest else None
    if named is not None:
        rest.pop(0)
    name = None if named is None else named[1]
    signature = rest.pop(0) if rest and rest[0].startswith("ed25519 ") else None
    if rest:
        raise ValueError("a head has other lines")
    head = parse_head(first)
    body = _body(head, numbers, batch, is_marked=is_marked, name=name)
    return Stated(head, numbers, batch, is_marked, name, body, signature)


def write_head(
    log: str,
    head: Head,
    numbers: tuple[int, ...],
    signer: Signer | None,
    *,
    is_marked: bool = False,
    name: str | None = None,
) -> Stated:
    """Replace the head of a log, on disk when this returns. The caller holds the log's lock."""
    data = _signed(head, numbers, (), signer, is_marked=is_marked, name=name)
    write_whole(f"{log}.head", data, draft=f"{log}.head.draft")
    return _parsed(data)


def announce_head(
    log: str,
    head: Head,
    numbers: tuple[int, ...],
    batch: tuple[str, ...],
    signer: Signer | None,
    *,
    is_marked: bool = False,
    name: str | None = None,
    before: str = "",
    carry: Callable[[bytes], bool] | None = None,
) -> None:
    """Announce the head of records that are written next. Only for a log that ends at its head: this is not atomic.

    It is on disk when this returns, or, if `carry` can do that, as soon as the records are; `before` is the hash that they
    continue.
    """
    is_carried = False
    with opened(f"{log}.head.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as fd:
        try:
            write_all(fd, _signed(head, numbers, batch, signer, is_marked=is_marked, name=name))
            if carry is not None:
                hashes = (before, *batch)
                is_carried = carry(_signed(head, (), hashes, signer, is_marked=is_marked, name=name))
            if not is_carried:
                os.fsync(fd)
        except OSError:
            withdraw_head(log)
            raise
    if not is_carried:
        sync_folder(os.path.dirname(log) or ".")


def confirm_head(log: str) -> None:
    """The announced head becomes the head. No sync: after a power cut, the announcement says the same."""
    os.replace(f"{log}.head.new", f"{log}.head")


def withdraw_head(log: str) -> None:
    """Nothing is announced any more: the records are not written, or gone from the disk."""
    os.unlink(f"{log}.head.new")


def _signed(
    head: Head,
    numbers: tuple[int, ...],
    batch: tuple[str, ...],
    signer: Signer | None,
    *,
    is_marked: bool,
    name: str | None,
) -> bytes:
    if signer is None:  # an unsigned name proves nothing
        return _body(head, numbers, batch, is_marked=is_marked, name=None)
    body = _body(head, numbers, batch, is_marked=is_marked, name=name)
    return body + signer(body).encode("ascii") + b"\n"


def _body(
    head: Head, numbers: tuple[int, ...], batch: tuple[str, ...], *, is_marked: bool, name: str | None
) -> bytes:
    shown = f"open {' '.join(map(str, numbers))}\n" if numbers else ""
    shown += f"batch {' '.join(batch)}\n" if batch else ""
    shown += "signed\n" if is_marked else ""
    shown += "" if name is None else f"log {name}\n"
    return f"{head}\n{shown}".encode("ascii")


def load_signer(path: str) -> Signer:
    """A signer with the Ed25519 private key in a file (PEM or OpenSSH). Raises ValueError if it cannot be used."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    data = _key_file(path)
    try:
        load = (
            serialization.load_ssh_private_key
            if b"OPENSSH PRIVATE KEY" in data
            else serialization.load_pem_private_key
        )
        key = load(data, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(f"{path} is not an unencrypted private key ({type(error).__name__})") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError(f"{path} is not an Ed25519 key")  # noqa: TRY004 - of the file, not of an argument
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode("ascii")
    return lambda body: f"ed25519 {public} {base64.b64encode(key.sign(_SIGNED_AS + body)).decode('ascii')}"


def load_public_key(path: str) -> bytes:
    """The raw Ed25519 public key of a file: PEM, OpenSSH, or the private key. Raises ValueError if it is not one."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    data = _key_file(path)
    if b"PRIVATE KEY" in data:
        return base64.b64decode(load_signer(path)(b"").split(" ")[1])
    try:
        ssh = data.lstrip().startswith(b"ssh-")
        key = serialization.load_ssh_public_key(data) if ssh else serialization.load_pem_public_key(data)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(f"{path} is not a public key ({type(error).__name__})") from None
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError(f"{path} is not an Ed25519 key")  # noqa: TRY004 - of the file, not of an argument
    return key.public_bytes_raw()


def is_signed_by(stated: Stated, public: bytes) -> bool:
    """Whether the owner of this key signed exactly this head."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if stated.signature is None:
        return False
    try:
        signature = base64.b64decode(stated.signature.split(" ")[2], validate=True)
        Ed25519PublicKey.from_public_bytes(public).verify(signature, _SIGNED_AS + stated.body)
    except (InvalidSignature, ValueError, IndexError):
        return False
    return True


def _key_file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_LIMIT)
    except OSError as error:
        raise ValueError(f"the key {path} cannot be read: {error.strerror}") from None
