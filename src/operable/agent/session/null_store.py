"""The store of a conversation that is not kept."""

from collections.abc import Sequence

from operable.agent.session.history import Tokens, Turn


class Nowhere:
    """Forgets everything."""

    def append(self, turn: Turn) -> None: ...
    def replace(self, turns: Sequence[Turn]) -> None: ...

    def save(self, tokens: Tokens, cost_usd: float | None, model: str) -> None: ...
