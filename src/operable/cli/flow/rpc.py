"""What `operable rpc` does: the server on raw descriptors, or the same requests answered as events."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

from operable.cli.flow.events import RpcAnswer
from operable.flow.operation import Defaults, current_folder
from operable.flow.rpc.protocol import NO_METHODS, REQUEST_LIMIT, Methods, answer_to, too_long
from operable.flow.rpc.server import RpcServer, report
from operable.kernel.errors import EX_SIGPIPE, Fail
from operable.tool.process import complain, input_descriptor
from operable.wire.lines import LineTooLong, SkippingSplitter

_CHUNK = 1 << 16
_STDERR = 2
_LONGEST = 31_536_000  # seconds: a year, because what a thread can wait for has an end


def defaults_of(
    *, db: str | None, home: str | None, prefix: str | None, program: str | None, compat: str | None
) -> Defaults:
    """What was said on the command line, else in the environment."""
    environment = dict(os.environ)
    return Defaults(
        cwd=current_folder(),
        environment=environment,
        home=home or environment.get("AGENTCLI_HOME"),
        db_path=db or environment.get("AGENTCLI_SCHEDULER_DB"),
        target=environment.get("AGENTCLI_TARGET"),
        scheduler_prefix=prefix or environment.get("AGENTCLI_SCHEDULER_PREFIX"),
        scheduler_bin=program or environment.get("AGENTCLI_SCHEDULER_BIN"),
        compat=compat,
        side="rpc",
    )


def serve(defaults: Defaults, timeout: float, more: Methods = NO_METHODS) -> None:
    """The protocol itself, until the input ends; the process ends here, so nothing follows the last answer.

    The server keeps the two ends for itself: what a library prints goes to stderr, and a program that a method starts
    can neither take requests nor add to the answers. Of 0, 1 and 2, those that were closed when the process began are not
    ours, whatever has their numbers by now.
    """
    if sys.__stdout__ is None:
        complain("operable: stdout is closed")
        os._exit(EX_SIGPIPE)
    while (nothing := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass  # a copy that is made while 2 is closed would get that number
    stdin, stdout = nothing, os.dup(1)
    if sys.__stdin__ is not None:
        stdin = os.dup(0)
        os.dup2(nothing, 0)
    os.dup2(nothing if sys.__stderr__ is None else _STDERR, 1)
    status = RpcServer(defaults, stdin=stdin, stdout=stdout, timeout=timeout, more=more).serve()
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(status)


def require_timeout(seconds: float) -> None:
    """Raises Fail for a time too short for an answer, or too long to wait for."""
    if not 0 < seconds <= _LONGEST:
        message = f"--request-timeout must be more than 0 and at most {_LONGEST} seconds"
        raise Fail("usage", "INVALID_VALUE", message, target="--request-timeout")


def answers(defaults: Defaults, more: Methods = NO_METHODS) -> Iterator[RpcAnswer]:
    """Requests of the input, one after the other."""
    lines = SkippingSplitter(REQUEST_LIMIT)
    descriptor = input_descriptor()
    while chunk := os.read(descriptor, _CHUNK):
        for line in lines.feed(chunk):
            yield from _answered(line, defaults, more)
    if rest := lines.eof():
        yield from _answered(rest, defaults, more)


def _answered(line: bytes | LineTooLong, defaults: Defaults, more: Methods) -> Iterator[RpcAnswer]:
    answer = None
    if isinstance(line, LineTooLong):
        answer = too_long(line.limit)
    elif line and not line.isspace():
        answer = answer_to(line, defaults, report, more)
    if answer is not None:
        yield RpcAnswer(answer=json.loads(answer))
