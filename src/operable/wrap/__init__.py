"""Machine mode for the command-line tools that people already have. See docs/guides/wrap-a-tool.md.

    from operable.wrap import load, names

    tool = load("git")  # an operable.tool.Tool: commands, schema, capabilities, doctor

A wrapper is one folder: a CLI.md, a TOOL.md for each command, and a `parser.py` where data alone cannot read the output.
Names are looked up on first use.
"""

from operable import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.wrap.places import names as names
    from operable.wrap.plan.model import WrapCommandPlan as WrapCommandPlan
    from operable.wrap.plan.model import WrapPlan as WrapPlan
    from operable.wrap.tools import load as load
    from operable.wrap.upstream import Upstream as Upstream

_HOMES = {
    "Upstream": "operable.wrap.upstream",
    "WrapCommandPlan": "operable.wrap.plan.model",
    "WrapPlan": "operable.wrap.plan.model",
    "load": "operable.wrap.tools",
    "names": "operable.wrap.places",
}

__all__ = ["Upstream", "WrapCommandPlan", "WrapPlan", "load", "names"]

__getattr__ = lazily(__name__, _HOMES)
