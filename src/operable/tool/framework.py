"""The framework values that an author may make: what is not a domain event but travels with them."""

from operable.kernel.errors import Fail
from operable.tool.records import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Generic

    from typing_extensions import TypeVar

    P = TypeVar("P", default=None)
    Q = TypeVar("Q")
else:
    P = None

    class Generic:
        """Stands for that of `typing`, which costs more than half an interpreter start: `Change[Job]` is `Change`."""

        __slots__ = ()

        def __class_getitem__(cls, _: object) -> "type":
            return cls


class FrameworkNotice:
    """A framework event that does not count as a result: `aoi:` type and fields, absent ones left out."""

    __slots__ = ("fields",)

    def __init__(self, kind: str, **fields: "Any") -> None:
        self.fields: dict[str, Any] = {"type": f"aoi:{kind}"}
        self.fields.update((name, value) for name, value in fields.items() if value is not None)

    def to_json(self) -> str:
        return json_text(self.fields)


class Warn(FrameworkNotice):
    """A recoverable issue; the operation goes on."""

    __slots__ = ()

    def __init__(self, code: str, message: str, **fields: "Any") -> None:
        super().__init__("warning", code=code, message=message, **fields)


class Progress(FrameworkNotice):
    """How far a long operation is. Never needed for correctness; use sparingly."""

    __slots__ = ()

    def __init__(
        self,
        *,
        done: float,
        total: "float | None" = None,
        message: "str | None" = None,
        unit: "str | None" = None,
    ) -> None:
        super().__init__("progress", done=done, total=total, message=message, unit=unit)


class Change(FrameworkNotice, Generic[P]):
    """One planned side effect: what would be done to what. The apply phase gets exactly these values back.

    `carry` attaches a value that only the apply phase sees: it is in no event and no digest.
    """

    __slots__ = ("payload",)

    def __init__(self, action: str, target: "str | None" = None, **details: "Any") -> None:
        super().__init__("plan", action=action, target=target, **details)
        self.payload: P = None  # type: ignore[assignment]  # until it is given one, the parameter is None

    def carry(self, payload: "Q") -> "Change[Q]":
        """The same change with a value for the apply phase, its `payload`."""
        carrying: Any = self
        carrying.payload = payload
        return carrying  # type: ignore[no-any-return]

    @property
    def action(self) -> str:
        return str(self.fields["action"])

    @property
    def target(self) -> str:
        return str(self.fields.get("target", ""))

    def __getitem__(self, name: str) -> "Any":
        return self.fields[name]

    def get(self, name: str, default: "Any" = None) -> "Any":
        return self.fields.get(name, default)


class Check(FrameworkNotice):
    """The result of one doctor check. `severity` error makes a failed check fail the doctor; warning and info do not."""

    __slots__ = ()

    def __init__(
        self, *, ok: bool, detail: str = "", severity: "str | None" = None, hint: "str | None" = None
    ) -> None:
        severity = severity or ("info" if ok else "error")
        super().__init__("check", name="", ok=ok, severity=severity, detail=detail, hint=hint)


class ItemError:
    """A failure of one item while the others go on: `yield ItemError(Fail(...))`."""

    __slots__ = ("fail",)

    def __init__(self, fail: "Fail") -> None:
        self.fail = fail
