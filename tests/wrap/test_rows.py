"""What a program has lost itself is marked: of every wrapper it is known whether its names come back as they were."""

import os

import pytest

from operable.wrap import load, names
from operable.wrap.rows import marked
from tests.wrap.drive import Made, wrap

# Those whose names, messages and outputs come back as they were, each by a test of its own: in test_properties.py, or in the
# test of the wrapper. systemd refuses whatever is no text, so its units have no other names.
EXACT = {"curl", "git", "grep", "ip", "journalctl", "lsblk", "psql", "restic", "rg", "systemctl", "tar"}
ODD = os.fsdecode(b"odd\xff\n\x1b[31m")


def test_of_every_wrapper_it_is_known_whether_its_program_loses_bytes():
    plans = [load(name).plan for name in names()]

    assert {plan.name for plan in plans if not plan.syscalls and not plan.replaces} == EXACT


def test_events_with_a_replaced_text_say_so_wherever_it_stands():
    rows = [
        {"type": "row", "name": "plain"},
        [{"type": "row", "deep": [{"er": ["x", "a\ufffd"]}]}, {"type": "row", "key": {"\ufffd": 1}}],
        {"type": "row", "name": "a\ufffd", "name_b64": "Yf8="},
    ]

    warning, *found = sorted(marked(iter(rows), "prog"), key=lambda row: isinstance(row, dict))

    assert warning.fields["code"] == "UPSTREAM_LOSSY"
    assert ["lossy" in row for row in found] == [False, True, True, False]


def test_closing_the_rows_closes_what_they_come_from():
    closed = []

    def rows():
        try:
            yield {"type": "row"}
            yield {"type": "row"}
        finally:
            closed.append(True)

    flow = marked(rows(), "prog")
    next(flow)
    flow.close()

    assert closed == [True]


def test_the_warning_comes_once_and_before_the_first_event_that_is_marked(tmp_path):
    program = """#!/bin/sh
printf '{"n":"a"}\\n{"n":"b\\357\\277\\275"}\\n{"n":"c\\\\ufffd"}\\n'
"""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    made = Made(tmp_path / "one", program, cli={"metadata": {"operable": {"replaces": True}}})
    plain = Made(tmp_path / "other", program)

    done = made.go()

    assert [event["type"] for event in done.events[1:-1]] == ["row", "aoi:warning", "row", "row"]
    assert [event.get("lossy") for event in done.results] == [None, True, True]
    assert plain.go().of("aoi:warning") == []


def test_ruff_marks_findings_and_plans_of_a_file_whose_name_is_no_text(tmp_path):
    (tmp_path / f"{ODD}.py").write_text("import os\n")

    found = wrap("ruff", "check", "--select", "F401", cwd=tmp_path)
    plan = wrap("ruff", "fix", "--select", "F401", "--dry-run", cwd=tmp_path)

    assert [event["lossy"] for event in found.results] == [True]
    assert [event["lossy"] for event in plan.of("aoi:plan")] == [True]
    assert {each.of("aoi:warning")[0]["code"] for each in (found, plan)} == {"UPSTREAM_LOSSY"}


@pytest.mark.needs("jq")
def test_jq_marks_values_of_a_document_that_is_no_text(tmp_path):
    (tmp_path / "a.json").write_bytes(b'["b\xff", "c"]')

    done = wrap("jq", "filter", ".[]", "a.json", cwd=tmp_path)

    assert [event.get("lossy") for event in done.results] == [True, None]


@pytest.mark.needs("go")
def test_go_marks_outputs_of_tests_that_are_no_text(tmp_path):
    (tmp_path / "go.mod").write_text("module m\n")
    text = 'package m\nimport ("fmt"; "testing")\nfunc TestA(t *testing.T) { fmt.Println("\\xff") }\n'
    (tmp_path / "m_test.go").write_text(text + "func TestB(t *testing.T) {}\n")

    done = wrap("go", "test", cwd=tmp_path, timeout=600)

    assert {event["test"]: event.get("lossy") for event in done.of("test")} == {"TestA": True, "TestB": None}
