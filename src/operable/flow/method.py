"""The contract of one JSON-RPC method, and how a name finds its file."""

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from operable.flow import methods
from operable.flow.errors import FlowError, invalid_argument
from operable.kernel import catalogue
from operable.kernel.errors import Fail

PREFIX = "agentcli."


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the server was started with, for params that were not given."""

    cwd: str
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    home: str | None = None
    db_path: str | None = None
    target: str | None = None
    scheduler_prefix: str | None = None
    scheduler_bin: str | None = None
    compat: str | None = None  # "0.5": the shapes of the newest peer, where they differ from the draft's


@dataclass(frozen=True, slots=True)
class Method:
    """One method. `slow` ones wait for the world and run beside the others; `order` is their place in listings.

    What does not say that it `changes` something writes nothing, runs nothing of a manifest and asks no server.
    """

    name: str
    order: int
    summary: str
    run: Callable[[dict[str, Any], Defaults], dict[str, Any]]
    slow: bool = False
    changes: bool = False
    params: tuple[str, ...] = ()


@functools.lru_cache(maxsize=64)
def method(name: str) -> Method:
    """The method of this name; FlowError when there is none. Kept, because looking costs more than a ping."""
    unknown = FlowError("unknown_command", f"Method not found: {name}")
    if not name.startswith(PREFIX):
        raise unknown
    try:
        found: Method = catalogue.load(
            "operable.flow.methods", _file_name(name.removeprefix(PREFIX)), "METHOD", kind="method"
        )
    except Fail:
        raise unknown from None
    if found.name != name:
        raise unknown  # agentcli.identity-resolve would find the same file
    return found


def _file_name(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda upper: "-" + upper[1].lower(), name).replace(".", "-")


def listed_methods() -> list[Method]:
    names = [name for directory in methods.__path__ for name in catalogue.names(directory)]
    found = [catalogue.load("operable.flow.methods", name, "METHOD", kind="method") for name in names]
    return sorted(found, key=lambda method: method.order)


def truthy(value: Any) -> bool:
    """What clients mean by it, who think in JavaScript: an empty object or list is something (`dryRun: {}` is a dry run)."""
    return bool(value) or isinstance(value, dict | list)


def required(params: Mapping[str, Any], name: str) -> Any:
    """A param that must be there and say something."""
    value = params.get(name)
    if not truthy(value):
        raise invalid_argument(f"{name} is required")
    return value


def present(params: Mapping[str, Any], name: str) -> Any:
    """A param that must be there, whatever it is."""
    if name not in params:
        raise invalid_argument(f"{name} is required")
    return params[name]


def flag(params: Mapping[str, Any], name: str) -> bool:
    """A param that is true, false or absent."""
    value = params.get(name)
    if value is not None and not isinstance(value, bool):
        raise invalid_argument(f"{name} must be a boolean")
    return bool(value)


def text_of(params: Mapping[str, Any], name: str) -> str | None:
    """A param that is a text or absent; an empty one says nothing."""
    value = params.get(name)
    if value is not None and not isinstance(value, str):
        raise invalid_argument(f"{name} must be a string")
    return value or None
