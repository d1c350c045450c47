"""`operable agent import`: make manifests of the agents that other programs are set up for.

Reads entries of the ACP registry (`acp-registry`: registry.json, or the agent.json of one agent), the settings of Zed
(`zed`), of the JetBrains IDEs (`jetbrains`) and of acpx (`acpx`). No secret is taken over: of variables only their names,
and a command with a key among its arguments is left out with a warning. What the source does not say is in `notes`, and at
the end of each manifest. They are written to your own agents (which are trusted) unless `--to` says otherwise.
"""  # noqa: N999 - the file is called like the word that people type

from __future__ import annotations

from operable.cli.agent.events import ManifestWritten
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    examples=[
        "agent import zed --dry-run",
        "agent import acp-registry registry.json --only goose --to .agents --output jsonl",
    ],
)
def import_(
    source: str,
    file: str | None = None,
    *,
    only: list[str] | None = None,
    to: str | None = None,
    force: bool = False,
) -> Iterator[Change]:
    """Make manifests of the agents that other programs are set up for.

    source: acp-registry, zed, jetbrains or acpx
    file: the file to read; by default where that program keeps it
    only NAME: only the entry with this name; may be repeated
    to DIR: write to this folder instead of your own agents
    force: write also where there is a manifest already
    """
    from operable.cli.agent.drafts import planned_import

    return planned_import(source, file, only=only, to=to, force=force)  # type: ignore[return-value]  # and warnings


@import_.apply
def write(changes: list[Change]) -> Iterator[ManifestWritten]:
    from operable.cli.agent.drafts import imported

    yield from map(imported, changes)


COMMAND = import_
