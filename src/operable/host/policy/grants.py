"""What was allowed in this turn and not used yet: one yes, one use, for exactly what was asked.

An agent asks for its tool, and then has the host write the file or run the command. An approval of the question
therefore covers one such request about the same thing: the same kind, and the same file (where it really leads, at both
times) or the same command line in the same folder. Nothing is compared in part. An approval of an edit of several files
covers each of them once. A question that does not say its kind or its argument covers nothing: the host asks about what
it is then asked to do. All of it ends with the turn.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from operable.host.policy.shell.command_line import plain_script
from operable.host.policy.tool_call import Facts

_FILES: Final = frozenset({"read", "edit", "delete", "move"})

Thing = tuple[str, str, str]  # kind, path or command line, folder


class Grants:
    def __init__(self) -> None:
        self._left: Counter[Thing] = Counter()

    def add(self, asked: Iterable[Thing]) -> None:
        """A user, or a rule, approved what was asked, in the form in which it was asked."""
        self._left.update(asked)

    def remove(self, denied: Iterable[Thing]) -> None:
        """A user, or a rule, denied it after an approval."""
        for thing in denied:
            self._left.pop(thing, None)

    def use(self, facts: Facts) -> bool:
        """Take the yes to exactly this, if there is one."""
        wanted = things(facts)
        if len(wanted) != 1 or not self._left[wanted[0]]:
            return False
        self._left[wanted[0]] -= 1
        return True

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
        lines = dict.fromkeys(plain_script(line) or line for line in facts.command.stated)
        # Several lines or folders for one call: which of them will run, and where, is not known.
        is_one = len(lines) == 1 and len(facts.folders()) <= 1
        return [(kind, next(iter(lines)), facts.folder())] if is_one else []
    return []
