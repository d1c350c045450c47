"""`operable init skill`: a skill for models, from what a tool declares of itself.

Asks the tool for its schema, its capabilities and what its commands take, and writes a SKILL.md with all of its commands on
about a page. The tool is only asked, also without `--dry-run`: no command of it is called.
"""

from __future__ import annotations

from operable.cli.app.events import FileWritten
from operable.tool import Change, Fail, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(mutates=True, examples=["init skill outline", "init skill outline --to .agents/skills --dry-run"])
def skill(tool: str, *, to: str = ".") -> Iterator[Change]:
    """Write a skill for models about a tool.

    tool: its name, its path, or its whole command line
    to: the folder that gets it, as a folder of the tool's name
    """
    import os
    import shlex

    from operable.cli.starter.skill import skill_text
    from operable.run.contract import contract_of

    words = shlex.split(tool)
    if not words:
        raise Fail("usage", "MISSING_OPERAND", "say which tool", target="tool")
    name, text = skill_text(tool, contract_of(words))
    folder = os.path.join(os.path.expanduser(to), name)
    if os.path.lexists(folder):
        hint = "--to another folder"
        raise Fail("conflict", "FILE_EXISTS", f"{folder} exists already", target=folder, hint=hint)
    yield Change("create", os.path.join(folder, "SKILL.md"), text=text)


@skill.apply
def write(changes: list[Change]) -> Iterator[FileWritten]:
    import os

    from operable.state.atomic import write_folder

    for change in changes:
        folder, file = os.path.split(str(change.target))
        write_folder(folder, {file: str(change["text"])})
        yield FileWritten(path=change.target)


COMMAND = skill
