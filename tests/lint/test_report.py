"""Reports in files: whole, or not at all, whatever is in them."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from operable.kernel.errors import Fail
from operable.lint.report import Format, parse_targets, write
from tests.lint.reports.findings import report

FORMATS = ("json", "sarif", "junit", "markdown", "html", "badge")


@pytest.mark.parametrize("name", FORMATS)
def test_every_report_can_be_written_of_a_program_whose_path_is_no_text(name, tmp_path: Path):
    ((form, path),) = parse_targets([f"{name}={tmp_path / 'out'}"])
    made = report()
    made.program = "/opt/\udcff/notes"

    write(form, path, [made], "MUST", frozenset())

    data = Path(path).read_bytes()
    assert data.decode("utf-8")
    if name in ("json", "sarif"):
        assert json.loads(data)
    if name in ("junit", "badge"):
        assert ET.fromstring(data) is not None
    assert [item.name for item in tmp_path.iterdir()] == ["out"]


def test_a_report_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path):
    ((form, _),) = parse_targets([f"json={tmp_path / 'x'}"])
    (tmp_path / "out").mkdir()

    for path in (tmp_path / "out", tmp_path / "absent" / "out"):
        with pytest.raises(Fail, match="cannot write") as caught:
            write(form, str(path), [report()], "MUST", frozenset())
        assert caught.value.code == "CANNOT_WRITE"

    assert [item.name for item in tmp_path.iterdir()] == ["out"]


def test_a_report_goes_into_a_pipe_and_through_a_link_and_leaves_both_in_place(tmp_path: Path):
    ((form, _),) = parse_targets(["badge=x"])
    reader, writer = os.pipe()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "target").write_text("before")

    for path in (f"/dev/fd/{writer}", str(tmp_path / "link")):
        write(form, path, [report()], "MUST", frozenset())
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()

    assert told.startswith(b"<svg")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == told


@pytest.mark.parametrize("place", ["", "absent/out"])
def test_a_place_that_cannot_be_written_to_is_refused_before_anything_runs(tmp_path: Path, place):
    with pytest.raises(Fail, match="cannot write") as caught:
        parse_targets([f"json={tmp_path / place}"])
    assert caught.value.code == "CANNOT_WRITE"


def test_a_report_that_crashes_is_a_failure_with_a_name_and_leaves_the_old_one(tmp_path: Path):
    def crash(*_: object) -> str:
        raise KeyError("x")

    (tmp_path / "out").write_text("before")
    with pytest.raises(Fail) as caught:
        write(Format("json", crash), str(tmp_path / "out"), [report()], "MUST", frozenset())

    assert (caught.value.category, caught.value.code) == ("internal", "REPORT_FAILED")
    assert (tmp_path / "out").read_text() == "before"
