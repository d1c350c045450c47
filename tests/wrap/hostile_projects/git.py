"""A repository whose configuration names a program for everything that git can run."""

import os
import subprocess

from tests.wrap.hostile_projects import Scene

HOOKS = (
    "pre-commit prepare-commit-msg commit-msg post-commit pre-push post-index-change reference-transaction post-checkout"
    " pre-auto-gc fsmonitor-watchman push-to-checkout"
).split()
CALLS = (
    ["status"],
    ["status", "--ignored"],
    ["diff"],
    ["diff", "--patch"],
    ["diff", "--staged"],
    ["diff", "HEAD~1", "HEAD", "--patch"],
    ["log"],
    ["show", "--patch"],
    ["blame", "poem.txt"],
    ["ls-files"],
    ["branch"],
    ["tag"],
    ["stash", "list"],
    ["stash", "push", "--dry-run"],
    ["stash", "push", "--include-untracked", "--dry-run"],
    ["stash", "apply", "--dry-run"],
    ["stash", "pop", "--dry-run"],
    ["stash", "drop", "--dry-run"],
    ["show", "HEAD:poem.txt"],
    ["show", ":poem.txt"],
    ["show", "HEAD:"],
    ["worktree", "list"],
    ["worktree", "add", "near", "--dry-run"],
    ["worktree", "remove", "wt", "--dry-run"],
    ["switch", "old", "--dry-run"],
    ["switch", "new", "--create", "--dry-run"],
    ["restore", "poem.txt", "--dry-run"],
    ["restore", "poem.txt", "--source", "HEAD~1", "--dry-run"],
    ["unstage", "staged.txt", "--dry-run"],
    ["merge", "side", "--dry-run"],
    ["merge", "conflicting", "--dry-run"],
    ["merge-abort", "--dry-run"],
    ["rebase", "side", "--dry-run"],
    ["rebase-abort", "--dry-run"],
    *(
        ["fetch", remote, "--prune", "--tags", "--dry-run"]
        for remote in ("origin", "near", "helped", "shell", "away", "mixed")
    ),
    ["fetch", "near", "main", "--dry-run"],
    *(
        ["pull", remote, "main", "--dry-run"]
        for remote in ("origin", "near", "helped", "shell", "away", "mixed")
    ),
    ["pull", "--dry-run"],
    ["clone", "./far.git", "copy", "--dry-run"],
    ["clone", "ext::./trap", "copy", "--dry-run"],
    ["add", "poem.txt", "--dry-run"],
    ["add", ".", "--dry-run"],
    ["commit", "m", "--all", "--dry-run"],
    ["init", ".", "--dry-run"],
    ["tag-create", "v2", "--dry-run"],
    ["push", "--dry-run"],
    ["push", "near", "main", "--dry-run"],
    ["push", "helped", "main", "--dry-run"],
    ["push", "away", "main", "--dry-run"],
    ["push", "shell", "main", "--dry-run"],
    ["push", "mixed", "main", "--dry-run"],
    ["push", "https://example.invalid/y.git", "main", "--dry-run"],
    ["push", "https://example.invalid/z.git", "main", "--dry-run"],
)
RAW = (
    ["git", "status"],
    ["git", "blame", "HEAD", "--", "poem.txt"],
    ["git", "push", "--dry-run", "origin", "main"],
)
# These answer although the filters are required and the text converter fails.
FINE = (
    *("status", "diff", "log", "show", "blame", "ls-files", "branch", "tag", "stash", "add", "commit"),
    *("worktree", "switch", "restore", "unstage", "merge", "rebase"),
)


def _git(scene: Scene, *words: str, cwd: str = ".") -> None:
    identity = ["-c", "user.name=m", "-c", "user.email=m@example.org", "-c", "protocol.file.allow=always"]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(
        ["git", *identity, *words],
        cwd=scene.project / cwd,
        env=env,
        check=True,
        capture_output=True,
        timeout=30,
    )


