"""The event of `operable sessions`."""

from __future__ import annotations

from operable.tool import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


class ListedSession(Event):
    """One session of any process: what it does, and whether it needs you."""

    id: str
    state: Literal["needs_you", "working", "idle", "ended", "failed"]
    status: Literal["starting", "running", "exited", "killed", "error"]
    agent: str
    label: str | None = None
    workspace: str  # the registered slug, or default
    folder: str
    last_line: str
    started_at: str
    ended_at: str | None = None
    last_output_at: str | None = None
    turns: int
    questions: int  # that wait for an answer
    queued: int  # prompts that wait
    tokens_in: int
    tokens_out: int
    cost_usd: float | None = None  # null: the agent does not report it
    sandbox: str | None = None
    pinned: bool
    parent: str | None = None  # the session that started it
    depth: int
    continues: str | None = None
    error: str | None = None
    last_id: int  # the cursor of its newest event
