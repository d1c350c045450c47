"""Which beginning of a command line a lasting yes may cover."""

import pytest

from operable.gate.policy.shell.command_prefix import command_prefix, runs_only_itself


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
