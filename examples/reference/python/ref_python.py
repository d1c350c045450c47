#!/usr/bin/env python3
"""A conforming AOI tool in plain Python: standard library only, no SDK.

Here: what happens from start to exit. `commands` is what the tool does, `stream` its output side, `intake` its input side,
`arguments` the command line, `store` the data, contract.json the documents that discovery prints.
"""

import json
import os
import sys
from typing import Any

from arguments import Options, command_position, read_options
from commands import COMMANDS
from stream import EXIT, Fail, Interrupted, Stream, take_signals

TOOL = "ref-python"
VERSION = "1.4.0"
DISCOVERY = ("schema", "input-schema", "capabilities")


def discover(stream: Stream, contract: dict[str, Any], command: str, options: Options) -> int:
    document = contract["inputs"][options["command"]] if command == "input-schema" else contract[command]
    if _output(options) == "jsonl":
        stream.meta(command)
        stream.send({"type": "discovery_document", "name": command, "content": document})
        stream.finish(ok=True)
    else:
        stream.text(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")
    return 0


def run(stream: Stream, argv: list[str]) -> int:
    with open(
        os.path.join(os.path.dirname(os.path.realpath(__file__)), "contract.json"), encoding="utf-8"
    ) as file:
        contract = json.loads(file.read().replace("{tool}", TOOL).replace("{version}", VERSION))
    inputs = contract["inputs"]
    words = argv[: argv.index("--")] if "--" in argv else argv
    if "--help" in words or "-h" in words:
        stream.text(contract["help"])
        return 0
    position = command_position(inputs[""]["properties"], argv)
    command = argv[position] if position is not None and argv[position] in inputs else ""
    introduced = False
    try:
        if position is not None and not command:
            number = position + 1
            raise Fail("usage", "UNKNOWN_COMMAND", f"Argument {number} is not a command", argument=number)
        options = read_options(inputs[command], argv, position)
        if "version" in options:
            stream.text(f"{TOOL} {VERSION}\n")
            return 0
        command = command or next((name for name in DISCOVERY if name in options), "")
        if not command:
            raise Fail("usage", "MISSING_COMMAND", "A command is missing")
        if command in DISCOVERY:
            return discover(stream, contract, command, options)
        stream.meta(command, **_particulars(command, options))
        introduced = True
        return 0 if COMMANDS[command](stream, options) else EXIT["validation"]
    except Fail as fail:
        if not introduced:
            stream.meta(command or None)
        hint = {"hint": f"{TOOL} --help"} if fail.category == "usage" else {}
        stream.send({**fail.event, **hint})
        stream.finish(ok=False)
        return EXIT[fail.category]


def _particulars(command: str, options: Options) -> dict[str, Any]:
    """What else the meta event of a command says. Never arguments as they were typed."""
    found: dict[str, Any] = {}
    if command == "import":
        found = {"input_mode": "jsonl", "continue_on_error": bool(options.get("continue-on-error"))}
    if command == "watch":
        found = {"unbounded": True, "heartbeat_interval": options.get("heartbeat", 2)}
    return {**found, "dry_run": True} if options.get("dry-run") else found


def _output(options: Options) -> str:
    return str(options.get("output", options.get("format", "json")))


def main() -> None:
    stream = Stream(TOOL, VERSION)
    take_signals()
    try:
        status = run(stream, sys.argv[1:])
    except Interrupted as signal:
        stream.interrupted(signal.number)
    except Exception:  # noqa: BLE001 - the last resort: no stack trace, whatever happened
        stream.send(Fail("internal", "INTERNAL", "Something unexpected happened").event)
        stream.finish(ok=False)
        status = EXIT["internal"]
    sys.exit(status)


if __name__ == "__main__":
    main()
