"""`operable app call`: the answer of an application as our own stream, or its own stream with its verdict.

A plain JSON answer becomes one `app_entry` per result (`operable.app.answers` says what that is), and what the application
says beside them becomes `answer` in our summary. An application that speaks AOI is passed on as `operable run` does it:
its meta in ours, its events as they are, its verdict in our summary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from operable.app.admission import needs_confirmation
from operable.app.calling import TIMEOUT, call
from operable.cli.apps import meant
from operable.cli.apps_events import AppEntry
from operable.cli.verdicts import as_event, as_fields, closing_word, plain, speaks_for_itself
from operable.wire.framework import Error, Meta, Summary, Warning  # noqa: A004 - the wire's name for it
from operable.wire.reserved import PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from operable.app.answers import Answer
    from operable.app.packages import Package
    from operable.tool import Relay
    from operable.wire.framework import Event


def called(relay: Relay, name: str, words: Sequence[str], *, workspace: str, confirm: bool) -> None:
    """Call it and tell what came of it."""
    package = meant(name, workspace)
    package.require()
    confirmed = confirm or _agreed(relay, package, words)
    timeout = relay.timeout if relay.timeout is not None else TIMEOUT
    answer = call(package, words, confirmed=confirmed, timeout=timeout)
    if answer.stream is not None:
        _pass_on(relay, answer, package.slug)
        return
    if not answer.ok:
        if answer.diagnostics and not relay.machine and relay.debug:
            relay.show(answer.diagnostics)
        raise answer.failure(package.slug, debug=relay.debug)
    _tell(relay, answer, package.slug)


def _agreed(relay: Relay, package: Package, words: Sequence[str]) -> bool:
    """Whether the person at the terminal, if there is one, agrees to what needs it."""
    if not relay.person or not needs_confirmation(package, words):
        return False
    question = f"{package.slug}: {' '.join(words)[:200]!r} needs your confirmation. Run it? [y/N]"
    return relay.ask(question, hint="--confirm").strip().lower() in ("y", "yes")


def _tell(relay: Relay, answer: Answer, source: str) -> None:
    entries, beside = answer.entries()
    shown = entries if relay.limit is None else entries[: relay.limit]
    relay.introduce(upstream={"app": source})
    for value in shown:
        if relay.machine:
            relay.result(AppEntry(value=value))
        else:
            fields = value if isinstance(value, dict) else {"value": value}
            relay.event({**fields, "type": "app_entry"}, source=source)
    relay.conclude(truncated=len(shown) < len(entries))
    if beside:
        relay.conclude(answer=beside)


def _pass_on(relay: Relay, answer: Answer, source: str) -> None:
    stream, verdict = answer.stream, answer.verdict
    assert stream is not None  # noqa: S101 - the caller has looked
    assert verdict is not None  # noqa: S101 - it comes with the stream
    passing = _Passing(relay, source)
    for line, event in zip(stream.split(b"\n"), _events(stream), strict=False):
        passing.take(line, event)
    fields = as_fields(as_event(verdict, source))
    summary = plain(verdict.summary)
    relay.conclude(
        exit_code=verdict.exit_code,
        partial=summary.get("partial") is True,
        truncated=passing.truncated or summary.get("truncated") is True,
        next_cursor=summary.get("next_cursor") if isinstance(summary.get("next_cursor"), str) else None,
        verdict=fields,
    )
    if verdict.ok:
        relay.conclude(message=closing_word(verdict, source))
    elif not speaks_for_itself(verdict):
        raise answer.failure(source, debug=relay.debug)


def _events(stream: bytes) -> list[Event]:
    """The events that the stream has until it breaks, if it does."""
    from operable.run import check

    found: list[Event] = []
    check([stream], on_events=found.extend)
    return found


class _Passing:
    """One line of another stream at a time."""

    def __init__(self, relay: Relay, source: str) -> None:
        self.truncated = False
        self._relay = relay
        self._source = source
        self._left = relay.limit

    def take(self, line: bytes, event: Event) -> None:
        if isinstance(event, Summary):
            return
        if isinstance(event, Meta):
            self._relay.introduce(upstream=plain(event))
            return
        kind = str(event["type"] if isinstance(event, dict) else event.__struct_config__.tag)
        result = not kind.startswith(PREFIX)
        if result and self._left is not None:
            if self._left == 0:
                self.truncated = True
                return
            self._left -= 1
        self._put(line, event, kind, result=result)

    def _put(self, line: bytes, event: Event, kind: str, *, result: bool) -> None:
        if not self._relay.machine:
            fields: dict[str, Any] = {**plain(event), "type": kind}
            self._relay.event(fields, source=self._source, result=result)
            return
        self._relay.lines(
            line + b"\n",
            results=int(result),
            warnings=int(isinstance(event, Warning)),
            errors=int(isinstance(event, Error)),
        )
