"""What each command does in each environment, as one word; kept in `matrix.json` for docs/reference/extras.md."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from tests.package.environments import Environment
from tests.package.scenes import VARIABLES, Scene, prepare, task

KEPT = Path(__file__).with_name("matrix.json")
NEITHER = MappingProxyType[str, str]({})


def judged(
    environment: Environment, wanted: Iterable[Scene], folder: Path, more: Mapping[str, str] = NEITHER
) -> dict[str, str]:
    """`works`, `EXTRA_MISSING extra` or `TRACEBACK …` of each scene. An error about anything but a package works."""
    home, place = folder / "home", folder / "place"
    home.mkdir()
    place.mkdir()
    prepare(place)
    variables = {
        "OPERABLE_WRAPPERS": str(place / "wrappers"),
        "PATH": f"{environment.python.parent}:{place / 'bin'}:/usr/bin:/bin",
        **VARIABLES,
        **more,
    }
    wanted = list(wanted)
    results = environment.run([task(scene, place) for scene in wanted], home, variables)
    return {scene.name: outcome(**results[" ".join(scene.words)]) for scene in wanted}


def outcome(words: list[str], status: int | None, text: str) -> str:
    if (
        "Traceback (most" in text
        or "INTERNAL_ERROR" in text
        or "No module named" in text
        or "Unexpected " in text
    ):
        return f"TRACEBACK {text[-500:]}"
    missing = re.search(
        r"^(?:operable|prog): .*this needs the package .*?, which is not installed", text, re.MULTILINE
    )
    if not missing:
        return "works"
    line = re.search(r"pip install '?operable(?:\[([a-z0-9-]+)\])?'?", text)
    assert line is not None, (words, text)
    # The built-in agent is a process of its own: its host says what it said.
    assert status == 78 or "the agent ended with status 78" in missing[0], (words, status, text)
    return f"EXTRA_MISSING {line[1]}"
