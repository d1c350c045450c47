"""What is publicly known about OpenAI's models: windows, images, reasoning, and list prices (USD per million tokens).

Source: OpenAI's pages on models and pricing, as of November 2026; prices are those of short prompts. The longest name
that a model's identifier begins with decides. Whatever is served under another name elsewhere gets a cautious window,
no price, and no statement on whether it sees images.
"""

from functools import partial
from typing import Literal, NamedTuple

from operable.agent.provider.model import Model

Price = tuple[float, float, float, float]  # input, output, cache read, cache write


class _Facts(NamedTuple):
    window: int
    price: Price | None
    images: bool = True
    reasons: bool = True


_UNKNOWN_WINDOW = 128_000
_MILLION = 1_050_000
_FACTS = {
    "gpt-6.1-sol": _Facts(_MILLION, (2.0, 10.0, 0.1, 2.5)),
    "gpt-6-sol": _Facts(_MILLION, (2.0, 10.0, 0.2, 2.5)),
    "gpt-6": _Facts(_MILLION, None),
    "gpt-5.6-terra": _Facts(1_000_000, (2.5, 15.0, 0.25, 0.0)),
    "gpt-5.6": _Facts(1_000_000, None),
    "gpt-5.5-pro": _Facts(_MILLION, (30.0, 180.0, 3.0, 0.0)),
    "gpt-5.5": _Facts(1_000_000, (5.0, 30.0, 0.5, 0.0)),
    "gpt-5-chat": _Facts(128_000, (1.25, 10.0, 0.125, 0.0), reasons=False),
    "gpt-5-mini": _Facts(400_000, (0.25, 2.0, 0.025, 0.0)),
    "gpt-5-nano": _Facts(400_000, (0.05, 0.4, 0.005, 0.0)),
    "gpt-5-2025": _Facts(400_000, (1.25, 10.0, 0.125, 0.0)),
    "gpt-5": _Facts(400_000, None),
    "gpt-4.1-mini": _Facts(1_000_000, (0.4, 1.6, 0.1, 0.0), reasons=False),
    "gpt-4.1-nano": _Facts(1_000_000, (0.1, 0.4, 0.025, 0.0), reasons=False),
    "gpt-4.1": _Facts(1_000_000, (2.0, 8.0, 0.5, 0.0), reasons=False),
    "gpt-4o-mini": _Facts(128_000, (0.15, 0.6, 0.075, 0.0), reasons=False),
    "gpt-4o": _Facts(128_000, (2.5, 10.0, 1.25, 0.0), reasons=False),
    "o1": _Facts(200_000, None),
    "o3-mini": _Facts(200_000, (1.1, 4.4, 0.55, 0.0), images=False),
    "o3": _Facts(200_000, (2.0, 8.0, 0.5, 0.0)),
    "o4-mini": _Facts(200_000, (1.1, 4.4, 0.275, 0.0)),
}
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def context_window(model: str) -> int:
    facts = _facts(model)
    return facts.window if facts else _UNKNOWN_WINDOW


def images(model: str) -> Literal["supported", "unsupported", "unknown"]:
    facts = _facts(model)
    return "unknown" if facts is None else "supported" if facts.images else "unsupported"


def price(model: str) -> Price | None:
    facts = _facts(model)
    return facts.price if facts else None


# The descriptor of a provider that serves OpenAI's models.
openai_model = partial(
    Model,
    context_window=context_window,
    images=images,
    thinking=True,
    effort_levels=EFFORTS,
    price=price,
)


def reasons(model: str) -> bool:
    """Whether it is known to reason; the fields about reasoning are errors for a model that does not."""
    facts = _facts(model)
    return facts is not None and facts.reasons


def _facts(model: str) -> _Facts | None:
    name = max((name for name in _FACTS if model.startswith(name)), key=len, default=None)
    return _FACTS[name] if name else None
