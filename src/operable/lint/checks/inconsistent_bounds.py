"""Limits, truncation marks and cursors that do not agree.

What it does
    For commands that advertise a limit, by a claim or as bounded ones that have the option: sees all items, then asks
    for one, for all but one, for none and for less than none, which must be refused, and without a limit. The limit
    must be respected. `truncated` must be true exactly if more exists, also if the tool's own bound left something out.
    `next_cursor` must be given if cursors are supported. Following cursors to the end must give every item once, in the
    same order as without a limit. No page may be longer than the limit. A damaged cursor must be refused. Where there
    is but one item to list, there is nothing to see, and it is untested. A stream without an end must end after one
    result.

Why is this bad?
    A caller that cannot trust `truncated` either misses data or reads everything always; one that loses items between
    pages cannot even notice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable, Room, Untested
from operable.lint.evidence import Invocation, Observation, encode
from operable.lint.example import ENTRY, meta, summary, transcript
from operable.lint.samples import options_of
from operable.lint.variants import known_flags

_VOLATILE = ("timestamp", "trace_id", "elapsed_ms")
_PAGES = 50
_MANY = 1000
_LISTING = ("list", "search")
# No limits, or others than were meant: what a slice makes of them is shorter than the whole.
_ODD = ("0", "-1")


def _command(case: Case) -> Iterator[LintFinding]:
    command = case.target
    if not _limited(case):
        if command.name in _LISTING and command.read_only and not command.claims_flag("bounded"):
            yield case.fail(
                "it lists, and supports neither a limit nor a cursor",
                case.plan.discovery["capabilities"],
                level="SHOULD",
            )
            return
        raise NotApplicable("it does not advertise --limit")
    if command.relays:
        raise NotApplicable("its results are those of the tool that it runs")
    call = case.sample_invocation()
    if "--limit" in call.words:
        call = _without(call, "--limit")
    with case.lab.room() as room:
        if command.unbounded:
            yield from _stream(case, room, call)
        else:
            yield from _finite(case, room, call)


def _limited(case: Case) -> bool:
    """Whether it advertises a limit: by a claim, or by being bounded and having the option."""
    command = case.target
    if command.claims_flag("supports_limit") or command.claims_flag("supports_cursor"):
        return True
    return command.claims_flag("bounded") and command.has_stream and "--limit" in known_flags(case)


def _finite(case: Case, room: Room, call: Invocation) -> Iterator[LintFinding]:
    whole = _whole(case, room, call)
    items = _items(whole)
    bound = len(items) if _truncated(whole) and len(items) < _MANY else None  # of its own, if it has one
    pages = case.target.claims_flag("supports_cursor")
    if bound is not None and pages:
        items += _rest(case, room, call, whole)
        if len(items) == bound:
            yield case.fail(f"truncated is true, though all {bound} results are there", whole)
            bound = None
    yield from _limits(case, room, call, items, bound)
    if pages:
        yield from _pages(case, room, call, items)
    elif bound is not None:
        text = f"truncated is true for all of {bound} results, and neither a limit nor a cursor gives more"
        yield case.fail(text, whole, level="SHOULD")
        raise Untested(
            f"it says that there are more than the {bound} results that it gives at most, and has no cursor to see them: "
            f"let the profile's setup make fewer than {bound}"
        )
    if len(items) == 1 and (pages or case.target.words[-1:] in [(word,) for word in _LISTING]):
        # Others may have no more than one to give.
        raise Untested(
            "one result cannot be cut short; let the profile's setup make more, or its `args` find more"
        )


def _whole(case: Case, room: Room, call: Invocation) -> Observation:
    """All that there is, or as much of it as the tool gives at once."""
    whole = _run(case, room, call, "--limit", str(_MANY))
    if not _answered(whole):
        whole = _run(case, room, call)
    if not whole.readable:
        raise Untested("stdout contains lines that are not events; see check 2")
    if not _answered(whole):
        raise Untested(f"the whole could not be seen: status {whole.status}")
    if not _items(whole):
        raise Untested("there are no results to limit; let the profile's setup make some")
    return whole


def _limits(
    case: Case, room: Room, call: Invocation, items: list[str], bound: int | None
) -> Iterator[LintFinding]:
    """What several limits give of these items; more than `bound` the tool never gives."""
    found = [*_cut(case, room, call, items, 1)]
    yield from found
    if len(items) > 2 and not found and bound is None:  # one may be the only limit that it knows
        yield from _cut(case, room, call, items, len(items) - 1)
    if len(items) > 1 and bound is None:
        exact = _run(case, room, call, "--limit", str(len(items)))
        if _truncated(exact):
            yield case.fail(f"--limit {len(items)} gives all there is, but truncated is true", exact)
    yield from _silently(case, case.observe(call), items, "without a limit it")
    for odd in _ODD:
        seen = _run(case, room, call, "--limit", odd)
        if seen.succeeded and odd == "-1" and not _below_zero(case):
            yield case.fail("--limit -1 is not refused", seen)
        else:
            yield from _silently(case, seen, items, f"--limit {odd}")


def _below_zero(case: Case) -> bool:
    """Whether its schema gives a meaning to limits below zero."""
    least = dict(options_of(case.target.inputs)).get("--limit", {}).get("minimum")
    return isinstance(least, int) and least < 0


def _rest(case: Case, room: Room, call: Invocation, page: Observation) -> list[str]:
    """What comes after a page that was cut short, with the cursors that it gives out."""
    found: list[str] = []
    for _ in range(_PAGES):
        cursor = _cursor(page)
        if cursor is None or not _truncated(page):
            break
        page = _run(case, room, call, "--cursor", cursor)
        found += _items(page)
    return found


def _cut(case: Case, room: Room, call: Invocation, items: list[str], limit: int) -> Iterator[LintFinding]:
    seen = _run(case, room, call, "--limit", str(limit))
    if not _answered(seen):
        yield case.fail(f"--limit {limit} fails with status {seen.status}", seen)
        return
    got, left = _items(seen), len(items) - limit
    if len(got) != limit:
        yield case.fail(f"--limit {limit} gives {len(got)} results", seen)
    elif left and not _truncated(seen):
        yield case.fail(f"--limit {limit} leaves out {left} results, but truncated is not true", seen)
    elif not left and _truncated(seen):
        yield case.fail(f"--limit {limit} gives all there is, but truncated is true", seen)
    elif left and case.target.claims_flag("supports_cursor") and not _cursor(seen):
        yield case.fail("truncated is true and cursors are supported, but there is no next_cursor", seen)
    if not _truncated(seen) and _cursor(seen):
        yield case.fail("there is a next_cursor, though nothing is left", seen, level="SHOULD")


def _silently(case: Case, seen: Observation, items: list[str], what: str) -> Iterator[LintFinding]:
    """It may refuse the call, or take it for another; it may not leave things out and say nothing."""
    got = _items(seen)
    # If the output differs from call to call, nothing shows that an item was left out.
    missing = len(items) - len(got) if set(got) <= set(items) else 0
    if seen.succeeded and seen.readable and missing > 0 and not _truncated(seen):
        yield case.fail(f"{what} leaves out {missing} results, but truncated is not true", seen)


def _pages(case: Case, room: Room, call: Invocation, items: list[str]) -> Iterator[LintFinding]:
    size = str(max(1, len(items) // 3))
    page = _run(case, room, call, "--limit", size)
    got = _items(page)
    first_cursor = cursor = _cursor(page)
    met: set[str] = set()
    for _ in range(_PAGES):
        if cursor is None or not _truncated(page):
            break
        page = _run(case, room, call, "--limit", size, "--cursor", cursor)
        if not _answered(page):
            yield case.fail(f"the cursor that it gave out is refused: status {page.status}", page)
            return
        if len(_items(page)) > int(size):
            yield case.fail(f"with a cursor, --limit {size} gives {len(_items(page))} results", page)
            return
        got += _items(page)
        met.add(cursor)
        cursor = _cursor(page)
        if cursor in met:
            yield case.fail("a next_cursor comes again: following it never ends", page)
            return
    else:
        yield case.fail(f"following cursors does not end within {_PAGES} pages", page)
        return
    if cursor is not None and _cursor(_run(case, room, call, "--limit", size, "--cursor", cursor)):
        yield case.fail("there is a next_cursor after the last result: following it never ends", page)
        return
    if len(items) > 1 and got != items and first_cursor is not None:
        yield case.fail(f"page by page there are other results: {_difference(items, got)}", page)
    if first_cursor is not None:
        damaged = _run(case, room, call, "--cursor", _damaged(first_cursor))
        if damaged.succeeded:
            yield case.fail("a damaged cursor is not refused", damaged)


def _stream(case: Case, room: Room, call: Invocation) -> Iterator[LintFinding]:
    """It has no end but the limit, and for its first result as long as any other call: no silence shows that none comes."""
    one = _run(case, room, replace(call, signal=""), "--limit", "1")
    if not one.domain:
        raise Untested("the stream reported nothing; give it `args` with which it does")
    if len(one.domain) > 1:
        yield case.fail(f"--limit 1 gives {len(one.domain)} results", one)
    elif one.ended != "itself":
        yield case.fail("--limit 1 does not end the stream after one result", one)


def _run(case: Case, room: Room, call: Invocation, *options: str) -> Observation:
    seen = room.run(case.target.with_options(call, *options))
    case.seen.append(seen)
    return seen


def _answered(seen: Observation) -> bool:
    """Whether it gave its results, be they good or bad news: a tool that judges may answer no without having failed."""
    judged = seen.ended == "itself" and bool(seen.domain) and seen.summary is not None and not seen.errors
    return seen.succeeded or judged


def _items(seen: Observation) -> list[str]:
    events: tuple[dict[str, Any], ...] = seen.domain or seen.of("aoi:check")
    return [
        encode({name: value for name, value in event.items() if name not in _VOLATILE}) for event in events
    ]


def _truncated(seen: Observation) -> bool:
    return (seen.summary or {}).get("truncated") is True


def _cursor(seen: Observation) -> str | None:
    cursor = (seen.summary or {}).get("next_cursor")
    return cursor if isinstance(cursor, str) and cursor else None


def _damaged(cursor: str) -> str:
    """Another token of the same length, with letters that no cursor of this tool has there."""
    return "".join("~" if number % 2 else letter for number, letter in enumerate(cursor)) + "~"


def _difference(items: list[str], got: list[str]) -> str:
    lost = [item for item in items if item not in got]
    twice = [item for item in got if got.count(item) > 1]
    if lost:
        return f"{len(lost)} lost, such as {lost[0][:100]}"
    if twice:
        return f"some come twice, such as {twice[0][:100]}"
    return "some that are not in the whole" if sorted(got) != sorted(items) else "in another order"


def _without(call: Invocation, flag: str) -> Invocation:
    words = list(call.words)
    position = words.index(flag)
    return replace(call, words=tuple(words[:position] + words[position + 2 :]))


CHECK = LintCheck(
    name="inconsistent-bounds",
    number=11,
    title="limit, truncated and cursors agree",
    characteristics=("Bounded", "Streamable"),
    level="MUST",
    section="15",
    passing=transcript(
        "list --limit 1", meta("list"), ENTRY, summary(True, count=1, truncated=True, next_cursor="1")
    ),
    failing=transcript("list --limit 1", meta("list"), ENTRY, summary(True, count=1, truncated=False)),
    hint="fetch one more than the limit to know whether more exists; let the cursor name the last item, not an offset",
    command=_command,
    page=__doc__,
)
