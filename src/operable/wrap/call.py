"""The facts of one call of a wrapped program: what was asked for, and what is known of its end so far.

`upstream` runs the program and notes what happens, `endings` judges it. Neither has to know the other for that.
"""

from __future__ import annotations

from operable.kernel.errors import EX_TIMEOUT, Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.proc.child import ChildEnd
    from operable.tool.run.context import Context
    from operable.wrap.plan.model import WrapCommandPlan, WrapPlan


class WrappedCall:
    """One call, from its inputs to how the program ended."""

    def __init__(
        self, plan: WrapPlan, command: WrapCommandPlan, inputs: dict[str, Any], context: Context
    ) -> None:
        self.plan = plan
        self.command = command
        self.inputs = inputs
        self.context = context
        self.end: ChildEnd | None = None  # how the program ended, once it has
        self.foreign = 0  # records that were not what was promised
        self.failure: Fail | None = None  # what the program itself reported as its error
        self.complete: bool | None = None  # what its own end marker said; None: it has none, or has not come

    def timed_out(self) -> Fail:
        self.context.conclude(reason="timeout")
        message = f"{self.command.name} did not end within {self.context.timeout:g} s"
        return Fail("timeout", "TIMEOUT", message, hint="raise --timeout", exit_code=EX_TIMEOUT)
