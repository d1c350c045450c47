"""The programs that tests and benchmarks run, and the Debian package that has each.

A test says `@pytest.mark.needs("rg")`, a benchmark module `NEEDS = ("rg", "jq")`. `python -m tests.needs tests` installs
what the files of that directory declare and this machine lacks, when it can: as root, with apt-get. What it cannot install
is not an error here: tests/conftest.py then skips the tests concerned and says so at the end.
"""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# program -> Debian package, "" where Debian has none. Add a line when a test needs another program.
PACKAGES = {
    "/lib/systemd/systemd-journal-remote": "systemd-journal-remote",
    "/usr/bin/python3": "python3",
    "apt-get": "apt",
    "bwrap": "bubblewrap",
    "cargo": "cargo",
    "curl": "curl",
    "dbus-daemon": "dbus-daemon",
    "docker": "docker.io",
    "fish": "fish",
    "flock": "util-linux",
    "gh": "gh",
    "git": "git",
    "go": "golang-go",
    "gpg": "gnupg",
    "grep": "grep",
    "ip": "iproute2",
    "journalctl": "systemd",
    "jq": "jq",
    "kubectl": "kubernetes-client",
    "lsblk": "util-linux",
    "node": "nodejs",
    "npm": "npm",
    "nsenter": "util-linux",
    "pass": "pass",
    "restic": "restic",
    "rg": "ripgrep",
    "setpriv": "util-linux",
    "sqlite3": "sqlite3",
    "ssh-keygen": "openssh-client",
    "systemctl": "systemd",
    "terraform": "",
    "unshare": "util-linux",
    "zsh": "zsh",
}
# A mirror that does not answer must not cost more than this; the tests concerned are then skipped, with the reason.
UPDATE_TIMEOUT = 120
INSTALL_TIMEOUT = 600


def missing(name: str) -> str | None:
    """Why a test that needs this program cannot run here, or None when it can."""
    package = PACKAGES[name]
    origin = f"Debian package {package}" if package else "Debian has no package of it"
    return None if shutil.which(name) else f"{name} is not installed ({origin})"


def declared(directory: Path) -> set[str]:
    """What the Python files below a directory say they need; read, not imported."""
    return {
        name for path in directory.rglob("*.py") for name in _declared_in(ast.parse(path.read_text("utf-8")))
    }


def _declared_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="needs"), args=names):
                yield from map(ast.literal_eval, names)
            case ast.Assign(targets=[ast.Name(id="NEEDS")], value=names):
                yield from ast.literal_eval(names)


def install(packages: list[str]) -> None:
    """Install Debian packages if this machine lets us; say what happens."""
    apt_get = shutil.which("apt-get")
    if apt_get is None or os.geteuid() != 0:
        print(
            f"[needs] not installed, and only root with apt-get could: {', '.join(packages)}", file=sys.stderr
        )
        return
    print(f"[needs] installing {', '.join(packages)}", file=sys.stderr, flush=True)
    options = ["-q", "-y", "-o", "DPkg::Lock::Timeout=60"]
    for timeout, arguments in (
        (UPDATE_TIMEOUT, ["update"]),
        (INSTALL_TIMEOUT, ["install", "--no-install-recommends", *packages]),
    ):
        try:
            subprocess.run(
                [apt_get, *options, *arguments],
                env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=True,
            )
        except subprocess.TimeoutExpired:
            print(f"[needs] apt-get {arguments[0]} took longer than {timeout} s", file=sys.stderr)
        except subprocess.CalledProcessError as error:
            print(f"[needs] apt-get {arguments[0]} failed: {error.stderr.strip()}", file=sys.stderr)


if __name__ == "__main__":
    wanted = {name for directory in sys.argv[1:] for name in declared(Path(directory))}
    if packages := sorted({PACKAGES[name] for name in wanted if PACKAGES[name] and missing(name)}):
        install(packages)
