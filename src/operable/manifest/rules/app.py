"""What crosses the fields of an APP.md, and what its body has to say about them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from operable.kernel.catalogue import nearest
from operable.manifest.kind import BodyRule, Rule
from operable.manifest.part import ManifestPart
from operable.manifest.problem import Problem

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
_SKILL = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(-[a-z0-9]+)*")
# Outside of quotes these mean something to a shell and nothing to us: entry.command is argv.
_SHELL = re.compile(r"[|&;<>`$(){}*?~\n]")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


def _commands(root: ManifestPart) -> Iterator[Problem]:
    seen: set[str] = set()
    for part, command in root.at("commands").texts():
        words = command.split()
        if not words or any(not _WORD.fullmatch(word) for word in words):
            yield part.problem(
                "COMMAND_WORD", f"{command[:80]!r} is not a command: words of letters, digits and ._:- are"
            )
        if " ".join(words) in seen:
            yield part.problem("ID_TWICE", f"the command {command[:80]!r} is listed twice")
        seen.add(" ".join(words))
    for part, command in root.at("confirmationRequired").texts():
        words = command.split()
        if not any(known.split()[: len(words)] == words for known in seen):
            near = nearest(command, sorted(seen), limit=1)
            yield part.problem(
                "CONFIRMATION_UNKNOWN",
                f"confirmationRequired names {command[:80]!r}, which is not a command",
                f"did you mean {near[0]!r}?" if near else f"commands: {', '.join(sorted(seen)[:20])}",
            )


def _entry(root: ManifestPart) -> Iterator[Problem]:
    command = root.at("entry", "command")
    if command.text is None:
        return
    try:
        words = shlex.split(command.text)
    except ValueError as error:
        yield command.problem("ENTRY_QUOTES", f"entry.command cannot be split into words: {error}")
        return
    if not words or not words[0].strip():
        yield command.problem("ENTRY_EMPTY", "entry.command names no program")
    if _SHELL.search(re.sub(r"'[^']*'", "", command.text)):
        yield command.problem(
            "ENTRY_SHELL",
            "entry.command has shell syntax; it is run as a list of arguments, without a shell",
            "name a program, or a script of the package",
            "warning",
        )


def _identity(root: ManifestPart) -> Iterator[Problem]:
    slug = root.at("slug")
    directory = root.source.directory
    if slug.text is not None and directory is not None and slug.text != directory:
        message = f"the slug {slug.text[:80]!r} is not the name of its folder ({directory!r})"
        yield slug.problem("NAME_NOT_DIRECTORY", message, level="warning")
    if not slug.present:
        yield slug.problem(
            "SLUG_MISSING", "slug is recommended: a stable name in kebab-case", level="warning"
        )
    seen: set[str] = set()
    for part, skill in root.at("skills").texts():
        if not _SKILL.fullmatch(skill):
            yield part.problem(
                "SKILL_NAME", f"{skill[:80]!r} is not a short name of a skill (a folder below skills/)"
            )
        if skill in seen:
            yield part.problem("ID_TWICE", f"the skill {skill[:80]!r} is listed twice")
        seen.add(skill)


def _scheduling(root: ManifestPart, body: str) -> Iterator[Problem]:
    scheduling = root.at("scheduling")
    documented = any("schedul" in heading.lower() for heading in _HEADING.findall(body))
    if scheduling.text == "supported" and not documented:
        yield scheduling.problem(
            "SCHEDULING_UNDOCUMENTED",
            "scheduling is supported, but the text has no section that documents its commands",
            "add a section Scheduling; commands that it does not name are never run",
        )


def _documented(root: ManifestPart, body: str) -> Iterator[Problem]:
    for part, command in root.at("commands").texts():
        words = command.split()
        if words and not re.search(r"\b" + r"\s+".join(map(re.escape, words)) + r"\b", body):
            message = f"the text does not mention the command {command[:80]!r}"
            yield part.problem(
                "COMMAND_UNDOCUMENTED", message, "document it in a section Commands", "warning"
            )


APP_RULES: tuple[Rule, ...] = (_commands, _entry, _identity)
APP_BODY_RULES: tuple[BodyRule, ...] = (_scheduling, _documented)
