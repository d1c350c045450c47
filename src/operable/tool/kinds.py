"""What an annotation means, and what a word of the command line is worth: one small value that argument parsing, JSON
Schema and input validation all read. Words are converted strictly: a slip is a complaint and never a surprise.

Annotations arrive as strings (`from __future__ import annotations`) or as objects. Those of the common types are looked
up in a table; `annotations` reads the others, and is loaded only for them.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.tool.values.markers import Arg, Must
    from operable.tool.values.scalars import Scalar
else:

    class Generic:
        """Stands for that of `typing`, which costs more than half an interpreter start: `Change[Job]` is `Change`."""

        __slots__ = ()

        def __class_getitem__(cls, _: object) -> "type":
            return cls


FLAG, WORD, POSITIVE, COUNT, SECONDS, DIGEST = "flag", "word", "positive", "count", "seconds", "digest"

# Standard options and the form of their value.
STANDARD: "dict[str, str]" = {
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
    "fields": WORD,
    "compact": FLAG,
    "dry-run": FLAG,
    "confirm": DIGEST,
    "confirm-count": COUNT,
    "idempotency-key": WORD,
    "input-json": WORD,
    "input-jsonl": WORD,
    "continue-on-error": FLAG,
    "fail-fast": FLAG,
}


class ValueKind:
    """One type: `base` is string, integer, number, boolean, array, object, record, choice, union or any.

    `form` is the row of the table of types (`values.scalars`) for what JSON can only spell as a text: a date, bytes. `must`
    are the constraints of `Annotated`, `arg` what it says about a parameter. `model` is the class that values become.
    """

    __slots__ = ("arg", "base", "choices", "form", "item", "model", "must", "nullable", "options")

    def __init__(
        self,
        base: str,
        *,
        nullable: bool = False,
        item: "ValueKind | None" = None,
        choices: "tuple[Any, ...]" = (),
        model: "type[Any] | None" = None,
        options: "tuple[ValueKind, ...]" = (),
        form: "Scalar | None" = None,
        must: "Must | None" = None,
        arg: "Arg | None" = None,
    ) -> None:
        self.base = base
        self.nullable = nullable
        self.item = item
        self.choices = choices
        self.model = model
        self.options = options
        self.form = form
        self.must = must
        self.arg = arg

    def but(self, **changes: "Any") -> "ValueKind":
        """The same kind with some of its parts changed."""
        parts = {name: getattr(self, name) for name in self.__slots__}
        return ValueKind(**(parts | changes))

    def or_none(self) -> "ValueKind":
        return self.but(nullable=True)

    def chosen(self, choice: "Any") -> "Any":
        """What the author's code gets for one of the choices: itself, or the member of an Enum."""
        if self.model is None:
            return choice
        from operable.tool.values.scalars import member

        return member(self.model, choice)

    def __repr__(self) -> str:
        inner = f"[{self.item!r}]" if self.item else f"{list(self.choices)}" if self.choices else ""
        return f"{self.base}{inner}{'?' if self.nullable else ''}"


STRING, INTEGER, NUMBER, BOOLEAN = (
    ValueKind("string"),
    ValueKind("integer"),
    ValueKind("number"),
    ValueKind("boolean"),
)
# What has parts: a word of the command line is JSON then.
STRUCTURED = ("array", "object", "record")
# The default of a field that has none.
REQUIRED = object()
MUTABLE = (list, dict, set)
ANY, OBJECT, NOTHING = ValueKind("any"), ValueKind("object"), ValueKind("null")

# The annotations that nearly every parameter and field has, resolved without `eval`.
_COMMON: "dict[Any, ValueKind]" = {
    "str": STRING,
    "int": INTEGER,
    "float": NUMBER,
    "bool": BOOLEAN,
    "str | None": STRING.or_none(),
    "int | None": INTEGER.or_none(),
    "float | None": NUMBER.or_none(),
    "bool | None": BOOLEAN.or_none(),
    "list[str]": ValueKind("array", item=STRING),
    "Any": ANY,
    "object": ANY,
    "None": NOTHING,
    str: STRING,
    int: INTEGER,
    float: NUMBER,
    bool: BOOLEAN,
    object: ANY,
    None: NOTHING,
    type(None): NOTHING,
    list: ValueKind("array", item=ANY),
    tuple: ValueKind("array", item=ANY),
    set: ValueKind("array", item=ANY),
    frozenset: ValueKind("array", item=ANY),
    dict: OBJECT,
}


