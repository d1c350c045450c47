"""Application packages (APP.md).

Only frontmatter is read. A package that was never approved is listed, and cannot be called.
"""

from __future__ import annotations

from collections.abc import Iterator

from operable.app.packages import Package
from operable.app.shelf import catalog
from operable.app.trust import Approvals
from operable.manifest import App
from operable.offer.app import AppAdapter, app_actions
from operable.serve.operables import Operable, Source


def find(workspace: str) -> Iterator[Operable]:
    """Every package that can be found from the workspace."""
    approvals = Approvals()
    seen: set[str] = set()
    packages = catalog(workspace)
    # Of two with one name the one that may run counts, as in a call.
    for package in sorted(packages, key=lambda each: not _may_run(each, approvals)):
        if package.slug not in seen:
            seen.add(package.slug)
            yield _described(package, approvals)


def _may_run(package: Package, approvals: Approvals) -> bool:
    return package.source == "user" or approvals.recorded(package)


def _described(package: Package, approvals: Approvals) -> Operable:
    app = package.app
    if app is None:
        return Operable(
            "app", package.slug, place=package.root, health="broken", problem=package.problem, auth="unknown"
        )
    ready = _may_run(package, approvals)
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
        problem=None if ready else f"operable app approve {package.root}",
        adapter=AppAdapter(package) if ready else None,
    )


def _capabilities(app: App) -> Iterator[str]:
    if app.confirmation_required:
        yield "confirm"
    if app.scheduling == "supported":
        yield "scheduling"
    if app.skills:
        yield "skills"


SOURCE = Source("app", "application packages", find)
