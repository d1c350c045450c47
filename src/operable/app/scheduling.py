"""Which commands schedule something: those that the body documents, and no others.

A package with `scheduling: supported` names its scheduling commands, as code, under a heading that says Scheduling. Of
these, the ones that `commands` lists may be called. A command that is called like one (a word of it begins with
`schedule` or `unschedule`) and is not documented there is refused, and so is every one of them when scheduling is not
supported. A call of an upper command with such a one's words behind it counts as a call of it, as it does for confirmation
(`admission`). Nothing is ever invented.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from operable.app.admission import possible_paths
from operable.app.packages import Package, activate
from operable.kernel.errors import Fail

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t#]*$")
_CODE = re.compile(r"`+([^`\n]+)`+")
_NAMED_SO = ("schedul", "unschedul")


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
    commands = sorted((each.split() for each in package.require().commands), key=len, reverse=True)
    seen: set[str] = set()
    for code in _codes(activate(package, skills=False).body):
        words = code.split()
        for start in range(len(words)):
            found = next((each for each in commands if words[start : start + len(each)] == each), None)
            if found is not None:
                if " ".join(found) not in seen:
                    seen.add(" ".join(found))
                    yield Schedule(" ".join(found), code.strip())
                break


def _codes(body: str) -> Iterator[str]:
    """What stands as code in sections about scheduling, and in the sections below them."""
    level, fenced = 0, False
    for line in body.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            continue
        heading = None if fenced else _HEADING.match(line)
        if heading is not None:
            depth, about = len(heading[1]), "schedul" in heading[2].lower()
            level = depth if about and not level else 0 if level and depth <= level and not about else level
            continue
        if level and fenced:
            yield line
        elif level:
            yield from _CODE.findall(line)


def _unsupported(package: Package, path: str | None = None) -> Fail:
    return Fail(
        "authz",
        "SCHEDULING_NOT_SUPPORTED",
        f"{package.slug} does not say that it supports scheduling",
        target=path or package.slug,
    )
