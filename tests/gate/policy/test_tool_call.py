"""How ten agents describe the same call, and that a rule means the same in every one of them.

The shapes were recorded through this host; the maps are those of the bundled manifests, where the agent is bundled.
"""

import os
from pathlib import Path

import pytest

import operable.host
from operable.gate.policy.agent_path import AgentPaths
from operable.gate.policy.pattern import ALLOW, ASK, DENY
from operable.gate.policy.policy_file import rules
from operable.gate.policy.tool_call import Facts, JudgedCall
from operable.gate.policy.tool_map import ToolMap
from operable.host.agent_cli import define_agent_cli
from operable.host.start.choices import quirks_of

WORK = "/work/project"
ECHO = "echo hi > made.txt"
PATH = f"{WORK}/w.txt"
BUNDLED = Path(operable.host.__file__).parent / "agents"
DIFFS = [{"path": PATH, "newText": "x"}]


def tools_of(agent):
    manifest = BUNDLED / agent / "AGENT-CLI.md"
    return (
        ToolMap(quirks_of(define_agent_cli(manifest).manifest).get("tools"))
        if manifest.exists()
        else ToolMap()
    )


# agent: the command, the edit
SHAPES = {
    "claude-code": (
        JudgedCall("Bash", "execute", {"command": ECHO}, (f"{WORK}/made.txt",), (ECHO,)),
        JudgedCall("Write", "edit", {"file_path": PATH, "content": "x"}, (PATH,)),
    ),
    "codex": (
        JudgedCall(ECHO, "execute", {"command": ECHO, "cwd": WORK}, (), (ECHO,), unnamed=True),
        JudgedCall("Editing files", "edit", {"title": "Edit files", "diffs": DIFFS}, (PATH,), unnamed=True),
    ),
    "codex-app-server": (
        JudgedCall("shell", "execute", {"command": f"/bin/bash -lc '{ECHO}'", "cwd": WORK}),
        JudgedCall("apply_patch", "edit", {"changes": [{"path": PATH, "kind": "add", "diff": "x"}]}, (PATH,)),
    ),
    "gemini": (
        JudgedCall(
            "run_shell_command", "execute", {"title": ECHO, "text": f"[current working directory {WORK}]"}
        ),
        JudgedCall("write_file", "edit", {"title": "Writing to w.txt", "diffs": DIFFS}, (PATH,)),
    ),
    "goose": (
        JudgedCall("shell", "other", {"command": ECHO}, (), (f"shell · {ECHO}",)),
        JudgedCall("write", "other", {"path": PATH, "content": "x"}, (), (f"write · {PATH}",)),
    ),
    "hermes": (
        JudgedCall("terminal", "execute", {"title": f"terminal: {ECHO}", "text": f"$ {ECHO}"}),
        JudgedCall(
            "write", "edit", {"tool": "write_file", "arguments": {"path": PATH, "content": "x"}}, (PATH,)
        ),
    ),
    "opencode": (
        JudgedCall("bash", "execute", {"command": ECHO, "cwd": WORK}, (WORK,), (ECHO,)),
        JudgedCall(
            "write", "edit", {"filepath": PATH, "diff": f"--- {PATH}\n+++ {PATH}\n@@ -0,0 +1 @@\n+x"}, (PATH,)
        ),
    ),
    "qwen": (
        JudgedCall("run_shell_command", "execute", {"command": ECHO}, (), ("Shell",)),
        JudgedCall("write_file", "edit", {"file_path": PATH, "content": "x"}, (PATH,)),
    ),
    "copilot": (
        JudgedCall(
            "Say hello", "execute", {"command": ECHO, "commands": [ECHO]}, (), ("Say hello",), unnamed=True
        ),
        JudgedCall(f"Creating {PATH}", "edit", {"path": PATH}, (PATH,), unnamed=True),
    ),
    "kimi-code": (
        JudgedCall("Bash", "execute", {"title": "Bash"}),
        JudgedCall("Write", "edit", {"title": "Write"}),
    ),
}
UNTOLD = ("kimi-code",)


@pytest.fixture(params=SHAPES)
def agent(request):
    return request.param


def decided(agent, which, **chosen):
    call = SHAPES[agent][which]
    return rules(**chosen).decide(call, WORK, tools=tools_of(agent))


