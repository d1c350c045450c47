"""What `operable rpc` does: the server on raw descriptors, or the same requests answered as events."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

from operable.cli.flow_events import RpcAnswer
from operable.flow.method import Defaults
from operable.flow.rpc import answer_to
from operable.flow.rpc_server import REQUEST_LIMIT, RpcServer, report
from operable.tool.descriptors import input_descriptor
from operable.wire.frames import LineSplitter

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
    """The protocol itself, until the input ends. Nothing else may be written to stdout, so the process ends here."""
    status = RpcServer(defaults, stdin=0, stdout=1, timeout=timeout).serve()
    sys.stderr.flush()
    os._exit(status)


def answers(defaults: Defaults) -> Iterator[RpcAnswer]:
    """Requests of the input, one after the other."""
    lines = LineSplitter(REQUEST_LIMIT)
    descriptor = input_descriptor()
    while chunk := os.read(descriptor, _CHUNK):
        for line in lines.feed(chunk):
            yield from _answered(line, defaults)
    rest = lines.eof()
    if rest:
        yield from _answered(rest, defaults)


def _answered(line: bytes, defaults: Defaults) -> Iterator[RpcAnswer]:
    if line.strip() and (answer := answer_to(line, defaults, report)) is not None:
        yield RpcAnswer(answer=json.loads(answer))
