"""Wrappers as packages from elsewhere (`distribution.installation`): what each command may do, and what code comes along."""

from __future__ import annotations

import os

from operable.distribution.folder import walk
from operable.distribution.installation import JudgedPackage, PackageKind
from operable.kernel.errors import Fail
from operable.state.paths import config_path
from operable.wrap.assurance import assurance, rights
from operable.wrap.places import MARKER, find, is_name
from operable.wrap.plan.manifests import read


class WrapperPackages(PackageKind):
    group = "wrap"
    marker = MARKER

    def home(self) -> str | None:
        return config_path("wrappers")

    def judged(self, folder: str) -> JudgedPackage:
        from operable.manifest.kinds.cli import Cli
        from operable.manifest.loader import load

        plan = read(folder)
        name = load(os.path.join(folder, MARKER), kind="cli", workspace=folder).as_(Cli).name
        if not is_name(name):
            message = f"no wrapper can have the name {name[:100]}"
            raise Fail("validation", "PACKAGE_NAME_INVALID", message, target=MARKER)
        there = find(name)
        shown = {
            "summary": plan.summary,
            "program": [plan.bin, *plan.bin_args],
            "install": plan.install,
            "env": plan.env_pass,
            "rights": [f"{each}: {rights(assurance(plan, plan.commands[each]))}" for each in plan.commands],
            # Its own functions read what the program prints, in the process of Operable: no sandbox holds them.
            "code": [path for path, _ in walk(folder) if path.endswith((".py", ".so"))],
            "in_place_of": None if there in (None, self.place(name)) else there,
        }
        return JudgedPackage(name, plan.version, shown)
