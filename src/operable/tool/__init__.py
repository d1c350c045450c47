"""Write a tool that agents can discover, bound, retry and trust. See docs/learn/first-tool.md.

Names are looked up on first use, so that a tool loads only what its command needs.
"""

from operable import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.kernel.errors import Fail as Fail
    from operable.tool.discovery.candidates import Candidates as Candidates
    from operable.tool.framework import Change as Change
    from operable.tool.framework import Check as Check
    from operable.tool.framework import ItemError as ItemError
    from operable.tool.framework import Progress as Progress
    from operable.tool.framework import Warn as Warn
    from operable.tool.kinds import Page as Page
    from operable.tool.kinds import Stream as Stream
    from operable.tool.records import Event as Event
    from operable.tool.records import Input as Input
    from operable.tool.records import Options as Options
    from operable.tool.records import Record as Record
    from operable.tool.run.context import Context as Context
    from operable.tool.run.context import Relay as Relay
    from operable.tool.signature import Command as Command
    from operable.tool.signature import command as command
    from operable.tool.tool import Tool as Tool
    from operable.tool.values.markers import Arg as Arg
    from operable.tool.values.markers import Must as Must

_HOMES = {
    "Fail": "operable.kernel.errors",
    "Context": "operable.tool.run.context",
    "Command": "operable.tool.signature",
    "Page": "operable.tool.kinds",
    "Stream": "operable.tool.kinds",
    "Tool": "operable.tool.tool",
    "command": "operable.tool.signature",
    "Change": "operable.tool.framework",
    "Candidates": "operable.tool.discovery.candidates",
    "Check": "operable.tool.framework",
    "ItemError": "operable.tool.framework",
    "Progress": "operable.tool.framework",
    "Arg": "operable.tool.values.markers",
    "Must": "operable.tool.values.markers",
    "Warn": "operable.tool.framework",
    "Event": "operable.tool.records",
    "Input": "operable.tool.records",
    "Options": "operable.tool.records",
    "Record": "operable.tool.records",
    "Relay": "operable.tool.run.context",
}

__all__ = [
    "Arg",
    "Candidates",
    "Change",
    "Check",
    "Command",
    "Context",
    "Event",
    "Fail",
    "Input",
    "ItemError",
    "Must",
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
