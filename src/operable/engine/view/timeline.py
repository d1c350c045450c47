"""A run as a drawing: one bar per state that it was in, from its timeline; as text, or as SVG.

A bar ends where the next state begins; the bar of a run that has not ended goes on until now. Short bars get the smallest
width that can be seen, so widths are proportional only beyond that, and each bar has its length in words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from operable.engine.lifecycle.states import ACTIVE, OUTCOMES
from operable.engine.store.rows import RunAttempt, TimelineEntry
from operable.flow.graph.svg import xml_text

_TEXT_WIDTH = 24  # characters of the bars
_ROW, _LEFT, _BARS, _RIGHT = 26, 200, 460, 260  # pixels of the drawing
_COLOURS = {
    "running": "#2f6fde",
    "cancelling": "#b98900",
    "asking": "#c2410c",
    "ready": "#94a3b8",
    "blocked": "#cbd5e1",
    "success": "#15803d",
    "failure": "#b91c1c",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """A state, from and to in milliseconds, and what is known about it."""

    state: str
    begin: int
    end: int
    detail: str = ""

    @property
    def seconds(self) -> float:
        return max(0, self.end - self.begin) / 1000


def bars_of(timeline: Sequence[TimelineEntry], attempts: Sequence[RunAttempt], now: int) -> list[Bar]:
    """The states of a run in order; the last one is its end, or goes on."""
    changes: list[TimelineEntry] = []
    for entry in timeline:
        if not changes or entry.state != changes[-1].state:
            changes.append(entry)
    bars, started = [], iter(sorted(attempts, key=lambda each: each.number))
    for entry, following in zip(changes, [*changes[1:], None], strict=True):
        detail = entry.detail or ""
        if entry.state == "running" and (attempt := next(started, None)) is not None:
            detail = f"attempt {attempt.number}" + (f": {attempt.reason}" if attempt.reason else "")
        over = entry.at if entry.state not in ACTIVE else now
        bars.append(Bar(entry.state, entry.at, over if following is None else following.at, detail))
    return bars


def draw_text(title: str, bars: Sequence[Bar], width: int = _TEXT_WIDTH) -> str:
    """One line per bar: when it began, its state, how long it lasted, the bar, and the detail."""
    begin, whole = bars[0].begin, max(1, bars[-1].end - bars[0].begin)
    lines = [title]
    for bar in bars:
        left = round((bar.begin - begin) / whole * (width - 1))
        size = max(1, round((bar.end - bar.begin) / whole * width))
        drawn = "|" if bar.state not in ACTIVE else "█" * min(size, width - left)
        lasted = "" if bar.state not in ACTIVE else _length(bar.seconds)
        began = _length((bar.begin - begin) / 1000)
        row = f"{began:>11}  {bar.state:<10} {lasted:>11}  {' ' * left + drawn:<{width}} {bar.detail}"
        lines.append(row.rstrip())
    return "\n".join(lines) + "\n"


def draw_svg(title: str, bars: Sequence[Bar]) -> str:
    """A drawing that needs no script and no font of its own."""
    begin, whole = bars[0].begin, max(1, bars[-1].end - bars[0].begin)
    height = _ROW * (len(bars) + 1) + 14
    size = f'width="{_LEFT + _BARS + _RIGHT}" height="{height}"'
    rows = [_svg_row(number, bar, begin, whole) for number, bar in enumerate(bars, 1)]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">',
            f'<title>{xml_text(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text x="8" y="20" font-weight="bold">{xml_text(title)}</text>',
            *rows,
            "</svg>\n",
        )
    )


def _svg_row(number: int, bar: Bar, begin: int, whole: int) -> str:
    y = _ROW * number + 8
    left = _LEFT + (bar.begin - begin) / whole * _BARS
    size = max(2.0, (bar.end - bar.begin) / whole * _BARS)
    lasted = f" {_length(bar.seconds)}" if bar.state in ACTIVE else ""
    label = f"{_length((bar.begin - begin) / 1000)}  {bar.state}{lasted}"
    return (
        f'<text x="8" y="{y + 16}">{xml_text(label)}</text>'
        f'<rect x="{left:.1f}" y="{y + 4}" width="{size:.1f}" height="{_ROW - 10}" rx="2" fill="{_colour(bar.state)}"/>'
        f'<text x="{_LEFT + _BARS + 10}" y="{y + 16}">{xml_text(bar.detail[:200])}</text>'
    )


def _colour(state: str) -> str:
    return _COLOURS.get(state) or _COLOURS.get(OUTCOMES.get(state, ""), "#64748b")  # type: ignore[call-overload]  # a StrEnum


def _length(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
