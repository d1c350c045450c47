"""Mistakes in declarations that would otherwise show only when a command is called in a certain way.

Declaring is kept cheap and calling too, so neither looks for these; describing does. A caller that asks a tool
for its capabilities (its author's tests, a linter, the first agent) gets a TypeError that names the command and what to
write.
"""

from __future__ import annotations

from operable.tool.declare.signature import declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from operable.tool.declare.declaration import Command, Declaration
    from operable.tool.declare.kinds import ValueKind
    from operable.tool.declare.signature import Param

_ANY_OPTIONS = 0x08  # CO_VARKEYWORDS
# More words than this make a command that callers do not find: a group and a verb.
_WORDS = 2


def review(tool: Declaration) -> None:
    """Raise TypeError for the first mistake."""
    if not tool.name or any(letter.isspace() for letter in tool.name) or tool.name[0] == "-":
        msg = f"the name of a tool is one word, not {tool.name!r}"
        raise TypeError(msg)
    if tool.schema_version in tool.older:
        msg = (
            f"{tool.name} uses schema version {tool.schema_version} now; that cannot also be an older version"
        )
        raise TypeError(msg)
    if not tool.machine_flags:
        msg = f"{tool.name} has no option for its machine mode: machine_flags needs a name"
        raise TypeError(msg)
    for name in tool.names():
        command = tool.find(name)
        mistake = None if command is None else next(_mistakes(tool, command), None)
        if mistake is not None:
            msg = f"command {name!r} of {tool.name}: {mistake}"
            raise TypeError(msg)


def _mistakes(tool: Declaration, command: Command) -> Iterator[str]:
    words = command.name.split(" ")
    if len(words) > _WORDS or not all(word and word[0] not in "-_" for word in words):
        yield "the name must be one plain word, or a group and a word"
    yield from _signature(command)
    yield from _effects(command)
    yield from _cursor(command)
    own = [param.flag for param in command.params]
    for flag in (*tool.machine_flags, "help"):
        if flag in own:
            yield f"--{flag} is an option of every command; rename the parameter, or change the tool's machine_flags"
    for letter, flag in command.short.items():
        if len(letter) != 1 or not letter.isalpha() or letter == "h" or flag not in own:
            yield f"-{letter} must be a letter other than h, for one of its options"
    for name in command.secrets:
        if name not in [param.name for param in command.params]:
            yield f"the secret {name!r} is not among its parameters"


def _signature(command: Command) -> Iterator[str]:
    code = declared(command.function).__code__
    if code.co_flags & _ANY_OPTIONS:
        yield "**options cannot be described; name each option"
    if code.co_posonlyargcount:
        yield "write its operands without the slash"
    params = command.params
    flags = [param.flag for param in params]
    for param in params:
        if flags.count(param.flag) > 1:
            yield f"two parameters are called {param.flag!r} on the command line"
        if not _fits_a_word(param):
            yield f"a word cannot become the parameter {param.name!r}; take a Stream for structured input"
    operands = [param for param in params if param.operand]
    if any(param.many for param in operands[:-1]):
        yield "no operand can follow one that takes all remaining words"
    positional = code.co_varnames[: code.co_argcount]
    if any(param.spread for param in operands) and any(name in command.injected for name in positional):
        yield "put what the SDK provides (Page, Context, Stream) after the *operands"


def _fits_a_word(param: Param) -> bool:
    kind = param.kind
    if kind.base == "array" and not param.operand and kind.item is not None:
        kind = kind.item
    return _is_scalar(kind)


def _is_scalar(kind: ValueKind) -> bool:
    if kind.base == "union":
        return all(map(_is_scalar, kind.options))
    return kind.base in ("string", "integer", "number", "boolean", "choice", "any")


def _effects(command: Command) -> Iterator[str]:
    if command.mutates and command.apply_function is None:
        yield "it mutates but has no apply function"
    if command.apply_function is not None and not command.mutates:
        yield "it has an apply function but is not declared with mutates=True"
    if command.mutates and command.unbounded:
        yield "a mutation is planned as a whole and cannot be unbounded"
    if command.bulk and not command.destructive:
        yield "bulk belongs to destructive commands"
    for name, value in (
        ("limit", command.limit),
        ("timeout", command.timeout),
        ("heartbeat", command.heartbeat),
    ):
        if value is not None and value <= 0:
            yield f"{name} must be positive or None"
    if len(command.streams()) > 1:
        yield "it can read one stream"


def _cursor(command: Command) -> Iterator[str]:
    if not command.cursor:
        return
    if command.mutates or "Page" not in command.injected.values():
        yield "a cursor needs a read command with a parameter `page: Page`"
    for event in command.event_classes():
        for field in command.cursor:
            if field not in event.__fields__:
                yield f"the cursor field {field!r} is not a field of {event.__name__}"
