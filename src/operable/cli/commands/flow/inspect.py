"""`operable flow inspect`: what a backend contains, newest first, one `backend_item` event a record.

The database is opened read-only. `--where column=value` keeps records whose column has that value; it may be repeated.
"""

from __future__ import annotations

from operable.cli.flow.backend_events import BackendItem
from operable.tool import Page, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=20,
    cursor="number",
    columns=("number", "item"),
    examples=[
        "flow inspect jobs --fields name,enabled",
        "flow inspect runs --target openclaw-scheduler --db scheduler.db --where status=failed --output jsonl",
    ],
)
def inspect(
    entity: str = "jobs",
    *,
    target: Literal["operable", "openclaw-scheduler"] = "operable",
    db: str | None = None,
    home: str | None = None,
    fields: str | None = None,
    where: list[str] | None = None,
    sanitize: Literal["none", "basic"] = "none",
    page: Page,
) -> Iterator[BackendItem]:
    """Read what a backend contains.

    entity: jobs or applies; of openclaw-scheduler also runs, queue, approvals, evidence, artifacts, events and others
    target: the backend
    db: its database
    home: where the jobs of Operable's own engine are kept
    fields: only these fields, with commas between; a.b walks into objects
    where: only records whose column has this value, as column=value; may be repeated
    sanitize: basic removes terminal sequences and control characters
    """
    from operable.cli.flow.inspection import inspected

    return inspected(
        entity, target=target, db=db, home=home, fields=fields, where=where, sanitize=sanitize, page=page
    )


COMMAND = inspect
