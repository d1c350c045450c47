"""What a type checker knows of commands: they are called with the parameters of their functions, and give what those give.

Checked with mypy, as an author would run it. Pyright gives the same types for this text.
"""

import re
import subprocess
import sys

AUTHOR = '''
from __future__ import annotations

from collections.abc import Iterator
from typing import reveal_type

from operable.tool import Change, Check, Event, Tool, command

tool = Tool("t", version="1", schema_name="org.example.t.events")


class Hit(Event):
    rank: int


@tool.command(limit=3)
def search(query: str, *, deep: bool = False) -> Iterator[Hit]:
    """Find."""
    yield Hit(rank=1)


@command(mutates=True)
def move(*ids: int) -> Change:
    """Move."""
    return Change("move")


@move.apply
def moved(changes: list[Change]) -> Iterator[Hit]:
    yield Hit(rank=1)


@tool.check("store")
def store() -> Check:
    return Check(ok=True)


reveal_type(search)
reveal_type(search("a", deep=True))
reveal_type(move(1, 2))
reveal_type(moved)
reveal_type(store)
reveal_type(tool.find("search"))
search(1)
search("a", depp=True)
move("1")
'''


def test_a_command_keeps_the_signature_of_its_function(tmp_path):
    (tmp_path / "author.py").write_text(AUTHOR)
    words = [sys.executable, "-m", "mypy", "--strict", "--python-executable", sys.executable, "author.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    revealed = [
        text.replace("operable.tool.signature.", "").replace("operable.tool.framework.", "")
        for text in re.findall(r'Revealed type is "(.*)"', done.stdout)
    ]
    iterator = "typing.Iterator[author.Hit]"
    assert revealed == [
        f"Command[[query: str, *, deep: bool =], {iterator}]",
        iterator,
        "Change[None]",
        f"def (changes: list[Change[None]]) -> {iterator}",
        "def () -> Check",
        "Command[..., Any] | None",
    ], done.stdout
    errors = [line.partition("error: ")[2] for line in done.stdout.splitlines() if " error: " in line]
    assert [error.rpartition("[")[2].rstrip("]") for error in errors] == ["arg-type", "call-arg", "arg-type"]
