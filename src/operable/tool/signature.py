"""A command: what its author declares, and what its function takes and promises.

Theory of operation: a decorator stores the function and its options and reads nothing else, so that declaring fifty
commands costs fifty small objects. The code object and the annotations of a function are read when its command is invoked
or described. `inspect` and `typing` are never imported: they would double the start of the process.
"""

from operable.tool.kinds import REQUIRED, StreamOf, ValueKind, common

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Generic, Unpack

    from typing_extensions import ParamSpec, TypeVar

    from operable.tool.options import CommandOptions
    from operable.tool.records import Event, Record
    from operable.tool.values.markers import Arg, Must

    # What the author's function takes and returns: a type checker knows a command as the function that it is made of.
    P = ParamSpec("P", default=...)
    R = TypeVar("R", default=Any)
    Q = ParamSpec("Q")
    S = TypeVar("S")
    F = TypeVar("F", bound=Callable[..., Any])
else:
    from operable.tool.kinds import Generic

    P = R = None

# A finite command that has not ended after five minutes has most likely hung on something; --timeout changes it.
DEFAULT_TIMEOUT = 300.0
# Read commands are bounded unless the author says otherwise (AOI section 15): a page, too little to flood a model.
DEFAULT_LIMIT = 100
# A plan is held in memory to be counted and confirmed; beyond this a command should be split (about 100 MB of changes).
MAX_PLAN = 100_000
_ANY_NUMBER_OF_OPERANDS = 0x04  # CO_VARARGS
INJECTED = ("Page", "Context", "Relay")
# The group of options that every command of the tool has, where the function does not ask for it.
SHARED = "*"
# Options that decide whether a mutation happens. A parameter of such a name would silently take them out of force.
GUARDS = ("dry_run", "confirm", "confirm_count", "idempotency_key")


class Command(Generic[P, R]):
    """One verb of a tool. Calling it calls the author's function, so that it can be tested as the plain function it is."""

    def __init__(self, function: "Callable[P, R]", name: "str | None", options: "dict[str, Any]") -> None:
        if not hasattr(function, "__code__"):
            msg = f"a command is made of a plain function, not of {function!r}"
            raise TypeError(msg)
        self.function: Callable[..., Any] = function
        self.name: str = name if name is not None else function.__name__.rstrip("_").replace("_", "-")
        self.mutates: bool = options.pop("mutates", False) or options.get("destructive", False)
        self.destructive: bool = options.pop("destructive", False)
        self.bulk: bool = options.pop("bulk", False)
        self.unbounded: bool = options.pop("unbounded", False)
        self.heartbeat: float = options.pop("heartbeat", 15.0)
        self.limit: int | None = options.pop(
            "limit", None if self.mutates or self.unbounded else DEFAULT_LIMIT
        )
        cursor = options.pop("cursor", ())
        self.cursor: tuple[str, ...] = (cursor,) if isinstance(cursor, str) else tuple(cursor)
        self.timeout: float | None = options.pop("timeout", None if self.unbounded else DEFAULT_TIMEOUT)
        # Of a command that runs other programs and enforces the deadline itself: how long ending those may take.
        self.grace: float | None = options.pop("grace", None)
        self.runs_tools: bool = options.pop("runs_tools", False)
        self.short: dict[str, str] = options.pop("short", {})  # {"o": "to"}: -o is --to
        self.examples: tuple[str, ...] = tuple(options.pop("examples", ()))
        self.secrets: tuple[str, ...] = tuple(options.pop("secrets", ()))
        self.auth: dict[str, Any] | None = options.pop("auth", None)
        self.max_plan: int = options.pop("max_plan", MAX_PLAN)
        # Further options of one command for people: {"columns": (...)}; and outputs beside the stream (discovery: "json").
        self.columns: tuple[str, ...] = tuple(options.pop("columns", ()))
        self.document: bool = options.pop("document", False)
        self.hidden: bool = options.pop("hidden", False)
        self.aliases: tuple[str, ...] = tuple(options.pop("aliases", ()))
        self.former: tuple[str, ...] = tuple(options.pop("former", ()))
        self.deprecated: str = options.pop("deprecated", "")
        # Parameters of which a caller gives at most one, and of which exactly one.
        self.exclusive: tuple[tuple[str, ...], ...] = tuple(map(tuple, options.pop("exclusive", ())))
        self.one_of: tuple[tuple[str, ...], ...] = tuple(map(tuple, options.pop("one_of", ())))
        # Some of its targets may fail while the others go on, where the caller asks for it.
        self.partial: bool = options.pop("partial", False)
        # Whether it has results that can be counted and limited: neither effects nor one document nor checks.
        self.has_results: bool = options.pop("has_results", not self.mutates and not self.document)
        if options:
            msg = f"command {self.name!r} got unknown options: {', '.join(options)}"
            raise TypeError(msg)
        self.apply_function: Callable[..., Any] | None = None
        self._params: tuple[Param, ...] | None = None
        self.injected: dict[str, Any] = {}
        self.shared: type[Record] | None = None  # the options that every command of the tool has

    def __call__(self, *args: "P.args", **kwargs: "P.kwargs") -> "R":
        result: R = self.function(*args, **kwargs)
        return result

    def apply(self, function: "F") -> "F":
        """Decorator: the second phase of a mutation. It gets the planned changes and yields what was done."""
        self.apply_function = function
        return function

    @property
    def params(self) -> "tuple[Param, ...]":
        if self._params is None:
            self._params, self.injected = read_signature(
                self.function, command=self.name, guarded=self.mutates, secrets=self.secrets
            )
            if self.shared is not None and self.shared not in self.injected.values():
                shared = _grouped(SHARED, self.shared, self.name, guarded=self.mutates, secrets=self.secrets)
                self._params += tuple(shared)
        return self._params

    @property
    def relays(self) -> bool:
        """Whether events of other tools pass through, of which this tool's schema knows nothing."""
        _ = self.params
        return "Relay" in self.injected.values()

    def stream_model(self) -> "type[Record] | None":
        """The class of the items of structured input, when this command takes any."""
        for name in self.streams():
            model: type[Record] = self.injected[name].model
            return model
        return None

    def streams(self) -> "list[str]":
        """The parameters that take structured input: none, or one."""
        _ = self.params
        return [name for name, what in self.injected.items() if isinstance(what, StreamOf)]

    def option_groups(self) -> "list[type[Record]]":
        """The classes of options that it shares with other commands."""
        _ = self.params
        shared = [] if self.shared is None or self.shared in self.injected.values() else [self.shared]
        return [*shared, *(what for what in self.injected.values() if is_group(what))]

    def assurances(self) -> "dict[str, Any]":
        """What holds a command to its declaration, for the capability manifest; `explained` is the same for people."""
        return {}

    def event_classes(self) -> "list[type[Event]]":
        """The domain events that the annotations of the function, or of its apply phase, promise."""
        return promised_events(self.apply_function or self.function)


