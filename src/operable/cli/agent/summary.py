"""What `operable agent show` and `validate` report: a manifest in words, and what is wrong with one."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from operable.cli.agent.events import AgentDetails, Knob, ManifestProblem, ManifestVerdict, Mode
from operable.cli.agent.manifests import find, look
from operable.host.launch.install import Installation
from operable.host.launch.ledger import Ledger
from operable.host.launch.places import MANIFEST, Places
from operable.kernel.errors import EX_DATAERR, Fail
from operable.manifest.blocks import SandboxBlock
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.loader import Loaded, load
from operable.manifest.problem import ManifestError, Problem
from operable.tool import Context, ItemError
from operable.tool.human.cells import cell


def details(name: str, workspace: str) -> AgentDetails:
    """What a manifest says, and its state. Nothing is run."""
    found = find(name, workspace)
    loaded = look(found)
    manifest = loaded.as_(AgentCli)
    places = Places.default()
    installed = Installation(manifest, found.folder, places, Ledger(places.ledger)).locate()
    continuation = manifest.continuation
    strategies = [] if continuation is None else [continuation.default, *continuation.supported]
    return AgentDetails(
        name=manifest.name,
        id=manifest.id,
        version=manifest.version,
        description=manifest.description,
        protocol=manifest.protocol,
        adapter=manifest.adapter,
        origin=found.origin,
        trusted=found.trusted,
        standing=found.standing.why,
        digest=found.standing.digest or None,
        path=found.path,
        program=manifest.bin,
        installed=None if installed is None else installed.binary,
        install_methods=[each.method for each in manifest.install],
        sandbox=_sandbox(loaded, manifest),
        modes=[Mode(id=each.id, description=each.description) for each in manifest.modes],
        options=[
            Knob(id=each.id, kind=each.type, choices=list(each.enum), description=each.description)
            for each in manifest.options
        ],
        models=list(manifest.models.allowed),
        continuation=list(dict.fromkeys(strategies)),
        capabilities=msgspec.to_builtins(manifest.capabilities),
        setup_steps=[step.id for step in manifest.setup],
        login=manifest.auth is not None and manifest.auth.login is not None,
        warnings=[str(problem) for problem in loaded.problems],
    )


def validated(
    context: Context, paths: tuple[str, ...], *, strict: bool
) -> Iterator[ManifestProblem | ManifestVerdict]:
    """Judge manifests one after the other: every problem with its place, then the verdict."""
    for path in paths or (".",):
        file = os.path.join(path, MANIFEST) if os.path.isdir(path) else path
        if not os.path.isfile(file):
            missing = Fail("not_found", "MANIFEST_NOT_FOUND", f"there is no manifest {file}", target=file)
            yield ItemError(missing)  # type: ignore[misc]  # travels with the events
            continue
        kind: str | None = None
        try:
            loaded = load(file, strict=strict, workspace=os.path.dirname(os.path.abspath(file)))
            problems, kind = loaded.problems, loaded.kind
        except ManifestError as refused:
            problems = refused.problems
        errors = sum(problem.level == "error" for problem in problems)
        if errors:  # said first: a limit may end us before the verdict
            context.conclude(exit_code=EX_DATAERR, reason="manifest_invalid")
        yield from map(_problem, problems)
        yield ManifestVerdict(
            path=file, kind=kind, ok=not errors, errors=errors, warnings=len(problems) - errors
        )


def _problem(problem: Problem) -> ManifestProblem:
    return ManifestProblem(
        path=problem.path,
        line=problem.line,
        column=problem.column,
        level=problem.level,
        rule=problem.rule,
        message=problem.message,
        key=problem.key,
        hint=problem.hint,
    )


def choices(found: AgentDetails) -> str:
    """For people: what `agent prompt` and `chat` take for this agent, by the option that takes it."""
    options = [
        (each.id, f"{each.description} ({'|'.join(each.choices) or each.kind})") for each in found.options
    ]
    parts = {
        "--mode": [(each.id, each.description) for each in found.modes],
        "--option": [(f"{name}=VALUE", text.strip()) for name, text in options],
        "--model": [(name, "") for name in found.models],
        "--continuation": [(name, "") for name in found.continuation],
    }
    lines = [line for option, rows in parts.items() if rows for line in _listed(option, rows)]
    return "".join(f"{line}\n" for line in lines)


def _listed(option: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    width = max(len(name) for name, _ in rows)
    yield f"\n{option}:"
    yield from (f"  {cell(name):{width}}  {cell(text)}".rstrip() for name, text in rows)


def _sandbox(loaded: Loaded, manifest: AgentCli) -> str:
    """The provider, whether the block is in the manifest or in a file that it names."""
    if isinstance(manifest.sandbox, SandboxBlock):
        return manifest.sandbox.provider
    bound = loaded.bound.get("sandbox")
    return bound.value.provider if bound is not None else ""
