"""Calling one command of an application: as argv, from the package's root, bounded, and judged by its exit status.

`entry.command` is split by the quoting rules of POSIX shells (quotes and backslashes, nothing else); no shell sees it
unless the package asks for one (`metadata.operable.shell: true`) and the user approved that. A command in
`confirmationRequired`, or below one, does not start without confirmation. Success is exit status 0 with JSON on
stdout, and nothing else: a JSON error with status 0 is a failure, and so is JSON that says ok with another status.
stderr is kept for whoever debugs; nothing is retried.
"""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from operable.app.packages import Package
from operable.app.trust import Approvals
from operable.kernel.errors import Fail
from operable.kernel.redact import redact_text
from operable.proc.output import output
from operable.proc.spawn import Command, prepare

TIMEOUT = 60.0
OUTPUT_LIMIT = 16 * 1024 * 1024
_MESSAGE = 500  # characters of an application's own words that are passed on


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command gave. `code` and `message` are set when it failed; `diagnostics` is its stderr."""

    ok: bool
    value: Any
    status: int | None
    code: str = ""
    message: str = ""
    diagnostics: str = ""


def call(
    package: Package,
    words: Sequence[str],
    approvals: Approvals,
    *,
    confirmed: bool = False,
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> Answer:
    """Run `words` (a command path and its arguments). Fail for what must not or cannot run."""
    app = package.require()
    path = command_path(package, words)
    approvals.require(package)
    if app.needs_confirmation(path) and not confirmed:
        raise Fail(
            "validation",
            "CONFIRMATION_REQUIRED",
            f"{path} of {package.slug} needs the user's confirmation",
            target=path,
            hint="--confirm",
        )
    ran = output(_command(package, words, approvals, env), timeout=timeout, limit=OUTPUT_LIMIT)
    return _judged(ran.stdout, ran.status, ran.stderr)


def command_path(package: Package, words: Sequence[str]) -> str:
    """The documented command that these words begin with; Fail when there is none."""
    app = package.require()
    plain = list(words)
    candidates = sorted((command.split() for command in app.commands), key=len, reverse=True)
    for command in candidates:
        if plain[: len(command)] == command:
            return " ".join(command)
    from operable.kernel.catalogue import unknown

    raise unknown("app command", " ".join(plain[:2]), [" ".join(command) for command in candidates])


def _command(
    package: Package, words: Sequence[str], approvals: Approvals, env: Mapping[str, str] | None
) -> Command:
    app = package.require()
    if (app.metadata.get("operable") or {}).get("shell") is True:
        if not approvals.approves_shell(package):
            raise Fail(
                "authz",
                "APP_SHELL_NOT_APPROVED",
                f"{package.slug} wants to be run by a shell, which was not approved",
                hint=f"operable app approve {package.root} --shell",
            )
        line = " ".join([app.entry.command, *map(shlex.quote, words)])
        return prepare(["/bin/sh", "-c", line], env=env, cwd=package.root)
    try:
        argv = [*shlex.split(app.entry.command), *words]
    except ValueError as problem:
        raise Fail("validation", "APP_ENTRY_INVALID", f"entry.command: {problem}") from problem
    if os.sep in argv[0] and not os.path.isabs(argv[0]):
        argv[0] = os.path.join(package.root, argv[0])
    return prepare(argv, env=env, cwd=package.root)


def _judged(stdout: bytes, status: int | None, stderr: str) -> Answer:
    diagnostics = redact_text(stderr)
    try:
        value = json.loads(stdout)
    except (ValueError, RecursionError):
        value = None
    declared = _declared_error(value)
    if status != 0:
        code, message = declared or ("APP_FAILED", f"The command failed with status {status}.")
        return Answer(
            ok=False, value=value, status=status, code=code, message=message, diagnostics=diagnostics
        )
    if declared is not None:
        return Answer(
            ok=False,
            value=value,
            status=status,
            code=declared[0],
            message=declared[1],
            diagnostics=diagnostics,
        )
    if value is None and stdout.strip() != b"null":
        return Answer(
            ok=False,
            value=None,
            status=status,
            code="APP_OUTPUT_NOT_JSON",
            message="The command did not print JSON.",
            diagnostics=diagnostics,
        )
    return Answer(ok=True, value=value, status=status, diagnostics=diagnostics)


def _declared_error(value: Any) -> tuple[str, str] | None:
    """The structured error in an answer, if there is one: its code and its words."""
    if not isinstance(value, dict) or (value.get("ok") is not False and "error" not in value):
        return None
    error = value.get("error")
    if isinstance(error, dict):
        code, message = (
            str(error.get("code") or "APP_FAILED"),
            str(error.get("message") or "The command failed."),
        )
    elif value.get("ok") is False:
        code, message = "APP_FAILED", str(error or "The command failed.")
    else:
        return None  # `error: null` beside a success
    return code[:_MESSAGE], redact_text(message)[:_MESSAGE]
