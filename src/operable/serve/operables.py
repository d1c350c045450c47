"""The words of the catalog: an `Operable` is one thing that can be operated, its actions are its commands.

A `OperableSource` finds operables of one kind, without running anything but tools that were declared to speak AOI.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from operable.offer.action import Action, Adapter, Risk

Health = Literal["ok", "missing", "broken", "unapproved", "unknown"]


@dataclass(frozen=True, slots=True)
class Operable:
    """One thing that can be operated."""

    kind: str  # the name of its source: tool, wrap, app, agent
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
