"""Tokens: who a caller is, and what it may do. Only their hashes are kept; a token's text is shown once, when it is made.

    <state>/serve/token         the first token, with every scope; a private file, for programs of this user
    <state>/serve/tokens.json   name, hash, scopes, workspace and times of every token

A token has 256 random bits, so a plain SHA-256 is enough: there is nothing to guess. Browsers that have logged in have a
token also, with an end. The credential of a session is not among them: its registry has it, for as long as the session
lives.
"""

import contextlib
import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from operable.kernel.errors import Fail
from operable.state.atomic import advise, create_whole, open_private, write_whole
from operable.state.lock import EXCLUSIVE, held

Scope = Literal["read", "prompt", "approve", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "prompt", "approve", "admin")
FIRST = "admin"  # the name of the token that the first start makes
BROWSER, PROGRAM, SESSION = "browser", "program", "session"
BROWSER_DAYS = 30  # a login of a browser lasts as long, unless it is revoked
MOST_TOKENS = 1000
_FILE_LIMIT = 4 * 1024 * 1024
_PREFIX = "opt_"


class Token(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What is kept of a token. `workspace` is a slug: a token that has one sees that workspace only."""

    name: str
    hash: str
    scopes: tuple[Scope, ...]
    kind: str = PROGRAM
    workspace: str | None = None
    created_at: int = 0  # milliseconds since 1970
    expires_at: int | None = None


class _TokenFile(msgspec.Struct):
    version: int
    tokens: list[Token]


@dataclass(frozen=True, slots=True)
class HttpIdentity:
    """Who makes a request. `kind` is that of its token; the name of a session's is the id of the session."""

    kind: str
    name: str
    scopes: frozenset[str]
    workspace: str | None = None

    def allows(self, scope: str) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    def require(self, scope: str) -> None:
        """Raises Fail authz/SCOPE_MISSING if it may not."""
        if not self.allows(scope):
            message = f"the token {self.name} does not have the scope {scope}"
            raise Fail("authz", "SCOPE_MISSING", message, target=self.name, hint="use a token that has it")

    def require_workspace(self, workspace: str | None) -> None:
        """Raises Fail authz/OTHER_WORKSPACE if its token is for another workspace."""
        if self.workspace is not None and workspace != self.workspace:
            message = f"the token {self.name} is for the workspace {self.workspace}"
            raise Fail("authz", "OTHER_WORKSPACE", message, target=workspace)


class TokenStore:
    """The tokens of one home. One daemon owns it; the file is read when it starts."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, "tokens.json")
        self._kept: dict[str, Token] = {token.hash: token for token in self._read()}

    @property
    def first_path(self) -> str:
        return os.path.join(self._folder, "token")

    def first(self) -> str:
        """The token of this user's programs, made if the file is missing. Raises Fail if the file cannot be used."""
        with self._locked():
            if not os.path.lexists(self.first_path):
                with _writing(self.first_path):
                    create_whole(self.first_path, _new_text().encode() + b"\n")
            text = _private_text(self.first_path)
            digest = _hash(text)
            if digest not in self._kept:
                others = [token for token in self._kept.values() if token.name != FIRST]
                self._keep([*others, Token(FIRST, digest, SCOPES, created_at=_now())])
        return text

    def make(
        self, name: str, scopes: tuple[Scope, ...], *, workspace: str | None = None
    ) -> tuple[str, Token]:
        """A new token and its text, which is not kept. Raises Fail conflict/TOKEN_EXISTS."""
        if any(token.name == name for token in self._kept.values()):
            raise Fail("conflict", "TOKEN_EXISTS", f"there is a token {name} already", target=name)
        return self._add(Token(name, "", scopes, PROGRAM, workspace, _now()))

    def make_browser(self) -> tuple[str, Token]:
        """The token of a browser that has logged in."""
        ends = _now() + BROWSER_DAYS * 86_400_000
        name = f"{BROWSER}-{secrets.token_hex(4)}"
        return self._add(Token(name, "", SCOPES, BROWSER, None, _now(), ends))

    def revoke(self, name: str) -> None:
        """Raises Fail not_found/NO_SUCH_TOKEN."""
        left = [token for token in self._kept.values() if token.name != name]
        if len(left) == len(self._kept):
            raise Fail("not_found", "NO_SUCH_TOKEN", f"there is no token {name}", target=name)
        with self._locked():
            self._keep(left)
            if name == FIRST:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.first_path)

    def list_tokens(self) -> list[Token]:
        return sorted(self._kept.values(), key=lambda token: (token.created_at, token.name))

    def identify(self, text: str) -> HttpIdentity | None:
        """Whose token this is; None if it is not one, or has ended."""
        token = self._kept.get(_hash(text))
        if token is None or (token.expires_at is not None and token.expires_at <= _now()):
            return None
        return HttpIdentity(token.kind, token.name, frozenset(token.scopes), token.workspace)

    def _add(self, token: Token) -> tuple[str, Token]:
        now = _now()
        lasting = [each for each in self._kept.values() if each.expires_at is None or each.expires_at > now]
        if len(lasting) >= MOST_TOKENS:
            raise Fail("conflict", "TOO_MANY_TOKENS", f"there are {MOST_TOKENS} tokens; revoke some")
        text = _new_text()
        token = msgspec.structs.replace(token, hash=_hash(text))
        with self._locked():
            self._keep([*lasting, token])
        return text, token

    def _keep(self, tokens: list[Token]) -> None:
        data = msgspec.json.format(msgspec.json.encode(_TokenFile(1, tokens)), indent=1)
        with _writing(self._path):
            write_whole(self._path, data + b"\n")
        self._kept = {token.hash: token for token in tokens}

    def _read(self) -> list[Token]:
        try:
            fd = open_private(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._unusable(str(error.strerror)) from error
        with os.fdopen(fd, "rb") as file:
            try:
                return msgspec.json.decode(file.read(_FILE_LIMIT), type=_TokenFile).tokens
            except msgspec.MsgspecError as error:
                raise self._unusable("it is not a list of tokens") from error

    def _unusable(self, why: str) -> Fail:
        hint = f"repair it, or remove it: every token in it is then gone ({self._path})"
        return Fail(
            "config", "TOKENS_UNUSABLE", f"tokens.json cannot be used: {why}", target=self._path, hint=hint
        )

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            with _writing(self._path):
                stack.enter_context(held(f"{self._path}.lock", EXCLUSIVE))
            yield


@contextlib.contextmanager
def _writing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"tokens cannot be kept: {error.strerror}"
        raise Fail("io", "STATE_UNWRITABLE", message, target=path, hint=advise(error)) from error


def _private_text(path: str) -> str:
    """The token in a private file. Raises Fail config/TOKEN_INVALID if it may be known to others, or is not a token."""
    try:
        with open(path, encoding="ascii") as file:
            private = os.fstat(file.fileno()).st_mode & 0o077 == 0
            text = file.read(1000).strip()
    except (OSError, ValueError) as error:
        raise Fail("config", "TOKEN_INVALID", f"{path} cannot be used: {error}", target=path) from error
    if len(text) < 32 or not private:
        why = "contains no token" if private else "can be read by others, who may know the token by now"
        raise Fail("config", "TOKEN_INVALID", f"{path} {why}", target=path, hint=f"rm {path}")
    return text


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _new_text() -> str:
    return _PREFIX + secrets.token_urlsafe(32)


def _now() -> int:
    return int(time.time() * 1000)
