"""Help for people, from what the author declared: docstring, signature, examples.

A docstring line `name: text` with the name of a parameter is the help of that parameter; it may go on over lines that are
indented deeper. `name FILE: text` also says what the help shows for its value. Everything else is the description. The
options of a group have their help in the docstring of its class. The text is the same everywhere; a terminal gets it
`fitted`. The help of a whole tool, and of a group, is in `overview`.
"""

from __future__ import annotations

from operable.tool.arguments import standard_options
from operable.tool.kinds import spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.tool.declaration import Declaration
    from operable.tool.signature import Command, Param

_STANDARD_HELP = {
    "schema-version": ("VERSION", "speak this version of the schema ({major} or {version})"),
    "accept-schema": ("NAME@MAJOR", "speak this schema"),
    "timeout": ("SECONDS", "give up after this time"),
    "no-color": ("", "no colour"),
    "debug": ("", "tracebacks on stderr, redacted"),
    "help": ("", "show this help; also -h"),
    "limit": ("N", "at most N results"),
    "cursor": ("TOKEN", "go on where an earlier page ended (its next_cursor)"),
    "max-bytes": ("N", "at most N bytes of results"),
    "max-lines": ("N", "at most N lines of results"),
    "fields": ("NAMES", "only these fields of each result, with commas between: a,b.c"),
    "compact": ("", "leave out fields that are null or empty"),
    "dry-run": ("", "show the plan and its digest, do nothing"),
    "confirm": ("[DIGEST]", "do it; with a digest, only the plan that a dry run showed"),
    "confirm-count": ("N", "do it only if exactly N things are affected"),
    "idempotency-key": ("KEY", "do it once, however often this is sent with the same key"),
    "input-json": ("FILE|-", "read a JSON value or array"),
    "input-jsonl": ("FILE|-", "read one JSON object per line, or the stream of another tool"),
    "continue-on-error": ("", "report bad items and go on with the others"),
    "fail-fast": ("", "stop at the first bad item, before any effect (default)"),
}


# What may be between the parts of a word for a value: HOST:PORT, NAME=VALUE.
_SEPARATORS = {ord(mark): "|" for mark in "=:@/-"}


def description(command: Command) -> str:
    """The docstring without its parameter lines."""
    return facts(command)[0]


def _value_words(command: Command) -> dict[str, str]:
    """What the help shows for the values of parameters that say it."""
    return facts(command)[2]


def parameter_help(command: Command) -> dict[str, str]:
    """The help of each parameter that has any."""
    return facts(command)[1]


def facts(command: Command) -> tuple[str, dict[str, str], dict[str, str]]:
    """The description, the help of each parameter that has any, and what is shown for the values of those that say it."""
    names = {name: param.name for param in command.params for name in (param.name, param.flag)}
    texts: dict[str, str] = {}
    values: dict[str, str] = {}
    for group in command.option_groups():
        _, inner, words = _parsed(group.__doc__, names)
        texts |= inner
        values |= words
    text, own, words = _parsed(command.function.__doc__, names)
    return text, texts | own, values | words


def _parsed(docstring: str | None, names: dict[str, str]) -> tuple[str, dict[str, str], dict[str, str]]:
    """The description in a docstring, the help of the parameters that have these names, and the words for their values."""
    kept: list[str] = []
    texts: dict[str, str] = {}
    values: dict[str, str] = {}
    current, indent = "", 0
    for line in (docstring or "").strip().splitlines():
        words = line.strip()
        deeper = len(line) - len(line.lstrip()) > indent
        name, value, text = _parameter_line(words)
        if current and words and deeper:
            texts[current] += f" {words}"
        elif name in names:
            current, indent = names[name], len(line) - len(line.lstrip())
            texts[current] = text.strip()
            if value:
                values[current] = value
        else:
            current = ""
            if words or (kept and kept[-1]):  # one blank line is enough where parameters were
                kept.append(words)
    return "\n".join(kept).strip(), texts, values


def _parameter_line(line: str) -> tuple[str, str, str]:
    """The parts of `name: text` and `name FILE: text`; no name in other lines. Without `re`, which costs half a start."""
    name, space, _ = line.partition(":")[0].partition(" ")
    if not space:
        _, colon, text = line.partition(":")
        return (name, "", text) if colon else ("", "", "")
    value, colon, text = f"{line} ".removeprefix(f"{name} ").partition(": ")
    return (name, value, text) if colon and _in_capitals(value) else ("", "", "")


