"""A worker: one loop that looks at the clock and at the store, and the backend's threads that execute attempts.

The loop, several times a second: read what was applied, fire the ticks that are due, read the files that questions are
about, answer questions whose time is over, hand tickets to the backend, decide triggers that another worker left, stop what
users cancelled, and take over from workers whose locks are free. Every step is a transaction that another worker may do as
well; no worker leads.

A store that does not answer (a restart, a full disk) stops the loop's round, never the worker. A thread that has executed an
attempt tries until its end is recorded: the effect has happened, and nothing else knows how it ended.
"""

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from operable import __version__
from operable.engine.backend import EMBEDDED, QueueSettings, open_backend
from operable.engine.lifecycle.decisions import wants_trigger
from operable.engine.lifecycle.identifiers import read_ticket, ticket_of
from operable.engine.lifecycle.states import ENDS, AttemptState, EngineRunState
from operable.engine.place import EnginePlace
from operable.engine.schedule.clock import DueTicks, MissedPolicy, ScheduleClock, choose_ticks
from operable.engine.store.database import Database
from operable.engine.store.questions import QuestionStore
from operable.engine.store.queue import move_queue
from operable.engine.store.rows import Definition, Run, WorkerRow, find_definition
from operable.engine.store.runs import AttemptEnd, RunStore, RunTriggers, StartedAttempt, wall_clock
from operable.engine.store.ticks import QuietJobs, TickStore
from operable.engine.store.work import WorkStore
from operable.engine.view.attempt_trace import AttemptTrace
from operable.engine.view.spans import RunSpans, open_spans
from operable.engine.worker.attempt import AttemptControl, AttemptResult, execute_attempt, read_files
from operable.engine.worker.definitions import AppliedJobs
from operable.engine.worker.deliveries import Deliveries
from operable.engine.worker.inputs import AttemptInputs
from operable.engine.worker.lease import GRACE, Bell, FileLease, Lease, PostgresLease
from operable.engine.worker.retention import NightlyRemoval, RetentionPolicy
from operable.flow.errors import FlowError
from operable.flow.run.caller import Caller
from operable.flow.run.triggers import condition_holds, is_immediate
from operable.kernel.errors import Fail

_Result = TypeVar("_Result")
_UNSTORABLE = "VALUE_UNSTORABLE"
_SEEN_EVERY = 5.0  # seconds between two notes that this worker lives; each is a synced write
_REAP_EVERY = 1.0
_GLANCE = 0.05  # seconds between two looks at the times of the store's files, which cost microseconds
_FIRED_AT_ONCE = 200  # jobs in one transaction: it holds a lock of each
_LONGEST_PAUSE = 5.0  # between two tries to reach the store
_MOST_SHARED = (
    4 * 1024 * 1024
)  # bytes of one output in a shared database; what is longer stays on its machine


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    slots: int = 8  # attempts at the same time
    poll: float = 0.25  # seconds between two rounds of the loop
    missed: MissedPolicy = "once"
    queue: str = EMBEDDED  # a backend's name, or a URL whose scheme is one
    move_queue: bool = False  # from another queue to this one
    drain: float = 30.0  # seconds that running attempts have when the worker stops
    until_idle: bool = False  # stop when no run can go on without a person or a later time
    retention: RetentionPolicy = field(default_factory=RetentionPolicy)
    policy: str | None = None  # rules for agents; without it, everything that they ask for is a question


