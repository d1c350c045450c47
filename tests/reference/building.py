"""Builds the compiled reference tools, once for each state of their sources, below build/ (which git ignores).

Whoever comes first builds, in this process or another: one build at a time for each language, under a lock that the kernel
takes back from a process that dies. Nothing here waits without bound. Whoever waits for the lock gives up when any build
would have to be over. A builder that does not end is ended with all of its children, and what it has said is the error:
cargo, for one, waits for every other cargo of this user, in this checkout or another, and says so. A build that failed is
not tried again in the same run, or each of a hundred tests would wait for it anew.

The builders see the caches of whoever runs the tests, not the private home that tests have.
"""

import fcntl
import hashlib
import os
import pwd
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[2] / "build" / "reference"
# Of whoever runs the tests, whose home the tests do not have: it has the standard library compiled, by any earlier run.
GO_CACHE = Path(pwd.getpwuid(os.getuid()).pw_dir, ".cache", "go-build")
# Some ten seconds of work; a registry that answers slowly, or somebody else's cargo, must not hold the tests up for longer.
BUILD_TIMEOUT = 240.0
# Longer than any build: whoever has the lock then is stuck.
LOCK_TIMEOUT = BUILD_TIMEOUT + 60.0
_POLL = 0.05
# std::fs::File::try_lock; cmp.Or
RUST_MINIMUM = (1, 89)
GO_MINIMUM = (1, 22)


def built(folder: Path) -> Path:
    """The binary of the tool in this folder; skips the test where its toolchain is too old, fails it where the build does."""
    language = folder.name
    place = CACHE / f"{language}-{state(folder)}"
    binary = place / f"ref-{language}"
    if not binary.exists():
        place.mkdir(parents=True, exist_ok=True)
        with alone(CACHE / f"{language}.lock"):
            if not binary.exists():
                _build(language, folder, binary)
    return binary


def state(folder: Path) -> str:
    """What the binary is made of, in short."""
    sources = sorted(path for path in folder.rglob("*") if path.is_file() and "target" not in path.parts)
    return hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in sources)).hexdigest()[
        :16
    ]


@contextmanager
def alone(path: Path, timeout: float = LOCK_TIMEOUT) -> Iterator[None]:
    """One at a time, among all workers and runs. The file says who it is."""
    deadline = time.monotonic() + timeout
    with path.open("a+") as file:
        while not _locked(file.fileno()):
            if time.monotonic() > deadline:
                file.seek(0)
                pytest.fail(
                    f"{path} has been locked for {timeout:g} s, by process {file.read()}", pytrace=False
                )
            time.sleep(_POLL)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _build(language: str, folder: Path, binary: Path) -> None:
    failed = binary.with_suffix(".failed")
    # All workers of one run have this in common.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    if failed.exists() and failed.read_text("utf-8").startswith(f"{run}\n"):
        pytest.fail(failed.read_text("utf-8").partition("\n")[2], pytrace=False)
    new = binary.with_suffix(".new")
    problem = {"go": _build_go, "rust": _build_rust}[language](folder, new)
    if problem is not None:
        failed.write_text(f"{run}\n{problem}", "utf-8")
        pytest.fail(problem, pytrace=False)
    new.rename(binary)


def _build_go(folder: Path, binary: Path) -> str | None:
    _require("go", ["go", "env", "GOVERSION"], GO_MINIMUM)
    settings = {
        "GOCACHE": str(GO_CACHE),
        "GOTOOLCHAIN": "local",
        "GOPROXY": "off",
        "GOFLAGS": "-mod=readonly",
    }
    return make(["go", "build", "-o", str(binary), "."], folder, settings)


def _build_rust(folder: Path, binary: Path) -> str | None:
    _require("cargo", ["cargo", "--version"], RUST_MINIMUM)
    target = CACHE / "rust-target"
    problem = make(["cargo", "build", "--locked"], folder, {"CARGO_TARGET_DIR": str(target)})
    if problem is None:
        binary.write_bytes((target / "debug" / "ref-rust").read_bytes())
        binary.chmod(0o755)
    return problem


def _require(program: str, command: list[str], minimum: tuple[int, int]) -> None:
    text = subprocess.check_output(command, text=True, env=_environment({}), timeout=BUILD_TIMEOUT)
    found = re.search(r"(\d+)\.(\d+)", text)
    if found is None or (int(found[1]), int(found[2])) < minimum:
        pytest.skip(f"{program} is older than {minimum[0]}.{minimum[1]}: {text.strip()}")


def make(
    command: list[str], folder: Path, settings: dict[str, str], timeout: float = BUILD_TIMEOUT
) -> str | None:
    """Run a builder to its end; why there is nothing built, or None. Nothing of it is left in either case."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(settings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=timeout)
        return None if process.returncode == 0 else f"{command[0]} failed:\n{said}"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate(timeout=timeout)
        return f"{command[0]} did not end within {timeout:g} s; it said:\n{said}"
    finally:
        if process.poll() is None:  # we are being interrupted ourselves
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout)


def _environment(settings: dict[str, str]) -> dict[str, str]:
    # rustup finds its toolchains by HOME
    return os.environ | {"HOME": pwd.getpwuid(os.getuid()).pw_dir} | settings
