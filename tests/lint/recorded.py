"""A lab whose observations were recorded: checks are pure, so that what they say of a tool needs the tool only once.

`Recorder` is a laboratory that runs the tool and keeps every answer that the checks get from it. `Recorded` gives the same
answers again. A question is what was done in a room so far: one call in a room of its own, or the calls one after the other.
Equal questions are answered in the order in which they were asked, the last answer again and again. A question that was
never asked raises `Unrecorded`, and whoever replays runs the tool instead: nothing is made up.

A recording has the digest of the tool that it is of. It does not know which linter it was made with: what a change of the
laboratory does is seen by the tools that are run live in every run of the tests.
"""

from __future__ import annotations

import copy
import gzip
import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import msgspec

from operable.lint.check import Room, RoomChange
from operable.lint.engine import LintJob, LintOptions, Report
from operable.lint.evidence import Invocation, Observation
from operable.lint.lab.lab import Laboratory
from operable.lint.lab.probe import LabProbe
from operable.lint.profile import Profile


class Unrecorded(LookupError):  # noqa: N818 - no error: the tool is run instead
    """The recording does not say."""


@dataclass(frozen=True)
class Step:
    """One thing that is done in a room."""

    what: str  # observe, effect, run, together, state; anew before what is run once more
    invocation: Invocation | None = None


@dataclass(frozen=True)
class Answer:
    """What came of the last step."""

    steps: tuple[Step, ...]
    seen: Observation | None = None
    second: Observation | None = None
    changes: tuple[RoomChange, ...] = ()
    state: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Recording:
    """All answers of one tool."""

    digest: str
    answers: tuple[Answer, ...]

    def write(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        # Without a time of its own, so that equal recordings are equal files.
        path.write_bytes(gzip.compress(msgspec.json.encode(self), mtime=0))

    @classmethod
    def read(cls, path: Path) -> Recording | None:
        if not path.exists():
            return None
        return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=cls)


def digest(folder: Path, options: LintOptions) -> str:
    """Of a tool: every file of its folder, and what of it is looked at."""
    found = hashlib.sha256(repr((options.only, options.commands, options.patience)).encode())
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            found.update(f"\0{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return found.hexdigest()


@dataclass(frozen=True)
class Keeper:
    """Lints tools: from their recordings in a folder where those are enough, else live. `renewing` runs and records all.

    `stale` gets the name of a tool that was run because its recording does not fit.
    """

    folder: Path
    renewing: bool
    stale: Callable[[str], None] = lambda _: None

    def lint(
        self,
        name: str,
        program: Path,
        options: LintOptions,
        *,
        sources: Path | None = None,
        live: bool = False,
        build: Callable[[], None] = lambda: None,
    ) -> Report:
        """`sources` is the folder that decides what the program does; its own, when nothing is said. `build` makes the
        program of them, when it is to be run.
        """
        path = self.folder / f"{re.sub('[^a-z0-9]+', '-', name)}.json.gz"
        wanted, recording = digest(sources or program.parent, options), Recording.read(path)
        replayed = None
        if recording is not None and recording.digest == wanted and (self.renewing or not live):
            replayed = _replayed(recording, program, options)
        if replayed is not None and not self.renewing:
            return replayed
        if not (live or self.renewing):
            self.stale(name)
        build()
        job = LintJob(str(program), options, Recorder)
        list(job.run())
        if self.renewing:
            Recording(wanted, tuple(job.lab.answers)).write(path)
            assert replayed is None or verdicts(job.report) == verdicts(replayed)
        return job.report


def _replayed(recording: Recording, program: Path, options: LintOptions) -> Report | None:
    job = LintJob(str(program), options, lambda *_, patience: Recorded(recording, patience))
    try:
        list(job.run())
    except Unrecorded:
        return None
    return job.report


def verdicts(report: Report) -> list[tuple[str, str, str]]:
    return sorted({(found.label, found.command or "", found.result) for found in report.findings})


@dataclass
class Recorder:
    """A laboratory that keeps what it is asked and what it answers."""

    probe: LabProbe
    profile: Profile
    patience: float
    answers: list[Answer] = field(default_factory=list)
    before: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        self._lab = Laboratory(self.probe, self.profile, patience=self.patience)

    def __enter__(self) -> Self:
        self._lab.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._lab.__exit__()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lab, name)  # prepare, runs, busy, confined

    def observe(self, invocation: Invocation) -> Observation:
        seen = self._lab.observe(invocation)
        self._keep(Answer((*self.before, Step("observe", invocation)), seen))
        return seen

    def anew(self) -> Recorder:
        found = object.__new__(Recorder)
        found.__dict__ |= self.__dict__ | {"_lab": self._lab.anew(), "before": (Step("anew"),)}
        return found

    def effect(self, invocation: Invocation) -> tuple[Observation, tuple[RoomChange, ...]]:
        seen, changes = self._lab.effect(invocation)
        self._keep(Answer((*self.before, Step("effect", invocation)), seen, changes=changes))
        return seen, changes

    def _keep(self, answer: Answer) -> None:
        """Once: in a room of its own, the laboratory runs equal calls once, too."""
        if all(kept.steps != answer.steps for kept in self.answers):
            self.answers.append(answer)

    @contextmanager
    def room(self) -> Iterator[Room]:
        with self._lab.room() as room:
            yield _RecorderRoom(room, self.answers, (*self.before, Step("room")))


