"""A yes that lasts covers a prefix of the command, or exactly this line; nothing that is tried makes it wider."""

import json
from pathlib import Path
from typing import Any

import pytest

from operable.agent.abilities.bash import ABILITY as BASH
from operable.agent.tool.lasting_commands import (
    LastingCommands,
    command_prefix,
    command_scope,
    runs_only_itself,
)
from tests.agent.agent_process import AgentProcess, of_type
from tests.gate.policy.shell.attack_lines import attack_lines
from tests.gate.policy.shell.test_attack_lines import run_enclosed


def after(*lines: str) -> LastingCommands:
    """What is allowed when these lines were answered with `always`."""
    commands = LastingCommands()
    for line in lines:
        commands.add({"command": line})
    return commands


def covers(commands: LastingCommands, line: str, **more: Any) -> bool:
    return commands.covers(BASH, {"command": line, **more}, "/work")


def test_a_prefix_covers_the_command_with_other_arguments_and_nothing_that_begins_like_it() -> None:
    commands = after("git diff --stat")

    assert covers(commands, "git diff")
    assert covers(commands, "git diff HEAD~1 -- src/a.py")
    assert covers(commands, "git diff 'a b'", timeout=5)
    assert not covers(commands, "git difftool -y -x 'rm -rf x'")
    assert not covers(commands, "git")
    assert not covers(commands, "git status")


@pytest.mark.parametrize(
    "line",
    [
        "git status; rm x", "git status && rm x", "git status || rm x", "git status | sh", "git status & rm x",
        "git status\nrm x", "git status \\\n; rm x", "git status $(rm x)", 'git status "$(rm x)"', "git status `rm x`",
        "git status <(rm x)", "git status > x", "git status >> ~/.bashrc", "git status < x", "git status <<< x",
        "GIT_PAGER='rm x' git status", "git -c core.pager='rm x' status", "git status # \n rm x", "git status ;",
        "(git status)", "bash -c 'git status; rm x'", "env git status", "sudo git status", "x/git status", "./git status",
        "git status\r rm x", "git status \u2028rm x", "git  status", "git status --output=x", "git statusx", "git status'",
    ],
)  # fmt: skip
def test_what_tries_to_widen_a_prefix_is_asked_about(line: str) -> None:
    assert not covers(after("git status", "git status -s"), line)


@pytest.mark.parametrize(
    "line",
    [
        "python x.py",
        "bash x.sh",
        "env ls",
        "sudo ls",
        "git status && ls",
        "unknown x",
        "X=1 ls",
        "./x *",
        "ls \ud800",
    ],
)
def test_what_has_no_prefix_is_covered_as_exactly_this_line(line: str) -> None:
    commands = after(line)

    assert command_scope({"command": line}) == "exactly this command line"
    assert covers(commands, line)
    assert covers(commands, line, timeout=5)
    for other in (
        f"{line} y",
        f"{line}; rm x",
        f" {line}",
        f"{line}\n",
        line.replace(" ", "  "),
        f"{line[:-1]}z",
    ):
        assert not covers(commands, other)


def test_another_shell_and_arguments_that_are_not_known_are_another_call() -> None:
    commands = after("git status")
    commands.add({"command": "ls -l", "shell": "./x"})

    assert covers(commands, "git status -s", shell="bash")
    assert not covers(commands, "git status -s", shell="./x")
    assert not covers(commands, "git status -s", cwd="/elsewhere")
    assert not covers(commands, "git status -s", env={"GIT_PAGER": "rm x"})
    assert covers(commands, "ls -l", shell="./x")
    assert not covers(commands, "ls -l")
    assert not covers(commands, "ls -a", shell="./x")
    assert not commands.covers(BASH, {}, "/work")


@pytest.mark.parametrize(
    ("line", "prefix"),
    [
        ("git status", "git status"),
        ("git status -s", "git status"),
        ("git diff HEAD~1 -- 'a b.py'", "git diff"),
        ("npm run build -- --watch", "npm run build"),
        ("npm test", "npm test"),
        ("python -m pytest tests -q", "python -m pytest"),
        ("gh pr view 12", "gh pr view"),
        ("make test", "make test"),
        ("ls -la src", "ls"),
        ("grep -rn 'def main' src", "grep"),
        ('rg "a|b" .', "rg"),
        ("git log --oneline -- src/*.py", "git log"),
    ],
)
def test_a_known_command_is_its_own_prefix(line: str, prefix: str) -> None:
    assert command_prefix(line) == prefix


