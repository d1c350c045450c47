"""One contract between agents and command lines. Start at docs/README.md.

Imports nothing, and neither do its packages until a name is used: a tool must start as fast as the interpreter does.
"""

import sys

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def lazily(package: str, homes: "dict[str, str]") -> "Callable[[str], object]":
    """The `__getattr__` of a package whose names (name -> module that defines it) are imported when they are first used."""

    def look_up(name: str) -> object:
        home = homes.get(name)
        if home is None:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        value = getattr(__import__(home, fromlist=[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return look_up
