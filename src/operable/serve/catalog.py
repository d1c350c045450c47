"""Everything operable on this machine, from all sources. A source that fails is one entry with its problem."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from operable.kernel.catalogue import load, names, unknown
from operable.kernel.errors import Fail
from operable.serve.operables import Operable, OperableSource

_PACKAGE = "operable.serve.sources"
_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sources")


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


def _found(kind: str, workspace: str) -> list[Operable]:
    source: OperableSource = load(_PACKAGE, kind, "SOURCE", kind="source")
    found: list[Operable] = []
    try:
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
