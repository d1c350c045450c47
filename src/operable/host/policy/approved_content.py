"""The content that a question about an edit names, and whether a content that the host is to write is that one.

Agents name a content as a whole (`content`, the `newText` of a diff), or as a text and what replaces it. The second is
applied to the file as it is when the host writes. A question may show its content in a form that the host does not apply,
such as a patch: then nothing is known to be equal to it, and the host asks about what it is to write. A question that names
no content is about the path alone, and each content is good.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from operable.gate.policy.tool_arguments import is_content, spelled
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
