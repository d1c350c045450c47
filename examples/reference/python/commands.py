"""What the tool does: one function for each command, which sends events and ends with the summary.

Commands that change something only plan, and `_change` does the rest in the same way for all of them: the dry run, the
idempotency key, the lock. Each returns whether the run was a success; failures of the whole run are raised.
"""

import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from arguments import Options
from intake import Intake, problem
from store import Store, directory, load, locked, sha256
from stream import Event, Fail, Stream, interruptible

POLL = 0.2  # seconds between two looks at the store while watching


class Change(NamedTuple):
    """One planned change: `item` is made, or the item with `id` deleted."""

    action: str
    id: str | None
    item: dict[str, str] | None = None
    line: int | None = None

    def plan(self) -> Event:
        target = {} if self.id is None else {"target": self.id}
        return {"type": "aoi:plan", "action": self.action, **target, **self._line()}

    def apply(self, store: Store) -> Event:
        if self.item is None:
            store.items = [item for item in store.items if item["id"] != self.id]
            return {"type": "deleted", "id": self.id}
        made = self.id or "i_" + os.urandom(6).hex()
        store.add({"id": made, "title": self.item["title"], "body": self.item.get("body", "")})
        return {"type": "created", "id": made, **self._line()}

    def _line(self) -> dict[str, int]:
        return {} if self.line is None else {"line_number": self.line}


# What is wrong with single items, and what is to be done with the others.
Plan = tuple[list[Event], list[Change]]


def search(stream: Stream, options: Options) -> bool:
    words = [word for word in _lower(options["query"]).split(" ") if word]
    if not words:
        raise Fail("usage", "INVALID_VALUE", "QUERY must have a word", target="QUERY")

    def matches(item: dict[str, Any]) -> bool:
        text = _lower(f"{item['title']}\n{item['body']}")
        return all(word in text for word in words)

    def hit(item: dict[str, Any], rank: int) -> Event:
        return {
            "type": "hit",
            "rank": rank,
            "id": item["id"],
            "title": item["title"],
            "snippet": item["body"][:80],
        }

    found = [item for item in load(directory()).items if matches(item)]
    return _page(stream, options, "search", found, hit)


def list_items(stream: Stream, options: Options) -> bool:
    def entry(item: dict[str, Any], _rank: int) -> Event:
        return {"type": "entry", "id": item["id"], "title": item["title"], "body": item["body"]}

    return _page(stream, options, "list", load(directory()).items, entry)


def _page(
    stream: Stream,
    options: Options,
    command: str,
    items: list[dict[str, Any]],
    event: Callable[[dict[str, Any], int], Event],
) -> bool:
    scope = f"{command}\n{options.get('query', '')}\n"
    after = 0
    if "cursor" in options:
        position = options["cursor"].partition("-")[0]
        if _cursor(scope, position) != options["cursor"] or not position.isdecimal():
            raise Fail("validation", "INVALID_CURSOR", "The cursor is damaged, or belongs to another call")
        after = int(position)
    ranked = [(rank, item) for rank, item in enumerate(items, start=1) if item["seq"] > after]
    page = ranked[: options.get("limit", 20)]
    for rank, item in page:
        stream.send(event(item, rank))
    cursor = _cursor(scope, str(page[-1][1]["seq"])) if len(page) < len(ranked) else None
    stream.finish(ok=True, next_cursor=cursor)
    return True


def _cursor(scope: str, position: str) -> str:
    """A place in the results of one call, which survives deletions; the digest makes it opaque, and safe to check."""
    return f"{position}-{sha256(scope + position)[:16]}"


def create(stream: Stream, options: Options) -> bool:
    item: dict[str, str] = {name: options[name] for name in ("id", "title", "body") if name in options}
    if (reason := problem(item)) is not None:
        raise Fail("validation", "ITEM_INVALID", reason)
    request = sha256(f"create\n{item.get('id', '')}\n{item['title']}\n{item.get('body', '')}")

    def plan(store: Store) -> Plan:
        if any(item.get("id") == known["id"] for known in store.items):
            raise Fail("conflict", "ID_EXISTS", "An item with this id exists")
        return [], [Change("create", item.get("id"), item)]

    return _change(stream, options, request, plan)


def delete(stream: Stream, options: Options) -> bool:
    ids = list(dict.fromkeys(options["ids"]))
    if not options.get("dry-run"):
        _check_confirmed(options, len(ids))

    def plan(store: Store) -> Plan:
        known = {item["id"] for item in store.items}
        for number, wanted in enumerate(options["ids"], start=1):
            if wanted not in known:
                raise Fail(
                    "not_found",
                    "ITEM_NOT_FOUND",
                    f"Operand {number} is not the id of an item",
                    operand=number,
                )
        return [], [Change("delete", wanted) for wanted in ids]

    return _change(stream, options, sha256("\n".join(["delete", *ids])), plan)


