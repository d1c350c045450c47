"""Serving what this machine has: one catalog of everything operable, and the adapters through which it is called.

    from operable.serve import Toolset

    with Toolset("wrap/git/log") as tools:
        answer = tools["git_log"].call_now({"max-count": 5})

Names are looked up on first use.
"""

from operable import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.serve.toolset import ModelTool as ModelTool
    from operable.serve.toolset import ToolAnswer as ToolAnswer
    from operable.serve.toolset import Toolset as Toolset

_HOMES = {
    "ModelTool": "operable.serve.toolset",
    "ToolAnswer": "operable.serve.toolset",
    "Toolset": "operable.serve.toolset",
}

__all__ = ["ModelTool", "ToolAnswer", "Toolset"]

__getattr__ = lazily(__name__, _HOMES)