def _in_capitals(value: str) -> bool:
    parts = value.translate(_SEPARATORS).split("|")
    return "A" <= value[:1] <= "Z" and all(
        part.isascii() and part.isalnum() and part == part.upper() for part in parts
    )


def summary(command: Command) -> str:
    """What a command does, in one line. Its parameters are not read unless the line could be the help of one."""
    first = (command.function.__doc__ or "").strip().partition("\n")[0]
    name, colon, _ = first.partition(":")
    may_be_help = colon and name.replace("-", "_").isidentifier()
    return description(command).partition("\n")[0] if may_be_help else first.strip()


def command_help(tool: Declaration, command: Command) -> str:
    text, texts, values = facts(command)
    lines = [
        usage(tool, command),
        "",
        *([text, ""] if text else []),
        *effects(command),
    ]
    operands, options = option_rows(command, texts, values)
    modes = [(f"--{flag} MODE", _mode_text(tool, command, flag)) for flag in tool.machine_flags]
    standard = modes + standard_rows(tool, command)
    for title, rows in (("Operands", operands), ("Options", options), ("Standard options", standard)):
        if rows:
            lines += ["", f"{title}:", *rows_of_two(rows)]
    if command.examples:
        lines += ["", "Examples:", *(f"  {tool.invocation} {example}" for example in command.examples)]
    return "\n".join(lines)


