"""Calls of a person at the command line: free without a policy file, judged and recorded with one.

`operable run`, `wrap`, `app call` and `flow run` look for the file (`operable.state.paths.policy_path`) and come here only
if the user has one. A question of a rule is asked at the terminal where a person is at it, else it waits in
`operable inbox list`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from operable.gate.approvals import Ask, Decision
from operable.gate.call import CHANGE, DESTROY, READ, UNKNOWN, GatedCall, person
from operable.gate.call_gate import CallAdmission, CallGate
from operable.kernel.errors import Fail
from operable.kernel.visible import spelt_out

if TYPE_CHECKING:
    from operable.flow.run.command_gate import TaskProgram
    from operable.tool import Context, Relay
    from operable.wrap.tools import WrappedTool

_UNKNOWN = "?"
_MOST = 2000  # commands that the words of a call may mean
_EFFECTS = {"read-only": READ, "changes": CHANGE, "destructive": DESTROY, "unknown": UNKNOWN}


@contextmanager
def admitted(
    kind: str,
    name: str,
    words: Sequence[str],
    *,
    actions: Sequence[str] = (),
    workspace: str = ".",
    relay: Relay,
) -> Iterator[CallAdmission]:
    """A call of the user. Raises Fail if a rule, or the person who is asked, refuses it.

    `actions` are the commands that the words may mean, the one that they begin with first; none: any of the words.
    """
    gate = CallGate()
    call = _call(kind, name, actions or _possible(words), words, workspace)
    try:
        with gate.admit_now(call, on_ask=terminal(relay)) as admission:
            yield admission
    finally:
        gate.close()


def terminal(context: Context) -> Callable[[Ask], Decision | None]:
    """Asks the person at the terminal, if there is one; else the question waits for the others who may answer it."""
    by = person()

    def ask(asked: Ask) -> Decision | None:
        if not context.person:
            return None
        question = f"{spelt_out(asked.command)}: {asked.why}. Run it? [y/N]"
        said = context.ask(question, hint="operable inbox list").strip().lower()
        return Decision(said in ("y", "yes"), by=by.name, digest=asked.digest)

    return ask


@contextmanager
def admitted_task(
    label: str, program: TaskProgram | None, answered: dict[str, str]
) -> Iterator[Callable[[str], None]]:
    """A task of a flow that the user runs now: the call `flow/WORKFLOW/TASK/trigger`, as on every other way to run it.

    `program` is what it runs; None: a prompt. Gives a function for the code of its
    end. A person who says yes is noted in `answered`.
    """
    from operable.offer.gate_call import effect_of
    from operable.serve.flow_call import TRIGGER

    effect = effect_of(TRIGGER, {})
    call = GatedCall(
        person(),
        "flow",
        label,
        TRIGGER.name,
        {},
        effect,
        os.path.realpath("."),
        () if program is None else program.words,
        "" if program is None else program.stdin,
        variables={} if program is None else program.variables,
    )
    gate = CallGate()
    try:
        with gate.admit_now(call) as admission:
            if admission.answer is not None:
                answered[label] = admission.answer.by
            yield admission.close
    finally:
        gate.close()


@contextmanager
def admitted_session(names: Sequence[str], workspace: str, context: Context) -> Iterator[None]:
    """Around the start of a session by the user. Raises Fail if a rule, or the person who is asked, refuses it."""
    from operable.gate.session_start import SessionStart

    gate = CallGate()
    start = SessionStart(person(), names, os.path.realpath(workspace))
    try:
        with start.admitted_now(gate, on_ask=terminal(context)):
            yield
    finally:
        gate.close()


def admit_wrapped(tool: WrappedTool, words: list[str]) -> None:
    """Let the words of a wrapped tool run; the end is recorded when the process ends. Raises Fail if they must not."""
    from operable.offer.action import declared_action
    from operable.tool.declaration import ALIAS, BUILT_IN
    from operable.tool.discovery.capabilities import command_capabilities
    from operable.tool.front import locate

    found, rest = locate(tool, words)
    command = tool.find(found) if found and found.removeprefix(ALIAS) not in BUILT_IN else None
    if command is None or command.hidden:
        return  # words about the tool itself, or none that it knows: nothing is run
    effect = _EFFECTS[declared_action(command_capabilities(tool, command)).risk]
    program = (os.path.basename(tool.plan.bin) or tool.name, *found.split(), *rest)
    call = GatedCall(
        person(), "wrap", tool.name, command.name, {"arguments": rest}, effect, os.path.realpath("."), program
    )
    _admit_process(call)


def admit_server(command: str, words: list[str]) -> None:
    """Let a command line of an MCP server run that becomes a tool, before the server is started. Raises Fail."""
    try:
        argv = shlex.split(command)
    except ValueError:
        return  # refused by the command itself: nothing is run
    if argv:
        name = os.path.basename(argv[0]) or argv[0]
        action = next((word for word in words if not word.startswith("-")), _UNKNOWN)
        arguments = {"server": argv, "arguments": words}
        folder = os.path.realpath(".")
        _admit_process(GatedCall(person(), "wrap", name, action, arguments, UNKNOWN, folder, (*argv, *words)))


def _admit_process(call: GatedCall) -> None:
    """A call that lasts as long as this process."""
    import atexit

    from operable.tool import process

    gate = CallGate()
    admission = gate.admit_now(call)

    def end() -> None:
        code = process.ending
        admission.close("OK" if code == 0 else "CALL_FAILED" if code is None else f"EXIT_{code}")
        gate.close()

    atexit.register(end)


def _call(kind: str, name: str, actions: Sequence[str], words: Sequence[str], workspace: str) -> GatedCall:
    """What the words mean beside the command is for the tool to say, so its effect is not known."""
    plain = os.path.basename(name.rstrip("/")) or name
    return GatedCall(
        person(),
        kind,
        plain,
        actions[0],
        {"arguments": list(words)},
        UNKNOWN,
        os.path.realpath(workspace),
        (plain, *words),
        possible=actions[1:],
    )


def _possible(words: Sequence[str]) -> list[str]:
    """What the words may call, the most likely first: only the tool knows which options have a value.

    A word that follows an option may be its value or the command; one that does not is the command. Behind it, the same
    holds for the second word of a command of two (`agent list`). If the words do not begin with a command, no rule that
    allows by name applies (`?`).
    """
    found: list[str] = []
    for at in _candidates(words, 0):
        found += [words[at], *(f"{words[at]} {words[next_]}" for next_ in _candidates(words, at + 1))]
        if len(found) > _MOST:
            hint = "write the command before its options"
            raise Fail("usage", "COMMAND_NOT_FOUND", "the command cannot be found in these words", hint=hint)
    begins = bool(words) and words[0] == next(iter(found), None)
    return list(dict.fromkeys(found if begins else [_UNKNOWN, *found]))


def _candidates(words: Sequence[str], start: int) -> Iterator[int]:
    """Where the next plain word may be: each that follows an option, and the first that does not."""
    for at in range(start, len(words)):
        if words[at].startswith("-") and words[at] != "-":
            continue
        yield at
        before = words[at - 1] if at > start else ""
        if not before.startswith("-") or before in ("-", "--"):
            return
