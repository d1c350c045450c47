"""What a command's function takes and promises, read from its code object and annotations.

`inspect` and `typing` are never imported: they would double the start of the process.
"""

from __future__ import annotations

from operable.tool.declare.kinds import Kind, evaluate, generic, kind_of
from operable.tool.declare.tool import StreamOf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from operable.tool.declare.records import Event
    from operable.tool.declare.tool import Command

_ANY_NUMBER_OF_OPERANDS = 0x04  # CO_VARARGS
INJECTED = ("Page", "Context", "Relay")
# Options that decide whether a mutation happens. A parameter of such a name would silently take them out of force.
GUARDS = ("dry_run", "confirm", "confirm_count", "idempotency_key")


class Param:
    """One argument of a command: an operand, an option or a flag."""

    __slots__ = ("_secret", "default", "kind", "many", "name", "operand", "required", "spread")

    def __init__(
        self,
        name: str,
        kind: Kind,
        *,
        operand: bool = False,
        default: Any = None,
        required: bool = False,
        many: bool = False,
        spread: bool = False,
        secret: bool = False,
    ) -> None:
        self.name = name
        self.kind = kind
        self.operand = operand
        self.default = default
        self.required = required
        self.many = many  # an operand that takes all the remaining words
        self.spread = spread  # declared as *name: passed as separate arguments
        self._secret = secret

    @property
    def secret(self) -> bool:
        """Declared to be one, or called like one. Asked for rarely, so the judge of names is loaded only then."""
        if self._secret:
            return True
        from operable.kernel.redact.names import is_secret_name

        return is_secret_name(self.name)

    @property
    def flag(self) -> str:
        """The name on the command line: a trailing underscore (`from_`) only avoids a word of Python's."""
        return (self.name.rstrip("_") or self.name).replace("_", "-")


def read_signature(command: Command) -> tuple[Param, ...]:
    """The parameters of a command; what the SDK puts in is noted in `command.injected`."""
    return tuple(_params(command))


def promised_events(function: Callable[..., Any]) -> list[type[Event]]:
    """The event classes in the return annotation, each once."""
    function = declared(function)
    return list(dict.fromkeys(_event_classes(function.__annotations__.get("return"), function.__globals__)))


def _params(command: Command) -> Iterable[Param]:
    function = declared(command.function)
    code = function.__code__
    count, keyword_count = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    defaults = dict(zip(reversed(names[:count]), reversed(function.__defaults__ or ()), strict=False))
    defaults.update(function.__kwdefaults__ or {})
    operands = list(names[:count])
    if code.co_flags & _ANY_NUMBER_OF_OPERANDS:
        operands.append(names[count + keyword_count])
    for name in (*operands, *names[count : count + keyword_count]):
        if command.mutates and name.rstrip("_") in GUARDS:
            msg = f"{command.name} mutates: --{name.replace('_', '-')} guards it, and cannot be a parameter of its own"
            raise TypeError(msg)
        annotation = function.__annotations__.get(name, "str")
        if _is_injected(command, name, annotation):
            continue
        kind = kind_of(annotation, function.__globals__)
        spread = name in operands and name not in names[: count + keyword_count]
        repeatable = name in operands and kind.base == "array"
        yield Param(
            name,
            kind.item if repeatable and kind.item else kind,
            operand=name in operands,
            default=defaults.get(name),
            required=name not in defaults
            and not spread
            and not (kind.base == "boolean" and name not in operands),
            many=spread or repeatable,
            spread=spread,
            secret=name in command.secrets,
        )


def _is_injected(command: Command, name: str, annotation: Any) -> bool:
    label = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    label = label.partition("[")[0].rpartition(".")[2]  # also tool.Page
    if label in INJECTED:
        command.injected[name] = label
        return True
    if label == "Stream" or isinstance(annotation, StreamOf):
        command.injected[name] = evaluate(annotation, declared(command.function).__globals__)
        return True
    return False


def declared(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that the author wrote, below the decorators (functools.wraps) that are between it and its command."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _event_classes(annotation: Any, namespace: dict[str, Any]) -> Iterable[type[Event]]:
    annotation = evaluate(annotation, namespace)
    if isinstance(annotation, type):
        if getattr(annotation, "_typed", False):
            yield annotation
        elif hasattr(annotation, "__required_keys__"):  # a TypedDict
            from operable.tool.emit.rows import event_of

            yield event_of(annotation)
        return
    for argument in generic(annotation)[1]:
        yield from _event_classes(argument, namespace)
