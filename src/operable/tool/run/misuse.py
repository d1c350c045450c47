"""What is wrong with a command line, in structured words. Loaded only when something is.

Every complaint is a `usage` error with a stable code, the thing it is about as its target, and a hint. Words of the
caller are repeated in short only, and not at all where they may be secret.
"""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.tool.kinds import COUNT, POSITIVE, SECONDS, STANDARD, is_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.tool.declaration import Declaration
    from operable.tool.framework import Warn
    from operable.tool.signature import Command, Param

# As much of a wrong word as a person needs to recognise it.
_SHOWN = 80
# More than this is not a suggestion any more.
_NEAR = 3
_RANGES = {
    COUNT: "a whole number",
    POSITIVE: "a whole number of at least 1",
    SECONDS: "a number of seconds between 0.001 and a year",
}


def together(tool: Declaration, command: Command, problems: list[Fail]) -> Fail:
    """The first problem, with the others named in it, each with a hint."""
    for problem in problems:
        if problem.hint is None:
            problem.hint = f"see {tool.invocation} {command.name} --help"
    first = problems[0]
    if len(problems) > 1:
        first.details["problems"] = [problem.message for problem in problems]
    return first


def unknown_command(tool: Declaration, name: str) -> Fail:
    known = [*tool.names(), *tool.built_in_names()]
    if not name:
        message = f"{tool.name} needs a command"
        return Fail("usage", "MISSING_COMMAND", message, hint=f"{tool.invocation} --help", commands=known)
    group = [command for command in known if command.startswith(f"{name} ")]
    near = group or _near_commands(name, known)
    first = name.partition(" ")[0]
    of_group = first if len(group) > _NEAR or (first != name and tool.is_group(first)) else ""
    if near and len(near) <= _NEAR:
        hint = f"did you mean {' or '.join(f'{tool.invocation} {command}' for command in near)}?"
    else:
        hint = " ".join([tool.invocation, *([of_group] if of_group else []), "--help"])
    short = _short(name)
    message = f"{tool.name} {short} needs a command" if group else f"{tool.name} has no command {short!r}"
    return Fail("usage", "UNKNOWN_COMMAND", message, hint=hint, target=short)


def _near_commands(name: str, known: list[str]) -> list[str]:
    """What was meant: of a group its commands by their second words; else what has this second word, or looks like it."""
    from operable.kernel.catalogue import nearest

    group, _, word = name.rpartition(" ")
    if group:
        inside = [command.partition(" ")[2] for command in known if command.startswith(f"{group} ")]
        return [f"{group} {near}" for near in nearest(word, inside)[:_NEAR]]
    elsewhere = [command for command in known if command.endswith(f" {name}")]
    return elsewhere or nearest(name, list(dict.fromkeys(command.partition(" ")[0] for command in known)))


def unknown_global_option(tool: Declaration, word: str) -> Fail:
    """An option that is alone, where a command is missing."""
    from operable.kernel.catalogue import nearest

    name = word.partition("=")[0]
    near = nearest(name.lstrip("-"), ["help", "version", "schema", "capabilities"])
    hint = f"did you mean --{near[0]}?" if near else f"{tool.invocation} --help"
    message = f"{tool.name} has no option {_short(name)}, and needs a command"
    return Fail("usage", "UNKNOWN_OPTION", message, hint=hint, target=_short(name))


def unknown_option(tool: Declaration, command: Command, word: str, known: list[str]) -> Fail:
    name = word.partition("=")[0]
    if name[2:] in STANDARD:
        hint = f"{name} does not apply to {command.name}"
    else:
        from operable.kernel.catalogue import nearest

        near = nearest(name.lstrip("-"), known)
        hint = f"did you mean --{near[0]}?" if near else f"see {tool.invocation} {command.name} --help"
    short = _short(name)
    return Fail("usage", "UNKNOWN_OPTION", f"{command.name} has no option {short}", hint=hint, target=short)


def out_of_range(name: str, form: str, text: str) -> Fail:
    message = f"--{name} must be {_RANGES[form]}, not {_short(text)!r}"
    return Fail("usage", "INVALID_VALUE", message, target=f"--{name}")


def unfit(command: Command, param: Param, problem: str, text: str | None) -> Fail:
    """A value that is not of its kind. Bytes that are not text can be given to an option that takes them as base64."""
    label = _label(param)
    shown = "" if param.secret or text is None else f", not {_short(text)!r}"
    if problem.endswith("that exists"):
        return Fail("not_found", "PATH_NOT_FOUND", f"{label} {problem}{shown}", target=_short(text or label))
    twin = f"{param.flag}-b64"
    given = text is not None and not is_text(text) and any(other.flag == twin for other in command.params)
    hint = f"give it as --{twin}" if given else None
    return Fail("usage", "INVALID_VALUE", f"{label} {problem}{shown}", target=label, hint=hint)


def missing(command: Command, param: Param) -> Fail:
    what = "operand" if param.operand else "option"
    label = _label(param)
    return Fail("usage", f"MISSING_{what.upper()}", f"{command.name} needs the {what} {label}", target=label)


def excluded(command: Command, given: dict[str, Any]) -> list[Fail]:
    """The groups of parameters of which too many were given, or none. What the environment says is not given."""
    labels = {param.name: _label(param) for param in command.params}
    found = []
    for group in (*command.exclusive, *command.one_of):
        used = [labels[name] for name in group if given.get(name) not in (None, False, [], ())]
        if len(used) > 1:
            message = f"{command.name} takes only one of {' and '.join(used)}"
            found.append(
                Fail("usage", "CONFLICTING_OPTIONS", message, hint=f"{used[0]} alone", target=used[1])
            )
        elif not used and group in command.one_of:
            named = " or ".join(labels[name] for name in group)
            found.append(
                Fail("usage", "MISSING_OPTION", f"{command.name} needs {named}", target=labels[group[0]])
            )
    return found


def outdated(command: Command, former: list[tuple[str, str]]) -> list[Warn]:
    """The warnings for a caller that uses a name, or a command, that will be removed."""
    from operable.tool.framework import Warn

    found = [
        Warn("DEPRECATED_NAME", f"{old} is called {new} now", hint=f"write {new}", target=old)
        for old, new in former
    ]
    if command.deprecated:
        message = f"{command.name} is deprecated: {command.deprecated}"
        found.append(Warn("DEPRECATED_COMMAND", message, target=command.name))
    return found


def unexpected_operands(command: Command, words: list[str], lacking: list[Param]) -> Fail:
    """`lacking` are options that the call needs and does not have: the words may have been meant for the only one."""
    more = f" and {len(words) - 1} more" if len(words) > 1 else ""
    return Fail(
        "usage",
        "UNEXPECTED_OPERAND",
        f"{command.name} does not take {_short(words[0])!r}{more}: too many operands",
        hint=_meant(words, lacking) or "quote an operand that has spaces",
        target=_short(words[0]),
    )


def _meant(words: list[str], lacking: list[Param]) -> str:
    from shlex import quote

    text = " ".join(words)
    if len(lacking) != 1 or lacking[0].kind.base != "string" or len(text) > _SHOWN:
        return ""
    return f"--{lacking[0].flag} {quote(text)}"


def _label(param: Param) -> str:
    return param.flag.upper() if param.operand else f"--{param.flag}"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
