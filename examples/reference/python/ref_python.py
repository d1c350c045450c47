#!/usr/bin/env python3
"""A conforming AOI tool in plain Python: standard library only, no SDK.

Here: the commands, and what happens from start to exit. `stream` is its output side, `arguments` the command line, `store`
the data, contract.json the documents that discovery prints. Commands send events and return what the summary adds.
"""

import json
import os
import re
import sys
import time
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from arguments import Options, read_options
from store import Store, directory, load, locked, save
from stream import CONTRACT, EXIT, Event, Fail, Interrupted, Stream, interruptible, take_signals

# An import is read whole before anything is done; beyond this, import in parts.
MAX_INPUT = 16 * 1024 * 1024
POLL = 0.2
HEARTBEAT = 1.0
# Control characters act on terminals; halves of surrogate pairs are not text.
TITLE = re.compile("[^\x00-\x1f\x7f\ud800-\udfff]{1,200}")
BAD_TITLE = "title must be 1 to 200 characters, none of them a control character"
# ASCII letters only, which every language does alike.
LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
# "create" and a title, or "delete" and an id; and what the event adds
Change = tuple[str, str, dict[str, Any]]


def list_items(stream: Stream, options: Options) -> dict[str, Any]:
    items = load(directory())["items"]
    return page(stream, options, [{"type": "entry", **item} for item in items])


def search(stream: Stream, options: Options) -> dict[str, Any]:
    query = options["query"].translate(LOWER)
    found = [item for item in load(directory())["items"] if query in item["title"].translate(LOWER)]
    hits = [{"type": "hit", "rank": rank, **item} for rank, item in enumerate(found, 1)]
    return page(stream, options, hits)


def page(stream: Stream, options: Options, events: list[Event]) -> dict[str, Any]:
    """A cursor is the number of the last id: it survives the deletion of that item."""
    after = 0
    if "cursor" in options:
        cursor = re.fullmatch("after-([0-9]{1,9})", options["cursor"])
        if cursor is None:
            raise Fail("validation", "INVALID_CURSOR", "The cursor is damaged")
        after = int(cursor[1])
    left = [event for event in events if int(event["id"][1:]) > after]
    limit = options.get("limit", 20)
    for event in left[:limit]:
        stream.send(event)
    return {"cursor": f"after-{left[limit - 1]['id'][1:]}"} if len(left) > limit else {}


def create(stream: Stream, options: Options) -> dict[str, Any]:
    if not TITLE.fullmatch(options["title"]):
        raise Fail("validation", "ITEM_INVALID", BAD_TITLE)
    return change(stream, options, ["create", options["title"]], [("create", options["title"], {})])


def delete(stream: Stream, options: Options) -> dict[str, Any]:
    if not options.get("dry-run") and not options.get("confirm"):
        message = "delete needs --confirm; nothing was done"
        raise Fail("usage", "CONFIRMATION_REQUIRED", message, target="--confirm")
    return change(stream, options, ["delete", options["id"]], [("delete", options["id"], {})])


def import_items(stream: Stream, options: Options) -> dict[str, Any]:
    changes: list[Change] = []
    ignored, open_stream, failed = 0, False, False
    for number, line in enumerate(read_input(options["input-jsonl"]).split(b"\n"), 1):
        if not line.strip():
            continue
        item = parse_line(line, number)
        kind = item.get("type", "entry")
        if kind == "aoi:meta":
            open_stream = True
        elif kind == "aoi:summary":
            open_stream, failed = False, failed or item.get("ok") is not True
        elif kind == "aoi:error":
            failed = True
        elif kind != "entry":
            ignored += not str(kind).startswith("aoi:")
        elif not isinstance(item.get("title"), str) or not TITLE.fullmatch(item["title"]):
            raise bad_line("INPUT_INVALID", f"Input line {number}: {BAD_TITLE}", number)
        else:
            changes.append(("create", item["title"], {"line_number": number}))
    if open_stream:
        raise Fail("io", "UPSTREAM_INCOMPLETE", "The upstream tool ended without a summary")
    if failed:
        raise Fail("partial", "UPSTREAM_FAILED", "The upstream tool reported a failure")
    request = ["import", *(title for _, title, _ in changes)]
    return change(stream, options, request, changes) | ({"ignored_count": ignored} if ignored else {})


def read_input(path: str) -> bytes:
    data = b""
    try:
        descriptor = 0 if path == "-" else os.open(path, os.O_RDONLY)
        while len(data) <= MAX_INPUT:
            with interruptible():
                chunk = os.read(descriptor, 65536)
            if not chunk:
                return data
            data += chunk
    except OSError:
        raise Fail("io", "INPUT_UNREADABLE", "The input cannot be read") from None
    raise Fail("validation", "INPUT_TOO_LARGE", "The input has more than 16 MiB")


