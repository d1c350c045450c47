"""From the words of `operable app …` to `operable.app` and back: packages as events, approvals as plans."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator

from operable.app import entry
from operable.app.content import content
from operable.app.installation import signature_path, signed_digest
from operable.app.packages import Package, activate, resource
from operable.app.sandbox import in_words as rights_in_words
from operable.app.shelf import PROJECT_FOLDERS, catalog, find, user_apps
from operable.app.trust import Approvals, require_same
from operable.app.validation import validate
from operable.cli.app.events import (
    AppApproval,
    AppDetails,
    AppEvent,
    AppProblem,
    AppResource,
    AppSigned,
    AppVerdict,
)
from operable.kernel.errors import EX_CANTCREAT, EX_DATAERR, Fail
from operable.tool import Change, Context, ItemError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


def listed(workspace: str) -> list[AppEvent]:
    """Every package that can be found from there, by slug: frontmatter, and what a call of it would meet now.

    Of a package without an approval only the frontmatter is read.
    """
    approvals = Approvals()
    found = [_listed(package, approvals) for package in catalog(_folder(workspace))]
    return sorted(found, key=lambda each: (each.slug, each.path))


def places(workspace: str) -> list[str]:
    """Where packages are looked for, for a user who finds none."""
    user = user_apps()
    project = os.path.realpath(_folder(workspace))
    return [*(os.path.join(project, name) for name in PROJECT_FOLDERS), *([user] if user is not None else [])]


def meant(name: str, workspace: str) -> Package:
    return find(name, _folder(workspace))


def details(name: str, workspace: str) -> AppDetails:
    """The second tier of one package; nothing of it is run."""
    package = meant(name, workspace)
    app = package.require()
    activated, standing = activate(package), Approvals().standing(package)
    try:
        digest: str | None = (standing.content or content(package)).digest
    except Fail:
        digest = None
    return AppDetails(
        slug=package.slug,
        name=app.name,
        description=app.description,
        version=app.version,
        source=package.source,
        trusted=standing.trusted and (standing.shell or not entry.wants_shell(package)),
        standing=standing.why,
        digest=digest,
        entry=entry.words(package),
        shell=entry.wants_shell(package),
        state=entry.states(package),
        rights=rights_in_words(package),
        commands=list(app.commands),
        confirmation_required=list(app.confirmation_required),
        scheduling=app.scheduling,
        skills=activated.skills,
        body=activated.body,
        path=package.path,
    )


def in_words(details: AppDetails) -> str:
    """The same for people: what it is, its state, then its text and its skills."""
    head = {
        "application": f"{details.slug} {details.version}: {details.description}",
        "runs": " ".join(details.entry) + (" (by a shell)" if details.shell else ""),
        "standing": f"{'may run' if details.trusted else 'may not run'}: {details.standing}",
        "digest": details.digest or "none: it could not be approved",
        "commands": ", ".join(details.commands),
        "confirm": ", ".join(details.confirmation_required) or "nothing",
        "data": ", ".join(details.state),
        "rights": "; ".join(details.rights),
        "file": details.path,
    }
    lines = [f"{name + ':':<13}{text}" for name, text in head.items()]
    skills = [f"--- skill {name}\n\n{text.strip()}\n" for name, text in details.skills.items()]
    return "\n".join([*lines, "", details.body.strip(), "", *skills])


def one_file(name: str, path: str, workspace: str) -> AppResource:
    """The third tier: one file of a package."""
    data = resource(meant(name, workspace), path)
    try:
        return AppResource(path=path, size=len(data), text=data.decode("utf-8"))
    except UnicodeDecodeError:
        return AppResource(path=path, size=len(data), content_b64=base64.b64encode(data).decode())


def validated(context: Context, paths: tuple[str, ...]) -> Iterator[AppProblem | AppVerdict]:
    """Judge packages one after the other: every problem with its place, then the verdict."""
    for path in paths or (".",):
        try:
            validation = validate(path)
        except Fail as missing:
            yield ItemError(missing)  # type: ignore[misc]  # travels with the events
            continue
        for problem in validation.problems:
            yield AppProblem(**problem._asdict())
        errors = sum(problem.level == "error" for problem in validation.problems)
        if not validation.ok:
            context.conclude(
                exit_code=EX_DATAERR, reason="app_invalid" if validation.related else "app_unrelated"
            )
        yield AppVerdict(
            path=validation.path,
            ok=validation.ok,
            related=validation.related,
            errors=errors,
            warnings=len(validation.problems) - errors,
        )


def planned_approval(
    name: str, workspace: str, *, shell: bool, revoke: bool, digest: str | None
) -> Change | None:
    """What an approval would say; None when there is nothing to revoke."""
    package = meant(name, workspace)
    approvals = Approvals()
    if revoke:
        recorded = approvals.recorded(package)
        return Change("revoke", package.root, slug=package.slug) if recorded else None
    words, seen = entry.words(package), content(package).digest
    require_same(package, digest, seen)
    return Change(
        "approve",
        package.root,
        slug=package.slug,
        digest=seen,
        entry=words,
        shell=shell,
        env=entry.variables(package),
        left_out=entry.states(package),
        rights=rights_in_words(package),
    )


def settled(change: Change) -> AppApproval:
    """Do what was planned."""
    package = find(change.target)
    if change.action == "revoke":
        Approvals().revoke(package)
        return AppApproval(slug=package.slug, approved=False, shell=False, path=package.root)
    digest = Approvals().approve(package, shell=change["shell"], expected=change["digest"])
    return AppApproval(
        slug=package.slug, approved=True, digest=digest, shell=change["shell"], path=package.root
    )


def _listed(package: Package, approvals: Approvals) -> AppEvent:
    app = package.app
    trust, standing = _trust(package, approvals)
    return AppEvent(
        slug=package.slug,
        name=app.name if app else "",
        description=app.description if app else "",
        version=app.version if app else "",
        kind="app",
        commands=list(app.commands) if app else [],
        confirmation_required=list(app.confirmation_required) if app else [],
        scheduling=app.scheduling if app else "notSupported",
        source=package.source,  # type: ignore[arg-type]  # one of the three
        trust=trust,
        standing=standing,
        path=package.path,
        problem=package.problem,
    )


def _trust(
    package: Package, approvals: Approvals
) -> tuple[Literal["own", "approved", "changed", "unapproved"], str]:
    """What a call of this package would meet now, and why."""
    if package.app is None:
        return "unapproved", package.problem or ""
    standing = approvals.standing(package)
    refusal = approvals.refusal(package, standing)
    if refusal is None:
        return "approved" if standing.content is not None else "own", standing.why
    if not standing.trusted:
        return "changed" if approvals.recorded(package) else "unapproved", standing.why
    return "unapproved", refusal.message


def _folder(workspace: str) -> str:
    folder = os.path.realpath(workspace)
    if not os.path.isdir(folder):
        raise Fail(
            "not_found", "WORKSPACE_NOT_FOUND", f"the workspace {folder} is not a folder", target=folder
        )
    return folder


def planned_signature(folder: str, key: str) -> Change:
    return Change(
        "sign", signature_path(folder), folder=os.path.realpath(folder), digest=signed_digest(folder), key=key
    )


def signed(change: Change) -> AppSigned:
    from operable.distribution.signature import sign
    from operable.state.atomic import advise, write_whole

    digest = signed_digest(change["folder"])
    if digest != change["digest"]:
        message = f"{change['folder']} has changed since it was looked at"
        raise Fail("conflict", "APP_CHANGED", message, hint="look at it again", target=change["folder"])
    armored, key = sign(digest, os.path.expanduser(change["key"]))
    try:
        write_whole(change.target, armored.encode("ascii"))
    except OSError as problem:
        message = f"cannot write {change.target}: {problem.strerror}"
        hint = advise(problem, "make room on its disk")
        raise Fail(
            "io", "CANNOT_WRITE", message, hint=hint, target=change.target, exit_code=EX_CANTCREAT
        ) from problem
    return AppSigned(path=change.target, digest=digest, key=key)
