"""The audit chain of agents: a record before each turn, tool call, decision and secret use, and how it ended (AIP-7).

The mechanism is `operable.state.sealed_log`, the format `operable.gate.audit.record`; here is what belongs into a record.
What is written passes redaction, and what is large is replaced by its digest, so that a record can neither leak nor grow.
A record that cannot be written is a Fail, and what it announces must not happen.

`verify_audit` finds each line that was edited, removed, moved or added, and with the head beside the chain (or an anchor
kept elsewhere) a chain that was cut short.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from operable.gate.audit.record import AuditFormat, spelled_time
from operable.kernel.canonical import canonical_json, digest
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import Known, Redactor
from operable.state import sealed_head
from operable.state.sealed_end import DamagedError
from operable.state.sealed_head import Head, load_public_key
from operable.state.sealed_log import ROTATE_AT, OpenRecord, RecordDraft, SealedLog
from operable.state.sealed_settings import SettingError, operator_log
from operable.state.sealed_verdict import check, frozen

__all__ = [
    "Audit",
    "ChainProblem",
    "Head",
    "OpenRecord",
    "Verified",
    "parse_head",
    "read_audit",
    "verify_audit",
]

# A record is for people and machines that ask "what happened", not a copy of the data.
VALUE_LIMIT = 4096
# Names, references and ids: a longer one keeps its beginning and gets its digest.
NAME_LIMIT = 256
_SHOWN = 64
# Waited for on the host's event loop: longer than any write takes, shorter than an agent's patience.
_WAIT = 5.0
# A record counts as one of the future when it is this much ahead of our clock.
_SKEW = 300.0
_REDACTED = {"$redacted": True}
UNRECORDED = frozenset({"AUDIT_UNWRITABLE", "AUDIT_DAMAGED", "AUDIT_SETTING_INVALID"})
"""The codes of a Fail after which nothing may go on."""
_CODES = {"gap": "seq_gap"}  # AIP-7 has its own word


@dataclass(frozen=True, slots=True)
class ChainProblem:
    """What is wrong with a chain.

    `code`: chain.broken, chain.seq_gap, chain.tampered, chain.truncated, chain.unreadable, chain.damaged, chain.unsigned.
    """

    code: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Verified:
    """What `verify_audit` found. A chain without problems is as it was written, as far as its head reaches.

    `lost` counts what was begun by a process that ended before it recorded the end, `process` what may still be closed.
    """

    records: int
    head: Head | None
    problems: tuple[ChainProblem, ...] = ()
    lost: int = 0
    running: int = 0
    is_torn: bool = False
    times_ahead: int = 0
    signed_from: int | None = None
    unsigned: int = 0

    @property
    def ok(self) -> bool:
        return not self.problems


class Audit:
    """Appends to one chain. Any number of these, in any number of processes, may share the file."""

    def __init__(
        self,
        path: str,
        *,
        actor: str,
        secrets: Known | Iterable[str] = (),
        rotate_at: int = ROTATE_AT,
        clock: Callable[[], float] = time.time,
        workspace: str | None = None,
        count_sessions: Callable[[], int] = lambda: 0,
    ) -> None:
        """`workspace`: the name in signed heads. `count_sessions`: a chain that begins while there are any was removed."""
        self.path = path
        self._actor = actor
        self._redactor = Redactor(secrets)
        self._rotate_at = rotate_at
        self._clock = clock
        self._workspace = workspace
        self._count_sessions = count_sessions
        self._log: SealedLog | None = None
        self._due: list[RecordDraft] = []

    def record(
        self,
        action: str,
        *,
        subject: Mapping[str, str],
        input: Any = None,
        output: Any = None,
        decision: tuple[str, str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        closes: OpenRecord | None = None,
        later: bool = False,
        actor: str | None = None,
    ) -> None:
        """Append one record; `decision` is (policy reference, allow|deny|…), `closes` is what it ends.

        `actor`: who acts, where that is not the actor of the chain.

        It is on disk when this returns; `later`: with the next record or `flush`, for what has happened already. Fail
        io/AUDIT_UNWRITABLE, validation/AUDIT_DAMAGED or config/AUDIT_SETTING_INVALID: do not go on.
        """
        entry = self._entry(action, subject, input, output, decision, metadata, actor)
        draft = RecordDraft(entry, closes=closes)
        self._due.append(draft)
        if not later:
            self.flush()

    def begin(
        self,
        action: str,
        *,
        subject: Mapping[str, str],
        input: Any = None,
        decision: tuple[str, str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        later: bool = False,
        actor: str | None = None,
    ) -> OpenRecord:
        """Append the record of something that begins now. Nothing of it may happen before it is on disk."""
        entry = self._entry(action, subject, input, None, decision, metadata, actor)
        opened = OpenRecord()
        self._due.append(RecordDraft(entry, opens=opened))
        if not later:
            self.flush()
        return opened

    def flush(self) -> None:
        """Write what is due, at the price of one record."""
        self.write(self.take_due())

    def take_due(self) -> list[RecordDraft]:
        """What is due, for a caller that writes it in another thread."""
        due, self._due = self._due, []
        return due

    def write(self, due: list[RecordDraft]) -> None:
        """Write these records. Fails as `record` does; then none of them is written."""
        if not due:
            return
        try:
            if self._log is None:
                self._log = self._opened()
            self._log.write(due)
        except DamagedError as error:
            raise Fail(
                "validation",
                "AUDIT_DAMAGED",
                f"the audit chain was changed, and nothing is appended to it: {error}",
                target=self.path,
                hint="operable agent audit verify; then move the folder of the chain away, with its sessions",
            ) from error
        except SettingError as error:
            raise Fail(
                "config",
                "AUDIT_SETTING_INVALID",
                f"the audit chain cannot be written as configured: {error.strerror}",
                target=error.filename,
                hint=error.hint,
            ) from error
        except OSError as error:
            raise Fail(
                "io",
                "AUDIT_UNWRITABLE",
                f"the audit chain cannot be written: {error.strerror or error}",
                target=self.path,
                hint="nothing runs without a record; make the file writable",
            ) from error

    def _opened(self) -> SealedLog:
        log = operator_log(
            self.path,
            AuditFormat(),
            rotate_at=self._rotate_at,
            wait=_WAIT,
            name=self._workspace,
            earlier=self._earlier,
        )
        log.clock = self._clock
        return log

    def _earlier(self) -> dict[str, Any] | None:
        """What shows that a chain without a record had some: each session begins with one."""
        count = self._count_sessions()
        return {"reason": describe_missing(count), "sessions": count} if count else None

    def _entry(
        self,
        action: str,
        subject: Mapping[str, str],
        given: Any,
        output: Any,
        decision: tuple[str, str] | None,
        metadata: Mapping[str, Any] | None,
        actor: str | None,
    ) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "$schema": "agentgovernance/v1",
            "doctype": "audit-event",
            "actor": {"id": self._name(actor or self._actor)},
            "action": self._name(action),
            "subject": {name: self._name(text) for name, text in subject.items()},
        }
        for name, value in (("input", given), ("output", output), ("metadata", metadata)):
            if value is not None:
                entry[name] = self._bounded(value)
        if decision is not None:
            entry["policy"] = {"ref": self._name(decision[0]), "decision": decision[1]}
        return entry

    def _name(self, text: str) -> str:
        """A name without secrets; a long one keeps its beginning and gets its digest."""
        plain = self._redactor.text(text).encode("utf-8", "replace").decode()  # lone surrogates have no UTF-8
        return plain if len(plain) <= NAME_LIMIT else f"{plain[:_SHOWN]}… {digest(plain)}"

    def _bounded(self, value: Any) -> Any:
        plain = self._redactor.value(msgspec.to_builtins(value))
        try:
            size = len(canonical_json(plain))
        except (TypeError, ValueError):
            return dict(_REDACTED)
        if size <= VALUE_LIMIT:
            return plain
        return {**_REDACTED, "bytes": size, "digest": digest(plain)}


def describe_missing(sessions: int) -> str:
    """What is wrong with a chain that has no record although there were sessions."""
    return f"the chain has no record, but the workspace had {sessions} session{'s' * (sessions > 1)}"


def verify_audit(
    path: str, *, anchor: Head | None = None, key: str | None = None, workspace: str | None = None
) -> Verified:
    """Check a whole chain, offline. `anchor`: a record that must be in it; `key`: a file with the key that signed its head.

    `workspace`: the name in its signed head, where that is known (`operable.gate.audit.place.workspace_slug`).
    Fail io/AUDIT_UNREADABLE if it cannot be read, config/AUDIT_KEY_INVALID for a key that is not one.
    """
    limit = spelled_time(time.time() + _SKEW)
    try:
        found = check(
            path,
            AuditFormat(),
            anchors=() if anchor is None else (anchor,),
            public_key=None if key is None else load_public_key(key),
            name=workspace,
            is_future=lambda at: at > limit,
        )
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        raise Fail("config", "AUDIT_KEY_INVALID", str(error), target=key) from error
    problems = tuple(
        ChainProblem(f"chain.{_CODES.get(each.code, each.code)}", each.line or 0, each.message)
        for each in found.problems
    )
    return Verified(
        found.records,
        found.head,
        problems,
        lost=found.lost,
        running=found.running,
        is_torn=found.is_torn,
        times_ahead=found.times_ahead,
        signed_from=found.signed_from,
        unsigned=found.unsigned,
    )


def read_audit(path: str) -> Iterator[tuple[str, int, bytes]]:
    """(file, line number, line) of every whole line of a chain, over all of its files, as they are at one moment."""
    try:
        with frozen(path) as (_, _, parts):
            for file, lines in parts:
                for number, line in enumerate(lines, 1):
                    if line.endswith(b"\n"):
                        yield file, number, line
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: OSError) -> Fail:
    return Fail(
        "io", "AUDIT_UNREADABLE", f"the audit chain cannot be read: {error.strerror or error}", target=path
    )


def parse_head(text: str) -> Head:
    """`SEQ HASH`, as the head file has it and as an anchor is written down elsewhere."""
    try:
        return sealed_head.parse_head(text.strip())
    except ValueError as error:
        raise Fail(
            "validation", "ANCHOR_INVALID", "an anchor is a sequence number and a hash of 64 hex digits"
        ) from error
