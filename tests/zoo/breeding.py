"""Breeds the zoo: small conforming tools in three languages, and copies of them in each of which one thing was broken.

A mutation replaces one text of the program, or of the contract beside it, by another. The result has the same name and
the same files as the tool that it came from; only what it does can give it away.
"""

import json
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.zoo.bases.contract import contract

HERE = Path(__file__).parent
BASES = ("python", "node", "bash")
PROGRAM = "notes"


@dataclass(frozen=True)
class Mutation:
    """One broken tool: which check is to find it, in which commands it shows, and what was changed."""

    name: str
    base: str
    check: str
    commands: tuple[str, ...]
    changes: tuple[tuple[str, str, str], ...]  # file, old text, new text
    also: tuple[
        str, ...
    ] = ()  # checks that are right to find it too, because the same fault breaks their rule

    @property
    def id(self) -> str:
        return f"{self.base}-{self.name}"


def breed(base: str, folder: Path, mutation: Mutation | None = None) -> Path:
    """Make a tool in this folder and return its program."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy2(HERE / "bases" / base / PROGRAM, folder / PROGRAM)
    shutil.copy2(HERE / "bases" / "aoi-lint.toml", folder / "aoi-lint.toml")
    (folder / "contract.json").write_text(json.dumps(contract(), indent=1) + "\n", "utf-8")
    for file, old, new in mutation.changes if mutation is not None else ():
        path = folder / file
        text = path.read_text("utf-8")
        if text.count(old) < 1:
            raise LookupError(f"{mutation.id if mutation else base}: {file} has no {old!r}")
        path.write_text(text.replace(old, new), "utf-8")
    return folder / PROGRAM


def mutations() -> list[Mutation]:
    """Every mutation, of every base: those of tests/zoo/BASE.toml, and those of the contract for all of them."""
    found = []
    for base in BASES:
        for file in (f"{base}.toml", "contract.toml"):
            document = tomllib.loads((HERE / file).read_text("utf-8"))
            wanted = document.get("bases", BASES)
            if base in wanted:
                found += [_mutation(base, name, entry) for name, entry in document["mutations"].items()]
    return found


def variants() -> list[Mutation]:
    """Tools that conform in a way of their own: what was changed, and in which commands it shows."""
    document = tomllib.loads((HERE / "conforming.toml").read_text("utf-8"))
    return [_mutation("python", name, entry | {"check": ""}) for name, entry in document["mutations"].items()]


def _mutation(base: str, name: str, entry: dict[str, object]) -> Mutation:
    changes = entry.get("changes") or [[entry.get("file", PROGRAM), entry["old"], entry["new"]]]
    assert isinstance(changes, list)
    commands = entry.get("commands", [])
    also = entry.get("also", [])
    assert isinstance(commands, list)
    assert isinstance(also, list)
    return Mutation(
        name=name,
        base=base,
        check=str(entry["check"]),
        commands=tuple(commands),
        changes=tuple((str(file), str(old), str(new)) for file, old, new in changes),
        also=tuple(map(str, also)),
    )
