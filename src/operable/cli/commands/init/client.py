"""`operable init client`: a typed client in Python, from what a tool declares of itself.

Asks the tool for its schema, its capabilities and what its commands take, and writes one module: a class with a method for
each command, with its parameters and the types of its events. The tool is only asked: no command of it is called. Calls are
made and judged by `operable.run`.
"""

from __future__ import annotations

from operable.cli.app.events import FileWritten
from operable.tool import Change, Fail, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(mutates=True, examples=["init client outline", "init client outline --to src --dry-run"])
def client(tool: str, *, to: str = ".") -> Iterator[Change]:
    """Write a typed Python client of a tool.

    tool: its name, its path, or its whole command line
    to DIR: the folder that gets it, as TOOL_client.py
    """
    import os
    import shlex

    from operable.cli.starter.client import client_text
    from operable.run.contract import contract_of

    words = shlex.split(tool)
    if not words:
        raise Fail("usage", "MISSING_OPERAND", "say which tool", target="tool")
    name, text = client_text(tool, words, contract_of(words))
    path = os.path.join(os.path.expanduser(to), f"{name}.py")
    if os.path.lexists(path):
        hint = "--to another folder, or remove it first"
        raise Fail("conflict", "FILE_EXISTS", f"{path} exists already", target=path, hint=hint)
    yield Change("create", path, text=text)


@client.apply
def write(changes: list[Change]) -> Iterator[FileWritten]:
    import os

    from operable.kernel.errors import EX_CANTCREAT
    from operable.state.atomic import advise, create_whole

    for change in changes:
        try:
            os.makedirs(os.path.dirname(change.target) or ".", exist_ok=True)
            create_whole(change.target, str(change["text"]).encode())
        except OSError as problem:
            message, hint = (
                f"cannot write it: {problem.strerror}",
                advise(problem, "--to DIR on another disk"),
            )
            raise Fail(
                "io", "CANNOT_WRITE", message, target=change.target, hint=hint, exit_code=EX_CANTCREAT
            ) from problem
        yield FileWritten(path=change.target)


COMMAND = client
