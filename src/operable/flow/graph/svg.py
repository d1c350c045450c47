"""A workflow graph as one SVG image: no script, no style sheet, nothing loaded from elsewhere.

Each task has one parent, so a workflow is a forest: columns by distance from the schedule, rows by leaves, parents in
the middle of their children. Tasks that wait for each other in a circle have no schedule; one of them is drawn first.
Texts are escaped, cut to the width of their box (the whole text is in the box's title), and characters that XML forbids
or that turn the direction of text are shown as U+FFFD.
"""

import unicodedata
from collections.abc import Sequence
from xml.sax.saxutils import escape

from operable.flow.graph.model import TURNING, Task, Workflow

_WIDTH, _GAP_X, _GAP_Y, _MARGIN = 280, 150, 26, 24
_LINE, _PAD, _HEAD = 18, 12, 26
_MIDDLE = 19  # of the name, from the top of a box: where lines arrive
_COLUMNS = 38  # characters that fit in a box at 12 px
_EDGE_COLUMNS = 20
_INK, _MUTED, _PAPER = "#1f2933", "#52606d", "#ffffff"
_KINDS = {"shell": "#2563eb", "main": "#7c3aed", "isolated": "#7c3aed"}
_EDGES = {"success": "#15803d", "failure": "#b91c1c", "complete": "#52606d"}


def svg(workflows: Sequence[Workflow]) -> str:
    """The image, as text that is well-formed XML."""
    body: list[str] = []
    top, width = _MARGIN, 0
    for workflow in workflows:
        drawn = _Drawing(workflow, top + _HEAD)
        body.append(_label(_MARGIN, top + 14, workflow.name, size=16, weight=600, columns=90))
        body += drawn.edges() + drawn.boxes()
        top = drawn.bottom + _MARGIN + _GAP_Y // 2
        width = max(width, drawn.right)
    width, height = max(width + _MARGIN, 2 * _MARGIN + _WIDTH), top
    names = ", ".join(workflow.name for workflow in workflows)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="system-ui, DejaVu Sans, sans-serif" font-size="12">'
    )
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            head,
            f"<title>{xml_text(names)}</title>",
            _markers(),
            f'<rect width="{width}" height="{height}" fill="{_PAPER}"/>',
            *body,
            "</svg>\n",
        ]
    )


class _Drawing:
    """Where the boxes of one workflow are."""

    def __init__(self, workflow: Workflow, top: int) -> None:
        self._by_id = {task.id: task for task in workflow.tasks}
        self._children: dict[str, list[Task]] = {}
        for task in workflow.tasks:
            if task.parent is not None:
                self._children.setdefault(task.parent, []).append(task)
        self._at: dict[str, tuple[int, int]] = {}
        self._next_row = top
        for task in [*(one for one in workflow.tasks if one.parent is None), *workflow.tasks]:
            if task.id not in self._at:  # the second time: what a circle keeps from any schedule
                self._place(task)
        self.bottom = max(y + _height(self._by_id[name]) for name, (_, y) in self._at.items())
        self.right = max(x + _WIDTH for x, _ in self._at.values())

    def _place(self, root: Task) -> None:
        """Children before their parent, without recursion: a chain may be thousands of tasks long."""
        own: dict[str, list[Task]] = {root.id: []}
        pending = [(root, 0, False)]
        while pending:
            task, depth, children_placed = pending.pop()
            if children_placed:
                self._settle(task, depth, [self._at[child.id][1] for child in own[task.id]])
                continue
            own[task.id] = [
                child
                for child in self._children.get(task.id, [])
                if child.id not in own and child.id not in self._at
            ]
            own |= {child.id: [] for child in own[task.id]}
            pending.append((task, depth, True))
            pending += [(child, depth + 1, False) for child in reversed(own[task.id])]

    def _settle(self, task: Task, depth: int, rows: list[int]) -> None:
        """Everything above `_next_row` is taken; a tall parent pushes what follows it down."""
        y = (rows[0] + rows[-1]) // 2 if rows else self._next_row
        self._at[task.id] = (_MARGIN + depth * (_WIDTH + _GAP_X), y)
        self._next_row = max(self._next_row, y + _height(task) + _GAP_Y)

    def boxes(self) -> list[str]:
        return [_box(self._by_id[name], x, y) for name, (x, y) in self._at.items()]

    def edges(self) -> list[str]:
        """The lines first, so that none crosses out a word."""
        ends = [
            (task, self._at[task.parent], self._at[task.id])
            for task in self._by_id.values()
            if task.parent in self._at
        ]
        return [self._line(task, *place) for task, *place in ends] + [
            _word(task, x, y + _MIDDLE) for task, (from_x, _), (x, y) in ends if from_x < x
        ]

    def _line(self, task: Task, start: tuple[int, int], end: tuple[int, int]) -> str:
        (x1, y1), (x2, y2) = start, end
        if x1 < x2:
            half = (x2 - x1 - _WIDTH) // 2
            x1, y1, y2 = x1 + _WIDTH, y1 + _MIDDLE, y2 + _MIDDLE
            way = f"M{x1} {y1} C{x1 + half} {y1} {x2 - half} {y2} {x2 - 2} {y2}"
        else:  # back, in a circle: below the boxes
            y1, y2 = y1 + _height(self._by_id[task.parent or ""]), y2 + _height(task)
            low, x1, x2 = max(y1, y2) + _GAP_Y - 4, x1 + _WIDTH // 2, x2 + _WIDTH // 2 - 8
            way = f"M{x1} {y1} C{x1} {low} {x2} {low} {x2} {y2 + 2}"
        dashes = ' stroke-dasharray="6 4"' if task.on == "failure" else ""
        return (
            f'<path d="{way}" fill="none" stroke="{_EDGES[task.on or "complete"]}" stroke-width="1.5"{dashes} '
            f'marker-end="url(#{task.on})"/>'
        )


