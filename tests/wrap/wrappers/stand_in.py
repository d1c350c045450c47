"""A program that a test puts in place of a wrapped one, to say what the real one says only when it is ill."""

import shlex
from pathlib import Path

from tests.cli.drive import SURROUNDINGS


def stand_in(folder: Path, name: str, *, prints: str = "", status: int = 0, then: str = "") -> dict[str, str]:
    """The environment in which `name` is a script that prints this and ends so."""
    place = folder / "stand-in"
    place.mkdir()
    program = place / name
    program.write_text(f"#!/bin/sh\nprintf %s {shlex.quote(prints)}\n{then}\nexit {status}\n")
    program.chmod(0o755)
    return {"PATH": f"{place}:{SURROUNDINGS['PATH']}"}
