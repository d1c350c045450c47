"""Write a tool that agents can discover, bound, retry and trust. See docs/learn/first-tool.md.

Names are looked up on first use, so that a tool loads only what its command needs.
"""

from operable import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.kernel.errors import Fail as Fail
    from operable.tool.declare.declaration import Command as Command
    from operable.tool.declare.declaration import command as command
    from operable.tool.declare.framework import Change as Change
    from operable.tool.declare.framework import Check as Check
    from operable.tool.declare.framework import ItemError as ItemError
    from operable.tool.declare.framework import Progress as Progress
    from operable.tool.declare.framework import Warn as Warn
    from operable.tool.declare.kinds import Page as Page
    from operable.tool.declare.kinds import Stream as Stream
    from operable.tool.declare.records import Event as Event
    from operable.tool.declare.records import Input as Input
    from operable.tool.declare.records import Options as Options
    from operable.tool.declare.records import Record as Record
    from operable.tool.run.context import Context as Context
    from operable.tool.run.relay import Relay as Relay
    from operable.tool.tool import Tool as Tool

_HOMES = {
    "Fail": "operable.kernel.errors",
    "Context": "operable.tool.run.context",
    "Command": "operable.tool.declare.declaration",
    "Page": "operable.tool.declare.kinds",
    "Stream": "operable.tool.declare.kinds",
    "Tool": "operable.tool.tool",
    "command": "operable.tool.declare.declaration",
    "Change": "operable.tool.declare.framework",
    "Check": "operable.tool.declare.framework",
    "ItemError": "operable.tool.declare.framework",
    "Progress": "operable.tool.declare.framework",
    "Warn": "operable.tool.declare.framework",
    "Event": "operable.tool.declare.records",
    "Input": "operable.tool.declare.records",
    "Options": "operable.tool.declare.records",
    "Record": "operable.tool.declare.records",
    "Relay": "operable.tool.run.relay",
}

__all__ = [
    "Change",
    "Check",
    "Command",
    "Context",
    "Event",
    "Fail",
    "Input",
    "ItemError",
    "Options",
    "Page",
    "Progress",
    "Record",
    "Relay",
    "Stream",
    "Tool",
    "Warn",
    "command",
]


__getattr__ = lazily(__name__, _HOMES)
