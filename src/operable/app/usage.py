"""How the commands of an application are used, as its APP.md shows it: what is there as code.

The standard gives commands names and no description of their arguments; the text does. A code span or a line of a fenced
block that has a documented command in it shows how that is used.
"""

import re
from collections.abc import Iterable, Iterator

from operable.app.packages import Package, activate

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t#]*$")
_CODE = re.compile(r"`+([^`\n]+)`+")
_LONGEST = 300  # characters: a usage is one line


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