def parse_line(line: bytes, number: int) -> dict[str, Any]:
    try:
        item = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise bad_line("INPUT_JSONL_PARSE_ERROR", f"Input line {number} is not JSON", number) from None
    if not isinstance(item, dict):
        raise bad_line("INPUT_INVALID", f"Input line {number} is not an object", number)
    return item


def bad_line(code: str, message: str, number: int) -> Fail:
    return Fail("validation", code, message, line_number=number)


def change(stream: Stream, options: Options, request: list[str], changes: list[Change]) -> dict[str, Any]:
    """Show the plan, or do it once and for all: a repeated call with the same key gets the events of the first."""
    home = directory()
    key = options.get("idempotency-key")
    if options.get("dry-run"):
        store = load(home)
        for action, target, more in changes:
            apply(store, action, target, more)  # in memory only
            what = {"target": target} if action == "delete" else {}
            stream.send({"type": "aoi:plan", "action": action, **what, **more})
        return {"dry_run": True}
    with locked(home):
        store = load(home)
        replayed = key in store["keys"]
        if not replayed:
            done: dict[str, Any] = {"request": request, "events": [apply(store, *item) for item in changes]}
            if key is not None:
                store["keys"][key] = done
            save(home, store)
        elif (done := store["keys"][key])["request"] != request:
            raise Fail("conflict", "IDEMPOTENCY_KEY_REUSED", "This idempotency key was used for another call")
    for event in done["events"]:
        stream.send(event)
    return {"replayed": True} if replayed else {}


def apply(store: Store, action: str, target: str, more: dict[str, Any]) -> Event:
    items = store["items"]
    if action == "create":
        items.append({"id": f"n{store['next']}", "title": target})
        store["next"] += 1
        return {"type": "created", "id": items[-1]["id"], **more}
    if all(item["id"] != target for item in items):
        raise Fail("not_found", "ITEM_NOT_FOUND", "There is no item with this id", target="ID")
    store["items"] = [item for item in items if item["id"] != target]
    return {"type": "deleted", "id": target}


def watch(stream: Stream, _options: Options) -> dict[str, Any]:
    known = {item["id"] for item in load(directory())["items"]}
    beat = 0.0
    while True:
        if time.monotonic() >= beat:
            stream.send({"type": "aoi:heartbeat"})
            beat = time.monotonic() + HEARTBEAT
        with interruptible():
            time.sleep(POLL)
        ids = {item["id"] for item in load(directory())["items"]}
        for kind, changed in (("deleted", known - ids), ("created", ids - known)):
            for name in sorted(changed, key=lambda name: int(name[1:])):
                stream.send({"type": kind, "id": name})
        known = ids


def doctor(stream: Stream, _options: Options) -> dict[str, Any]:
    ok, detail = True, ""
    try:
        detail = f"{len(load(directory())['items'])} items"
    except Fail as fail:
        ok, detail = False, str(fail)
    severity = "info" if ok else "error"
    stream.send({"type": "aoi:check", "name": "store", "ok": ok, "severity": severity, "detail": detail})
    stream.errors = int(not ok)
    return {}


COMMANDS = {
    "search": search,
    "list": list_items,
    "create": create,
    "delete": delete,
    "import": import_items,
    "watch": watch,
    "doctor": doctor,
}


def run(stream: Stream, argv: list[str]) -> int:
    if "--help" in argv or "-h" in argv or argv == ["--version"]:
        version = "{tool} {tool_version}\n".format_map(CONTRACT["capabilities"])
        stream.write(version if argv == ["--version"] else CONTRACT["help"])
        return 0
    command = argv[0] if argv and argv[0] in CONTRACT["inputs"] else None
    try:
        if command is None:
            raise Fail("usage", "UNKNOWN_COMMAND", "The first argument is not a command")
        if command not in COMMANDS:
            options = read_options(CONTRACT["inputs"][command], argv[1:])
            document = CONTRACT["inputs"][options["command"]] if "command" in options else CONTRACT[command]
            stream.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")
            return 0
        stream.meta(command)
        options = read_options(CONTRACT["inputs"][command], argv[1:])
        more = COMMANDS[command](stream, options)
        stream.finish(ok=not stream.errors, **more)
        return EXIT["validation"] if stream.errors else 0
    except Exception as error:  # noqa: BLE001 - the last resort: no stack trace, whatever happened
        unexpected = Fail("internal", "INTERNAL", "Something unexpected happened")
        fail = error if isinstance(error, Fail) else unexpected
        if command not in COMMANDS:
            stream.meta(command)
        stream.send(fail.event)
        stream.finish(ok=False)
        return EXIT[fail.category]


def main() -> None:
    stream = Stream()
    take_signals()
    try:
        status = run(stream, sys.argv[1:])
    except Interrupted as signal:
        stream.interrupted(signal.args[0])
    sys.exit(status)


if __name__ == "__main__":
    main()
