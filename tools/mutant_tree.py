"""A copy of the tree in which the tests run while one module of it is broken (`tools/mutants.py`).

The copy has commands of its own and the packages of our `.venv`. No start writes bytecode: a module that was broken and
restored within one second would be taken from it. For many breaks bytecode is made once, by the content of each source
instead of its time, so that a start compiles the broken module and nothing else.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# What all tests of one break may take; each has the limit that it has in every run.
_LONGEST = 900.0
# How many tests that fail without the break are left out before it is not judged.
_ATTEMPTS = 3
_COMPILED = ("src", "tests", "tools", "examples")


class MutantTree:
    def __init__(self, origin: Path, folder: Path, *, compiled: bool) -> None:
        self.folder = folder
        self._log = folder.parent / "report.jsonl"
        self._sound: dict[str, bool] = {}
        self._copy(origin)
        self._equip(Path(sys.prefix), folder / ".venv")
        path = f"{folder}/.venv/bin{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {
            "PATH": path,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._look()
        if compiled:
            self._python("-m", "compileall", "-q", "--invalidation-mode", "checked-hash", *_COMPILED)

    def judge(self, module: Path, broken: bytes, tests: Sequence[Path]) -> str | None:
        """Whether it is noticed or survived; None when these tests do not pass without the break."""
        path = self.folder / module
        source = path.read_bytes()
        for _ in range(_ATTEMPTS):
            unsound = [test for test, passes in self._sound.items() if not passes]
            path.write_bytes(broken)
            try:
                failed = self._run([*map(str, tests), *(f"--deselect={test}" for test in unsound)])
            finally:
                path.write_bytes(source)
            if failed is None:
                return "survived"
            if self._is_sound(failed or str(tests[0])):
                return "noticed"
        return None

    def _is_sound(self, test: str) -> bool:
        """Whether a test passes without a break."""
        if test not in self._sound:
            self._sound[test] = self._run([test]) is None
        return self._sound[test]

    def _run(self, tests: Sequence[str]) -> str | None:
        """The first of the tests that fails, "" when none of them could begin; None when all pass."""
        self._log.unlink(missing_ok=True)
        words = [
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            f"--report-log={self._log}",
        ]
        try:
            done = subprocess.run(
                [".venv/bin/python", "-m", "pytest", *words, *tests],
                cwd=self.folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_LONGEST,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ""
        return None if done.returncode == 0 else self._failed()

    def _failed(self) -> str:
        lines = self._log.read_text("utf-8").splitlines() if self._log.exists() else []
        reports = map(json.loads, lines)
        return next((report["nodeid"] for report in reports if report.get("outcome") == "failed"), "")

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
