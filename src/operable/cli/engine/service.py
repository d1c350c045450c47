"""A worker in the foreground, one in the background, and the systemd unit that keeps one running."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal

from operable.cli.engine.events import EngineWorkerStarted
from operable.cli.engine.options import EngineOptions
from operable.cli.engine.views import place_of, shown_store
from operable.engine.backend import EMBEDDED, VARIABLE
from operable.engine.place import EnginePlace
from operable.engine.store import queries
from operable.engine.store.database import shown_address
from operable.engine.store.rows import WorkerRow
from operable.engine.view.reader import is_alive, reading
from operable.engine.worker.retention import RetentionPolicy
from operable.engine.worker.worker import Worker, WorkerOptions
from operable.flow.home import private_folder
from operable.flow.manifest.schedules import cron_problem
from operable.flow.operation import current_folder
from operable.flow.scheduler.job_store import VARIABLE as DATABASE
from operable.kernel.errors import Fail
from operable.manifest.durations import age_of
from operable.proc.spawn import start_detached
from operable.state import paths
from operable.state.atomic import open_private
from operable.tool import Context, Warn

_POLL = 0.2
_LONGEST_START = 120.0  # seconds; a loaded machine needs twenty
_LOG_END = 1_000_000  # characters of a start that failed
_WARN_EVERY = 60.0  # seconds between two warnings: a database may go and come all night


def serve(
    engine: EngineOptions, options: WorkerOptions, context: Context
) -> Iterator[EngineWorkerStarted | Warn]:
    """One event when the worker is ready, and warnings while it cannot go on.

    It ends after a signal, or when nothing is left to do.
    """
    place = place_of(engine)
    service = _Service(Worker(place, options, dict(os.environ), current_folder()))
    with service:
        service.wait_until_ready()
        shown = shown_address(place.address) if place.is_shared else place.address
        if context.machine:
            yield EngineWorkerStarted(worker_id=service.worker.worker_id, database=shown, slots=options.slots)
        else:
            sys.stderr.write(
                f"operable engine start: worker {service.worker.worker_id} runs jobs of {shown}\n"
            )
            sys.stderr.flush()
        yield from service.wait()
    context.conclude(message="Stopped.")


def worker_options(
    *,
    slots: int,
    missed: Literal["skip", "once", "all"],
    drain: int,
    until_idle: bool,
    queue: str | None,
    move_queue: bool,
    policy: str | None,
    retention: RetentionPolicy,
) -> WorkerOptions:
    """The options of a worker. Raises Fail if one of them cannot be meant."""
    for name, value, least in (("--slots", slots, 1), ("--drain-s", drain, 0)):
        if value < least:
            raise Fail("usage", "INVALID_VALUE", f"{name} must be at least {least}", target=name)
    if queue == "":
        raise Fail("usage", "INVALID_VALUE", "--queue has no value", target="--queue")
    return WorkerOptions(
        slots=slots,
        missed=missed,
        drain=drain,
        until_idle=until_idle,
        queue=queue or os.environ.get(VARIABLE) or EMBEDDED,
        move_queue=move_queue,
        retention=retention,
        policy=_checked(policy),
    )


def retention_policy(keep: str, at_most: int | None, cron: str) -> RetentionPolicy:
    """What the options of retention mean. Raises Fail if one of them cannot be read."""
    age = None if keep == "forever" else age_of(keep)
    if age is None and keep != "forever":
        message = f"--keep {keep} is not an age"
        raise Fail("usage", "AGE_INVALID", message, target="--keep", hint="12h, 30d, or forever")
    if at_most is not None and at_most < 1:
        raise Fail("usage", "INVALID_VALUE", "--keep-at-most must be at least 1", target="--keep-at-most")
    problem = cron_problem(cron)
    if problem is not None:
        wrong = f"--gc-cron {cron} is not a schedule: {problem}"
        raise Fail("usage", "INVALID_VALUE", wrong, target="--gc-cron", hint="17 3 * * *")
    return RetentionPolicy(keep=None if age is None else float(age), at_most=at_most, cron=cron)


def serve_detached(
    engine: EngineOptions, words: list[str], context: Context
) -> Iterator[EngineWorkerStarted]:
    """Start a worker in a session of its own, and wait until it is ready. Its output goes into a file of the home."""
    place = place_of(engine)
    if (known := _find_worker(place, None)) is not None:
        message = f"a worker runs already: pid {known.pid}"
        hint = "stop it with `kill`, or start another one without --detach"
        raise Fail("conflict", "WORKER_RUNS", message, target=known.worker_id, hint=hint)
    private_folder(place.folder)
    log = os.path.join(place.folder, "worker.log")
    env = {**os.environ, "AGENTCLI_HOME": place.home}
    if place.is_shared:  # it may have a password, which must not be in a command line
        env[DATABASE] = place.address
    descriptor = open_private(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        begin = os.fstat(descriptor).st_size
        argv = [os.path.abspath(sys.argv[0]), "engine", "start", *words, "--output", "jsonl"]
        pid = start_detached(argv, env, descriptor)
    finally:
        os.close(descriptor)
    worker = _wait_for_worker(place, pid, log, begin)
    if context.machine:
        shown = shown_store(place)
        yield EngineWorkerStarted(
            worker_id=worker.worker_id, database=shown, slots=worker.slots, pid=pid, log=log
        )
    else:
        context.show(f"worker {worker.worker_id} runs; pid {pid}, log {log}\nstop it: kill {pid}\n")


def _wait_for_worker(place: EnginePlace, pid: int, log: str, begin: int) -> WorkerRow:
    """The worker, once it is in the store and has said that it is ready.

    Raises Fail with the last error of the log if it ends before, or takes too long.
    """
    ends = time.monotonic() + _LONGEST_START
    while time.monotonic() < ends:
        if (worker := _find_worker(place, pid)) is not None and _log_lines(
            log, begin, "engine_worker_started"
        ):
            return worker
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            break
        time.sleep(_POLL)
    lines = _log_lines(log, begin, "aoi:error") or [""]
    reason = json.loads(lines[-1])["message"] if lines[-1] else f"see {log}"
    raise Fail("temporary", "WORKER_NOT_STARTED", f"the worker did not start: {reason}", target=log)


def _log_lines(log: str, begin: int, kind: str) -> list[str]:
    with open(log, encoding="utf-8", errors="replace") as file:
        file.seek(begin)
        return [line for line in file.read(_LOG_END).splitlines() if f'"type":"{kind}"' in line]


def _find_worker(place: EnginePlace, pid: int | None) -> WorkerRow | None:
    """A living worker of this machine; of this process, if one is named."""
    # A store of an older version is migrated by the worker; what it refuses is in its log.
    with suppress(Fail), reading(place) as connection:
        for worker in [] if connection is None else queries.list_workers(connection):
            here = worker.host == socket.gethostname() and pid in (None, worker.pid)
            if here and is_alive(place, worker):
                return worker
    return None


def _checked(policy: str | None) -> str | None:
    """The path of a policy that can be read. Raises Fail before anything starts."""
    if policy is None:
        return None
    from operable.gate.policy.policy_file import load_policy

    path = os.path.abspath(policy)
    load_policy(path)
    return path


def unit_text(engine: EngineOptions) -> str:
    """A unit for `systemctl --user`: a worker as it would start here, in this folder and with this search path.

    The database is not in it: it may have a password, and a unit is readable.
    """
    place, folder = place_of(engine), os.getcwd()
    words = [os.path.abspath(sys.argv[0]), "engine", "start"]
    homes = {"AGENTCLI_HOME": place.home}
    if (things := paths.home()) is not None:
        homes[paths.VARIABLES[0]] = things
    for word in (*words, folder, *homes.values()):
        if any(sign in word for sign in '"\\%$\n '):
            message = f"{word} has a character that a unit cannot have in a path"
            raise Fail("validation", "PATH_UNSUITABLE", message, target=word)
    return f"""\
