"""Sandboxes that are somebody else's machines: what they have in common as long as none of them can be driven from here.

An agent is a conversation over standard input and output. The cloud providers run commands by an API of their own; joining
such a process to our pipes, and its mounts to a workspace that lies here, is a program of its own for each, which cannot be
proven without an account. Until there is one, each provider refuses, naming what is missing on this machine and here: a
manifest that asks for one never runs anywhere else instead.
"""

from __future__ import annotations

from importlib.util import find_spec

from operable.kernel.errors import Fail
from operable.proc.confine import Confinement, Enforcement, Item, Sandbox
from operable.proc.spawn import Command


def remote(name: str, package: str, module: str) -> Sandbox:
    """A provider that refuses. `package`: its SDK, as it is installed; `module`: as it is imported."""

    def missing() -> str:
        if find_spec(module) is None:
            return f"its SDK is not installed (pip install {package})"
        return "operable has no bridge from an agent's standard input and output to this provider's API"

    def wrap(command: Command, _: Confinement) -> Command:
        raise Fail(
            "config",
            "SANDBOX_UNAVAILABLE",
            f"{name}: {missing()}",
            target=command.argv[0],
            hint="use the provider bubblewrap",
        )

    def enforce(_: Confinement) -> Enforcement:
        return (Item("sandbox", name, "refused", missing()),)

    return Sandbox(
        name=name,
        missing=missing,
        wrap=wrap,
        leader=lambda _: None,
        init=lambda _: None,
        enforce=enforce,
        isolates_env=True,  # a machine of its own; nothing is ever started without its bridge
    )
