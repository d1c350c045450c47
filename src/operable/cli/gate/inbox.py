"""`operable inbox list`: what waits for a person, as events, and the answers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from operable.cli.gate.events import InboxAnswer, InboxItem
from operable.gate.approvals import Decision
from operable.gate.call import person
from operable.kernel.errors import Fail
from operable.serve.attention import ApprovalInbox, ApprovalView
from operable.serve.session.registry import SessionRegistry
from operable.tool import Change

_POLL = 0.5  # seconds between two looks; a person does not notice it


def waiting(*, watch: bool) -> Iterator[InboxItem]:
    """The questions that wait; with `watch` also those that come, without an end."""
    seen: set[str] = set()
    inbox = _inbox()
    while True:
        found = inbox.waiting()
        yield from (_item(each) for each in found if each.id not in seen)
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
