"""A disk of its own for one command: full, read-only, or without locks, as it may happen to anybody's home.

Other conditions than CONDITIONS: "one page left", "some room" (for a small file, not for a large one), "no names" (bytes are
left, but no file can be made), and "sound", for commands that fill and free the disk themselves.

`python -m tests.flow.disks SPEC` runs inside a mount namespace that `with_disk` makes: it mounts a small tmpfs, prepares it,
breaks it, runs the command under test, repairs the disk, and looks at what is left. Nothing of it reaches the machine.
"""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

CONDITIONS = ("full", "read-only", "no locks")
_SIZE = "4m"
_NAMES = 1000
_ROOM = {
    "full": 0,
    "one page left": 8192,
    "a single page": 4096,
    "some room": 256 * 1024,
}  # bytes that are left
# The kernel's answer on mounts without locks (NFS without lockd); Python's own function gives it.
_NO_LOCKS = f"""import fcntl
def flock(*_): raise OSError({errno.ENOLCK}, "No locks available")
fcntl.flock = flock
"""


def with_disk(
    disk: Path,
    condition: str,
    *,
    before: list[list[str]],
    command: list[str],
    after: list[list[str]],
    **options: Any,
) -> dict[str, Any]:
    """The outcome of the command, and of what was asked before it and after the repair: [status, stdout, stderr] each.

    Commands of ours run as forks (`tests.cli.forks`): a test asks for a dozen, and none of them is about the start.
    """
    from tests.cli import forks  # not for the process that runs this file
    from tests.cli.drive import PROGRAM

    disk.mkdir(exist_ok=True)
    names = {PROGRAM: forks.stand_in(PROGRAM, forks.OPERABLE)}
    spec = {
        "disk": str(disk),
        "condition": condition,
        "before": [[names.get(words[0], words[0]), *words[1:]] for words in before],
        "command": [names.get(command[0], command[0]), *command[1:]],
        "after": [[names.get(words[0], words[0]), *words[1:]] for words in after],
        **options,
    }
    privately = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        *([] if os.geteuid() == 0 else ["--map-root-user"]),
    ]
    done = subprocess.run(
        [*privately, sys.executable, "-m", "tests.flow.disks", json.dumps(spec)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _main(spec: dict[str, Any]) -> None:
    disk = spec["disk"]
    names = f",nr_inodes={_NAMES}" if spec["condition"] in ("no names", "sound") else ""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SIZE}{names}", "tmpfs", disk], check=True)
    before = [_run(words, spec) for words in spec["before"]]
    shim = Path(spec["cwd"]) / "shim"
    env = {}
    if spec["condition"] in _ROOM:
        fill(disk, _ROOM[spec["condition"]])
    elif spec["condition"] == "no names":
        take_names(disk)
    elif spec["condition"] == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    elif spec["condition"] == "no locks":
        shim.mkdir(exist_ok=True)
        (shim / "sitecustomize.py").write_text(_NO_LOCKS)
        env = {"PYTHONPATH": str(shim)}
    command = _run(spec["command"], spec, env)
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    free(disk)
    after = [_run(words, spec) for words in spec["after"]]
    left = sorted(str(path.relative_to(disk)) for path in Path(disk).rglob("*"))
    print(json.dumps({"before": before, "command": command, "after": after, "left": left}))


def fill(disk: str, room: int = 0) -> None:
    """Leave so many bytes."""
    with open(Path(disk, "fill"), "wb", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    os.truncate(Path(disk, "fill"), os.stat(Path(disk, "fill")).st_size - room)


def take_names(disk: str) -> None:
    """Leave bytes, but nothing that a new file could be: what a disk with too many small files says."""
    folder = Path(disk, "names")
    folder.mkdir()
    try:
        for number in range(_NAMES):
            (folder / str(number)).touch()
    except OSError as problem:
        if problem.errno == errno.ENOSPC:
            return
        raise
    raise AssertionError("the disk took every name")


def free(disk: str) -> None:
    """Take away what filled the disk."""
    Path(disk, "fill").unlink(missing_ok=True)
    shutil.rmtree(Path(disk, "names"), ignore_errors=True)


def _run(words: list[str], spec: dict[str, Any], env: dict[str, str] | None = None) -> list[Any]:
    words = [word.replace("DISK", spec["disk"]) for word in words]
    done = subprocess.run(
        words,
        cwd=spec["cwd"],
        env={**os.environ, **spec["env"], **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return [done.returncode, done.stdout, done.stderr]


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))
