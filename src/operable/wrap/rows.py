"""The rows of a wrapped program on their way out: where a page goes on, what is masked, what is marked as lost.

Each function takes rows (or lists of rows) and gives rows. Closing one closes what its rows come from: a program may be
running behind them.

Secrets that a program gets in its environment must not come back in what it prints. Which variables count says
`proc.environment.secret_values`: those whose name announces a secret (`GH_TOKEN`), and the password in any address
(`DATABASE_URL`). Exactly these values are masked, and nothing by its looks: what else a program prints is data.

Loss: many programs (those in Go, Rust and JavaScript above all) write U+FFFD themselves for bytes that are not UTF-8. The
bytes cannot be got back from that, and two names may look like one. A wrapper of such a program says so (CLI.md:
`metadata.operable.replaces`); then each event with U+FFFD in a text that has no bytes beside it carries `lossy: true`, and
a warning UPSTREAM_LOSSY comes before the first. A text that really contains U+FFFD is marked as well: the output does not
show the difference.
"""

from __future__ import annotations

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from typing import Any

    from operable.tool.framework import Warn
    from operable.wrap.plan.model import WrapPlan

# A page of the default limit, and some more. Loading msgspec costs as much as it saves on ten thousand rows.
_MANY = 1000
_REPLACED = "\ufffd"


def sought(rows: Iterator[Any], cursor: Any, after: Any) -> Iterator[Any]:
    """What follows the row at which the last page ended. Where that row is gone, the place is unknown: a conflict."""
    names = [cursor] if isinstance(cursor, str) else list(cursor)
    wanted = after if len(names) > 1 else [after]
    flow = single(rows)
    try:
        for row in flow:
            if row.__class__ is dict and [row.get(name) for name in names] == wanted:
                yield from flow
                return
    finally:
        flow.close()
    raise Fail(
        "conflict",
        "CURSOR_STALE",
        "What the cursor points at is no longer there",
        hint="start again without --cursor",
    )


def single(rows: Iterator[Any]) -> Generator[Any, None, None]:
    """Rows one by one; closing this closes what they come from."""
    try:
        for row in rows:
            if row.__class__ is list:
                yield from row
            else:
                yield row
    finally:
        close(rows)


def eased(rows: Iterator[Any]) -> Generator[Any, None, None]:
    """Yield the first rows one by one, then lists: lists make `operable.tool.rows` load msgspec."""
    count = 0
    try:
        for row in rows:
            if row.__class__ is not list or count > _MANY:
                yield row
                del row  # as in Outflow: nothing is held while the next is made
            else:
                count += len(row)
                yield from row
    finally:
        close(rows)


def close(rows: Iterator[Any]) -> None:
    """End what rows come from now, not when the last reference goes: a program may be running behind them."""
    end = getattr(rows, "close", None)
    if end is not None:
        end()


def cleaned(rows: Iterator[Any], plan: WrapPlan) -> Iterator[Any]:
    """The same with what the program has lost marked, and without the secrets that it was given."""
    if plan.replaces:
        rows = marked(rows, plan.bin)
    values = secrets(plan.env_pass)
    return concealed(rows, values) if values else rows


def secrets(names: Sequence[str]) -> list[str]:
    """The values of these variables that a program is given and that must not come back."""
    if not names:
        return []
    from operable.proc.environment import environment, secret_values

    return secret_values(environment(inherit=names))


def concealed(rows: Iterator[Any], values: Sequence[str]) -> Iterator[Any]:
    """The same rows without these values."""
    from operable.kernel.redact import Known
    from operable.tool.framework import FrameworkNotice

    known = Known(values)
    try:
        for row in rows:
            if isinstance(
                row, FrameworkNotice
            ):  # warnings, progress and planned changes repeat what a program said
                row.fields = known.value(row.fields)
                yield row
            else:
                yield known.value(row)
    finally:
        close(rows)


def marked(rows: Iterator[Any], program: str) -> Generator[Any, None, None]:
    """The rows one by one; what may have lost something says so."""
    reported = False
    try:
        for row in rows:
            for one in row if row.__class__ is list else (row,):
                fields = _fields(one)
                if fields is not None and _is_replaced(fields):
                    if not reported:
                        reported = True
                        yield _warning(program)
                    fields["lossy"] = True
                yield one
    finally:
        close(rows)


def _fields(row: Any) -> dict[str, Any] | None:
    """What a row says: an event, or a planned change; other notices are words for people."""
    from operable.tool.framework import Change, FrameworkNotice

    if isinstance(row, FrameworkNotice):
        return row.fields if isinstance(row, Change) else None
    return row if isinstance(row, dict) else None


def _is_replaced(value: Any) -> bool:
    """Whether U+FFFD is anywhere in it without the bytes beside it. Without recursion: a value may be deep."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if value.__class__ is str:
            if _REPLACED in value:
                return True
        elif value.__class__ is list:
            waiting += value
        elif value.__class__ is dict:
            waiting += value.keys()
            waiting += [inner for name, inner in value.items() if f"{name}_b64" not in value]
    return False


def _warning(program: str) -> Warn:
    message = f"{program} writes U+FFFD for bytes that are not UTF-8: a name with `lossy` may be different in reality"
    from operable.tool.framework import Warn

    return Warn("UPSTREAM_LOSSY", message, source=program)
