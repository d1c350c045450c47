"""Durable execution of applied workflow jobs: `docs/explain/engine.md` is the design.

    schedule/    when a job is due, without I/O
    lifecycle/   what becomes of a run, without I/O: one table of states, and the decisions that choose among its events
    store/       the runs on disk: SQLite or PostgreSQL
    backend.py   the port to the engine that queues, delays and redelivers; backends/ has one entry per engine
    worker/      the process that fires ticks, executes attempts, and takes over from workers that died

Nothing here is imported by other packages when they start: `dbos` alone costs a second.
"""
