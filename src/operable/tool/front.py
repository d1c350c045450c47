"""From `sys.argv` to the exit code: decide the mode, find the command, understand its words, run, leave.

The first bare word is the command; options may be before and after it.

The mode is read before anything is parsed, because a command line that is wrong must still be answered in the
language of the caller: a machine gets meta, error and summary for every mistake, a person gets two lines on stderr.
"""

import os

from operable.kernel.errors import EX_IOERR, Fail
from operable.tool.arguments import ParsedCall, option_names, parse, takes_value
from operable.tool.declaration import Declaration
from operable.tool.kinds import STANDARD
from operable.tool.process import complain, leave
from operable.tool.signature import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

    from operable.tool.interrupt import Interrupts
    from operable.tool.writer import Sink

JSONL, JSON, HUMAN = "jsonl", "json", "human"
_SHORT = "--compact"  # beside --help: help in few words
# Flags that mean a built-in command when no command is given.
_FLAGS = {
    "--schema": "schema",
    "--capabilities": "capabilities",
    "--version": "version",
    "-V": "version",
    "--help": "help",
    "-h": "help",
}

# One of these is in every secret name. The same are in `kernel.redact.names`, which costs 0.3 ms to load and is asked only
# about names that pass here.
HINTS = (
    "token",
    "secret",
    "pass",
    "pwd",
    "key",
    "cred",
    "cookie",
    "auth",
    "bearer",
    "private",
    "jwt",
    "otp",
    "sas",
)


def run_command_line(tool: "Declaration", argv: "list[str]") -> "NoReturn":
    """Run one command line and end the process with its exit code."""
    output = requested_output(tool, argv)
    call, refusal = understand(tool, argv)
    secrets = suspects(argv, call, refused=refusal is not None)
    if output == JSON:
        from operable.tool.document import answer_call

        leave(answer_call(call, refusal, secrets))
    try:
        stream = _open_terminal(tool, call, secrets) if output == HUMAN else _open_stream(call, secrets)
    except OSError:
        complain(f"{tool.name}: stdout is closed; nothing was done")  # there is no caller to answer
        os._exit(EX_IOERR)
    from operable.tool.runner import CommandRun  # after the signals are taken: loading it takes a while

    sink, interrupts = stream
    try:
        exit_code = CommandRun(tool, call, sink, interrupts, refusal=refusal).execute()
    except BaseException:
        if interrupts.stop is None:
            raise
        exit_code = interrupts.stop.exit_code  # it was to end, and could not even say so
    leave(exit_code)


def requested_output(tool: "Declaration", argv: "list[str]") -> str:
    """The output mode that the words ask for, right or wrong; an unknown one is refused later, to a person."""
    for index, word in enumerate(argv):
        if word == "--":
            break
        name, equals, value = word[2:].partition("=")
        if word.startswith("--") and name in tool.machine_flags:
            if not equals and index + 1 < len(argv):
                value = argv[index + 1]
            if value in (JSONL, JSON):
                return value
    return HUMAN


def understand(tool: "Declaration", argv: "list[str]") -> "tuple[ParsedCall, Fail | None]":
    """The call, or a call that only refuses, with the reason."""
    name, words = locate(tool, argv)
    command = tool.find(name)
    if name == "help" and command is None and any(not word.startswith("-") for word in words):
        return understand(tool, [*words, "--help"])  # `help list` is `list --help`
    if not name:  # a flag means our own command, also where the author has one of that name
        name, words = _flag_command(tool, words)
        command = _built_in(tool, name, words) or tool.find(name)
    elif command is None:
        command = _built_in(tool, name, words)
    if command is None:
        if name and _asks_for_help(words) and any(each.startswith(f"{name} ") for each in tool.names()):
            return ParsedCall(_help(tool, name, words)), None
        from operable.tool.run.misuse import unknown_command, unknown_global_option

        unknown = next((word for word in words if _is_unknown(tool, word)), "")
        refusal = (
            unknown_global_option(tool, unknown) if unknown and not name else unknown_command(tool, name)
        )
        return ParsedCall(Command(_nothing, name="", options={})), refusal
    if name == "help" and not tool.knows(name):
        words = [word for word in words if word != _SHORT]
    if _asks_for_help(words) and (name != "help" or tool.knows(name)):
        return ParsedCall(_help(tool, command, words)), None
    try:
        call = parse(tool, command, words)
        if name in command.former:
            call.former.append((name, command.name))
        _check_output(tool, call)
        if "fields" in call.options and "schema-version" not in call.options:
            from operable.tool.run.reduction import Reduction

            Reduction(tool, command, call.options)  # what cannot be is refused before anything is opened
        if command.document and call.options.keys() & {"schema-version", "accept-schema"}:
            from operable.tool.discovery.versions import negotiate

            negotiate(
                tool, call.options
            )  # a document is the same in every version, but a wrong one is reported
    except Fail as refusal:
        return ParsedCall(command), refusal
    return call, None


