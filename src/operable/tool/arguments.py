"""The words after a command as its arguments and options.

Theory of operation: a command's own parameters come from its signature, the standard ones of AOI section 16 from the
table in `kinds`, of which only those apply that the command can honour: `--cursor` on a command without one is an
unknown option, not a silent no-op. Every problem is collected and reported at once. Abbreviations are refused, because
an agent that guesses should get an error with the nearest name; so is a value that looks like an option, because it is
nearly always a forgotten value.

It converts and checks; it neither runs nor prints. The words of its complaints are in `misuse`.
"""

from operable.kernel.errors import Fail
from operable.tool.kinds import (
    COUNT,
    DIGEST,
    FLAG,
    POSITIVE,
    SECONDS,
    STANDARD,
    STRUCTURED,
    WORD,
    convert,
    is_text,
    plain_number,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.tool.declaration import Declaration
    from operable.tool.kinds import ValueKind
    from operable.tool.signature import Command, Param


_EVERYWHERE = ("schema-version", "accept-schema", "timeout", "no-color", "debug", "help")
DIGEST_PREFIX = "sha256:"
_DIGEST_LENGTH = len(DIGEST_PREFIX) + 64
# What a number may be. Beyond a year of seconds or 2^63 items nothing is meant, and clocks and databases overflow.
_RANGES: "dict[str, tuple[float, float]]" = {
    COUNT: (0, 2**63 - 1),
    POSITIVE: (1, 2**63 - 1),
    SECONDS: (0.001, 31_536_000),
}


class ParsedCall:
    """A command line that was understood."""

    __slots__ = ("command", "former", "options", "values")

    def __init__(self, command: "Command") -> None:
        self.command = command
        self.values: dict[str, Any] = {}
        self.options: dict[str, Any] = {}
        self.former: list[
            tuple[str, str]
        ] = []  # names that were used and are no longer the right ones, and those


def standard_options(tool: "Declaration", command: "Command") -> "list[str]":
    """The standard options that this command honours."""
    own = {param.flag for param in command.params}
    names = [*tool.machine_flags, *_EVERYWHERE]
    if command.has_results:
        names += ["limit", "max-bytes", "max-lines", "fields", "compact"]
        if command.cursor:
            names.append("cursor")
    if command.mutates:
        names += ["dry-run", "confirm", "confirm-count", "idempotency-key"]
    if command.stream_model() is not None:
        names += ["input-json", "input-jsonl"]
    if command.stream_model() is not None or command.partial:
        names += ["continue-on-error", "fail-fast"]
    return [name for name in names if name not in own]


def option_names(command: "Command") -> "dict[str, Param]":
    """The parameters that are options, by every name that they have; a letter has its dash."""
    found = {param.flag: param for param in command.params if not param.operand}
    for param in [param for param in found.values() if param.arg is not None]:
        for name in (*param.arg.aliases, *param.arg.former) if param.arg else ():
            found.setdefault(f"-{name}" if len(name) == 1 else name, param)
    for letter, flag in command.short.items():
        if flag in found:
            found.setdefault(f"-{letter}", found[flag])
    return found


def takes_value(form: str, following: str) -> bool:
    """Whether the word behind a standard option of this form is its value."""
    return following.startswith(DIGEST_PREFIX) if form is DIGEST else form is not FLAG


def parse(tool: "Declaration", command: "Command", words: "list[str]") -> "ParsedCall":
    """Read the words after the command's name; raises Fail("usage", …) with every problem found."""
    call = ParsedCall(command)
    problems: list[Fail] = []
    operands: list[str] = []
    doubtful = _read_options(tool, call, words, operands, problems)
    if not call.options.get("help"):
        _read_operands(call, operands, doubtful, problems)
        _fill_defaults(call, problems)
    if problems:
        from operable.tool.run.misuse import together

        raise together(tool, command, problems)
    return call


def _read_options(
    tool: "Declaration", call: "ParsedCall", words: "list[str]", operands: "list[str]", problems: "list[Fail]"
) -> "set[int]":
    """The operands; gives the places of those behind an unknown option, whose values they may be."""
    own = option_names(call.command)
    doubtful: set[int] = set()
    standard = standard_options(tool, call.command)
    rest = words[::-1]  # a stack: an option takes its value from the top
    while rest:
        word = rest.pop()
        if word == "--":
            operands.extend(reversed(rest))
            break
        if not word.startswith("-") or word == "-" or _is_number(word):
            operands.append(word)
            continue
        name, equals, text = word[2:].partition("=") if word.startswith("--") else (word, "", "")
        if name == "-h":
            name = "help"
        elif name[:2] in own and name[0] == "-" and _is_letter(word, own[name[:2]]):
            rest += [word[:2]] * (len(word) - 2)  # -vvv is -v three times
            name = own[name[:2]].flag
        try:
            if name not in own and name not in standard and not _negates(name, own):
                from operable.tool.run.misuse import unknown_option

                raise unknown_option(tool, call.command, word, [*own, *standard])
            _read_option(call, own, name, text if equals else None, rest)
        except Fail as problem:
            problems.append(problem)
            if problem.code == "UNKNOWN_OPTION" and "=" not in word:
                doubtful.add(len(operands))
    return doubtful


def _is_letter(word: str, param: "Param") -> bool:
    """Whether this is a one-letter option, or one that is counted several times."""
    return len(word) == 2 or (param.counted and word[1:] == word[1] * (len(word) - 1))


def _read_option(
    call: "ParsedCall", own: "dict[str, Param]", name: str, value: "str | None", rest: "list[str]"
) -> None:
    negated = _negates(name, own)
    param = own.get(name[3:] if negated else name)
    form = STANDARD.get(name, WORD) if param is None else FLAG if _is_flag(param) else WORD
    if form is FLAG:
        if value is not None:
            raise _bad_option(name, "UNEXPECTED_VALUE", "takes no value", hint=f"--{name} alone")
    elif form is DIGEST:
        if value is None and rest and rest[-1].startswith(DIGEST_PREFIX):
            value = rest.pop()
    elif value is None:
        if not rest or rest[-1].startswith("--"):
            hint = f"--{name} VALUE, or --{name}=VALUE for one that begins with --"
            raise _bad_option(name, "MISSING_VALUE", "needs a value", hint=hint)
        value = rest.pop()
    _store(call, param, name, value, negated=negated)


def _negates(name: str, own: "dict[str, Param]") -> bool:
    """Whether this is `--no-x` for a flag `--x`."""
    return name not in own and name.startswith("no-") and _is_flag(own.get(name[3:]))


def _is_flag(param: "Param | None") -> bool:
    return param is not None and (param.kind.base == "boolean" or param.counted)


def _store(
    call: "ParsedCall", param: "Param | None", name: str, value: "str | None", *, negated: bool
) -> None:
    if param is None:
        if name in call.options:
            raise _bad_option(name, "DUPLICATE_OPTION", "is given twice", hint=f"--{name} once")
        call.options[name] = _standard_value(name, value)
        return
    if param.arg is not None and name in param.arg.former:
        call.former.append((f"--{name}", f"--{param.flag}"))
    if param.counted:
        call.values[param.name] = call.values.get(param.name, 0) + 1
        return
    if param.kind.base == "array" and param.kind.item is not None:
        call.values.setdefault(param.name, []).append(_converted(call, value or "", param, param.kind.item))
        return
    if param.name in call.values:
        raise _bad_option(name, "DUPLICATE_OPTION", "is given twice", hint=f"--{name} once")
    # Taken even if it is not valid, so that a second one is still a second one.
    call.values[param.name] = not negated
    if value is not None:
        call.values[param.name] = _converted(call, value, param, param.kind)


def _standard_value(name: str, value: "str | None") -> "Any":
    form = STANDARD.get(name, WORD)
    if form is FLAG or (form is DIGEST and value is None):
        return True
    text = value or ""
    if form is DIGEST:
        if len(text) != _DIGEST_LENGTH or not text.startswith(DIGEST_PREFIX):
            raise _bad_option(
                name, "INVALID_VALUE", "takes the plan_digest of a dry run", hint=f"--{name} alone"
            )
        return text
    if form is WORD:
        if not text or not is_text(text):
            raise _bad_option(name, "INVALID_VALUE", "needs a value that is not empty and is UTF-8")
        return text
    number = plain_number(text, whole=form is not SECONDS)
    least, most = _RANGES[form]
    if number is None or not least <= number <= most:
        from operable.tool.run.misuse import out_of_range

        raise out_of_range(name, form, text)
    return number


def _read_operands(
    call: "ParsedCall", operands: "list[str]", doubtful: "set[int]", problems: "list[Fail]"
) -> None:
    rest = operands[::-1]
    for param in call.command.params:
        if not param.operand or (param.many and not rest and not param.spread):
            continue
        words = rest[::-1] if param.many else rest[-1:]
        del rest[len(rest) - len(words) :]
        values = []
        for place, word in enumerate(words, len(operands) - len(rest) - len(words)):
            try:
                values.append(_converted(call, word, param, param.kind))
            except Fail as problem:
                if place not in doubtful:  # else it may be a secret, and was not meant for this
                    problems.append(problem)
        if param.many:
            call.values[param.name] = values
        elif values:
            call.values[param.name] = values[0]
    given = call.options.keys() & {"input-jsonl", "input-json"}
    if rest == ["-"] and not given and call.command.stream_model() is not None:
        call.options["input-jsonl"] = rest.pop()
    # A word after an unknown option is most likely its value: one complaint is enough.
    if rest and not any(problem.code == "UNKNOWN_OPTION" for problem in problems):
        from operable.tool.run.misuse import unexpected_operands

        lacking = [each for each in call.command.params if _lacks(call, each)]
        problems.append(unexpected_operands(call.command, rest[::-1], lacking))


def _lacks(call: "ParsedCall", param: "Param") -> bool:
    """Whether it is an option that the call needs and does not have."""
    return param.required and not param.operand and param.name not in call.values


def _fill_defaults(call: "ParsedCall", problems: "list[Fail]") -> None:
    if call.command.exclusive or call.command.one_of:
        from operable.tool.run.misuse import excluded

        problems += excluded(call.command, call.values)
    for param in call.command.params:
        if param.name in call.values:
            if param.must is not None and (problem := param.must.problem(call.values[param.name])):
                problems.append(_unfit(call, param, problem, None))
        elif (
            param.arg is not None
            and param.arg.env
            and _from_environment(call, param, param.arg.env, problems)
        ):
            continue
        elif param.required:
            from operable.tool.run.misuse import missing

            complaint = missing(call.command, param)
            # A value that was there but no good has been complained about already.
            if all(known.target != complaint.target for known in problems):
                problems.append(complaint)
        elif param.kind.base == "boolean" and param.default is None and not param.kind.nullable:
            call.values[param.name] = False
        else:
            call.values[param.name] = param.default


def _from_environment(call: "ParsedCall", param: "Param", variable: str, problems: "list[Fail]") -> bool:
    """Take the value from a variable, if that has one. Several values are separated as in PATH."""
    import os

    text = os.environ.get(variable, "")
    if not text:
        return False
    kind = param.kind
    try:
        if kind.base == "array" and kind.item is not None:
            call.values[param.name] = [_read(word, kind.item) for word in text.split(os.pathsep) if word]
        elif kind.base == "boolean" and text in ("0", "1"):
            call.values[param.name] = text == "1"
        else:
            call.values[param.name] = _read(text, kind)
    except ValueError as problem:
        fail = _unfit(call, param, str(problem), text)
        fail.message = f"{variable}, which stands for {fail.message}"
        fail.category, fail.target = "config", variable
        problems.append(fail)
        call.values[param.name] = None
    return True


def _converted(call: "ParsedCall", text: str, param: "Param", kind: "ValueKind") -> "Any":
    """A word of the command line as a value of its kind; refused in the name of its parameter."""
    try:
        return _read(text, kind)
    except ValueError as problem:
        raise _unfit(call, param, str(problem), text) from None


def _read(text: str, kind: "ValueKind") -> "Any":
    if kind.base not in STRUCTURED:
        return convert(text, kind)
    from operable.tool.values.builder import value_of_json

    return value_of_json(text, kind)


def _unfit(call: "ParsedCall", param: "Param", problem: str, text: "str | None") -> "Fail":
    from operable.tool.run.misuse import unfit

    return unfit(call.command, param, problem, text)


def _is_number(word: str) -> bool:
    """Whether a word that begins with a dash is a negative number and no option."""
    return word[1:2] in "0123456789." and plain_number(word, whole=False) is not None


def _bad_option(name: str, code: str, problem: str, *, hint: "str | None" = None) -> "Fail":
    return Fail("usage", code, f"--{name} {problem}", hint=hint, target=f"--{name}")
