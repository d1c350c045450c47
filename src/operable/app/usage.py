"""How the commands of an application are used, as its APP.md shows it in code; and which of them schedule something.

The standard gives commands names and no description of their arguments; the text does. A code span or a line of a fenced
block that has a documented command in it shows how that is used.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from operable.app.admission import possible_paths
from operable.app.packages import Package, activate
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t#]*$")
_CODE = re.compile(r"`+([^`\n]+)`+")
_LONGEST = 300  # characters: a usage is one line
_NAMED_SO = ("schedul", "unschedul")


def usages(package: Package) -> dict[str, str]:
    """Each command with the longest line that shows it, from its first word on; those that none shows are not there."""
    found: dict[str, str] = {}
    for command, code in shown(package.require().commands, codes(activate(package, skills=False).body)):
        start = re.search(rf"(?<!\S){re.escape(command.split()[0])}(?!\S)", code)
        usage = code[start.start() if start else 0 :].replace("\\|", "|").strip()  # a table escapes its bars
        if len(found.get(command, "")) < len(usage) <= _LONGEST:
            found[command] = usage
    return found


def shown(commands: Iterable[str], lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The lines that show a command, with it: the first that is there, the longest of those that begin alike."""
    paths = sorted((each.split() for each in commands), key=len, reverse=True)
    for line in lines:
        words = line.split()
        for start in range(len(words)):
            found = next((each for each in paths if words[start : start + len(each)] == each), None)
            if found is not None:
                yield " ".join(found), line
                break


def codes(body: str, about: str = "") -> Iterator[str]:
    """What a text shows as code; in sections whose heading has this in it, and in the sections below them."""
    level, fenced = 0, False
    for line in body.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            continue
        heading = None if fenced else _HEADING.match(line)
        if heading is not None:
            depth, meant = len(heading[1]), about in heading[2].lower()
            level = depth if meant and not level else 0 if level and depth <= level and not meant else level
            continue
        if level or not about:
            yield from [line] if fenced else _CODE.findall(line)


# Which commands schedule something: those that the body documents, and no others.
# A package with `scheduling: supported` names its scheduling commands, as code, under a heading that says Scheduling.
# Of these, the ones that `commands` lists may be called. A command that is called like one (a word of it begins with
# `schedule` or `unschedule`) and is not documented there is refused. All of them are refused if scheduling is not
# supported. A call of an upper command with such a one's words behind it counts as a call of it, as it does for
# confirmation (`admission`). Nothing is ever invented.
@dataclass(frozen=True, slots=True)
class Schedule:
    """One documented scheduling command, and the line of the body that shows how it is used."""

    command: str
    usage: str


def schedules(package: Package) -> list[Schedule]:
    """The scheduling commands; Fail when the package does not support scheduling."""
    if package.require().scheduling != "supported":
        raise _unsupported(package)
    return list(_documented(package))


def require_schedulable(package: Package, words: Sequence[str]) -> None:
    """Fail when these words would schedule something in a way that APP.md does not document."""
    supported = package.require().scheduling == "supported"
    known = {each.command for each in _documented(package)}
    for path in possible_paths(package, words):
        _require(package, path, documented=path in known, supported=supported)


def _require(package: Package, path: str, *, documented: bool, supported: bool) -> None:
    if documented and supported:
        return
    if documented or any(word.lower().startswith(_NAMED_SO) for word in path.split()):
        if not supported:
            raise _unsupported(package, path)
        raise Fail(
            "authz",
            "SCHEDULING_UNDOCUMENTED",
            f"{path} of {package.slug} is not among the scheduling commands that its APP.md documents",
            target=path,
            hint=f"operable app schedules {package.slug}",
        )


def _documented(package: Package) -> Iterator[Schedule]:
    lines = codes(activate(package, skills=False).body, "schedul")
    seen: set[str] = set()
    for command, code in shown(package.require().commands, lines):
        if command not in seen:
            seen.add(command)
            yield Schedule(command, code.strip())


def _unsupported(package: Package, path: str | None = None) -> Fail:
    return Fail(
        "authz",
        "SCHEDULING_NOT_SUPPORTED",
        f"{package.slug} does not say that it supports scheduling",
        target=path or package.slug,
    )