@pytest.mark.parametrize("effect", [DENY, ASK])
@pytest.mark.parametrize(
    "which, pattern",
    [
        (0, "execute:echo *"),
        (0, "execute:* made.txt"),
        (0, "kind:execute"),
        (1, "edit:**"),
        (1, "edit:w.txt"),
        (1, f"edit:{PATH}"),
        (1, "kind:edit"),
    ],
)
def test_a_deny_and_an_ask_bind_on_every_agent(agent, effect, which, pattern):
    assert decided(agent, which, allow=["*"], **{effect: [pattern]}).effect == effect


@pytest.mark.parametrize("which, pattern", [(0, "execute:rm *"), (1, "edit:.env"), (1, "edit:w.txt.bak")])
def test_a_deny_of_something_else_binds_only_where_the_agent_does_not_tell(agent, which, pattern):
    found = decided(agent, which, allow=["*"], deny=[pattern])

    assert found.effect == (DENY if agent in UNTOLD else ALLOW)


@pytest.mark.parametrize("which, pattern", [(0, "execute:echo hi > *"), (1, "edit:**"), (1, "edit:w.*")])
def test_an_allow_with_an_argument_works_where_the_agent_tells_it(agent, which, pattern):
    found = decided(agent, which, allow=[pattern])

    assert found.effect == (DENY if agent in UNTOLD else ALLOW)
    if agent in UNTOLD:
        assert ("its path" if which else "its command line") in found.reason
        assert pattern in found.reason


@pytest.mark.parametrize(
    "which, pattern", [(0, "execute:ls *"), (1, "edit:src/**"), (0, "kind:edit"), (1, "kind:execute")]
)
def test_an_allow_of_something_else_does_not_reach_it(agent, which, pattern):
    assert decided(agent, which, allow=[pattern]).effect == DENY


@pytest.mark.parametrize("which, pattern", [(0, "kind:execute"), (1, "kind:edit")])
def test_an_allow_by_kind_works_on_every_agent(agent, which, pattern):
    assert decided(agent, which, allow=[pattern]).effect == ALLOW


@pytest.mark.parametrize("title", ["Bash", "git status", "ls: git status", "$ git status"])
def test_what_a_model_writes_as_a_title_allows_nothing(title):
    call = JudgedCall(title, "execute", {"command": "rm x", "description": title}, (), (title,), unnamed=True)

    for pattern in ("Bash", "git*", "ls*", "$*", "execute:git *", f"{title[:2].replace(' ', '?')}*(git *)"):
        assert rules(allow=[pattern]).decide(call, WORK).effect == DENY


def test_a_deny_by_name_binds_where_the_agent_does_not_name_its_tools():
    call = JudgedCall("ls", "execute", {"command": "ls"}, unnamed=True)

    found = rules(allow=["*"], deny=["WebFetch"]).decide(call, WORK)

    assert found.effect == DENY
    assert "the name of its tool" in found.reason
    assert rules(allow=["*"], deny=["Bash(rm *)"]).decide(call, WORK).effect == ALLOW


@pytest.mark.parametrize("asked", ["a", "a_name_with_more_letters", "Bash(ls)"])
def test_of_rules_that_perhaps_match_the_strictest_holds_however_specific_the_others_are(asked):
    """An ask that is more specific would let people say yes to what the deny may be about."""
    call = JudgedCall("ls", "execute", {"command": "ls"}, unnamed=True)

    assert rules(allow=["*"], deny=["shell"], ask=[asked]).decide(call, WORK).effect == DENY


def test_a_rule_that_certainly_matches_counts_before_less_specific_ones_that_perhaps_do():
    call = JudgedCall("ls", "execute", {"command": "ls"}, unnamed=True)

    assert rules(allow=["execute:ls"], deny=["shell"]).decide(call, WORK).effect == ALLOW
    assert rules(allow=["kind:execute"], deny=["shell"]).decide(call, WORK).effect == DENY


@pytest.mark.parametrize("kind", ["other", "teleport", ""])
def test_a_kind_that_nobody_knows_binds_what_denies_and_frees_nothing_that_allows(kind):
    call = JudgedCall("mystery", kind, {"x": 1})

    for pattern in ("kind:execute", "kind:edit", "kind:fetch", "execute:rm *", "edit:.env"):
        assert rules(allow=["*"], deny=[pattern]).decide(call, WORK).effect == DENY
        assert rules(allow=[pattern]).decide(call, WORK).effect == DENY
    assert rules(allow=["mystery"], deny=["kind:execute"]).decide(call, WORK).effect == ALLOW


