"""Applications as packages from elsewhere (`distribution.installation`): consent to them is an approval (`trust`)."""

import os
from collections.abc import Mapping
from typing import Any

from operable.app import entry
from operable.app.packages import FILE, Package, read
from operable.app.sandbox import in_words as rights_in_words
from operable.app.shelf import user_apps
from operable.app.trust import Approvals
from operable.app.validation import validate
from operable.distribution.folder import SIGNATURE, digest, files
from operable.distribution.installation import JudgedPackage, PackageKind
from operable.kernel.errors import Fail


class ApplicationPackages(PackageKind):
    group = "app"
    marker = FILE

    def home(self) -> str | None:
        return user_apps()

    def judged(self, folder: str) -> JudgedPackage:
        package = read(folder, "explicit")
        wrong = [problem for problem in validate(folder).problems if problem.level == "error"]
        if package is None or wrong:
            why = wrong[0].message if wrong else f"its {FILE} is not one of an agent application"
            hint, message = "each problem: operable app validate FOLDER", f"the package cannot be used: {why}"
            raise Fail("validation", "APP_INVALID", message, hint=hint, target=folder)
        app = package.require()
        rights = {
            "entry": entry.words(package),
            "shell": entry.wants_shell(package),
            "env": entry.variables(package),
            "rights": rights_in_words(package),
            "commands": list(app.commands),
            "confirmation_required": list(app.confirmation_required),
        }
        return JudgedPackage(
            package.slug if app.slug else "", app.version, rights, tuple(entry.states(package))
        )

    def data(self, place: str) -> tuple[str, ...]:
        return tuple(entry.states(self._package(place)))

    def agree(self, place: str, rights: Mapping[str, Any], origin: dict[str, Any]) -> None:
        Approvals().approve(self._package(place), shell=rights["shell"], origin=origin)

    def origin(self, place: str) -> dict[str, Any] | None:
        return Approvals().origin(os.path.realpath(place))

    def forget(self, place: str) -> None:
        Approvals().forget(os.path.realpath(place))

    def _package(self, place: str) -> Package:
        package = read(os.path.realpath(place), "user")
        if package is None:
            message = f"{place} has changed since it was written"
            raise Fail("conflict", "APP_CHANGED", message, hint="look at it again", target=place)
        return package


def signed_digest(folder: str) -> str:
    """The digest that a signature of the package in this folder is for; Fail if it is not a package."""
    package = read(os.path.realpath(folder), "explicit")
    if package is None:
        raise Fail(
            "not_found", "APP_NOT_FOUND", f"there is no {FILE} of an application in {folder}", target=folder
        )
    package.require()
    return digest(files(package.root, entry.states(package)))


def signature_path(folder: str) -> str:
    return os.path.join(os.path.realpath(folder), SIGNATURE)
