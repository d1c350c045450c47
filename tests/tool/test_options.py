"""The options of a command as type checkers see them are the ones that it takes."""

import pytest

from operable.tool.options import CommandOptions
from operable.tool.signature import Command

VALUES = {
    "cursor": "id",
    "short": {},
    "limit": 1,
    "timeout": 1.0,
    "grace": 1.0,
    "heartbeat": 1.0,
    "max_plan": 1,
}


def nothing() -> None:
    """Do nothing."""


@pytest.mark.parametrize("name", CommandOptions.__annotations__)
def test_each_documented_option_is_taken(name):
    value = VALUES.get(
        name,
        ()
        if name in ("examples", "secrets", "columns", "aliases", "former", "exclusive", "one_of")
        else None,
    )
    assert hasattr(Command(nothing, "x", {name: value}), name)


def test_no_option_is_taken_that_is_not_documented():
    made = Command(nothing, "x", {})
    settings = {"apply_function", "function", "injected", "name", "shared"}
    assert {name for name in vars(made) if name[0] != "_"} - settings == set(CommandOptions.__annotations__)