def test_a_map_in_the_manifest_says_the_kind_and_where_the_argument_is():
    tools = ToolMap(
        {
            "run*": {"kind": "execute", "command": "a.line"},
            "runner": {"kind": "read", "path": "where"},
            "look": "search",
        }
    )
    plain = JudgedCall("run_it", "other", {"a": {"line": "ls -l"}})
    runs = JudgedCall("run_it", "other", {"a": {"line": "ls -l"}, "command": "rm x"})

    assert rules(allow=["execute:ls *"]).decide(plain, WORK, tools=tools).effect == ALLOW
    assert rules(allow=["execute:ls *"]).decide(runs, WORK, tools=tools).effect == DENY
    assert rules(allow=["*"], deny=["execute:rm *"]).decide(runs, WORK, tools=tools).effect == DENY
    assert Facts(JudgedCall("runner", "edit", {"where": "x"}), AgentPaths(WORK), tools).kinds == ("read",)
    assert Facts(JudgedCall("look"), AgentPaths(WORK), tools).kinds == ("search",)
    assert Facts(JudgedCall("look", unnamed=True), AgentPaths(WORK), tools).kinds == ()


def test_the_question_and_the_call_that_it_is_about_are_looked_at_together():
    told = JudgedCall("t", "edit", {"path": f"{WORK}/.env"})
    asked = JudgedCall("t", "read", {"path": PATH}, reported=(told,))

    assert Facts(asked, AgentPaths(WORK)).kinds == ("edit", "read")
    assert rules(allow=["read:w.txt", "kind:read"]).decide(asked, WORK).effect == DENY
    assert rules(allow=["*"], deny=["edit:.env"]).decide(asked, WORK).effect == DENY


SPELLINGS = [
    "path", "file_path", "filePath", "filepath", "FilePath", "file-path", "notebook_path", "abs_path", "uri", "file",
    "filename", "target_file", "destination", "paths", "files",
]  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("nested", [False, True])
def test_a_path_is_found_under_every_usual_spelling(name, nested):
    value = (
        f"file://{WORK}/.env" if name == "uri" else [f"{WORK}/.env"] if name.endswith("s") else f"{WORK}/.env"
    )
    arguments = {"input": [{name: value}]} if nested else {name: value}
    call = JudgedCall("t", "edit", arguments)

    assert rules(allow=["*"], deny=["edit:.env"]).decide(call, WORK).effect == DENY
    assert rules(allow=["edit:.env"]).decide(call, WORK).effect == ALLOW


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "rm x"},
        {"cmd": "rm x"},
        {"commandLine": "rm x"},
        {"command": ["rm", "x"]},
        {"argv": ["rm", "x"]},
        {"command": "rm", "args": ["x"]},
        {"commands": ["ls", "rm x"]},
        {"commands": [{"command": "rm x"}]},
        {"command": ["/bin/bash", "-lc", "rm x"]},
        {"command": "/bin/bash -lc 'rm x'"},
        {"input": {"command": "rm x"}},
        {"command": "ls", "cmd": "rm x"},
        {"command": 3},
        {"command": "rm", "args": {"x": 1}},
        {"code": "import os"},
        {},
    ],
)
def test_a_command_is_found_under_every_usual_spelling_or_is_not_known(arguments):
    call = JudgedCall("t", "execute", arguments)

    assert rules(allow=["*"], deny=["execute:rm *"]).decide(call, WORK).effect == DENY
    assert rules(allow=["execute:ls", "execute:ls *"]).decide(call, WORK).effect == DENY


@pytest.mark.parametrize(
    "patch",
    [
        "*** Begin Patch\n*** Update File: .env\n@@\n-a\n+b\n*** End Patch",
        "*** Begin Patch\n*** Add File: ok\n+b\n*** Delete File: .env\n*** End Patch",
        "*** Begin Patch\n*** Update File: ok\n*** Move to: .env\n*** End Patch",
        "--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-a\n+b",
        "--- /dev/null\n+++ b/.env\n@@ -0,0 +1 @@\n+b",
        "diff --git a/ok b/.env\nrename from ok\nrename to .env",
    ],
)
def test_the_files_of_a_patch_are_files_of_the_call(patch):
    call = JudgedCall("apply_patch", "edit", {"patch": patch})

    assert rules(allow=["*"], deny=["edit:.env"]).decide(call, WORK).effect == DENY
    assert rules(allow=["edit:ok"]).decide(call, WORK).effect == DENY


