"""What a tool says about itself (AOI section 3), asked once and kept: `TOOL schema`, `TOOL capabilities`.

Theory of operation. What is asked, and what is made of the answers, is a generator of requests (`_questions`); the sync and
the async client differ in how they run a request. Answers are kept on disk under the identity of the tool: the path,
size and time of its program and of every file among its leading words, and the version options of the call. A program
file may stay the same while the package behind it changes (an editable install): `Description.fits` compares the version
that the stream announces, and a description that does not fit is asked for again. The answers to further questions
(`adocument`) are kept as long as the description is.

A tool is never asked behind the caller's back before it has shown that it speaks AOI: `rm schema` would be a command.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import field
from typing import Any

import msgspec

from operable.kernel.canonical import digest
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.command import PreparedCommand
from operable.proc.run import CommandOutput, aoutput, output
from operable.proc.spawn import prepare
from operable.state import cache
from operable.state.paths import cache_path
from operable.wire.framework import Meta

# Written into each entry; an entry of another format is not read.
_FORMAT = "2"


@dataclass(frozen=True, slots=True)
class Description:
    """The answers of one tool; None where it gave none, with the reason in `notes`."""

    schema: dict[str, Any] | None = None
    capabilities: dict[str, Any] | None = None
    notes: tuple[str, ...] = field(default=())

    def fits(self, meta: Meta) -> bool:
        """Whether this is the release that the stream comes from, as far as both say."""
        known = (self.capabilities or {}).get("tool_version")
        return (
            not (isinstance(known, str) and isinstance(meta.tool_version, str)) or known == meta.tool_version
        )

    def unbounded(self, command: str) -> bool | None:
        """Whether this command of the tool has no end of its own; None when it does not say."""
        for entry in (self.capabilities or {}).get("commands") or ():
            if isinstance(entry, dict) and entry.get("name") == command and "unbounded" in entry:
                return entry["unbounded"] is True
        return None


@dataclass(frozen=True, slots=True)
class ToolSource:
    """A tool that can be asked: the words it is called with, and the surroundings it runs in."""

    words: tuple[str, ...]
    env: Mapping[str, str] | None = None
    inherit: Sequence[str] = ()
    cwd: str | os.PathLike[str] | None = None
    version_options: tuple[str, ...] = ()

    def command(self, *arguments: str) -> PreparedCommand:
        return prepare([*self.words, *arguments], env=self.env, inherit=self.inherit, cwd=self.cwd)


def describe(source: ToolSource, *, refresh: bool = False) -> Description:
    """The tool's own description: from the cache, else by asking it (and then kept)."""
    path = _entry(source)
    if not refresh and (kept := cached(source)) is not None:
        return kept
    questions = _questions(source)
    try:
        command = next(questions)
        while True:
            command = questions.send(_answer(command))
    except StopIteration as end:
        return _keep(path, end.value)


async def adescribe(source: ToolSource, *, refresh: bool = False) -> Description:
    """`describe` for asyncio."""
    path = _entry(source)
    if not refresh and (kept := cached(source)) is not None:
        return kept
    questions = _questions(source)
    try:
        command = next(questions)
        while True:
            try:
                answer: CommandOutput | Fail = await aoutput(command)
            except Fail as problem:
                answer = problem
            command = questions.send(answer)
    except StopIteration as end:
        return _keep(path, end.value)


def cached(source: ToolSource) -> Description | None:
    """What is kept about this tool, without running anything."""
    try:
        entry = cache.load(_entry(source), _FORMAT, private=True)
    except Fail:
        return None  # the tool is not there
    if not isinstance(entry, dict):
        return None
    return Description(entry.get("schema"), entry.get("capabilities"), tuple(entry.get("notes", ())))


