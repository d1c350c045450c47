"""Budgets of a session: turns, tokens, money, time. Counts what was used and says when a limit is reached.

A session over a limit is paused, and the user is asked (the session does both); an approval grants the same amount
again, a denial cancels the turn. Tokens and money are what the agent itself reports: an agent that reports nothing
spends nothing that could be counted. `unreported` says so, so that silence is not mistaken for a low cost.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from operable.wire.events import TurnEnd, UsageUpdate

TURNS, TOKENS, USD, SECONDS = "turns", "tokens", "usd", "seconds"
_UNITS = {TURNS: "turns", TOKENS: "tokens", USD: "US dollars", SECONDS: "seconds"}


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A limit that is reached."""

    what: str
    used: float
    limit: float

    @property
    def text(self) -> str:
        return f"the session has used {self.used:g} of {self.limit:g} {_UNITS[self.what]}"


class Budget:
    """What a session may use, and has used. Limits are absolute; `grant` raises one by its own size."""

    def __init__(self, limits: Mapping[str, float], clock: Callable[[], float]) -> None:
        self._sizes = dict(limits)
        self._limits = dict(limits)
        self._clock = clock
        self._started = clock()
        self._used: dict[str, float] = {TURNS: 0, TOKENS: 0, USD: 0.0}
        self._turn_tokens = 0.0
        self._session_cost = 0.0
        self.unreported = True

    @property
    def limited(self) -> bool:
        return bool(self._limits)

    def used(self, what: str) -> float:
        return self._clock() - self._started if what == SECONDS else self._used[what]

    def exceeded(self, *, next_turn: bool = False) -> Exceeded | None:
        """The first limit that is reached; a turn that is about to begin counts as one that must still fit."""
        for what, limit in self._limits.items():
            used = self.used(what)
            if (what == TURNS and next_turn and used >= limit) or (what != TURNS and used >= limit):
                return Exceeded(what, used, limit)
        return None

    def seconds_left(self) -> float | None:
        limit = self._limits.get(SECONDS)
        return None if limit is None else max(0.0, limit - self.used(SECONDS))

    def grant(self, what: str) -> None:
        """The same amount again, from the current state of the session."""
        self._limits[what] = max(self._limits[what], self.used(what)) + self._sizes[what]

    def turn_began(self) -> None:
        self._used[TURNS] += 1
        self._turn_tokens = 0.0

    def report(self, event: UsageUpdate) -> None:
        """What the agent says in the middle of a turn: totals of the turn for tokens, of the session for money."""
        self.unreported = False
        tokens = float(event.tokens_in + event.tokens_out)
        if tokens > self._turn_tokens:
            self._used[TOKENS] += tokens - self._turn_tokens
            self._turn_tokens = tokens
        if event.cost is not None and event.cost > self._session_cost:
            self._used[USD] += event.cost - self._session_cost
            self._session_cost = event.cost

    def turn_ended(self, event: TurnEnd) -> None:
        """The agent's account of the whole turn; what was reported before is part of it."""
        if event.usage is None:
            return
        self.unreported = False
        tokens = float(event.usage.input_tokens + event.usage.output_tokens)
        self._used[TOKENS] += max(0.0, tokens - self._turn_tokens)
        self._turn_tokens = 0.0
        if event.usage.cost_usd is not None and self._session_cost == 0.0:
            self._used[USD] += event.usage.cost_usd
