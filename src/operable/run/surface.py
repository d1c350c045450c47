"""How the capabilities of two releases of a tool differ: what a caller could do before and cannot now, or not as before.

The manifest of AOI section 17 is data, so its rules are tables. An absent flag means no. A flag that promises something
(`supports_cursor`) breaks callers when it goes; one that demands something (`requires_confirm`) when it comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

Level = Literal["compatible", "minor", "breaking"]
Change = tuple[Level, str, str, str]  # level, code, where, message

# Gone is breaking, new is minor.
_PROMISES = {
    "read_only": ("NOW_MUTATES", "changes things now", "changes nothing any more"),
    "supports_limit": ("SUPPORT_REMOVED", "no longer takes --limit", "takes --limit now"),
    "supports_cursor": ("SUPPORT_REMOVED", "no longer takes --cursor", "takes --cursor now"),
    "supports_dry_run": ("SUPPORT_REMOVED", "no longer takes --dry-run", "takes --dry-run now"),
    "supports_confirm_count": (
        "SUPPORT_REMOVED",
        "no longer takes --confirm-count",
        "takes --confirm-count now",
    ),
    "supports_idempotency_key": (
        "SUPPORT_REMOVED",
        "no longer takes --idempotency-key",
        "takes --idempotency-key now",
    ),
    "bounded": ("NO_LONGER_BOUNDED", "has no default limit any more", "has a default limit now"),
}
# New is breaking, gone is minor.
_DEMANDS = {
    "destructive": ("NOW_DESTRUCTIVE", "is destructive now", "is no longer destructive"),
    "requires_confirm": ("NOW_NEEDS_CONFIRMATION", "needs --confirm now", "needs no --confirm any more"),
    "unbounded": ("NOW_UNBOUNDED", "has no end of its own now", "ends by itself now"),
}
# A number that limits: less than before is breaking, more is minor.
_LIMITS = {"default_limit": "DEFAULT_LIMIT_CHANGED", "default_timeout": "DEFAULT_TIMEOUT_CHANGED"}
# Any change is breaking: the same call means something else.
_FIXED = ("role", "malformed_input", "malformed_input_default")
_LISTS = {"event_types": "event type", "input_modes": "input mode", "outputs": "output"}


def surface_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """What changed between two capability manifests."""
    if old.get("tool") != new.get("tool"):
        yield "breaking", "TOOL_RENAMED", "tool", f"was {old.get('tool')}, is {new.get('tool')}"
    yield from _lists(
        old, new, {"aoi_versions": "AOI version", "outputs": "output", "machine_flags": "flag"}, "tool"
    )
    yield from _codes(old, new)
    yield from _authentication(old, new, "tool")
    before, after = _commands(old), _commands(new)
    for name in before:
        if name not in after:
            yield "breaking", "COMMAND_REMOVED", name, "the command is gone"
    for name in after:
        if name not in before:
            yield "minor", "COMMAND_ADDED", name, "the command is new"
    for name in before:
        if name in after:
            yield from _command(before[name], after[name], name)


def _command(old: Mapping[str, Any], new: Mapping[str, Any], name: str) -> Iterator[Change]:
    for table, breaks_when_it_comes in ((_PROMISES, False), (_DEMANDS, True)):
        for key, (code, worse, better) in table.items():
            before, after = old.get(key) is True, new.get(key) is True
            if before != after:
                breaking = after is breaks_when_it_comes
                yield ("breaking", code, name, worse) if breaking else ("minor", "RELAXED", name, better)
    for key, code in _LIMITS.items():
        yield from _limit(old.get(key), new.get(key), key, code, name)
    for key in _FIXED:
        if key in old and old[key] != new.get(key):
            yield "breaking", "BEHAVIOUR_CHANGED", name, f"{key} was {old[key]}, is {new.get(key)}"
    yield from _heartbeat(old.get("heartbeat_interval"), new.get("heartbeat_interval"), name)
    yield from _authentication(old, new, name)
    yield from _lists(old, new, _LISTS, name)


def _limit(before: Any, after: Any, key: str, code: str, name: str) -> Iterator[Change]:
    if before == after:
        return
    # No number: no limit. A new limit cuts what callers got before.
    less = after is not None and (before is None or after < before)
    shown = ("none" if value is None else f"{value:g}" for value in (before, after))
    yield "breaking" if less else "minor", code, name, "{} was {}, is {}".format(key, *shown)


def _heartbeat(before: Any, after: Any, name: str) -> Iterator[Change]:
    if before is not None and before != after:
        # Consumers take a stream for dead after a few missed beats.
        slower = after is None or after > before
        yield (
            "breaking" if slower else "minor",
            "HEARTBEAT_CHANGED",
            name,
            f"the interval was {before}, is {after}",
        )


def _lists(
    old: Mapping[str, Any], new: Mapping[str, Any], keys: Mapping[str, str], where: str
) -> Iterator[Change]:
    for key, word in keys.items():
        before, after = old.get(key), new.get(key)
        if not isinstance(before, list) or not isinstance(after, list):
            continue
        code = word.upper().replace(" ", "_")
        for item in before:
            if item not in after:
                yield "breaking", f"{code}_REMOVED", where, f"{word} {item} is gone"
        for item in after:
            if item not in before:
                yield "minor", f"{code}_ADDED", where, f"{word} {item} is new"


def _codes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    before, after = old.get("exit_codes"), new.get("exit_codes")
    if isinstance(before, dict) and isinstance(after, dict):
        for name, code in before.items():
            if after.get(name) != code:
                yield "breaking", "EXIT_CODE_CHANGED", "tool", f"{name} was {code}, is {after.get(name)}"


def _authentication(old: Mapping[str, Any], new: Mapping[str, Any], where: str) -> Iterator[Change]:
    before, after = old.get("auth"), new.get("auth")
    if before == after:
        return
    needed, needs = _needs_authentication(before), _needs_authentication(after)
    if needs and not needed:
        yield "breaking", "NOW_NEEDS_AUTHENTICATION", where, "needs authentication now"
    elif needed and not needs:
        yield "minor", "RELAXED", where, "needs no authentication any more"
    elif needs:
        yield "breaking", "AUTHENTICATION_CHANGED", where, "needs another authentication now"


def _needs_authentication(auth: Any) -> bool:
    return auth.get("required") is not False if isinstance(auth, dict) else bool(auth)


def _commands(manifest: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    commands = manifest.get("commands")
    return {
        entry["name"]: entry
        for entry in (commands if isinstance(commands, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("name"), str)
    }
