"""What `operable rpc` does: the server on raw descriptors, or the same requests answered as events."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

from operable.cli.flow_events import RpcAnswer
from operable.flow.method import Defaults
from operable.flow.rpc import answer_to, too_long
from operable.flow.rpc_lines import REQUEST_LIMIT, RequestLines
from operable.flow.rpc_server import RpcServer, report
from operable.tool.descriptors import input_descriptor

_CHUNK = 1 << 16


def defaults_of(
    *, db: str | None, home: str | None, prefix: str | None, program: str | None, compat: str | None
) -> Defaults:
    """What was said on the command line, else in the environment."""
    environment = dict(os.environ)
    return Defaults(
        cwd=os.getcwd(),
        environment=environment,
        home=home or environment.get("AGENTCLI_HOME"),
        db_path=db or environment.get("AGENTCLI_SCHEDULER_DB"),
        target=environment.get("AGENTCLI_TARGET"),
        scheduler_prefix=prefix or environment.get("AGENTCLI_SCHEDULER_PREFIX"),
        scheduler_bin=program or environment.get("AGENTCLI_SCHEDULER_BIN"),
        compat=compat,
    )


def serve(defaults: Defaults, timeout: float) -> None:
    """The protocol itself, until the input ends; the process ends here, so nothing follows the last answer.

    The server keeps the two ends for itself: what a library prints goes to stderr, and a program that a method starts
    can neither take requests nor add to the answers.
    """
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        os.dup2(nothing, 1)
    status = RpcServer(defaults, stdin=stdin, stdout=stdout, timeout=timeout).serve()
    sys.stderr.flush()
    os._exit(status)


def answers(defaults: Defaults) -> Iterator[RpcAnswer]:
    """Requests of the input, one after the other."""
    lines = RequestLines()
    descriptor = input_descriptor()
    while chunk := os.read(descriptor, _CHUNK):
        for line in lines.feed(chunk):
            yield from _answered(line, defaults)
    for line in lines.eof():
        yield from _answered(line, defaults)


def _answered(line: bytes | None, defaults: Defaults) -> Iterator[RpcAnswer]:
    answer = too_long(REQUEST_LIMIT) if line is None else None
    if line and not line.isspace():
        answer = answer_to(line, defaults, report)
    if answer is not None:
        yield RpcAnswer(answer=json.loads(answer))