async def adocument(source: ToolSource, *arguments: str) -> dict[str, Any] | None:
    """What the tool answers to these words: kept, or asked for (and then kept). Returns None if it is not an object.

    An answer belongs to the description that is kept about the tool, and is asked for again when that has changed.
    """
    try:
        place, description = _entry(source), cached(source)
        kept_at = (
            f"{place}.{digest(list(arguments)).removeprefix('sha256:')[:32]}" if place and description else ""
        )
        fingerprint = digest([_FORMAT, description and description.capabilities])
        if (document := cache.load(kept_at, fingerprint, private=True)) is not None:
            return document if isinstance(document, dict) else None
        document, _ = _document(await aoutput(source.command(*arguments)))
    except Fail:
        return None
    if document is not None:
        cache.keep(kept_at, fingerprint, document, private=True)
    return document


def version_options(argv: Sequence[str]) -> tuple[str, ...]:
    """The words of a command line that choose a schema version (AOI section 5.1), to be repeated when asking for it."""
    chosen: tuple[str, ...] = ()
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if name not in ("--schema-version", "--accept-schema"):
            continue
        value = value if equals else next(words, "")
        if name == "--accept-schema":
            value = value.rpartition("@")[2]
        if value:
            chosen = ("--schema-version", value)
    return chosen


def _answer(command: PreparedCommand) -> CommandOutput | Fail:
    try:
        return output(command)
    except Fail as problem:
        return problem


def _questions(source: ToolSource) -> Generator[PreparedCommand, CommandOutput | Fail, Description]:
    notes: list[str] = []
    schema, hangs = yield from _ask(source, "schema", source.version_options, notes)
    if hangs:  # every further question would be one more wait of the same length
        return Description(None, None, tuple(notes))
    capabilities, _ = yield from _ask(source, "capabilities", (), notes)
    return Description(schema, capabilities, tuple(notes))


def _ask(
    source: ToolSource, topic: str, options: tuple[str, ...], notes: list[str]
) -> Generator[PreparedCommand, CommandOutput | Fail, tuple[dict[str, Any] | None, bool]]:
    """One document: by its subcommand, else by the flag that may exist instead (AOI section 3); and whether it hangs."""
    reason, hangs = "", False
    for arguments in ((topic, "--output", "json", *options), (f"--{topic}", *options)):
        answer = yield source.command(*arguments)
        document, problem = _document(answer)
        if document is not None:
            return document, False
        reason = reason or problem
        hangs = isinstance(answer, Fail) and answer.code == "DEADLINE_EXCEEDED"
        if hangs:
            break
    notes.append(f"{os.path.basename(source.words[0])} gave no {topic}: {reason}")
    return None, hangs


def _document(answer: CommandOutput | Fail) -> tuple[dict[str, Any] | None, str]:
    if isinstance(answer, Fail):
        return None, answer.message
    if answer.status != 0:
        return None, f"exit status {answer.status}"
    try:
        document = msgspec.json.decode(answer.stdout)
    except (ValueError, RecursionError):
        return None, "its answer is not JSON"
    return (document, "") if isinstance(document, dict) else (None, "its answer is not a JSON object")


def _entry(source: ToolSource) -> str:
    """The file of a tool's description, "" if nothing can be kept."""
    folder = cache_path("discovery")
    if folder is None:
        return ""
    command = source.command()
    identity: list[object] = [list(source.words), list(source.version_options)]
    base = command.cwd or os.getcwd()
    for word in (command.executable, *command.argv[1:]):
        path = os.path.realpath(os.path.join(base, word))
        if os.path.isfile(path):
            identity.append(cache.stamp(path, os.stat(path)))
    return os.path.join(folder, digest(identity).removeprefix("sha256:"))


def _keep(path: str, description: Description) -> Description:
    """Keep the description; only that of a tool that answered is worth it."""
    if description.schema is not None:
        entry = {
            "schema": description.schema,
            "capabilities": description.capabilities,
            "notes": list(description.notes),
        }
        cache.keep(path, _FORMAT, entry, private=True)
    return description
