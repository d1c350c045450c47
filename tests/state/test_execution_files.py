"""Which files of a workspace become execution: by name, by what a path really names, by what the project configures."""

import os
import subprocess
from pathlib import Path

import pytest

from operable.state.execution_files import TABLE, find_execution, is_execution_file


def judge(workspace: Path, path: str) -> bool:
    written = os.path.join(workspace, path)
    return is_execution_file(str(workspace), written, os.path.realpath(written))


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git/hooks/pre-commit",
        "vendor/sub/.git/config",
        ".GIT/config",
        ".git./config",
        "x/../.git/config",
        "bare/hooks/post-checkout",
        "bare/HEAD",
        ".husky/pre-push",
        ".githooks/pre-commit",
        ".gitattributes",
        "deep/.gitattributes",
        ".gitmodules",
        "AGENTS.md",
        "agents.md",
        "deep/AGENTS.md",
        "CLAUDE.md",
        "tools/x/CLI.md",
        "APP.md",
        "AGENT-CLI.md",
        ".claude/settings.json",
        ".cursor/rules/x.mdc",
        ".mcp.json",
        ".vscode/tasks.json",
        "project.code-workspace",
        ".envrc",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".pre-commit-config.yaml",
        ".npmrc",
        ".cargo/config.toml",
        "rust-toolchain.toml",
        ".ssh/config",
        "venv/lib/x.pth",
        "sitecustomize.py",
        ".git",
        "CLAUDE.local.md",
        "AGENTS.override.md",
        "opencode.json",
        "opencode.jsonc",
        ".devcontainer.json",
        ".devcontainer/devcontainer.json",
        ".gitea/workflows/ci.yml",
        ".forgejo/workflows/ci.yml",
        ".drone.yml",
        ".woodpecker.yml",
        ".woodpecker/build.yaml",
        "mise.toml",
        "mise.local.toml",
        ".mise.toml",
        ".mise/tasks/x",
        "lefthook.yml",
        "lefthook-local.yml",
        ".lefthook.toml",
        ".nvim.lua",
        ".exrc",
        ".yarn/releases/yarn-4.cjs",
        ".yarnrc.yml",
        "package.json",
        "web/package.json",
        "pyproject.toml",
        "setup.py",
        "eslint.config.mjs",
        ".eslintrc.cjs",
    ],
)
def test_a_file_that_takes_effect_by_itself_is_execution(path: str, tmp_path: Path) -> None:
    assert judge(tmp_path, path)


@pytest.mark.parametrize(
    "path",
    [
        "main.py",
        "docs/agents.txt",
        # What a person starts by its name, or a build of the sources runs, could as well stand in the sources.
        "Makefile",
        "justfile",
        "Taskfile.yml",
        "Dockerfile",
        "build.rs",
        "conftest.py",
        "package-lock.json",
        "pyproject.toml.md",
        "lefty.yml",
        "misery.toml",
        "src/githooks.py",
        "src/hooks/useState.ts",
        "src/pre-commit",
        "gitconfig",
        "heads.md",
        "a/b/c.txt",
    ],
)
def test_ordinary_source_is_not(path: str, tmp_path: Path) -> None:
    assert not judge(tmp_path, path)


ENTRIES = [(entry, reason) for reason, entries in TABLE for entry in entries.split()]


@pytest.mark.parametrize("entry, reason", ENTRIES, ids=[entry for entry, _ in ENTRIES])
def test_every_entry_of_the_table_is_found_with_its_reason(entry: str, reason: str, tmp_path: Path) -> None:
    path = f"deep/{entry}x" if entry.endswith("/") else f"deep/{entry.replace('*', 'x')}"
    written = str(tmp_path / path.upper())

    found = find_execution(str(tmp_path), written, written)

    assert found is not None
    assert found.reason == reason
    assert found.part in path


def test_no_entry_stands_in_the_table_twice() -> None:
    assert len({entry for entry, _ in ENTRIES}) == len(ENTRIES)
    assert all(entry == entry.casefold() for entry, _ in ENTRIES)


def test_the_folder_around_the_workspace_does_not_count(tmp_path: Path) -> None:
    workspace = tmp_path / "hooks" / ".claude" / "project"
    workspace.mkdir(parents=True)
    assert not judge(workspace, "main.py")
    assert judge(workspace, "AGENTS.md")


def test_a_link_is_judged_by_both_of_its_ends(tmp_path: Path) -> None:
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "notes.txt").symlink_to(".git/hooks/pre-commit")
    (tmp_path / "harmless").symlink_to(".git")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "agents.txt").write_text("Be kind.")
    (tmp_path / "AGENTS.md").symlink_to("docs/agents.txt")
    assert judge(tmp_path, "notes.txt")
    assert judge(tmp_path, "harmless/config")
    assert judge(tmp_path, "AGENTS.md")
    assert judge(tmp_path, "docs/agents.txt")
    assert not judge(tmp_path, "docs/other.txt")


def test_what_git_is_told_of_its_folders_counts(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / ".git").write_text("gitdir: store\n")
    (tmp_path / "store" / "config").write_text('[core]\n\thooksPath = "scripts/git"\n')
    assert judge(tmp_path, "store/config")
    assert judge(tmp_path, "scripts/git/pre-commit")
    assert not judge(tmp_path, "scripts/other")


