"""`operable policy check`: whether the user's policy file is valid; every problem at once, exit status 65."""

from __future__ import annotations

from operable.cli.gate.events import PolicyFile
from operable.tool import command


@command(
    columns=("path", "rules", "callers"),
    examples=["policy check", "policy check --output jsonl"],
)
def check() -> list[PolicyFile]:
    """Check the policy file."""
    from operable.cli.gate.policy import checked

    return [checked()]


COMMAND = check
