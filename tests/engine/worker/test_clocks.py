"""Schedules and clocks, as an operator meets them: `flow apply`, `engine start`, and a wall clock that is set.

The workers are real processes whose time of day a preloaded library moves (`tools/chaos/clock.c`). Clocks that measure
durations go on, as they do when an operator sets the time.
"""

import json
import os
import struct
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import SURROUNDINGS, command_line
from tests.engine.manifests import manifest, task
from tests.engine.schedule.test_cron import ZONES, expected
from tests.engine.worker.engines import Engine, until
from tests.tool.drive import LIMIT, Outcome

HOUR, DAY = 3600, 86_400
QUARTER = timedelta(minutes=15)
# The nights on which clocks change in three of the zones: an hour before, in UTC.
CHANGES = [
    datetime.fromisoformat(f"2026-{night}:00+00:00")
    for night in ("03-08T06", "03-29T00", "04-04T14", "10-03T14", "10-25T00", "11-01T05")
]
NIGHT = 10  # quarters of an hour
SOURCE = Path(__file__).parents[3] / "tools" / "chaos" / "clock.c"
pytestmark = pytest.mark.needs("cc")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("clock") / "clock.so"
    words = ["cc", "-O1", "-shared", "-fPIC", "-o", str(made), str(SOURCE), "-ldl"]
    subprocess.run(words, check=True, timeout=120)
    return made


