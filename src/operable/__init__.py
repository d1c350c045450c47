"""One contract between agents and command lines. Start at docs/README.md.

Imports nothing, and neither do its packages until a name is used: a tool must start as fast as the interpreter does.

A module of ours whose bytecode is valid is found by `_Bytecode`, for fewer instructions and a third of the system calls. The
interpreter's own way is made for every package: it lists folders, tries five endings in turn and looks at each file several
times. Whatever is not as simple as expected is left to it (docs/decisions/0034).
"""

import sys

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec, SourceFileLoader
    from types import CodeType, ModuleType


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


if not TYPE_CHECKING:
    SourceFileLoader, ModuleSpec = type(__loader__), type(__spec__)


class _Bytecode(SourceFileLoader):
    """On `sys.meta_path` before the finder of any package; an instance is the loader of a module that was found."""

    _code: "CodeType | None" = None

    @classmethod
    def find_spec(
        cls, name: str, path: "Sequence[str] | None" = None, _target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        """A module or package of ours that was not changed since it was compiled; None for every other."""
        if not name.startswith("operable.") or path is None or len(path) != 1:
            return None
        folder, stem = path[0], name.rpartition(".")[2]
        origin = f"{folder}/{stem}.py"
        try:
            try:
                source = _stat(origin)
            except FileNotFoundError:  # most are modules
                folder, stem = f"{folder}/{stem}", "__init__"
                origin = f"{folder}/__init__.py"
                source = _stat(origin)
            kept = f"{folder}/__pycache__/{stem}{_ENDING}"
            with _open_code(kept) as file:
                data = file.read()
            made_of = int(source.st_mtime) & 0xFFFF_FFFF | (source.st_size & 0xFFFF_FFFF) << 32
            if data[:16] != _HEAD + made_of.to_bytes(8, "little"):
                return None
            code = _loads(memoryview(data)[16:])  # noqa: S302 - as the interpreter reads it
        except (OSError, ValueError, EOFError, TypeError):
            return None
        _fix_co_filename(code, origin)
        loader = cls(name, origin)
        loader._code = code
        spec = ModuleSpec(name, loader, origin=origin, is_package=stem == "__init__")
        spec.has_location, spec.cached = True, kept
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        return spec

    def get_code(self, fullname: str) -> "CodeType | None":
        code, self._code = self._code, None
        return super().get_code(fullname) if code is None else code


class _Absent:
    """Behind every other finder: says which extra has a package that code of ours imports and nothing else knows."""

    @staticmethod
    def find_spec(
        name: str, _path: "Sequence[str] | None" = None, _target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if not name.startswith("operable"):
            extras = __import__("operable.kernel.extras", fromlist=["refuse_missing"])
            extras.refuse_missing(name, sys._getframe(1))  # noqa: SLF001 - who imports is on the stack only
        return None


sys.meta_path.append(_Absent)

try:
    from _frozen_importlib_external import MAGIC_NUMBER, PathFinder
    from _imp import _fix_co_filename  # type: ignore[attr-defined]  # typeshed leaves it out
    from io import open_code as _open_code
    from marshal import loads as _loads
    from os import stat as _stat
except ImportError:  # not CPython
    pass
else:
    _HEAD = MAGIC_NUMBER + bytes(4)
    _ENDING = f".{sys.implementation.cache_tag}.pyc"
    usual = SourceFileLoader.__name__ == "SourceFileLoader" and sys.pycache_prefix is None
    if usual and not sys.flags.optimize and PathFinder in sys.meta_path:
        sys.meta_path.insert(sys.meta_path.index(PathFinder), _Bytecode)