def common(annotation: "Any") -> "ValueKind | None":
    """The kind of an annotation that nearly every parameter and field has; None for others, which `annotations` reads."""
    try:
        return _COMMON.get(annotation)
    except TypeError:  # unhashable, such as Annotated[str, []]
        return None


def fresh(value: "Any") -> "Any":
    """A container given as a default must not be shared between instances; copying given ones too is harmless."""
    return value.copy() if isinstance(value, MUTABLE) else value


def is_class_variable(annotation: "Any") -> bool:
    return str(annotation).removeprefix("typing.").startswith("ClassVar")


def convert(text: str, kind: "ValueKind") -> "Any":
    """A word of the command line as a value of its kind; raises ValueError with what the word must be."""
    value = _value_of(text, kind)
    if kind.must is not None and (problem := kind.must.problem(value)):
        raise ValueError(problem)
    return value


def _value_of(text: str, kind: "ValueKind") -> "Any":
    base = kind.base
    if base == "string":
        if not is_text(text):  # a word that is not UTF-8 arrives with lone surrogates
            raise ValueError("must be UTF-8")
        if kind.form is not None:
            return kind.form.value(text)
        return text if kind.model is None else kind.model(text)
    if base in ("integer", "number"):
        number = plain_number(text, whole=base == "integer")
        if number is not None:
            return number
        raise ValueError("must be a whole number" if base == "integer" else "must be a number")
    if base == "boolean" and text in ("true", "false"):
        return text == "true"
    if base == "boolean":
        raise ValueError("must be true or false")
    if base == "choice":
        for choice in kind.choices:
            if spelled(choice) == text:
                return kind.chosen(choice)
        raise ValueError(f"must be one of {', '.join(map(spelled, kind.choices))}")
    if base in STRUCTURED:
        raise ValueError("must be JSON")  # of which `arguments` has the reader
    return _any_of(text, kind)


def _any_of(text: str, kind: "ValueKind") -> "Any":
    """Of several kinds, the first that the word fits, text last: `5` is a number wherever a number may be."""
    wanted = []
    for option in sorted(kind.options, key=lambda option: option.base == "string"):
        try:
            return convert(text, option)
        except ValueError as problem:
            wanted.append(str(problem).removeprefix("must be "))
    if wanted or not is_text(text):
        raise ValueError(f"must be {' or '.join(wanted) or 'UTF-8'}")
    return text


def spelled(choice: "Any") -> str:
    """A choice as one writes it on the command line."""
    return str(choice).lower() if isinstance(choice, bool) else str(choice)


def plain_number(text: str, *, whole: bool) -> "float | None":
    """A finite number in plain ASCII digits. Python itself would also take `1_000`, ` 5` and Arabic digits."""
    if not text.isascii() or "_" in text or text != text.strip():
        return None
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        return None
    return number if number - number == 0 else None


def is_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class Page:
    """Where to go on, and how much is worth fetching: given to a command that asks for it by a parameter `page: Page`."""

    __slots__ = ("after", "fetch")

    def __init__(self, after: "Any" = None, fetch: "int | None" = None) -> None:
        self.after = after  # the cursor field (or the list of them) of the last event of the page before
        self.fetch = fetch  # one more than will be shown, to know whether there is more; None without a limit


class StreamOf:
    """What the annotation `Stream[NoteIn]` evaluates to."""

    __slots__ = ("model",)

    def __init__(self, model: "type[Any]") -> None:
        self.model = model


if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Generic, TypeVar

    T = TypeVar("T")

    class Stream(Generic[T]):
        def __iter__(self) -> "Iterator[T]": ...

else:

    class Stream:
        """Annotation of a parameter that takes structured input, item by item."""

        def __class_getitem__(cls, model: "type[Any]") -> "StreamOf":
            return StreamOf(model)
