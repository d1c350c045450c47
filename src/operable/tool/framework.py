"""The framework values that an author may make: what is not a domain event but travels with them."""

from operable.kernel.errors import Fail, add_details
from operable.tool.records import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Generic

    from typing_extensions import TypeVar

    P = TypeVar("P", default=None)
    Q = TypeVar("Q")
else:
    from operable.tool.kinds import Generic

    P = None


class FrameworkNotice:
    """A framework event that does not count as a result: `aoi:` type, the framework's own fields if given, then details."""

    __slots__ = ("fields",)

    def __init__(self, kind: str, own: "dict[str, Any]", details: "dict[str, Any] | None" = None, /) -> None:
        self.fields: dict[str, Any] = {"type": f"aoi:{kind}"}
        self.fields.update((name, value) for name, value in own.items() if value is not None)
        if details:
            add_details(self.fields, details, ("type", *own))

    def to_json(self) -> str:
        return json_text(self.fields)


class Warn(FrameworkNotice):
    """A recoverable issue; the operation goes on. A detail named like a field of the event is in its `details`."""

    __slots__ = ()

    def __init__(
        self,
        /,
        code: str,
        message: str,
        *,
        hint: "str | None" = None,
        target: "str | None" = None,
        **details: "Any",
    ) -> None:
        own = {"code": code, "message": message, "hint": hint, "target": target}
        super().__init__("warning", own, details)


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
        super().__init__("progress", {"done": done, "total": total, "message": message, "unit": unit})


class Change(FrameworkNotice, Generic[P]):
    """One planned side effect: what would be done to what. The apply phase gets exactly these values back.

    Any name can be a detail, and None is a value: `change["type"]` is what was given as `type=`. In the `aoi:plan` event, a
    detail named like one of its own fields is in `details`. `carry` attaches a value that only the apply phase sees: it is
    in no event and no digest.
    """

    __slots__ = ("details", "payload")

    def __init__(self, /, action: str, target: "str | None" = None, **details: "Any") -> None:
        super().__init__("plan", {"action": action, "target": target}, details)
        self.details: dict[str, Any] = details
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
        return self.details[name] if name in self.details else self.fields[name]

    def get(self, name: str, default: "Any" = None) -> "Any":
        return self.details[name] if name in self.details else self.fields.get(name, default)


class Check(FrameworkNotice):
    """The result of one doctor check. `severity` error makes a failed check fail the doctor; warning and info do not."""

    __slots__ = ()

    def __init__(
        self, *, ok: bool, detail: str = "", severity: "str | None" = None, hint: "str | None" = None
    ) -> None:
        severity = severity or ("info" if ok else "error")
        own = {"name": "", "ok": ok, "severity": severity, "detail": detail, "hint": hint}
        super().__init__("check", own)


class ItemError:
    """A failure of one item while the others go on: `yield ItemError(Fail(...))`."""

    __slots__ = ("fail",)

    def __init__(self, fail: "Fail") -> None:
        self.fail = fail
