"""Application packages (APP.md).

A package that a call would refuse, because it was never approved or has changed since, is listed and cannot be called. Of
a package without an approval only the frontmatter is read.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from operable.app.packages import Package
from operable.app.shelf import catalog
from operable.app.trust import Approvals
from operable.kernel.errors import Fail
from operable.manifest import App
from operable.offer.app import AppAdapter, app_actions
from operable.serve.catalog import Operable, OperableSource


def find(workspace: str) -> Iterator[Operable]:
    """Every package that can be found from the workspace."""
    approvals = Approvals()
    seen: set[str] = set()
    judged = [(each, None if each.app is None else approvals.refusal(each)) for each in catalog(workspace)]
    # Of two with one name the one that may run counts, as in a call.
    for package, refusal in sorted(judged, key=lambda pair: pair[0].app is None or pair[1] is not None):
        if package.slug not in seen:
            seen.add(package.slug)
            yield _described(package, refusal)


def _described(package: Package, refusal: Fail | None) -> Operable:
    app = package.app
    if app is None:
        return Operable(
            "app", package.slug, place=package.root, health="broken", problem=package.problem, auth="unknown"
        )
    ready = refusal is None
    shell = refusal is not None and refusal.code == "APP_SHELL_NOT_APPROVED"
    return Operable(
        "app",
        package.slug,
        version=app.version,
        description=app.description,
        place=package.root,
        actions=app_actions(package),
        capabilities=tuple(_capabilities(app)),
        auth="unknown",
        health="ok" if ready else "unapproved",
        problem=None
        if ready
        else f"operable app approve {shlex.quote(package.root)}{' --shell' if shell else ''}",
        adapter=AppAdapter(package) if ready else None,
    )


def _capabilities(app: App) -> Iterator[str]:
    if app.confirmation_required:
        yield "confirm"
    if app.scheduling == "supported":
        yield "scheduling"
    if app.skills:
        yield "skills"


SOURCE = OperableSource("app", "application packages", find)
