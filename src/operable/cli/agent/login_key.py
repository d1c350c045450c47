"""A key for an agent, from a file or standard input into the place that its SECRETS.md names: a keyring, a private file.

Never from the command line, where other users see it, and never in a plan: the plan has the slug and where the key will
be read.
"""

from __future__ import annotations

import os

from operable.cli.agent.manifests import launch, read_text
from operable.host.start.options import StartOptions
from operable.kernel.errors import Fail
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.kinds.secrets import Secrets
from operable.manifest.loader import Loaded
from operable.tool import Change
from operable.tool.process import STDIN_NAMES


def planned_key(name: str, workspace: str, source: str) -> Change:
    loaded, _ = launch(name, StartOptions(workspace))
    source = source if source in STDIN_NAMES else os.path.abspath(source)
    return Change(
        "keep the key", name, workspace=os.path.realpath(workspace), slug=_slug(name, loaded), source=source
    )


def keep_key(change: Change) -> None:
    """Read it and keep it; a place that cannot be written to is an error."""
    value = read_text(change["source"]).removesuffix("\n")
    if not value.strip() or "\0" in value:
        raise Fail(
            "validation",
            "INVALID_KEY",
            "there is no key in it: it is empty, or no text",
            target="--from-file",
        )
    _, job = launch(change.target, StartOptions(change["workspace"]))
    assert job.store is not None  # noqa: S101 - `launch` gives each a vault
    job.store.store(change["slug"], value)


def _slug(name: str, loaded: Loaded) -> str:
    """The secret of the agent that is its key: the one that its model or its login reads, or the only one."""
    manifest, bound = loaded.as_(AgentCli), loaded.bound.get("secrets")
    entries = bound.value.secrets if bound is not None and isinstance(bound.value, Secrets) else ()
    read = set(manifest.models.env.values()) | set(manifest.auth.state.env if manifest.auth else ())
    found = [entry.slug for entry in entries if read & set(entry.env_names)] or [
        entry.slug for entry in entries
    ]
    if len(found) == 1:
        return found[0]
    if found:
        message = f"{name} has several keys: {', '.join(found)}"
    else:
        message = f"{name} has no place for a key: its manifest names no SECRETS.md"
    variables = " or ".join(sorted(read))
    raise Fail(
        "usage",
        "KEY_NOT_DECLARED",
        message,
        target="--from-file",
        hint=f"give it the key in {variables}" if variables else f"operable agent login {name}",
    )
