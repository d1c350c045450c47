"""The job store: an apply is there as a whole or not at all, and stays."""

import random
import sqlite3
from collections import Counter
from contextlib import closing
from typing import Any

from operable.flow.canonical import canonical_digest
from operable.flow.contracts import Surroundings
from operable.flow.scheduler.backends import apply_to_store
from operable.flow.scheduler.job_store import stored_jobs
from operable.flow.scheduler.reconciliation import ApplyOptions
from tests.campaign.store import Store, require
from tests.flow.manifests import manifest, shell_task

_TASKS = 5


class JobStore(Store):
    conditions = ("clock", "full", "read-only", "no locks")  # its locks are SQLite's

    def step(self, chance: random.Random, name: str, writer: int) -> None:
        value = _manifest(name)
        self.notes.add("begun", canonical_digest(value))
        apply_to_store(value, self._path, ApplyOptions(), Surroundings("/", {}))
        self.notes.add("acknowledged", canonical_digest(value))

    @property
    def _path(self) -> str:
        return str(self.home / "jobs.db")

    def judge(self, counts: Counter[str]) -> None:
        jobs = stored_jobs(self._path)
        names = {job["name"] for job in jobs}
        require(len(names) <= 1 and len(jobs) in (0, _TASKS), "half an apply", names, len(jobs))
        acknowledged = [digest for (digest,) in self.notes.all("acknowledged")]
        require(jobs or not acknowledged, "everything is gone")
        if not jobs:
            return
        with closing(sqlite3.connect(self._path)) as database:
            rows = database.execute("SELECT manifest_digest FROM applies ORDER BY id").fetchall()
            (state,) = database.execute("PRAGMA integrity_check").fetchone()
        require(state == "ok", "a damaged store", state)
        applied = [digest for (digest,) in rows]
        require(applied[-1] == jobs[0]["manifest_digest"], "the jobs are not those of the last apply")
        require(set(acknowledged) <= set(applied), "an acknowledged apply is gone")
        require(set(applied) <= {digest for (digest,) in self.notes.all("begun")}, "an apply of nobody")


def _manifest(name: str) -> dict[str, Any]:
    return manifest(*(shell_task(f"t{number}", name=name) for number in range(_TASKS)))


STORE = JobStore
