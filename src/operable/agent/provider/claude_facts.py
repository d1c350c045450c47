"""What is publicly known about Claude models: windows, list prices, and which form of thinking they take.

Source: Anthropic's pages on models, pricing and adaptive thinking, as of November 2026; prices in USD per million tokens
(five-minute cache). Identifiers differ between providers (`claude-opus-4-6`, `us.anthropic.claude-opus-4-6-v1`,
`claude-sonnet-4-5@20250929`), so family and version are read out of them. An unknown model gets the smallest window
and no price.
"""

import re
from functools import partial

from operable.agent.provider.model import Model

_NAME = re.compile(
    r"claude-(?:(?P<early>\d(?:-\d)?)-)?(?P<family>[a-z]+)(?:-(?P<version>\d(?:-\d{1,2})?)(?!\d))?"
)
_SMALL, _LARGE = 200_000, 1_000_000
_ADAPTIVE_SINCE = (4, 6)
_LARGE_SINCE = (5, 0)
# (family, since version): input, output, cache read, cache write; the newest version that is not newer than the model
_PRICES = {
    ("fable", (5, 1)): (10.0, 50.0, 0.25, 12.5),
    ("fable", (5, 0)): (10.0, 50.0, 1.0, 12.5),
    ("mythos", (5, 1)): (10.0, 50.0, 0.25, 12.5),
    ("mythos", (5, 0)): (10.0, 50.0, 1.0, 12.5),
    ("opus", (5, 5)): (4.0, 20.0, 0.2, 5.0),
    ("opus", (4, 5)): (5.0, 25.0, 0.5, 6.25),
    ("opus", (3, 0)): (15.0, 75.0, 1.5, 18.75),
    ("sonnet", (5, 5)): (2.0, 10.0, 0.1, 2.5),
    ("sonnet", (5, 0)): (2.0, 10.0, 0.2, 2.5),
    ("sonnet", (3, 0)): (3.0, 15.0, 0.3, 3.75),
    ("haiku", (4, 5)): (1.0, 5.0, 0.1, 1.25),
    ("haiku", (3, 5)): (0.8, 4.0, 0.08, 1.0),
}
EFFORTS = ("low", "medium", "high", "xhigh", "max")


def context_window(model: str) -> int:
    known = _identity(model)
    return _LARGE if known is not None and known[1] >= _LARGE_SINCE else _SMALL


def price(model: str) -> tuple[float, float, float, float] | None:
    """None for a model that is not in the table, and for Haiku 5.5, whose price depends on the length of each prompt."""
    known = _identity(model)
    if known is None or known == ("haiku", (5, 5)):
        return None
    family, version = known
    return next(
        (value for (name, since), value in _PRICES.items() if name == family and version >= since), None
    )


# The descriptor of a provider that serves Claude: what is known of the models is the same everywhere.
claude_model = partial(
    Model,
    context_window=context_window,
    images=lambda _model: "supported",
    thinking=True,
    effort_levels=EFFORTS,
    price=price,
)


def thinks_adaptively(model: str) -> bool:
    """Since 4.6 the model decides how much to think, and newer ones refuse a budget; before, a budget is needed."""
    known = _identity(model)
    return known is not None and known[1] >= _ADAPTIVE_SINCE


def _identity(model: str) -> tuple[str, tuple[int, int]] | None:
    found = _NAME.search(model)
    if found is None or not (digits := found["early"] or found["version"]):
        return None
    major, _, minor = digits.partition("-")
    return found["family"], (int(major), int(minor or 0))