def test_the_configuration_of_a_bare_repository_counts(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "HEAD").write_text("ref: refs/heads/main\n")
    assert judge(tmp_path, "bare/config")
    assert not judge(tmp_path, "other/config")


def test_a_project_that_is_made_to_be_in_the_way_is_no_obstacle(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert judge(tmp_path, ".git/config")
    assert not judge(tmp_path, "main.py")


@pytest.mark.parametrize(
    "config",
    [
        "[core] hooksPath = scripts/git\n",
        "[CORE]HOOKSPATH=scripts/git",
        '[core]\n\thooksPath = "scripts/git" ; of the project\n',
        "[core]\n\thooksPath = scr\\\nipts/git # joined\n",
        "[core]\r\n\thooksPath = scripts/git\r\n",
        '[core]\n\thooksPath = scripts/"git"\n',
        '[user] name = "a \\" b"\n[core "x"] hooksPath = scripts/git\n',
    ],
)
def test_the_folder_of_hooks_is_found_however_git_lets_it_be_written(tmp_path, config):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(config, newline="")

    assert judge(tmp_path, "scripts/git/pre-commit")
    assert not judge(tmp_path, "scripts/other")


def test_git_agrees_about_where_the_hooks_are(tmp_path):
    """The spellings above are those of git, not of this test."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=60)
    config = tmp_path / ".git" / "config"
    for line in (
        "[core] hooksPath = a/hooks",
        '[core]\n\thooksPath = a/ho\\\nok"s" # x',
        "[CORE]HOOKSPATH=a/hooks",
    ):
        config.write_text(f"[core]\n\trepositoryformatversion = 0\n{line}\n")
        asked = ["git", "-C", str(tmp_path), "config", "--get", "core.hooksPath"]
        said = subprocess.run(asked, check=True, timeout=60, stdout=subprocess.PIPE, text=True).stdout
        assert said == "a/hooks\n"
        assert judge(tmp_path, "a/hooks/pre-commit")


def test_a_file_that_the_configuration_includes_counts_and_so_does_what_it_names(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(
        '[include]\n\tpath = ../shared.inc\n[includeIf "onbranch:x"] path = ../later.inc\n'
    )
    (tmp_path / "shared.inc").write_text("[core]\n\thooksPath = scripts/git\n[include] path = shared.inc\n")

    for path in ("shared.inc", "later.inc", "scripts/git/pre-commit"):
        assert judge(tmp_path, path), path
    assert not judge(tmp_path, "other.inc")


@pytest.mark.parametrize(
    "line",
    [
        '[filter "x"] clean = ./tools/run.sh %f',
        "[alias] x = !tools/run.sh",
        "[core] fsmonitor = tools/run.sh",
        '[diff "x"] command = "sh tools/run.sh"',
        "[core] sshCommand = 'tools/run.sh' -v",
    ],
)
def test_a_file_that_the_configuration_runs_counts_before_and_after_it_is_there(tmp_path, line):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f'{line}\n[remote "origin"] url = ..\n[core] worktree = .\n')

    assert judge(tmp_path, "tools/run.sh")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "run.sh").write_text("")
    assert judge(tmp_path, "tools/run.sh")
    assert not judge(tmp_path, "tools/other.sh")
    assert not judge(tmp_path, "README")


def test_the_configuration_of_a_worktree_counts(tmp_path):
    store = tmp_path / "store"
    (store / "worktrees" / "a").mkdir(parents=True)
    work = tmp_path / "work"
    work.mkdir()
    (work / ".git").write_text(f"gitdir: {store}/worktrees/a\n")
    (store / "worktrees" / "a" / "commondir").write_text("../..\n")
    (store / "worktrees" / "a" / "config.worktree").write_text("[core] hooksPath = one\n")
    (store / "config").write_text("[core] hooksPath = two\n")

    assert judge(work, "one/pre-commit")
    assert judge(work, "two/pre-commit")
    assert not judge(work, "three/pre-commit")


@pytest.mark.parametrize(
    ("link", "target", "written"),
    [
        (".git/hooks", "scripts", "scripts/pre-commit"),
        (".git/hooks/pre-commit", "tools/check.sh", "tools/check.sh"),
        (".claude", "shared/claude", "shared/claude/settings.json"),
        (".claude/skills/deploy/SKILL.md", "docs/deploy.md", "docs/deploy.md"),
        (".github/workflows", "ci", "ci/build.yml"),
        ("package.json", "web/manifest", "web/manifest"),
    ],
)
def test_what_an_execution_file_links_to_counts_by_its_other_name(tmp_path, link, target, written):
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / target)

    assert judge(tmp_path, written)
    assert not judge(tmp_path, "src/main.py")


def test_a_large_store_of_a_program_does_not_hide_a_link(tmp_path):
    for folder in (".git/objects", ".yarn/cache"):
        (tmp_path / folder).mkdir(parents=True)
        for number in range(1100):
            (tmp_path / folder / str(number)).touch()
    (tmp_path / ".husky").symlink_to(tmp_path / "scripts")

    assert judge(tmp_path, "scripts/pre-commit")
