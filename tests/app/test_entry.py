"""Folders of data hold no code: what an approval leaves out cannot run."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from operable.app import entry
from operable.app.content import content
from operable.app.invocation import call
from operable.app.shelf import find
from operable.app.validation import validate
from operable.kernel.errors import Fail
from tests.app.making import approved, made, package_at
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
    assert entry.code_in(str(tmp_path)) is None


NODE = shutil.which("node")


SCRIPT = 'const loaded = require("helper"); console.log(JSON.stringify({ok: true, loaded}));'


def node_app(root: Path) -> Path:
    made(root, entry=f"{NODE or 'node'} app/cli.js")
    (root / "app" / "cli.js").write_text(SCRIPT)
    return root


def module(folder: Path, text: str = 'module.exports = "good";') -> Path:
    place = folder / "node_modules" / "helper"
    place.mkdir(parents=True, exist_ok=True)
    (place / "index.js").write_text(text)
    return place / "index.js"


EVIL = 'module.exports = "evil";'


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_a_module_above_the_package_is_approved_with_it_and_an_edit_of_it_does_not_run(tmp_path, approvals):
    helper = module(tmp_path)
    package = approved(node_app(tmp_path / "apps" / "one"), approvals)
    assert call(package, ["list"], approvals).value == {"ok": True, "loaded": "good"}

    helper.write_text(EVIL)

    with pytest.raises(Fail) as caught:
        call(package, ["list"], approvals)
    assert caught.value.code == "APP_NOT_APPROVED"
    assert "node_modules/helper/index.js" in caught.value.message


def test_a_module_that_appears_above_the_package_voids_the_approval(tmp_path, approvals):
    package = approved(node_app(tmp_path / "apps" / "one"), approvals)
    for folder in (tmp_path / "apps", tmp_path):
        assert approvals.standing(package).trusted
        module(folder)
        assert not approvals.standing(package).trusted
        shutil.rmtree(folder / "node_modules")


@pytest.mark.parametrize("name", ["package.json", ".npmrc", ".pnp.cjs", ".yarnrc.yml", "tsconfig.json"])
def test_settings_of_node_above_the_package_are_part_of_it(tmp_path, approvals, name):
    package = approved(node_app(tmp_path / "apps" / "one"), approvals)
    (tmp_path / name).write_text('{"imports": {"#x": "./evil.js"}}')
    assert not approvals.standing(package).trusted


def test_a_workspace_that_is_linked_into_node_modules_above_is_part_of_it(tmp_path, approvals):
    workspace = tmp_path / "packages" / "helper"
    workspace.mkdir(parents=True)
    (workspace / "index.js").write_text("")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "helper").symlink_to(workspace)
    root = node_app(tmp_path / "apps" / "one")
    (tmp_path / "node_modules" / "one").symlink_to(root)  # the package itself, as workspaces do
    package = approved(root, approvals)
    assert approvals.standing(package).trusted

    (workspace / "index.js").write_text(EVIL)

    assert not approvals.standing(package).trusted


def test_a_script_that_names_node_is_enough_for_its_modules_above_to_count(tmp_path, approvals):
    root = made(tmp_path / "one", entry="sh app/run.sh")
    (root / "app" / "run.sh").write_text("exec node -e 'require(\"helper\")'\n")
    package = approved(root, approvals)
    module(tmp_path)
    assert not approvals.standing(package).trusted


def test_an_application_without_javascript_does_not_depend_on_the_modules_above_it(tmp_path, approvals):
    package = approved(made(tmp_path / "one"), approvals)
    module(tmp_path)
    (tmp_path / "package.json").write_text("{}")
    assert approvals.standing(package).trusted


def test_modules_above_that_are_too_many_are_refused_with_a_way_out(tmp_path, approvals, monkeypatch):
    monkeypatch.setattr("operable.app.content._FILES", 12)
    for number in range(12):
        (tmp_path / "node_modules" / str(number)).mkdir(parents=True)
        (tmp_path / "node_modules" / str(number) / "index.js").write_text("")
    with pytest.raises(Fail) as caught:
        approvals.approve(find(str(node_app(tmp_path / "one"))))
    assert caught.value.code == "APP_TOO_LARGE"
    assert "node_modules above one" in caught.value.message


@pytest.mark.parametrize(
    "entry, name",
    [
        ("cargo run", ".cargo/config.toml"),
        ("go run ./app", "go.work"),
        ("uv run app/cli.py", "uv.toml"),
        ("python3 -m pytest app", "conftest.py"),
        ("bundle exec app", "Gemfile"),
        ("just list", "justfile"),
        ("task list", "Taskfile.dist.yaml"),
        ("inv list", "tasks.py"),
        ("docker compose run app", "compose.override.yml"),
        ("dotnet run", "Directory.Build.targets"),
        ("vagrant ssh", "Vagrantfile"),
        ("nix run", "flake.nix"),
        ("git status", ".git/config"),
        ("git status", ".git/hooks/post-index-change"),
    ],
)
def test_settings_that_a_program_looks_for_above_are_part_of_the_package(tmp_path, approvals, entry, name):
    package = approved(made(tmp_path / "one", entry=entry), approvals)
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("[evil]")
    assert not approvals.standing(package).trusted


@requirement("appmd:trust:unpinnable")
@pytest.mark.parametrize(
    "command, more",
    [
        ("make -s -f../out/x.mk", ""),
        ("make -s --file=../out/x.mk", ""),
        ("env PYTHONPATH=app:../out python3 app/cli.py", ""),
        ("python3 -c 'exec(open(\"../out/x.py\").read())'", ""),
        ("python3 OUT", ""),
        ("make -s -C OUT", ""),
        ("X=../out; . $X/x.sh", "metadata: {operable: {shell: true}}"),
    ],
)
def test_no_part_of_a_word_leads_out_of_the_package_by_a_relative_path_or_to_a_folder(
    tmp_path, approvals, command, more
):
    out = tmp_path / "out"
    out.mkdir()
    for name in ("x.mk", "x.py", "x.sh", "__main__.py"):
        (out / name).write_text("")
    root = made(tmp_path / "one", entry=command.replace("OUT", str(out)), more=more)
    with pytest.raises(Fail) as caught:
        approvals.approve(find(str(root)), shell=bool(more))
    assert caught.value.code == "APP_ENTRY_OUTSIDE"


@pytest.mark.parametrize("command", ["python3 HOME/x.py", "make --file=HOME/x.py", ". ~/x.py"])
@pytest.mark.parametrize("appears", [True, False])
def test_a_file_elsewhere_is_approved_with_what_it_contains(
    tmp_path, approvals, monkeypatch, command, appears
):
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "x.py"
    if not appears:
        path.write_text("good")
    more = "metadata: {operable: {shell: true}}"
    root = made(tmp_path / "one", entry=command.replace("HOME", str(tmp_path)), more=more)
    package = approved(root, approvals, shell=True)
    assert approvals.standing(package).trusted
    path.write_text("evil")
    standing = approvals.standing(package)
    assert (standing.trusted, standing.changed) == (False, ("../x.py",))


@pytest.mark.parametrize("place", ["lib", "node_modules", "vendor/deep"])
def test_a_link_to_a_folder_outside_cannot_be_approved(tmp_path, approvals, place):
    root = made(tmp_path / "one")
    (tmp_path / "elsewhere").mkdir()
    (root / place).parent.mkdir(exist_ok=True)
    (root / place).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Fail) as caught:
        approvals.approve(find(str(root)))
    assert caught.value.code == "APP_CANNOT_BE_PINNED"
    assert "a folder outside" in caught.value.message


def test_a_link_to_a_file_outside_is_approved_with_what_the_file_holds(tmp_path, approvals):
    target = tmp_path / "real.mk"
    target.write_text("list:\n\techo '{}'\n")
    root = made(tmp_path / "one", entry="make -s")
    (root / "Makefile").symlink_to(target)
    package = approved(root, approvals)
    assert approvals.standing(package).trusted

    target.write_text("list:\n\techo evil\n")

    standing = approvals.standing(package)
    assert (standing.trusted, standing.changed) == (False, ("Makefile",))


def test_a_file_outside_that_changes_while_a_command_runs_is_noticed(tmp_path):
    target = tmp_path / "real.mk"
    target.write_text("")
    root = made(tmp_path / "one")
    (root / "Makefile").symlink_to(target)
    seen = content(package_at(root))
    assert seen.touched() is None
    target.write_text("changed")
    assert seen.touched() == str(target)


@pytest.mark.parametrize("name", ["Makefile", "helper.py", "node_modules"])
def test_a_pipe_that_could_be_read_as_source_cannot_be_approved(tmp_path, approvals, name):
    root = made(tmp_path / "one")
    os.mkfifo(root / name)
    with pytest.raises(Fail) as caught:
        approvals.approve(find(str(root)))
    assert caught.value.code == "APP_CANNOT_BE_PINNED"


@pytest.mark.parametrize(
    "path",
    ["app/__pycache__/cli.cpython-311.pyc", "app/evil.pth", ".env", "__pycache__/x.pyc", ".venv/lib/x.pth", "sitecustomize.py"],
)  # fmt: skip
def test_caches_and_settings_inside_the_package_are_part_of_it(tmp_path, approvals, path):
    root = made(tmp_path / "one")
    package = approved(root, approvals)
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("import evil")
    assert not approvals.standing(package).trusted


@pytest.mark.parametrize("path", ["config", "hooks/pre-commit", "info/attributes"])
def test_what_git_runs_in_the_package_is_part_of_it_and_the_rest_of_git_is_not(tmp_path, approvals, path):
    root = made(tmp_path / "one")
    (root / ".git" / "objects").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    package = approved(root, approvals)
    (root / ".git" / "objects" / "x").write_text("a commit")
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main")
    assert approvals.standing(package).trusted

    (root / ".git" / path).parent.mkdir(exist_ok=True)
    (root / ".git" / path).write_text("[core]\n\tfsmonitor = evil\n")

    assert not approvals.standing(package).trusted


@pytest.mark.parametrize("state", ["app/json", "app/node_modules", "app/x/__pycache__", "app/logging"])
def test_a_folder_that_an_import_would_find_is_not_data(tmp_path, approvals, state):
    root = made(tmp_path / "one", more=f"metadata: {{operable: {{state: [{state}]}}}}")
    with pytest.raises(Fail) as caught:
        approvals.approve(find(str(root)))
    assert (caught.value.code, caught.value.target) == ("APP_STATE_INVALID", state)


@pytest.mark.parametrize("name", ["NODE_OPTIONS", "NODE_PATH", "LD_PRELOAD", "GIT_SSH_COMMAND"])
def test_what_loads_other_code_is_inherited_by_its_whole_name_only(tmp_path, approvals, monkeypatch, name):
    monkeypatch.setenv(name, "")
    program = f'say({{"ok": True, "it": os.environ.get("{name}")}})'
    for number, (asked, expected) in enumerate([(name.partition("_")[0] + "_*", None), (name, "")]):
        more = f'metadata: {{operable: {{env: ["{asked}"]}}}}'
        package = approved(made(tmp_path / f"app-{number}", program, more=more), approvals)
        assert call(package, ["list"], approvals).value == {"ok": True, "it": expected}


def test_modules_of_python_above_the_package_are_not_found(tmp_path, approvals):
    (tmp_path / "helper.py").write_text("")
    program = """
try:
    import helper; say({"ok": True, "found": True})
except ImportError:
    say({"ok": True, "found": False})
"""
    package = approved(made(tmp_path / "one", program, entry=f"{sys.executable} app/cli.py"), approvals)
    assert call(package, ["list"], approvals).value == {"ok": True, "found": False}
