"""Call agent-operable tools and judge them: one call, a pipeline, a recording, two releases.

    from operable.run import call

    with call(["outline", "search", "agent", "--output", "jsonl"]) as search:
        for event in search:
            ...
    search.verdict.ok

Names are looked up on first use: judging a recorded stream does not load what runs processes.
"""

from operable import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.kernel.errors import Fail as Fail
    from operable.proc.tree.escalation import Graces as Graces
    from operable.run.aclient import AsyncCall as AsyncCall
    from operable.run.aclient import acall as acall
    from operable.run.aclient import acollect as acollect
    from operable.run.aclient import apages as apages
    from operable.run.aclient import apipe as apipe
    from operable.run.cassette import record as record
    from operable.run.client import Call as Call
    from operable.run.client import Collected as Collected
    from operable.run.client import call as call
    from operable.run.client import collect as collect
    from operable.run.client import pages as pages
    from operable.run.client import pipe as pipe
    from operable.run.comparison import Comparison as Comparison
    from operable.run.comparison import compare as compare
    from operable.run.comparison import compare_tools as compare_tools
    from operable.run.discovery import Description as Description
    from operable.run.judge import check as check
    from operable.run.options import CallOptions as CallOptions
    from operable.run.playback import exit_like as exit_like
    from operable.run.playback import load as load
    from operable.run.playback import replay as replay
    from operable.run.session import Stage as Stage
    from operable.wire.verdict import Verdict as Verdict

_HOMES = {
    "AsyncCall": "operable.run.aclient",
    "Call": "operable.run.client",
    "CallOptions": "operable.run.options",
    "Collected": "operable.run.client",
    "Comparison": "operable.run.comparison",
    "Description": "operable.run.discovery",
    "Fail": "operable.kernel.errors",
    "Graces": "operable.proc.tree.escalation",
    "Stage": "operable.run.session",
    "Verdict": "operable.wire.verdict",
    "acall": "operable.run.aclient",
    "acollect": "operable.run.aclient",
    "apages": "operable.run.aclient",
    "apipe": "operable.run.aclient",
    "call": "operable.run.client",
    "check": "operable.run.judge",
    "collect": "operable.run.client",
    "compare": "operable.run.comparison",
    "compare_tools": "operable.run.comparison",
    "exit_like": "operable.run.playback",
    "load": "operable.run.playback",
    "pages": "operable.run.client",
    "pipe": "operable.run.client",
    "record": "operable.run.cassette",
    "replay": "operable.run.playback",
}

__all__ = [
    "AsyncCall",
    "Call",
    "CallOptions",
    "Collected",
    "Comparison",
    "Description",
    "Fail",
    "Graces",
    "Stage",
    "Verdict",
    "acall",
    "acollect",
    "apages",
    "apipe",
    "call",
    "check",
    "collect",
    "compare",
    "compare_tools",
    "exit_like",
    "load",
    "pages",
    "pipe",
    "record",
    "replay",
]

__getattr__ = lazily(__name__, _HOMES)
