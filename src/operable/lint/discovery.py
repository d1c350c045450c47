"""Asking a tool about itself: one answer per question, each in a bare room, and a `ToolPlan` made of the answers.

A tool that has no discovery, or a broken one, still gets a plan: the commands that its profile names, or none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from operable.lint.check import Lab
from operable.lint.evidence import Invocation, Observation
from operable.lint.plan import MACHINE, CommandPlan, ToolPlan
from operable.lint.profile import Profile, chooses_output

JSON = ("--output", "json")
# The ways to ask, in the order in which the standard names them (sections 3, 16.2 and 16.4).
QUESTIONS = {
    "schema": (("schema", *JSON), ("aoi-schema", *JSON), ("schema", "--format", "json"), ("--schema",)),
    "capabilities": (
        ("capabilities", *JSON),
        ("aoi-capabilities", *JSON),
        ("capabilities", "--format", "json"),
        ("--capabilities",),
    ),
}


def plan(lab: Lab, program: str, profile: Profile) -> ToolPlan:
    """Discover the tool."""
    answers: dict[str, Observation] = {}
    documents: dict[str, dict[str, Any] | None] = {}
    for what in ("capabilities", "schema"):
        answers[what], documents[what] = _ask(lab, what)
    made = ToolPlan(program, profile, documents["schema"], documents["capabilities"], discovery=answers)
    for claims in _entries(made.capabilities, profile):
        made.commands.append(_command(lab, made, claims["name"], claims))
    made.state = _state(made)
    return made


def document(observation: Observation) -> dict[str, Any] | None:
    """The one JSON object that was printed, if it was one and the call succeeded."""
    if observation.status != 0:
        return None
    try:
        value = msgspec.json.decode(observation.stdout)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _ask(lab: Lab, what: str) -> tuple[Observation, dict[str, Any] | None]:
    first: Observation | None = None
    for words in QUESTIONS[what]:
        seen = lab.observe(Invocation(words, bare=True))
        found = document(seen)
        # An event in answer to the question is a failure that says so, not the document.
        if found is not None and found.get("type") != "aoi:error":
            return seen, found
        first = first or seen
        if seen.ended != "itself":
            break
    assert first is not None  # noqa: S101 - there is always a first question
    return first, None


def _entries(manifest: dict[str, Any] | None, profile: Profile) -> list[dict[str, Any]]:
    """What the manifest says of each command; those that only the profile knows come last."""
    commands = (manifest or {}).get("commands")
    found = [
        entry
        for entry in (commands if isinstance(commands, list) else ())
        # What cannot be typed on a command line is not a name of a command.
        if isinstance(entry, dict)
        and isinstance(entry.get("name"), str)
        and entry["name"].isprintable()
        and entry["name"]
    ]
    known = {entry["name"] for entry in found}
    return [*found, *({"name": name} for name in profile.commands if name not in known)]


def _command(lab: Lab, made: ToolPlan, name: str, claims: dict[str, Any]) -> CommandPlan:
    machine = made.machine if made.capabilities or made.profile.tool.machine is not None else MACHINE
    command = CommandPlan(name, made.name, claims, made.profile.command(name), machine)
    if made.capabilities is not None and command.profile.skip is None:

        def ask(command: CommandPlan, part: str) -> dict[str, Any] | None:
            words = made.asking(command.name)
            return _schema(lab.observe(Invocation((*words, part) if part else words, bare=True)))

        command.ask = ask
    return command


def _schema(observation: Observation) -> dict[str, Any] | None:
    found = document(observation)
    return found if found is not None and isinstance(found.get("properties"), dict) else None


def _state(made: ToolPlan) -> Invocation | None:
    """The call that reports the state: the profile's, else a `list` that needs nothing."""
    reported = made.profile.tool.state
    if reported is not None:
        return Invocation(tuple(reported) if chooses_output(reported) else (*reported, *made.machine))
    for name in ("list", "status"):
        command = made.command(name)
        if command is not None and command.read_only and not (command.inputs or {}).get("required"):
            return replace(command.invocation([]), stdin=None)
    return None
