"""The content that a question about an edit names, and whether a content that the host is to write is that one.

Agents name a content as a whole (`content`, the `newText` of a diff), or as a text and what replaces it. The second is
applied to the file as it is when the host writes. A question may show its content in a form that the host does not apply,
such as a patch: then nothing is known to be equal to it, and the host asks about what it is to write. A question that names
no content is about the path alone, and each content is good.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from operable.gate.policy.tool_arguments import is_content, is_decoration, role_of, spelled
from operable.gate.policy.tool_call import Facts
from operable.kernel.data_class import dataclass
from operable.wire.events import change_digest

_WHOLE: Final = frozenset(
    "content contents text filetext filecontent newcontent newcontents newsource code".split()
)
_OLD: Final = frozenset("oldstring oldstr oldtext old".split())
_NEW: Final = frozenset("newstring newstr newtext new".split())

_CONTENT_SHOWN: Final = 8_000  # characters of a content that the host asks about


@dataclass(frozen=True, slots=True)
class ApprovedContent:
    """What one file may get. `is_named` False: the question says nothing about it."""

    is_named: bool = False
    digests: frozenset[str] = frozenset()  # of whole contents
    changes: tuple[tuple[str, str], ...] = ()  # a text and what replaces it, one after the other

    def covers(self, content: str, before: Callable[[], str]) -> bool:
        """Whether a content is the approved one; `before` gives the content that the file has now."""
        if not self.is_named or _digest_of(content) in self.digests:
            return True
        if not self.changes:
            return False
        once = every = before()
        for old, new in self.changes:
            if not old or old not in once:
                return False
            once, every = once.replace(old, new, 1), every.replace(old, new)
        return content in (once, every)


def approved_contents(facts: Facts) -> dict[str, ApprovedContent]:
    """By the real path: what a question says about the content of each file."""
    found: dict[str, ApprovedContent] = {}
    for call in facts.calls:
        for diff in call.diffs:
            paths = [diff.get("path"), *(diff.get("paths") or ())]
            for path in {
                real for text in paths if isinstance(text, str) and text for real in facts.real_paths(text)
            }:
                found[path] = _with_diff(found.get(path, ApprovedContent()), diff)
    for call in facts.calls:
        named = _of_arguments(call.arguments)
        for path in facts.paths.stated if named.is_named else ():
            found.setdefault(path, named)  # a diff beside the arguments says what they come to
    return found


def is_same_edit(asked: Facts, diffs: Sequence[Mapping[str, Any]], later: Facts) -> bool:
    """Whether a later form of a call comes to exactly the one change that a question showed: of one file, before and after.

    kilo asks with the whole file as it would be, and announces what the model sent only then: a content, or a text and what
    replaces it. Nothing else may be beside that. What comes to another content is another call.
    """
    (diff,) = diffs if len(diffs) == 1 else ({},)
    path, before, after = diff.get("path"), diff.get("oldText") or "", diff.get("newText")
    if not (isinstance(path, str) and isinstance(before, str) and isinstance(after, str)):
        return False
    if later.kinds != ("edit",) or set(later.paths.stated) != set(asked.real_paths(path)):
        return False
    # What it shows beside its arguments is for people: they have the content.
    shown = {real for each in later.calls[0].diffs for real in later.real_paths(str(each.get("path", "")))}
    is_elsewhere = bool(shown - set(later.paths.stated))
    return len(later.calls) == 1 and not is_elsewhere and _comes_to(later.calls[0].arguments, before, after)


def _comes_to(change: Any, before: str, after: str) -> bool:
    """Whether these arguments make one text of the other, and say nothing else."""
    if not isinstance(change, Mapping):
        return False
    members = [(name, value) for name, value in change.items() if value not in (None, "", [], {}, False)]
    counting = {spelled(name): value for name, value in members if not is_decoration(name, value)}
    stated = {name: value for name, value in counting.items() if role_of(name) != "paths"}
    is_every = stated.pop("replaceall", False)
    if len(stated) == 1 and (whole := next(iter(stated))) in _WHOLE | _NEW:
        return bool(stated[whole] == after)
    old, new = (next((stated[name] for name in stated if name in names), None) for names in (_OLD, _NEW))
    if len(stated) > 2 or not (isinstance(old, str) and old and isinstance(new or "", str)):
        return False
    if len(stated) == 2 and new is None:
        return False
    is_clear = is_every is True or before.count(old) == 1
    return is_clear and before.replace(old, new or "") == after


def shown_content(content: str | None) -> dict[str, str]:
    """What people are shown of a content: its beginning, and a digest of all of it, to which the answer is bound."""
    if content is None:
        return {}
    left = len(content) - _CONTENT_SHOWN
    cut = f"{content[:_CONTENT_SHOWN]}… ({left} more characters)" if left > 0 else content
    return {"content": cut, "content_digest": _digest_of(content)}


def _with_diff(known: ApprovedContent, diff: Mapping[str, Any]) -> ApprovedContent:
    old, new = diff.get("oldText"), diff.get("newText")
    changes = known.changes
    if isinstance(old, str) and isinstance(new, str) and old:
        changes = (*changes, (old, new))
    is_whole = isinstance(new, str) or isinstance(diff.get("digest"), str)
    digests = known.digests | {change_digest(diff)} if is_whole else known.digests
    return ApprovedContent(True, digests, changes)


def _of_arguments(arguments: Any) -> ApprovedContent:
    members = (
        {spelled(name): value for name, value in arguments.items()} if isinstance(arguments, Mapping) else {}
    )
    named = [
        name for name, value in members.items() if (is_content(name) or name in _NEW) and value is not None
    ]
    whole = [value for name, value in members.items() if name in _WHOLE and isinstance(value, str)]
    old = [value for name, value in members.items() if name in _OLD and isinstance(value, str)]
    new = [value for name, value in members.items() if name in _NEW and isinstance(value, str)]
    changes = ((old[0], new[0]),) if len(old) == len(new) == 1 else ()
    return ApprovedContent(bool(named), frozenset(map(_digest_of, whole)), changes)


def _digest_of(content: str) -> str:
    return change_digest({"newText": content})
