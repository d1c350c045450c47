"""Mutations in two phases, so that their guards hold by construction.

Phase one, the command's function, only reads and yields `Change`s: the plan. Phase two, its `apply` function, gets
the plan and does it. Between the two is this module: a dry run returns before the second phase exists for it; a
confirmation is compared with the plan that will be applied, not with a guess; an idempotency key is taken before and
recorded after.
"""

from __future__ import annotations

from operable.kernel.canonical import digest
from operable.kernel.errors import Fail
from operable.tool.framework import Change, FrameworkNotice, ItemError
from operable.tool.records import json_text
from operable.tool.run.context import Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from operable.tool.outflow import Outflow, RunState
    from operable.tool.run.idempotency import Journal


def mutate(run: RunState, outflow: Outflow, arguments: list[Any], keywords: dict[str, Any]) -> None:
    """Plan, guard, apply."""
    command = run.command
    if command.apply_function is None:
        msg = f"{command.name} mutates but has no apply function: decorate one with @{command.function.__name__}.apply"
        raise TypeError(msg)
    for name in command.streams():
        # The whole input is understood before anything is planned, and is part of what a key stands for.
        keywords[name].read_all()
    key = run.call.options.get("idempotency-key")
    if key is None or "dry-run" in run.call.options:
        _plan_and_apply(run, outflow, arguments, keywords)
        return
    from operable.tool.run.idempotency import Journal

    with Journal(run.tool.name, key) as journal:
        if journal.replay(run, outflow, _fingerprint(run, keywords)):
            return
        _plan_and_apply(run, outflow, arguments, keywords, journal)


def _plan_and_apply(
    run: RunState,
    outflow: Outflow,
    arguments: list[Any],
    keywords: dict[str, Any],
    journal: Journal | None = None,
) -> None:
    changes = _plan(run, run.iterate(run.command.function(*arguments, **keywords)))
    plan_digest = _digest(changes)
    if "dry-run" in run.call.options:
        _show_plan(run, changes, plan_digest)
        return
    _confirm(run, changes, plan_digest)
    _apply(run, outflow, changes, journal)


def _plan(run: RunState, items: Iterable[Any]) -> list[Change]:
    changes: list[Change] = []
    for item in items:
        if isinstance(item, Change):
            changes.append(item)
            if len(changes) > run.command.max_plan:
                raise Fail(
                    "validation",
                    "PLAN_TOO_LARGE",
                    f"{run.command.name} would affect more than {run.command.max_plan} things at once",
                    hint="narrow it down, or split it",
                )
        elif isinstance(item, ItemError):
            if "continue-on-error" not in run.call.options:
                raise item.fail
            run.item_error(item.fail)
        elif isinstance(item, FrameworkNotice):
            run.notice(item.fields)
        else:
            msg = f"the plan of {run.command.name} yielded {type(item).__name__}; a plan yields Change values"
            raise TypeError(msg)
    return changes


def _digest(changes: list[Change]) -> str:
    fields = [change.fields for change in changes]
    try:
        return digest(fields)
    except TypeError:  # paths, times and records, which a plan may contain like any other event
        import json

        return digest(json.loads(json_text(fields)))


def _show_plan(run: RunState, changes: list[Change], plan_digest: str) -> None:
    for change in changes:
        run.notice(change.fields)
    run.count = len(changes)
    run.remarks.update(dry_run=True, plan_digest=plan_digest)


def _confirm(run: RunState, changes: list[Change], plan_digest: str) -> None:
    """Refuse unless what was confirmed is what is planned. Nothing has been done at this point."""
    options, count, name = run.call.options, len(changes), run.command.name
    confirmed, expected = options.get("confirm"), options.get("confirm-count")
    if isinstance(confirmed, str) and confirmed != plan_digest:
        raise Fail(
            "conflict",
            "PLAN_CHANGED",
            f"The plan of {name} is not the one that was confirmed: something changed since",
            hint=f"look again with --dry-run, then --confirm {plan_digest}",
            plan_digest=plan_digest,
        )
    if expected is not None and expected != count:
        raise Fail(
            "conflict",
            "CONFIRM_COUNT_MISMATCH",
            f"{name} would affect {count}, not {expected}; nothing was done",
            hint="look with --dry-run",
            planned=count,
            expected=expected,
        )
    if not run.command.destructive or isinstance(confirmed, str) or expected is not None:
        return
    if confirmed and (not run.command.bulk or count <= 1):
        return
    if not confirmed and _asked(run, changes):
        return
    needed = f"--confirm-count {count}" if run.command.bulk and count > 1 else "--confirm"
    raise Fail(
        "usage",
        "CONFIRMATION_REQUIRED",
        f"{name} would affect {count} and needs {needed}; nothing was done",
        hint=f"look with --dry-run, then add {needed}",
        planned=count,
        plan_digest=plan_digest,
    )


