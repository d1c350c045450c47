"""The commands of `operable flow`, made of the operations of `operable.flow`.

A file in `commands/flow` names its operation and adds what only people and events need: columns, examples, and how an answer
becomes events. What can be given, under which name and with which help, is in the declaration of the operation, which is
loaded when its command is parsed or described. A command of several operations takes the last word of each as its action.
"""

from __future__ import annotations

from operable.tool import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Unpack

    from operable.flow.operation import Defaults, Parameter
    from operable.flow.run.caller import Caller
    from operable.tool.kinds import ValueKind
    from operable.tool.options import CommandOptions
    from operable.tool.signature import Param

_INJECTED = {"context": "Context", "page": "Page"}


def flow_command(
    *operations: str, without: tuple[str, ...] = (), **options: Unpack[CommandOptions]
) -> Callable[[Callable[..., Any]], FlowCommand]:
    """Decorator: the command of these operations. `without` names parameters that it does not take."""

    def made(function: Callable[..., Any]) -> FlowCommand:
        return FlowCommand(function, operations, without, dict(options))

    return made


class FlowCommand(Command):
    """A command whose parameters are those of operations; its function gets them as one `FlowCall`."""

    def __init__(
        self,
        function: Callable[..., Any],
        operations: tuple[str, ...],
        without: tuple[str, ...],
        options: dict[str, Any],
    ) -> None:
        super().__init__(function, None, options)
        self._verb = self.name  # a file knows its own word; the folder makes `flow identity` of it
        self._operations, self._without = operations, without

    @property
    def params(self) -> tuple[Param, ...]:
        if self._params is None:
            code = self.function.__code__
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            declared = [param for param in self._declared() if param.name not in self._without]
            self.injected = {name: what for name, what in _INJECTED.items() if name in names}
            self.injected["call"] = _CallMaker(self._verb, self._operations, declared)
            self._params = tuple(map(_param, declared))
        return self._params

    def _declared(self) -> list[Parameter]:
        from operable.flow.operation import TASK, local, operation

        offered = [[param for param in operation(name).params if param.help] for name in self._operations]
        if len(offered) == 1:
            return offered[0]
        actions = tuple(name.removeprefix(f"{self._verb}-") for name in self._operations)
        found = [
            local("action", "what to do", "word", shown="[action]", default=actions[0], offered=actions),
            local("name", "the provider", "word", shown="[name]"),
        ]
        if any(TASK in params for params in offered):
            found.append(TASK._replace(shown="[task]"))
        options = [param for params in offered for param in params if not param.in_place]
        return [*found, *dict.fromkeys(options)]


def _param(param: Parameter) -> Param:
    from operable.tool.signature import Param

    operand = param.in_place or param.operand
    many = param.several or param.kind == "manifests"
    return Param(
        param.spelled,
        _kind(param, many=many),
        operand=operand,
        default=False if param.kind == "flag" else param.default,
        required=operand and not many and param.default is None and param.shown[:1] == "<",
        many=many,
        group="call",
    )


def _kind(param: Parameter, *, many: bool) -> ValueKind:
    from operable.tool.kinds import BOOLEAN, INTEGER, STRING, ValueKind

    optional = param.default is None and not many and param.shown[:1] != "<"
    if param.kind == "flag":
        return BOOLEAN
    if choices := param.offered or param.choices:
        return ValueKind("choice", choices=choices, nullable=optional)
    if param.kind == "json":
        return ValueKind("array", item=STRING, nullable=True)
    kind = INTEGER if param.kind == "count" else STRING
    return kind.or_none() if optional else kind


class _CallMaker:
    """Makes the `FlowCall` of what was typed; its docstring is the help of the options, as that of a group is."""

    _grouped = True

    def __init__(self, verb: str, operations: tuple[str, ...], declared: list[Parameter]) -> None:
        self._verb, self._operations, self._declared = verb, operations, declared
        self.__doc__ = "\n".join(
            f"{f'{param.spelled} {param.word}'.strip()}: {param.help}" for param in declared
        )

    def __call__(self, **values: Any) -> FlowCall:
        return FlowCall(
            self._verb, self._operations, [(param, values[param.spelled]) for param in self._declared]
        )


class FlowCall:
    """What was typed, by the names of the operation's parameters."""

    def __init__(
        self, verb: str, operations: tuple[str, ...], given: Iterable[tuple[Parameter, Any]]
    ) -> None:
        self._verb, self._operations = verb, operations
        self._given = [(param, value) for param, value in given if value is not None]
        self._values = {param.name: value for param, value in self._given}
        for param, value in self._given:
            if param.kind == "count" and value < 1:
                from operable.kernel.errors import Fail

                flag = f"--{param.called or param.flag}"
                raise Fail("usage", "INVALID_VALUE", f"{flag} must be at least 1", target=flag)

    def __getitem__(self, name: str) -> Any:
        """The value of a parameter; None if it was not given."""
        return self._values.get(name)

    @property
    def source(self) -> str:
        """What a failure is about: the first word, else the command."""
        first = next((value for param, value in self._given if param.in_place or param.operand), None)
        return first if isinstance(first, str) else " ".join(first or [self._verb])

    def manifest(self) -> Any:
        """The manifest that was named."""
        from operable.cli.flow.input import read_manifest

        return read_manifest(self["manifest"])

    def params(self) -> dict[str, Any]:
        """What the operation gets: the manifest itself, and the rules of a file."""
        found = dict(self._values)
        if "policy" in found:
            from operable.gate.policy.policy_file import load_policy

            found["policy"] = load_policy(found["policy"])
        if "manifest" in found:
            found["manifest"] = self.manifest()
        return found

    def answer(self, source: str | None = None, **params: Any) -> dict[str, Any]:
        """The answer of the operation, the same that JSON-RPC gives. `params` replace what was typed."""
        from operable.cli.flow.input import answer

        (name,) = self._operations
        values = self._values | params if params else self.params()
        return answer(name, source or self.source, **{"home": None, **values})

    def defaults(self) -> Defaults:
        """What an operation gets from the user of this command, who named a home or not."""
        from operable.cli.flow.input import defaults

        return defaults(self["home"])

    def caller(self) -> Caller:
        """The user of this command."""
        from operable.flow.task_query import caller_of

        return caller_of(self.defaults())

    def line(self, *more: str) -> list[str]:
        """The command line that gives the same, and more."""
        words, options = [self._verb], []
        for param, value in self._given:
            if param.in_place or param.operand:
                words.append(str(value))
            elif value is not False:
                options += [f"--{param.called or param.flag}", *([] if value is True else [str(value)])]
        words += [*options, *more]
        return ["operable", "flow", *words]
