"""Where the paths of an agent lead, and what of them the host cannot know."""

import os

import pytest

from operable.gate.policy.agent_path import ANYWHERE, AgentPaths
from operable.gate.policy.pattern import ALLOW, DENY
from operable.gate.policy.policy_file import rules
from operable.gate.policy.rules import Policy
from operable.gate.policy.tool_call import Facts, JudgedCall

OF_A_PROCESS = [
    "/proc/self/cwd/.env",
    "/proc/thread-self/cwd/.env",
    "/proc/1/root/x",
    "/proc/4711/fd/3",
    "/proc/self/task/1/cwd/.env",
    "/proc//self/./cwd/.env",
    "//proc/self/cwd/.env",
    "/tmp/../proc/self/cwd/.env",
    "/proc",
    "/proc/mounts",
    "/dev/fd/3",
    "/dev/stdin",
    "/dev/stdout",
    "/pro?/self/cwd/.env",
    "/proc/s*/cwd/.env",
    "/{proc,x}/self/cwd/.env",
    "/**/cwd/.env",
    "file:///proc/self/cwd/.env",
]


def judged(policy: Policy, path: str, workspace, *, kind="edit", **places):
    return policy.judge(Facts(JudgedCall("t", kind, {"path": path}), AgentPaths(str(workspace), **places)))


@pytest.mark.parametrize("path", OF_A_PROCESS)
def test_a_path_of_a_process_is_denied_like_every_file_and_allowed_by_no_argument(
    tmp_path, monkeypatch, path
):
    monkeypatch.chdir(tmp_path)

    assert judged(rules(allow=["*"], deny=["edit:.env"]), path, tmp_path).effect == DENY
    assert judged(rules(allow=["*"], deny=["edit:other/place"]), path, tmp_path).effect == DENY
    assert judged(rules(allow=["edit:**", "edit:/**"]), path, tmp_path).effect == DENY
    assert judged(rules(allow=["kind:edit"]), path, tmp_path).effect == ALLOW


@pytest.mark.parametrize("target", ["/proc/self/cwd", "/proc/self", "/dev/fd", "way"])
def test_a_link_that_leads_to_a_process_is_such_a_path(tmp_path, target):
    os.symlink("/proc/self/cwd", tmp_path / "way")
    os.symlink(target, tmp_path / "link")

    assert AgentPaths(str(tmp_path)).real("link/.env") == ANYWHERE


@pytest.mark.parametrize(
    "path", ["/proc/cpuinfo", "/proc/sys/kernel/ostype", "/dev/null", "/devices/fd", "proc/self/x"]
)
def test_what_is_the_same_for_every_process_is_a_plain_path(tmp_path, path):
    assert AgentPaths(str(tmp_path)).real(path) == path


@pytest.mark.parametrize("path", ["a" * 300, "x/" * 20 + "b" * 256, ".env/x", "missing/../a", "\udc80x"])
def test_a_name_that_no_file_has_here_stays_a_name(tmp_path, path):
    assert AgentPaths(str(tmp_path)).real(path) == os.path.normpath(path)


@pytest.mark.parametrize("path", ["loop", "a\0b", "\ud800", "a/" * 3000, "~+/.env", "~1/.env"])
def test_what_cannot_be_resolved_may_be_every_file(tmp_path, path):
    os.symlink("loop", tmp_path / "loop")

    assert AgentPaths(str(tmp_path)).real(path) == ANYWHERE


def test_links_are_followed_as_the_system_follows_them(tmp_path):
    (tmp_path / "deep" / "folder").mkdir(parents=True)
    os.symlink("deep/folder", tmp_path / "link")
    os.symlink(tmp_path / "link" / ".." / "target", tmp_path / "second")

    paths = AgentPaths(str(tmp_path))

    assert (
        paths.real("link/../a")
        == "deep/a"
        == os.path.relpath(os.path.realpath(tmp_path / "link/../a"), tmp_path)
    )
    assert paths.real("second") == "deep/target"
    assert paths.lexical("link/../a") == "a"
    assert paths.real(str(tmp_path)) == "."
    assert paths.real("/") == "/"


def test_the_home_of_a_path_is_the_home_of_the_agent(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere/else")
    policy = rules(allow=["*"], deny=["read:keys/a"])

    assert judged(policy, "~/keys/a", tmp_path, kind="read", home=str(tmp_path)).effect == DENY
    assert judged(policy, "~/keys/a", tmp_path, kind="read", home="/home/agent").effect == ALLOW
    assert judged(policy, "~/keys/a", tmp_path, kind="read", home=ANYWHERE).effect == DENY


def test_the_home_of_a_sandbox_is_looked_up_where_it_is_on_the_host(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    os.symlink("/work/.env", tmp_path / "home" / "link")
    os.symlink(tmp_path / "work" / ".env", tmp_path / "home" / "other")

    paths = AgentPaths(str(tmp_path / "work"), "/work", "/home/agent", str(tmp_path / "home"))

    assert paths.real(paths.outside("~/other")) == ".env"
    assert paths.real(paths.outside("/home/agent/other")) == ".env"
    assert paths.outside("/work/a") == f"{tmp_path}/work/a"


@pytest.mark.parametrize(
    "path", [".env\n", " .env", ".env\0x", "notes.md,.env", "notes.md;.env", "notes.md\n.env"]
)
def test_a_deny_sees_each_path_that_a_tool_may_read_in_a_text(tmp_path, path):
    assert judged(rules(allow=["*"], deny=["edit:.env"]), path, tmp_path).effect == DENY


@pytest.mark.parametrize("path", ["src/a\n", "src/a\0", " src/a", "src/a "])
def test_a_path_that_tools_trim_is_allowed_by_no_argument(tmp_path, path):
    assert judged(rules(allow=["edit:src/**"]), path, tmp_path).effect == DENY
