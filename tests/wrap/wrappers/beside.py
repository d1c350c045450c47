"""One of the servers here as a program: `python3 beside.py docker_engine --port 2375`.

This is how the profiles of the wrappers name them (`beside` in aoi-lint.toml), because a program in a room of the linter has
a work dir of its own, from which the package of the tests is not found.
"""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[3])
    runpy.run_module(f"tests.wrap.wrappers.{sys.argv.pop(1)}", run_name="__main__")
