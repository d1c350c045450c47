"""Old runs go by themselves: once a night, by one worker, as the policy says."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.lifecycle.states import AttemptState
from operable.engine.place import engine_place
from operable.engine.schedule.clock import Firing
from operable.engine.store.database import Database
from operable.engine.store.runs import AttemptEnd, RunStore, RunTriggers
from operable.engine.store.ticks import TickStore
from operable.engine.worker.retention import NightlyRemoval, RetentionPolicy
from tests.engine.manifests import definitions, manifest, task, text
from tests.engine.worker.engines import Engine, until

DAY = 86_400
LONG = "printf '%3000d' 0"


def age(engine: Engine, days: int, *runs: str) -> None:
    """Let these runs have ended so long ago, and the last night also."""
    moved = days * DAY * 1000
    with closing(engine.place.open_store()) as database, database.transaction() as connection:
        for run in runs:
            connection.execute("UPDATE runs SET ended_at = ended_at - ? WHERE run_id = ?", (moved, run))
        night = json.dumps({"night": int(time.time()) - days * DAY})
        connection.execute("UPDATE meta SET value = ? WHERE key = 'gc'", (night,))


def test_one_worker_of_a_store_removes_what_is_old_once_a_night(tmp_path: Path) -> None:
    anyway = {"overlap_policy": "allow"}
    engine = Engine(
        tmp_path,
        task("old", "sh", "-c", LONG, reliability=anyway),
        task("many", trigger={"parent": "old", "on": "success"}, reliability=anyway),
    )
    old = [engine.trigger("old", "--key", str(key)) for key in range(3)]
    engine.call("start", "--until-idle")
    outputs = tmp_path / "home" / "state" / "engine" / "output"
    assert len(list(outputs.iterdir())) == 3
    assert engine.call("status")[0]["last_gc"] is None
    # A night passes. The runs of the two oldest requests are emptied; of `many` two go, by number.
    age(engine, 2, *old[:2])
    far = (time.gmtime().tm_hour + 12) % 24  # the night does not come while the test runs
    words = ("--until-idle", "--keep", "1d", "--keep-at-most", "1", "--gc-cron", f"0 {far} * * *")
    engine.call("start", *words)
    assert engine.call("status")[0]["last_gc_runs"] == 4
    assert [engine.outputs(run) == [] for run in old] == [True, True, False]
    assert len(list(outputs.iterdir())) == 1
    assert len(engine.runs(cause="trigger")) == 1
    # Not twice in a night.
    age(engine, 0, old[2])
    engine.trigger("old", "--key", "new")
    engine.call("start", *words)
    assert len(engine.runs(cause="trigger")) == 2


def test_forever_removes_nothing_and_bad_words_are_refused_before_a_worker_starts(tmp_path: Path) -> None:
    engine = Engine(tmp_path, task("a"), task("b", trigger={"parent": "a", "on": "success"}))
    first, second = engine.trigger("a", "--key", "1"), engine.trigger("a", "--key", "2")
    engine.call("start", "--until-idle")
    age(engine, 100, first, second)
    engine.call("start", "--until-idle", "--keep", "forever")
    assert engine.call("status")[0]["last_gc"] is None
    assert engine.refused("start", "--keep", "soon")["code"] == "AGE_INVALID"
    for words in (("--keep-at-most", "0"), ("--gc-cron", "99 * * * *"), ("--gc-cron", "0 0 31 2 *")):
        assert engine.refused("start", *words)["code"] == "INVALID_VALUE"


class Night:
    """A removal in this process, with a clock that the test moves."""

    def __init__(self, database: Database, folder: Path) -> None:
        place = engine_place({"AGENTCLI_HOME": str(folder)}, cwd=str(folder))
        os.makedirs(place.output, exist_ok=True)
        self.output = Path(place.output)
        self.forgotten: list[str] = []
        self.database = database
        self.removal = NightlyRemoval(place, database, RetentionPolicy(), self.forgotten.extend)

    def look(self, now: float) -> bool:
        """Whether it began; it has ended then."""
        before = self.noted()
        self.removal.look(now)
        until(lambda: not self.removal.is_busy)
        return self.noted() != before

    def noted(self) -> str | None:
        with self.database.snapshot() as connection:
            rows = connection.execute("SELECT value FROM meta WHERE key = 'gc'")
        return rows[0][0] if rows else None


@pytest.fixture
def nights(tmp_path: Path) -> Iterator[tuple[Night, Night]]:
    from operable.engine.store.database import open_database, prepare

    database = open_database(str(tmp_path / "engine.db"))
    prepare(database)
    yield Night(database, tmp_path), Night(database, tmp_path)
    database.close()


def test_workers_share_a_night_a_new_store_waits_for_the_next_and_a_clock_that_jumped_removes_nothing(
    nights: tuple[Night, Night], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = nights
    now = 1_763_000_000.0
    assert first.look(now)  # notes when the store began, and removes nothing
    assert not second.look(now)
    assert not first.look(now + 60)
    assert [night.look(now + DAY) for night in nights] == [True, False]
    assert [night.look(now + 2 * DAY) for night in nights] == [True, False]
    assert not first.look(now)  # a clock that goes back
    jumped = time.time() + 400 * DAY
    monkeypatch.setattr(time, "time", lambda: jumped)
    assert [night.look(now + 400 * DAY) for night in nights] == [False, False]


def test_without_options_runs_that_ended_thirty_days_ago_go_and_younger_ones_stay(
    nights: tuple[Night, Night],
) -> None:
    night, _ = nights
    document = manifest(task("a", reliability={"overlap_policy": "allow"}))
    (job,) = definitions(document)
    began = 1_763_000_000
    night.look(began)
    now = began + DAY
    for days in (31, 29, 1):
        ended = (now - days * DAY) * 1000
        clock = partial(int, ended)
        store, ticks = RunStore(night.database, clock), TickStore(night.database, clock)
        firing = Firing((ended // 1000,), 0, ended // 1000)
        (run,) = ticks.fire([(job, firing)], {job.manifest_digest: text(document)})
        assert store.start_attempt(run.run_id, run.wake, "w") is not None
        store.end_attempt(
            run.run_id, 1, "w", AttemptEnd(AttemptState.SUCCEEDED), triggers=RunTriggers((), {})
        )
    assert night.look(now)
    with night.database.snapshot() as connection:
        rows = connection.execute("SELECT ended_at FROM runs ORDER BY ended_at")
    assert [(now - ended // 1000) // DAY for (ended,) in rows] == [29, 1]
    assert len(night.forgotten) == 1


def test_outputs_without_a_run_go_and_a_pass_that_is_stopped_gives_its_night_back(
    nights: tuple[Night, Night],
) -> None:
    night, _ = nights
    document = manifest(task("a"))
    (job,) = definitions(document)
    run = RunStore(night.database, lambda: 1_763_000_000_000).request(
        job, RunCause.MANUAL, "k", text(document)
    )
    assert RunStore(night.database, lambda: 1).start_attempt(run.run_id, run.wake, "w") is not None
    with night.database.transaction() as connection:
        connection.execute("UPDATE attempts SET output_path = ?", (f"{run.run_id}-1.out",))
    long_ago = time.time() - 2 * DAY
    for name in (f"{run.run_id}-1.out", "run_gone-1.out", "fresh-1.out"):
        (night.output / name).write_text("x")
        if name != "fresh-1.out":
            os.utime(night.output / name, (long_ago, long_ago))
    night.look(1_763_000_000.0)
    night.look(1_763_000_000.0 + DAY)
    assert sorted(os.listdir(night.output)) == sorted(["fresh-1.out", f"{run.run_id}-1.out"])
    before = json.loads(str(night.noted()))["night"]
    night.removal.close(0)
    night.look(1_763_000_000.0 + 2 * DAY)
    assert json.loads(str(night.noted()))["night"] == before
