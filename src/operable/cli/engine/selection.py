"""`--fields` of the lists of `operable engine …`: of each record, only what was asked for.

The id of a record is there always: a page goes on behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from operable.cli.engine.events import EngineJob, EngineJobFields, EngineRun, EngineRunFields
from operable.kernel.errors import Fail
from operable.tool import Event


def run_fields(runs: Iterable[EngineRun], fields: str, *, rows: bool) -> Iterator[EngineRunFields]:
    names = _chosen(fields, EngineRun)
    for run in runs:
        shown = EngineRunFields(run_id=run.run_id, fields={name: getattr(run, name) for name in names})
        yield _row(shown, "run_id", names) if rows else shown


def job_fields(jobs: Iterable[EngineJob], fields: str, *, rows: bool) -> Iterator[EngineJobFields]:
    names = _chosen(fields, EngineJob)
    for job in jobs:
        shown = EngineJobFields(job_id=job.job_id, fields={name: getattr(job, name) for name in names})
        yield _row(shown, "job_id", names) if rows else shown


def _chosen(fields: str, record: type[Event]) -> list[str]:
    """The names, in the order in which they were given. Raises Fail if a record has no such field."""
    names = list(dict.fromkeys(filter(None, (name.strip() for name in fields.split(",")))))
    known = list(record.__annotations__)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        message = f"there is no field {', '.join(unknown)}" if unknown else "--fields names no field"
        raise Fail("usage", "UNKNOWN_FIELD", message, target="--fields", hint=f"fields: {', '.join(known)}")
    return names


def _row(shown: Any, key: str, names: list[str]) -> Any:
    """For people: a column for each name, in the order of the names. Capitals are what a heading has anyway, and are none
    of the columns that the command shows without `--fields`.
    """
    values = {name.upper(): shown.fields[name] for name in names if name != key}
    return {"type": "fields", key: getattr(shown, key), **values}