[Unit]
Description=Operable engine of {place.home}
After=network-online.target

[Service]
{"".join(f"Environment={name}={home}{chr(10)}" for name, home in homes.items())}\
Environment="PATH={_unit_words(os.environ.get("PATH", os.defpath))}"
WorkingDirectory={folder}
# OPERABLE_DATABASE=postgresql://…, OPERABLE_QUEUE=temporal://… and their passwords belong into this file, with mode 0600
EnvironmentFile=-{place.folder}/environment
ExecStart={" ".join(words)}
Restart=always
RestartSec=2
# The worker ends its own process trees, and needs its drain time for that.
KillMode=mixed
TimeoutStopSec=60
SuccessExitStatus=143

[Install]
WantedBy=default.target
"""


def _unit_words(text: str) -> str:
    """A value inside the double quotes of a unit."""
    for sign, spelled in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("\n", "\\n")):
        text = text.replace(sign, spelled)
    return text


class _Service:
    """The worker in a thread of its own: signals reach the main thread, which only waits.

    A signal stops the worker first, which may take its drain time. Then it ends the command as any other does.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="worker")
        self._handlers: dict[int, Any] = {}
        self._stopped_by: int | None = None

    def __enter__(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._handlers[number] = signal.signal(number, self._stop)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        if self._thread.is_alive():
            self.worker.stop()
            self._thread.join()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if self._stopped_by is not None:
            os.kill(os.getpid(), self._stopped_by)

    def wait_until_ready(self) -> None:
        """Raises Fail if the worker could not start."""
        while not self._ready.wait(_POLL) and self._thread.is_alive():
            pass
        self._raise()

    def wait(self) -> Iterator[Warn]:
        """Until the worker has ended; what keeps it from its work, whenever that is another thing."""
        reported, next_warning = None, 0.0
        while self._thread.is_alive():
            self._thread.join(_POLL)
            problem = self.worker.problem
            if problem == reported or time.monotonic() < next_warning:
                continue
            reported = problem
            if problem is not None:
                next_warning = time.monotonic() + _WARN_EVERY
                yield Warn("WORKER_WAITS", f"the worker tries again until it can go on: {problem}")
        self._raise()

    def _stop(self, number: int, _frame: object) -> None:
        self._stopped_by = self._stopped_by or number
        self.worker.stop()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self.worker.run(self._ready.set)
        except BaseException as error:  # noqa: BLE001 - the main thread raises it
            self._error = error
