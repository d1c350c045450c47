"""A retry that does it again.

What it does
    Runs a mutating command twice in the same room with the same `--idempotency-key`: the second call must succeed, give
    the same results, also in number, and leave the state as the first one left it. Two such calls at the same time must
    not both do it. The same key with other arguments must be refused and change nothing; other arguments are those of
    the profile, or the same ones with more input. What of this could not be seen is reported as untested. A mutating
    command without an idempotency key is reported (SHOULD).

Why is this bad?
    A caller whose connection broke cannot know whether the call arrived. If sending it again may double the effect, it can
    neither retry nor give up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable, Room, Untested
from operable.lint.evidence import Invocation, Observation, encode, excerpt
from operable.lint.example import CREATED, meta, summary, transcript
from operable.lint.samples import from_schema
from operable.lint.variants import demand_visible

_KEY = "7c1e9a40-52d3-4b7e-9f1c-0d6a8be2f413"
_VOLATILE = ("timestamp", "trace_id", "elapsed_ms")


def _command(case: Case) -> Iterator[LintFinding]:
    command = case.target
    if not command.mutates:
        raise NotApplicable("it is read-only" if command.read_only else "it makes no change of its own")
    if not command.claims_flag("supports_idempotency_key"):
        yield case.fail(
            "it changes things and supports no --idempotency-key",
            case.plan.discovery["capabilities"],
            level="SHOULD",
        )
        return
    call = command.with_options(case.sample_invocation(), "--idempotency-key", _KEY)
    with case.lab.room() as room:
        first = _run(case, room, call)
        if first.refused:
            if not first.excused:
                raise Untested("with --idempotency-key the sample call does not succeed; see check 3")
            yield case.fail(
                f"--idempotency-key is advertised but not accepted: status {first.status}",
                first,
                excerpt=excerpt(first.stdout[-200:]),
            )
            return
        found = [*_again(case, room, call, first)]
        other = _other_call(case, call)
        if other is not None:
            found += _other(case, room, other)
        yield from found
        if not found:
            found = [*_at_once(case, call)]
            yield from found
        demand_visible(case, first)
        if other is None and not found:
            raise Untested(
                "other arguments under the same key could not be tried; give it `other_args` in the profile"
            )


def _again(case: Case, room: Room, call: Invocation, first: Observation) -> Iterator[LintFinding]:
    second, changes = room.effect(call)
    case.seen.append(second)
    reported = [change for change in changes if change.where == "state"]
    if second.refused:
        yield case.fail(f"the same call with the same key fails: status {second.status}", second)
    elif _results(second) != _results(first) or _count(second) != _count(first):
        yield case.fail(
            "the same call with the same key gives other results",
            second,
            excerpt=excerpt(f"{_shown(first)} then {_shown(second)}"),
        )
    if reported:
        yield case.fail(f"the same call with the same key takes effect again: {reported[0]}", second)
    elif changes and room.state() is None:
        if second.succeeded and _results(second) == _results(first):
            # Its own notes, or the effect once more: only the tool can say.
            raise Untested(
                f"the second call changes {changes[0].where}; say in the profile's `state` how to see the effect"
            )
        yield case.fail(f"the same call with the same key changes files again: {changes[0]}", second)


def _at_once(case: Case, call: Invocation) -> Iterator[LintFinding]:
    """Two callers with one key at the same time. One of them may be refused; both may not do it."""
    with case.lab.room() as room:
        room.furnish(call.beside)
        before = room.state()
        pair = room.together(call)
        after = room.state()
    case.seen += pair
    done = [seen for seen in pair if seen.succeeded]
    if len(done) == 2 and _results(done[0]) != _results(done[1]):
        text = excerpt(f"{_shown(done[0])} and {_shown(done[1])}")
        yield case.fail("two calls at once with the same key give different results", done[1], excerpt=text)
    elif before is not None and after is not None and done and done[0].domain:
        gained = len(after) - len(before)
        if gained > len(done[0].domain) and gained > _gained_by_one(case, call):
            said = f"{gained} more where one call reports {len(done[0].domain)}"
            yield case.fail(f"two calls at once with the same key take effect twice: {said}", done[0])


def _gained_by_one(case: Case, call: Invocation) -> int:
    """How much one call alone adds to the state: a merge reports one thing and brings several."""
    with case.lab.room() as room:
        room.furnish(call.beside)
        before = room.state()
        case.seen.append(room.run(call))
        after = room.state()
    return len(after) - len(before) if before is not None and after is not None else 0


def _other_call(case: Case, call: Invocation) -> Invocation | None:
    """A call that does something else under the same key; None when nothing else is known to work."""
    command = case.target
    arguments = command.profile.other_args
    if arguments is None:
        generated = from_schema(command.guessed, other=True)
        usable = bool(generated) and command.profile.args is None
        arguments = generated if usable else None
    if arguments is None:
        return replace(call, stdin=call.stdin.rstrip() + b"\n" + call.stdin) if call.stdin else None
    extra = command.confirm if command.destructive else ()
    return command.invocation(arguments, *extra, "--idempotency-key", _KEY)


def _other(case: Case, room: Room, call: Invocation) -> Iterator[LintFinding]:
    seen, changes = room.effect(call)
    case.seen.append(seen)
    reported = [change for change in changes if change.where == "state"]
    if seen.succeeded or reported:
        did = f"; {reported[0]}" if reported else ""
        yield case.fail(f"the same key with other arguments is not refused{did}", seen)


def _run(case: Case, room: Room, call: Invocation) -> Observation:
    seen = room.run(call)
    case.seen.append(seen)
    return seen


def _results(seen: Observation) -> list[dict[str, Any]]:
    return [{name: value for name, value in event.items() if name not in _VOLATILE} for event in seen.domain]


def _count(seen: Observation) -> Any:
    """How many results it says there are, without the checks among them: those are made again, or not at all."""
    count = (seen.summary or {}).get("count")
    return (
        count
        if not isinstance(count, int) or count == len(seen.domain)
        else count - len(seen.of("aoi:check"))
    )


def _shown(seen: Observation) -> str:
    """Its first result, and how many it says there are."""
    return f"{encode(seen.domain[0])[:90] if seen.domain else 'nothing'} (count {_count(seen)})"


CHECK = LintCheck(
    name="repeated-effect",
    number=7,
    title="the same key has one effect and one result",
    characteristics=("Idempotent",),
    level="MUST",
    section="14.4",
    passing="\n".join(
        transcript("create a --idempotency-key …", meta("create"), CREATED, summary(True, count=1), *effect)
        for effect in (["# changes work/notes.json"], [])
    ),
    failing="\n".join(
        transcript(
            "create a --idempotency-key …", meta("create"), CREATED | {"id": name}, summary(True, count=1)
        )
        for name in ("n1", "n2")
    ),
    hint="store key, digest of the arguments and result in one transaction with the effect; replay the stored result",
    command=_command,
    page=__doc__,
)
