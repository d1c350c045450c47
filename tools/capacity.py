"""How far one database carries an engine: `python -m tools.capacity`, and the model of docs/explain/scale.md.

Every second of a simulated hour has its ticks, runs, answers and polls, and each costs processor time of the server and of
the workers (`Costs`, measured by `python -m bench._engine_costs`). What a second cannot do waits for the next one. The first
part that is asked for more than it has is the limit. It is a model: it knows nothing of disks, networks and locks.
"""

import sys
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Costs:
    """Milliseconds of processor time: of the server, and of the process that asks."""

    tick: tuple[float, float]
    other_tick: tuple[float, float]
    run: tuple[float, float]  # request or tick excluded: start, end, triggers, and its ticket
    answer: tuple[float, float]
    poll: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Fleet:
    """What is there. `minutely`, `hourly`: shares of the schedules; the others come once a day."""

    workers: int = 1
    slots: int = 8
    schedules: int = 100
    minutely: float = 0.0
    hourly: float = 0.1
    approvals: int = 0  # that wait; a tenth of them is answered in an hour
    task_s: float = 5.0
    server_cores: int = 8
    connections: int = 400  # that the server admits
    polls_s: float = 4.0


# Of one worker: its pools of the queue, of runs and of jobs, and its lock, which also listens.
CONNECTIONS = 6 + 4 + 1 + 1
_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Forecast:
    """Shares of what there is, 1.0 being all of it, and how late runs become within the hour."""

    runs_s: float
    server: float
    polls: float  # the part of `server` that is polls
    worker: float
    slots: float
    connections: float
    latest_s: float

    @property
    def limit(self) -> str:
        parts = {
            "processors of the database": self.server,
            "processor of a worker": self.worker,
            "slots": self.slots,
            "connections of the database": self.connections,
        }
        return max(parts, key=lambda name: parts[name])

    @property
    def fits(self) -> bool:
        return max(self.server, self.worker, self.slots, self.connections) <= 1.0


def forecast(fleet: Fleet, costs: Costs) -> Forecast:
    """One hour, second by second. Minutely jobs are due at second 0 of a minute, hourly ones are spread over minutes."""
    daily = 1 - fleet.minutely - fleet.hourly
    each_minute = fleet.schedules * (fleet.minutely + fleet.hourly / 60 + daily / 1440)
    answers = fleet.approvals / 10 / _HOUR
    polls = fleet.workers * fleet.polls_s
    poll_ms = polls * costs.poll[0]
    backlog, latest = 0.0, 0.0
    room = fleet.server_cores * 1000.0
    for second in range(_HOUR):
        due = each_minute if second % 60 == 0 else 0.0
        work = due * (costs.tick[0] + (fleet.workers - 1) * costs.other_tick[0] + costs.run[0])
        asked = backlog + poll_ms + work + answers * (costs.answer[0] + costs.run[0])
        backlog = max(0.0, asked - room)
        latest = max(latest, backlog / room)
    runs_s = each_minute / 60 + answers
    per_run = costs.tick[0] + (fleet.workers - 1) * costs.other_tick[0] + costs.run[0]
    demand = poll_ms + each_minute / 60 * per_run + answers * (costs.answer[0] + costs.run[0])
    share = runs_s / fleet.workers
    worker_ms = fleet.polls_s * costs.poll[1] + share * costs.run[1] + each_minute / 60 * costs.other_tick[1]
    return Forecast(
        runs_s=runs_s,
        server=demand / room,
        polls=poll_ms / room,
        worker=worker_ms / 1000,
        slots=runs_s * fleet.task_s / (fleet.workers * fleet.slots),
        connections=fleet.workers * CONNECTIONS / fleet.connections,
        latest_s=latest,
    )


def most_workers(fleet: Fleet, costs: Costs) -> int:
    """How many workers fit beside this load, by doubling and halving."""
    low, high = 0, 1
    while forecast(replace(fleet, workers=high, connections=10**9), costs).server <= 1.0 and high < 10**6:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        fits = forecast(replace(fleet, workers=middle, connections=10**9), costs).server <= 1.0
        low, high = (middle, high) if fits else (low, middle)
    return low


# Measured on 2026-11-18 with PostgreSQL 15 on loopback (docs/explain/scale.md). A run: start 1.0, end and triggers 1.0, and
# its ticket 0.9 ms of the server; 2.5 ms of the worker, and 12 ms for the ticket, which is what raw DBOS takes at its best.
# A poll is a quarter of what an idle worker takes in a second, the queue's own ten polls included.
MEASURED = Costs(
    tick=(0.6, 0.9), other_tick=(0.01, 0.01), run=(2.9, 14.5), answer=(0.6, 0.8), poll=(2.5, 10.4)
)
_CASES = {
    "one machine": Fleet(),
    "10 workers, 10,000 schedules": Fleet(10, schedules=10_000, approvals=100),
    "100 workers, 100,000 schedules": Fleet(100, schedules=100_000, approvals=1000, connections=1500),
    "1,000 workers, 1,000,000 schedules": Fleet(
        1000, schedules=1_000_000, approvals=10_000, server_cores=32, connections=5000
    ),
    "the same, 100 workers with 80 slots": Fleet(
        100, 80, schedules=1_000_000, approvals=10_000, server_cores=32, connections=1500
    ),
}


def main() -> int:
    width = max(map(len, _CASES))
    print(f"{'':{width}}  runs/s  database  polls  worker  slots  connections  late s  limit")
    for name, fleet in _CASES.items():
        found = forecast(fleet, MEASURED)
        print(
            f"{name:{width}}  {found.runs_s:6.1f}  {found.server:8.0%}  {found.polls:5.0%}  {found.worker:6.0%}"
            f"  {found.slots:5.0%}  {found.connections:11.0%}  {found.latest_s:6.1f}  {found.limit}"
        )
    most = most_workers(Fleet(schedules=1_000_000, server_cores=32), MEASURED)
    print(f"32 processors carry the polls and ticks of {most} workers.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
