"""Hooks: commands of the user or of an approved project before and after calls of tools.

A hook gets one JSON object on its standard input: `event` (`before_tool` or `after_tool`), `tool`, `category`, `arguments`,
`workspace`; after a call also `ok` and `output`. Secrets are masked in it.

    before   status 0: go on. Any other status: the call is refused, and what the hook printed is the reason.
    after    what it prints is added to the result that the model sees. The call has been made: nothing undoes it.

A hook that cannot run, is killed or takes longer than its `timeout` has failed. A failure before a call refuses it
(`HOOK_FAILED`), unless the hook says `on_failure = "continue"`; a failure after a call is reported to the model.

A hook of a project is what was approved or does not run: its files are compared with the approval before each run. An agent
that changes the script of a hook would else get rid of it, or get its rights. Its calls are refused (`HOOK_CHANGED`).

Hooks run confined like a command that the user was not asked about: they write the workspace alone, and see no credentials.
Where the machine cannot confine them they do not run, unless the hook says `confined = false`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from operable.agent.tool.ability import Ability, AbilityOutcome, Scene
from operable.agent.tool.call_rules import facts_of
from operable.agent.tool.command import choose_enclosure, run_program
from operable.gate.policy.pattern import ASK, parse
from operable.kernel.errors import Fail
from operable.kernel.json import json_line
from operable.project.schema import ToolHook

_REASON = 2000  # characters of what a hook printed
_CHANGED = (
    "or another part of the project's configuration is not what the user approved: the user can look at it and"
    " approve it (`operable config approve`), or take the change back"
)
_OUTPUT = 64 * 1024  # characters of a result that a hook gets


class ToolHooks:
    """The hooks of one session."""

    def __init__(
        self, hooks: Sequence[ToolHook], still_counts: Callable[[ToolHook], bool] = lambda _: True
    ) -> None:
        self._hooks = tuple(hooks)
        self._still_counts = still_counts

    def around(
        self, ability: Ability, arguments: Mapping[str, Any], scene: Scene, run: Callable[[], AbilityOutcome]
    ) -> AbilityOutcome:
        """The outcome of a call with its hooks before and after it."""
        if not self._hooks:
            return run()
        given = {
            "tool": ability.permission,
            "category": ability.category,
            "arguments": dict(arguments),
            "workspace": scene.workspace,
        }
        facts = facts_of(ability, arguments, scene.workspace)
        meant = [hook for hook in self._hooks if parse(hook.match).match(facts, ASK).binds]
        for hook in (hook for hook in meant if hook.on == "before"):
            refusal = self._refusal(hook, {"event": "before_tool", **given}, scene)
            if refusal is not None:
                return AbilityOutcome(refusal, ok=False)
        outcome = run()
        about = {"event": "after_tool", **given, "ok": outcome.ok, "output": outcome.output[:_OUTPUT]}
        said = [self._remark(hook, about, scene) for hook in meant if hook.on == "after"]
        more = "".join(f"\n[hook {name}] {text}" for name, text in said if text)
        return replace(outcome, output=outcome.output + more) if more else outcome

    def _refusal(self, hook: ToolHook, message: Mapping[str, Any], scene: Scene) -> str | None:
        """Why the hook keeps a call from being made; None: it does not."""
        if not self._still_counts(hook):
            return f"HOOK_CHANGED: the hook {hook.name} {_CHANGED}"
        failure, status, text = _run(hook, message, scene)
        if failure is not None:
            return None if hook.on_failure == "continue" else f"HOOK_FAILED: the hook {hook.name} {failure}"
        return (
            None if status == 0 else f"The hook {hook.name} refused this call: {text or f'status {status}'}"
        )

    def _remark(self, hook: ToolHook, message: Mapping[str, Any], scene: Scene) -> tuple[str, str]:
        if not self._still_counts(hook):
            return hook.name, f"HOOK_CHANGED: it {_CHANGED}"
        failure, status, text = _run(hook, message, scene)
        if failure is not None:
            return hook.name, f"HOOK_FAILED: it {failure}"
        return hook.name, text if status == 0 else f"(status {status}) {text}"


def _run(hook: ToolHook, message: Mapping[str, Any], scene: Scene) -> tuple[str | None, int | None, str]:
    """(why it failed, its status, what it printed)."""
    asked = replace(scene, approved=not hook.confined, granted=frozenset())
    try:
        if hook.confined and not _is_confined(asked):
            return "cannot be confined here (install bubblewrap, or say confined = false)", None, ""
        body = json_line(scene.known.value(dict(message)))
        done = run_program(list(hook.command), asked, timeout=hook.timeout, tree=True, stdin=body)
    except (Fail, OSError) as error:
        return f"did not run: {error}", None, ""
    if done.timed_out:
        return f"did not end within {hook.timeout:g} s", None, ""
    if done.cancelled or done.status is None or done.status < 0:
        return "was killed", None, ""
    text = scene.known.text(done.text.strip() or done.stderr.strip())[:_REASON]
    return None, done.status, text


def _is_confined(scene: Scene) -> bool:
    place = choose_enclosure(scene, tree=True)
    if place is not None:
        place.close()
    return place is not None
