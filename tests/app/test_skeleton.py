"""What `init app` writes conforms, runs, and passes its own tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from operable.app.invocation import call
from operable.app.skeleton import scaffold
from operable.app.validation import validate
from operable.kernel.errors import Fail
from tests.app.making import approved


def test_a_new_package_conforms_and_works(tmp_path, approvals):
    files = scaffold("my-notes", str(tmp_path))
    root = tmp_path / "my-notes"
    assert sorted(files) == sorted(str(path) for path in root.rglob("*") if path.is_file())
    assert validate(str(root)).problems == ()
    assert not any("{{" in Path(file).read_text("utf-8") for file in files)
    package = approved(root, approvals)
    added = call(package, ["add", "milk"], approvals).value["item"]
    assert call(package, ["list"], approvals).entries()[0] == [added]
    refused = call(package, ["remove", added["id"]], approvals, confirmed=True)
    assert refused.code == "CONFIRMATION_REQUIRED"
    assert call(package, ["remove", added["id"], "--confirm"], approvals, confirmed=True).ok


def test_its_own_tests_pass(tmp_path):
    scaffold("my-notes", str(tmp_path))
    line = [sys.executable, "-m", "unittest", "discover", "-s", "tests"]
    done = subprocess.run(line, cwd=tmp_path / "my-notes", capture_output=True, timeout=200, check=False)
    assert (done.returncode, b"Ran 3 tests" in done.stderr) == (0, True), done.stderr


@pytest.mark.parametrize("slug", ["", "My", "a--b", "-a", "../x", "a/b", "9a", "x" * 59])
def test_a_name_that_is_none_is_refused(tmp_path, slug):
    with pytest.raises(Fail) as caught:
        scaffold(slug, str(tmp_path))
    assert caught.value.code == "APP_SLUG"
    assert os.listdir(tmp_path) == []


def test_what_is_there_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(Fail) as caught:
        scaffold("mine", str(tmp_path))
    assert (caught.value.code, caught.value.exit_code) == ("FILE_EXISTS", 73)


def test_a_folder_that_takes_nothing_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Fail) as caught:
        scaffold("mine", str(tmp_path / "file"))
    assert caught.value.code == "CANNOT_WRITE"
