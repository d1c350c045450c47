"""The reference tools speak byte for byte alike: every vector of examples/reference/vectors, against all of them.

Besides, each stream is judged by our own reader, and each of its events is valid by the schema that the tool itself prints.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from operable.wire.aoi import Reader
from tests.reference.tools import REFERENCE, TOOLS, VERSION, Tool, ready, run

pytestmark = pytest.mark.timeout(600)  # the first test builds

VECTORS = [
    pytest.param(vector, id=f"{path.stem}: {vector['name']}")
    for path in sorted((REFERENCE / "vectors").glob("*.json"))
    for vector in json.loads(path.read_text("utf-8"))
]


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@cache
def contract(tool_name: str) -> dict[str, Any]:
    text = (REFERENCE / "python" / "contract.json").read_text("utf-8")
    documents: dict[str, Any] = json.loads(text.replace("{tool}", tool_name).replace("{version}", VERSION))
    return documents


@cache
def validator(tool_name: str):
    return jsonschema_rs.validator_for(contract(tool_name)["schema"])


@pytest.mark.parametrize("language", TOOLS)
@pytest.mark.parametrize("vector", VECTORS)
def test_every_tool_does_what_the_vector_says(vector, language, tmp_path):
    tool = ready(language)
    prepare(vector, tmp_path)
    for step in vector["runs"]:
        stdin = step.get("stdin", "").encode() or step.get("stdin_latin1", "").encode("latin-1")
        ended = run(tool, step["args"], tmp_path, stdin, vector.get("env"))

        assert ended.stderr.decode() == ""
        assert b"sekret" not in ended.stdout
        assert ended.stdout.decode() == expected(step, tool)
        assert ended.returncode == step["exit"]
        if ended.stdout.startswith(b'{"type"'):
            judge(ended.stdout, ended.returncode, tool)
    if "store_after" in vector:
        assert stored(tmp_path) == vector["store_after"]


def prepare(vector: dict[str, Any], directory: Path) -> None:
    for name, content in vector.get("files", {}).items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(content, "utf-8")
    if "store" in vector:
        (directory / "data").mkdir()
        (directory / "data/items.json").write_text(json.dumps(vector["store"]), "utf-8")


def expected(step: dict[str, Any], tool: Tool) -> str:
    """What the tool has to print, byte for byte."""
    if "document" in step:
        document: Any = contract(tool.name)
        for name in step["document"]:
            document = document[name]
        return document if isinstance(document, str) else compact(document) + "\n"
    text = "".join(line + "\n" for line in step["stdout"])
    return text.replace("{tool}", tool.name).replace("{version}", VERSION)


def judge(stdout: bytes, status: int, tool: Tool) -> None:
    reader = Reader()
    for event in map(json.loads, stdout.splitlines()):
        validator(tool.name).validate(event)
    reader.feed(stdout)
    verdict = reader.eof(status)

    assert verdict.outcome == ("success" if status == 0 else "failed")
    assert verdict.notes == ()


def stored(directory: Path) -> list[dict[str, Any]] | None:
    """The items of the store; None when there is none."""
    path = directory / "data/items.json"
    if not path.exists():
        return None
    items: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["items"]
    return items


@pytest.mark.parametrize("language", ["python", "node", "go", "rust", "bash"])
def test_every_tool_carries_the_same_contract(language):
    assert (REFERENCE / language / "contract.json").read_bytes() == (
        REFERENCE / "python/contract.json"
    ).read_bytes()


def test_the_contract_is_valid_json_schema():
    documents = contract("x")
    for schema in (documents["schema"], *documents["inputs"].values()):
        jsonschema_rs.meta.validate(schema)


@pytest.mark.parametrize(
    "language, most", [("python", 490), ("node", 420), ("go", 620), ("rust", 560), ("bash", 480)]
)
def test_a_reference_tool_stays_short_enough_to_be_read(language, most):
    sources = [
        path
        for path in (REFERENCE / language).rglob("*")
        if path.suffix in (".py", ".mjs", ".go", ".rs", ".jq") or path.name == "ref-bash"
    ]
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in sources if "target" not in path.parts)

    assert 0 < lines <= most
