"""The reference tools speak byte for byte alike: every vector of examples/reference/vectors, against all of them.

Besides, each stream is judged by our own reader, and each of its events is valid by the schema that the tool itself prints.
"""

import json
import re
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
PLACEHOLDERS = {"id": "i_[0-9a-f]{12}", "cursor": "[!-~]{1,80}"}
SUMMARY = {
    "type": "aoi:summary",
    "ok": True,
    "count": 0,
    "warning_count": 0,
    "error_count": 0,
    "partial": False,
    "truncated": False,
    "next_cursor": None,
    "elapsed_ms": "{ms}",
}
META = {
    "type": "aoi:meta",
    "tool": "{tool}",
    "tool_version": "{version}",
    "aoi_version": "0.2",
    "schema_name": "com.example.items.events",
    "schema_version": "1.0.0",
}


def compact(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@cache
def contract(tool_name: str) -> dict[str, Any]:
    text = (REFERENCE / "python" / "contract.json").read_text("utf-8")
    documents: dict[str, Any] = json.loads(text.replace("{tool}", tool_name).replace("{version}", VERSION))
    return documents


@cache
def validator(tool_name: str):
    return jsonschema_rs.validator_for(contract(tool_name)["schema"])


class Bindings(dict[str, str]):
    """What {id:1} and the like have turned out to be."""

    def fill(self, text: str, tool: Tool) -> str:
        text = text.replace("{tool}", tool.name).replace("{version}", VERSION)
        return re.sub(r"\{(\w+:\d+)\}", lambda found: self.get(found[1], found[0]), text)

    def match(self, expected: str, printed: str, tool: Tool) -> bool:
        """Whether a printed line is what is expected; binds what is new in it."""
        pattern = re.escape(self.fill(expected, tool)).replace(r'"\{ms\}"', "[0-9]{1,9}")
        names: list[str] = []

        def group(found: re.Match[str]) -> str:
            names.append(found[0].replace("\\", "")[1:-1])
            return f"({PLACEHOLDERS[found[1]]})"

        match = re.fullmatch(re.sub(r"\\\{(id|cursor):\d+\\\}", group, pattern), printed)
        if match is not None:
            self.update(zip(names, match.groups(), strict=True))
        return match is not None


@pytest.mark.parametrize("language", TOOLS)
@pytest.mark.parametrize("vector", VECTORS)
def test_every_tool_does_what_the_vector_says(vector, language, tmp_path):
    tool = ready(language)
    prepare(vector, tmp_path)
    known = Bindings()
    for step in vector["runs"]:
        stdin = step.get("stdin", "").encode() or step.get("stdin_latin1", "").encode("latin-1")
        args = [known.fill(word, tool) for word in step["args"]]
        ended = run(tool, args, tmp_path, stdin, vector.get("env"))
        printed = ended.stdout.decode()

        assert ended.stderr.decode() == ""
        assert "sekret" not in printed
        compare(step, printed, known, tool)
        assert ended.returncode == step["exit"]
        if "meta" in step:
            judge(ended.stdout, ended.returncode, step, tool)
    if "store_after" in vector:
        assert stored(tmp_path) == json.loads(known.fill(compact(vector["store_after"]), tool))


def prepare(vector: dict[str, Any], directory: Path) -> None:
    for name, content in vector.get("files", {}).items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(content, "utf-8")
    if "store" in vector:
        items = [{"kind": "item", "seq": seq, **item} for seq, item in enumerate(vector["store"], start=1)]
        records = [{"kind": "store", "format": 1, "next": len(items) + 1}, *items]
        (directory / "data").mkdir()
        (directory / "data/items.jsonl").write_text(
            "".join(compact(line) + "\n" for line in records), "utf-8"
        )


def compare(step: dict[str, Any], printed: str, known: Bindings, tool: Tool) -> None:
    documents = contract(tool.name)
    if "stdout" in step:
        assert printed == step["stdout"].replace("{help}", documents["help"]).replace(
            "{tool}", tool.name
        ).replace("{version}", VERSION)
        return
    if "document" in step:
        for name in step["document"]:
            documents = documents[name]
        assert printed == compact(documents) + "\n"
        return
    expected = [
        compact({**META, **step["meta"]}),
        *map(compact, step["events"]),
        compact({**SUMMARY, **step["summary"]}),
    ]
    lines = printed.split("\n")
    assert lines.pop() == ""
    for number, line in enumerate(lines):
        wanted = expected[number] if number < len(expected) else "nothing"
        document = re.search(r'"\{document:([\w/-]+)\}"', wanted)
        if document is not None:
            content = documents
            for name in document[1].split("/"):
                content = content[name]
            assert line == wanted.replace(document[0], compact(content))
        else:
            assert known.match(wanted, line, tool), f"expected {known.fill(wanted, tool)}\nprinted  {line}"
    assert len(lines) == len(expected)


def judge(stdout: bytes, status: int, step: dict[str, Any], tool: Tool) -> None:
    reader = Reader()
    for event in map(json.loads, stdout.splitlines()):
        validator(tool.name).validate(event)
    reader.feed(stdout)
    verdict = reader.eof(status)

    assert verdict.outcome == ("success" if step["summary"].get("ok") else "failed")
    assert verdict.notes == ()


def stored(directory: Path) -> list[dict[str, Any]] | None:
    """The items of the store; None when not even its directory is there."""
    if not (directory / "data").exists():
        return None
    lines = (directory / "data/items.jsonl").read_text("utf-8").splitlines()
    items = [record for record in map(json.loads, lines) if record.pop("kind") == "item"]
    numbers = [item.pop("seq") for item in items]
    assert numbers == sorted(set(numbers))
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
