"""The TypeScript client, compiled once for each state of its sources, and a Node that does with it what tests ask for.

The compiler and the types of Node come from npm, pinned by package-lock.json; the client itself has no dependency.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.needs import CACHE

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "typescript"
DRIVER = Path(__file__).with_name("driver.mjs")
# A registry that does not answer must not cost more than this; the tests are then skipped, with the reason.
INSTALL_LIMIT = 240
LIMIT = 60
_INPUTS = ("package.json", "package-lock.json", "tsconfig.json")


@cache
def built() -> Path:
    """The folder with the compiled client. Nothing is left in the checkout."""
    packages = _packages()
    sources = sorted(CLIENT.glob("src/**/*.ts"))
    digest = _digest([*sources, CLIENT / "tsconfig.json", CLIENT / "package.json"])
    folder = CACHE / f"typescript-client-{digest}"
    if not (folder / "done").exists():
        # In a folder of its own: another process of this run may build it at the same time.
        place = folder.with_name(f"{folder.name}.{os.getpid()}")
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(CLIENT, place, ignore=shutil.ignore_patterns("node_modules", "dist"))
        (place / "node_modules").symlink_to(packages / "node_modules")
        done = subprocess.run(
            ["node", "node_modules/typescript/bin/tsc", "--project", "tsconfig.json"],
            cwd=place,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        (place / "done").touch()
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # the other one was faster
            place.rename(folder)
        shutil.rmtree(place, ignore_errors=True)
    return folder / "dist"


def asked(requests: Iterable[dict[str, Any]], timeout: float = LIMIT) -> list[Any]:
    """What the client gives for each request, in one process."""
    lines = [json.dumps({"id": number, **request}) for number, request in enumerate(requests)]
    done = subprocess.run(
        ["node", str(DRIVER), str(built() / "index.js")],
        input="\n".join(lines) + "\n",
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = [
        json.loads(line) for line in done.stdout.split("\n") if line
    ]  # not splitlines: a text may have U+2028
    assert [answer.pop("id") for answer in answers] == list(range(len(lines)))
    return answers


def _packages() -> Path:
    """What npm installs for this lock file, once a machine."""
    folder = CACHE / f"typescript-packages-{_digest([CLIENT / 'package-lock.json'])}"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in _INPUTS[:2]:
            shutil.copyfile(CLIENT / name, folder / name)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm did not install the compiler of TypeScript within {INSTALL_LIMIT} s")
        if done.returncode:
            pytest.skip(f"npm cannot install the compiler of TypeScript: {done.stderr.strip()[-300:]}")
        (folder / "done").touch()
    return folder


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
