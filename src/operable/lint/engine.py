"""The whole job: discover, plan, run every check on every command, and report each finding as it comes.

Theory of operation. One unit of work is one command with all its checks, or the tool with the checks on the whole; units
run in a few threads (the work is done by processes, the threads wait). Experiments that several checks ask for are run
once, by the first that asks. A check that breaks is a bug of ours and ends the run; what the tool does never breaks one.
"""

from __future__ import annotations

import math
import os
import queue
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

from operable.kernel import catalogue
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.lint import profile as profiles
from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable, Untested
from operable.lint.discovery import plan
from operable.lint.lab.lab import PATIENCE, ROOM_FAILED, Laboratory
from operable.lint.lab.probe import LabProbe
from operable.lint.plan import CommandPlan, ToolPlan
from operable.lint.profile import recipe
from operable.proc.command import resolve
from operable.proc.environment import environment
from operable.proc.sandbox.confinement import sandbox

_CHECKS = "operable.lint.checks"
# Threads mostly wait for processes; more than this would only make the processes slow and their deadlines wrong.
_WORKERS = 4


@dataclass(frozen=True)
class LintOptions:
    """What to lint with."""

    profile: str | None = None
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    jobs: int = 0
    confine: bool = True
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        # With less than one, no thread would work and the run would never end.
        if self.jobs < 0:
            raise Fail("usage", "INVALID_VALUE", "the number of jobs is 0 or more", target="--jobs")
        if not 0 < self.patience < math.inf:
            raise Fail("usage", "INVALID_VALUE", "the patience is more than 0 seconds", target="--patience")


@dataclass
class Report:
    """What is known at the end, and where the time went."""

    tool: str
    program: str
    tool_version: str | None = None
    findings: list[LintFinding] = field(default_factory=list)
    elapsed: float = 0.0
    runs: int = 0
    busy: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)  # label of a check -> seconds
    durations: dict[tuple[str | None, str], float] = field(default_factory=dict)  # the same, per command
    began: float = 0.0  # seconds since 1970
    sandbox: str = "none"
    prepare: str = ""  # how to make a room in which the command lines of the findings can be pasted
    commands: list[str] = field(default_factory=list)


def checks(only: Sequence[str] = (), skip: Sequence[str] = ()) -> list[LintCheck]:
    """The checks that are wanted: numbered ones first. Names and numbers select; Fail when one is unknown."""
    package = __import__(_CHECKS, fromlist=["__path__"])
    names = [name for folder in package.__path__ for name in catalogue.names(folder)]
    loaded = [_load(name) for name in names]
    loaded.sort(key=lambda check: (check.number is None, check.number or 0, check.name))
    labels = {label: check.name for check in loaded for label in (check.label, check.name)}
    for word in (*only, *skip):
        if word not in labels:
            raise catalogue.unknown("check", word, sorted(labels))
    chosen = {labels[word] for word in only} if only else set(names)
    chosen -= {labels[word] for word in skip}
    return [check for check in loaded if check.name in chosen]


def explain(label: str) -> LintCheck:
    """One check by number or name."""
    return checks(only=[label])[0]


def _load(name: str) -> LintCheck:
    check: LintCheck = catalogue.load(_CHECKS, name, "CHECK", kind="check")
    return check


def lint(tool: str, options: LintOptions, on_finding: Callable[[LintFinding], Any] | None = None) -> Report:
    """Lint one program to the end."""
    job = LintJob(tool, options)
    for finding in job.run():
        if on_finding is not None:
            on_finding(finding)
    return job.report


def command_line(tool: str) -> list[str]:
    """The words of a tool that is named by a command line (`python todo.py`): files by their absolute paths, since every
    call has a folder of its own. A path with a space in it is one word.
    """
    if os.path.exists(tool) or not tool.strip():
        return [tool]
    try:
        name, *words = shlex.split(tool)
    except ValueError:  # a quote that is not closed
        return [tool]
    return [name, *(os.path.abspath(word) if os.path.isfile(word) else word for word in words)]


