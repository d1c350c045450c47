"""A copy of the tree in which the tests run while one module of it is broken (`tools/mutants.py`).

The copy has commands of its own and the packages of our `.venv`. No start writes bytecode by the time of a source: a module
that was broken and restored within one second would be taken from it. For many breaks bytecode is made once, by the content
of each source instead, so that a start compiles the broken module and nothing else.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tools.mutant_plugin import TIME_UP

# What all tests of one break may take by the clock, whatever the plugin says; the limit of each that asks for none.
_LONGEST = 600.0
_EACH = 100
# So many files of tests are asked before the others are collected.
_NEAREST = 3
# The exit codes of pytest: all passed, no test was to be run, and that of our plugin.
_PASSED = (0, 5, TIME_UP)
_COMPILED = ("src", "tests", "tools", "examples")


class MutantTree:
    def __init__(self, origin: Path, folder: Path, *, compiled: bool, seconds: float) -> None:
        self.folder = folder
        self._seconds = seconds
        self._failing: set[str] = set()
        self._log = folder.parent / "report.jsonl"
        self._copy(origin)
        self._equip(Path(sys.prefix), folder / ".venv")
        path = f"{folder}/.venv/bin{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {
            "PATH": path,
        }
        if not compiled:
            self.env["PYTHONDONTWRITEBYTECODE"] = "1"
        self._look()
        if compiled:
            self._python("-m", "compileall", "-q", "--invalidation-mode", "checked-hash", *_COMPILED)

    def judge(self, module: Path, broken: bytes, tests: Sequence[Path]) -> str:
        """Which test notices it, or that it survived. The nearest files are asked first and alone: most need no others."""
        path = self.folder / module
        source = path.read_bytes()
        path.write_bytes(broken)
        try:
            ran_out = False
            for part in filter(None, (tests[:_NEAREST], tests[_NEAREST:])):
                left_out = [f"--deselect={test}" for test in sorted(self._failing)]
                limits = ["-x", f"--cpu-seconds={self._seconds}"]
                ended = self._run([*limits, *left_out, *map(str, part)], _LONGEST)
                if ended not in _PASSED:
                    return f"noticed by {next(self._failed(), 'the start or the end of the tests')}"
                ran_out |= ended == TIME_UP
        finally:
            path.write_bytes(source)
        return "survived, and its time was up" if ran_out else "survived"

    def failing(self, tests: Iterable[str]) -> set[str]:
        """Which tests, and files of tests that could not be collected, fail without a break. They judge no other one."""
        found: set[str] = set()
        files = {test for test in tests if "::" not in test}
        for words, part in ((["--collect-only"], files), ([], set(tests) - files)):
            if part and self._run([*words, *sorted(part)], None) not in _PASSED:
                found.update(self._failed())
        found -= self._failing
        self._failing |= found
        return found

    def _run(self, words: Sequence[str], timeout: float | None) -> int | None:
        """The exit code of pytest; None if it did not end in time."""
        self._log.unlink(missing_ok=True)
        always = ["-q", "-p", "no:cacheprovider", "-p", "tools.mutant_plugin", f"--timeout={_EACH}"]
        process = subprocess.Popen(
            [".venv/bin/python", "-m", "pytest", *always, f"--report-log={self._log}", *words],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(timeout)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return None

    def _failed(self) -> Iterator[str]:
        lines = self._log.read_text("utf-8").splitlines() if self._log.exists() else []
        reports = (json.loads(line) for line in lines if line.endswith("}"))
        return (report["nodeid"] for report in reports if report.get("outcome") == "failed")

    def _copy(self, origin: Path) -> None:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=origin,
            capture_output=True,
            check=True,
        )
        for name in filter(None, os.fsdecode(listed.stdout).split("\0")):
            if (origin / name).is_file():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(origin / name, self.folder / name)

    def _look(self) -> None:
        """Nothing would be noticed if the tests ran our own sources."""
        used = self._python("-c", "import operable; print(operable.__file__)").strip()
        if not Path(used).is_relative_to(self.folder):
            sys.exit(f"The copy of the tree runs other sources: {used}")

    def _python(self, *words: str) -> str:
        done = subprocess.run(
            [".venv/bin/python", *words],
            cwd=self.folder,
            env=self.env,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout

    def _equip(self, ours: Path, theirs: Path) -> None:
        """A virtual environment like ours: the same packages, the commands rewritten, the sources of the copy first."""
        packages = Path("lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
        (theirs / packages).mkdir(parents=True)
        (theirs / "bin").mkdir()
        shutil.copy2(ours / "pyvenv.cfg", theirs)
        (theirs / packages / "0-copy.pth").write_text(f"{self.folder / 'src'}\n")
        (theirs / packages / "1-ours.pth").write_text(
            f"import site; site.addsitedir({str(ours / packages)!r})\n"
        )
        for path in (ours / "bin").iterdir():
            if path.name.startswith("python"):
                os.symlink(os.path.realpath(path), theirs / "bin" / path.name)
            elif path.is_file():
                text = path.read_bytes().replace(os.fsencode(ours / "bin"), os.fsencode(theirs / "bin"))
                (theirs / "bin" / path.name).write_bytes(text)
                (theirs / "bin" / path.name).chmod(0o755)
