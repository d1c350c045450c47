"""The examples of the checks as evidence: a transcript is read, and a lab replays it for the check that it belongs to.

A call begins with `$ notes`; behind `  # ` stands what happens to it (a signal, a reader that is gone, a terminal). The lines
below are its stdout, the rest is explained in `operable.lint.example`. Equal calls are answered in the order in which they
stand, the last one for ever. What a transcript does not show is answered as a conforming tool would (`tests/lint/notes.py`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from operable.lint.check import RoomChange
from operable.lint.evidence import Invocation, Observation
from operable.lint.profile import CommandProfile, Profile, ToolProfile
from tests.lint import notes

PROFILE = Profile(
    tool=ToolProfile(state=["list", "--output", "jsonl"]),
    commands={
        "create": CommandProfile(args=["a"], other_args=["b"]),
        "delete": CommandProfile(args=["n1"]),
        "import": CommandProfile(args=["--input-jsonl", "-"], stdin='{"title":"x"}\n{"title":"y"}\n'),
    },
)


@dataclass
class Call:
    """One call of a transcript."""

    words: tuple[str, ...]
    events: tuple[str, ...]
    stdout: str = ""
    stderr: str = ""
    terminal: str = ""
    status: int = 0
    changes: tuple[str, ...] = ()
    outgoing: tuple[str, ...] = ()
    ended: str = "itself"

    late: bool = False

    def answers(self, invocation: Invocation) -> bool:
        return self.words == _shown(invocation) and set(self.events) == notes.events(invocation)


def _shown(invocation: Invocation) -> tuple[str, ...]:
    """The words of a call as transcripts show them: without how machine mode is chosen, secrets and keys as `…`."""
    words = [re.sub(r"Zq\w{3}\+.*|7c1e9a40[-0-9a-f]*", "…", word) for word in invocation.words]
    if words[-2:] == ["--output", "jsonl"]:
        del words[-2:]
    elif "--output" in words and words[words.index("--output") + 1] == "jsonl":
        place = words.index("--output")
        del words[place : place + 2]
    return tuple(words)


def read(text: str) -> list[Call]:
    """The calls of a transcript; an unknown remark is a mistake in it."""
    calls: list[Call] = []
    for line in text.splitlines():
        if line.startswith("$ notes"):
            command, _, events = line.removeprefix("$ notes").partition("  # ")
            calls.append(Call(tuple(shlex.split(command)), tuple(filter(None, events.split(", ")))))
            continue
        call = calls[-1]
        if line.startswith("2> "):
            call.stderr += line.removeprefix("2> ") + "\n"
        elif line.startswith("2| "):  # without the end of the line
            call.stderr += line.removeprefix("2| ")
        elif line.startswith("tty> "):
            call.terminal += line.removeprefix("tty> ")
        elif line.startswith("# "):
            _remark(call, line.removeprefix("# "))
        else:
            call.stdout += line + "\n"
    return calls


def _remark(call: Call, text: str) -> None:
    kind, _, rest = text.partition(" ")
    if kind == "exit":
        call.status = int(rest)
    elif kind == "changes":
        call.changes += (rest,)
    elif kind == "reaches":
        call.outgoing += (rest,)
    elif text == "only when it is stopped":
        call.late = True
    elif text == "does not end":
        call.ended = "deadline"
    else:
        raise ValueError(f"unknown remark in a transcript: {text}")


@dataclass
class Replay:
    """A `Lab` (and its own `Room`) that answers from a transcript."""

    calls: list[Call]
    used: dict[int, int] = field(default_factory=dict)
    confined: str | None = None
    patience: float = 3.0

    def observe(self, invocation: Invocation) -> Observation:
        return self.effect(invocation)[0]

    def anew(self) -> Replay:
        return self

    def furnish(self, beside: Sequence[Sequence[str]] = ()) -> None:
        """Nothing runs."""

    def together(self, invocation: Invocation) -> tuple[Observation, Observation]:
        return self.run(invocation), self.run(invocation)

    def run(self, invocation: Invocation) -> Observation:
        return self.effect(invocation)[0]

    def effect(self, invocation: Invocation) -> tuple[Observation, tuple[RoomChange, ...]]:
        call = self._call(invocation)
        if call is None:
            return notes.answer(invocation, self._kept)
        ordinary, _ = notes.answer(invocation, self._kept)
        seen = replace(
            ordinary,
            stdout=call.stdout.encode(),
            stderr=call.stderr,
            terminal_output=call.terminal.encode(),
            status=call.status,
            outgoing=call.outgoing,
            arrivals=((0.01, len(call.stdout)),),
            first_output=1.0 if call.late else ordinary.first_output,
            ended=call.ended,  # type: ignore[arg-type]  # one of its words
        )
        return seen, tuple(RoomChange(change, "changed") for change in call.changes)

    def state(self) -> tuple[str, ...] | None:
        return None

    @contextmanager
    def room(self) -> Iterator[Replay]:
        yield Replay(self.calls)

    @property
    def _kept(self) -> int:
        """How many notes there are: as many as a `list` of the transcript shows, when it shows a whole one."""
        shown = [call.stdout.count('"type":"entry"') for call in self.calls if call.words == ("list",)]
        return max(shown, default=0) or 3

    def _call(self, invocation: Invocation) -> Call | None:
        fitting = [call for call in self.calls if call.answers(invocation)]
        if not fitting:
            return None
        place = self.used.get(id(fitting[0]), 0)
        self.used[id(fitting[0])] = place + 1
        return fitting[min(place, len(fitting) - 1)]
