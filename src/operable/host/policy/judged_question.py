"""A question of an agent as it is judged: one value, made once, that the person, the digest and the host share.

The person is shown its content (`shown`): the tool, the kind, the arguments, the places, the changes, and what was announced
of the call before and is not in the question. Its `digest` is over the same content, and over the command lines, folders,
files and addresses that the host made of it: what is remembered is this and nothing else. A later notice about the call is
compared with `form` and `known`, which are about that content too. A file or a command that the host is asked for is
compared with `grants`, and must be equal to one of them. Only the arguments and the changes of the question itself grant
something: neither a place that is listed beside them nor anything that was announced before does.

`facts` has all that was said about the call, since a rule that denies looks at everything; `touches` is the same for a
denial by a person.

`Grants` keeps what was allowed in this turn and not used yet.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from operable.gate.approvals import argument_digest
from operable.gate.policy.tool_arguments import is_decoration, member_name, role_of
from operable.gate.policy.tool_call import Facts, JudgedCall
from operable.host.policy.approved_content import ApprovedContent, approved_contents
from operable.host.policy.call_form import Form
from operable.kernel.data_class import dataclass
from operable.wire.events import AgentPrompt, ToolCall, change_digest

FactsOf = Callable[[JudgedCall], Facts]
_NOTHING: Final[tuple[Any, ...]] = (None, "", [], {}, False)
_FORMS: Final = 20  # announcements that say more than their question; real agents have one
_FILES: Final = frozenset({"read", "edit", "delete", "move"})
_NO_CONTENTS: Final[Mapping[str, ApprovedContent]] = {}
Thing = tuple[str, str, str]  # kind, path or command line, folder


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    prompt: AgentPrompt
    facts: Facts  # the question and all that was announced of its call
    form: Form  # what the question itself says
    known: Form  # and what was announced of its call before
    places: tuple[str, ...]  # listed beside the arguments and changes of the question, and not in them
    announced: tuple[dict[str, Any], ...]  # what is in the announcements and not in the question
    grants: tuple[Thing, ...]  # what a yes lets the host do
    contents: dict[str, ApprovedContent]  # what the question says about the content of each file
    touches: tuple[Thing, ...]  # what a no forbids
    digest: str

    @classmethod
    def of(cls, prompt: AgentPrompt, reported: Sequence[ToolCall], facts_of: FactsOf) -> "JudgedQuestion":
        asked = call_of(prompt)
        own = facts_of(asked)
        facts = (
            facts_of(replace(asked, reported=tuple(reported_call(form) for form in reported)))
            if reported
            else own
        )
        form = Form.of(own)
        announced = tuple(_announced(prompt, reported, form))
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
            Form.of(facts) if reported and len(announced) <= _FORMS else form,
            tuple(place for place in prompt.locations if place not in named),
            announced,
            tuple(granted),
            approved_contents(itself),
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


def reported_call(call: ToolCall, *others: ToolCall) -> JudgedCall:
    """What the agent announced, for the rules; `others` are other forms of the same call."""
    shown = (call.title,) if call.title else ()
    return JudgedCall(
        call.tool_name,
        call.kind,
        call.arguments,
        call.locations,
        shown,
        call.unnamed,
        reported=tuple(reported_call(form) for form in others),
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


def _announced(prompt: AgentPrompt, reported: Sequence[ToolCall], form: Form) -> Iterator[dict[str, Any]]:
    """What each announcement says that the question does not say, or says otherwise; each once."""
    changes = {change_digest(diff) for diff in prompt.diffs}
    seen: set[str] = set()
    for call in reported:
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


def _arguments_beyond(reported: Any, asked: Any, form: Form) -> Any:
    """The arguments of an announcement that its question does not have, or has otherwise."""
    if not isinstance(reported, dict):
        return None if reported in (*_NOTHING, asked) else reported
    return {
        name: value
        for name, value in reported.items()
        if value not in _NOTHING
        and value not in form.members.get(member_name(name), ())
        and (role_of(name) != "shown" or name == "text")
        and not is_decoration(name, value)
    }


def _paths_of(diff: dict[str, Any]) -> list[str]:
    paths = diff.get("paths")
    found = [diff.get("path"), *(paths if isinstance(paths, list) else ())]
    return [path for path in found if isinstance(path, str) and path]


# What was allowed in this turn and not used yet: one yes, one use, for exactly what was asked.
# An agent asks for its tool, and then has the host write the file or run the command. An approval of the question
# therefore covers one such request about the same thing: the same kind, and the same file (where it really leads, at
# both times) or the same command line in the same folder. Nothing is compared in part. An approval of an edit of
# several files covers each of them once. A question that does not say its kind or its argument covers nothing: the host
# asks about what it is then asked to do. All of it ends with the turn.
class Grants:
    def __init__(self) -> None:
        self._left: dict[Thing, list[ApprovedContent]] = {}

    def add(self, asked: Iterable[Thing], contents: Mapping[str, ApprovedContent] = _NO_CONTENTS) -> None:
        """A user, or a rule, approved what was asked, in the form in which it was asked."""
        for thing in asked:
            self._left.setdefault(thing, []).append(contents.get(thing[1], ApprovedContent()))

    def remove(self, denied: Iterable[Thing]) -> None:
        """A user, or a rule, denied it after an approval."""
        for thing in denied:
            self._left.pop(thing, None)

    def use(self, facts: Facts, content: str | None = None, before: Callable[[], str] = str) -> bool:
        """Take the yes to exactly this, if there is one. `before` gives what the file has now."""
        wanted = things(facts)
        left = self._left.get(wanted[0], []) if len(wanted) == 1 else []
        for at, approved in enumerate(left):
            if content is None or approved.covers(content, before):
                del left[at]
                return True
        return False

    def clear(self) -> None:
        self._left.clear()


def things(facts: Facts) -> list[Thing]:
    """The single things that a call is about; none where it does not say."""
    if len(facts.kinds) != 1:
        return []
    kind = facts.kinds[0]
    if kind in _FILES and facts.paths.known:
        return [(kind, path, "") for path in dict.fromkeys(facts.paths.stated)]
    if kind == "execute" and facts.command.known:
        from operable.gate.policy.shell.command_line import plain_script

        lines = dict.fromkeys(plain_script(line) or line for line in facts.command.stated)
        # Several lines or folders for one call: which of them will run, and where, is not known.
        is_one = len(lines) == 1 and len(facts.folders()) <= 1
        return [(kind, next(iter(lines)), facts.folder())] if is_one else []
    return []
