"""Discovery that needs more than the program itself, or answers with something else than a description.

What it does
    Asks for schema and capabilities with no environment but PATH, an empty read-only HOME and no network. Both must
    succeed, without an attempt to reach the network and without a change, with one JSON document each: a valid JSON Schema
    of the draft that it names, whose `$id` is not a file of this machine, and a valid capability manifest that names the
    commands. Where the flags `--schema` and `--capabilities` exist too, they must say the same. The input schemas of
    commands that take structured input must be valid JSON Schema.

Why is this bad?
    An agent reads the description before it has credentials, and often in a sandbox. What it cannot learn there it
    guesses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable, Untested
from operable.lint.evidence import Invocation, Observation, excerpt
from operable.lint.example import transcript
from operable.lint.schemas import document_flaw, manifest_flaw

_LOCAL = ("file:", "/", "./", "../", "~")


def _tool(case: Case) -> Iterator[LintFinding]:
    plan = case.plan
    found = False
    for what, document in (("schema", plan.schema), ("capabilities", plan.capabilities)):
        answer = plan.discovery[what]
        case.seen.append(answer)
        if document is None:
            found = True
            yield case.fail(
                f"`{what}` gives no JSON document: {_why(answer)}",
                answer,
                excerpt=excerpt(answer.stdout or answer.stderr),
            )
        else:
            if answer.outgoing:
                found = True
                yield case.fail(f"`{what}` tries to reach the network: {'; '.join(answer.outgoing)}", answer)
            _, changes = case.lab.effect(answer.invocation)
            if changes:
                found = True
                yield case.fail(f"`{what}` changes things: {changes[0]}", answer)
            for finding in (*_same(case, what, document), *_valid(case, what, document, answer)):
                found = True
                yield finding
    if not found and case.lab.confined is not None:
        raise Untested(f"that it needs no network cannot be shown: {case.lab.confined}")


def _valid(case: Case, what: str, document: dict[str, Any], answer: Observation) -> Iterator[LintFinding]:
    if what == "capabilities":
        flaw = manifest_flaw(document)
        if flaw is not None:
            yield case.fail(f"the capability manifest is not valid: {flaw}", answer, section="17")
        elif not document.get("commands"):
            yield case.fail("the capability manifest names no command", answer, section="16.2")
        return
    flaw = document_flaw(document)
    if flaw is not None:
        yield case.fail(f"the schema is not a valid JSON Schema: {flaw}", answer, section="10.1")
    name = document.get("$id")
    if isinstance(name, str) and name.startswith(_LOCAL):
        yield case.fail(f"`$id` is a place on this machine: {name}", answer, section="10.2", excerpt=name)
    if "type" in document and document.get("type") == "aoi:error":
        yield case.fail("the schema is an error event", answer)


def _same(case: Case, what: str, document: dict[str, Any]) -> Iterator[LintFinding]:
    """The flag, if there is one, says what the subcommand says."""
    flag = case.lab.observe(Invocation((f"--{what}",), bare=True))
    other = _json(flag.stdout) if flag.status == 0 else None
    if isinstance(other, dict) and other != document:
        different = sorted(key for key in {*other, *document} if other.get(key) != document.get(key))
        yield case.fail(
            f"--{what} and `{what}` say different things: {', '.join(different)[:120]}", flag, section="3"
        )


def _command(case: Case) -> Iterator[LintFinding]:
    command = case.target
    if case.plan.capabilities is None:
        raise Untested("there is no capability manifest")
    if not command.reads_jsonl:
        raise NotApplicable("it takes no structured input; discovery is judged for the tool as a whole")
    answer = case.observe(Invocation(case.plan.asking(command.name), bare=True))
    document = _json(answer.stdout) if answer.status == 0 else None
    if not isinstance(document, dict):
        yield case.fail(
            f"it takes structured input but has no input schema: {_why(answer)}",
            answer,
            level="SHOULD",
            section="12.1",
        )
        return
    flaw = document_flaw(document)
    if flaw is not None:
        yield case.fail(f"the input schema is not a valid JSON Schema: {flaw}", answer, section="12.1")


def _json(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _why(answer: Observation) -> str:
    if answer.ended != "itself":
        return "it did not end" if answer.ended == "deadline" else "it printed without end"
    if answer.status:
        return f"exit status {answer.status} without environment, HOME and network"
    return "it printed nothing" if not answer.stdout.strip() else "what it printed is not one JSON object"


CHECK = LintCheck(
    name="undiscoverable",
    number=1,
    title="discovery works from nothing and describes the tool",
    characteristics=("Discoverable",),
    level="MUST",
    section="3",
    passing=transcript("schema --output json", {"$schema": "https://json-schema.org/draft/2020-12/schema"}),
    failing=transcript("schema --output json", "2> error: NOTES_TOKEN is not set", "# exit 78"),
    hint="embed schema and capabilities in the program; answer before reading configuration, credentials or the network",
    tool=_tool,
    command=_command,
    page=__doc__,
)
