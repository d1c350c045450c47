"""Texts that a user keeps in files: commands (`NAME.md`) and skills (folders with a `SKILL.md`).

They are data: a person chooses a command, a model reads a skill, and neither gives a right. So those of a project count
without an approval, like its AGENTS.md. Of two with one name the user's own counts.

    user       <config>/commands/NAME.md      <config>/skills/NAME/SKILL.md
    project    .operable/commands/NAME.md     .operable/skills, .agents/skills and .claude/skills /NAME/SKILL.md
"""

import os
import re
from collections.abc import Iterator

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.project import places
from operable.project.schema import NAMES, PromptCommand
from operable.state.paths import config_path

_MOST = 200  # of one folder
_LIMIT = 64 * 1024
_SKILLS = (".operable/skills", ".agents/skills", ".claude/skills")
_HOLE = re.compile(r"\$(ARGUMENTS|[1-9])")
_DESCRIPTION = 300


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill: when it is of use, and where its text is. `root`: the folder that it may not lead out of."""

    name: str
    description: str
    path: str
    root: str

    def text(self) -> str:
        """What the model reads. OSError, ValueError: it cannot be read any more."""
        data = places.read(self.path, self.root, _LIMIT)
        if data is None:
            raise FileNotFoundError(f"{self.path} is not there any more")
        return _parted(data, self.path)[1]


def commands(folder: str) -> dict[str, tuple[PromptCommand, str]]:
    """Name -> the command and its file, of the user and of a project's folder."""
    found: dict[str, tuple[PromptCommand, str]] = {}
    for root, where in _places("commands", folder, (".operable/commands",)):
        for entry in _entries(where):
            name, mark, _ = entry.rpartition(".md")
            path = os.path.join(where, entry)
            data = _data(path, root) if mark and NAMES.fullmatch(name) else None
            if data is not None:
                head, body = _parted(data, path)
                found.setdefault(name, (PromptCommand(body.strip(), _described(head)), path))
    return found


def skills(folder: str) -> dict[str, Skill]:
    """Name -> skill, of the user and of a project's folder."""
    found: dict[str, Skill] = {}
    for root, where in _places("skills", folder, _SKILLS):
        for entry in _entries(where):
            path = os.path.join(where, entry, "SKILL.md")
            data = _data(path, root) if NAMES.fullmatch(entry) else None
            if data is not None:
                description = _described(_parted(data, path)[0])
                found.setdefault(entry, Skill(entry, description, path, root))
    return found


def expand(prompt: str, arguments: str) -> str:
    """A prompt with what was said behind its name; what has no place in it follows it."""
    if not _HOLE.search(prompt):
        return f"{prompt}\n\n{arguments}" if arguments else prompt
    words = arguments.split()
    known = {"ARGUMENTS": arguments, **{str(number): word for number, word in enumerate(words, 1)}}
    return _HOLE.sub(lambda match: known.get(match[1], ""), prompt)


def _places(own: str, folder: str, of_project: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(the folder that nothing may lead out of, the folder with the files), the user's own first."""
    mine = config_path(own)
    if mine is not None:
        yield mine, mine
    for name in of_project:
        yield folder, os.path.join(folder, name)


def _entries(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:_MOST]
    except OSError:
        return []


def _data(path: str, root: str) -> bytes | None:
    try:
        return places.read(path, root, _LIMIT)
    except (OSError, ValueError):
        return None  # what cannot be read is not offered


def _parted(data: bytes, path: str) -> tuple[dict[str, object], str]:
    """The members before the text, and the text; a file without members is all text."""
    text = data.decode("utf-8", "replace")
    if not text.startswith("---"):
        return {}, text
    from operable.manifest.frontmatter import parse_document

    try:
        document = parse_document(text, path)
    except Fail:
        return {}, text
    return document.data, document.body


def _described(head: dict[str, object]) -> str:
    said = head.get("description")
    return " ".join(said.split())[:_DESCRIPTION] if isinstance(said, str) else ""
