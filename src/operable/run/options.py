"""What can be said about a call, once for every function (`call`, `pipe`, `collect`, `record` and their async twins)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal, TypedDict

from msgspec import Struct

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.child import OpenInput, Stdin
from operable.proc.tree.escalation import Graces
from operable.wire.lines import LINE_LIMIT

# Twice the default limit that tools set for themselves: the tool's own timeout, with its structured error, comes first.
TIMEOUT = 600.0

Validate = bool | Literal["auto"]


class CallOptions(TypedDict, total=False):
    """The keyword arguments of a call. All are optional."""

    stdin: str | Stdin
    """None: /dev/null. Text or bytes: given to the tool. A descriptor or an open file: inherited by it as it is."""
    env: Mapping[str, str] | None
    """Variables added to the allow-listed ones (PATH, HOME, LANG, LC_*, TZ, TMPDIR, TERM, USER, LOGNAME)."""
    inherit: Sequence[str]
    """Names of further variables to pass on from this process; `OUTLINE_*` means all with that prefix, `*` all. What was
    not passed on is in `Stage.withheld`, and noted where it says where the tool's data or settings are."""
    exact: bool
    """Call the tool with exactly these words. False: where they choose no output, `--output jsonl` is added."""
    cwd: str | os.PathLike[str] | None
    timeout: float | None
    """Seconds for the whole call (600 by default); then the group is ended and the verdict is DEADLINE_EXCEEDED.
    None: no deadline, for streams that are meant to go on."""
    validate: Validate
    """False: judge the protocol only. True: check every event against the tool's own schema, and refuse to start when
    that is impossible. "auto": check when it is possible, after the tool has introduced itself with `aoi:meta`; a note
    in the verdict says when it was not."""
    tool: Sequence[str] | None
    """The words that begin every command line of the tool, for asking it about itself; default: the first of argv."""
    types: Sequence[type[Struct]]
    """msgspec Structs for domain events (`tag_field="type"`); other domain events are dicts."""
    accept_partial: bool
    strict: bool
    """A doubt about the stream (`operable.wire.notes.DOUBTS`) is a failure, DOUBTFUL; else it is a note in the verdict."""
    unbounded: bool | None
    """Does the stream have no end of its own? None: ask the tool's meta event, and its capabilities when known."""
    limit: int
    """Bytes of one line."""
    graces: Graces | None
    """Seconds between SIGINT, SIGTERM and SIGKILL, and for draining the pipes after the exit."""
    on_stderr: Callable[[bytes], object] | None
    """Called with each piece of the tool's stderr as it comes (in the attendant's thread for synchronous calls)."""
    tree: bool
    """End every descendant with the tool, also what left its process group, and also after kill -9 of this process: for
    hosts that call many tools. It costs 30 ms once (`operable.proc.tree.keeper`)."""


@dataclass(frozen=True, slots=True)
class CheckedOptions:
    """`CallOptions` with the defaults filled in and checked."""

    stdin: Stdin = None
    env: Mapping[str, str] | None = None
    inherit: Sequence[str] = ()
    exact: bool = False
    cwd: str | os.PathLike[str] | None = None
    timeout: float | None = TIMEOUT
    validate: Validate = False
    tool: Sequence[str] | None = None
    types: Sequence[type[Struct]] = ()
    accept_partial: bool = False
    strict: bool = False
    unbounded: bool | None = None
    limit: int = LINE_LIMIT
    graces: Graces | None = None
    on_stderr: Callable[[bytes], object] | None = None
    tree: bool = False


def options_from(given: Mapping[str, Any]) -> CheckedOptions:
    """Check what the caller said; Fail usage for what cannot be meant."""
    known = {field.name for field in fields(CheckedOptions)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise TypeError(f"unknown option of a call: {unknown[0]} (known: {', '.join(sorted(known))})")
    values = dict(given)
    if isinstance(values.get("stdin"), str):
        values["stdin"] = values["stdin"].encode()
    options = CheckedOptions(**values)
    if isinstance(options.stdin, OpenInput):
        raise Fail(
            "usage", "STDIN_INVALID", "a call is given its input whole, or a descriptor to read it from"
        )
    if options.timeout is not None and options.timeout <= 0:
        raise Fail("usage", "TIMEOUT_INVALID", f"a timeout is more than 0 seconds, not {options.timeout:g}")
    if options.validate not in (True, False, "auto"):
        raise Fail("usage", "VALIDATE_INVALID", "validate is True, False or 'auto'")
    return options
