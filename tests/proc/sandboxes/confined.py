"""Run a Python script as an agent is run: system root, one writable mount, an empty home, whole tree supervised."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from operable.proc.command import PreparedCommand
from operable.proc.run import CommandOutput, output
from operable.proc.sandbox import cgroup
from operable.proc.sandbox.confinement import Confinement, Enforcement, ResourceLimits, Tunnel, sandbox
from operable.proc.spawn import prepare

PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
BOX = sandbox("bubblewrap")
HOME = "/home/agent"
WORK = "/workspace"


@contextmanager
def command_for(
    code: str,
    work: Path,
    *arguments: str,
    limits: ResourceLimits | None = None,
    tunnel: Tunnel | None = None,
    **options,
) -> Iterator[tuple[PreparedCommand, Enforcement]]:
    limits = limits or ResourceLimits()
    wanted = {
        "pids": limits.pids,
        "memory": None if limits.memory_mb is None else limits.memory_mb * 1024 * 1024,
    }
    groups = cgroup.prepare({name: value for name, value in wanted.items() if value is not None})
    confinement = Confinement(
        cwd=WORK,
        writable={WORK: str(work)},
        readable={sys.base_prefix: sys.base_prefix},
        root="system",
        home=HOME,
        limits=limits,
        groups=groups,
        tunnel=tunnel,
        **options,
    )
    env = {"HOME": HOME, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        command = prepare([PYTHON, "-I", "-S", "-c", code, *arguments], env=env)
        yield BOX.wrap(command._replace(tree=True), confinement), BOX.enforce(confinement)
    finally:
        cgroup.remove(groups)


def confined(code: str, work: Path, *arguments: str, stdin: bytes | None = None, **options) -> CommandOutput:
    with command_for(code, work, *arguments, **options) as (command, _):
        return output(command, stdin=stdin, timeout=200)
