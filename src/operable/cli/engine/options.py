"""The options that all commands of `operable engine` share."""

from __future__ import annotations

from operable.tool import Options


class EngineOptions(Options):
    """Which engine is meant.

    home DIR: where jobs and runs are kept; else AGENTCLI_HOME, or flow below OPERABLE_HOME, or ~/.agentcli
    database URL: postgresql://USER@HOST/NAME for workers on several machines; else OPERABLE_DATABASE, or a file in the home
    """

    home: str | None = None
    database: str | None = None
