"""A shell that destroys something without an approval.

Looks at programs, at scripts that are given to a shell, and at `verify`. An approval with the policy `manual` (or
`auto-reject`) is what it asks for; `auto-approve` asks no person. It knows common destructive commands and cannot know all:
silence does not prove that it is harmless.
"""

from collections.abc import Iterator
from typing import Any

from operable.flow.manifest.lint.destruction import destruction, destruction_in_script
from operable.flow.manifest.lint.rule import Lint, Sighting
from operable.flow.manifest.lint.task_places import Json, block, places, text

_HINT = 'add "approval": {"policy": "manual"}'


def _look(manifest: Any) -> Iterator[Sighting]:
    for tasks in places(manifest):
        for place in tasks:
            if place.enabled and not _is_gated(place.task):
                yield from _sightings(place.path, place.task)


def _is_gated(task: Json) -> bool:
    approval = block(task, "approval")
    policy = approval.get("policy")
    return policy in ("manual", "auto-reject") or (policy is None and approval.get("required") is True)


def _sightings(path: str, task: Json) -> Iterator[Sighting]:
    shell = block(task, "shell")
    program, arguments = text(shell, "program"), shell.get("args")
    words = [word for word in arguments if isinstance(word, str)] if isinstance(arguments, list) else []
    if program is not None:
        what = destruction([program, *words], text(shell, "stdin"))
        if what is not None:
            yield Sighting(f"{path}.shell", f"{what} without asking a person", _HINT)
    script = text(block(task, "verify"), "shell")
    what = None if script is None else destruction_in_script(script)
    if what is not None:
        yield Sighting(f"{path}.verify.shell", f"a check {what}", "a check should only read")


LINT = Lint("warning", "destructive shells ask for approval", _look)
