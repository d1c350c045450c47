"""A repository whose configuration runs programs, and aliases and extensions in its folder."""

import subprocess

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["api", "user"],
    ["issue", "list"],
    ["pr", "list"],
    ["run", "list"],
    ["repo", "view"],
    ["issue", "list", "--repo", "a/b"],
    ["pr", "view"],
    ["pr", "view", "1", "--repo", "a/b"],
    ["pr", "checks"],
    ["run", "view", "1"],
    ["run", "log", "1", "--failed"],
    ["pr", "create", "--title", "it", "--dry-run"],
    ["pr", "merge", "1", "--dry-run"],
    ["send", "repos/a/b/issues", "--body", "{}", "--dry-run"],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    scene.write("$(trap)", "a name that a shell would run")
    scene.write("poem.txt", "one\n")
    for words in (
        ["init", "-q"],
        ["remote", "add", "origin", "https://github.com/a/b"],
        *(["config", f"core.{name}", trap] for name in ("fsmonitor", "pager", "sshCommand", "editor")),
        *(["config", f"alias.{name}", f"!{trap}"] for name in ("remote", "config", "rev-parse")),
        ["config", "credential.helper", f"!{trap}"],
    ):
        subprocess.run(["git", *words], cwd=scene.project, check=True, timeout=30)
    scene.write(".config/gh/config.yml", f"pager: {trap}\nbrowser: {trap}\naliases: {{issue: '!{trap}'}}\n")
    scene.script(".local/share/gh/extensions/gh-issue/gh-issue")
    scene.env |= {"GH_TOKEN": "none", "PAGER": trap, "BROWSER": trap, "HTTPS_PROXY": "http://127.0.0.1:9"}
