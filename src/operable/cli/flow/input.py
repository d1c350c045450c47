"""What every command of `operable flow` begins with: its manifest, the operation that answers, and how a failure is shown.

A manifest is a file or standard input, bounded, read as JavaScript reads JSON. Light: it loads no machinery of tasks.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from operable.flow.canonical import parse
from operable.flow.errors import FlowError
from operable.kernel.errors import Fail
from operable.tool import Warn
from operable.tool.process import complain, input_descriptor

if TYPE_CHECKING:
    from operable.flow.operation import Defaults
    from operable.flow.run.caller import Caller

_LIMIT = 16 * 1024 * 1024
# What a failure says that a request may allow, and the option that allows it here.
ALLOWING = {
    "allowCommands": "--allow-commands",
    "allowNetwork": "--allow-network",
    "allowProofCommand": "--allow-proof-command",
}
_HINTS = {
    "JOBS_REFUSED": "change these tasks; nothing was written",
    "PLAN_CHANGED": "look again with --dry-run",
}


def read_manifest(source: str) -> Any:
    """The JSON in this file; `-` is standard input."""
    shown = "standard input" if source == "-" else source
    try:
        if source == "-":
            descriptor = input_descriptor()
            if os.isatty(descriptor):
                complain("reading a manifest from the terminal; Ctrl-D ends it")
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(_LIMIT + 1)
        else:
            with open(os.path.expanduser(source), "rb") as file:
                data = file.read(_LIMIT + 1)
    except OSError as problem:
        category = "not_found" if isinstance(problem, FileNotFoundError) else "io"
        raise Fail(
            category,
            "MANIFEST_UNREADABLE",
            f"{shown} cannot be read: {problem.strerror}",
            target=source,
            hint="begin one: operable flow init" if category == "not_found" else None,
        ) from problem
    if len(data) > _LIMIT:
        raise Fail(
            "validation", "MANIFEST_TOO_LARGE", f"{shown} is larger than {_LIMIT} bytes", target=source
        )
    try:
        return parse(data.decode("utf-8"))
    except ValueError as problem:
        raise Fail(
            "validation",
            "MANIFEST_NOT_JSON",
            f"{shown} is {f'not JSON: {str(problem)[:200]}' if data.strip() else 'empty'}",
            target=source,
            hint="name the file of the manifest, or send it there" if source == "-" else None,
        ) from problem


def answer(name: str, source: str, /, *, home: str | None = None, **params: Any) -> dict[str, Any]:
    """The answer of an operation, the same that JSON-RPC gives. `source` is what a failure is about."""
    from operable.flow.operation import operation

    given = {param: value for param, value in params.items() if value is not None}
    with addressed(source):
        return operation(name).run(given, defaults(home))


def defaults(home: str | None = None) -> Defaults:
    """What an operation gets from the user of this command."""
    from operable.flow.operation import Defaults, current_folder

    with addressed("."):
        return Defaults(current_folder(), dict(os.environ), home)


def warned(texts: list[str]) -> Iterator[Warn]:
    """What an operation warns of, as events."""
    for text in texts:
        yield Warn("FLOW_WARNING", text)


@contextmanager
def addressed(
    source: str, task: str = "TASK", *, by: Caller | None = None, workflow: str | None = None
) -> Iterator[None]:
    """Failures of a flow inside name what they are about, and say what to do next."""
    try:
        yield
    except FlowError as failure:
        missing = failure.details.pop("keyless", False) or failure.flow_code == "approval_required"
        if missing and failure.hint is None:
            failure.hint = _approval_line(source, task, by, workflow)
        raise _explained(failure, source) from None


def _explained(failure: FlowError, source: str) -> Fail:
    """The failure with its target and its hint; what the validator found, in the validator's words."""
    validation = failure.details.get("validation")
    if validation:
        first = validation["errors"][0]
        return Fail(
            "validation",
            "MANIFEST_INVALID",
            # The name comes last: after "token.json: " or "authorization.json: " everything would look like a secret.
            f"{first['path']} {first['message']} (in {source})",
            target=source,
            hint=failure.hint or shlex.join(["operable", "flow", "validate", source]),
            problems=validation["errors"],
        )
    failure.target = failure.target or source
    if failure.hint is None:
        option = ALLOWING.get(failure.details.get("allow", ""))
        failure.hint = f"allow it with {option}" if option else _HINTS.get(failure.code)
    return failure


def _approval_line(source: str, task: str, by: Caller | None, workflow: str | None) -> str:
    """The command that approves a task, with the signature that the caller can give and that would count."""
    from operable.flow.operation import current_folder
    from operable.flow.run.caller import Caller
    from operable.flow.trust.keys.signers import signing_key

    by = by or Caller(current_folder(), dict(os.environ))

    words = ["operable", "flow", "approve", source, task]
    words += ["--workflow", workflow] if workflow else []
    words += ["--home", by.home] if by.home else []
    try:
        keyless = signing_key(None, by.surroundings) is None
    except FlowError:
        keyless = False  # there is one that cannot be used: approving says why
    if keyless:
        # Where allowed signers are configured, an unsigned approval does not count.
        signed = by.believing().allowed_signers is not None
        words += ["--signing-key", "FILE"] if signed else ["--signer", "none"]
    return shlex.join(words)
