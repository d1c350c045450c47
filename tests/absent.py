"""Packages that this machine does not have, for one test: hidden from the import system, whose own guard then answers."""

import sys
from collections.abc import Sequence
from typing import Any

from operable.kernel.extras import refuse_missing


class Absent:
    """A finder before all others: finds nothing, and asks the guard as the last finder of all would."""

    def __init__(self, *modules: str) -> None:
        self.modules = modules

    def hides(self, name: str) -> bool:
        return any(name == module or name.startswith(f"{module}.") for module in self.modules)

    def find_spec(self, name: str, _path: Sequence[str] | None = None, _target: Any = None) -> None:
        if self.hides(name):
            refuse_missing(name, sys._getframe(1))
            # A question is answered with "not found", which is what the importing program hears.
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def hide(monkeypatch: Any, *modules: str) -> None:
    """Until the test ends, these modules and what is in them cannot be imported."""
    absent = Absent(*modules)
    for name in [name for name in sys.modules if absent.hides(name)]:
        monkeypatch.delitem(sys.modules, name)
        package, _, attribute = name.rpartition(".")
        if package in sys.modules and not absent.hides(package):
            monkeypatch.delattr(sys.modules[package], attribute, raising=False)
    monkeypatch.setattr(sys, "meta_path", [absent, *sys.meta_path])


# The same for a process of its own: what it runs before anything else, with the names of packages for `{modules}`.
HIDDEN = """
import sys

class Hidden:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {modules}:
            from operable.kernel.extras import refuse_missing

            refuse_missing(name, sys._getframe(1))
            raise ModuleNotFoundError("No module named " + name, name=name)

sys.meta_path.insert(0, Hidden)
"""