def lay(scene: Scene) -> None:
    _git(scene, "init", "-q", "-b", "main")
    for number, text in enumerate(("one\n", "one\ntwo\n")):
        scene.write("poem.txt", text)
        _git(scene, "add", "poem.txt")
        _git(scene, "commit", "-q", "-m", f"c{number}")
    _submodule(scene)
    _git(scene, "tag", "v1")
    scene.write("poem.txt", "stashed\n")
    _git(scene, "stash", "-q")
    _branches(scene)
    _git(scene, "init", "-q", "--bare", "far.git")
    _git(scene, "push", "-q", "./far.git", "main")
    trap = scene.script()
    scene.write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
    scene.write(".git/info/attributes", "* filter=evil diff=evil\n")
    for hook in HOOKS:
        scene.script(f"hooks/{hook}")
        scene.script(f".git/hooks/{hook}")
    scene.write(".git/more", f"[core]\n\tfsmonitor = {trap}\n\tpager = {trap}\n[diff]\n\texternal = {trap}\n")
    scene.write("far.git/objects/info/alternates", f"{scene.project}/.git/objects\n")
    _git(scene, "config", "core.alternateRefsCommand", trap, cwd="far.git")
    settings = {
        **{f"filter.evil.{key}": trap for key in ("clean", "smudge", "process")},
        **{
            f"core.{key}": trap
            for key in ("fsmonitor", "sshCommand", "askPass", "gitProxy", "editor", "pager")
        },
        **{f"alias.{name}": f"!{trap}" for name in ("status", "diff", "log", "config", "rev-parse")},
        **{f"pager.{name}": trap for name in ("status", "diff", "log", "blame")},
        "filter.evil.required": "true",
        "core.alternateRefsCommand": trap,
        "core.hooksPath": str(scene.project / "hooks"),
        "diff.evil.textconv": trap,
        "diff.evil.command": trap,
        "diff.external": trap,
        "gpg.program": trap,
        "gpg.ssh.program": trap,
        "log.showSignature": "true",
        "commit.gpgSign": "true",
        "push.gpgSign": "if-asked",
        "merge.evil.driver": trap,
        "merge.tool": trap,
        "sequence.editor": trap,
        "branch.main.remote": "near",
        "branch.main.merge": "refs/heads/main",
        "remote.near.fetch": "+refs/heads/*:refs/remotes/near/*",
        "remote.near.uploadpack": trap,
        "remote.near.proxy": "http://127.0.0.1:9",
        "credential.helper": f"!{trap}",
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
        "include.path": "more",
        "uploadpack.packObjectsHook": trap,
        "remote.origin.url": f"ext::{trap}",
        "remote.near.url": "./far.git",
        "remote.near.receivepack": trap,
        "remote.helped.url": "x",
        "remote.helped.vcs": "ext",
        "remote.shell.url": "ssh://127.0.0.1:9/x",
        "remote.away.url": "rewritten:x",
        f"url.ext::{trap} .insteadOf": "rewritten:",
        # An address that is a folder to git: for every use, and for pushes only.
        f"url.{scene.project}/far.git.insteadOf": "https://example.invalid/y.git",
        f"url.{scene.project}/far.git.pushInsteadOf": "https://example.invalid/z.git",
        "status.submoduleSummary": "true",
        "submodule.recurse": "true",
    }
    for name, value in settings.items():
        _git(scene, "config", name, value)
    # A folder beside a server: what protects from the one must not be left out for the other.
    for url in ("./far.git", f"http://127.0.0.1:{scene.port}/x.git"):
        _git(scene, "config", "--add", "remote.mixed.url", url)
    scene.write("poem.txt", "one\ntwo\nthree\n")
    scene.write("new.txt", "new\n")
    scene.env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def _branches(scene: Scene) -> None:
    """Two to merge, an older one, another work tree, and something that is staged."""
    _git(scene, "branch", "old", "HEAD~1")
    for name, file in (("side", "side.txt"), ("conflicting", "poem.txt")):
        _git(scene, "switch", "-q", "-c", name, "main")
        scene.write(file, f"{name}\n")
        _git(scene, "add", file)
        _git(scene, "commit", "-q", "-m", name)
    _git(scene, "switch", "-q", "main")
    scene.write("poem.txt", "one\ntwo\nfour\n")
    _git(scene, "add", "poem.txt")
    _git(scene, "commit", "-q", "-m", "on")
    _git(scene, "worktree", "add", "-q", "wt", "old")
    scene.write("staged.txt", "staged\n")
    _git(scene, "add", "staged.txt")


def lay_negotiation(scene: Scene) -> None:
    """A push that begins with a fetch: the address of the server is also the name of a remote, which is a folder."""
    far = scene.outside / "far.git"
    _git(scene, "init", "-q", "--bare", str(far))
    _git(scene, "init", "-q", "-b", "main")
    for text in ("one\n", "two\n"):
        scene.write("poem.txt", text)
        _git(scene, "add", "poem.txt")
        _git(scene, "commit", "-q", "-m", text.strip())
    _git(scene, "push", "-q", str(far), "main~1:refs/heads/main")
    server = f"ssh://far.invalid{far}"
    for name, value in {
        "remote.origin.url": server,
        "push.negotiate": "true",
        f"remote.{server}.url": str(far),
        f"remote.{server}.uploadpack": scene.script(),
    }.items():
        _git(scene, "config", name, value)
    # The ssh of the user, to a server that is here: `ssh [-o …] HOST COMMAND`.
    ssh = scene.outside / "ssh"
    ssh.write_text('#!/bin/sh\nfor command; do :; done\nexec sh -c "$command"\n')
    ssh.chmod(0o755)
    scene.env |= {
        "GIT_SSH_COMMAND": str(ssh),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def _submodule(scene: Scene) -> None:
    """Git starts itself in it, without anything that the caller has said on its command line."""
    _git(scene, "init", "-q", "-b", "main", "inner")
    scene.write("inner/a", "a\n")
    _git(scene, "add", "a", cwd="inner")
    _git(scene, "commit", "-q", "-m", "inner", cwd="inner")
    _git(scene, "submodule", "add", "-q", "./inner", "mod")
    _git(scene, "commit", "-q", "-m", "mod")
    trap = scene.script("inner-trap")
    scene.write("mod/.gitattributes", "* filter=evil\n")
    scene.write("mod/a", "changed\n")
    for key in ("clean", "process"):
        _git(scene, "config", f"filter.evil.{key}", trap, cwd="mod")
    _git(scene, "config", "filter.evil.required", "true", cwd="mod")
    _git(scene, "config", "core.fsmonitor", trap, cwd="mod")
