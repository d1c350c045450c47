"""One tool call, as it is known so far, and what a report adds to it."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from operable.host.acp.values import tool_content
from operable.wire import events
from operable.wire.acp import ToolFields


class Marks(NamedTuple):
    """Where an agent names its tools, if it names them at all: what ends the name in the id of a call, and in its title."""

    in_id: str = ""
    in_title: str = ""
    # The first title of a call begins with the name of its tool, whatever the model says.
    titles_name: bool = False
    # What a call shows before it runs is its arguments, as JSON.
    arguments_in_text: bool = False


class AcpCall:
    """`reported`: an event has it, as `form`; `asked` and `denied`: about permission; `unnamed`: the name is the title."""

    __slots__ = (
        "arguments",
        "asked",
        "content",
        "denied",
        "form",
        "id",
        "kind",
        "locations",
        "name",
        "output",
        "reported",
        "status",
        "title",
        "unnamed",
    )

    def __init__(self, public_id: str) -> None:
        self.id = public_id
        self.title = ""
        self.name = ""
        self.kind = "other"
        self.status = "pending"
        self.arguments: Any = None
        self.content: list[Any] = []
        self.locations: tuple[str, ...] = ()
        self.output: Any = None
        self.reported = False
        self.form: Any = None
        self.asked = False
        self.denied = False
        self.unnamed = True

    def copy(self) -> "AcpCall":
        other = AcpCall(self.id)
        for name in AcpCall.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    def current_form(self) -> tuple[Any, ...]:
        """What a later report can change and rules look at. The title counts where there are no arguments."""
        diffs = [item for item in self.content if isinstance(item, dict) and item.get("type") == "diff"]
        shown = "" if self.arguments is not None else self.title
        return self.name, self.unnamed, self.kind, self.arguments, self.locations, diffs, shown

    def merge(self, fields: ToolFields, marks: "Marks") -> None:
        """Take in a report."""
        if fields.title:
            self.title = fields.title
        if fields.kind:
            self.kind = fields.kind if fields.kind in events.TOOL_KINDS else "other"
        if fields.status:
            self.status = fields.status
        if fields.content is not None:
            self.content = fields.content
        if fields.locations is not None:
            self.locations = tuple(place.path for place in fields.locations if place.path)
        if fields.raw_input not in (None, {}, []):
            self.arguments = fields.raw_input
        elif marks.arguments_in_text and (written := _written(fields.content)):
            self.arguments = written
        if fields.raw_output is not None:
            self.output = _plain_output(fields.raw_output)
        # Where nothing names the tool, its first title does (opencode: first "bash", then the whole command).
        name = fields.name or _named(fields.meta) or _before(fields.tool_call_id, marks.in_id)
        if name:
            self.name, self.unnamed = name, False
        elif not self.name:
            self.name = _before(self.title, marks.in_title) or self.title
            self.unnamed = not (self.name and marks.titles_name)


def _plain_output(output: Any) -> Any:
    """A text that is the only member of an object: agents put it there because ACP wants an object."""
    if isinstance(output, dict) and output.keys() == {"output"} and isinstance(output["output"], str):
        return output["output"]
    return output


def _before(text: str, mark: str) -> str:
    name, found, _ = text.partition(mark) if mark else ("", "", "")
    return name if found else ""


def _written(content: list[Any] | None) -> dict[str, Any]:
    """The arguments of a call whose only content is their JSON; nothing while it is still being written."""
    if not content or len(content) != 1:
        return {}
    try:
        found = msgspec.json.decode(tool_content(content).get("text", ""))
    except (msgspec.MsgspecError, UnicodeError):
        return {}
    return found if isinstance(found, dict) else {}


def joined(known: Any, asked: Any) -> Any:
    """The arguments of a call that is not announced yet: a question may know more than the call (opencode: the command)."""
    if isinstance(known, dict) and isinstance(asked, dict):
        return {**known, **asked}
    return asked or known


def contradict(known: Any, asked: dict[str, Any]) -> bool:
    return isinstance(known, dict) and any(name in known and known[name] != asked[name] for name in asked)


def _named(meta: Any, depth: int = 3) -> str | None:
    """The name of the tool where only the vendor's metadata have it (Claude, goose): a `toolName` at any place in them."""
    if not isinstance(meta, dict) or not depth:
        return None
    name = meta.get("toolName")
    if isinstance(name, str) and name:
        return name
    inner: Iterable[Any] = meta.values()
    return next((found for value in inner if (found := _named(value, depth - 1))), None)