def test_an_allow_needs_every_file_of_an_edit_of_several():
    call = JudgedCall("apply_patch", "edit", {"changes": [{"path": "src/a"}, {"path": "src/b"}]}, ("src/c",))

    assert rules(allow=["edit:src/*"]).decide(call, WORK).effect == ALLOW
    assert rules(allow=["edit:src/a"]).decide(call, WORK).effect == DENY
    assert rules(allow=["*"], deny=["edit:src/c"]).decide(call, WORK).effect == DENY


def test_a_relative_path_is_looked_at_from_every_folder_that_the_call_names(tmp_path):
    call = JudgedCall("t", "edit", {"path": "key", "cwd": "secret"})

    assert rules(allow=["*"], deny=["edit:secret/**"]).decide(call, str(tmp_path)).effect == DENY
    assert rules(allow=["edit:key"]).decide(call, str(tmp_path)).effect == DENY


def test_a_move_is_known_only_with_both_its_ends():
    assert (
        rules(allow=["move:src/**"]).decide(JudgedCall("mv", "move", {"path": "src/a"}), WORK).effect == DENY
    )
    both = JudgedCall("mv", "move", {"from": "src/a", "to": "src/b"})
    assert rules(allow=["move:src/**"]).decide(both, WORK).effect == ALLOW
    assert rules(allow=["*"], deny=["move:src/b"]).decide(both, WORK).effect == DENY


@pytest.mark.parametrize("kind", ["delete", "move", "search"])
@pytest.mark.parametrize("path", [".", "secret", "secret/deep", WORK, "/work", "/"])
def test_what_is_done_to_a_folder_is_done_to_what_is_in_it(kind, path):
    call = JudgedCall("t", kind, {"from": path, "to": "elsewhere"} if kind == "move" else {"path": path})

    assert rules(allow=["*"], deny=[f"{kind}:secret/deep/key"]).decide(call, WORK).effect == DENY


def test_a_deny_of_a_path_means_the_file_in_every_way_of_naming_it(tmp_path):
    work = tmp_path / "work"
    (work / "real").mkdir(parents=True)
    os.symlink(work / "real", work / "link")
    named = ["real/key", "link/key", f"{work}/real/key", f"{work}/link/key", "real/../link/./key"]

    for pattern in ["real/**", "link/**", f"{work}/real/*", f"{work}/link/key", "re*/key"]:
        for path in named:
            found = rules(allow=["*"], deny=[f"edit:{pattern}"]).decide(
                JudgedCall("t", "edit", {"path": path}), str(work)
            )
            assert found.effect == DENY, (pattern, path)


def test_an_allow_of_a_path_does_not_follow_a_link(tmp_path):
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    os.symlink(tmp_path, work / "src" / "out")

    assert (
        rules(allow=["edit:src/**"]).decide(JudgedCall("t", "edit", {"path": "src/out/x"}), str(work)).effect
        == DENY
    )


@pytest.mark.parametrize(
    "arguments, allowed",
    [
        ({"url": "https://docs.python.org/3/"}, True),
        ({"url": "https://evil.example/docs.python.org"}, False),
        ({"urls": ["https://docs.python.org/", "https://evil.example/"]}, False),
        ({"prompt": "read https://docs.python.org/"}, False),
        ({}, False),
    ],
)
def test_an_address_is_allowed_only_where_it_is_told(arguments, allowed):
    call = JudgedCall("web_fetch", "fetch", arguments)

    assert (rules(allow=["fetch:https://docs.python.org/*"]).decide(call, WORK).effect == ALLOW) is allowed
    denied = rules(allow=["*"], deny=["fetch:https://evil.example/*"]).decide(call, WORK).effect == DENY
    assert denied is not allowed


@pytest.mark.parametrize("key", ["source", "to", "file", "target", "path", "from", "files"])
def test_no_key_among_changes_hides_the_others(key):
    call = JudgedCall(
        "apply_patch", "edit", {"changes": {"secret/key": {"kind": "update"}, key: {"kind": "add"}}}
    )

    assert rules(allow=["*"], deny=["edit:secret/**"]).decide(call, WORK).effect == DENY
    assert rules(allow=["edit:src/**"]).decide(call, WORK).effect == DENY
    assert rules(allow=["edit:**"]).decide(call, WORK).effect == ALLOW