class Worker:
    """One worker of a process. `run` returns after `stop`; a worker is used once."""

    def __init__(
        self, place: EnginePlace, options: WorkerOptions, environment: Mapping[str, str], cwd: str
    ) -> None:
        self.worker_id = f"{socket.gethostname()[:40]}-{os.getpid()}-{secrets.token_hex(4)}"
        self._place, self._options = place, options
        self._caller = Caller(cwd=cwd, environment=environment, home=place.home)
        self._jobs = AppliedJobs(place.jobs)
        self._clock = ScheduleClock()
        self._quiet = QuietJobs()
        self._stop, self._abandon = threading.Event(), threading.Event()
        self._bell = Bell()
        self._looked = 0.0  # when the last round began
        self._sending = threading.Lock()
        self._cancelled: frozenset[str] = frozenset()
        self._running: list[str] = []  # a run that is delivered twice is in it twice
        self._next_seen = self._next_reap = 0.0
        self._enlisted = False
        self._spans: RunSpans | None = None
        self.problem: str | None = None  # why the last round did not succeed

    def run(self, on_ready: Callable[[], object] = lambda: None) -> None:
        """Work until `stop`. Raises Fail if the store or the queue cannot be opened."""
        self._spans = open_spans(self._caller.environment)
        self._backend = open_backend(
            QueueSettings(self._options.queue, self._place.address, self._caller.environment)
        )
        database: Database | None = None
        try:
            self._jobs.require_known()
            database = self._place.open_store()
            self._file = self._place.file()
            self._store, self._questions = RunStore(database, wall_clock), QuestionStore(database, wall_clock)
            self._ticks, self._work_store = TickStore(database, wall_clock), WorkStore(database, wall_clock)
            self._deliveries = Deliveries(database, wall_clock, self._caller)
            self._inputs = AttemptInputs(database, wall_clock, self.worker_id, self._options.policy)
            self._lease: Lease = (
                PostgresLease(self._place.address)
                if self._place.is_shared
                else FileLease(self._place.workers)
            )
            self._removal = NightlyRemoval(
                self._place, database, self._options.retention, self._backend.forget
            )
            self._work(on_ready)
        finally:
            self._backend.stop(timeout=5)
            self._jobs.close()
            if self._spans is not None:
                self._spans.close()
            if database is not None:
                if not self._enlisted:
                    self._lease.bury(self.worker_id)  # no row of it is left for others to end
                self._lease.release()
                database.close()
            self._bell.close()

    def _work(self, on_ready: Callable[[], object]) -> None:
        self._lease.hold(self.worker_id)
        if self._options.move_queue:
            self._move_queue()
        store_id = self._enlist()
        self._enlisted = True
        self._backend.start(store_id, self.worker_id, self._options.slots, self._deliver)
        on_ready()
        try:
            while not self._stop.is_set() and self._is_same_store():
                written = self._place.last_written()
                self._round()
                if self._options.until_idle and self.problem is None and self._is_idle():
                    break
                self._wait(written)
            self._drain()
        except OSError:
            if self._is_same_store():
                raise
        if not self._is_same_store():
            # No process reads what this worker writes, and a new store has workers of its own.
            message = f"the store {self._place.address} was removed or replaced while this worker ran"
            raise Fail("conflict", "STORE_REPLACED", message, hint="operable engine start")

    def _is_same_store(self) -> bool:
        return self._place.file() == self._file

    def _is_idle(self) -> bool:
        return not self._work_store.has_work() and not self._deliveries.is_busy and not self._removal.is_busy

    def stop(self) -> None:
        """End after the running attempts. A second call ends those also."""
        if self._stop.is_set():
            self._abandon.set()
        self._stop.set()
        self._bell.ring()

    # -- the loop

    def _wait(self, written: object) -> None:
        """Until the next poll, or until a change is seen: a request is seen at once."""
        ends = time.monotonic() + self._options.poll
        while (left := ends - time.monotonic()) > 0 and not self._stop.is_set():
            listening = self._lease.descriptor()
            if self._bell.wait(min(left, _GLANCE) if listening is None else left, listening):
                return
            if self._lease.was_notified():
                # Many requests are one round: every worker is notified of each.
                self._bell.wait(self._looked + _GLANCE - time.monotonic())
                return
            if self._place.last_written() != written:
                return

    def _round(self) -> None:
        self._looked = time.monotonic()
        try:
            self._refresh()
            due = list(self._clock.due(time.time()))
            for start in range(0, len(due), _FIRED_AT_ONCE):
                self._fire(due[start : start + _FIRED_AT_ONCE])
            wanted = self._work_store.look()
            if wanted.bind:
                for question, definition, manifest in self._questions.to_bind():
                    self._questions.bind(question, read_files(definition, manifest, self._caller))
            for run_id in self._work_store.to_expire() if wanted.expire else ():
                self._store.expire(run_id)
            for run in self._work_store.to_settle() if wanted.settle else ():
                self._settle(run, self._work_store.last_output(run.run_id, self._place.output))
            if wanted.deliver:
                self._deliveries.look()
            self._removal.look(time.time())
            self._cancelled = (
                frozenset(self._work_store.to_stop(self.worker_id)) if self._running else frozenset()
            )
            self._take_over()
            self._note_seen()
            if wanted.wake or wanted.expire or wanted.settle:
                self._send()  # last: a queue that does not answer keeps nothing else from happening
            self.problem = None
        except Fail as error:
            self.problem = error.message
            self._clock = ScheduleClock()  # ticks that were taken from it and not stored are due again
            self._jobs.forget()

    def _refresh(self) -> None:
        now, applied, quiet = int(time.time()), self._jobs.refresh(), self._ticks.quiet_jobs()
        if not applied and quiet == self._quiet:
            return
        schedules = self._jobs.schedules
        words = {job_id: schedule.words for job_id, schedule in schedules.items()}
        noted = self._ticks.noted_apply()
        changes = {} if noted is None else self._jobs.schedule_changes(noted)
        last = self._ticks.begin(words, changes, self._jobs.apply, now)
        if changes or quiet.resumed != self._quiet.resumed:
            self._clock = (
                ScheduleClock()
            )  # some begin anew, and earlier than a tick that a clock far ahead has fired
        for job_id in self._clock.jobs() - (schedules.keys() - quiet.jobs):
            self._clock.remove(job_id)
        for job_id, schedule in schedules.items():
            if job_id not in quiet.jobs:
                self._clock.set(job_id, schedule, last.get(job_id, now))
        self._quiet = quiet

    def _fire(self, due: list[DueTicks]) -> None:
        now, jobs = time.time(), [self._jobs.jobs[each.job_id] for each in due]
        firings = [choose_ticks(each.ticks, now, self._options.missed) for each in due]
        manifests = {job.manifest_digest: self._jobs.manifest(job.manifest_digest) for job in jobs}
        self._ticks.fire(list(zip(jobs, firings, strict=True)), manifests)

    def _send(self) -> None:
        """Hand tickets to the backend. A crash before they are marked hands them over again, which changes nothing."""
        with self._sending:
            while runs := self._work_store.to_wake():
                now = wall_clock()
                self._backend.enqueue(
                    (ticket_of(run.run_id, run.wake), max(0.0, (run.not_before - now) / 1000)) for run in runs
                )
                self._work_store.mark_sent((run.run_id, run.wake) for run in runs)

    def _take_over(self) -> None:
        if time.monotonic() < self._next_reap:
            return
        self._next_reap = time.monotonic() + _REAP_EVERY
        self._lease.hold(self.worker_id)  # a restart of the database frees it
        for worker in self._work_store.present():
            if worker.worker_id != self.worker_id and self._lease.is_dead(worker.worker_id):
                # Both may be repeated. The row ends last: until then another worker would do it again.
                self._backend.recover(worker.worker_id)
                self._store.reap(worker.worker_id, worker.end_cause or "its lock is free")
                self._lease.bury(worker.worker_id)

    def _note_seen(self) -> None:
        if time.monotonic() >= self._next_seen:
            self._next_seen = time.monotonic() + _SEEN_EVERY
            self._work_store.see(self.worker_id)

    def _move_queue(self) -> None:
        """Take the store's runs to the queue of this worker. Raises Fail if another worker lives, or may live."""
        ends = time.monotonic() + (GRACE + 2 if self._place.is_shared else 0)
        while True:
            workers = [worker.worker_id for worker in self._work_store.present()]
            dead = [worker_id for worker_id in workers if self._lease.is_dead(worker_id)]
            if len(dead) == len(workers) or time.monotonic() >= ends:
                break
            self._stop.wait(0.5)
        move_queue(self._store.database, self._backend.queue, dead)

    def _enlist(self) -> str:
        """Enter this worker's row; returns the identity of the store."""
        now = wall_clock()
        return self._work_store.enlist(
            WorkerRow(
                worker_id=self.worker_id,
                host=socket.gethostname(),
                pid=os.getpid(),
                slots=self._options.slots,
                version=__version__,
                started_at=now,
                seen_at=now,
                ended_at=None,
                end_cause=None,
            ),
            self._backend.queue,
        )

    def _drain(self) -> None:
        """Wait for the running attempts, then end them."""
        ends = time.monotonic() + self._options.drain
        while self._running and time.monotonic() < ends and not self._abandon.is_set():
            self._cancelled = frozenset(self._work_store.to_stop(self.worker_id))
            time.sleep(self._options.poll)
        self._abandon.set()
        while self._running:  # bounded: their process trees are being ended
            time.sleep(0.05)
        self._deliveries.close(max(0.0, ends - time.monotonic()))
        self._removal.close(_LONGEST_PAUSE)
        self._insist(lambda: self._work_store.see(self.worker_id, leaving=True))

    # -- attempts, in the backend's threads

    def _deliver(self, ticket: str) -> None:
        """Execute what a ticket means. It never raises: the backend would take the ticket as done."""
        run_id, wake = read_ticket(ticket)
        if self._stop.is_set():  # another worker gets a ticket of its own
            self._insist(lambda: self._work_store.reissue(run_id, wake))
            return
        self._running.append(run_id)
        try:
            started = self._start(run_id, wake)
            if started is not None:
                self._attempt(started)
        finally:
            self._running.remove(run_id)
        self._bell.ring()

    def _start(self, run_id: str, wake: int) -> StartedAttempt | None:
        uncertain = False  # whether a start may be recorded whose answer never came

        def step() -> StartedAttempt | None:
            nonlocal uncertain
            try:
                started = self._store.start_attempt(run_id, wake, self.worker_id)
            except Fail as error:
                uncertain = uncertain or error.category == "temporary"
                raise
            if started is None and uncertain:
                return self._store.find_started(run_id, wake, self.worker_id)
            return started

        try:
            return self._insist(step)
        except Fail as error:
            if error.code != "WORKER_BURIED":
                raise
        # Other workers have taken over. This one ends what it still runs, and its process makes room for a new one.
        self._stop.set()
        self._abandon.set()
        self._insist(lambda: self._work_store.reissue(run_id, wake))
        return None

    def _attempt(self, started: StartedAttempt) -> None:
        run_id = started.run.run_id
        control = AttemptControl(lambda: run_id in self._cancelled, self._abandon.is_set)
        sampled = self._spans is None or self._spans.is_sampled(run_id)
        trace = AttemptTrace(run_id, started.number, sampled=sampled)
        try:
            options = self._insist(lambda: self._inputs.options(started, control.stop, trace))
            result = execute_attempt(started, self._caller, self._place.output, control, options)
        except Exception as error:  # noqa: BLE001 - a defect of ours must not leave a run without an end
            reason = f"internal error: {type(error).__name__}: {error}"
            result = AttemptResult(AttemptEnd(AttemptState.FAILED, reason=reason))
        self._insist(lambda: self._inputs.keep(started, result.agent_session_id))
        ended = self._record(started, result, trace)
        if ended is not None and ended.state.is_final:
            self._insist(
                lambda: self._show_end(ended) if ended.settled else self._settle(ended, result.stdout)
            )

    def _record(self, started: StartedAttempt, result: AttemptResult, trace: AttemptTrace) -> Run | None:
        """Record the end. Returns None if this worker was taken for dead, and the end of the attempt decided then."""
        end = result.end
        path = os.path.join(self._place.output, end.output_path or "")
        shared = _read_beginning(path) if self._place.is_shared and end.output_path else None
        try:
            triggers = self._quick_triggers(started.run.job_id, end.state, result.stdout)
            run = self._end(started, end, shared, triggers)
            if shared is not None and len(shared) == end.output_bytes:
                with suppress(OSError):
                    os.unlink(path)  # all of it is in the database
            if self._spans is not None:
                times = (started.run.changed_at, wall_clock())
                self._spans.attempt(started.run, started.number, started.definition, times, end)
                self._spans.turns(trace)
            return run
        except Fail as error:
            if error.code != "ATTEMPT_ENDED":
                raise
            return None

    def _end(
        self, started: StartedAttempt, end: AttemptEnd, output: bytes | None, triggers: RunTriggers | None
    ) -> Run:
        """Record the end; without what the task said, and what it triggers, if the store has no place for that."""
        run_id, number = started.run.run_id, started.number
        try:
            return self._insist(
                lambda: self._store.end_attempt(run_id, number, self.worker_id, end, output, triggers)
            )
        except Fail as error:
            if error.code != _UNSTORABLE:
                raise
            bare = AttemptEnd(end.state, end.exit_code, execution_id=end.execution_id, reason=error.message)
        return self._insist(lambda: self._store.end_attempt(run_id, number, self.worker_id, bare))

    def _settle(self, run: Run, stdout: str) -> None:
        triggers = self._triggers(run.job_id, run.state, stdout)
        try:
            self._store.settle(run.run_id, triggers.children, triggers.manifests)
        except Fail as error:
            if error.code != _UNSTORABLE:
                raise
            self._store.settle(run.run_id, (), {}, error.message)
        self._show_end(run)

    def _show_end(self, run: Run) -> None:
        if self._spans is not None:
            with self._store.database.snapshot() as connection:
                definition = find_definition(connection, run.definition)
            self._spans.run(run, definition)

    def _quick_triggers(self, job_id: str, end: AttemptState, stdout: str) -> RunTriggers | None:
        """What is recorded with the end of an attempt: one transaction less. None if that would delay the end."""
        state = ENDS[end]  # if the run ends; if it goes on, nothing is triggered
        wanted = [child.policy for child in self._jobs.children(job_id) if wants_trigger(child.policy, state)]
        if not all(policy.trigger and is_immediate(policy.trigger.condition) for policy in wanted):
            return None
        try:
            return self._triggers(job_id, state, stdout)
        except Fail:
            return None  # the store of jobs does not answer

    def _triggers(self, job_id: str, state: EngineRunState, stdout: str) -> RunTriggers:
        children = [(child, self._condition(child, state, stdout)) for child in self._jobs.children(job_id)]
        return RunTriggers(
            children,
            {child.manifest_digest: self._jobs.manifest(child.manifest_digest) for child, _ in children},
        )

    def _condition(self, child: Definition, state: EngineRunState, stdout: str) -> bool | str:
        policy = child.policy
        if policy.trigger is None or not wants_trigger(policy, state):
            return False
        try:
            return condition_holds(policy.trigger.condition, stdout)
        except FlowError as error:
            return error.message

    def _insist(self, step: Callable[[], _Result]) -> _Result:
        """Try until the store answers. What it refuses is an error at once."""
        pause = 0.05
        while True:
            try:
                return step()
            except Fail as error:
                # A database that is gone, or refuses a password or a right, is one that an operator can repair.
                if error.category not in ("temporary", "authn", "authz") and error.code != "DATABASE_MISSING":
                    raise
                self.problem = error.message
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def _read_beginning(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(_MOST_SHARED)
    except OSError:
        return None
