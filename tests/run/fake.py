"""Tools that behave as a test needs: executable scripts, written where the test can see them."""

import sys
from pathlib import Path

PREAMBLE = """#!{python} -IS
import json, os, signal, sys
def emit(type, **fields):
    sys.stdout.write(json.dumps({{"type": type, **fields}}) + "\\n"); sys.stdout.flush()
def meta(**fields):
    emit("aoi:meta", tool="fake", tool_version="1.0.0", aoi_version="0.2", schema_name="x", schema_version="1.0.0", **fields)
def summary(ok=True, **fields):
    emit("aoi:summary", ok=ok, **fields)
"""

HITS = """
meta(command="search")
for rank in range(3):
    emit("hit", rank=rank, id=f"n{rank}")
summary(count=3)
"""


def tool(folder: Path, body: str, name: str = "fake") -> str:
    """The path of an executable that runs this Python."""
    path = folder / name
    path.write_text(PREAMBLE.format(python=sys.executable) + body)
    path.chmod(0o755)
    return str(path)
