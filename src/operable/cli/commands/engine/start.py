"""`operable engine start`: a worker that runs the applied jobs, until it is stopped.

It fires schedules, executes tasks, answers questions whose time is over, and takes over from workers that died. Any number
of workers may run for one home on one machine, and on several machines with `--database`. Once a night one of them removes
runs that ended longer ago than `--keep`. SIGTERM and Ctrl-C let running
tasks finish for `--drain-s` seconds; a second signal ends them.
"""

from __future__ import annotations

from operable.cli.engine.events import EngineWorkerStarted
from operable.cli.engine.options import EngineOptions
from operable.kernel.errors import Fail
from operable.tool import Context, Warn, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    runs_tools=True,
    limit=None,
    timeout=None,
    examples=[
        "engine start",
        "engine start --detach",
        "engine start --slots 20 --missed skip",
        "engine start --keep 7d --keep-at-most 1000",
        "engine start --until-idle --output jsonl",
        "engine start --database postgresql://ops@db/flows",
        "engine start --queue temporal://localhost:7233/default",
    ],
)
def start(
    *,
    slots: int = 8,
    missed: Literal["skip", "once", "all"] = "once",
    drain_s: int = 30,
    until_idle: bool = False,
    detach: bool = False,
    queue: str | None = None,
    move_queue: bool = False,
    policy: str | None = None,
    keep: str = "30d",
    keep_at_most: int | None = None,
    gc_cron: str = "17 3 * * *",
    engine: EngineOptions,
    context: Context,
) -> Iterator[EngineWorkerStarted | Warn]:
    """Run the applied jobs.

    slots: how many tasks may run at the same time
    missed: what becomes of schedules that came while no worker ran
    drain_s: seconds that running tasks have to finish when the worker is stopped
    until_idle: end when no run can go on without a person or a later time
    detach: start it in the background, wait until it is seen, and say its process id and log
    queue URL: temporal://HOST:PORT/NAMESPACE for tickets in Temporal; else OPERABLE_QUEUE, or the database of the store
    move_queue: take the runs of another queue to this one; refused while a worker runs
    policy FILE: a policy file for the agents of prompts; without it, what they ask for is a question for you
    keep AGE: how long ended runs are kept: 12h, 30d, or forever
    keep_at_most: also remove ended runs of a job beyond the newest so many
    gc_cron: when old runs are removed, in UTC; the workers of a store do it once
    """
    from operable.cli.engine.service import retention_policy, serve, serve_detached, worker_options

    retention = retention_policy(keep, keep_at_most, gc_cron)

    if detach:
        if until_idle or move_queue:
            raise Fail("usage", "OPTIONS_CONFLICT", "--detach is for a worker that stays", target="--detach")
        words = ["--slots", str(slots), "--missed", missed, "--drain-s", str(drain_s)]
        words += [*(["--queue", queue] if queue else []), *(["--policy", policy] if policy else [])]
        words += ["--keep", keep, "--gc-cron", gc_cron]
        words += ["--keep-at-most", str(keep_at_most)] if keep_at_most else []
        return serve_detached(engine, words, context)
    options = worker_options(
        slots=slots,
        missed=missed,
        drain=drain_s,
        until_idle=until_idle,
        queue=queue,
        move_queue=move_queue,
        policy=policy,
        retention=retention,
    )
    return serve(engine, options, context)


COMMAND = start
