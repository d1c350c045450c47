"""What `operable config …` shows, approves and revokes."""

from __future__ import annotations

import os
from collections.abc import Iterator

from operable.agent.options import KEYS
from operable.cli.config.events import ConfigApproval, ConfigValue
from operable.kernel import catalogue
from operable.kernel.errors import Fail
from operable.kernel.redact import Redactor
from operable.project import places, trust
from operable.project.settings import (
    ConfiguredValue,
    ProjectRequest,
    load_settings,
    requested_by,
    waiting_values,
)
from operable.state.paths import config_path, policy_path
from operable.tool import Change, Warn

_RULES = "reads in the workspace are free (in a chat); edits, commands and other calls are asked about"


def shown(workspace: str) -> Iterator[ConfigValue | Warn]:
    """Every value with the file that has it, those that do not count included; without any, what is the default."""
    settings = load_settings(_folder(workspace))
    values = list(settings.values)
    if (path := policy_path()) is not None:
        values.append(ConfiguredValue("policy", "rules about calls (operable policy show)", path))
    for value in values or _defaults(_folder(workspace)):
        yield _row(value)
    for note in settings.notes:
        yield Warn("CONFIG_NOT_APPROVED", note)


def _defaults(workspace: str) -> Iterator[ConfiguredValue]:
    """What counts where no file says anything, and the files that could."""
    keys = ((name, variable) for name, variable in KEYS.items() if os.environ.get(variable))
    provider, source = next(keys, ("", ""))
    without = f"none: set {' or '.join(KEYS.values())}, or use --provider or --offline"
    yield ConfiguredValue("provider", provider or without, source or "default")
    if provider:
        chosen = catalogue.load("operable.agent.providers", provider, "MODEL", kind="provider")
        yield ConfiguredValue("model", chosen.default_model, "default")
    yield ConfiguredValue("rules", _RULES, "default")
    if (own := config_path(places.NAME)) is not None:
        yield ConfiguredValue("file", "yours, for all projects", own, _why_silent(own))
    project = os.path.join(places.project_folder(workspace), places.NAME)
    yield ConfiguredValue("file", "of this project", project, _why_silent(project))


def _why_silent(path: str) -> str:
    return "it configures nothing" if os.path.lexists(path) else "the file does not exist"


def planned_approval(workspace: str, digest: str | None) -> Change | None:
    """Approve what is there now; None: it is approved already."""
    asked = _asked(workspace)
    if digest is not None and digest != asked.digest:
        raise Fail(
            "conflict",
            "DIGEST_MISMATCH",
            f"the configuration has changed since it was reviewed: it is now {asked.digest}",
            target=asked.folder,
            hint="look at it again: operable config show",
        )
    if asked.standing == "approved":
        return None
    return Change("approve", asked.folder, digest=asked.digest, files=_files(asked), asks=_asks(asked))


def approved(change: Change) -> ConfigApproval:
    """Raises Fail conflict/CONFIG_CHANGED if it is something else by now than what was planned."""
    asked = requested_by(change.target)
    if asked.digest != change["digest"]:
        raise Fail(
            "conflict",
            "CONFIG_CHANGED",
            "the configuration has changed since it was looked at",
            target=change.target,
            hint="look at it again: operable config show",
        )
    trust.consents().approve(change.target, asked.digest)
    return ConfigApproval(project=change.target, approved=True, digest=asked.digest, files=_files(asked))


def planned_revocation(workspace: str) -> Change | None:
    folder = places.project_folder(_folder(workspace))
    kept = trust.consents().read().get(folder)
    return None if kept is None else Change("revoke", folder, digest=str(kept.get("digest", "")))


def revoked(change: Change) -> ConfigApproval:
    trust.consents().revoke(change.target)
    return ConfigApproval(project=change.target, approved=False, digest=change["digest"], files=[])


def _asked(workspace: str) -> ProjectRequest:
    asked = requested_by(places.project_folder(_folder(workspace)))
    if asked.file is None and not asked.servers:
        raise Fail(
            "not_found",
            "CONFIG_NOT_FOUND",
            f"{asked.folder} has no {places.NAME} and no {places.SERVERS} with a server",
            target=asked.folder,
        )
    return asked


def _asks(asked: ProjectRequest) -> list[str]:
    """What an approval is for, in one line each: everything that would begin to count."""
    return [Redactor().command(f"{value.key} {value.value}") for value in waiting_values(asked)]


def _files(asked: ProjectRequest) -> list[str]:
    names = [places.NAME] if asked.file is not None else []
    return [*names, *([places.SERVERS] if asked.servers else [])]


def _row(value: ConfiguredValue) -> ConfigValue:
    return ConfigValue(
        key=value.key,
        value=Redactor().command(value.value),
        source=value.source,
        counts=not value.why,
        why=value.why,
    )


def _folder(workspace: str) -> str:
    folder = os.path.realpath(workspace)
    if not os.path.isdir(folder):
        raise Fail("not_found", "WORKSPACE_NOT_FOUND", f"{folder} is not a folder", target=workspace)
    return folder
