"""The command line: which command, which arguments, which mode.

Theory of operation: the first bare word is the command; options may stand before and after it. A command's own
parameters come from its signature, the standard ones of AOI section 16 from the table below, of which only those
apply that the command can honour: `--cursor` on a command without one is an unknown option, not a silent no-op. Every
problem is collected and reported at once. Abbreviations are refused, because an agent that guesses should be told,
with the nearest name.

It converts and checks; it neither runs nor prints.
"""

from __future__ import annotations

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.tool.declare import Command, Param, Tool
    from operable.tool.kinds import Kind

FLAG, WORD, POSITIVE, COUNT, SECONDS, DIGEST = "flag", "word", "positive", "count", "seconds", "digest"

# Standard options and the form of their value.
STANDARD: dict[str, str] = {
    "output": WORD,
    "format": WORD,
    "schema-version": WORD,
    "accept-schema": WORD,
    "timeout": SECONDS,
    "no-color": FLAG,
    "debug": FLAG,
    "help": FLAG,
    "limit": POSITIVE,
    "cursor": WORD,
    "max-bytes": POSITIVE,
    "max-lines": POSITIVE,
    "dry-run": FLAG,
    "confirm": DIGEST,
    "confirm-count": COUNT,
    "idempotency-key": WORD,
    "input-json": WORD,
    "input-jsonl": WORD,
    "continue-on-error": FLAG,
    "fail-fast": FLAG,
}
_EVERYWHERE = ("output", "format", "schema-version", "accept-schema", "timeout", "no-color", "debug", "help")
DIGEST_PREFIX = "sha256:"


class Call:
    """A command line that was understood."""

    __slots__ = ("command", "options", "values")

    def __init__(self, command: Command) -> None:
        self.command = command
        self.values: dict[str, Any] = {}
        self.options: dict[str, Any] = {}


def standard_options(tool: Tool, command: Command) -> list[str]:
    """The standard options that this command honours."""
    own = {param.flag for param in command.params}
    names = [n for n in _EVERYWHERE if n not in ("output", "format") or n in tool.machine_flags]
    if not command.mutates and not command.document:
        names += ["limit", "max-bytes", "max-lines"]
        if command.cursor:
            names.append("cursor")
    if command.mutates:
        names += ["dry-run", "confirm", "confirm-count", "idempotency-key"]
    if command.stream_model() is not None:
        names += ["input-json", "input-jsonl", "continue-on-error", "fail-fast"]
    return [name for name in names if name not in own]


def locate(tool: Tool, argv: list[str]) -> tuple[str, list[str]]:
    """The command's name ("" if none is given) and the other words."""
    index = 0
    while index < len(argv):
        word = argv[index]
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            return _command_name(tool, argv, index)
        takes_value = STANDARD.get(word[2:], FLAG) not in (FLAG, DIGEST)
        index += 2 if takes_value else 1
    return "", argv


def _command_name(tool: Tool, argv: list[str], index: int) -> tuple[str, list[str]]:
    """One word, or two where the first is the name of a group (`agent list`)."""
    name, rest = argv[index], argv[:index] + argv[index + 1 :]
    if tool.find(name) is None and index < len(argv) - 1 and not argv[index + 1].startswith("-"):
        longer = f"{name} {argv[index + 1]}"
        if any(known.startswith(f"{name} ") for known in tool.names()):
            return longer, argv[:index] + argv[index + 2 :]
    return name, rest


def parse(tool: Tool, command: Command, words: list[str]) -> Call:
    """Read the words after the command's name; raises Fail("usage", …) with every problem found."""
    call = Call(command)
    problems: list[Fail] = []
    operands: list[str] = []
    _read_options(tool, call, words, operands, problems)
    if not call.options.get("help"):
        _read_operands(call, operands, problems)
        _fill_defaults(call, problems)
    if problems:
        first = problems[0]
        if len(problems) > 1:
            first.details["problems"] = [problem.message for problem in problems]
        raise first
    return call


def _read_options(
    tool: Tool, call: Call, words: list[str], operands: list[str], problems: list[Fail]
) -> None:
    own = {param.flag: param for param in call.command.params if not param.operand}
    standard = standard_options(tool, call.command)
    rest = words[::-1]  # a stack: an option takes its value from the top
    while rest:
        word = rest.pop()
        if word == "--":
            operands.extend(reversed(rest))
            return
        if not word.startswith("-") or word == "-" or _is_number(word):
            operands.append(word)
            continue
        name, equals, text = word[2:].partition("=") if word.startswith("--") else (word, "", "")
        try:
            if name not in own and name not in standard and not _negates(name, own):
                raise _unknown_option(word, tool, call.command, [*own, *standard])
            _read_option(call, own, name, text if equals else None, rest)
        except Fail as problem:
            problems.append(problem)


def _read_option(call: Call, own: dict[str, Param], name: str, value: str | None, rest: list[str]) -> None:
    negated = _negates(name, own)
    param = own.get(name[3:] if negated else name)
    form = STANDARD[name] if param is None else FLAG if _is_flag(param) else WORD
    if form is FLAG:
        if value is not None:
            raise _invalid(f"--{name}", "takes no value", code="UNEXPECTED_VALUE")
    elif form is DIGEST:
        if value is None and rest and rest[-1].startswith(DIGEST_PREFIX):
            value = rest.pop()
    elif value is None:
        if not rest:
            raise _invalid(f"--{name}", "needs a value", code="MISSING_VALUE")
        value = rest.pop()
    _store(call, param, name, value, negated=negated)