def _check_confirmed(options: Options, count: int) -> None:
    if not options.get("confirm"):
        message = f"delete would delete {count} and needs --confirm; nothing was done"
        raise Fail("usage", "CONFIRMATION_REQUIRED", message, planned=count)
    if count > 1 and "confirm-count" not in options:
        message = f"delete would delete {count} and needs --confirm-count; nothing was done"
        raise Fail("usage", "CONFIRMATION_REQUIRED", message, planned=count)
    if options.get("confirm-count", count) != count:
        message = f"delete would delete {count}, which is not --confirm-count; nothing was done"
        raise Fail("conflict", "CONFIRM_COUNT_MISMATCH", message, planned=count)


def import_items(stream: Stream, options: Options) -> bool:
    tolerant = bool(options.get("continue-on-error"))
    intake = Intake(stream, options["input-jsonl"], tolerant=tolerant)
    lines = intake.read()

    def plan(store: Store) -> Plan:
        known = {item["id"] for item in store.items}
        problems, changes = [], []
        for number, item in lines:
            wanted = item.get("id")
            if wanted in known:
                message = f"Input line {number}: an item with this id exists"
                fail = Fail("conflict", "ID_EXISTS", message, line_number=number)
                if not tolerant:
                    raise fail
                problems.append(fail.event)
                continue
            changes.append(Change("create", wanted, item, number))
            if wanted is not None:
                known.add(wanted)
        return problems, changes

    request = sha256(f"import\n{int(tolerant)}\n{intake.digest}")
    return _change(stream, options, request, plan, **intake.remarks)


def _change(
    stream: Stream, options: Options, request: str, plan: Callable[[Store], Plan], **remarks: int
) -> bool:
    """Show the plan, or do it once and for all; a repeated call with the same key gets the events of the first."""
    home = directory()
    key = options.get("idempotency-key")
    snapshot = load(home)
    dry = bool(options.get("dry-run"))
    done = None if dry or key is None else snapshot.done(key, request)
    if done is None:
        problems, changes = plan(snapshot)  # before the lock: what is refused leaves no trace
        if dry:
            return _report(
                stream, [*problems, *(change.plan() for change in changes)], {"dry_run": True, **remarks}
            )
        with locked(home) as store:
            done = None if key is None else store.done(key, request)
            if done is None:
                return _report(stream, _do(store, plan, key, request), remarks)
    return _report(stream, done, {"replayed": True, **remarks})


def _do(store: Store, plan: Callable[[Store], Plan], key: str | None, request: str) -> list[Event]:
    problems, changes = plan(store)
    events = [*problems, *(change.apply(store) for change in changes)]
    if key is not None:
        store.remember(key, request, events)
    store.save()
    return events


def _report(stream: Stream, events: list[Event], extra: dict[str, Any]) -> bool:
    for event in events:
        stream.send(event)
    ok = stream.errors == 0
    stream.finish(ok=ok, partial=not ok, **extra)
    return ok


def watch(stream: Stream, options: Options) -> bool:
    home = directory()
    known = {item["id"] for item in load(home).items}
    seen = _state(home)
    beat = 0.0
    while True:
        if time.monotonic() >= beat:
            stream.send(
                {"type": "aoi:heartbeat", "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
            )
            beat = time.monotonic() + options.get("heartbeat", 2)
        with interruptible():
            time.sleep(POLL)
        if (state := _state(home)) == seen:
            continue
        seen = state
        ids = [item["id"] for item in load(home).items]
        for gone in sorted(known - set(ids)):
            stream.send({"type": "deleted", "id": gone})
        for made in ids:
            if made not in known:
                stream.send({"type": "created", "id": made})
        known = set(ids)


def _state(home: str) -> tuple[int, ...]:
    """Changes whenever the store is replaced."""
    try:
        status = os.stat(os.path.join(home, "items.jsonl"))
    except OSError:
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_size


def doctor(stream: Stream, _options: Options) -> bool:
    failed = 0

    def check(name: str, detail: str, *, ok: bool = True) -> None:
        nonlocal failed
        failed += not ok
        severity = "info" if ok else "error"
        stream.send({"type": "aoi:check", "name": name, "ok": ok, "severity": severity, "detail": detail})

    try:
        home = directory()
        check("home", "set")
        store = load(home)
        check("store", f"{len(store.items)} items" if os.path.exists(store.path) else "none yet")
    except Fail as fail:
        check("home" if fail.category == "config" else "store", fail.event["message"], ok=False)
    # Whether a secret is there may be said; what it is, or how long, may not.
    check("api_token", "set" if os.environ.get("REF_API_TOKEN") else "not set, and not needed")
    stream.errors = failed
    stream.finish(ok=failed == 0)
    return failed == 0


def _lower(text: str) -> str:
    """ASCII letters only, which every language does alike."""
    return text.encode("utf-8", "surrogateescape").lower().decode("utf-8", "surrogateescape")


COMMANDS = {
    "search": search,
    "list": list_items,
    "create": create,
    "delete": delete,
    "import": import_items,
    "watch": watch,
    "doctor": doctor,
}
