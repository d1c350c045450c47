"""The earlier sessions to go on with, as a list that shows how each began and what was said last; the person picks one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.tool.human.cells import cell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from operable.tool import Context

PICK = "pick"  # the value of --resume that asks
OFFERED = 20
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


@dataclass(frozen=True, slots=True)
class ResumeOffer:
    """One session. `used_at`: seconds since 1970."""

    id: str
    used_at: float
    turns: int
    first: str
    last: str


def pick(context: Context, offers: Sequence[ResumeOffer], say: Callable[[str, str], None]) -> str | None:
    """The session that the person picks; None: a new one. Fail authn/INTERACTIVE_REQUIRED without a person."""
    if not offers:
        raise Fail("not_found", "SESSION_NOT_FOUND", "There is no session of this folder to resume")
    if context.person:
        for number, offer in enumerate(offers, 1):
            count = f"{offer.turns} {'message' if offer.turns == 1 else 'messages'}"
            say(f"{number:3}  {_ago(offer.used_at)}, {count}: {cell(offer.first)[:60]}", "bold")
            if offer.last:
                say(f"     … {cell(offer.last)[-70:]}", "dim")
    while True:
        typed = context.ask("Go on with which one? [1, Enter for a new one]:", hint="--resume ID").strip()
        if not typed:
            return None
        if typed.isascii() and typed.isdigit() and 1 <= int(typed[:4]) <= len(offers):
            return offers[int(typed[:4]) - 1].id
        say("That is not one of the numbers.", "yellow")


def _ago(moment: float) -> str:
    seconds = max(0.0, time.time() - moment)
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds / size)} {unit} ago"
    return "just now"
