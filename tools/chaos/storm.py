"""One storm: jobs are applied, runs are asked for, and at random moments something happens to a worker or to its machine.

On PostgreSQL every worker has a home of its own, as if it were on another machine. Tasks write a journal with the clock of
the machine, which does not jump. The home may be on a small disk of its own, which becomes full.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.place import engine_place
from operable.engine.store.runs import RunStore, wall_clock
from operable.engine.worker.definitions import AppliedJobs
from operable.kernel.errors import Fail
from tests.engine.postgres import PostgresServer
from tests.engine.temporal import TemporalServer
from tools.chaos.checker import JobTerms, Requests, Violation, judge, read_journal

_Result = TypeVar("_Result")
PROGRAM = str(Path(sys.executable).parent / "operable")
_DISK = "96m"
_FARTHEST_JUMP = 120  # seconds: pauses and deadlines come later by as much as a clock went back
_TASK = """
say() { printf '{"event":"%s","job":"%s","run":"%s","attempt":%s,"at":%s,"ok":%s}\\n' \
"$1" "$JOB" "$OPERABLE_RUN_ID" "$OPERABLE_ATTEMPT" "$(date +%s.%N)" "$2" >> "$PLACE/journal"; }
say start true
for beat in 1 2 3; do sleep 0.2; say beat true; done
if [ "$FAILS" = 1 ]; then say end false; exit 1; fi
say end true
"""
# At-least-once is about deaths. What a full disk refuses before the start is a failure, which retries repeat.
_LEAST = {"guarantee": "at-least-once", "max_retries": 6}
_KINDS: dict[str, tuple[JobTerms, dict[str, Any]]] = {
    "once": (JobTerms(), {"overlap_policy": "allow"}),
    "least": (JobTerms("at-least-once"), {"overlap_policy": "allow", **_LEAST}),
    "serial": (JobTerms(serial=True), {"overlap_policy": "queue"}),
    "serial-least": (JobTerms("at-least-once", serial=True), {"overlap_policy": "queue", **_LEAST}),
    "failing": (JobTerms(fails=True), {"overlap_policy": "allow"}),
    "asking": (JobTerms(asks=True), {"overlap_policy": "allow"}),
    "tick": (JobTerms(ticks=True), {"overlap_policy": "allow"}),
    "handler": (JobTerms(parent="failing", on="failure"), {"overlap_policy": "allow"}),
    "child": (JobTerms(parent="once", on="success"), {"overlap_policy": "allow"}),
}


@dataclass
class _Worker:
    number: int
    process: subprocess.Popen[str]


@dataclass
class Chaos:
    options: argparse.Namespace
    folder: Path
    dice: random.Random
    server: PostgresServer | None = None
    temporal: TemporalServer | None = None
    workers: list[_Worker] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    runs: dict[str, str] = field(default_factory=dict)
    answers: dict[str, set[str]] = field(
        default_factory=lambda: {"yes": set(), "no": set(), "confirmed": set()}
    )
    fills: list[tuple[float, float]] = field(default_factory=list)  # when the disk was full
    reasons: list[str] = field(default_factory=list)  # of each run that did not succeed
    started: int = 0
    known: tuple[float, float] = (0.0, 0.0)  # from when to when workers knew the jobs

    def __post_init__(self) -> None:
        self.disk, self.journal = self.folder / "disk", self.folder / "journal"
        self.disk.mkdir()
        if self.options.fills:
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "chaos", str(self.disk)], check=True
            )
        self.url = None if self.server is None else self.server.new_database()
        if self.options.jumps:
            source, self.library = Path(__file__).with_name("clock.c"), self.folder / "clock.so"
            words = ["cc", "-shared", "-fPIC", "-O1", "-o", str(self.library), str(source), "-ldl"]
            subprocess.run(words, check=True)
        self.terms = dict(_jobs(self.options.jobs))
        self.place = engine_place(self._environment(0), cwd=str(self.folder))

    def run(self) -> list[Violation]:
        manifest = self.folder / "flow.json"
        # A file: an approval covers what a command line names, and the journal changes.
        (self.folder / "task.sh").write_text(_TASK)
        manifest.write_text(json.dumps(_manifest(self.terms, self.folder)))
        self._operable("flow", "apply", str(manifest))
        applied = AppliedJobs(self.place.jobs)
        applied.refresh()
        self.jobs = {job.document["source"]["task_id"]: job for job in applied.jobs.values()}
        self.text = applied.manifest(next(iter(applied.jobs.values())).manifest_digest)
        applied.close()
        database = self.place.open_store()
        self.store = RunStore(database, wall_clock)
        try:
            for _ in range(self.options.workers):
                self._start_worker()
            known = time.time()
            self._storm()
            self._settle()
            self.known = (known, time.time())
        finally:
            self._end_workers()
            database.close()
        return self._judge()

    def release(self, *, keep: bool) -> None:
        """Unmount the disk. Its mount ends with this process, so what is to be kept is copied out of it."""
        if not self.options.fills:
            return
        kept = self.folder / "kept"
        if keep:
            subprocess.run(["cp", "-a", str(self.disk), str(kept)], check=True)
        subprocess.run(["umount", "--lazy", str(self.disk)], check=True)
        if keep:
            self.disk.rmdir()
            kept.rename(self.disk)

    def _judge(self) -> list[Violation]:
        over = time.time() + 1
        time.sleep(2)
        claims, ticks, reasons, ended = {}, {}, {}, {}
        for event in self._events("engine", "runs", "--limit", "1000000"):
            run = event["run_id"]
            claims[run] = event["state"]
            if event["reason"]:
                reasons[run] = str(event["reason"])
            if event["ended_at"]:
                ended[run] = datetime.fromisoformat(event["ended_at"]).timestamp()
            if event["cause"] == "tick":
                due = datetime.fromisoformat(event["due_at"]).timestamp()
                ticks[run] = (event["name"], round(due))
        self.counts.update(f"run {state}" for state in claims.values())
        missed = {
            event["task_id"]: event["missed_ticks"]
            for event in self._events("engine", "jobs", "--limit", "100000")
        }
        self.counts["ticks"], self.counts["ticks missed, on record"] = len(ticks), sum(missed.values())
        requests = Requests(
            self.terms,
            self.runs,
            frozenset(self.answers["no"]),
            frozenset(self.answers["confirmed"]),
            over,
            tuple(_left(self.folder)),
            unconfirmed=frozenset(self.answers["yes"]),
            reasons=reasons,
            ended=ended,
            fills=tuple(self.fills),
            jump=_FARTHEST_JUMP if self.options.jumps else 0,
            ticks=ticks,
            missed=missed,
            known=self.known,
        )
        with self.journal.open() as lines:
            entries = list(read_journal(lines))
        begun = {entry.run for entry in entries}
        for run, claim in claims.items():
            if claim not in ("succeeded", "rejected"):
                name = f"{claim} {'after' if run in begun else 'before'} its start"
                self.reasons.append(f"{run}  {name}: {reasons.get(run)}".replace(str(self.folder), "…"))
                self.counts[name] += 1
        self.counts["starts in the journal"] = sum(entry.event == "start" for entry in entries)
        return judge(entries, requests, claims)

    # -- the storm

    def _storm(self) -> None:
        acts: dict[str, Callable[[], None]] = {
            "runs": self._request,
            "kills": self._kill,
            "stops": self._pause,
            "fills": self._fill,
            "jumps": self._jump,
            "restarts": self._restart,
            "cuts": self._cut,
            "outages": self._interrupt,
        }
        order = [act for act in acts for _ in range(getattr(self.options, act))]
        self.dice.shuffle(order)
        for act in order:
            time.sleep(self.dice.uniform(0, 2 * self.options.pace))
            acts[act]()
            self.counts[f"{act} (asked for)" if act == "runs" else act] += 1
            self._answer(0.2)

    def _request(self) -> None:
        roots = [kind for kind, (terms, _) in _KINDS.items() if terms.parent is None and not terms.ticks]
        jobs = {kind: [name for name in self.terms if name.rpartition("-")[0] == kind] for kind in roots}
        # A few jobs are not of every kind.
        of_kind = jobs[self.dice.choice([kind for kind in roots if jobs[kind]])]
        # The first jobs are asked for more often than the others: serial ones get queues.
        job = of_kind[min(int(self.dice.expovariate(0.4)), len(of_kind) - 1)]
        key = str(len(self.runs))
        run = _insist(lambda: self.store.request(self.jobs[job], RunCause.MANUAL, key, self.text))
        self.runs[run.run_id] = job

    def _answer(self, share: float) -> None:
        """Answer some of the open questions; the answer to a run is the same however often it is given."""
        for run, job in self.runs.items():
            if self.terms[job].asks and self.dice.random() < share:
                approve = int(run[-1], 16) % 4 != 0
                self.answers["yes" if approve else "no"].add(run)
                with contextlib.suppress(Fail):
                    self.store.decide(run, approve=approve, by="chaos")
                    self.counts["approved" if approve else "rejected"] += 1
                    if approve:
                        self.answers["confirmed"].add(run)

    def _kill(self) -> None:
        worker = self._choose()
        worker.process.kill()
        worker.process.wait(30)
        self.workers.remove(worker)
        self._start_worker()

    def _pause(self) -> None:
        worker = self._choose()
        worker.process.send_signal(signal.SIGSTOP)
        time.sleep(self.options.stop_s)
        worker.process.send_signal(signal.SIGCONT)

    def _fill(self) -> None:
        ballast, began = self.disk / "ballast", time.time()
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(65536)):
                pass
        time.sleep(self.options.fill_s)
        ballast.unlink()
        self.fills.append((began, time.time()))

    def _jump(self) -> None:
        worker = self._choose()
        seconds = self.dice.randint(-_FARTHEST_JUMP, _FARTHEST_JUMP)
        self._set_clock(worker, seconds)

    def _restart(self) -> None:
        assert self.server is not None
        self.server.stop()
        self.server.start()

    def _interrupt(self) -> None:
        """The server of the queue is killed, and comes back with what it had written."""
        assert self.temporal is not None
        self.temporal.stop()
        time.sleep(self.options.fill_s)
        self.temporal.start()

    def _cut(self) -> None:
        """A worker is stopped, and its connections end: it is taken for dead, and comes back."""
        import psycopg

        assert self.url is not None
        worker = self._choose()
        worker.process.send_signal(signal.SIGSTOP)
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(query, (f"w{worker.number}",))
        time.sleep(max(self.options.stop_s, 15))
        worker.process.send_signal(signal.SIGCONT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.process.wait(30)  # it was buried: it ends by itself when it sees that
            self.counts["workers that ended after they were taken for dead"] += 1
        if worker.process.poll() is not None:
            self.workers.remove(worker)
            self._start_worker()

    def _settle(self) -> None:
        """Wait until every run has an end, for a bounded time."""
        for worker in self.workers:
            self._set_clock(worker, 0)
        ends = time.monotonic() + self.options.patience
        while time.monotonic() < ends:
            self._answer(1)
            with contextlib.suppress(Fail), self.store.database.snapshot() as connection:
                (row,) = connection.execute("SELECT COUNT(*) FROM runs WHERE ended_at IS NULL OR settled = 0")
                if not row[0]:
                    return
            time.sleep(1)
        self.counts["patience was over"] += 1

    # -- processes

    def _choose(self) -> _Worker:
        return self.dice.choice(self.workers)

    def _clock(self, number: int) -> Path:
        return self.folder / f"clock-{number}"

    def _set_clock(self, worker: _Worker, seconds: int) -> None:
        with self._clock(worker.number).open("r+b") as file:
            file.write(struct.pack("q", seconds))

    def _environment(self, number: int) -> dict[str, str]:
        # On PostgreSQL workers are on different machines; on SQLite they share one home.
        home = self.disk / (f"home-{number}" if self.url else "home")
        environment = {**os.environ, "AGENTCLI_HOME": str(home)}
        if self.temporal is not None:
            environment["OPERABLE_QUEUE"] = self.temporal.queue
        if self.url is not None:
            environment["OPERABLE_DATABASE"] = f"{self.url}?application_name=w{number}"
        return environment

    def _start_worker(self) -> None:
        self.started += 1
        number = self.started
        environment = self._environment(number)
        self._clock(number).write_bytes(bytes(8))
        if self.options.jumps:
            environment |= {"LD_PRELOAD": str(self.library), "CHAOS_CLOCK": str(self._clock(number))}
        with (self.folder / "stderr").open("a") as errors:
            process = subprocess.Popen(
                [PROGRAM, "engine", "start", "--slots", "6", "--output", "jsonl"],
                env=environment,
                cwd=self.folder,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert process.stdout is not None
        for line in process.stdout:
            if "engine_worker_started" in line:
                self.workers.append(_Worker(number, process))
                return
        process.wait(30)
        self.counts["workers that could not start"] += 1
        time.sleep(1)
        self._start_worker()

    def _end_workers(self) -> None:
        for worker in self.workers:
            worker.process.send_signal(signal.SIGCONT)
            worker.process.terminate()
        for worker in self.workers:
            worker.process.wait(90)
            assert worker.process.stdout is not None
            worker.process.stdout.close()

    def _operable(self, *words: str) -> str:
        done = subprocess.run(
            [PROGRAM, *words, "--output", "jsonl"],
            env=self._environment(0),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        if done.returncode:
            sys.exit(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def _events(self, *words: str) -> Iterator[dict[str, Any]]:
        for line in self._operable(*words).splitlines():
            event = json.loads(line)
            if not event["type"].startswith("aoi:"):
                yield event


def _insist(step: Callable[[], _Result]) -> _Result:
    for _ in range(100):
        try:
            return step()
        except Fail:
            time.sleep(0.2)
    return step()


def _jobs(count: int) -> Iterator[tuple[str, JobTerms]]:
    """So many jobs, in turn of each kind; a child belongs to the parent of its number."""
    kinds = list(_KINDS)
    for index in range(count):
        kind, number = kinds[index % len(kinds)], index // len(kinds)
        terms = _KINDS[kind][0]
        if terms.parent is not None:
            terms = JobTerms(parent=f"{terms.parent}-{number}", on=terms.on)
        yield f"{kind}-{number}", terms


def _manifest(jobs: dict[str, JobTerms], folder: Path) -> dict[str, Any]:
    tasks = []
    for name, terms in jobs.items():
        environment = {"JOB": name, "PLACE": str(folder), "FAILS": "1" if terms.fails else "0"}
        task: dict[str, Any] = {
            "id": name,
            "name": name,
            "target": {"session_target": "shell"},
            "shell": {"program": "/bin/sh", "args": [str(folder / "task.sh")], "env": environment},
            "reliability": _KINDS[name.rpartition("-")[0]][1],
            "budgets": {"max_queued_dispatches": 100_000, "max_pending_approvals": 100_000},
        }
        if terms.parent is not None:
            task["trigger"] = {"parent": terms.parent, "on": terms.on}
        else:
            task["schedule"] = {"cron": "* * * * *" if terms.ticks else "0 0 1 1 *"}
        if terms.asks:
            task["approval"] = {"required": True}
        tasks.append(task)
    return {"version": "0.1", "workflows": [{"id": "chaos", "name": "Chaos", "tasks": tasks}]}


def _left(folder: Path) -> Iterator[str]:
    """Processes of this storm's tasks and workers that are still there."""
    mark = str(folder).encode()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            environment = (process / "environ").read_bytes()
            if mark in environment and int(process.name) != os.getpid():
                words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                yield f"{process.name} {words[:80]}"
