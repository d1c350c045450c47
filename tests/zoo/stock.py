"""Tools that conform, made with the parsers that authors take: cobra, clap, commander, OptionParser.

Each is a folder of `parsers/`, in the language of its parser. It is built once for each state of its sources, in the cache of
the user; a recording (`tests/lint/recorded.py`) needs neither the toolchain nor a registry.
"""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.needs import CACHE as PROGRAMS
from tests.needs import missing
from tests.reference.building import alone, make, state
from tests.zoo.bases.contract import contract
from tests.zoo.breeding import HERE, PROGRAM

FOLDER = Path(__file__).with_name("parsers")
# What is built with; what is built.
BUILDERS: dict[str, tuple[str, list[str]]] = {
    "clap": ("cargo", ["cargo", "build", "--locked", "--quiet"]),
    "cobra": ("go", ["go", "build", "-o", PROGRAM, "."]),
    "commander": ("npm", ["npm", "install", "--no-audit", "--no-fund", "--silent", "--ignore-scripts"]),
    "optionparser": ("ruby", ["ruby", "-c", PROGRAM]),
}
COMMANDS = ("list", "get", "create", "delete")
_PROFILE = ("tool", "commands.create", "commands.delete", "commands.get")


@dataclass(frozen=True)
class StockTool:
    """One of them, in a folder of a test."""

    program: Path
    sources: Path
    build: Callable[[], None]


def stock(name: str, folder: Path, old: str = "", new: str = "") -> StockTool:
    """The tool with this parser, or one in which a text was replaced. Nothing is built before `build` is called."""
    sources, place = folder / "sources", folder / "tool"
    shutil.copytree(FOLDER / name, sources)
    (sources / "contract.json").write_text(json.dumps(contract(*COMMANDS), indent=1) + "\n", "utf-8")
    (sources / "aoi-lint.toml").write_text(_profile(), "utf-8")
    if old:
        program = sources / PROGRAM
        text = program.read_text("utf-8")
        assert text.count(old) == 1, old
        program.write_text(text.replace(old, new), "utf-8")
    place.mkdir()
    shutil.copy(sources / "aoi-lint.toml", place)
    # What a recording is asked about has a program that need not run.
    (place / PROGRAM).write_text("#!/bin/sh\nexit 70\n")
    (place / PROGRAM).chmod(0o755)
    return StockTool(place / PROGRAM, sources, lambda: _made(name, sources, place))


def _profile() -> str:
    """That of the bases, for these commands."""
    text = (HERE / "bases" / "aoi-lint.toml").read_text("utf-8")
    sections = [f"[{section}" for section in text.split("\n[")]
    return "\n".join(
        section.replace("[[", "[", 1) for section in sections if section.lstrip("[").startswith(_PROFILE)
    )


def _made(name: str, sources: Path, place: Path) -> None:
    toolchain, command = BUILDERS[name]
    lacking = missing(toolchain)
    if lacking is not None:
        pytest.skip(lacking)
    built = PROGRAMS / f"{name}-{state(sources)}"
    if not built.exists():
        built.parent.mkdir(parents=True, exist_ok=True)
        with alone(PROGRAMS / f"{name}.lock"):
            if not built.exists():
                problem = make(command, sources, {"CARGO_TARGET_DIR": str(PROGRAMS / "cargo-target")})
                if problem is not None:
                    pytest.skip(f"{name} cannot be built here: {problem.strip().splitlines()[-1]}")
                if name == "clap":
                    shutil.copy(PROGRAMS / "cargo-target" / "debug" / PROGRAM, sources / PROGRAM)
                shutil.copytree(sources, f"{built}.new")
                os.rename(f"{built}.new", built)
    shutil.copytree(built, place, dirs_exist_ok=True)
    (place / PROGRAM).chmod(0o755)
