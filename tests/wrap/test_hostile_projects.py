"""What changes nothing runs nothing of a hostile project, and could not do anything if it did; for every wrapper."""

import hashlib
import importlib
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from operable.wrap import load, names
from operable.wrap.plan.model import WrapCommandPlan
from tests import needs
from tests.cli.drive import SURROUNDINGS, operable
from tests.tool.drive import Outcome
from tests.wrap.drive import wrap
from tests.wrap.hostile_projects import Scene
from tests.wrap.hostile_projects.git import lay_negotiation

BUNDLED = sorted(names())
ENDLESS = ("events", "watch", "follow")
# A program that tries everything at once, and everything that its child could do.
DOUBLE = """\
#!{python}
import os, socket, sys
if sys.argv[1:2] == ["--version"]:
    print("1.0")
{code}
for name in ("poem.txt", {outside!r}):
    for act in (lambda: os.chmod(name, 0o600), lambda: os.utime(name, (1, 1)), lambda: os.truncate(name, 0), lambda: os.unlink(name)):
        try:
            act()
        except OSError:
            pass
try:
    pid = os.fork()
except OSError:
    sys.exit(9)
if pid:
    os.waitpid(pid, 0)
    sys.exit(9)
{code}
os._exit(0)
"""


class Listener:
    """Counts who says that a trap was sprung; what programs ask servers for by themselves is not that."""

    def __init__(self) -> None:
        self.sprung = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._socket.accept()
            except OSError:
                return
            with line:
                line.settimeout(5)
                try:
                    said = line.recv(200)
                except OSError:
                    continue
                if said == b"":
                    return
                self.sprung += b"sprung" in said

    def close(self) -> None:
        """Everything that has connected before is counted by now: lines are served in their order."""
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
        except OSError:
            pass
        self._thread.join(10)
        self._socket.close()


@pytest.fixture
def listener():
    found = Listener()
    yield found
    found.close()


@pytest.fixture
def scene(tmp_path, listener):
    project, outside, home = tmp_path / "project", tmp_path / "outside", tmp_path / "home"
    for folder in (project, outside, home):
        folder.mkdir()
    (outside / "kept").write_text("kept\n")
    # It stands in for any other process of the user.
    with subprocess.Popen(["sleep", "600"]) as victim:
        yield Scene(project, outside, listener.port, victim.pid, {"HOME": str(home)})
        victim.kill()


def tree(folder: Path) -> dict[str, tuple[int, int, str]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(status.st_mode) else ""
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_mtime_ns, content)
    return found


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1] != b"Z"


def called(tool: str, words: list[str], scene: Scene, **env: str) -> Outcome:
    before = ["timeout", "--signal=INT", "4"] if words[0] in ENDLESS else []
    return wrap(tool, *words, cwd=scene.project, env=scene.env | env, before=before, timeout=120)


def commands_of(tool: str, calls: tuple[list[str], ...]) -> set[str]:
    """The commands that these calls are about."""
    known = sorted(load(tool).plan.commands, key=len, reverse=True)
    return {next(name for name in known if call[: len(name.split())] == name.split()) for call in calls}


@pytest.mark.parametrize("tool", BUNDLED)
def test_every_command_and_every_dry_run_is_tried_in_a_hostile_project(tool):
    module = importlib.import_module(f"tests.wrap.hostile_projects.{tool}")
    plan = load(tool).plan.commands

    assert commands_of(tool, module.CALLS) == set(plan)
    for call in module.CALLS:
        (name,) = commands_of(tool, (call,))
        assert plan[name].mutates == ("--dry-run" in call), call


