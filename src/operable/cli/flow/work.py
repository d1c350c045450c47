"""What the commands of `operable flow` share that run tasks or ask about them: who calls, and what was said.

What they plan carries its work along as the payload of the change: the second phase runs exactly what the first one has
shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from operable.cli.flow.input import addressed
from operable.flow.operation import current_folder
from operable.flow.run.caller import Caller
from operable.kernel.errors import Fail
from operable.tool import Warn


def caller(home: str | None = None) -> Caller:
    """The user of this command."""
    with addressed("."):
        return Caller(current_folder(), dict(os.environ), home)


def warned(texts: list[str]) -> Iterator[Warn]:
    for text in texts:
        yield Warn("FLOW_WARNING", text)


def positive(name: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise Fail("usage", "INVALID_VALUE", f"{name} must be at least 1", target=name)
    return value


def policy(path: str | None) -> Any:
    """The rules for agents, read before anything runs."""
    if path is None:
        return None
    from operable.host.policy.policy_file import load_policy

    return load_policy(path)