def locate(tool: "Declaration", argv: "list[str]") -> "tuple[str, list[str]]":
    """The command's name ("" if the caller gave no name) and the other words."""
    index, doubtful = 0, -1
    while index < len(argv):
        word = argv[index]
        if word == "--":  # what follows is not an option, so the next word is the command
            index += 1
            return _command_name(tool, argv, index) if index < len(argv) else ("", argv)
        if not word.startswith("-") or word == "-":
            return _command_name(tool, argv, index)
        if _takes_next(tool, argv, index):
            index += 1
            if doubtful < 0 and word[2:] not in STANDARD:
                doubtful = index
        index += 1
    # Nothing else is there, so a word that was taken for the value of an unknown option was meant as the command.
    return _command_name(tool, argv, doubtful) if doubtful >= 0 else ("", argv)


def _takes_next(tool: "Declaration", argv: "list[str]", index: int) -> bool:
    """Whether the option at `index`, which is before the command, is followed by its value."""
    name, following = argv[index][2:], argv[index + 1 : index + 2]
    if "=" in name or not following:
        return False
    if name in tool.machine_flags:
        return True
    form = STANDARD.get(name)
    if form is None and (known := tool.takes_value(name)) is not None:
        return known
    if form is None:  # perhaps one of the command's own
        return not following[0].startswith("-") and not tool.knows(following[0])
    return takes_value(form, following[0])


def _command_name(tool: "Declaration", argv: "list[str]", index: int) -> "tuple[str, list[str]]":
    """One word, or two where the first is the name of a group (`agent list`)."""
    name, rest = argv[index], argv[:index] + argv[index + 1 :]
    if tool.is_group(name):
        later = index + 1
        while later < len(argv) and argv[later].startswith("-"):
            later += 2 if _takes_next(tool, argv, later) else 1
        if later < len(argv):
            longer = f"{name} {argv[later]}"
            if not tool.knows(name, groups=False) or tool.knows(longer):
                return longer, [*rest[: later - 1], *argv[later + 1 :]]
        elif not _asks_for_help(rest):
            return tool.bare_command(name) or name, rest
    return name, rest


def suspects(argv: "list[str]", call: "ParsedCall", *, refused: bool) -> "tuple[str, ...]":
    """The words that must not be shown: what secret parameters were given, and what looks like it was meant to be.

    A refused command line may have been misspelt, so in its answer nothing is shown that is where a secret may be.
    """
    command = call.command
    found = list(_flagged(argv, command, unknown=refused and bool(command.name)))
    for param in command.params:
        named = any(hint in param.name.lower() for hint in HINTS)
        if not (param.name in command.secrets or (named and param.secret)):
            continue
        value = call.values.get(param.name)
        # A default is in the source and a switch has two values: neither is a secret, and "none" or "True" are words.
        if value != param.default and not isinstance(value, bool):
            found += map(_spelled, value if isinstance(value, list) else [] if value is None else [value])
        if refused and param.operand:
            found += [word for word in argv if not word.startswith("-") and word != command.name]
    return tuple(word for word in found if word)