def option_rows(
    command: Command, texts: dict[str, str], values: dict[str, str]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The operands and the options that the author declared, each with its text."""
    operands = [
        (param.flag.upper(), _operand_text(param, texts)) for param in command.params if param.operand
    ]
    options = [
        (_other_names(command, param) + _option(param, values), _option_text(param, texts))
        for param in command.params
        if not param.operand
    ]
    return operands, options


def standard_rows(
    tool: Declaration, command: Command, without: frozenset[str] = frozenset()
) -> list[tuple[str, str]]:
    """The standard options of a command beside those for the output."""
    rows = []
    for name in standard_options(tool, command):
        if name not in tool.machine_flags and name not in without:
            value, text = _STANDARD_HELP[name]
            text = text.format(version=tool.schema_version, major=tool.schema_version.partition(".")[0])
            rows.append((f"--{name} {value}".rstrip(), _with_default(command, name, text)))
    return rows


def _other_names(command: Command, param: Param) -> str:
    """The letter and the further names of an option, before its own."""
    letters = [letter for letter, flag in command.short.items() if flag == param.flag]
    others = [*letters, *(param.arg.aliases if param.arg is not None else ())]
    others.sort(key=len)
    return "".join(f"-{name}, " if len(name) == 1 else f"--{name}, " for name in others)


def _mode_text(tool: Declaration, command: Command, flag: str) -> str:
    if flag != tool.machine_flags[0]:
        return f"the same as --{tool.machine_flags[0]}"
    document = "json for the document alone, " if command.document else ""
    return f"{document}jsonl for the machine stream, human (default) for people"


def effects(command: Command) -> list[str]:
    """What a caller must know before calling: does it change anything, does it end, what does bad input do."""
    if command.destructive:
        count = "; for more than one thing at once, --confirm-count N" if command.bulk else ""
        lines = [f"Destructive: needs --confirm{count}. --dry-run shows the plan."]
    elif command.mutates:
        lines = ["Changes things. --dry-run shows the plan."]
    elif command.runs_tools:
        lines = ["Runs other tools and may change whatever they change."]
    else:
        lines = ["Changes nothing."]
    explained = command.assurances().get("explained")
    if explained:
        lines.append(explained)
    if command.unbounded:
        lines.append(
            f"Unbounded: it goes on until it is stopped, with a heartbeat every {command.heartbeat:g} s."
        )
    labels = {
        param.name: param.flag.upper() if param.operand else f"--{param.flag}" for param in command.params
    }
    for group in command.exclusive:
        lines.append(f"At most one of {', '.join(labels[name] for name in group)}.")
    for group in command.one_of:
        lines.append(f"Exactly one of {', '.join(labels[name] for name in group)}.")
    if command.deprecated:
        lines.append(f"Deprecated: {command.deprecated}.")
    if command.aliases:
        lines.append(f"Also called {', '.join(command.aliases)}.")
    if command.stream_model() is not None:
        when = "before any effect" if command.mutates else "at once"
        lines.append(
            f"A malformed item of its input ends it {when}; --continue-on-error reports it and goes on."
        )
    return lines


def usage(tool: Declaration, command: Command) -> str:
    words = [tool.invocation, command.name]
    for param in command.params:
        if param.operand:
            word = param.flag.upper() + ("…" if param.many else "")
            words.append(word if param.required else f"[{word}]")
    values = _value_words(command)
    words += [_option(param, values) for param in command.params if not param.operand and param.required]
    return f"Usage: {' '.join(words)} [OPTIONS]"


def _option(param: Param, values: dict[str, str]) -> str:
    kind = param.kind.item if param.kind.base == "array" and param.kind.item else param.kind
    if kind.base == "boolean" and kind is param.kind:
        return f"--[no-]{param.flag}" if param.default is True else f"--{param.flag}"
    if param.counted:
        return f"--{param.flag}…"
    if kind.base == "choice":
        word = "|".join(map(spelled, kind.choices))
    elif param.name in values:
        word = values[param.name]
    else:
        word = _WORDS.get(kind.base, "TEXT") if kind.form is None else kind.form.word
    return f"--{param.flag} {word}" + ("…" if kind is not param.kind else "")


_WORDS = {
    "integer": "INTEGER",
    "number": "NUMBER",
    "boolean": "true|false",
    "object": "JSON",
    "record": "JSON",
    "array": "JSON",
}


def _operand_text(param: Param, texts: dict[str, str]) -> str:
    """The usage has only the name of an operand, so this has the words that can be there."""
    text = texts.get(param.name, "")
    if param.kind.base == "choice":
        text = f"{text}: {', '.join(map(spelled, param.kind.choices))}".removeprefix(": ")
    return _and_default(param, text)


def _option_text(param: Param, texts: dict[str, str]) -> str:
    text = texts.get(param.name, "")
    return f"{text} (required)".strip() if param.required else _and_default(param, text)


def _and_default(param: Param, text: str) -> str:
    for must in (param.kind.must, param.must):
        if must is not None and must.words():
            text = f"{text}, {must.words()}" if text else must.words()
    default, notes = param.default, []
    if default is True:
        notes.append("default: yes")
    elif (
        default is not None and default is not False and default not in ("", [], (), b"") and not param.secret
    ):
        notes.append(f"default {_shown_default(default)}")
    if param.arg is not None and param.arg.env:
        notes.append(f"or {param.arg.env}" if notes else f"from {param.arg.env}")
    if param.counted:
        notes = ["may be repeated"]
    return f"{text} ({'; '.join(notes)})".strip() if notes else text


def _shown_default(default: Any) -> str:
    if isinstance(default, float):
        return f"{default:g}"
    if type(default) in (str, int):
        return str(default)
    from operable.tool.records import json_text

    return json_text(default).strip('"')


def _with_default(command: Command, name: str, text: str) -> str:
    default = {"limit": command.limit, "timeout": command.timeout}.get(name)
    if default is None:
        return text
    return f"{text} (default {int(default) if default == int(default) else default})"


def rows_of_two(rows: list[tuple[str, str]]) -> list[str]:
    """A name and its text, the texts below each other."""
    width = min(max((len(left) for left, _ in rows), default=0), 30)
    return [f"  {left:<{width}}  {right}".rstrip() for left, right in rows]


def fitted(text: str, width: int) -> str:
    """Help in lines of this width, each going on below where its own text begins. Examples stay whole, to be copied."""
    lines: list[str] = []
    heading = ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            heading = line
        lines += [line] if len(line) <= width or heading == "Examples:" else _folded(line, width)
    return "\n".join(lines)


def _folded(line: str, width: int) -> list[str]:
    from textwrap import wrap

    indent = len(line) - len(line.lstrip())
    name, gap, text = line[indent:].partition("  ")
    text = text.lstrip()
    column = len(line) - len(text)
    if not gap:  # a sentence; a usage goes on below its first word
        name, text, column = "", line[indent:], indent + 7 * line.startswith("Usage: ")
    elif column > width // 2:  # beside such a name there is no room
        folded = _folded(" " * (indent + 4) + text, width)
        return [f"{' ' * indent}{name}", *folded]
    first = f"{' ' * indent}{name}".ljust(column) if gap else " " * indent
    return wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=" " * column,
        break_long_words=False,
        break_on_hyphens=False,
    )