def _negates(name: str, own: dict[str, Param]) -> bool:
    """Whether this is `--no-x` for a flag `--x`."""
    return name not in own and name.startswith("no-") and _is_flag(own.get(name[3:]))


def _is_flag(param: Param | None) -> bool:
    return param is not None and param.kind.base == "boolean"


def _store(call: Call, param: Param | None, name: str, value: str | None, *, negated: bool) -> None:
    if param is None:
        if name in call.options:
            raise _invalid(f"--{name}", "is given twice", code="DUPLICATE_OPTION")
        call.options[name] = _standard_value(name, value)
        return
    if param.kind.base == "array" and param.kind.item is not None:
        call.values.setdefault(param.name, []).append(convert(value or "", param.kind.item, f"--{name}"))
        return
    if param.name in call.values:
        raise _invalid(f"--{name}", "is given twice", code="DUPLICATE_OPTION")
    call.values[param.name] = not negated if value is None else convert(value, param.kind, f"--{name}")


def _standard_value(name: str, value: str | None) -> Any:
    form = STANDARD[name]
    if form is FLAG:
        return True
    if form is DIGEST:
        return True if value is None else value
    text = value or ""
    if form is WORD:
        if not text:
            raise _invalid(f"--{name}", "needs a value that is not empty")
        return text
    try:
        number = float(text) if form is SECONDS else int(text)
    except ValueError:
        number = -1
    # Beyond a year of seconds or 2^63 items nothing is meant, and clocks and databases overflow.
    least, most = (
        (0, 2**63 - 1) if form is COUNT else (1, 2**63 - 1) if form is POSITIVE else (0.001, 31_536_000)
    )
    if not least <= number <= most:  # also refuses nan
        what = {
            COUNT: "a whole number",
            POSITIVE: "a whole number of at least 1",
            SECONDS: "a positive number of seconds",
        }
        raise _invalid(f"--{name}", f"must be {what[form]}, not {text!r}")
    return number


def _read_operands(call: Call, operands: list[str], problems: list[Fail]) -> None:
    rest = list(operands)
    for param in call.command.params:
        if not param.operand:
            continue
        label = param.flag.upper()
        try:
            if param.many:
                call.values[param.name] = [convert(word, param.kind, label) for word in rest]
                rest = []
            elif rest:
                call.values[param.name] = convert(rest.pop(0), param.kind, label)
        except Fail as problem:
            problems.append(problem)
    if (
        rest
        and call.command.stream_model() is not None
        and rest == ["-"]
        and not call.options.keys() & {"input-jsonl", "input-json"}
    ):
        call.options["input-jsonl"] = rest.pop()
    if rest:
        problems.append(
            Fail(
                "usage",
                "UNEXPECTED_OPERAND",
                f"{call.command.name} does not take {rest[0]!r}: too many operands",
                hint=f"see --help of {call.command.name}; quote an operand that has spaces",
            )
        )


def _fill_defaults(call: Call, problems: list[Fail]) -> None:
    for param in call.command.params:
        if param.name in call.values and (call.values[param.name] != [] or not param.required):
            continue
        if param.required:
            label = param.flag.upper() if param.operand else f"--{param.flag}"
            if any(problem.target == label for problem in problems):
                continue
            what = "operand" if param.operand else "option"
            problems.append(
                Fail(
                    "usage",
                    f"MISSING_{what.upper()}",
                    f"{call.command.name} needs the {what} {label}",
                    hint=f"see --help of {call.command.name}",
                    target=label,
                )
            )
        elif param.kind.base == "boolean" and param.default is None and not param.kind.nullable:
            call.values[param.name] = False
        else:
            call.values[param.name] = param.default


def convert(text: str, kind: Kind, label: str) -> Any:
    """A word of the command line as a value of its kind."""
    base = kind.base
    try:
        if base == "string":
            text.encode("utf-8")  # a word that is not UTF-8 arrives with lone surrogates
            return kind.model(text) if kind.model is not None else text
        if base == "integer":
            return int(text)
        if base == "number":
            number = float(text)
            if number - number == 0.0:
                return number
        if base == "boolean" and text in ("true", "false"):
            return text == "true"
        if base == "choice":
            return _choice(text, kind, label)
        if base in ("any", "union"):
            return text
    except UnicodeEncodeError:
        raise _invalid(label, "is not valid UTF-8") from None
    except ValueError:
        pass  # not a number: told below, in one sentence for all kinds
    names = {"integer": "a whole number", "number": "a number", "boolean": "true or false"}
    raise _invalid(label, f"must be {names.get(base, base)}, not {text!r}")


def _choice(text: str, kind: Kind, label: str) -> Any:
    for choice in kind.choices:
        if str(choice) == text:
            return choice
    raise _invalid(label, f"must be one of {', '.join(map(str, kind.choices))}, not {text!r}")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _invalid(label: str, problem: str, *, code: str = "INVALID_VALUE") -> Fail:
    return Fail("usage", code, f"{label} {problem}", target=label)


def _unknown_option(word: str, tool: Tool, command: Command, known: list[str]) -> Fail:
    name = word.partition("=")[0]
    if name[2:] in STANDARD:
        hint = f"{name} does not apply to {command.name}"
    else:
        from difflib import get_close_matches

        near = get_close_matches(name.lstrip("-"), known, n=1)
        hint = f"did you mean --{near[0]}?" if near else f"see {tool.name} {command.name} --help"
    return Fail("usage", "UNKNOWN_OPTION", f"{command.name} has no option {name}", hint=hint, target=name)
