"""Settings of git: what is in force, and what this call overrides, so that nothing that a repository configures is run."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.tool.framework import Warn
    from operable.wrap.upstream import Upstream

# A filter that has no command does nothing; one that is required must not be.
_IDLE_FILTER = {"clean": "", "smudge": "", "process": "", "required": "false"}


def read_settings(upstream: Upstream, at: list[str]) -> list[tuple[str, str, str]]:
    """Scope, name and value of each setting that is in force; `at` are words that lead git into another folder."""
    told = upstream.ask([*at, "config", "--list", "--show-scope", "-z"], fine=(0, 1, 128))
    fields = told.decode("utf-8", "surrogateescape").split("\0")
    found = []
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = setting.partition("\n")
        found.append((scope, name, value))
    return found


def override(upstream: Upstream, settings: list[tuple[str, str]]) -> None:
    """Let these settings hold, whatever files say: through the environment, where a name may contain any character."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    upstream.env = variables


def idle_filters(upstream: Upstream, at: list[str] | None = None) -> list[str]:
    """Take the commands from every filter that is configured; gives the names of the filters."""
    found = (_filter(name) for _, name, _ in read_settings(upstream, at or []))
    names = list(dict.fromkeys(name for name in found if name is not None))
    override(
        upstream, [(f"filter.{name}.{key}", value) for name in names for key, value in _IDLE_FILTER.items()]
    )
    return names


def _filter(setting: str) -> str | None:
    """The filter that a setting is about, as it is written; None: about something else."""
    section, _, key = setting.rpartition(".")
    about, dot, name = section.partition(".")
    return name if dot and about.lower() == "filter" and key.lower() in _IDLE_FILTER else None


def unfiltered(names: list[str]) -> Warn:
    from operable.tool.framework import Warn

    shown = ", ".join(sorted(names)[:5])
    message = f"the filters of the configuration are not run ({shown}): a file that one of them changes seems modified"
    return Warn("FILTERS_NOT_RUN", message)
