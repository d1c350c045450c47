"""From the options of `operable run`, `record` and `pipe` to a call: which environment, which input, which rules.

A tool inherits the environment, as in a shell (AOI section 1.3; docs/decisions/0041). With `--inherit` it gets the
allow-listed one of `operable.proc`, the variables that say where things are kept (XDG_*, OPERABLE_HOME), those that are
called after it (`outline` gets OUTLINE_*), and what is named; what was withheld is in the notes of the verdict. Standard
input is passed on unless it is a terminal: a tool in machine mode has no user to ask.
"""

from __future__ import annotations

import os

from operable.cli.variables import variables
from operable.kernel.errors import EX_CANTCREAT, Fail
from operable.state.paths import VARIABLES
from operable.tool import Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack
    from types import TracebackType
    from typing import Self

    from operable.gate.call_gate import CallAdmission
    from operable.proc.tree.orphans import Adoption
    from operable.run import CallOptions
    from operable.tool import Relay

# Twice the limit that tools set for themselves: the tool's own timeout, with its structured error, comes first.
TIMEOUT = 600.0
# SIGINT, SIGTERM and SIGKILL get two seconds each, draining the pipes and what left the group one each, and a loaded
# machine one more.
GRACE = 9.0


class ToolOptions(Options):
    """How a tool is called and judged.

    validate: ask the tool for its schema first, and check every event against it; refuse to start without one
    accept_partial: partial results are good enough
    unbounded: the stream has no end of its own: it needs no summary
    strict: a doubt about the stream is a failure: a count that differs, an error beside ok, a repeated key
    exact: call it with exactly these words
    inherit NAME: of our environment pass on only this and the harmless ones; NAME or PREFIX_*; else all is passed on
    env NAME=VALUE: give the tool this variable, or NAME=@FILE for a secret, which must not be on a command line
    """

    validate: bool = False
    accept_partial: bool = False
    unbounded: bool = False
    strict: bool = False
    exact: bool = False
    inherit: list[str] | None = None
    env: list[str] | None = None


def adoption() -> Adoption:
    """Around the call of a tool: what left the tool's process group ends with it, also after kill -9 of this process."""
    from operable import cli
    from operable.proc.tree.orphans import Adoption

    return Adoption(wanted=cli.own_process)


class Gated:
    """The calls of tools at the gate, all of them before the first one runs; free without a policy file.

    Raises Fail at its begin if a rule, or the person who is asked, refuses one.
    """

    def __init__(self, relay: Relay, *calls: Sequence[str]) -> None:
        self._relay, self._calls = relay, calls
        self._admissions: list[CallAdmission] = []
        self._stack: ExitStack | None = None

    def __enter__(self) -> Self:
        from operable.state.paths import policy_path

        if policy_path() is None:
            return self
        from contextlib import ExitStack

        from operable.cli.gate.command_line import admitted

        with ExitStack() as stack:
            for tool, *words in self._calls:
                self._admissions.append(stack.enter_context(admitted("tool", tool, words, relay=self._relay)))
            self._stack = stack.pop_all()
        return self

    def end(self, *codes: str) -> None:
        """How each of them ended: the codes of their verdicts."""
        for admission, code in zip(self._admissions, codes, strict=False):
            admission.close(code)

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stack is not None:
            self._stack.__exit__(kind, problem, trace)


def call_options(relay: Relay, tools: Sequence[str], judged: ToolOptions) -> CallOptions:
    """What the options of the command mean for the call, inside its `adoption`."""
    from operable.proc.tree.orphans import Adoption

    options: CallOptions = {
        "stdin": standard_input(),
        "inherit": inherited(tools, judged.inherit),
        "env": variables(judged.env or ()) | Adoption.variables(),
        "timeout": relay.timeout,
        "validate": judged.validate,
        "accept_partial": judged.accept_partial,
        "unbounded": True if judged.unbounded else None,
        "strict": judged.strict,
        "exact": judged.exact,
    }
    if not relay.machine:
        from operable.cli.call.relay import Diagnostics

        options["on_stderr"] = Diagnostics().feed
    return options


def inherited(tools: Sequence[str], named: Sequence[str] | None) -> tuple[str, ...]:
    """Which of our variables the tools get: all, or with `--inherit` those named and those that are their own."""
    from operable.run.words import own_variables

    return ("*",) if named is None else (*VARIABLES, *map(own_variables, tools), *named)


def standard_input() -> int | None:
    """What the tool reads: our own input, unless only a person could write to it."""
    from operable.tool.process import input_descriptor

    try:
        descriptor = input_descriptor()
        return None if os.isatty(descriptor) else descriptor
    except OSError:
        return None  # closed


def check_target(path: str, *, force: bool) -> None:
    """Refuse a file that cannot be written, or is there already, before the tool has run and done what it does."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise _unwritable(path, "it is a directory")
    if not os.path.isdir(folder):
        raise _unwritable(path, f"there is no directory {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unwritable(path, f"the directory {folder} cannot be written to")
    if os.path.lexists(path) and not force:
        raise Fail(
            "conflict",
            "FILE_EXISTS",
            f"{path} exists already",
            target=path,
            hint="--force overwrites it",
            exit_code=EX_CANTCREAT,
        )


def _unwritable(path: str, why: str) -> Fail:
    return Fail("io", "CANNOT_WRITE", f"cannot write {path}: {why}", target=path, exit_code=EX_CANTCREAT)