def _asked(run: RunState, changes: list[Change]) -> bool:
    """Whether the person at the terminal, if there is one, agreed; agreement to nothing is not needed."""
    context = Context(run)
    if not context.person:
        return False
    if not changes:
        return True
    shown = ", ".join(change.target for change in changes[:5]) + (" …" if len(changes) > 5 else "")
    question = f"{run.command.name} {len(changes)} ({shown})? [y/N]"
    return context.ask(question, hint="--confirm", fresh=True).strip().lower() in ("y", "yes")


def _apply(run: RunState, outflow: Outflow, changes: list[Change], journal: Journal | None) -> None:
    """Do it. A stop waits for the effect in progress and is honoured between two of them; a reader who leaves stops
    nothing. What was done is recorded before it is reported.
    """
    apply_function = run.command.apply_function
    assert apply_function is not None  # noqa: S101 - mutate() has refused a command without one
    effects = _Effects(run, len(changes), journal)
    run.sink.close()  # an output that takes nothing is noticed before anything is done
    run.interrupts.catch_up()
    run.interrupts.applying = True
    try:
        if journal is not None:
            journal.begin()
        try:
            if (
                changes
            ):  # what plans nothing does nothing, whatever the author's code would do with an empty plan
                wants_context = apply_function.__code__.co_argcount > 1
                produced = apply_function(changes, Context(run)) if wants_context else apply_function(changes)
                outflow.stream(effects.events(produced))
        except Fail as fail:
            if journal is not None:
                journal.failed(run, fail)
            raise
        if journal is not None and effects.cut_short:
            journal.failed(run, effects.stopped())
        elif journal is not None:
            journal.finish(run)
        if not effects.cut_short:
            run.interrupts.settle()  # all is done: there is nothing left to stop, only to be reported
    finally:
        run.interrupts.applying = False
    if effects.cut_short:
        run.interrupts.raise_if_stopped(again=True)


class _Effects:
    """The events of the apply phase on their way out: written down for a replay, and cut between two when a stop waits."""

    def __init__(self, run: RunState, planned: int, journal: Journal | None) -> None:
        self._run = run
        self._planned = planned
        self._journal = journal
        self._done = 0
        self.cut_short = False

    def events(self, produced: Any) -> Iterator[Any]:
        # A list was done as a whole, and so was what a coroutine returns: there is nothing left to stop.
        one_by_one = hasattr(produced, "__next__") or hasattr(produced, "__anext__")
        items = self._run.iterate(produced)
        try:
            for item in items:
                if self._journal is not None:
                    self._journal.add(self._run, item)
                self._done += not isinstance(item, FrameworkNotice)
                yield item
                # After as many results as were planned, what remains is the author's tidying up.
                if one_by_one and self._run.interrupts.stop is not None and self._done < self._planned:
                    self.cut_short = True
                    return
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()

    def stopped(self) -> Fail:
        """What a replay says of a run that was stopped on the way."""
        stop = self._run.interrupts.stop
        return Fail(
            "cancelled",
            "INTERRUPTED",
            f"{self._run.command.name} was stopped after {self._done} of {self._planned}",
            hint="look at the present state, then go on with a new key",
            exit_code=None if stop is None else stop.exit_code,
        )


def _fingerprint(run: RunState, keywords: dict[str, Any]) -> str:
    """What a key stands for: the command, its arguments, and the structured input."""
    from operable.tool.run.cursor import fingerprint

    inputs = [keywords[name].digest for name in run.command.streams()]
    return digest([run.command.name, fingerprint(run.command, run.call.values), inputs])
