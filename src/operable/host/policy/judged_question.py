"""A question of an agent as it is judged: one value, made once, that the person, the digest and the host share.

The person is shown its content (`shown`): the tool, the kind, the arguments, the places, the changes, and what was announced
of the call before and is not in the question. Its `digest` is over the same content, and over the command lines, folders,
files and addresses that the host made of it: what is remembered is this and nothing else. A later notice about the call is
compared with `form` and `known`, which are about that content too. A file or a command that the host is asked for is
compared with `grants`, and must be equal to one of them. Only the arguments and the changes of the question itself grant
something: neither a place that is listed beside them nor anything that was announced before does.

`facts` has all that was said about the call, since a rule that denies looks at everything; `touches` is the same for a
denial by a person.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from operable.host.policy.call_form import Form
from operable.host.policy.grants import Thing, things
from operable.host.policy.tool_arguments import is_decoration, member_name, role_of
from operable.host.policy.tool_call import Facts, JudgedCall
from operable.host.session.approvals import argument_digest
from operable.wire.events import AgentPrompt, ToolCall, change_digest

FactsOf = Callable[[JudgedCall], Facts]
_NOTHING: Final[tuple[Any, ...]] = (None, "", [], {}, False)
_FORMS: Final = 20  # announcements that say more than their question; real agents have one


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    prompt: AgentPrompt
    facts: Facts  # the question and all that was announced of its call
    form: Form  # what the question itself says
    known: Form  # and what was announced of its call before
    places: tuple[str, ...]  # listed beside the arguments and changes of the question, and not in them
    announced: tuple[dict[str, Any], ...]  # what is in the announcements and not in the question
    grants: tuple[Thing, ...]  # what a yes lets the host do
    touches: tuple[Thing, ...]  # what a no forbids
    digest: str

    @classmethod
    def of(cls, prompt: AgentPrompt, told: Sequence[ToolCall], facts_of: FactsOf) -> "JudgedQuestion":
        asked = call_of(prompt)
        own = facts_of(asked)
        facts = facts_of(replace(asked, told=tuple(told_call(form) for form in told))) if told else own
        form = Form.of(own)
        announced = tuple(_announced(prompt, told, form))
        # Neither a place beside the question nor an announcement is what the person said yes to.
        changed = tuple(path for diff in prompt.diffs for path in _paths_of(diff))
        itself = own if asked.locations == changed else facts_of(replace(asked, locations=changed))
        granted = things(itself) if itself.has_one_reading else []
        named = {*changed, *own.argument_paths}
        return cls(
            prompt,
            facts,
            form,
            # What is too much to be shown is not known either.
            Form.of(facts) if told and len(announced) <= _FORMS else form,
            tuple(place for place in prompt.locations if place not in named),
            announced,
            tuple(granted),
            tuple(dict.fromkeys((*granted, *things(own), *things(facts)))),
            _digest(prompt, own, announced),
        )

    @property
    def is_lasting(self) -> bool:
        """Whether the same question can be known again: the agent reports enough for that."""
        return self.facts.distinct and len(self.announced) <= _FORMS

    @property
    def shown(self) -> dict[str, Any]:
        """The content of the question, for the person and for the record."""
        prompt = self.prompt
        members = {
            "tool": prompt.tool_name,
            "kind": prompt.kind,
            "arguments": prompt.arguments,
            "locations": list(self.places),
            "diffs": list(prompt.diffs),
            "announced": list(self.announced[:_FORMS]),
            "commands": [line for line in self.facts.lines if line not in self.facts.argument_lines],
        }
        return {name: value for name, value in members.items() if value not in (None, [], "")}


def told_call(call: ToolCall, *others: ToolCall) -> JudgedCall:
    """What the agent announced, for the rules; `others` are other forms of the same call."""
    shown = (call.title,) if call.title else ()
    return JudgedCall(
        call.tool_name,
        call.kind,
        call.arguments,
        call.locations,
        shown,
        call.unnamed,
        told=tuple(told_call(form) for form in others),
        diffs=call.diffs,
    )


def call_of(prompt: AgentPrompt) -> JudgedCall:
    """What a question says itself."""
    return JudgedCall(
        prompt.tool_name,
        prompt.kind,
        prompt.arguments,
        prompt.locations,
        (prompt.text,) if prompt.text else (),
        prompt.unnamed,
        diffs=prompt.diffs,
    )


def _digest(prompt: AgentPrompt, own: Facts, announced: Sequence[dict[str, Any]]) -> str:
    content = {
        "kind": prompt.kind,
        "kinds": list(own.kinds),
        "unnamed": prompt.unnamed,
        "arguments": prompt.arguments,
        "locations": list(prompt.locations),
        "diffs": list(prompt.diffs),
        "announced": list(announced),
        "lines": list(own.command.stated),
        "folders": own.folders(),
        "files": list(own.paths.stated),
        "addresses": list(own.address.stated),
    }
    return argument_digest(prompt.tool_name, content)


def _announced(prompt: AgentPrompt, told: Sequence[ToolCall], form: Form) -> Iterator[dict[str, Any]]:
    """What each announcement says that the question does not say, or says otherwise; each once."""
    changes = {change_digest(diff) for diff in prompt.diffs}
    seen: set[str] = set()
    for call in told:
        more: dict[str, Any] = {}
        if not call.unnamed and not prompt.unnamed and call.tool_name != prompt.tool_name:
            more["tool"] = call.tool_name
        if call.kind not in ("other", prompt.kind):
            more["kind"] = call.kind
        if arguments := _arguments_beyond(call.arguments, prompt.arguments, form):
            more["arguments"] = arguments
        if places := [place for place in call.locations if place not in prompt.locations]:
            more["locations"] = places
        if not form.has_their_content and (
            diffs := [diff for diff in call.diffs if change_digest(diff) not in changes]
        ):
            more["diffs"] = diffs
        sealed = argument_digest("", more)
        if more and sealed not in seen:
            seen.add(sealed)
            yield more


def _arguments_beyond(told: Any, asked: Any, form: Form) -> Any:
    """The arguments of an announcement that its question does not have, or has otherwise."""
    if not isinstance(told, dict):
        return None if told in (*_NOTHING, asked) else told
    return {
        name: value
        for name, value in told.items()
        if value not in _NOTHING
        and value not in form.members.get(member_name(name), ())
        and (role_of(name) != "shown" or name == "text")
        and not is_decoration(name, value)
    }


def _paths_of(diff: dict[str, Any]) -> list[str]:
    paths = diff.get("paths")
    found = [diff.get("path"), *(paths if isinstance(paths, list) else ())]
    return [path for path in found if isinstance(path, str) and path]