@dataclass
class _RecorderRoom:
    room: Room
    answers: list[Answer]
    steps: tuple[Step, ...]

    def run(self, invocation: Invocation) -> Observation:
        seen = self.room.run(invocation)
        self._keep(Step("run", invocation), seen)
        return seen

    def effect(self, invocation: Invocation) -> tuple[Observation, tuple[RoomChange, ...]]:
        seen, changes = self.room.effect(invocation)
        self._keep(Step("effect", invocation), seen, changes=changes)
        return seen, changes

    def together(self, invocation: Invocation) -> tuple[Observation, Observation]:
        pair = self.room.together(invocation)
        self._keep(Step("together", invocation), *pair)
        return pair

    def furnish(self, beside: Sequence[Sequence[str]] = ()) -> None:
        self.room.furnish(beside)

    def state(self) -> tuple[str, ...] | None:
        state = self.room.state()
        self._keep(Step("state"), state=state)
        return state

    def _keep(self, step: Step, *seen: Any, **more: Any) -> None:
        self.steps += (step,)
        # In a room: what was done before it is a part of the question, also when it was nothing.
        self.answers.append(Answer(self.steps, *seen, **more))


class Recorded:
    """A laboratory that runs nothing."""

    confined = None
    runs = 0
    busy = 0.0

    def __init__(self, recording: Recording, patience: float) -> None:
        self.patience = patience
        self._before: tuple[Step, ...] = ()
        self._answers: dict[tuple[Step, ...], list[Answer]] = {}
        self._lock = threading.Lock()
        for answer in recording.answers:
            self._answers.setdefault(answer.steps, []).append(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def prepare(self, machine: tuple[str, ...], state: Invocation | None) -> None:
        """The rooms of the recording were prepared."""

    def anew(self) -> Recorded:
        found = copy.copy(self)
        found._before = (Step("anew"),)
        return found

    def answer(self, *steps: Step) -> Answer:
        with self._lock:
            try:
                kept = self._answers[steps]
            except KeyError:
                raise Unrecorded(steps) from None
            return kept.pop(0) if len(kept) > 1 else kept[0]

    def observe(self, invocation: Invocation) -> Observation:
        return _seen(self.answer(*self._before, Step("observe", invocation)))

    def effect(self, invocation: Invocation) -> tuple[Observation, tuple[RoomChange, ...]]:
        answer = self.answer(*self._before, Step("effect", invocation))
        return _seen(answer), answer.changes

    @contextmanager
    def room(self) -> Iterator[Room]:
        yield _RecordedRoom(self, (*self._before, Step("room")))


@dataclass
class _RecordedRoom:
    lab: Recorded
    steps: tuple[Step, ...]

    def run(self, invocation: Invocation) -> Observation:
        return _seen(self._answer(Step("run", invocation)))

    def effect(self, invocation: Invocation) -> tuple[Observation, tuple[RoomChange, ...]]:
        answer = self._answer(Step("effect", invocation))
        return _seen(answer), answer.changes

    def together(self, invocation: Invocation) -> tuple[Observation, Observation]:
        answer = self._answer(Step("together", invocation))
        assert answer.second is not None
        return _seen(answer), answer.second

    def furnish(self, beside: Sequence[Sequence[str]] = ()) -> None:
        """Nothing runs."""

    def state(self) -> tuple[str, ...] | None:
        return self._answer(Step("state")).state

    def _answer(self, step: Step) -> Answer:
        self.steps += (step,)
        return self.lab.answer(*self.steps)


def _seen(answer: Answer) -> Observation:
    assert answer.seen is not None
    return answer.seen
