"""What a start may import: we want time, and assert the import list, which does not depend on the machine."""

import subprocess
import sys

import pytest

# Each of these costs at least a tenth of the interpreter's own start; none is needed to answer one machine-mode call.
HEAVY = {
    *("argparse", "asyncio", "collections", "contextlib", "dataclasses", "datetime", "enum", "functools"),
    *(
        "importlib.metadata",
        "inspect",
        "json",
        "logging",
        "pathlib",
        "random",
        "re",
        "signal",
        "socket",
        "subprocess",
    ),
    *("tempfile", "threading", "typing", "uuid", "msgspec", "rich", "jsonschema_rs"),
}


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    listed = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    return set(listed.stdout.split())


@pytest.mark.parametrize("module", ["operable", "operable.kernel.errors", "operable.tool"])
def test_loading_the_hot_path_loads_nothing_heavy(module):
    assert loaded_by(f"import {module}") & HEAVY == set()
