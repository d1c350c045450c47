"""`operable init wrap`: a draft of a wrapper for a program, from what its `--help` and its completion file say.

Runs `PROGRAM --help` and `--version`, and `PROGRAM COMMAND --help` for each command that it lists. The draft is marked
unverified, and each of its commands needs `--confirm`: what a program changes is in no help text. See
docs/guides/wrap-a-tool.md for how to finish it.
"""

from __future__ import annotations

from operable.cli.app.events import FileWritten
from operable.tool import Change, Fail, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(mutates=True, examples=["init wrap tar", "init wrap tar --to ~/.config/operable/wrappers --dry-run"])
def wrap(program: str, *, to: str = ".") -> Iterator[Change]:
    """Draft a wrapper for a program.

    program: its name, or its path
    to DIR: the folder that gets it, as a folder of the program's name
    """
    import os

    from operable.wrap.author.draft import draft

    folder = os.path.join(os.path.expanduser(to), os.path.basename(program))
    if os.path.lexists(folder):
        raise Fail(
            "conflict", "FILE_EXISTS", f"{folder} exists already", target=folder, hint="--to another folder"
        )
    for path, text in draft(program).items():
        yield Change("create", os.path.join(folder, path), text=text)


@wrap.apply
def write(changes: list[Change]) -> Iterator[FileWritten]:
    from operable.state.atomic import write_folder

    (cli,) = [str(change.target) for change in changes if str(change.target).endswith("/CLI.md")]
    folder = cli.rpartition("/")[0]
    files = {str(change.target).removeprefix(f"{folder}/"): str(change["text"]) for change in changes}
    write_folder(folder, files)
    for change in changes:
        yield FileWritten(path=change.target)


COMMAND = wrap
