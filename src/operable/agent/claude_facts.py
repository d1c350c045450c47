"""What is publicly known about Claude models: windows and list prices (USD per million tokens), as of November 2025."""

_WINDOW = 200_000
# family -> input, output, cache read, cache write
_PRICES = {
    "opus": (15.0, 75.0, 1.5, 18.75),
    "sonnet": (3.0, 15.0, 0.3, 3.75),
    "haiku": (1.0, 5.0, 0.1, 1.25),
}


def context_window(_model: str) -> int:
    return _WINDOW


def price(model: str) -> tuple[float, float, float, float] | None:
    """By family; None for a name that says none."""
    return next((price for family, price in _PRICES.items() if family in model), None)
