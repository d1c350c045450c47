"""The modules of the page have types, in comments, and the compiler of TypeScript finds no mistake in them."""

import subprocess
from pathlib import Path

import pytest

from operable.serve import catalog
from tests.agents.install import BIN, missing

WEB = Path(catalog.__file__).with_name("web")


@pytest.mark.skipif(missing("typescript") is not None, reason=str(missing("typescript")))
def test_the_compiler_finds_no_mistake_in_the_page():
    done = subprocess.run(
        [BIN / "tsc", "-p", WEB / "jsconfig.json"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "")


def test_a_module_of_the_page_is_short_enough_to_read():
    long = {
        str(path.relative_to(WEB)): count
        for path in WEB.rglob("*")
        if path.is_file() and (count := len(path.read_text("utf-8").splitlines())) > 250
    }

    assert long == {}
