"""Files and commands that the host serves: inside the workspace, under the rules, and never left running."""

import asyncio
import os

import msgspec
import pytest

from operable.gate.approvals import ApprovalQueue
from operable.gate.audit.chain import Audit
from operable.gate.policy.policy_file import rules
from operable.host.arm import ClientCall
from operable.host.policy.gate import Gate
from operable.host.session.client_methods import ClientMethods
from operable.kernel.redact import Known
from operable.proc.spawn import prepare


def run(scene):
    return asyncio.run(asyncio.wait_for(scene, 200))


def methods(tmp_path, policy=None, **facts):
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    gate = Gate(
        session_id="s",
        workspace=str(work),
        policy=policy or rules(allow=["*"]),
        audit=Audit(str(tmp_path / "audit.jsonl"), actor="a"),
        attended=False,
        asking=True,
        quirks={},
    )
    facts.setdefault("confine", lambda argv, env, cwd: prepare(argv, env=env, cwd=cwd))
    return (
        ClientMethods(gate, fs_read=True, fs_write=True, **facts),
        work,
        ApprovalQueue(str(tmp_path / "desk")),
    )


def call(served, desk, method, **params):
    return served.serve(ClientCall("c", method, params), desk)


def _decisions(tmp_path):
    """What the audit chain has about accesses that were denied."""
    path = tmp_path / "audit.jsonl"
    lines = path.read_bytes().splitlines() if path.exists() else []
    found = [msgspec.json.decode(line) for line in lines]
    return [each for each in found if each["action"] == "agent.decision"]


def test_a_read_that_a_rule_denies_is_in_the_audit_chain(tmp_path):
    served, work, desk = methods(tmp_path, rules(allow=["*"], deny=["kind:read"]))
    (work / "a.txt").write_text("a")

    _, error = run(call(served, desk, "fs/read_text_file", path=str(work / "a.txt")))

    (decision,) = _decisions(tmp_path)
    assert error["code"] == -32001
    assert "a.txt" in msgspec.json.encode(decision).decode()


def test_a_file_is_written_with_its_folders_and_read_back_in_part(tmp_path):
    served, work, desk = methods(tmp_path)

    async def scene():
        await call(served, desk, "fs/write_text_file", path=str(work / "a/b.txt"), content="1\n2\n3\n4\n")
        whole = await call(served, desk, "fs/read_text_file", path=str(work / "a/b.txt"))
        part = await call(served, desk, "fs/read_text_file", path=str(work / "a/b.txt"), line=2, limit=2)
        return whole, part

    whole, part = run(scene())

    assert whole == ({"content": "1\n2\n3\n4\n"}, None)
    assert part == ({"content": "2\n3\n"}, None)


@pytest.mark.parametrize("path", ["/etc/hostname", "../outside", "link/secret", "", "a\0b", None, 3])
def test_nothing_outside_the_workspace_is_read_or_written(tmp_path, path):
    served, work, desk = methods(tmp_path)
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_text("secret")
    os.symlink(tmp_path / "elsewhere", work / "link")

    async def scene():
        read = await call(served, desk, "fs/read_text_file", path=path)
        written = await call(served, desk, "fs/write_text_file", path=path, content="x")
        return read[1], written[1]

    errors = run(scene())
    assert all(error["code"] in (-32001, -32602) for error in errors)
    denied = [error for error in errors if error["code"] == -32001]
    assert len(_decisions(tmp_path)) == len(denied)
    assert (tmp_path / "outside").read_text() == "secret"


def test_a_link_that_appears_after_the_path_was_checked_is_not_followed(tmp_path, monkeypatch):
    served, work, desk = methods(tmp_path)
    (tmp_path / "victim").mkdir()
    (work / "folder").mkdir()
    checked = served._inside

    def swapped(path, method):
        found = checked(path, method)
        (work / "folder").rmdir()
        os.symlink(tmp_path / "victim", work / "folder")
        return found

    monkeypatch.setattr(served, "_inside", swapped)
    _, error = run(call(served, desk, "fs/write_text_file", path="folder/x", content="gotcha"))

    assert error is not None
    assert list((tmp_path / "victim").iterdir()) == []


def test_a_missing_file_is_an_error_or_empty_by_quirk(tmp_path):
    strict, _, desk = methods(tmp_path)
    lenient, _, _ = methods(tmp_path, missing_is_empty=True)

    assert run(call(strict, desk, "fs/read_text_file", path="none"))[1]["code"] == -32002
    assert run(call(lenient, desk, "fs/read_text_file", path="none")) == ({"content": ""}, None)