class WallClock:
    """The time of day of an engine's workers. It begins half an hour after a full hour, at noon in UTC."""

    def __init__(self, folder: Path, library: Path) -> None:
        self._file = folder / "clock"
        self.environment = {"LD_PRELOAD": str(library), "CHAOS_CLOCK": str(self._file)}
        now = int(time.time())
        self.noon = now - now % DAY + DAY // 2
        self._file.write_bytes(bytes(8))
        self.set(self.noon + HOUR // 2)

    def set(self, moment: float) -> None:
        with self._file.open("r+b") as file:
            file.write(struct.pack("=q", round(moment - time.time())))


@pytest.fixture
def clock(tmp_path: Path, library: Path) -> WallClock:
    return WallClock(tmp_path, library)


class ClockedEngine(Engine):
    """Every command of it is a process of its own: a fork would have the time of the tests."""

    def call(self, *words: str, verb: str = "engine") -> list[dict[str, Any]]:
        done = subprocess.run(
            command_line(verb, *words),
            env=os.environ | SURROUNDINGS | self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        outcome = Outcome(done.returncode, done.stdout, done.stderr)
        assert outcome.exit_code == 0, outcome
        return outcome.results


def engine_of(clock: WallClock, folder: Path, *tasks: dict[str, Any]) -> Engine:
    return ClockedEngine(folder, *tasks, environment=clock.environment)


def hourly(task_id: str = "a", cron: str = "0 * * * *", **blocks: Any) -> dict[str, Any]:
    anyway = {"overlap_policy": "allow"}
    return task(task_id, "true", schedule={"cron": cron}, **{"reliability": anyway, **blocks})


def apply_and_prune(engine: Engine, *tasks: dict[str, Any]) -> None:
    """What the manifest has, and nothing else."""
    (engine.folder / "flow.json").write_text(json.dumps(manifest(*tasks)))
    engine.call("apply", "flow.json", verb="flow")
    engine.call("prune", "flow.json", "--confirm", verb="flow")


def ticks(engine: Engine, clock: WallClock) -> list[float]:
    """The hours after noon whose ticks made runs that have succeeded."""
    runs = engine.runs(cause="tick", state="succeeded")
    return sorted((run.due_at / 1000 - clock.noon) / HOUR for run in runs)


def work(engine: Engine, *words: str) -> None:
    """A worker that does what is due, and ends."""
    engine.call("start", "--until-idle", *words)


def begin(engine: Engine) -> None:
    """Workers know the jobs from here on."""
    work(engine)
    assert engine.runs(cause="tick") == []


def test_the_ticks_of_an_absence_follow_the_policy_also_the_first_ones_of_a_job(
    tmp_path: Path, clock: WallClock
) -> None:
    """No worker runs for three hours, three times; the job had not been due before, and misses nothing of that time."""
    engine = engine_of(clock, tmp_path, hourly())
    clock.set(clock.noon + 0.5 * HOUR)
    work(engine, "--missed", "all")
    assert ticks(engine, clock) == []
    made: list[float] = []
    for hour, policy, more in ((3, "once", [3.0]), (6, "skip", []), (9, "all", [7.0, 8.0, 9.0])):
        clock.set(clock.noon + (hour + 0.5) * HOUR)
        work(engine, "--missed", policy)
        made += more
        assert ticks(engine, clock) == made
        (job,) = engine.call("jobs")
        assert job["missed_ticks"] == hour - len(made)
    work(engine, "--missed", "all")  # what was decided about stays decided
    assert ticks(engine, clock) == made


def test_a_clock_that_jumps_forward_under_a_worker_and_back_fires_no_tick_twice(
    tmp_path: Path, clock: WallClock
) -> None:
    engine = engine_of(clock, tmp_path, hourly())
    begin(engine)
    with engine.worker() as worker:
        clock.set(clock.noon + 3.5 * HOUR)
        until(lambda: ticks(engine, clock) == [3.0])  # missed: one run catches up
        clock.set(clock.noon + 0.5 * HOUR)
        (job,) = engine.call("jobs")
        assert job["next_tick"].startswith(_time(clock.noon + 4 * HOUR)), "what it says is what happens"
        clock.set(clock.noon + HOUR)  # this tick was decided about
        run = engine.trigger("a")  # and a run by hand shows that the worker has seen the new time
        engine.wait_for(run, "succeeded")
        clock.set(clock.noon + 4 * HOUR)
        until(lambda: ticks(engine, clock) == [3.0, 4.0])
        worker.terminate()
    clock.set(clock.noon + 2 * HOUR)
    work(engine, "--missed", "all")
    assert ticks(engine, clock) == [3.0, 4.0]


def test_a_job_that_was_disabled_paused_or_had_another_schedule_has_missed_nothing_meanwhile(
    tmp_path: Path, clock: WallClock
) -> None:
    before = (hourly("a"), hourly("b", enabled=False), hourly("c", cron="0 13 1 1 *"), hourly("d"))
    after = (hourly("a"), hourly("b"), hourly("c"), hourly("d"))
    engine = engine_of(clock, tmp_path, *before)
    engine.call("pause", "flow/a")
    begin(engine)
    clock.set(clock.noon + 5.5 * HOUR)
    # No worker runs while they are resumed, enabled and changed.
    engine.call("resume", "flow/a")
    engine.apply(*after)
    work(engine, "--missed", "all")
    assert {run["name"] for run in engine.call("runs")} == {"d"}
    assert len(engine.runs()) == 5
    clock.set(clock.noon + 6.5 * HOUR)
    work(engine)
    assert ticks(engine, clock)[-4:] == [6.0, 6.0, 6.0, 6.0]
    assert len(engine.runs()) == 9


def test_what_ended_and_came_back_while_no_worker_ran_has_missed_nothing_meanwhile(
    tmp_path: Path, clock: WallClock
) -> None:
    """No worker sees the state in between; the jobs look as if nothing had happened. One did go on, and missed hours."""
    names = ("disabled", "rescheduled", "removed", "rewritten")
    engine = engine_of(clock, tmp_path, *map(hourly, names))
    begin(engine)
    clock.set(clock.noon + 1.75 * HOUR)
    rewritten = hourly("rewritten", shell={"program": "true", "args": ["x"]})
    away = [hourly("disabled", enabled=False), hourly("rescheduled", "0 0 1 1 *"), rewritten]
    apply_and_prune(engine, *away)
    clock.set(clock.noon + 5.5 * HOUR)
    apply_and_prune(engine, *map(hourly, names))
    work(engine, "--missed", "all")
    assert {run["name"] for run in engine.call("runs")} == {"rewritten"}
    assert ticks(engine, clock) == [1.0, 2.0, 3.0, 4.0, 5.0]
    clock.set(clock.noon + 6.5 * HOUR)
    work(engine, "--missed", "all")
    assert ticks(engine, clock)[5:] == [6.0] * len(names)


def test_a_pause_that_no_worker_saw_ends_the_silence_as_well(tmp_path: Path, clock: WallClock) -> None:
    engine = engine_of(clock, tmp_path, hourly("a"), hourly("b"))
    begin(engine)
    with engine.worker() as worker:
        clock.set(clock.noon + 400 * DAY)
        until(lambda: len(engine.runs(cause="tick")) == 2)
        clock.set(clock.noon + 0.5 * HOUR)
        worker.stop()
        engine.call("pause", "flow/a")
        engine.call("resume", "flow/a")
        worker.go_on()
        engine.wait_for(engine.trigger("b"), "succeeded")
        clock.set(clock.noon + HOUR)
        until(lambda: len(engine.runs(cause="tick")) == 3)


def test_resuming_a_job_ends_the_silence_after_a_clock_that_was_far_ahead(
    tmp_path: Path, clock: WallClock
) -> None:
    engine = engine_of(clock, tmp_path, hourly())
    begin(engine)
    clock.set(clock.noon + 400 * DAY)
    work(engine)
    assert len(engine.runs(cause="tick")) == 1
    clock.set(clock.noon + 0.5 * HOUR)
    work(engine)
    (job,) = engine.call("jobs")
    assert job["next_tick"].startswith(_time(clock.noon + 400 * DAY + HOUR))
    engine.call("pause", "flow/a")
    engine.call("resume", "flow/a")
    (job,) = engine.call("jobs")
    assert job["next_tick"].startswith(_time(clock.noon + HOUR))
    clock.set(clock.noon + 1.5 * HOUR)
    work(engine)
    assert len(engine.runs(cause="tick")) == 2


def test_a_worker_that_lives_through_days_of_change_fires_what_croniter_and_the_rule_say(
    tmp_path: Path, clock: WallClock
) -> None:
    """Six nights, a quarter of an hour at a time. A job that is due each time shows that the worker has looked."""
    crons = {"fixed": "15,45 1-3 * * *", "starred": "*/15 1-3 * * *"}
    jobs = {
        f"{name}-{number}": (crons[name], zone) for name in crons for number, zone in enumerate(ZONES)
    } | {"each": ("*/15 * * * *", "UTC")}
    every_tick = {
        (name, tick)
        for name, (cron, zone) in jobs.items()
        for tick in expected(cron, zone, fixed=name.startswith("fixed"))
    }
    clock.set((CHANGES[0] - 2 * QUARTER).timestamp())
    schedules = [
        task(name, "true", schedule={"cron": cron, "tz": zone}, reliability={"overlap_policy": "allow"})
        for name, (cron, zone) in jobs.items()
    ]
    engine = engine_of(clock, tmp_path, *schedules)
    begin(engine)
    ids = {job["job_id"]: job["task_id"] for job in engine.call("jobs")}
    due: set[tuple[str, datetime]] = set()
    with engine.worker("--missed", "skip"):
        for night in CHANGES:
            for step in range(NIGHT):
                now = night + step * QUARTER
                clock.set(now.timestamp() + 1)
                due |= {each for each in every_tick if each[1] == now}
                until(lambda: ("each", now) in fired(engine, ids))  # noqa: B023 - called at once
                assert fired(engine, ids) == due


def fired(engine: Engine, ids: dict[str, str]) -> set[tuple[str, datetime]]:
    """The ticks that made runs: which job, and when it was due."""
    return {
        (ids[run.job_id], datetime.fromtimestamp(run.due_at / 1000, UTC)) for run in engine.runs(cause="tick")
    }


def _time(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M", time.gmtime(moment))
