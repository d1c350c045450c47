"""Versions that are missing, mixed up or not honoured.

What it does
    Looks at the versions in `aoi:meta`: the schema version is there and is the default that the capabilities declare,
    the tool, its version and the AOI version are those of the capabilities, and so is the command; none is where
    another belongs. Each declared schema version can be asked for with `--schema-version` (whole, or its major number)
    or `--accept-schema` and is then reported; one that does not exist is refused.

Why is this bad?
    Consumers branch on the schema version. If it is absent, wrong, or the release number of the tool, every release breaks
    them or none does when it should.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from operable.lint.check import Case, LintCheck, LintFinding, Untested
from operable.lint.evidence import Invocation, Observation, encode, excerpt
from operable.lint.example import ENTRY, meta, summary, transcript

_IMPOSSIBLE = "9999"


def _command(case: Case) -> Iterator[LintFinding]:
    seen = case.sample()
    meta = seen.meta
    if meta is None and not seen.readable:
        raise Untested("stdout contains lines that are not events; see check 2")
    if meta is None:
        yield case.fail("there is no aoi:meta, so no schema_version is reported", seen)
        return
    if not isinstance(meta.get("schema_version"), str):
        yield case.fail("aoi:meta has no schema_version", seen, excerpt=excerpt(encode(meta)))
    else:
        yield from _declared(case, meta, seen)
    for name in ("tool_version", "aoi_version", "schema_name"):
        if not isinstance(meta.get(name), str):
            yield case.fail(f"aoi:meta has no {name}", seen, level="SHOULD")
    yield from _negotiated(case)


def _declared(case: Case, meta: dict[str, Any], seen: Observation) -> Iterator[LintFinding]:
    capabilities = case.plan.capabilities or {}
    schemas = case.plan.versions()
    version = meta["schema_version"]
    name = meta.get("schema_name")
    mine = [entry for entry in schemas if entry[0] == name] or schemas
    if schemas and isinstance(name, str) and all(entry[0] != name for entry in schemas):
        yield case.fail(f"meta.schema_name `{name}` is not declared in the capabilities", seen)
    elif mine and version != mine[0][2]:
        conflated = " (it is the version of the tool)" if version == capabilities.get("tool_version") else ""
        yield case.fail(
            f"meta.schema_version is {version}{conflated}, the declared default is {mine[0][2]}", seen
        )
    yield from _whose(case, meta, seen)
    stated = capabilities.get("tool_version")
    if (
        isinstance(stated, str)
        and isinstance(meta.get("tool_version"), str)
        and meta["tool_version"] != stated
    ):
        yield case.fail(f"meta.tool_version is {meta['tool_version']}, capabilities say {stated}", seen)
    versions = capabilities.get("aoi_versions")
    spoken = meta.get("aoi_version")
    if isinstance(versions, list) and isinstance(spoken, str) and spoken not in versions:
        yield case.fail(
            f"meta.aoi_version is {spoken}, capabilities say {', '.join(map(str, versions))}", seen
        )


def _whose(case: Case, meta: dict[str, Any], seen: Observation) -> Iterator[LintFinding]:
    """Whose stream this is: consumers of several tools distinguish them by it."""
    if case.target.relays:
        return
    stated, tool, command = (case.plan.capabilities or {}).get("tool"), meta.get("tool"), meta.get("command")
    if isinstance(stated, str) and isinstance(tool, str) and tool != stated:
        yield case.fail(f"meta.tool is {tool}, capabilities say {stated}", seen, section="8.3")
    # Under another name of its own it may go; not under that of another.
    others = {plan.name for plan in case.plan.commands if plan is not case.target}
    if isinstance(command, str) and command != case.target.name and command in others:
        yield case.fail(f"meta.command is {command}, which is another command", seen, section="8.3")


def _negotiated(case: Case) -> Iterator[LintFinding]:
    command = case.target
    call = case.sample_invocation()
    if command.relays:
        return
    usual = case.lab.observe(call).status
    for name, versions, _ in case.plan.versions()[:1]:
        for version in versions:
            seen = _asked(case, call, name, version)
            reported = (seen.meta or {}).get("schema_version")
            if seen.ended != "itself":
                continue  # check 3 says so
            if _refuses(seen, usual):
                several = len(versions) > 1
                text = f"the declared version {version} of {name} is refused: status {seen.status}"
                yield case.fail(text, seen, level="MUST" if several else "SHOULD", section="5.1")
            elif isinstance(reported, str) and not _is(reported, version, seen):
                text = f"asked for the version {version}, it answers with {reported}"
                yield case.fail(text, seen, section="5.1")
        seen = case.observe(command.with_options(call, "--schema-version", _IMPOSSIBLE))
        if not seen.excused and (seen.succeeded or seen.signalled is not None):
            yield case.fail(
                f"the schema version {_IMPOSSIBLE}, which does not exist, is not refused", seen, section="5.1"
            )


def _asked(case: Case, call: Invocation, name: str, version: str) -> Observation:
    """The answer to the first way to ask for a version (section 5.1) that is not refused, else to the plainest one."""
    usual, major = case.lab.observe(call).status, version.partition(".")[0]
    ways = (
        ("--schema-version", version),
        ("--schema-version", major),
        ("--accept-schema", f"{name}@{major}"),
    )
    answers = []
    for way in ways:
        answers.append(case.observe(case.target.with_options(call, *way)))
        if not _refuses(answers[-1], usual):
            return answers[-1]
    return answers[0]


def _refuses(seen: Observation, usual: int | None) -> bool:
    """A tool that judges may answer no in any version; one that answers no only now refuses the version."""
    return seen.excused or (seen.refused and seen.signalled is None and seen.status != usual)


def _is(reported: str, version: str, seen: Observation) -> bool:
    """Whether it speaks the version that was asked for; of a major one it may choose among the minor."""
    exactly = version in seen.invocation.words
    return reported == version if exactly else reported.partition(".")[0] == version.partition(".")[0]


CHECK = LintCheck(
    name="version-confusion",
    number=13,
    title="the schema version is reported and honoured",
    characteristics=("Versioned",),
    level="MUST",
    section="5",
    passing=transcript("list", meta("list"), ENTRY, summary(True, count=1)),
    failing=transcript("list", meta("list", schema_version="3.1.4"), ENTRY, summary(True, count=1)),
    hint="keep three constants (tool, AOI, schema); put all into aoi:meta and refuse versions that are not declared",
    command=_command,
    page=__doc__,
)