def command(
    name: "str | None" = None, **options: "Unpack[CommandOptions]"
) -> "Callable[[Callable[Q, S]], Command[Q, S]]":
    """Decorator for a command in a catalogue folder: the file name is its name, and `COMMAND` is the descriptor."""

    def make(function: "Callable[Q, S]") -> "Command[Q, S]":
        made = Command(
            function, name or function.__module__.rpartition(".")[2].replace("_", "-"), dict(options)
        )
        refuse_unsupported(function, made.name)
        return made

    return make


class Param:
    """One argument of a command: an operand, an option or a flag."""

    __slots__ = (
        "_secret",
        "default",
        "group",
        "kind",
        "many",
        "must",
        "name",
        "operand",
        "required",
        "spread",
    )

    def __init__(
        self,
        name: str,
        kind: "ValueKind",
        *,
        operand: bool = False,
        default: "Any" = None,
        required: bool = False,
        many: bool = False,
        spread: bool = False,
        secret: bool = False,
        group: str = "",
        must: "Must | None" = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self.operand = operand
        self.default = default
        self.required = required
        self.many = many  # an operand that takes all the remaining words
        self.spread = spread  # declared as *name: passed as separate arguments
        self._secret = secret
        self.group = group  # the parameter of the function whose `Options` this is a field of; "": its own
        self.must = must  # of a parameter with several values: what the list of them must be

    @property
    def secret(self) -> bool:
        """Declared to be one, or called like one. Asked for rarely, so the judge of names is loaded only then."""
        if self._secret:
            return True
        from operable.kernel.redact.names import is_secret_name

        return is_secret_name(self.name)

    @property
    def arg(self) -> "Arg | None":
        """What `Annotated` says of it."""
        return self.kind.arg

    @property
    def counted(self) -> bool:
        """Whether it is a flag whose value is how often it is given."""
        return self.kind.arg is not None and self.kind.arg.counted

    @property
    def flag(self) -> str:
        """The name on the command line: a trailing underscore (`from_`) only avoids a word of Python's."""
        return (self.name.rstrip("_") or self.name).replace("_", "-")


def read_signature(
    function: "Callable[..., Any]", *, command: str, guarded: bool, secrets: "tuple[str, ...]"
) -> "tuple[tuple[Param, ...], dict[str, Any]]":
    """The parameters that a caller gives, and those that the SDK puts in, by name.

    `guarded`: the command changes something, so that the names of its guards are taken.
    """
    injected: dict[str, Any] = {}
    params = tuple(_params(declared(function), command, injected, guarded=guarded, secrets=secrets))
    return params, injected


def promised_events(function: "Callable[..., Any]") -> "list[type[Event]]":
    """The event classes in the return annotation, each once."""
    function = declared(function)
    return list(dict.fromkeys(_event_classes(function.__annotations__.get("return"), function.__globals__)))


def _params(
    function: "Callable[..., Any]",
    command: str,
    injected: "dict[str, Any]",
    *,
    guarded: bool,
    secrets: "tuple[str, ...]",
) -> "Iterable[Param]":
    code = function.__code__
    count, keyword_count = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    defaults = dict(zip(reversed(names[:count]), reversed(function.__defaults__ or ()), strict=False))
    defaults.update(function.__kwdefaults__ or {})
    operands = list(names[:count])
    if code.co_flags & _ANY_NUMBER_OF_OPERANDS:
        operands.append(names[count + keyword_count])
    for name in (*operands, *names[count : count + keyword_count]):
        _refuse_guard(name, command, guarded=guarded)
        annotation = function.__annotations__.get(name, "str")
        what = _injected(annotation, function)
        if what is not None:
            injected[name] = what
            continue
        kind = common(annotation) or _kind(annotation, function, command, name)
        if kind.base == "record" and is_group(kind.model):
            if name in operands or name in defaults:
                msg = f"{command}: write {name!r}, a group of options, after the * and without a default"
                raise TypeError(msg)
            injected[name] = kind.model
            yield from _grouped(name, kind.model, command, guarded=guarded, secrets=secrets)
            continue
        spread = name in operands and name not in names[: count + keyword_count]
        repeatable = name in operands and kind.base == "array"
        yield Param(
            name,
            kind.item.but(arg=kind.arg) if repeatable and kind.item else kind,
            operand=name in operands,
            default=defaults.get(name),
            required=name not in defaults
            and not spread
            and not (kind.base == "boolean" and name not in operands),
            many=spread or repeatable,
            spread=spread,
            secret=name in secrets,
            must=kind.must if kind.base == "array" else None,
        )


def _kind(annotation: "Any", function: "Callable[..., Any]", command: str, parameter: str) -> "ValueKind":
    """The kind of an annotation that is not one of the common ones; refused in the name of its parameter."""
    from operable.tool.annotations import kind_of

    try:
        return kind_of(annotation, function.__globals__)
    except TypeError as problem:
        msg = f"command {command!r}, parameter {parameter!r}: {problem}"
        raise TypeError(msg) from None


# What marks the classes that a parameter may have beside the common ones; all others are looked at closely.
_KNOWN = (
    *("__fields__", "__fspath__", "__members__", "__dataclass_fields__", "__required_keys__"),
    *("__supertype__", "__value__"),
)


def refuse_unsupported(function: "Callable[..., Any]", command: str) -> None:
    """Refuse a class that cannot be a parameter where it is declared. What an annotation nests is found by `verify`."""
    try:
        annotations = declared(function).__annotations__
    except NameError:  # Python 3.14 reads them now, and this one names what only a type checker imports
        return
    for name, annotation in annotations.items():
        what = function.__globals__.get(annotation) if annotation.__class__ is str else annotation
        if not isinstance(what, type) or name == "return" or common(what) is not None:
            continue
        if any(hasattr(what, mark) for mark in _KNOWN) or what.__module__ in (
            "operable.tool.kinds",
            "typing",
        ):
            continue
        if what.__name__ not in INJECTED:
            _kind(what, function, command, name)


def is_group(what: "Any") -> bool:
    """Whether this is a class of `Options`."""
    return getattr(what, "_grouped", False) is True


def _grouped(
    parameter: str, model: "Any", command: str, *, guarded: bool, secrets: "tuple[str, ...]"
) -> "Iterable[Param]":
    """The options of one group, in the order of its fields."""
    from operable.tool.annotations import field_kinds

    kinds = field_kinds(model)
    for name, default in model.__fields__.items():
        _refuse_guard(name, command, guarded=guarded)
        required = default is REQUIRED
        yield Param(
            name,
            kinds[name],
            default=None if required else default,
            required=required and kinds[name].base != "boolean",
            secret=name in secrets,
            group=parameter,
            must=kinds[name].must if kinds[name].base == "array" else None,
        )


def _refuse_guard(name: str, command: str, *, guarded: bool) -> None:
    if guarded and name.rstrip("_") in GUARDS:
        msg = f"{command} mutates: --{name.replace('_', '-')} guards it, and cannot be a parameter of its own"
        raise TypeError(msg)


def _injected(annotation: "Any", function: "Callable[..., Any]") -> "Any":
    """What the SDK puts in for a parameter: a name of `INJECTED`, or a `StreamOf`; None for a parameter of the caller."""
    label = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    label = label.partition("[")[0].rpartition(".")[2]  # also tool.Page
    if label in INJECTED:
        return label
    if label == "Stream" or isinstance(annotation, StreamOf):
        from operable.tool.annotations import evaluate

        return evaluate(annotation, function.__globals__)
    return None


def declared(function: "Callable[..., Any]") -> "Callable[..., Any]":
    """The function that the author wrote, below the decorators (functools.wraps) that are between it and its command."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _event_classes(annotation: "Any", namespace: "dict[str, Any]") -> "Iterable[type[Event]]":
    from operable.tool.annotations import evaluate, generic

    annotation = evaluate(annotation, namespace)
    if isinstance(annotation, type):
        if getattr(annotation, "_typed", False):
            yield annotation
        elif hasattr(annotation, "__required_keys__"):  # a TypedDict
            from operable.tool.rows import event_of

            yield event_of(annotation)
        return
    for argument in generic(annotation)[1]:
        yield from _event_classes(argument, namespace)
