"""A simulated year of mixed schedules in four time zones, through clock and store, run for run against croniter.

Two clocks run side by side, one of them is replaced by a new one now and then, as a worker that is restarted, and time goes
back by an hour sometimes. Every tick of the year is one run, and there are no others.
"""

import random
from datetime import UTC, datetime
from pathlib import Path

from operable.engine.schedule.clock import ScheduleClock, choose_ticks
from operable.engine.schedule.cron import CronSchedule
from operable.engine.store.database import open_database, prepare
from operable.engine.store.rows import Definition
from operable.engine.store.ticks import TickStore, read_ticks
from tests.engine.manifests import definitions, manifest, task, text
from tests.engine.schedule.test_cron import END, START, ZONES, expected

MIXED = ("30 2 * * *", "0 */12 * * *", "0 3 * * SUN", "30 1 1,15 * *", "45 1-2 * * SAT,SUN", "5 4 29 2 *")
_STEP = 3 * 86_400  # seconds between two looks at the clock


def set_clock(jobs: list[Definition], last: dict[str, int]) -> ScheduleClock:
    clock = ScheduleClock()
    for job in jobs:
        invocation = job.document["invocation"]
        schedule = CronSchedule(invocation["cron"], invocation["tz"])
        clock.set(job.job_id, schedule, last.get(job.job_id, int(START.timestamp())))
    return clock


def test_every_tick_of_a_year_is_one_run_whatever_happens_to_the_clocks(tmp_path: Path) -> None:
    dice, names = random.Random(14), [(cron, zone) for zone in ZONES for cron in MIXED]
    document = manifest(
        *(
            task(
                f"t{number}",
                schedule={"cron": cron, "tz": zone},
                reliability={"overlap_policy": "allow"},
                budgets={"max_queued_dispatches": 10_000},
            )
            for number, (cron, zone) in enumerate(names)
        )
    )
    jobs = definitions(document)
    by_id, manifests = {job.job_id: job for job in jobs}, {jobs[0].manifest_digest: text(document)}
    database = open_database(str(tmp_path / "engine.db"))
    prepare(database)
    now = START.timestamp()
    store = TickStore(database, lambda: int(now * 1000))
    clocks = [set_clock(jobs, {}), set_clock(jobs, {})]
    while now < END.timestamp():
        now = min(now + _STEP, END.timestamp())
        if dice.random() < 0.05:
            with database.snapshot() as connection:
                last = {job_id: ticks.last for job_id, ticks in read_ticks(connection).items()}
            clocks[dice.randrange(2)] = set_clock(jobs, last)
        for clock in clocks:
            look = now - 3600 if dice.random() < 0.05 else now
            due = [(by_id[each.job_id], choose_ticks(each.ticks, look, "all")) for each in clock.due(look)]
            store.fire(due, manifests)
    with database.snapshot() as connection:
        rows = connection.execute("SELECT job_id, due_at FROM runs ORDER BY due_at")
    database.close()
    for (cron, zone), job in zip(names, jobs, strict=True):
        fixed = not any(part.startswith("*") for part in cron.split()[:2])
        made = [datetime.fromtimestamp(due / 1000, UTC) for job_id, due in rows if job_id == job.job_id]
        assert made == expected(cron, zone, fixed=fixed), (cron, zone)
