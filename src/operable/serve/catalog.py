"""Everything operable on this machine, from all sources. A source that fails is one entry with its problem."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from operable.kernel.catalogue import load, names, unknown
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.offer.action import Action, Adapter, Risk

Health = Literal["ok", "missing", "broken", "unapproved", "unknown"]
_PACKAGE = "operable.serve.sources"
_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sources")


_FRESH = 10.0  # seconds that a listing is kept: finding everything reads many manifests
_kept: dict[str, tuple[float, list[Operable]]] = {}
_finding = threading.Lock()


# The words of the catalog: an `Operable` is one thing that can be operated, its actions are its commands.
# A `OperableSource` finds operables of one kind, without running anything but tools that were declared to speak AOI.
@dataclass(frozen=True, slots=True)
class Operable:
    """One thing that can be operated."""

    kind: str  # the name of its source: tool, wrap, app, agent, flow, mcp
    name: str
    version: str = ""
    description: str = ""
    place: str = ""
    actions: tuple[Action, ...] = ()
    capabilities: tuple[str, ...] = ()  # what it or any of its commands can do beyond running, in words
    auth: str = "none"  # none: it needs no login; required; authed, unauthed, unknown: the state of the one that it needs
    health: Health = "ok"
    problem: str | None = None
    adapter: Adapter | None = None  # None: it is not called command by command

    @property
    def risk(self) -> Risk:
        """The worst of its commands."""
        order: tuple[Risk, ...] = ("read-only", "changes", "unknown", "destructive")
        found: list[Risk] = [action.risk for action in self.actions] or ["unknown"]
        return max(found, key=order.index)


@dataclass(frozen=True, slots=True)
class OperableSource:
    """One kind of operables. A broken one is found with its problem; it never hides the others."""

    kind: str
    summary: str
    find: Callable[[str], Iterator[Operable]]
    """From the folder of the workspace."""


# Whether a user is logged in, by what a manifest declares of it: variables and files. Nothing is run, no file is
# read.


def login_state(variables: Sequence[str], paths: Sequence[str], workspace: str, *, can_be_asked: bool) -> str:
    """`authed` when one of them is there, else `unauthed`; `unknown` where only the program itself could say."""
    there = any(os.environ.get(name) for name in variables) or any(
        os.path.exists(os.path.join(workspace, os.path.expanduser(path))) for path in paths
    )
    if there:
        return "authed"
    return "unknown" if can_be_asked or not (variables or paths) else "unauthed"


def kinds() -> list[str]:
    return names(_FOLDER)


def catalog(workspace: str = ".", *, only: Iterable[str] = (), search: str = "") -> Iterator[Operable]:
    """What there is, by kind and name. `only` are kinds; `search` are words that its name, description or commands have."""
    chosen = sorted(set(only)) or kinds()
    known = kinds()
    for kind in chosen:
        if kind not in known:
            raise unknown("kind", kind, known)
    wanted = search.lower().split()
    for kind in chosen:
        for each in sorted(_found(kind, os.path.realpath(workspace)), key=lambda found: found.name):
            text = _text(each)
            if all(word in text for word in wanted):
                yield each


async def recent_catalog(kind: str | None = None) -> list[Operable]:
    """Everything of this kind from the folder of the process, found anew every few seconds: for servers."""
    import asyncio

    kept = _kept_now(kind)
    return await asyncio.to_thread(_find_once, kind) if kept is None else kept


def _find_once(kind: str | None) -> list[Operable]:
    """Callers that come while it is found wait for that, and do not find it once more."""
    with _finding:
        if (kept := _kept_now(kind)) is not None:
            return kept
        found = list(catalog(os.getcwd(), only=() if kind is None else (kind,)))
        _kept[kind or ""] = time.monotonic(), found
        return found


def _kept_now(kind: str | None) -> list[Operable] | None:
    """What was found a moment ago, of this kind or of every kind."""
    for key in {kind or "", ""}:
        known = _kept.get(key)
        if known is not None and time.monotonic() - known[0] <= _FRESH:
            return [each for each in known[1] if kind is None or each.kind == kind]
    return None


def _found(kind: str, workspace: str) -> list[Operable]:
    found: list[Operable] = []
    try:
        source: OperableSource = load(_PACKAGE, kind, "SOURCE", kind="source")
        for each in source.find(workspace):
            found.append(each)  # noqa: PERF402 - what was found before a failure counts
        return found
    except Fail as failure:
        problem = failure.message
    except Exception as error:  # noqa: BLE001 - what we did not foresee of one source must not hide the others
        problem = f"unexpected {type(error).__name__}: {error}"
    return [*found, Operable(kind, kind, health="broken", problem=problem, auth="unknown")]


def _text(each: Operable) -> str:
    actions = " ".join(f"{action.name} {action.summary}" for action in each.actions)
    return f"{each.kind} {each.name} {each.description} {' '.join(each.capabilities)} {actions}".lower()
