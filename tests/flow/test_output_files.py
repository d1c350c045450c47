"""Documents that commands write: only below the caller's folder, and never through a link."""

import os
import stat

import pytest

from operable.flow.contracts import FlowError
from operable.flow.output_files import write_document
from tests.requirement import requirement


@requirement("agentcli:cli:write-paths")
def test_a_document_has_two_spaces_a_newline_and_is_private(tmp_path):
    path = write_document("out/new/m.json", {"a": ["é"]}, cwd=str(tmp_path))

    assert path == str(tmp_path / "out" / "new" / "m.json")
    assert (tmp_path / "out/new/m.json").read_text("utf-8") == '{\n  "a": [\n    "é"\n  ]\n}\n'
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert write_document("out/new/m.json", {}, cwd=str(tmp_path)) == path


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

    with pytest.raises(FlowError) as refused:
        write_document(path, {}, cwd=str(here))

    assert (refused.value.code, refused.value.message) == ("invalid_argument", words)
    assert os.listdir(elsewhere) == []
    assert not (here / "target.json").exists()
