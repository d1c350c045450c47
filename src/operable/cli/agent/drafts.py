"""What `operable agent import` and `probe` do: manifests from the settings of other programs, or from a program itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from operable.cli.agent.events import ManifestDraft, ManifestWritten, ProbeFinding
from operable.cli.agent.manifests import read_text
from operable.host.importer import AgentDraft, Left, convert, importer, importer_names, kebab, parse
from operable.host.launch.places import user_agents
from operable.host.probe import GUESSES, AgentProbe
from operable.kernel.catalogue import unknown
from operable.kernel.errors import EX_CANTCREAT, EX_DATAERR, Fail
from operable.state.atomic import advise, write_together
from operable.tool import Change, Warn

if TYPE_CHECKING:
    from operable.tool import Context


def planned_import(
    source: str, file: str | None, *, only: list[str] | None, to: str | None, force: bool
) -> Iterator[Change | Warn]:
    """One change per manifest; what cannot be taken over is reported."""
    found = _importer(source)
    path = file or _usual(found)
    made = convert(source, parse(read_text(path), path), path)
    wanted = set(map(kebab, only or ()))
    names = {kebab(each.name) for each in made}
    if wanted - names:
        raise unknown("entry", min(wanted - names), sorted(names))
    folder = _folder(to)
    for each in made:
        if wanted and kebab(each.name) not in wanted:
            continue
        if isinstance(each, Left):
            yield Warn("IMPORT_SKIPPED", f"{each.name} is left out: {each.why}", target=each.name)
            continue
        place = os.path.join(folder, each.name)
        _free(place, force=force)
        yield Change("write", place, name=each.name, source=source, file=os.path.abspath(path))


def imported(change: Change) -> ManifestWritten:
    """Write one manifest, and its profile beside it."""
    path = change["file"]
    made = convert(change["source"], parse(read_text(path), path), path)
    draft = next(
        (each for each in made if isinstance(each, AgentDraft) and each.name == change["name"]), None
    )
    if draft is None:
        raise Fail("conflict", "SOURCE_CHANGED", "the file has changed since it was looked at", target=path)
    return ManifestWritten(
        name=draft.name, path=write(draft, change.target), source=path, notes=list(draft.notes)
    )


def probed(
    context: Context,
    program: str,
    arguments: tuple[str, ...],
    *,
    patience: float,
    confined: bool,
    show: list[str] | None,
) -> Iterator[ProbeFinding | ManifestDraft]:
    """What the program answers, then the draft; exit status 65 when it speaks nothing that we know."""
    probe = AgentProbe(program, (arguments,) if arguments else GUESSES, patience, confined, tuple(show or ()))
    for finding in probe.ask():
        yield ProbeFinding(
            question=finding.question,
            command=" ".join(finding.command),
            answered=finding.answered,
            detail=finding.detail,
        )
    draft = probe.draft
    if draft is None:
        raise Fail(
            "not_found",
            "NO_PROTOCOL_FOUND",
            f"{program} does not answer in any known agent protocol",
            target=program,
            hint="add the arguments that start it as an agent after its name",
            exit_code=EX_DATAERR,
        )
    files = draft.files()
    yield ManifestDraft(
        name=draft.name,
        protocol=str(draft.manifest["protocol"]),
        manifest=files["AGENT-CLI.md"],
        profile=files.get("ACP.md"),
        notes=list(draft.notes),
    )
    if not context.machine:
        context.show(files["AGENT-CLI.md"])


def write(draft: AgentDraft, folder: str) -> str:
    """Put a draft into a folder; the path of its manifest."""
    try:
        os.makedirs(folder, exist_ok=True)
        write_together({os.path.join(folder, name): text.encode() for name, text in draft.files().items()})
    except OSError as problem:
        with suppress(OSError):  # only an empty one can be removed
            os.rmdir(folder)
        raise Fail(
            "io",
            "CANNOT_WRITE",
            f"cannot write it: {problem.strerror}",
            target=folder,
            hint=advise(problem, "--to DIR on another disk"),
            exit_code=EX_CANTCREAT,
        ) from problem
    return os.path.join(folder, "AGENT-CLI.md")


def _importer(source: str) -> tuple[str, ...]:
    """Where the files of this source usually are."""
    if source not in importer_names():
        raise unknown("importer", source, importer_names())
    return importer(source).places


def _usual(places: tuple[str, ...]) -> str:
    for place in places:
        path = os.path.expanduser(place)
        if os.path.isfile(path):
            return path
    raise Fail(
        "usage",
        "MISSING_OPERAND",
        "Which file?" + (f" There is nothing at {' or '.join(places)}" if places else ""),
        target="FILE",
    )


def _folder(to: str | None) -> str:
    folder = to or user_agents()
    if folder is None:
        raise Fail(
            "config",
            "NO_CONFIG_DIRECTORY",
            "There is no place for manifests: HOME is not set",
            hint="--to DIR",
        )
    return os.path.abspath(folder)


def _free(place: str, *, force: bool) -> None:
    if os.path.lexists(os.path.join(place, "AGENT-CLI.md")) and not force:
        raise Fail(
            "conflict",
            "FILE_EXISTS",
            f"{place} already has a manifest",
            target=place,
            hint="--force overwrites it",
            exit_code=EX_CANTCREAT,
        )
