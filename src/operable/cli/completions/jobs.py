"""Applied jobs of the engine, as WORKFLOW/TASK."""

from __future__ import annotations

from operable.cli.completions._engine import query
from operable.tool.discovery.candidates import Candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def jobs(_words: list[str]) -> Iterator[tuple[str, str]]:
    yield from query("jobs.db", "SELECT workflow_id || '/' || task_id, name FROM jobs ORDER BY 1 LIMIT 2000")


CANDIDATES = Candidates("engine *:job", find=jobs)