@pytest.mark.parametrize(
    "line",
    [
        # what runs anything that it is given
        "python x.py", "python -c 'print(1)'", "python -m http.server", "node -e 1", "perl -e 1", "bash -c 'git status'",
        "sh x.sh", "env git status", "sudo git status", "xargs ls", "timeout 5 ls", "nice ls", "command ls", "exec ls",
        "eval ls", "find . -name x", "ssh host ls", "npx tsc", "npm exec x", "npm x tsc", "uv run pytest", "docker run x",
        "docker exec c ls", "cargo run", "go run .", "watch ls", "time ls", "nohup ls", "awk '{print}' f", "sed -n 1p f",
        # what is not known, or has no words of its own
        "unknown status", "git", "git unknown", "git -C /tmp status", "git -c alias.status='!rm x' status", "npm", "make",
        "./ls", "/tmp/git status", "'git' status", "git 'status'", "g\\it status", "git sta''tus", "$GIT status",
        "git $SUB", "git *", "GIT status",
        # more than one command, or something around it
        "git status; rm x", "git status && rm x", "git status || rm x", "git status | sh", "git status & rm x",
        "git status\nrm x", "git status $(rm x)", "git status `rm x`", "git status > x", "git status < x",
        "X=1 git status", "(git status)", "{ git status; }", "! git status", "if git status; then ls; fi",
        "git status <(rm x)", "git status #\nrm x", " git status", "git  status", "git\tstatus",
        # options that run or write something
        "git fetch --upload-pack='rm x'", "git rebase -x 'rm x'", "git grep -Orm x", "git diff --ext-diff",
        "git show --output=x", "rg --pre ./x a", "make test SHELL=./x", "npm test --script-shell=./x",
        "go test -exec ./x", "pylint --init-hook=x", "cargo build --config x",
        "", " ", "'", "git status \x1b[2K",
    ],
)  # fmt: skip
def test_what_may_be_another_command_has_no_prefix(line: str) -> None:
    assert command_prefix(line) == ""


def test_an_output_file_is_seen_in_every_spelling_that_a_shell_may_make() -> None:
    spellings = [
        "--output=x",
        "--output x",
        "--out=x",
        "'--output=x'",
        '--"output"=x',
        "--\\output=x",
        "*",
        "--out*",
        "{--output=x,}",
    ]
    assert not any(runs_only_itself(f"git show {each}") for each in spellings)


@pytest.mark.needs("bwrap")
@pytest.mark.timeout(900)
def test_no_shell_runs_another_program_in_a_line_that_a_prefix_covers(tmp_path: Path) -> None:
    commands = after("echo hi")
    attacks = [line for line in attack_lines(20261119, 2000) if "\0" not in line]
    tried = [*attacks, *(f"echo {line}" for line in attacks), *(f"echo hi{line}" for line in attacks)]
    covered = [line for line in tried if covers(commands, line)]

    assert len(covered) > 50
    assert run_enclosed(covered, tmp_path) == []


def test_an_agent_says_what_always_covers_and_asks_about_the_rest(tmp_path: Path) -> None:
    lines = ["ls -a", "ls", "ls -l", "ls; touch made", "touch made && ls", "ls $(touch made)", "pwd"]
    with AgentProcess(tmp_path) as agent:
        agent.script(
            *(step for line in lines for step in (f"call Bash {json.dumps({'command': line})}", "say ."))
        )
        first = agent.until("tool_request")
        assert first["always"] == "execute:ls * (with any arguments, or none)"
        agent.approve(first["call_id"], "always")
        asked = []
        for _ in range(4):
            request = agent.until("tool_request")
            asked.append((request["tool"]["args"]["command"], request["always"]))
            agent.send({"type": "tool_deny", "call_id": request["call_id"]})
        agent.answer()

    assert asked == [
        ("ls; touch made", "exactly this command line"),
        ("touch made && ls", "exactly this command line"),
        ("ls $(touch made)", "exactly this command line"),
        ("pwd", "execute:pwd * (with any arguments, or none)"),
    ]
    assert len(of_type(agent.events, "tool_running")) == 3
    assert not (tmp_path / "made").exists()