@pytest.mark.parametrize("tool", BUNDLED)
def test_nothing_of_a_hostile_project_runs(tool, scene, listener):
    module = importlib.import_module(f"tests.wrap.hostile_projects.{tool}")
    module.lay(scene)
    project, outside = tree(scene.project), tree(scene.outside)

    for words in module.CALLS:
        done = called(tool, words, scene)
        assert tree(scene.project) == project, (words, done.stdout)
        assert tree(scene.outside) == outside, (words, done.stdout)
        assert alive(scene.victim), (words, done.stdout)
        if words[0] in getattr(module, "FINE", ()):
            assert done.exit_code == 0, (words, done.stdout, done.stderr)

    listener.close()
    assert listener.sprung == 0


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        (tool, words)
        for tool in BUNDLED
        for words in getattr(importlib.import_module(f"tests.wrap.hostile_projects.{tool}"), "RAW", ())
    ],
)
def test_the_bare_program_springs_the_trap(tool, words, scene):
    """Else the test before would be content with traps that are none."""
    importlib.import_module(f"tests.wrap.hostile_projects.{tool}").lay(scene)
    path = f"{Path(sys.executable).parent}:{SURROUNDINGS['PATH']}"
    program = shutil.which(needs.path_of(words[0]), path=path)
    if program is None:
        pytest.skip(f"{words[0]} is not installed")
    before = tree(scene.project)

    subprocess.run(
        [program, *words[1:]],
        cwd=scene.project,
        env=os.environ | scene.env | {"PATH": path},
        capture_output=True,
        timeout=120,
        check=False,
    )

    assert tree(scene.project) != before


def test_a_planned_push_does_not_fetch_first(scene, listener):
    """The dry run of a push has the network, so what it runs could reach everything."""
    lay_negotiation(scene)

    done = called("git", ["push", "origin", "main", "--dry-run"], scene)

    assert done.exit_code == 0, done.stdout
    assert b'"updated"' in done.stdout
    listener.close()
    assert listener.sprung == 0


def test_a_shim_in_a_hostile_project_imports_nothing_of_it(scene):
    """A shim runs outside of every wall: it is what puts the wall up."""
    shim = scene.project / "grep-aoi"
    shim.write_bytes(operable("wrap", "shim", "grep", output=None).stdout)
    shim.chmod(0o755)
    for name in ("ctypes", "json", "re", "shlex", "struct", "subprocess"):
        scene.write(f"{name}.py", scene.code)
    scene.write("poem.txt", "one\n")
    before = tree(scene.project)

    done = subprocess.run(
        [shim, "search", "one", "poem.txt", "--output", "jsonl"],
        cwd=scene.project,
        env=os.environ | scene.env,
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert tree(scene.project) == before
    assert alive(scene.victim)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("tool", BUNDLED)
def test_a_program_that_is_hostile_itself_changes_nothing(tool, scene, listener):
    """Whatever a program can be talked into: the wall is what holds it, not what it was told."""
    plan = load(tool).plan
    if plan.syscalls:
        assert all(command.sandbox is None and not command.mutates for command in plan.commands.values())
        return
    module = importlib.import_module(f"tests.wrap.hostile_projects.{tool}")
    module.lay(scene)
    scene.write("poem.txt", "one\n")
    _put_double(scene, plan.bin)
    project, outside = tree(scene.project), tree(scene.outside)
    reaches = any("network" in _needs(command) for command in plan.commands.values())

    for words in module.CALLS:
        done = called(tool, words, scene, PATH=f"{scene.outside}:{SURROUNDINGS['PATH']}")
        assert tree(scene.project) == project, (words, done.stdout)
        assert tree(scene.outside) == outside, (words, done.stdout)
        assert alive(scene.victim), (words, done.stdout)

    listener.close()
    assert listener.sprung == 0 or reaches


def test_the_same_program_without_its_sandbox_changes_what_it_wants(scene):
    importlib.import_module("tests.wrap.hostile_projects.grep").lay(scene)
    _put_double(scene, "grep")
    path = f"{scene.outside}:{SURROUNDINGS['PATH']}"

    called("grep", ["search", "one", "poem.txt"], scene, PATH=path, OPERABLE_UNCONFINED="1")

    assert all(canary.exists() for canary in scene.canaries)
    assert not alive(scene.victim)


def _needs(command: WrapCommandPlan) -> list[str]:
    sandbox = command.plan_sandbox or command.sandbox
    assert sandbox is not None
    return list(sandbox.needs)


def _put_double(scene: Scene, name: str) -> None:
    text = DOUBLE.format(
        python=os.path.realpath(sys.executable), code=scene.code, outside=str(scene.outside / "kept")
    )
    (scene.outside / name).write_text(text)
    (scene.outside / name).chmod(0o755)
