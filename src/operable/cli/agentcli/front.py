"""`operable-agentcli`: workflow manifests under the flags, output and exit codes of the program that its callers know.

A second command line for the functions behind `operable flow` and `operable rpc`, for scripts that were written for
agentcli: put it in its place and they go on. Success is JSON on stdout and status 0; failure is JSON on stderr and
status 1. Where the two protocols differ, answers have the shapes of that program's newest release. AOI machine mode is
`operable flow`'s matter.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from operable.flow.errors import FlowError, error_type, invalid_argument, known_code
from operable.flow.javascript_json import javascript_json

_SHELL_STATUS_OF_A_BROKEN_PIPE = 1  # that program knows no other status


_TOKENS = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)')
_KEY, _STRING, _WORD, _NUMBER = "36", "32", "33", "35"


def main() -> None:
    """Entry point of the console script."""
    from operable.flow.errors import FlowError

    try:
        text = answer(sys.argv[1:])
    except FlowError as problem:
        _print(2, error_text(problem))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as problem:  # noqa: BLE001 - callers read JSON; a traceback is nothing to them
        _print(2, error_text(_internal(problem)))
        sys.exit(1)
    if text is not None and not _print(1, text):
        sys.exit(_SHELL_STATUS_OF_A_BROKEN_PIPE)


def answer(argv: list[str]) -> str | None:
    """What a call prints; None when it has printed already. FlowError when it fails."""
    from operable.cli.agentcli.words import read_line

    line = read_line(argv)
    form = output_format(line.flags, os.environ)
    if line.command in ("", "help"):
        asked = line.flags & {"json", "ndjson"} or os.environ.get("AGENTCLI_OUTPUT")
        return rendered({"ok": True, "usage": usage()}, form, pretty=False) if asked else usage()
    if line.command == "serve":
        _serve(line)
    from operable.cli.agentcli.words import performed

    return rendered(performed(line, _defaults(line)), form, pretty="pretty" in line.flags)


def _defaults(line: Any) -> Any:
    from operable.cli.flow.rpc import defaults_of

    return defaults_of(
        db=line.values.get("db"), home=line.values.get("home"), prefix=None, program=None, compat="0.5"
    )


def _serve(line: Any) -> None:
    from operable.cli.flow.rpc import serve
    from operable.flow.rpc.server import REQUEST_TIMEOUT

    serve(_defaults(line), REQUEST_TIMEOUT)


def usage() -> str:
    """All commands with their words and flags."""
    from operable.cli.agentcli.words import GLOBAL_FLAGS, GLOBAL_VALUES, verbs

    lines = ["Usage: agentcli <command> [arguments] [flags]", "", "Commands:"]
    for name, verb in verbs().items():
        flags = [
            *(f"[--{flag}]" for flag in sorted(verb.flags)),
            *(f"[--{flag} <value>]" for flag in sorted(verb.values)),
        ]
        lines.append("  " + " ".join([name, *([verb.usage] if verb.usage else []), *flags]))
    both = [
        *(f"--{flag}" for flag in sorted(GLOBAL_FLAGS)),
        *(f"--{flag} <value>" for flag in sorted(GLOBAL_VALUES)),
    ]
    return "\n".join([*lines, "", "Everywhere: " + ", ".join(both)])


def _internal(problem: Exception) -> Any:
    from operable.flow.errors import FlowError
    from operable.kernel.errors import Fail
    from operable.kernel.redact import redact_text

    if isinstance(problem, Fail):
        return FlowError("internal_error", redact_text(problem.message))
    return FlowError("internal_error", f"Internal error: {type(problem).__name__}")


def _print(descriptor: int, text: str) -> bool:
    """Whether a reader took it. A number that was closed when the process began may be any file by now."""
    if (sys.__stdout__ if descriptor == 1 else sys.__stderr__) is None:
        return False
    view = memoryview(text.encode("utf-8", "backslashreplace") + b"\n")
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError:
        return False
    return True


# What the agentcli command line prints: JSON with two spaces, one line per item, or colours; errors as JSON on
# stderr.


def output_format(flags: frozenset[str], environment: Mapping[str, str]) -> str:
    """`json` or `ndjson`; flags win over the environment."""
    wanted = environment.get("AGENTCLI_OUTPUT")
    if "json" in flags:
        return "json"
    if "ndjson" in flags:
        return "ndjson"
    if wanted in (None, ""):
        return "json"
    if wanted not in ("json", "ndjson"):
        raise invalid_argument(f"Unknown AGENTCLI_OUTPUT value: {wanted}. Accepted values: json, ndjson")
    return str(wanted)


def rendered(payload: Any, form: str, *, pretty: bool) -> str:
    """The text of a result, without its final newline."""
    if form == "ndjson":
        items = (
            payload
            if isinstance(payload, list)
            else payload.get("items")
            if isinstance(payload, dict)
            else None
        )
        return "\n".join(map(javascript_json, items if isinstance(items, list) else [payload]))
    text = javascript_json(payload, 2)
    return _TOKENS.sub(_coloured, text) if pretty else text


def error_text(problem: FlowError) -> str:
    """A failure as that program's callers read it."""
    validation = problem.details.get("validation")
    code = "validation_error" if validation is not None else known_code(problem.flow_code)
    said: dict[str, Any] = {
        "ok": False,
        "error": problem.message,
        "error_type": error_type(code),
        "code": code,
    }
    if validation is not None:
        said["validation"] = validation
    rest = {name: value for name, value in problem.details.items() if name != "validation"}
    return javascript_json({**said, **rest}, 2)


def _coloured(found: re.Match[str]) -> str:
    string, colon, word, number = found.groups()
    if string is not None:
        return f"\x1b[{_KEY if colon else _STRING}m{string}\x1b[0m{colon or ''}"
    return f"\x1b[{_WORD if word else _NUMBER}m{word or number}\x1b[0m"
