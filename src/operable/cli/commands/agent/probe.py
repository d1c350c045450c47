"""`operable agent probe`: ask a program what it is, and draft a manifest from its answers.

Tries `--version`, then the protocols that agents speak: an ACP or MCP `initialize`, the `ready` of JSON-stream, with
arguments that agents are known to take or with those that you give. Every start is bounded in time and confined: no
network, an empty home, its own folders read-only (more with `--show`). One `probe_finding` per question, then the
`manifest_draft`. Nothing is written: keep the draft where you want it, after you have read it.
"""

from __future__ import annotations

from operable.cli.agent.events import ManifestDraft, ProbeFinding
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    runs_tools=True,
    columns=("question", "command", "answered", "detail", "name", "protocol"),
    examples=["agent probe goose", "agent probe --output jsonl -- ./my-agent serve --stdio"],
)
def probe(
    program: str,
    *arguments: str,
    patience: float = 15.0,
    unconfined: bool = False,
    show: list[str] | None = None,
    context: Context,
) -> Iterator[ProbeFinding | ManifestDraft]:
    """Draft a manifest from a program that is on this machine.

    program: its name, or its path
    arguments: those that start it as an agent; without them, the usual ones are tried
    patience: seconds that one question may take
    unconfined: run it without a sandbox: it may then do what you may do
    show DIR: a folder that it may read besides its own; may be repeated
    """
    from operable.cli.agent.drafts import probed

    return probed(context, program, arguments, patience=patience, confined=not unconfined, show=show)


COMMAND = probe
