"""Folders of data hold no code: what an approval leaves out cannot run."""

import pytest

from operable.app import state_folder
from operable.app.invocation import call
from operable.app.shelf import find
from operable.app.validation import validate
from operable.kernel.errors import Fail
from tests.app.making import approved, made
from tests.requirement import requirement


def declaring(state):
    return f"metadata: {{operable: {{state: [{state}]}}}}"


@requirement("appmd:trust:state-left-out")
@pytest.mark.parametrize(
    "state", ["app/json.py", "app/sqlite3.pyc", "app/lib/x.so.1", "app/a.MJS", "app/x.sh/data"]
)
def test_a_path_with_a_name_of_code_cannot_be_data(tmp_path, approvals, state):
    root = made(tmp_path / "one", more=declaring(state))
    with pytest.raises(Fail) as caught:
        approvals.approve(find(str(root)))
    assert (caught.value.code, caught.value.target) == ("APP_STATE_INVALID", state)


@requirement("appmd:trust:state-left-out")
def test_code_that_the_program_imports_from_a_folder_of_data_is_refused_at_the_approval(tmp_path, approvals):
    root = made(tmp_path / "one", "import helpers.x; say({})", more=declaring("app/helpers"))
    (root / "app" / "helpers").mkdir()
    (root / "app" / "helpers" / "x.py").write_text("")
    with pytest.raises(Fail) as caught:
        approvals.approve(find(str(root)))
    assert (caught.value.code, caught.value.target) == ("APP_CODE_IN_STATE", "app/helpers/x.py")
    assert "APP_CODE_IN_STATE" in {problem.rule for problem in validate(str(root)).problems}


CODE = {
    "source": "x.py",
    "compiled": "deep/er/sqlite3.pyc",
    "library": "libx.so.6",
    "module of Node": "index.mjs",
    "settings of Node": "package.json",
    "folder of packages": "node_modules/x",
}


@requirement("appmd:trust:state-left-out")
@pytest.mark.parametrize("folder", ["state", "helpers"])
@pytest.mark.parametrize("what", [*CODE, "executable", "link to a folder", "link to a program"])
def test_code_that_comes_into_a_folder_of_data_voids_the_approval(tmp_path, approvals, folder, what):
    root = made(tmp_path / "one", more=declaring("app/helpers"))
    package = approved(root, approvals)
    place = root / "app" / folder
    path = place / CODE.get(what, "thing")
    path.parent.mkdir(parents=True)
    if what.startswith("link"):
        path.symlink_to(tmp_path if what == "link to a folder" else "/bin/sh")
    else:
        path.write_text("")
        path.chmod(0o755 if what == "executable" else 0o644)
    assert not approvals.standing(package).trusted
    with pytest.raises(Fail) as caught:
        call(package, ["list"], approvals)
    assert caught.value.code == "APP_NOT_APPROVED"


@requirement("appmd:trust:state-left-out")
def test_a_file_in_the_place_of_a_folder_of_data_voids_the_approval(tmp_path, approvals):
    """`require('./helpers')` runs it, and so does `. app/helpers`."""
    root = made(tmp_path / "one", more=declaring("app/helpers"))
    package = approved(root, approvals)
    (root / "app" / "helpers").write_text("evil()")
    assert not approvals.standing(package).trusted


def test_code_that_comes_into_a_folder_of_data_while_the_command_runs_voids_its_answer(tmp_path, approvals):
    program = "os.makedirs('app/state'); open('app/state/x.py', 'w').close(); say({'ok': True})"
    package = approved(made(tmp_path / "one", program), approvals)
    with pytest.raises(Fail) as caught:
        call(package, ["list"], approvals)
    assert caught.value.target == "app/state/x.py"


@pytest.mark.parametrize(
    "name", ["db", "notes.json", "a.sqlite3", "x.sqlite3-wal", "log.txt", "a.md", ".lock", "t.csv"]
)
def test_data_is_not_taken_for_code(tmp_path, name):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / name).write_text("")
    assert state_folder.code_in(str(tmp_path)) is None
