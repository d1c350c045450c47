"""`operable inbox answer`: answer questions of sessions, calls and runs, one or several at once.

Each answer is bound to what is asked when the plan is made: an answer to something else is refused. The first answer
counts; a later one gets `ALREADY_ANSWERED`, or `NO_SUCH_ASK` once the question is gone.
"""

from __future__ import annotations

from operable.cli.gate.events import InboxAnswer
from operable.tool import Change, Fail, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    examples=[
        "inbox answer call_0f2c --allow",
        "inbox answer call_0f2c ask_77aa --deny --reason 'not on a Friday' --output jsonl",
    ],
)
def answer(
    *ids: str,
    allow: bool = False,
    deny: bool = False,
    reason: str | None = None,
    option: str | None = None,
    digest: str | None = None,
) -> Iterator[Change]:
    """Answer questions that wait for a person.

    ids: the ids of the questions, or unique beginnings of them
    allow: yes
    deny: no
    reason WHY: passed to the caller with a denial
    option OPTION: which of the options that an agent offers
    digest DIGEST: what was looked at; refused when something else is asked
    """
    from operable.cli.gate.inbox import planned_answers

    if allow == deny:
        raise Fail("usage", "MISSING_DECISION", "say --allow or --deny", target="--allow")
    yield from planned_answers(ids, allowed=allow, reason=reason, digest=digest, option=option)


@answer.apply
def give(changes: list[Change]) -> Iterator[InboxAnswer]:
    from operable.cli.gate.inbox import answered

    yield from map(answered, changes)


COMMAND = answer
