"""Many declared tools: asked at the same time, and once."""

import asyncio
import json
import os

import pytest

from operable.gate.call_gate import CallGate
from operable.serve.catalog import catalog
from operable.serve.mcp_tools import Toolbox

CAPABILITIES = {
    "tool": "t",
    "tool_version": "1",
    "commands": [{"name": name, "read_only": True} for name in ("a", "b")],
}
INPUT = {"type": "object", "properties": {"query": {"type": "string", "x-cli": "QUERY"}}}
# Notes each question; an answer waits until another one is asked for too, or for ten seconds.
TOOL = """#!/bin/sh
echo "$*" >> {noted}
: > {folder}/$$
tries=0
while [ $(ls {folder} | wc -l) -lt 2 ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
[ $tries -lt 100 ] || echo alone >> {noted}
case "$1" in
schema) echo '{{"$defs": {{}}}}';;
capabilities) echo '{capabilities}';;
input-schema) echo '{schema}';;
esac
"""


@pytest.fixture
def noted(tmp_path, monkeypatch):
    """Four tools; what they were asked, as a function."""
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    tools, folder, log = tmp_path / "home/config/tools", tmp_path / "running", tmp_path / "asked"
    tools.mkdir(parents=True)
    folder.mkdir()
    text = TOOL.format(
        noted=log, folder=folder, capabilities=json.dumps(CAPABILITIES), schema=json.dumps(INPUT)
    )
    for number in range(4):
        (tools / f"tool-{number}").write_text(text)
        (tools / f"tool-{number}").chmod(0o755)

    def take():
        asked = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        for name in os.listdir(folder):
            os.unlink(folder / name)
        return asked

    return take


def offered():
    ours = [each for each in catalog(only=["tool"]) if each.name.startswith("tool-")]
    return asyncio.run(Toolbox(ours, gate=CallGate(), workspace="/").tools())


def test_tools_are_asked_beside_each_other_and_what_they_said_is_kept(noted):
    tools = offered()
    asked = noted()

    assert len(tools) == 8
    assert all("query" in tool.schema["properties"] for tool in tools.values())
    assert "alone" not in asked
    assert sum(words.startswith("input-schema") for words in asked) == 8

    assert offered().keys() == tools.keys()
    assert noted() == []


def test_a_tool_that_has_changed_is_asked_again_and_no_other(noted, tmp_path):
    offered()
    noted()
    changed = tmp_path / "home/config/tools/tool-1"
    changed.write_text(changed.read_text().replace("-lt 2", "-lt 1").replace('"query"', '"other"'))

    tools = offered()

    asked = noted()
    assert sum(words.startswith("input-schema") for words in asked) == 2
    assert [name for name, tool in tools.items() if "other" in tool.schema["properties"]] == [
        "tool-1_a", "tool-1_b",
    ]  # fmt: skip
