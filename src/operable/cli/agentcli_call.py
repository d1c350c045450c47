"""One call of the agentcli command line: its words, the caller's world, and what commands need of both."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from operable.cli.agentcli_input import read_input
from operable.cli.agentcli_words import Line
from operable.flow.errors import invalid_argument
from operable.flow.home import home_of
from operable.flow.method import Defaults, method
from operable.flow.run.caller import Caller
from operable.flow.task_query import caller_of

Json = dict[str, Any]
_POSITIVE = re.compile(r"[1-9][0-9]{0,15}")
_UNITS = {"timeout": " (milliseconds)", "ttl-s": " (seconds)"}


@dataclass(frozen=True)
class Call:
    line: Line
    defaults: Defaults

    @cached_property
    def home(self) -> str:
        return home_of(self.defaults.environment, self.defaults.home, cwd=self.defaults.cwd)

    @cached_property
    def caller(self) -> Caller:
        return caller_of(self.defaults)

    def manifest(self, index: int = 0) -> Any:
        return read_input(self.line.words[index], self.defaults, self.home)

    def word(self, index: int, default: str | None = None) -> str | None:
        return self.line.words[index] if index < len(self.line.words) else default

    def value(self, name: str) -> str | None:
        return self.line.values.get(name)

    def has(self, flag: str) -> bool:
        return flag in self.line.flags

    def number(self, name: str) -> int | None:
        """A flag that takes a positive integer."""
        given = self.value(name)
        if given is None:
            return None
        if not _POSITIVE.fullmatch(given):
            unit = _UNITS.get(name, "")
            raise invalid_argument(f"Invalid --{name} value: {given}. Must be a positive integer{unit}.")
        return int(given)

    def ask(self, asked: str, /, **params: Any) -> Json:
        """The answer of the JSON-RPC method of this name: both doors lead to the same function."""
        given = {key: value for key, value in params.items() if value is not None}
        return method(f"agentcli.{asked}").run(given, self.defaults)
