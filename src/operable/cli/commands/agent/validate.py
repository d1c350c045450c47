"""`operable agent validate`: judge manifests, every problem at once and with its line.

Takes every kind of manifest (AGENT-CLI.md, ACP.md, SANDBOX.md, SECRETS.md, RUNNER.md, CLI.md …), follows what they refer
to inside their folder, and gives one `manifest_problem` per complaint and one `manifest_verdict` per file. Exit status 65
when one cannot be used. With `--tolerant`, what reference implementations write beyond the published schema is a warning.
"""

from __future__ import annotations

from operable.cli.agent.events import ManifestProblem, ManifestVerdict
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=None,
    columns=("path", "line", "level", "rule", "message", "ok", "errors", "warnings"),
    examples=[
        "agent validate .agents/mine",
        "agent validate AGENT-CLI.md ACP.md --tolerant --output jsonl",
    ],
)
def validate(
    *paths: str, tolerant: bool = False, context: Context
) -> Iterator[ManifestProblem | ManifestVerdict]:
    """Judge manifests: every problem at once, with its line.

    paths: files, or folders that contain an AGENT-CLI.md; the folder we are in by default
    tolerant: take known extensions and unknown keys with a warning
    """
    from operable.cli.agent.summary import validated

    return validated(context, paths, strict=not tolerant)


COMMAND = validate