def test_a_pipe_does_not_hang_the_host(tmp_path):
    served, work, desk = methods(tmp_path)
    os.mkfifo(work / "pipe")

    assert run(call(served, desk, "fs/read_text_file", path="pipe"))[1]["code"] == -32602


def test_what_was_not_granted_is_unknown(tmp_path):
    served, _, desk = methods(tmp_path, confine=None)

    assert run(call(served, desk, "terminal/create", command="ls"))[1]["code"] == -32601
    assert run(call(served, desk, "fs/delete", path="x"))[1]["code"] == -32601


@pytest.mark.parametrize("name", ["sub/.env", "prod.env", ".git/hooks/pre-commit"])
def test_a_deny_of_the_name_that_was_used_applies_also_where_it_is_a_link(name, tmp_path):
    denied = [f"{kind}:{pattern}" for kind in ("edit", "read") for pattern in (".git/**", "**/.env", "*.env")]
    served, work, desk = methods(tmp_path, rules(allow=["*"], deny=denied))
    (work / "data").mkdir()
    (work / "data" / "x").write_text("kept")
    (work / "sub").mkdir()
    (work / "scripts").mkdir()
    (work / "scripts" / "pre-commit").write_text("kept")
    (work / ".git").mkdir()
    os.symlink("../data/x", work / "sub" / ".env")
    os.symlink("data/x", work / "prod.env")
    os.symlink("../scripts", work / ".git" / "hooks")

    async def scene():
        return [
            await call(served, desk, "fs/read_text_file", path=name),
            await call(served, desk, "fs/write_text_file", path=str(work / name), content="gotcha"),
            await call(served, desk, "fs/read_text_file", path="data/x"),
        ]

    (_, unread), (_, unwritten), (read, _) = run(scene())

    assert (unread["code"], unwritten["code"]) == (-32001, -32001)
    assert (work / name).read_text() == "kept"
    assert read == {"content": "kept"}


def test_a_link_to_a_file_that_becomes_execution_needs_a_rule_that_names_it(tmp_path):
    served, work, desk = methods(tmp_path, rules(allow=["kind:edit"]))
    (work / "scripts").mkdir()
    (work / ".git").mkdir()
    os.symlink("../scripts", work / ".git" / "hooks")

    _, error = run(call(served, desk, "fs/write_text_file", path=".git/hooks/pre-commit", content="x"))

    assert error["code"] == -32001
    assert not (work / "scripts" / "pre-commit").exists()


def test_writes_and_commands_pass_the_rules(tmp_path):
    served, work, desk = methods(tmp_path, rules(allow=["edit:ok/**", "execute:echo *"]))

    async def scene():
        return [
            (await call(served, desk, "fs/write_text_file", path="ok/a", content="x"))[1],
            (await call(served, desk, "fs/write_text_file", path="no/a", content="x"))[1],
            (await call(served, desk, "terminal/create", command="echo", args=["hi"]))[1],
            (await call(served, desk, "terminal/create", command="rm -rf x; echo hi"))[1],
            await served.close(),
        ]

    allowed, denied, ran, refused, _ = run(scene())

    assert (allowed, ran) == (None, None)
    assert (denied["code"], refused["code"]) == (-32001, -32001)
    assert not (work / "no").exists()


@pytest.mark.parametrize(
    "name, value, allowed",
    [
        ("TERM", "dumb", True),
        ("LC_ALL", "C", True),
        ("PATH", "{work}", False),
        ("LD_PRELOAD", "./evil.so", False),
        ("BASH_ENV", "evil.sh", False),
        ("MINE", "7", False),
        ("X; rm", "y", False),
    ],
)
def test_a_variable_that_may_change_what_runs_is_part_of_the_command(name, value, allowed, tmp_path):
    served, work, desk = methods(tmp_path, rules(allow=["execute:echo *"]))
    (work / "echo").write_text(f"#!/bin/sh\ntouch {work}/evil\n")
    (work / "echo").chmod(0o755)
    env = [{"name": name, "value": value.format(work=work)}]

    async def scene():
        made, refused = await call(served, desk, "terminal/create", command="echo", args=["hi"], env=env)
        if made is not None:
            await call(served, desk, "terminal/wait_for_exit", **made)
        await served.close()
        return refused

    refused = run(scene())

    assert (refused is None) == allowed
    assert not (work / "evil").exists()