def test_a_change_that_moves_its_file_is_about_both_names():
    change = {"update": {"unified_diff": "", "move_path": "secret/key"}}
    call = JudgedCall("apply_patch", "edit", {"changes": {"src/a": change}})

    assert rules(allow=["edit:src/**"]).decide(call, WORK).effect == DENY
    assert rules(allow=["*"], deny=["edit:secret/**"]).decide(call, WORK).effect == DENY


@pytest.mark.parametrize(
    "uri",
    [
        "file:///work/project/secret/key",
        "file://localhost/work/project/secret/key",
        "FILE:///work/project/secret/key",
        "file:/work/project/secret/key",
        "file:///work/project/secre%74/key",
        "file:///work/project/%73ecret%2Fkey",
        "File://LOCALHOST/work/project/secret/key#L1",
    ],
)
@pytest.mark.parametrize("member", ["path", "uri"])
def test_an_address_of_a_file_is_its_path(uri, member):
    call = JudgedCall("read", "read", {member: uri})

    assert rules(allow=["*"], deny=["read:secret/**"]).decide(call, WORK).effect == DENY
    assert rules(allow=["read:src/**"]).decide(call, WORK).effect == DENY


def nested(depth, inside):
    return inside if depth == 0 else {"x": nested(depth - 1, inside)}


@pytest.mark.parametrize(
    "more, readable",
    [
        ({"y": nested(7, "text")}, True),
        ({"y": nested(7, {"command": "rm x"})}, False),
        ({"y": nested(8, ["rm x"])}, False),
        ({"todo": ["text"] * 3000}, True),
        ({"todo": [{"command": "ls"}] * 3000}, False),
    ],
)
def test_arguments_that_are_too_deep_or_too_many_are_denied(more, readable):
    call = JudgedCall("Bash", "execute", {"command": "ls", **more})

    assert rules(allow=["execute:ls"]).decide(call, WORK).effect == DENY
    assert rules(deny=["execute:rm *"], default=ALLOW).decide(call, WORK).effect == (
        ALLOW if readable else DENY
    )


@pytest.mark.parametrize(
    "line, path, allowed", [("ls", "ls", True), ("ls", "x", False), ("rm x", "ls", False)]
)
def test_an_allow_by_tool_and_argument_needs_every_argument_of_a_call_of_two_kinds(line, path, allowed):
    told = JudgedCall("Tool", "edit", {"path": path})
    call = JudgedCall("Tool", "execute", {"command": line}, reported=(told,))

    assert (rules(allow=["Tool(ls)"]).decide(call, WORK).effect == ALLOW) is allowed


def test_a_rule_about_one_name_of_a_tool_is_about_each_of_its_names():
    tools = ToolMap({"Bash": {"kind": "execute", "command": "command", "aliases": ["ExecCommand"]}})
    for name in ("Bash", "ExecCommand"):
        call = JudgedCall(name, "execute", {"command": "touch x"})
        for rule in ("Bash", "ExecCommand", "Bash(touch *)", "Exec*"):
            assert rules(allow=["*"], deny=[rule]).decide(call, WORK, tools=tools).effect == DENY
            assert rules(allow=[rule]).decide(call, WORK, tools=tools).effect == ALLOW


@pytest.mark.parametrize(
    "arguments", [{"path": ".env"}, {"path": ".", "glob": ".env"}, {"path": "src", "glob": "**/.e*"}]
)
def test_a_deny_of_reading_a_file_covers_a_search_that_names_it(arguments):
    call = JudgedCall("Grep", "search", {"pattern": "x", **arguments})

    assert rules(allow=["*"], deny=["read:.env"]).decide(call, WORK).effect == DENY
    assert rules(allow=["read:.env"]).decide(call, WORK).effect == DENY


@pytest.mark.parametrize("arguments", [{"path": "."}, {}, {"path": "src", "glob": "*.py"}])
def test_a_deny_of_reading_a_file_does_not_stop_a_search_that_names_other_files_or_none(arguments):
    call = JudgedCall("Grep", "search", {"pattern": "x", **arguments})

    assert rules(allow=["*"], deny=["read:.env"]).decide(call, WORK).effect == ALLOW
    assert rules(allow=["*"], deny=["kind:read"]).decide(call, WORK).effect == ALLOW
