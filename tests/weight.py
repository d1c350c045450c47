"""Which tests start processes: `./dev test --fast` leaves them out.

A file of tests is heavy when it can reach what starts a process through the modules of tests that it imports, or when it
imports a part of the product whose business that is. A test is heavy when it asks for a program or for more time, too. What is
left decides, parses, judges and renders, and is run in two minutes.
"""

import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType

import pytest

_STARTERS = {"subprocess", "asyncio.subprocess", "multiprocessing", "pty"}
# Parts of the product, and of its tools, that start processes for whoever calls them.
_PARTS = (
    "operable.proc",
    "operable.run",
    "operable.testing",
    "operable.host.session.session",
    "operable.serve",
    "tools.distribution",
)


def is_heavy(item: pytest.Item) -> bool:
    if any(item.iter_markers("needs")) or asked_seconds(item) > float(item.config.getini("timeout") or 0):
        return True
    module = getattr(item, "module", None)
    return module is not None and _starts(module.__name__)


def asked_seconds(item: pytest.Item) -> float:
    """The time limit that a test has of its own; 0 where it has that of all."""
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0]) if mark is not None and mark.args else 0.0


@cache
def _starts(name: str) -> bool:
    module = sys.modules.get(name)
    if module is None:
        return False
    names = set(_used(module))
    if names & _STARTERS or any(used.startswith(_PARTS) for used in names):
        return True
    return any(_starts(used) for used in names if used.startswith("tests.") and used != name)


def _used(module: ModuleType) -> Iterator[str]:
    """The modules that a module imports, and those whose names it imports."""
    for value in vars(module).values():
        if isinstance(value, ModuleType):
            yield value.__name__
        elif isinstance(found := getattr(value, "__module__", None), str):
            yield found
