"""`operable app call`: the answer of an application as our own stream, or its own stream with its verdict.

A plain JSON answer becomes one `app_entry` per result (`operable.app.answers` says what that is), and what the application
says beside them becomes `answer` in our summary. An application that speaks AOI is passed on as `operable run` does it:
as it comes, its meta in ours, its events as they are, its verdict in our summary.
"""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from operable.app.admission import needs_confirmation, possible_paths
from operable.app.invocation import OUTPUT_LIMIT, TIMEOUT, call
from operable.cli.app.events import AppEntry
from operable.cli.app.packages import meant
from operable.cli.call.relay import Passing
from operable.cli.call.verdicts import as_event, as_fields, closing_word, plain
from operable.kernel.errors import EX_OK, Fail
from operable.kernel.visible import spelt_out
from operable.run.failure import speaks_for_itself
from operable.state.paths import policy_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from operable.app.answers import Answer
    from operable.app.packages import Package
    from operable.tool import Relay
    from operable.wire.framework import Event
    from operable.wire.verdict import Verdict


def called(
    relay: Relay, name: str, words: Sequence[str], *, workspace: str, confirm: bool, stdin: str | None
) -> None:
    """Call it and report the result."""
    package = meant(name, workspace)
    package.require()
    data = None if stdin is None else read_input(stdin)
    confirmed = confirm or _agreed(relay, package, words)
    timeout = relay.timeout if relay.timeout is not None else TIMEOUT
    passing = Passing(relay, package.slug, _nothing)

    def passed(chunk: bytes, events: list[Event]) -> bool:
        passing.take(chunk, events)
        return not passing.cut_short

    with _admitted(relay, package, words, workspace) as close:
        answer = call(package, words, confirmed=confirmed, timeout=timeout, on_passage=passed, stdin=data)
        close("OK" if answer.ok else answer.failure(package.slug).code)
    if answer.verdict is not None:
        _conclude(relay, passing, answer, answer.verdict, package.slug)
        return
    if not answer.ok:
        if answer.diagnostics and not relay.machine and relay.debug:
            relay.show(answer.diagnostics)
        raise answer.failure(package.slug, debug=relay.debug)
    _tell(relay, answer, package.slug)


@contextmanager
def _admitted(
    relay: Relay, package: Package, words: Sequence[str], workspace: str
) -> Iterator[Callable[[str], None]]:
    """The call on record, where the user has a policy file; gives what takes the code of its end."""
    if policy_path() is None:
        yield lambda _code: None
        return
    from operable.cli.gate.command_line import admitted

    paths = possible_paths(package, words)
    with admitted("app", package.slug, words, actions=paths, workspace=workspace, relay=relay) as admission:
        yield admission.close


def read_input(path: str) -> bytes:
    """What the command is to read: a file, or `-` for our own standard input. As much as an answer may have."""
    try:
        with open(sys.stdin.fileno() if path == "-" else path, "rb", closefd=path != "-") as file:
            data = file.read(OUTPUT_LIMIT + 1)
    except OSError as problem:
        message = f"{path} cannot be read: {problem.strerror}"
        raise Fail("not_found", "INPUT_NOT_READABLE", message, target=path) from problem
    if len(data) > OUTPUT_LIMIT:
        message = f"{path} has more than {OUTPUT_LIMIT} bytes"
        raise Fail("validation", "INPUT_TOO_LARGE", message, target=path)
    return data


def _nothing() -> None:
    """A stream that would not end is ended by the answer to its passage."""


def _agreed(relay: Relay, package: Package, words: Sequence[str]) -> bool:
    """Whether the person at the terminal, if there is one, agrees to what needs it."""
    if not relay.person or not needs_confirmation(package, words):
        return False
    question = f"{package.slug}: {spelt_out(shlex.join(words))} needs your confirmation. Run it? [y/N]"
    return relay.ask(question, hint="--confirm, before the --").strip().lower() in ("y", "yes")


def _tell(relay: Relay, answer: Answer, source: str) -> None:
    entries, beside = answer.entries()
    shown = answer.shown(relay.limit)
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


def _conclude(relay: Relay, passing: Passing, answer: Answer, verdict: Verdict, source: str) -> None:
    """The verdict on a stream that was passed on, in our own summary."""
    summary = plain(verdict.summary)
    relay.conclude(
        exit_code=EX_OK if passing.cut_short else verdict.exit_code,
        partial=summary.get("partial") is True,
        truncated=passing.truncated or summary.get("truncated") is True,
        next_cursor=summary.get("next_cursor") if isinstance(summary.get("next_cursor"), str) else None,
        verdict=as_fields(as_event(verdict, source)),
    )
    if verdict.ok:
        relay.conclude(message=closing_word(verdict, source))
    elif not passing.cut_short and not speaks_for_itself(verdict):
        raise answer.failure(source, debug=relay.debug)
