"""`--output json`: one JSON document on stdout instead of a stream. An error is a document too.

Discovery has to start as fast as the interpreter does, and nothing of the machinery of a stream (signals, deadlines,
buffers) has anything to do for one write, so this lane loads none of it.
"""

from __future__ import annotations

import os

from operable.kernel.errors import EX_IOERR, EX_OK, EX_SIGPIPE, Fail
from operable.tool.json_text import fast_encoder, wire_bytes
from operable.tool.process import complain, take_stdout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.tool.parse.arguments import ParsedCall


def answer(call: ParsedCall, refusal: Fail | None, secrets: tuple[str, ...]) -> int:
    """Write the document that the call asks for, or the refusal; the exit code of the process."""
    try:
        stdout = take_stdout()
    except OSError:
        return EX_IOERR  # closed: there is no caller to answer
    exit_code = EX_OK
    try:
        if refusal is not None:
            raise refusal
        document: Any = next(iter(call.command.function(**_keywords(call)))).content
    except BaseException as problem:  # noqa: BLE001 - whatever it is, it ends as a structured error
        from operable.tool.emit.sinks import shown_error
        from operable.tool.run.failure import as_fail

        fail = as_fail(problem, command=call.command.name)
        document, exit_code = shown_error(fail, secrets), fail.exit_code
    encode = fast_encoder()[1]
    return _write(stdout, wire_bytes(f"{encode(document)}\n"), exit_code)


def _keywords(call: ParsedCall) -> dict[str, Any]:
    return {param.name: call.values[param.name] for param in call.command.params}


def _write(stdout: int, data: bytes, exit_code: int) -> int:
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(stdout, rest) :]
    except BrokenPipeError:
        return EX_SIGPIPE
    except OSError as failure:
        complain(f"cannot write the output: {failure.strerror}")
        return EX_IOERR
    return exit_code