@pytest.mark.parametrize(
    "env",
    [
        [{"name": "git x", "value": "1"}],
        [{"name": "A=1 git", "value": "1"}],
        [{"name": "", "value": "1"}],
        [{"name": "1A", "value": "1"}],
        [{"name": "A\n", "value": "1"}],
        [{"name": "\u00c4", "value": "1"}],
        [{"name": None, "value": "1"}],
        [{"value": "1"}],
        [{"name": "A", "value": "a\0b"}],
        ["A=1"],
        {"A": "1"},
    ],
)
def test_a_variable_that_is_none_for_a_shell_is_refused_with_its_command(env, tmp_path):
    served, work, desk = methods(tmp_path, rules(allow=["*", "execute:git *"]))

    _, refused = run(call(served, desk, "terminal/create", command="touch", args=["y"], env=env))

    assert refused["code"] == -32602
    assert not (work / "y").exists()


@pytest.mark.parametrize(
    "shell", ["./bash", "bin/bash", "{work}/bash", "{work}/bin/bash", "./sh", "/usr/bin/../..{work}/bash"]
)
@pytest.mark.parametrize("flag", ["-c", "-lc", "-ec"])
def test_a_shell_of_the_workspace_is_not_looked_through(shell, flag, tmp_path):
    served, work, desk = methods(tmp_path, rules(allow=["execute:git *"]))
    (work / "bin").mkdir()
    for place in (work / "bash", work / "sh", work / "bin" / "bash"):
        place.write_text(f"#!/bin/sh\ntouch {work}/evil\n")
        place.chmod(0o755)
    words = [flag, "git status"]

    _, refused = run(call(served, desk, "terminal/create", command=shell.format(work=work), args=words))

    assert refused["code"] == -32001
    assert not (work / "evil").exists()


def test_a_bare_shell_that_the_path_finds_in_the_workspace_is_not_looked_through(tmp_path, monkeypatch):
    served, work, desk = methods(tmp_path, rules(allow=["execute:git *"]))
    (work / "bash").write_text(f"#!/bin/sh\ntouch {work}/evil\n")
    (work / "bash").chmod(0o755)
    monkeypatch.setenv("PATH", f"{work}:{os.environ['PATH']}")

    _, refused = run(call(served, desk, "terminal/create", command="bash", args=["-c", "git status"]))

    assert refused["code"] == -32001
    assert not (work / "evil").exists()


@pytest.mark.parametrize("shell", ["sh", "/bin/sh"])
def test_a_shell_of_the_system_is_looked_through(shell, tmp_path):
    served, work, desk = methods(tmp_path, rules(allow=["execute:touch *"]))

    async def scene():
        made, _ = await call(served, desk, "terminal/create", command=shell, args=["-c", "touch y"])
        await call(served, desk, "terminal/wait_for_exit", **made)
        await served.close()

    run(scene())

    assert (work / "y").exists()


def test_a_carriage_return_hides_no_command_from_a_rule(tmp_path):
    allowing, work, desk = methods(tmp_path, rules(allow=["execute:git *"]))
    denying, _, _ = methods(tmp_path, rules(allow=["*"], deny=["execute:rm *"]))

    hidden = run(call(allowing, desk, "terminal/create", command="bash -c 'git status'\r#; touch x"))
    denied = run(call(denying, desk, "terminal/create", command="echo a\r#; rm -rf v"))

    assert [hidden[1]["code"], denied[1]["code"]] == [-32001, -32001]
    assert not (work / "x").exists()


def test_a_denied_command_is_found_behind_variables(tmp_path):
    served, work, desk = methods(tmp_path, rules(allow=["*"], deny=["execute:rm *"]))
    (work / "kept").write_text("x")
    env = [{"name": "MINE", "value": "a b"}]

    _, refused = run(call(served, desk, "terminal/create", command="rm", args=["kept"], env=env))

    assert refused["code"] == -32001
    assert (work / "kept").exists()


def test_a_command_gives_its_output_and_its_status(tmp_path):
    served, work, desk = methods(tmp_path)

    async def scene():
        made, _ = await call(
            served,
            desk,
            "terminal/create",
            command="echo $MINE; pwd; echo err >&2; exit 3",
            env=[{"name": "MINE", "value": "7"}],
        )
        exit_status, _ = await call(served, desk, "terminal/wait_for_exit", **made)
        output, _ = await call(served, desk, "terminal/output", **made)
        await call(served, desk, "terminal/release", **made)
        gone = await call(served, desk, "terminal/output", **made)
        return exit_status, output, gone

    exit_status, output, gone = run(scene())

    assert exit_status == {"exitCode": 3, "signal": None}
    assert sorted(output["output"].split()) == sorted(["7", str(work), "err"])
    assert not output["truncated"]
    assert gone[1]["code"] == -32002


