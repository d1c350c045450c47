"""What `Annotated` can say: `Must` about a value wherever it comes from, `Arg` about a parameter on the command line."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


class Must:
    """Constraints of a value: `Annotated[int, Must(min=1, max=10)]`.

    `min` and `max` are for numbers, dates and durations; of a text, bytes or a list they are the length. `pattern` is a
    regular expression that is found in the text. `exists` is for paths: True, "file" or "folder". The parser, structured
    input, the schema and help know them all.
    """

    __slots__ = ("exists", "max", "min", "pattern")

    def __init__(
        self,
        *,
        min: "Any" = None,
        max: "Any" = None,
        pattern: "str | None" = None,
        exists: "bool | Literal['file', 'folder']" = False,
    ) -> None:
        self.min = min
        self.max = max
        self.pattern = pattern
        self.exists = exists

    def problem(self, value: "Any") -> "str | None":
        """What is wrong with a value; None if nothing is."""
        measured, unit = _measure(value)
        if self.min is not None and measured < self.min:
            return f"must {unit or 'be'} at least {_shown(self.min)}{_things(value, self.min)}"
        if self.max is not None and measured > self.max:
            return f"must {unit or 'be'} at most {_shown(self.max)}{_things(value, self.max)}"
        if self.pattern is not None and not _matches(self.pattern, value):
            return f"must match {self.pattern}"
        return self._missing(value) if self.exists else None

    def _missing(self, value: "Any") -> "str | None":
        import os

        test = {"file": os.path.isfile, "folder": os.path.isdir}.get(str(self.exists), os.path.exists)
        if test(value):
            return None
        return f"must be {'a path' if self.exists is True else f'a {self.exists}'} that exists"

    def schema(self, base: str, *, lengthy: bool) -> "dict[str, Any]":
        """The same in JSON Schema; what that has no word for begins with x-. `lengthy`: min and max count characters."""
        if base == "array":
            names = ("minItems", "maxItems")
        elif base in ("integer", "number"):
            names = ("minimum", "maximum")
        else:
            names = ("minLength", "maxLength") if lengthy else ("x-minimum", "x-maximum")
        found = {
            name: bound if isinstance(bound, int | float | str) else _shown(bound)
            for name, bound in zip(names, (self.min, self.max), strict=True)
            if bound is not None
        }
        if self.pattern is not None:
            found["pattern"] = self.pattern
        if self.exists:
            found["x-exists"] = self.exists
        return found

    def words(self) -> str:
        """The bounds for people, in brackets of help: `1 to 10`, `at least 1`."""
        low, high = (None if bound is None else _shown(bound) for bound in (self.min, self.max))
        if low is not None and high is not None:
            return f"{low} to {high}"
        return f"at least {low}" if low is not None else f"at most {high}" if high is not None else ""


def _measure(value: "Any") -> "tuple[Any, str]":
    return (len(value), "have") if isinstance(value, str | bytes | list | tuple | set) else (value, "")


def _things(value: "Any", count: "Any") -> str:
    if isinstance(value, str):
        return " character" if count == 1 else " characters"
    if isinstance(value, bytes):
        return " byte" if count == 1 else " bytes"
    return (" value" if count == 1 else " values") if isinstance(value, list | tuple | set) else ""


def _shown(bound: "Any") -> str:
    if isinstance(bound, int | float | str):
        return str(bound)
    from operable.tool.values.scalars import written

    return written(bound) or str(bound)


def _matches(pattern: str, value: "Any") -> bool:
    import re

    text = str(value)
    # In JSON Schema `$` is the end; in Python a line end may follow.
    return re.search(pattern, text) is not None and not (pattern.endswith("$") and text.endswith("\n"))


def read_marker(marker: "Any") -> "Must | None":
    """A `Must`, or a marker of another library that says the same by the usual names (`ge`, `max_length`)."""
    if isinstance(marker, Must):
        return marker
    low = _first(marker, "ge", "min_length")
    high = _first(marker, "le", "max_length")
    pattern = _first(marker, "pattern")
    if low is None and high is None and not isinstance(pattern, str):
        return None
    return Must(min=low, max=high, pattern=pattern if isinstance(pattern, str) else None)


def _first(marker: "Any", *names: str) -> "Any":
    return next((found for name in names if (found := getattr(marker, name, None)) is not None), None)


class Arg:
    """What the command line knows of a parameter beside its name: `Annotated[str, Arg("colour", env="SHOP_COLOR")]`.

    `aliases` are further names. `former` names still work, and the call says in a warning what to write now. `env` is the
    variable that the value comes from where the caller gives none. `counted`: a flag that is given several times; the
    number is its value (`-vvv`).
    """

    __slots__ = ("aliases", "counted", "env", "former")

    def __init__(
        self,
        *aliases: str,
        env: "str | None" = None,
        former: "str | tuple[str, ...]" = (),
        counted: bool = False,
    ) -> None:
        self.aliases = aliases
        self.env = env
        self.former = (former,) if isinstance(former, str) else former
        self.counted = counted
