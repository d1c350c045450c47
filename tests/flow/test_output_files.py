"""Documents that commands write: only below the caller's folder, and never through a link."""

import os
import stat

import pytest

from operable.flow.errors import FlowError
from operable.flow.output_files import write_document
from tests.requirement import requirement


@requirement("agentcli:cli:write-paths")
def test_a_document_has_two_spaces_a_newline_and_is_private(tmp_path):
    path = write_document("out/new/m.json", {"a": ["é"]}, cwd=str(tmp_path))

    assert path == str(tmp_path / "out" / "new" / "m.json")
    assert (tmp_path / "out/new/m.json").read_text("utf-8") == '{\n  "a": [\n    "é"\n  ]\n}\n'
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("out", "out/new", "out/new/m.json")] == [
        0o700, 0o700, 0o600,
    ]  # fmt: skip
    assert write_document("out/new/m.json", {}, cwd=str(tmp_path)) == path


@requirement("agentcli:cli:write-paths")
def test_a_folder_that_is_reached_through_a_link_within_the_callers_folder_may_be_written_to(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    assert write_document("link/m.json", {"n": 10.0}, cwd=str(tmp_path)) == str(tmp_path / "link/m.json")
    assert (tmp_path / "real/m.json").read_text("utf-8") == '{\n  "n": 10\n}\n'


@requirement("agentcli:cli:write-paths")
@pytest.mark.parametrize(
    "path, words",
    [
        ("../x.json", "Refusing to write outside the current working directory."),
        ("/etc/x.json", "Refusing to write outside the current working directory."),
        ("out/../../x.json", "Refusing to write outside the current working directory."),
        ("away/x.json", "Refusing to write through a symlink outside the current working directory."),
        ("link.json", "Refusing to overwrite a symbolic link."),
        ("pipe", "Refusing to overwrite a non-regular file."),
        ("folder", "Refusing to overwrite a non-regular file."),
        (".", "Output path must point to a file inside the current working directory."),
        ("", "Output path must point to a file inside the current working directory."),
        ("file/x.json", "{here}/file is not a folder"),
        ("folder/", "Output path must point to a file inside the current working directory."),
    ],
)
def test_a_place_that_is_not_the_callers_to_write_is_refused(tmp_path, path, words):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    (here / "folder").mkdir()
    (here / "away").symlink_to(elsewhere)
    (here / "link.json").symlink_to(here / "target.json")
    os.mkfifo(here / "pipe")
    (here / "file").write_text("")

    with pytest.raises(FlowError) as refused:
        write_document(path, {}, cwd=str(here))

    assert (refused.value.flow_code, refused.value.message) == (
        "invalid_argument",
        words.format(here=here),
    )
    assert os.listdir(elsewhere) == []
    assert not (here / "target.json").exists()
