"""A machine in a folder: one declared tool that is good, slow, long or destructive, one approved application."""

import sys
from pathlib import Path

from operable.app.shelf import find
from operable.app.trust import Approvals
from tests.app.making import made
from tests.cli import forks
from tests.cli.drive import BIN, PROGRAM

# With the SDK loaded: that is most of what a server costs that answers some calls. Clients give a server few variables.
_SERVER = forks.Program(
    "operable.cli",
    forks.Prepared((*forks.COMMANDS.packages, "operable.serve", "operable.wrap", "mcp.server"), at_start=()),
)

# What most tests call. Without it the server asks all that is on this machine about itself, twenty processes for each.
HERE = ("--only", "bench", "--only", "todo")


def forked(command: list[str]) -> list[str]:
    """The same command line, for a client to start: as a fork, where neither its start nor its end by a signal is the point."""
    return [forks.stand_in(PROGRAM, _SERVER), *command[1:]]


TOOL = '''#!{python}
"""A tool for the tests."""
from __future__ import annotations
import os, time
from collections.abc import Iterator
from operable.tool import Change, Event, Progress, Tool

tool = Tool("bench", version="1.0.0", schema_name="org.example.bench", summary="Things for tests.")

class Row(Event):
    number: int
    text: str

@tool.command()
def rows(query: str, *, count: int = 3, tag: list[str] | None = None, loud: bool = False) -> Iterator[Row]:
    """Give rows."""
    for number in range(count):
        yield Row(number=number, text=query)

@tool.command(limit=None)
def long(*, count: int = 5000) -> Iterator[Row]:
    """Give many rows."""
    for number in range(count):
        yield Row(number=number, text="x" * 100)

@tool.command()
def slow() -> Iterator[Row]:
    """Take a long time."""
    with open(os.environ["BENCH_PID"], "w") as file:
        file.write(str(os.getpid()))
    yield Progress(done=1, total=4, message="on the way")
    yield Progress(done=2, total=4)
    if os.environ.get("BENCH_QUICK"):
        return
    while True:
        time.sleep(60)

@tool.command(destructive=True)
def wipe(name: str) -> Iterator[Change]:
    """Take it away."""
    yield Change("wipe", name)

@wipe.apply
def apply(changes: list[Change]) -> Iterator[Row]:
    for change in changes:
        with open(os.environ["BENCH_PID"] + ".wiped", "a") as file:
            file.write(change.target)
        yield Row(number=1, text=change.target)

tool.main()
'''


class World:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.here = HERE
        self.home = folder / "home"
        self.project = folder / "project"
        (self.project / ".git").mkdir(parents=True)
        tools = self.home / "config" / "tools"
        tools.mkdir(parents=True)
        (tools / "bench").write_text(TOOL.replace("{python}", sys.executable))
        (tools / "bench").chmod(0o755)
        (tools / "outline").symlink_to(Path(BIN) / "outline")
        self.pid = folder / "pid"
        self.env = {
            "OPERABLE_HOME": str(self.home),
            "BENCH_PID": str(self.pid),
            "PATH": f"{BIN}:/usr/bin:/bin",
        }
        self.app = made(
            self.project / "apps" / "todo",
            "os.makedirs('app/state', exist_ok=True); open('app/state/calls', 'a').write(words[0] + ' ')\n"
            "if words[0] == 'get': say({'ok': False, 'error': {'code': 'NOT_FOUND', 'message': 'No such item.'}}, 1)\n"
            "say({'ok': True, 'items': [{'id': 'td_1', 'words': words}]})",
            more="confirmationRequired: [remove, item remove]\nmetadata: {operable: {lists: {list: items}}}",
        )
        Approvals(str(self.home / "state" / "apps" / "approvals.json")).approve(find(str(self.app)))

    def rules(self, text: str) -> None:
        """The policy file of this machine's user."""
        (self.home / "config" / "policy.toml").write_text(text)

    @property
    def wiped(self) -> Path:
        return Path(f"{self.pid}.wiped")

    def command(self, *words: str) -> list[str]:
        return [PROGRAM, "mcp", "--workspace", str(self.project), "--kind", "app", "--kind", "tool", *words]