def _rows(task: Task) -> list[tuple[str, str]]:
    """(text, colour) below the name."""
    rows = [(f"{task.kind}: {task.action}", _MUTED)]
    if task.schedule is not None:
        rows.append((task.schedule, _INK))
    rows += [(f"next {moment}", _MUTED) for moment in task.next_runs]
    if task.identity is not None:
        rows.append((f"as {task.identity}", "#0f766e"))
    rows += [(gate, "#b45309") for gate in task.gates]
    if not task.enabled:
        rows.append(("disabled", "#b91c1c"))
    return rows


def _height(task: Task) -> int:
    return _HEAD + _LINE * len(_rows(task)) + _PAD


def _box(task: Task, x: int, y: int) -> str:
    rows = _rows(task)
    whole = "\n".join([f"{task.name} [{task.id}]", *(text for text, _ in rows)])
    dashes = "" if task.enabled else ' stroke-dasharray="5 4"'
    radius = 3 if task.kind == "shell" else 14
    parts = [
        f"<g><title>{xml_text(whole)}</title>",
        (
            f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_height(task)}" rx="{radius}" fill="#f8fafc" '
            f'stroke="{_KINDS[task.kind]}" stroke-width="1.5"{dashes}/>'
        ),
        _label(x + _PAD, y + 20, task.name, size=14, weight=600, columns=_COLUMNS - 6),
        *(
            _label(x + _PAD, y + 20 + _LINE * (number + 1), text, colour=colour)
            for number, (text, colour) in enumerate(rows)
        ),
        "</g>",
    ]
    return "\n".join(parts)


def _word(task: Task, x: int, y: int) -> str:
    colour = _EDGES[task.on or "complete"]
    label = _label(x - 12, y - 7, task.edge, size=11, colour=colour, columns=_EDGE_COLUMNS, anchor="end")
    return f"<g><title>{xml_text(task.edge)}</title>{label}</g>"


def _markers() -> str:
    made = [
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{colour}"/></marker>'
        for name, colour in _EDGES.items()
    ]
    return f"<defs>{''.join(made)}</defs>"


def _label(
    x: int,
    y: int,
    text: str,
    *,
    size: int = 12,
    weight: int = 400,
    colour: str = _INK,
    columns: int = _COLUMNS,
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{colour}" text-anchor="{anchor}" '
        f'stroke="{_PAPER}" stroke-width="{3 if anchor == "end" else 0}" paint-order="stroke">'
        f"{xml_text(_cut(text, columns))}</text>"
    )


def _cut(text: str, columns: int) -> str:
    """As much as fits, counting wide characters twice."""
    shown: list[str] = []
    used = 0
    for character in " ".join(text.split()):
        used += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used > columns:
            return "".join(shown[:-1]) + "…"
        shown.append(character)
    return "".join(shown)


def xml_text(text: str) -> str:
    """Text for XML: no markup, no character that XML cannot have, and none that turns the direction of writing."""
    return escape("".join(character if _is_allowed(character) else "\ufffd" for character in text))


def _is_allowed(character: str) -> bool:
    code = ord(character)
    in_xml = code in (0x9, 0xA, 0xD) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
    return in_xml and character not in TURNING and code != 0x7F