def _spelled(value: "Any") -> str:
    """A value as it was written: the base64 of bytes, not their look in Python."""
    if isinstance(value, str | int | float):
        return str(value)
    from operable.tool.records import json_text

    return json_text(value).strip('"')


def _flagged(argv: "list[str]", command: "Command", *, unknown: bool) -> "Iterator[str]":
    """The values of options that are secret by name or declaration, and of unknown ones if wanted."""
    for index, word in enumerate(argv):
        if not word.startswith("-") or len(word) < 3:
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if name in STANDARD:
            continue
        from operable.kernel.redact.names import is_secret_name

        known = name in option_names(command)
        if name.replace("-", "_") in command.secrets or is_secret_name(name) or (unknown and not known):
            yield value if equals or index + 1 == len(argv) else argv[index + 1]


def _is_unknown(tool: "Declaration", word: str) -> bool:
    """Whether this is an option that no command has."""
    name = word[2:].partition("=")[0]
    known = name in (*STANDARD, *tool.machine_flags, "") or tool.takes_value(name) is not None
    return word.startswith("-") and not known


def _flag_command(tool: "Declaration", words: "list[str]") -> "tuple[str, list[str]]":
    for flag, name in _FLAGS.items():
        if flag in words:
            return tool.called(name), [word for word in words if word != flag]
    return "", words


def _built_in(tool: "Declaration", name: str, words: "list[str]") -> "Command | None":
    if name == "help":
        return _help(tool, None, words)
    if name != "version":
        return None
    from operable.tool.discovery.commands import version_command

    return version_command(tool)


def _help(tool: "Declaration", about: "Command | str | None", words: "list[str]") -> "Command":
    from operable.tool.discovery.commands import help_command

    return help_command(tool, about, short=_SHORT in _before_operands(words))


def _asks_for_help(words: "list[str]") -> bool:
    before = _before_operands(words)
    return "--help" in before or "-h" in before


def _before_operands(words: "list[str]") -> "list[str]":
    """Without what is an operand whatever it looks like."""
    return words[: words.index("--")] if "--" in words else words


def _check_output(tool: "Declaration", call: "ParsedCall") -> None:
    allowed = (JSON, JSONL, HUMAN) if call.command.document else (JSONL, HUMAN)
    given = {flag: call.options[flag] for flag in tool.machine_flags if flag in call.options}
    hint = f"use one of {', '.join(allowed)}"
    for flag, value in given.items():
        if value not in allowed:
            message = f"--{flag} {value[:80]} is not an output of {call.command.name}"
            raise Fail("usage", "INVALID_VALUE", message, hint=hint, target=f"--{flag}")
    if len(set(given.values())) > 1:
        names = " and ".join(f"--{flag}" for flag in given)
        raise Fail("usage", "CONFLICTING_OPTIONS", f"{names} ask for different outputs", hint=hint)


def _nothing() -> None:
    """The function of a command that does not exist."""


def _open_stream(call: "ParsedCall", secrets: "tuple[str, ...]") -> "tuple[Sink, Interrupts]":
    """Machine mode: stdout becomes private, no code can prompt. Raises OSError when stdout is closed."""
    from operable.tool.interrupt import Interrupts

    interrupts = Interrupts()
    interrupts.install()
    from operable.tool.process import STDIN_NAMES, let_go_of_terminal, take_stdin, take_stdout
    from operable.tool.writer import Emitter, MachineSink

    sink = MachineSink(Emitter(take_stdout(), interrupts), secrets)
    words = [
        word for value in call.values.values() for word in (value if isinstance(value, list) else [value])
    ]
    if not any(name in words for name in STDIN_NAMES):  # else the author's code reads stdin itself
        take_stdin()
    let_go_of_terminal()
    return sink, interrupts


def _open_terminal(
    tool: "Declaration", call: "ParsedCall", secrets: "tuple[str, ...]"
) -> "tuple[Sink, Interrupts]":
    """Human mode."""
    from operable.tool.interrupt import Interrupts

    interrupts = Interrupts()
    interrupts.install()
    from operable.tool.human.mode import PeopleSink

    return PeopleSink(tool, call, secrets, interrupts.told), interrupts
