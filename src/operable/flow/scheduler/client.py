"""Talking to openclaw-scheduler: one process per question, one JSON document as its answer.

The program is called as its other clients call it (`--json` first, then the words of the command); the database goes along
as `SCHEDULER_DB`. It sees the variables that a scheduler needs and no others. Every call has a deadline, and an answer
beyond the limit ends the call. A job travels as an argument; one that is too long for an argument goes through standard
input, which newer schedulers read. Messages name the command, never the job: it may contain what a user put into a prompt.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from operable.flow.canonical import parse
from operable.flow.errors import FlowError
from operable.flow.manifest.inheritance import Json
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import redact_text

PROGRAM = "openclaw-scheduler"
# A cold start of npm and Node on a loaded machine takes seconds; a scheduler that needs a minute for one job hangs.
TIMEOUT = 60.0
ANSWER_LIMIT = 64 * 1024 * 1024  # every job of a large scheduler, with artifacts
# Linux refuses a single argument of 128 KiB.
_ARGUMENT_LIMIT = 120_000
_INHERITED = ("OPENCLAW_*", "SCHEDULER_*", "DISPATCH_*", "NODE_*", "XDG_*", "npm_config_*", "NPM_CONFIG_*")
_MESSAGE_LIMIT = 2000
# A scheduler at work writes now and then; one that did not come to open its database has done nothing yet, so it is
# asked again. Starting it takes longer than others keep the lock, so no process waits in between.
_NOT_OPENED = "DB_INIT_FAILED"
_ATTEMPTS = 4
_CODE = "[A-Z][A-Z0-9_]{0,63}"
_DRY = {False: (), True: ("--dry-run",)}


@dataclass(frozen=True, slots=True)
class SchedulerCommand:
    """How the program is started, and what people call that."""

    argv: tuple[str, ...]
    label: str


def invocation_of(
    prefix: str | None, program: str | None, environment: Mapping[str, str]
) -> SchedulerCommand:
    """From an npm prefix, else a program, else the name on PATH; a `.js` file runs with node."""
    if prefix:
        words = ("npm", "exec", "--prefix", prefix, PROGRAM, "--")
        return SchedulerCommand(words, " ".join(words))
    program = program or PROGRAM
    if program.endswith(".js"):
        node = _node(environment)
        return SchedulerCommand((node, program), f"{node} {program}")
    return SchedulerCommand((program,), program)


def _node(environment: Mapping[str, str]) -> str:
    from operable.proc.command import resolve

    try:
        return resolve("node", env=dict(environment))
    except Fail:
        return "node"  # starting it says what is wrong


@dataclass(frozen=True, slots=True)
class SchedulerClient:
    """One scheduler, as far as it can be reached. `db_path` None: the scheduler's own database."""

    invocation: SchedulerCommand
    cwd: str
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    db_path: str | None = None
    timeout: float = TIMEOUT

    def capabilities(self) -> Any:
        """What it says of itself; FlowError when it cannot be asked."""
        return self._call("capabilities")

    def jobs(self, *, artifacts: bool = False) -> list[Json]:
        """Every job, with the handoff artifacts on demand; what is not a list counts as an empty one."""
        found = self._call("jobs", "list", *(["--include-handoff-artifacts"] if artifacts else []))
        return [job for job in found if isinstance(job, dict)] if isinstance(found, list) else []

    def add(self, spec: Json, *, dry_run: bool = False) -> Any:
        """A dry run, which schedulers since version 4 can do, judges the job and writes nothing."""
        return self._call("jobs", "add", *_DRY[dry_run], document=spec)

    def update(self, job_id: str, spec: Json, *, dry_run: bool = False) -> Any:
        return self._call("jobs", "update", job_id, *_DRY[dry_run], document=spec)

    def delete(self, job_id: str) -> Any:
        return self._call("jobs", "delete", job_id)

    def _call(self, *words: str, document: Json | None = None) -> Any:
        arguments, stdin = list(words), None
        if document is not None:
            # ASCII only: an argument reaches the program unchanged whatever the locale is.
            text = json.dumps(document, separators=(",", ":"), allow_nan=False)
            if len(text) <= _ARGUMENT_LIMIT:
                arguments.append(text)
            else:
                arguments.append("--stdin")
                stdin = text.encode()
        shown = " ".join((self.invocation.label, "--json", *words))
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._asked(arguments, stdin, shown)
            except FlowError as problem:
                if problem.details.get("scheduler_code") != _NOT_OPENED or "locked" not in problem.message:
                    raise
        return self._asked(arguments, stdin, shown)

    def _asked(self, arguments: list[str], stdin: bytes | None, shown: str) -> Any:
        from operable.proc.run import output

        try:
            result = output(self._command(arguments), stdin=stdin, timeout=self.timeout, limit=ANSWER_LIMIT)
        except Fail as problem:
            message = f"Failed to execute scheduler command: {shown}: {problem.message}"
            raise FlowError("scheduler_error", redact_text(message)[:_MESSAGE_LIMIT]) from None
        if result.status != 0:
            reason, code = _reason(result.stdout, result.stderr)
            message = reason or f"Scheduler command failed ({result.status}): {shown}"
            details: dict[str, Any] = {"scheduler_code": code} if code else {}
            raise FlowError("scheduler_error", redact_text(message)[:_MESSAGE_LIMIT], **details)
        return _answer(result.stdout, shown)

    def _command(self, arguments: list[str]) -> Any:
        from operable.proc.command import PreparedCommand, resolve
        from operable.proc.environment import environment

        extra = {"SCHEDULER_DB": os.path.join(self.cwd, self.db_path)} if self.db_path else None
        variables = environment(extra, inherit=_INHERITED, source=self.environment)
        argv = (*self.invocation.argv, "--json", *arguments)
        return PreparedCommand(argv, resolve(argv[0], env=variables, cwd=self.cwd), variables, self.cwd)


def _reason(stdout: bytes, stderr: str) -> tuple[str, str | None]:
    """What went wrong, and the scheduler's word for it.

    Newer schedulers say both in a JSON object on stdout, older ones on stderr, as JSON or in plain words.
    """
    for text in (stdout.decode("utf-8", "replace"), stderr):
        try:
            said = json.loads(text)
        except ValueError:
            continue
        if isinstance(said, dict) and isinstance(said.get("error"), str):
            code = said.get("code")
            return said["error"], code if isinstance(code, str) and re.fullmatch(_CODE, code) else None
    return stderr.strip(), None


def _answer(stdout: bytes, shown: str) -> Any:
    text = stdout.strip()
    if not text:
        return None
    try:
        return parse(text)
    except (ValueError, RecursionError):
        message = f"Scheduler command returned invalid JSON: {shown}"
        raise FlowError("parse_error", message, reported_as="BACKEND_ANSWER_INVALID") from None
