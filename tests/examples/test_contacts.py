"""`examples/contacts`, the worked example of the SDK: its types go in and come out, and the linter finds nothing."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from operable.lint.engine import LintOptions, lint
from operable.run import collect
from operable.testing import run_tool

PROGRAM = Path(__file__).parents[2] / "examples" / "contacts" / "contacts.py"
ALL = [
    *(
        "create",
        "Ada",
        "--email",
        "ada@example.org",
        "--born",
        "1815-12-10",
        "--remind",
        "7d",
        "--debt",
        "1.50",
    ),
    *("--photo", "AAEC", "--address", '{"street": "12 St James Sq", "city": "London"}'),
]


@pytest.fixture(scope="module")
def contacts() -> ModuleType:
    spec = importlib.util.spec_from_file_location("contacts", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["contacts"] = module  # its annotations are looked up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTACTS_DB", str(tmp_path / "contacts.sqlite"))


def events(command: list[str]) -> list[dict[str, Any]]:
    return [event for event in collect(command).results if isinstance(event, dict)]


def test_its_declaration_has_no_mistake(contacts: ModuleType):
    assert contacts.tool.verify() == []


def test_every_type_goes_in_and_comes_out(contacts: ModuleType):
    run_tool(contacts.tool, *ALL)

    (found,) = run_tool(contacts.tool, "list").results

    assert {name: found[name] for name in ("kind", "born", "remind", "debt", "photo", "address")} == {
        "kind": "person",
        "born": "1815-12-10",
        "remind": "P7D",
        "debt": "1.50",
        "photo": "AAEC",
        "address": {"street": "12 St James Sq", "city": "London"},
    }


def test_what_is_exported_can_be_imported_into_another_store(contacts: ModuleType, tmp_path: Path):
    run_tool(contacts.tool, *ALL)
    exported = run_tool(contacts.tool, "export").results
    lines = tmp_path / "contacts.jsonl"
    lines.write_text("".join(json.dumps(item) + "\n" for item in exported))
    copy = ("--db", str(tmp_path / "copy.sqlite"))

    taken = run_tool(contacts.tool, *copy, "import", "--input-jsonl", str(lines))

    assert taken.exit_code == 0
    assert run_tool(contacts.tool, *copy, "export").results == exported


def test_a_plan_writes_nothing_and_a_deletion_needs_confirmation(contacts: ModuleType, tmp_path: Path):
    run_tool(contacts.tool, *ALL, "--dry-run")
    assert not (tmp_path / "contacts.sqlite").exists()
    run_tool(contacts.tool, *ALL)
    (found,) = run_tool(contacts.tool, "list").results

    refused = run_tool(contacts.tool, "delete", found["id"])

    assert refused.exit_code == 64
    assert len(run_tool(contacts.tool, "list").results) == 1


def test_changes_are_watched_in_their_order(tmp_path: Path):
    # What a program calls gets no variable that it was not given (decision 0041).
    tool = [sys.executable, str(PROGRAM), "--db", str(tmp_path / "contacts.sqlite")]
    first = events([*tool, "create", "Ada"])[0]["id"]
    collect([*tool, "update", first, "--email", "ada@example.org"])
    collect([*tool, "delete", first, "--confirm"])

    seen = events([*tool, "watch", "--after", "0", "--limit", "3"])

    assert [event["type"] for event in seen] == ["created", "updated", "deleted"]
    assert {event["id"] for event in seen} == {first}


@pytest.mark.needs("bwrap")
@pytest.mark.timeout(900)
def test_the_linter_finds_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CONTACTS_DB")

    report = lint(f"{sys.executable} {PROGRAM}", LintOptions(commands=("get", "create", "import")))

    found = [finding for finding in report.findings if finding.result in ("fail", "untested")]
    assert [(finding.label, finding.command, finding.message) for finding in found] == []
