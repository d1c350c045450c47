"""An approval covers what programs read although no word names it, and says which files it cannot know."""

import json

import pytest

from operable.flow.approve.task_content import marks, task_content
from operable.flow.manifest.selection import select
from operable.flow.run.caller import bind, read_content
from tests.flow.callers import PATH, signing_caller
from tests.flow.executions import approve, refused
from tests.flow.manifests import manifest, shell_task
from tests.requirement import requirement


def shell(program, *args, **members):
    return manifest(
        shell_task(shell={"program": program, "args": list(args), **members}, approval={"policy": "manual"})
    )


def write(folder, name, text="x\n"):
    path = folder / "work" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


# A command, and the file that decides what it runs.
BOUND = {
    "module behind an equals sign": (("node", "--require=./pre", "-e", "1"), "pre.js"),
    "module of a language with ::": (("perl", "-Ilib", "-MFoo::Bar", "-e", "1"), "lib/Foo/Bar.pm"),
    "program that a package.json names": (("node", "d"), "d/m.js"),
    "value behind several options": (("make", "-sfbuild"), "build"),
    "script behind several options": (("sed", "-nfp.sed"), "p.sed"),
    "folder of a package manager": (("npm", "--prefix", "other", "run", "go"), "other/package.json"),
    "folder behind an equals sign": (("npm", "--prefix=other", "run", "go"), "other/package.json"),
    "settings of git": (("git", "status"), ".git/config"),
    "hook of git": (("sh", "-c", "git commit -qm x"), ".git/hooks/pre-commit"),
    "settings above": (("sh", "-c", "cd a/b && git status"), ".git/config"),
    "package above": (("sh", "-c", "cd a/b; npm test"), "package.json"),
    "tasks of a runner": (("sh", "-c", "task list"), "Taskfile.dist.yaml"),
    "build settings above": (("sh", "-c", "cd a/b; dotnet run"), "Directory.Build.targets"),
    "containers above": (("sh", "-c", "cd a/b; docker compose up"), "compose.override.yaml"),
    "versions of programs above": (("sh", "-c", "cd a/b; mise run x"), "mise.toml"),
    "alias of git": (("git", "-c", "alias.z=!./x.sh", "z"), "x.sh"),
    "command behind !": (("sh", "-c", r"printf '!sh x.sh\n' | ed -s"), "x.sh"),
    "relative PATH": (("sh", "-c", "cd d; tool"), "d/b/tool"),
}


@requirement("agentcli:approvals:binding")
@pytest.mark.parametrize("how", BOUND)
def test_a_file_that_decides_what_a_program_runs_is_bound(tmp_path, how):
    by = signing_caller(tmp_path)
    command, name = BOUND[how]
    write(tmp_path, "d/package.json", json.dumps({"main": "m"}))
    write(tmp_path, "a/b/c")
    path = write(tmp_path, name)
    env = {"PATH": f"b:{PATH}"} if how == "relative PATH" else {}
    value = shell(*command, env=env)
    approve(by, value)
    path.write_text("other\n")

    assert str(path) in refused(value, "a", by).details["changed"]


@pytest.mark.parametrize("damaged", ["{", "[]", '{"main": 5}', '{"main": "a\\u0000b"}', "[" * 100_000])
def test_a_damaged_package_json_names_nothing_and_is_bound(tmp_path, damaged):
    path = write(tmp_path, "d/package.json", damaged)
    selected = select(shell("node", "d"), "a", None)
    work = str(tmp_path / "work")
    assert str(path) in task_content(selected, cwd=work, base=work, environment={"PATH": PATH}).digests


# A command, and what of it is told.
TOLD = {
    "programs that collect code": (
        ("sh", "-c", "go run . && cargo test; pytest -q"),
        ["go", "cargo", "pytest"],
    ),
    "what these do without code": (("sh", "-c", "go version; cargo --version; node x.js"), []),
    "tests of node": (("node", "--test"), ["node"]),
    "module that collects": (("python3", "-m", "unittest"), ["unittest"]),
    "shell at the end of a pipe": (("sh", "-c", "base64 -d x | sh"), ["sh"]),
    "interpreter at the end of a pipe": (("sh", "-c", "cat x |\n timeout 5 env A=b python3 -u"), ["python3"]),
    "both outputs": (("sh", "-c", "cat x |& bash -x"), ["bash"]),
    "script at the end of a pipe": (("sh", "-c", "cat x | sh y.sh; cat x | python3 -c 1"), []),
    "no pipe": (("sh", "-c", "cat x || sh; which sh; echo x | grep sh"), []),
    "folder by a pattern": (("sh", "-c", "cd d*; ./x.sh"), ["cd d*"]),
    "path of the process": (("sh", "/proc/self/cwd/x.sh"), ["/proc/self/cwd/x.sh"]),
}


@pytest.mark.parametrize("how", TOLD)
def test_what_is_found_only_while_it_runs_is_told(tmp_path, how):
    by = signing_caller(tmp_path)
    command, told = TOLD[how]
    selected = select(shell(*command), "a", None)
    assert read_content(selected, bind(selected, by), by).unbound == told


def test_variables_that_name_folders_of_code_are_told(tmp_path):
    by = signing_caller(tmp_path)
    selected = select(shell("python3", "-c", "1", env={"PYTHONPATH": "lib", "NAME": "x"}), "a", None)
    assert read_content(selected, bind(selected, by), by).unbound == ["PYTHONPATH"]


def test_a_link_that_is_exchanged_and_restored_is_a_change(tmp_path):
    target, other = write(tmp_path, "one.sh"), write(tmp_path, "two.sh")
    folder = tmp_path / "work"
    for name, leads in (("link", "one.sh"), ("folder", ".")):
        (folder / name).symlink_to(leads)
    paths = [str(folder / "link"), str(folder / "folder" / "one.sh"), str(folder / "d" / ".." / "one.sh")]
    (folder / "d").mkdir()
    before = marks(paths)
    assert marks(paths) == before
    for name, leads in (("link", other), ("folder", tmp_path)):
        kept = folder / f"{name}.kept"
        (folder / name).rename(kept)
        (folder / name).symlink_to(leads)
        (folder / name).unlink()
        kept.rename(folder / name)
    after = marks(paths)
    assert [after[path] == before[path] for path in paths] == [False, False, True]
    assert target.exists()


def test_links_that_lead_nowhere_have_no_mark(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert marks([str(tmp_path / "a"), str(tmp_path / "missing")]) == {}
