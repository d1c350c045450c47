"""`operable agent answer`: answer a question of a running agent, from any terminal or program.

The answer is bound to what is being asked: the plan contains the digest of the call, and an answer to something else is
refused. The first answer counts; a later answer gets `ALREADY_ANSWERED`. A denial reaches the agent with its reason.
"""

from __future__ import annotations

from operable.cli.agent.events import AgentAnswer
from operable.tool import Change, Fail, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    examples=[
        "agent answer ses_0f2c q1 --allow",
        "agent answer ses_0f2c q2 --deny --reason 'not on a Friday' --output jsonl",
    ],
)
def answer(
    session: str,
    question: str,
    *,
    allow: bool = False,
    deny: bool = False,
    reason: str | None = None,
    option: str | None = None,
    content: str | None = None,
    remember: str | None = None,
    digest: str | None = None,
) -> Iterator[Change]:
    """Answer a question of a running agent.

    session: the id of the session, or the unique beginning of one
    question: the id of the question in that session
    allow: yes
    deny: no
    reason WHY: passed to the agent with a denial
    option OPTION: which of the options that the agent offers
    content: a JSON file with the answer to a question for input; - is standard input
    remember SCOPE: call for the same call again in this session, or a pattern for a rule of this session
    digest DIGEST: what was looked at; refused when something else is asked
    """
    from operable.cli.agent.approvals import planned_answer

    if allow == deny:
        raise Fail("usage", "MISSING_DECISION", "say --allow or --deny", target="--allow")
    yield planned_answer(
        session,
        question,
        allowed=allow,
        digest=digest,
        reason=reason,
        option=option,
        content_file=content,
        remember=remember,
    )


@answer.apply
def give(changes: list[Change]) -> Iterator[AgentAnswer]:
    from operable.cli.agent.approvals import answered

    yield from map(answered, changes)


COMMAND = answer
