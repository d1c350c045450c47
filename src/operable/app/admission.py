"""Whether a call may happen at all, decided from the frontmatter before any process exists.

A call begins with a documented command: its words come first, options after them. What begins otherwise is refused, so
a command cannot hide behind an option. `confirmationRequired` matches by prefix: `item` covers `item remove`. If a
command has commands below it (`item` and `item remove`), a call of the upper one with the lower one's words
anywhere after it counts as a call of the lower one: an application's own parser may take `item --force remove` for it,
and many take `item rem`, `item Remove` or `item ' remove'` for it as well.
"""

import shlex
import unicodedata
from collections.abc import Sequence

from operable.app.packages import Package
from operable.kernel.catalogue import unknown
from operable.kernel.errors import Fail

CONFIRMATION_REQUIRED = "CONFIRMATION_REQUIRED"


def command_path(package: Package, words: Sequence[str]) -> str:
    """The longest documented command that these words begin with; Raises Fail if no declared command matches."""
    commands = [command.split() for command in package.require().commands]
    for command in sorted(commands, key=len, reverse=True):
        if list(words[: len(command)]) == command:
            return " ".join(command)
    shown = " ".join(words[:2]) or "(nothing)"
    raise unknown("app command", shown, [" ".join(command) for command in commands])


def possible_paths(package: Package, words: Sequence[str]) -> list[str]:
    """That command, and the documented ones below it that the application's own parser may find in these words."""
    path = command_path(package, words).split()
    behind = words[len(path) :]
    commands = [command.split() for command in package.require().commands]
    below = [each for each in commands if each[: len(path)] == path and len(each) > len(path)]
    return [" ".join(path), *(" ".join(each) for each in below if in_order(each[len(path) :], behind))]


def needs_confirmation(package: Package, words: Sequence[str]) -> bool:
    """Whether the user has to agree before these words are run."""
    app = package.require()
    path = command_path(package, words).split()
    if app.needs_confirmation(" ".join(path)):
        return True
    behind = words[len(path) :]
    below = [each.split() for each in app.confirmation_required]
    return any(each[: len(path)] == path and in_order(each[len(path) :], behind) for each in below)


def require_confirmation(package: Package, words: Sequence[str], *, confirmed: bool) -> None:
    """Fail CONFIRMATION_REQUIRED unless the user has agreed or the call needs no approval."""
    if confirmed or not needs_confirmation(package, words):
        return
    path = command_path(package, words)
    name = package.root if package.source == "explicit" else package.slug
    raise Fail(
        "usage",
        CONFIRMATION_REQUIRED,
        f"{path} of {package.slug} needs the user's confirmation; nothing was run",
        target=path,
        # Before the --: what is after it is the application's own.
        hint=f"ask the user, then: {shlex.join(['operable', 'app', 'call', name, '--confirm', '--', *words])}",
    )


def in_order(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the most lenient parser finds these names in the words, one after the other."""
    rest = iter([each for word in words for each in _plain(word).split()])
    return all(any(_plain(name).startswith(word) for word in rest) for name in wanted)


def _plain(word: str) -> str:
    """A word as the most lenient parser would read it: in any case, in any width, without what cannot be seen."""
    letters = unicodedata.normalize("NFKC", word).casefold()
    return "".join(letter for letter in letters if letter.isprintable() or letter.isspace())
