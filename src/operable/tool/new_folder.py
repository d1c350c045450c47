"""A folder of a project that is written whole or not at all: what `operable init` makes for a person to change.

Its files are written to a folder beside the place, which takes that place when all of them are there; whatever stops that,
a signal too, leaves nothing.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping

from operable.kernel.errors import EX_CANTCREAT, Fail
from operable.state.atomic import advise, move


def write_folder(folder: str, files: Mapping[str, str]) -> None:
    """Make the folder with these files, named by their paths from it; Fail CANNOT_WRITE when that is impossible."""
    parent, name = os.path.split(folder)
    try:
        os.makedirs(parent or ".", exist_ok=True)
        made = tempfile.mkdtemp(prefix=f".{name}-", dir=parent or ".")
        try:
            for path, text in files.items():
                os.makedirs(os.path.join(made, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(made, path), "w", encoding="utf-8") as file:
                    file.write(text)
            os.chmod(made, 0o755)  # noqa: S103 - mkdtemp makes private ones; this is a folder of a project
            move(made, folder)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as problem:
        raise Fail(
            "io",
            "CANNOT_WRITE",
            f"cannot write {folder}: {problem.strerror}",
            target=folder,
            hint=advise(problem, "choose a folder on another disk"),
            exit_code=EX_CANTCREAT,
        ) from problem
