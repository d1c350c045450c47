"""Which commands schedule something: those that the body documents, and no others.

A package with `scheduling: supported` names its scheduling commands, as code, under a heading that says Scheduling. Of
these, the ones that `commands` lists may be called. A command that is called like one (a word of it begins with
`schedule` or `unschedule`) and is not documented there is refused. All of them are refused if scheduling is not
supported. A call of an upper command with such a one's words behind it counts as a call of it, as it does for confirmation
(`admission`). Nothing is ever invented.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from operable.app.admission import possible_paths
from operable.app.packages import Package, activate
from operable.app.usage import codes, shown
from operable.kernel.errors import Fail

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
