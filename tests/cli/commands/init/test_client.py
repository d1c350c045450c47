"""`operable init client`: a module that type checkers accept and that calls the tool for real."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from operable.cli.starter.client import client_text
from operable.kernel.errors import Fail
from operable.run.contract import Contract
from tests.cli.drive import operable

CONTACTS = f"{sys.executable} {Path(__file__).parents[4] / 'examples/contacts/contacts.py'}"
OUTLINE = f"{Path(sys.executable).parent / 'outline'}"
TYPED = """
from typing import reveal_type

from contacts_client import Contacts
from outline_client import Outline

notes = Outline()
reveal_type(notes.search("x", limit=3).results)
reveal_type(notes.get("doc_1"))
reveal_type(notes.watch())
notes.create(5)
notes.list(limt=1)
notes.import_(items=[{"title": "A"}, {"titel": "B"}])
reveal_type(Contacts().get("x").results[0]["kind"])
Contacts().create("A", address={"street": "S"})
"""


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clients")
    for tool, name in ((OUTLINE, "outline"), (CONTACTS, "contacts")):
        done = operable("init", "client", tool, "--to", str(folder))
        assert [Path(each["path"]).name for each in done.results] == [f"{name}_client.py"], done
    return folder


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def test_a_type_checker_knows_parameters_and_results(clients):
    (clients / "use.py").write_text(TYPED)
    words = [sys.executable, "-m", "mypy", "--strict", "--python-executable", sys.executable, "."]
    done = subprocess.run(words, cwd=clients, capture_output=True, text=True, timeout=300, check=False)
    lines = [line for line in done.stdout.splitlines() if ": note: Revealed" in line or ": error: " in line]
    for line, said in zip(
        lines,
        (
            "typing.Sequence[TypedDict(outline_client.Hit, {'type': Literal['hit'], 'rank': int,",
            "outline_client.Answer[TypedDict(outline_client.Note, {",
            "typing.Iterator[TypedDict(outline_client.Created, {",
            '"create" of "Outline" has incompatible type "int"; expected "str"',
            'Unexpected keyword argument "limt"',
            'Missing key "title"',
            'Extra key "titel"',
            "Literal['person'] | Literal['company']",
            'Argument "address" to "create" of "Contacts" has incompatible type',
        ),
        strict=True,
    ):
        assert said in line, done.stdout
    assert all(line.startswith("use.py:") for line in lines), done.stdout


def test_the_client_of_outline_calls_it(clients, tmp_path):
    module = loaded(clients / "outline_client.py")
    notes = module.Outline(env={"OUTLINE_HOME": str(tmp_path)}, validate=True)
    (made,) = notes.create("-- A note", body="--text", tag=["a", "b"])
    assert notes.list().results[0]["tags"] == ["a", "b"]
    assert [each["title"] for each in notes.import_(items=[{"title": "B"}, {"title": "C"}])] == ["B", "C"]
    page = notes.list(limit=2)
    assert (page.truncated, len(page.results)) == (True, 2)
    assert len(notes.list(cursor=page.next_cursor).results) == 1
    planned = notes.delete(made["id"], dry_run=True)
    assert ([each.target for each in planned.plan], planned.results) == ([made["id"]], [])
    with pytest.raises(Fail) as refused:
        notes.delete(made["id"])
    assert refused.value.category == "usage"
    assert notes.delete(made["id"], confirm=planned.plan_digest).results[0]["id"] == made["id"]
    with pytest.raises(Fail) as missing:
        notes.get(made["id"])
    assert (missing.value.category, missing.value.code) == ("not_found", "NOTE_NOT_FOUND")
    assert [each["type"] for each in notes.watch(after=0, limit=2)] == ["created", "created"]


def test_the_client_of_contacts_calls_it(clients, tmp_path):
    module = loaded(clients / "contacts_client.py")
    people = module.Contacts(cwd=tmp_path, validate=True)
    (ada,) = people.create("Ada", email="ada@example.org", address={"street": "S 1", "city": "C"}, debt="1.5")
    (contact,) = people.get(ada["id"], db="contacts.sqlite")
    assert (contact["address"], contact["debt"]) == ({"street": "S 1", "city": "C"}, "1.5")
    assert people.delete(ada["id"], confirm=True).results == [{"type": "deleted", "id": ada["id"]}]
    with pytest.raises(Fail) as refused:
        people.create("")
    assert refused.value.category == "usage"


def test_what_a_tool_says_of_itself_writes_no_code(tmp_path):
    """Every text of a contract, hostile: the module compiles, and loading it does nothing."""
    file = tmp_path / "written"
    evil = f'"""\nopen({str(file)!r}, "w")\n"""\\'
    entry = {"name": "list", "summary": evil, "event_types": ["row", evil], "destructive": False}
    other = {"name": evil, "summary": "\\", "event_types": []}
    properties = {
        name: {"type": "string", "description": evil, "x-cli": f"--{evil}", "default": evil}
        for name in ("class", evil, "self", "given", "a b", "a-b", "2x", "")
    } | {"pick": {"enum": [evil, 1, None]}}
    row = {
        "description": evil,
        "properties": {"type": {"const": "row"}, evil: {"type": "integer"}, "from": {"const": evil}},
        "required": [evil],
    }
    contract = Contract(
        schema={"$defs": {evil: row, "other": {"properties": {"type": {"const": evil}}}}},
        capabilities={
            "tool": "list", "tool_version": evil, "summary": evil, "commands": [entry, other, entry],
            "machine_flags": [evil],
        },
        inputs={"list": {"properties": properties, "required": ["class"]}, evil: {"properties": "none"}},
    )  # fmt: skip
    name, text = client_text("list", ["list", evil], contract)
    (tmp_path / f"{name}.py").write_text(text)
    module = loaded(tmp_path / f"{name}.py")
    assert {"list", "list_"} <= set(vars(module.List))
    assert not file.exists()


def test_a_tool_that_says_nothing_and_a_module_that_is_there_are_refused(clients):
    there = operable("init", "client", OUTLINE, "--to", str(clients))
    silent = operable("init", "client", "true", "--to", str(clients))
    assert there.error["code"] == "FILE_EXISTS"
    assert silent.error["code"] == "CONTRACT_UNAVAILABLE"
    (plan,) = operable("init", "client", OUTLINE, "--to", "else", "--dry-run").of("aoi:plan")
    assert plan["target"] == "else/outline_client.py"
