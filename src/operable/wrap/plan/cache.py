"""The kept plan of a wrapper (`model`), made again only if its manifests or the settings of the user change.

Reading YAML and judging manifests costs a few hundred milliseconds. So a plan is kept in the user's cache
(`state.cache`), and used while every file of the wrapper, and the user's `settings`, keep their size and time. The
plan of a wrapper that comes with the package is kept beside it, as bytecode is (in `__pycache__`, not if bytecode must
not be written, not where one may not write): a user without a home, or with a new one for each call as in a sandbox,
need not wait either. Where nothing can be kept, the manifests are read again. A manifest that cannot be used is a `Fail`
with every problem in it.
"""

from __future__ import annotations

import os
import sys

from operable import __version__
from operable.kernel.errors import Fail
from operable.state import cache
from operable.state.paths import cache_path
from operable.wrap.places import MARKER, invalid, origin
from operable.wrap.plan import settings
from operable.wrap.plan.model import plan_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.plan.model import WrapPlan

# What is kept changes its form with this number.
FORM = 11


def plan_of(folder: str) -> WrapPlan:
    """The plan of the wrapper in this folder; Fail WRAPPER_CHANGED if it is not what was added from elsewhere."""
    if origin(folder) == "user":
        _require_as_added(folder)
    own = _settings()
    fingerprint = _fingerprint(folder, own)
    # What one user allows is nothing for the others who use this package.
    beside, cached = "" if own else _beside(folder), _place(folder)
    kept: dict[str, Any] | None = cache.load(beside, fingerprint) or cache.load(
        cached, fingerprint, private=True
    )
    if kept is not None:
        return plan_from(kept)
    from operable.wrap.plan.manifests import read

    plan = read(folder)
    if own:  # settings that appeared since are for the next call: this plan may be kept for all users
        env_pass = [*plan.env_pass, *settings.allowed(plan.name)]
        plan = plan.replace(env_pass=env_pass, configured_names=settings.named())
    values = plan.values()
    if sys.dont_write_bytecode or not cache.keep(beside, fingerprint, values):
        cache.keep(cached, fingerprint, values, private=True)
    return plan


def _require_as_added(folder: str) -> None:
    from operable.distribution.installation import changed_since_added

    if changed_since_added(folder):
        name = os.path.basename(folder)
        message = f"the wrapper {name} was added from elsewhere, and has changed since"
        hint = f"operable wrap remove {name}, then add it again"
        raise Fail("authz", "WRAPPER_CHANGED", message, hint=hint, target=folder)


def _files(folder: str) -> Iterator[str]:
    """The manifests; a parser is loaded when it runs and changes nothing here."""
    yield os.path.join(folder, MARKER)
    tools = os.path.join(folder, "tools")
    try:
        inner = sorted(os.listdir(tools))
    except OSError:
        return
    for name in inner:
        yield os.path.join(tools, name, "TOOL.md")


def _fingerprint(folder: str, own: str) -> str:
    parts = [str(FORM), __version__]
    for file in _files(folder):
        try:
            status = os.stat(file)
        except OSError as problem:
            if file.endswith(MARKER):
                raise invalid(file, f"{file} cannot be read: {problem.strerror}") from problem
            continue  # a folder below tools/ without a manifest is not a command
        parts.append(cache.stamp(file, status))
    return ";".join([*parts, own])


def _settings() -> str:
    """The state of the user's settings, "" if they do not exist."""
    own = settings.place()
    try:
        return "" if own is None else cache.stamp(own, os.stat(own))
    except OSError:
        return "unreadable" if os.path.lexists(str(own)) else ""  # most users have none


def _beside(folder: str) -> str:
    """The file of the kept plan beside its wrapper, "" if that did not come with the package."""
    return cache.beside(folder, "plan") if origin(folder) == "bundled" else ""


def _place(folder: str) -> str:
    """The file of the kept plan in the user's cache, "" where nothing can be cache."""
    base = cache_path("wrappers")
    if base is None:
        return ""
    from operable.kernel.canonical import digest

    name = (
        f"{os.path.basename(folder)}-{digest(os.path.realpath(folder))[7:19]}.{sys.implementation.cache_tag}"
    )
    return os.path.join(base, name)
