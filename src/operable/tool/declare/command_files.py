"""Commands that are in a folder, one a file: `list.py` is `list`, and `agent/list.py` is `agent list`.

A name is looked for on the disk, and only the file of the command that runs is loaded: a tool of eighty commands starts like
one of two. Loaded only by tools that have such a folder.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class CommandFiles:
    """The commands in the folders of a package; each file ends with its `COMMAND`."""

    def __init__(self, package: str) -> None:
        self._package = package

    def names(self) -> list[str]:
        from operable.kernel.catalogue import names

        found = []
        for directory in self._folders():
            for name in names(directory):
                folder = f"{directory}/{name.replace('-', '_')}"
                group = os.path.isdir(folder)
                found += [f"{name} {inner}" for inner in names(folder)] if group else [name]
        return found

    def __contains__(self, name: str) -> bool:
        return self._has_file(name) or name in self.names()

    def load(self, name: str) -> Any:
        """The `COMMAND` with which the file of this command ends."""
        if self._has_file(name):
            module = f"{self._package}.{name.replace('-', '_').replace(' ', '.')}"
            __import__(module)
            found = sys.modules[module].COMMAND
            if " " in name:  # a file knows its own name, but not which folder makes it a command of a group
                found.name = name
            return found
        from operable.kernel.catalogue import load

        return load(self._package, name, "COMMAND")

    def has_group(self, name: str) -> bool:
        """Whether there is a folder of this name, which contains commands of two words."""
        folder = name.replace("-", "_")
        if "_" in name or not folder.isidentifier():
            return False
        return any(os.path.exists(f"{path}/{folder}/__init__.py") for path in self._folders())

    def forms(self, group: str) -> tuple[str, ...]:
        """What may follow the first word of a group beside its commands: `FORMS` of its folder."""
        module = f"{self._package}.{group.replace('-', '_')}"
        __import__(module)
        forms: tuple[str, ...] = getattr(sys.modules[module], "FORMS", ())
        return forms

    def _has_file(self, name: str) -> bool:
        module = name.replace("-", "_")
        words = module.split(" ")
        if "_" in name or len(words) > 2 or not all(word.isidentifier() and word[0] != "_" for word in words):
            return False
        file = f"{'/'.join(words)}.py"
        return any(os.path.exists(f"{path}/{file}") for path in self._folders())

    def _folders(self) -> list[str]:
        __import__(self._package)
        return list(sys.modules[self._package].__path__)