class LintJob:
    """One tool being linted. `run` yields findings as they come; afterwards `report` is complete."""

    def __init__(self, tool: str, options: LintOptions, laboratory: Callable[..., Any] = Laboratory) -> None:
        """`laboratory` is made with a probe, a profile and the patience; a recorded one runs nothing."""
        self.options = options
        self._laboratory = laboratory
        self.checks = checks(options.only, options.skip)
        name, *first = command_line(tool)
        self.program = resolve(name, env=environment())
        # What a user thinks of as the tool: the script, where it is one with an interpreter in front.
        script = next((word for word in first if os.path.isfile(word)), self.program)
        path = options.profile or profiles.find(script)
        self.profile = profiles.load(path)
        box = sandbox("bubblewrap") if options.confine else None
        if box is not None and box.missing() is not None:
            box = None
        self.probe = LabProbe(
            program=self.program,
            # What is in a line to paste must mean the same in another folder.
            shown=shlex.join((name if "/" not in name else os.path.abspath(name), *first)),
            first=tuple(first),
            sandbox=box,
            env=dict(self.profile.tool.env),
            network=self.profile.tool.network,
            timeout=self.profile.tool.timeout,
        )
        self.report = Report(
            os.path.basename(script), self.program, sandbox="none" if box is None else box.name
        )
        self._found: queue.Queue[LintFinding | BaseException | None] = queue.Queue()
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def run(self) -> Iterator[LintFinding]:
        started, self.report.began = time.monotonic(), time.time()
        with self._laboratory(self.probe, self.profile, patience=self.options.patience) as lab:
            self.lab = lab
            made = plan(lab, self.probe.shown, self.profile)
            self._introduce(made)
            lab.prepare(made.machine, made.state)
            yield from self._work(lab, made)
            self.report.runs, self.report.busy = lab.runs, lab.busy
        self.report.elapsed = time.monotonic() - started
        self._put_in_order()

    def _put_in_order(self) -> None:
        """Reports have the findings in the order in which a user would fix them, however they came: the tool first."""
        places = {name: number for number, name in enumerate(self.report.commands, 1)}
        self.report.findings.sort(
            key=lambda item: (places.get(item.command or "", 0), item.number is None, item.number or 0)
        )

    def _introduce(self, made: ToolPlan) -> None:
        self.report.tool = made.name
        self.report.prepare = recipe(self.probe.shown, self.profile, made.machine)
        version = (made.capabilities or {}).get("tool_version")
        self.report.tool_version = version if isinstance(version, str) else None
        known = [command.name for command in made.commands]
        unknown = [name for name in self.options.commands if name not in known]
        if unknown and made.capabilities is None:
            answer = made.discovery["capabilities"]
            raise Fail(
                "usage",
                "NO_CAPABILITIES",
                f"{unknown[0]} cannot be looked at alone: the tool does not say which commands it has",
                hint=f"{answer.command_line} ({answer.ended}, status {answer.status}); name the command in a profile",
                target=unknown[0],
            )
        if unknown:
            raise catalogue.unknown("command", unknown[0], known)
        self.report.commands = [name for name in known if name in (self.options.commands or known)]

    def _work(self, lab: Laboratory, made: ToolPlan) -> Iterator[LintFinding]:
        # Unbounded commands are waited for most: they go first.
        wanted = [command for command in made.commands if command.name in self.report.commands]
        commands = sorted(wanted, key=lambda command: not command.unbounded)
        units: queue.Queue[CommandPlan | None] = queue.Queue()
        for unit in (None, *commands):
            units.put(unit)
        count = min(self.options.jobs or (os.cpu_count() or 1) + 2, _WORKERS, len(commands) + 1)
        threads = [
            threading.Thread(target=self._worker, args=(lab, made, units), daemon=True) for _ in range(count)
        ]
        for thread in threads:
            thread.start()
        try:
            running = count
            while running:
                item = self._found.get()
                if item is None:
                    running -= 1
                elif isinstance(item, BaseException):
                    raise item
                else:
                    self.report.findings.append(item)
                    yield item
        finally:
            self._stop.set()
            # An interrupted run has little time, in which it must also remove the rooms.
            self.probe.abandoned.set()
            for thread in threads:
                thread.join()

    def _worker(self, lab: Laboratory, made: ToolPlan, units: queue.Queue[CommandPlan | None]) -> None:
        try:
            while not self._stop.is_set():
                try:
                    command = units.get_nowait()
                except queue.Empty:
                    break
                for check in self.checks:
                    if self._stop.is_set():
                        break
                    judge = check.tool if command is None else check.command
                    if judge is None:
                        continue
                    began = time.monotonic()
                    for finding in outcome(Case(check, made, command, lab)):
                        self._found.put(finding)
                    self._spent(command, check, time.monotonic() - began)
        except BaseException as error:  # noqa: BLE001 - raised again by the reader of the findings
            self._found.put(error)
        finally:
            self._found.put(None)

    def _spent(self, command: CommandPlan | None, check: LintCheck, seconds: float) -> None:
        with self._lock:
            self.report.durations[None if command is None else command.name, check.label] = seconds
            self.report.seconds[check.label] = self.report.seconds.get(check.label, 0.0) + seconds


def outcome(case: Case) -> list[LintFinding]:
    """Everything that one check says of one command. What was too slow once is tried again, with everything run anew: a
    machine may have had other work.
    """
    found = _judged(case)
    if any(finding.timed for finding in found):
        again = _judged(Case(case.check, case.plan, case.command, case.lab.anew()))
        if not any(finding.timed for finding in again):
            mine = case.command.name if case.command is not None else None
            return [*(finding for finding in found if finding.command != mine), *again]
    return found


def _judged(case: Case) -> list[LintFinding]:
    """What it says at once: its problems, or one finding that says why it is missing."""
    judge = case.check.tool if case.command is None else case.check.command
    assert judge is not None  # noqa: S101 - only such cases are made
    found: list[LintFinding] = []
    try:
        found.extend(judge(case))
    except Untested as reason:
        found.append(case.finding("untested", str(reason)))
    except NotApplicable as reason:
        found.append(case.finding("not_applicable", str(reason)))
    except Fail as problem:
        if problem.code == ROOM_FAILED:
            raise  # our trouble, not the tool's: no reason to call it untested and be content
        found.append(case.finding("untested", f"it could not be run: {problem.message}"))
    mine = case.command.name if case.command is not None else None
    if any(finding.result != "pass" and finding.command == mine for finding in found):
        return found
    if not case.seen:
        return [*found, case.finding("untested", "nothing was observed")]
    return [*found, case.finding("pass", case.check.title, case.seen[-1])]
