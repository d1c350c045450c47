"""Packages for the tests, each with a real program: Python that gets its words in `words`."""

import json
import sys
from pathlib import Path

from operable.app.packages import Package, read
from operable.app.shelf import find
from operable.app.trust import Approvals

# What every program of a test begins with.
_PRELUDE = """import json, os, signal, subprocess, sys, time
words = sys.argv[1:]
def say(value, status=0):
    print(json.dumps(value)); sys.stdout.flush(); sys.exit(status)
"""
BODY = "# App\n\n## Commands\n\n`list`, `get`, `remove`, `item`, `item add`, `item remove`\n"


def made(
    root: Path,
    program: str = 'say({"ok": True, "words": words, "cwd": os.getcwd()})',
    *,
    slug: str | None = None,
    entry: str = f"{sys.executable} app/cli.py",
    commands: str = "[list, get, remove, item, item add, item remove]",
    more: str = "confirmationRequired: [remove, item remove]",
    body: str = BODY,
) -> Path:
    """Write a package that conforms, unless its parts do not."""
    (root / "app").mkdir(parents=True, exist_ok=True)
    (root / "skills" / "use").mkdir(parents=True, exist_ok=True)
    (root / "skills" / "use" / "SKILL.md").write_text(
        "---\nname: use\ndescription: How to use it.\n---\nUse it.\n"
    )
    (root / "app" / "cli.py").write_text(_PRELUDE + program)
    (root / "APP.md").write_text(
        f"---\nschema: agentapplications/v1\nkind: app\nslug: {slug or root.name}\nname: App\n"
        f"description: Does things.\nversion: 1.0.0\nentry:\n  command: {json.dumps(entry)}\ncommands: {commands}\n"
        f"skills: [use]\n{more}\n---\n{body}"
    )
    return root


def approved(root: Path, approvals: Approvals, *, shell: bool = False) -> Package:
    package = find(str(root))
    approvals.approve(package, shell=shell)
    return package


def package_at(root: Path) -> Package:
    """The package of a project in this folder; there must be one."""
    found = read(str(root), "project")
    assert found is not None
    return found
