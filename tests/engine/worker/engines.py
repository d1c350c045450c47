"""An engine in a home of its own, used as a user does: through the commands, with workers that are processes."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from operable.engine.place import EnginePlace, engine_place
from operable.engine.store.rows import RUN_COLUMNS, Run
from tests.cli.drive import operable, running
from tests.engine.manifests import manifest

Json = dict[str, Any]
LIMIT = 90.0  # a loaded machine starts a worker in ten seconds


class Engine:
    """Its tasks are applied, if there are any."""

    def __init__(
        self,
        folder: Path,
        *tasks: Json,
        database: str | None = None,
        queue: str | None = None,
        environment: Json | None = None,
        **profiles: Any,
    ) -> None:
        self.folder = folder
        self.environment = {"AGENTCLI_HOME": str(folder / "home"), **(environment or {})}
        if database is not None:
            self.environment["OPERABLE_DATABASE"] = database
        if queue is not None:
            self.environment["OPERABLE_QUEUE"] = queue
        if tasks:
            self.apply(*tasks, **profiles)

    @property
    def place(self) -> EnginePlace:
        return engine_place({**os.environ, **self.environment}, cwd=str(self.folder))

    def apply(self, *tasks: Json, **profiles: Any) -> None:
        path = self.folder / "flow.json"
        path.write_text(json.dumps({**manifest(*tasks), **profiles}))
        assert self.call("apply", str(path), verb="flow")

    def call(self, *words: str, verb: str = "engine") -> list[Json]:
        """The events of a command that succeeds."""
        done = operable(verb, *words, env=self.environment, cwd=self.folder)
        assert done.exit_code == 0, done
        return done.results

    def planned(self, *words: str) -> str:
        """What a command says that it would do."""
        done = operable("engine", *words, "--dry-run", env=self.environment, cwd=self.folder)
        assert done.exit_code == 0, done
        return done.stdout.decode()

    def refused(self, *words: str) -> Json:
        """The error of a command that fails."""
        done = operable("engine", *words, env=self.environment, cwd=self.folder)
        assert done.exit_code != 0, done
        return done.error

    @contextmanager
    def worker(self, *words: str, folder: Path | None = None) -> Iterator["WorkerProcess"]:
        with running("engine", "start", *words, env=self.environment, cwd=folder or self.folder) as started:
            started.event("engine_worker_started")
            yield WorkerProcess(started.process)

    def runs(self, **columns: str) -> list[Run]:
        database = self.place.read_store()
        if database is None:
            return []
        where = " AND ".join(f"{name} = ?" for name in columns) or "1 = 1"
        try:
            with database.snapshot() as connection:
                rows = connection.execute(
                    f"SELECT {RUN_COLUMNS} FROM runs WHERE {where} ORDER BY created_at",
                    list(columns.values()),
                )
        finally:
            database.close()
        return [Run.read(row) for row in rows]

    def shown(self, run_id: str) -> Json:
        """A run as `engine runs` shows it."""
        return next(run for run in self.call("runs") if run["run_id"] == run_id)

    def facts(self, run_id: str) -> Json:
        """What is kept of the latest attempt of a run."""
        database = self.place.read_store()
        assert database is not None
        with database.snapshot() as connection:
            ((facts,),) = connection.execute(
                "SELECT facts FROM attempts WHERE run_id = ? ORDER BY number DESC LIMIT 1", (run_id,)
            )
        database.close()
        return dict(json.loads(facts))

    def outputs(self, run_id: str) -> list[str]:
        return [entry["output"] for entry in self.call("logs", run_id) if entry["output"] is not None]

    def state(self, run_id: str) -> str:
        return str(self.runs(run_id=run_id)[0].state)

    def trigger(self, task_id: str, *words: str) -> str:
        (run,) = self.call("trigger", f"flow/{task_id}", *words)
        return str(run["run_id"])

    def wait_for(self, run_id: str, *states: str) -> str:
        until(lambda: self.state(run_id) in states)
        return self.state(run_id)


class WorkerProcess:
    def __init__(self, process: Any) -> None:
        self._process = process

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(LIMIT)

    def stop(self) -> None:
        """So that it does nothing more, and is there."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def terminate(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return int(self._process.wait(LIMIT))


def until(condition: Callable[[], bool], limit: float = LIMIT) -> None:
    """Wait until something is true; AssertionError after the limit."""
    ends = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < ends, "it did not come true in time"
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
