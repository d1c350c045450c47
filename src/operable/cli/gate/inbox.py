"""`operable inbox list`: what waits for a person, as events, and the answers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

from operable.cli.engine.people import duration
from operable.cli.gate.events import InboxAnswer, InboxItem
from operable.cli.short_ids import QUESTION, short_id
from operable.gate.approvals import Decision
from operable.gate.call import person
from operable.kernel.errors import Fail
from operable.serve.approvals import ApprovalInbox, ApprovalView
from operable.serve.session.registry import SessionRegistry
from operable.tool import Change

_POLL = 0.5  # seconds between two looks; a person does not notice it


def waiting(*, watch: bool, rows: bool = False) -> Iterator[InboxItem]:
    """The questions that wait; with `watch` also those that come, without an end. `rows`: as people see them."""
    shown: Any = _row if rows else _item
    seen: set[str] = set()
    inbox = _inbox()
    while True:
        found = inbox.waiting()
        yield from (shown(each) for each in found if each.id not in seen)
        seen = {each.id for each in found}
        if not watch:
            return
        time.sleep(_POLL)


def planned_answers(
    ids: Sequence[str], *, allowed: bool, reason: str | None, digest: str | None, option: str | None
) -> Iterator[Change]:
    """The answers as a plan, each bound to what is asked now."""
    if digest is not None and len(ids) > 1:
        raise Fail("usage", "INVALID_VALUE", "--digest is of one question", target="--digest")
    inbox = _inbox()
    for each in ids:
        question = _find(inbox, each)
        if digest is not None and digest != question.digest:
            raise Fail(
                "conflict",
                "ASK_CHANGED",
                "the answer is for something else than what is asked now",
                target=each,
                hint="look at the question again: operable inbox list",
            )
        yield Change(
            "allow" if allowed else "deny",
            question.id,
            tool=question.tool,
            asked=question.digest,
            command=question.command or None,
            reason=reason,
            option=option,
        )


def answered(change: Change) -> InboxAnswer:
    """Give the answer. Raises Fail if another answer was faster, or the question has changed."""
    decision = Decision(
        change.action == "allow",
        str(change.get("reason") or ""),
        person().name,
        change.get("option"),
        digest=change["asked"],
    )
    question = _inbox().answer(change.target, decision)
    return InboxAnswer(
        id=question.id,
        source=question.source,
        tool=question.tool,
        allowed=decision.allowed,
        digest=question.digest,
    )


def _inbox() -> ApprovalInbox:
    """The same list as the daemon's, read where the questions are: no daemon is needed."""
    return ApprovalInbox(SessionRegistry())


def _find(inbox: ApprovalInbox, question: str) -> ApprovalView:
    """By its id, or by the unique beginning of its id or of the id that its source gave it."""
    found = [view for view in inbox.waiting() if view.id.startswith(question) or view.ask_id == question]
    if len(found) != 1:
        what = "is the beginning of several questions" if found else "is not a question that waits"
        raise Fail(
            "not_found", "NO_SUCH_ASK", f"{question!r} {what}", target=question, hint="operable inbox list"
        )
    return found[0]


def _item(view: ApprovalView) -> InboxItem:
    return InboxItem(**{name: getattr(view, name) for name in InboxItem.__annotations__})


def _row(view: ApprovalView) -> dict[str, Any]:
    """As people see it: who asks, from where, since when and for what."""
    return {
        "type": "inbox_item",
        "id": short_id(view.id, QUESTION),
        "age": duration(time.time() - view.asked_at / 1000),
        "agent": view.agent,
        "folder": _short_folder(view.folder),
        "tool": view.tool,
        "text": view.text,
        "command": view.command,
    }


def _short_folder(folder: str) -> str:
    """As a shell takes it: `~` for the home."""
    home = os.path.expanduser("~")
    inside = folder == home or folder.startswith(home.rstrip(os.sep) + os.sep)
    return f"~{folder[len(home.rstrip(os.sep)) :]}" if inside else folder
