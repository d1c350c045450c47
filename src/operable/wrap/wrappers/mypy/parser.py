"""The configuration of mypy, looked at before mypy is: plugins and other interpreters are code of the project."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# In the order in which mypy looks for them, in the folder of the caller and those above it.
_NAMES = ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg")
# Mypy does not look above the top of a repository.
_TOPS = (".git", ".hg")
# What makes mypy run something that the configuration chooses.
_CODE = ("plugins", "python_executable")
_LARGEST = 4 * 1024 * 1024


def check(upstream: Upstream) -> Iterator[Any]:
    """Findings, without any code of the project: the sandbox would hold it, but it is not for a reader to run it."""
    from operable.wrap.parsers.jsonl import PARSER

    path = _configuration(os.getcwd())
    if path is not None:
        named = sorted({name.replace("-", "_") for name in _settings(path)} & set(_CODE))
        if named:
            raise Fail(
                "authz",
                "PROJECT_CODE",
                f"{os.path.basename(path)} names code that mypy would run: {', '.join(named)}",
                hint="run it with: operable wrap mypy check-with-plugins",
                target="mypy",
            )
        # This one, whatever is put beside it meanwhile.
        upstream.inputs["config_file"] = path
        argv = ["--config-file=${input.config_file}", *upstream.command.argv]
        upstream.command = upstream.command.replace(argv=argv)
    return PARSER(upstream, upstream.command.parse)


def _configuration(folder: str) -> str | None:
    """The file that mypy would find in the project; None: it has none."""
    while True:
        for name in _NAMES:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and (name.endswith("mypy.ini") or _settings(path)):
                return path
        above = os.path.dirname(folder)
        if above == folder or any(os.path.exists(os.path.join(folder, top)) for top in _TOPS):
            return None
        folder = above


def _settings(path: str) -> dict[str, Any]:
    """What a file sets for all of mypy; Fail if it cannot be read, because it is unknown what mypy would make of it."""
    from configparser import Error, RawConfigParser

    try:
        with open(path, "rb") as file:
            text = file.read(_LARGEST).decode("utf-8")
        if path.endswith(".toml"):
            import tomllib

            section = tomllib.loads(text).get("tool", {}).get("mypy", {})
            return section if isinstance(section, dict) else {}
        parser = RawConfigParser()
        parser.read_string(text)
        return dict(parser["mypy"]) if parser.has_section("mypy") else {}
    except (OSError, ValueError, RecursionError, Error) as problem:
        message = f"{os.path.basename(path)} cannot be read: {type(problem).__name__}"
        raise Fail("config", "MYPY_CONFIG_INVALID", message, target="mypy") from problem
