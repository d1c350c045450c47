"""What is planned for units, and their outcome: asked before and after, through the verbs that print JSON."""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.tool.framework import Change
from operable.wrap.parsers.json import PARSER
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream


_KINDS = frozenset(
    "automount device mount path scope service slice snapshot socket swap target timer".split()
)


def list_unit_files(upstream: Upstream) -> Iterator[Any]:
    """That nothing matches is status 1 without output, and an answer."""
    yield from PARSER(upstream, {})
    end = upstream.end
    if end is not None and end.status == 1 and not end.stderr.text().strip():
        exits = {**upstream.command.exits, 1: {"ok": True, "word": "no_match"}}
        upstream.command = upstream.command.replace(exits=exits)


def plan_unit_files(upstream: Upstream) -> Iterator[Change]:
    yield from _plan(upstream, _files(upstream))


def plan_units(upstream: Upstream) -> Iterator[Change]:
    yield from _plan(upstream, _units(upstream))


def unit_files(upstream: Upstream) -> Iterator[Any]:
    """Change unit files, then report their states."""
    _run(upstream)
    if upstream.end is not None and upstream.end.status == 0:
        yield from _rows("unit_file", _files(upstream))


def units(upstream: Upstream) -> Iterator[Any]:
    """Start or stop units, then report their states."""
    _run(upstream)
    if upstream.end is not None and upstream.end.status == 0:
        yield from _rows("unit", _units(upstream))


def _plan(upstream: Upstream, states: dict[str, dict[str, Any]]) -> Iterator[Change]:
    upstream.words()  # inputs that cannot be put on a command line are refused before anything is planned
    for name in map(_whole, upstream.inputs["units"]):
        known = states.get(name, {})
        yield Change(upstream.command.name, name, **known)


def _run(upstream: Upstream) -> None:
    for _ in upstream.chunks():
        pass  # its words are for people; what has become of the units is asked


def _rows(kind: str, states: dict[str, dict[str, Any]]) -> Iterator[Any]:
    for name, state in states.items():
        yield {"type": kind, kind: name, **state}


def _files(upstream: Upstream) -> dict[str, dict[str, Any]]:
    """The states of the named unit files; one that is not there is missing here."""
    return _asked(upstream, "unit_file", ["list-unit-files"])


def _units(upstream: Upstream) -> dict[str, dict[str, Any]]:
    return _asked(upstream, "unit", ["list-units", "--all"])


def _asked(upstream: Upstream, key: str, verb: list[str]) -> dict[str, dict[str, Any]]:
    inputs = upstream.inputs
    place = [f"--root={inputs['root']}"] if inputs.get("root") else []
    scope = ["--user"] if inputs.get("user") else []
    names = [_whole(name) for name in inputs["units"]]
    words = [*verb, "--output=json", *place, *scope, "--", *names]
    # Status 1 with an empty list means that nothing matches, status 1 without one is an error.
    answer = upstream.ask(words, fine=(0, 1)) or upstream.ask(words)
    try:
        found = decode(answer.strip())
        states = {each.pop(key): each for each in found}
    except (ValueError, TypeError, AttributeError, KeyError) as problem:
        raise Fail(
            "internal",
            "UPSTREAM_NON_JSON",
            f"{verb[0]} printed something that is not JSON",
            target="systemctl",
        ) from problem
    return {name: states[name] for name in names if name in states}


def _whole(name: str) -> str:
    """The name of a unit as systemd completes it: one without a kind is a service."""
    return name if name.rpartition(".")[2] in _KINDS else f"{name}.service"