def test_a_value_that_the_agent_has_as_a_placeholder_only_comes_back_from_no_command_and_no_file(tmp_path):
    known = Known()
    served, work, desk = methods(tmp_path, withheld=known)
    known.add("zEbra quilt ninety")  # as the proxy does when it puts the value in: after the session began
    (work / "a.txt").write_text("one zEbra quilt ninety two \nzEbra%20quilt%20ninety")
    # In pieces, on both streams, and where the limit cuts off the beginning.
    line = "printf 'zEbra qu'; printf 'zEbra qu' >&2; printf 'ilt ninety'; printf 'ilt ninety' >&2; printf ' end zEb'"

    async def scene():
        read, _ = await call(served, desk, "fs/read_text_file", path=str(work / "a.txt"))
        made, _ = await call(served, desk, "terminal/create", command=line)
        cut, _ = await call(
            served, desk, "terminal/create", command="printf 'zEbra quilt ninety'", outputByteLimit=12
        )
        for each in (made, cut):
            await call(served, desk, "terminal/wait_for_exit", **each)
        return (
            read,
            (await call(served, desk, "terminal/output", **made))[0],
            (await call(served, desk, "terminal/output", **cut))[0],
        )

    read, output, cut = run(scene())

    assert read["content"] == "one [redacted] two \n[redacted]"
    assert output["output"].count("[redacted]") == 2
    assert "quilt" not in output["output"]
    assert "ilt ninety" not in output["output"]
    assert output["output"].endswith("zEb")  # the beginning of a value is not a value
    assert cut["output"] == "[redacted]"


def test_output_that_is_not_text_comes_back_beside_a_masked_value(tmp_path):
    served, _, desk = methods(tmp_path, withheld=Known(["zEbra quilt ninety"]))

    async def scene():
        made, _ = await call(
            served, desk, "terminal/create", command=r"printf 'a\303\274\377zEbra quilt ninety'"
        )
        await call(served, desk, "terminal/wait_for_exit", **made)
        return (await call(served, desk, "terminal/output", **made))[0]

    assert run(scene())["output"] == "aü\ufffd[redacted]"


def test_output_is_bounded_from_the_beginning(tmp_path):
    served, _, desk = methods(tmp_path)

    async def scene():
        made, _ = await call(
            served, desk, "terminal/create", command="yes ü | head -c 100001; echo end", outputByteLimit=1000
        )
        await call(served, desk, "terminal/wait_for_exit", **made)
        return (await call(served, desk, "terminal/output", **made))[0]

    output = run(scene())

    assert output["truncated"]
    assert len(output["output"].encode()) <= 1000
    assert output["output"].endswith("end\n")


def test_a_command_is_killed_with_the_turn_and_by_a_withdrawn_wait(tmp_path):
    served, _, desk = methods(tmp_path)

    async def scene():
        one, _ = await call(served, desk, "terminal/create", command="sleep 60")
        other, _ = await call(served, desk, "terminal/create", command="sleep 60")
        waiting = asyncio.ensure_future(served.serve(ClientCall("w", "terminal/wait_for_exit", one), desk))
        await asyncio.sleep(0)  # the wait begins in the next round of the loop
        assert served.busy
        served.withdraw("w")
        first, _ = await waiting
        served.abandon()
        second, _ = await call(served, desk, "terminal/wait_for_exit", **other)
        await served.close()
        return first, second

    assert [status["signal"] for status in run(scene())] == ["SIGKILL", "SIGKILL"]


@pytest.mark.parametrize(
    "params",
    [
        {"command": "ls", "cwd": "a\0b"},
        {"command": "ls", "cwd": ["a"]},
        {"command": "ls\0", "args": ["x"]},
        {"command": "ls", "args": ["x\0y"]},
        {"command": "ls\0 x"},
    ],
    ids=str,
)
def test_a_command_with_a_character_that_cannot_be_used_is_refused(tmp_path, params):
    served, _, desk = methods(tmp_path)

    assert run(call(served, desk, "terminal/create", **params))[1]["code"] == -32602


def test_a_command_outside_the_workspace_is_refused(tmp_path):
    served, _, desk = methods(tmp_path)

    assert run(call(served, desk, "terminal/create", command="ls", cwd="/etc"))[1]["code"] == -32001
