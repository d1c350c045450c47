"""`operable flow inspect`: what a backend contains, newest first, one `backend_item` event a record.

The database is opened read-only. `--where column=value` keeps records whose column has that value; it may be repeated.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import BackendItem
from operable.tool import Page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "inspect",
    limit=20,
    cursor="number",
    columns=("number", "item"),
    examples=[
        "flow inspect jobs --fields name,enabled",
        "flow inspect runs --target openclaw-scheduler --db scheduler.db --where status=failed --output jsonl",
    ],
)
def inspect(call: FlowCall, page: Page) -> Iterator[BackendItem]:
    """Read what a backend contains."""
    from operable.cli.flow.backends import inspected

    return inspected(call, page)


COMMAND = inspect
