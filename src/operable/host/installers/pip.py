"""`pip`: a Python package, in a virtual environment of its own unless the manifest says `user: true`.

Runs `python -m venv PREFIX` and `PREFIX/bin/python -m pip install … -- PACKAGE`, with the Python that runs Operable. If the
package needs another one, the oldest that fits is taken of those on the search path (`python3.12`), of pyenv and of uv. With
`user: true` the package goes to the user's own packages, where distributions that manage Python themselves refuse it.
"""

import os
import re
import sys
from collections.abc import Iterator
from glob import glob

from operable.host.launch.installer import Installer, InstallJob, MethodFailed

_QUIET = ["--disable-pip-version-check", "--no-input", "--quiet"]
_INHERIT = ("PIP_*", "REQUESTS_CA_BUNDLE")
# How pip says that a release, or the file of one, is for another Python.
_REFUSED = re.compile(r"Requires-Python ([^;\n]+)|requires a different Python: \S+ not in '([^']+)'")
_CLAUSE = re.compile(r"(>=|<=|==|~=|>|<)\s*3(?:\.(\d+))?(?:\.\S*)?|(<)\s*4(?:\.0)*")
_MINORS = range(8, 40)
# Where those have their Pythons who install several: pyenv and uv.
_KEPT = ("{PYENV_ROOT}/versions/*/bin", "~/.pyenv/versions/*/bin", "~/.local/share/uv/python/*/bin")


def _install(job: InstallJob) -> list[str]:
    # A virtual environment knows no user packages, and one made by another would go away with it.
    python: str = getattr(sys, "_base_executable", None) or sys.executable
    if job.install.user:
        job.run([python, "-m", "pip", "install", "--user", *_QUIET, "--", job.package], inherit=_INHERIT)
        base = job.run([python, "-m", "site", "--user-base"]).text.strip()
        return [os.path.join(base, "bin")]
    try:
        return _install_with(python, job)
    except MethodFailed as refused:
        wanted = [first or second for first, second in _REFUSED.findall(str(refused))]
        if not wanted:
            raise
        for minor, other in _others(job, wanted):
            job.say(f"{job.package} needs Python {wanted[-1].strip()}: taking {other}")
            try:
                return _install_with(other, job)
            except MethodFailed as failed:
                if not _REFUSED.search(str(failed)):
                    raise MethodFailed(f"with Python 3.{minor}: {failed}") from failed
        raise MethodFailed(_missing(job.package, wanted[-1].strip())) from refused


def _install_with(python: str, job: InstallJob) -> list[str]:
    job.run([python, "-m", "venv", "--clear", job.prefix])
    job.run(
        [f"{job.prefix}/bin/python", "-m", "pip", "install", *_QUIET, "--", job.package], inherit=_INHERIT
    )
    return [f"{job.prefix}/bin"]


def _missing(package: str, wanted: str) -> str:
    oldest = re.search(r"3\.\d+", wanted)
    name = f"python{oldest[0]}" if oldest else "such a python3"
    own = ".".join(map(str, sys.version_info[:3]))
    return (
        f"{package} needs Python {wanted}; this is {own}, and no other that fits was found."
        f" Install one so that `{name}` is on the PATH, with its venv module, and try again"
    )


def _others(job: InstallJob, wanted: list[str]) -> Iterator[tuple[int, str]]:
    """The Pythons of this machine that a release may take, with the minor version, the oldest first, each version once."""
    root = os.environ.get("PYENV_ROOT", "~/.pyenv")
    places = [os.path.expanduser(place.replace("{PYENV_ROOT}", root)) for place in _KEPT]
    folders = [*job.machine.folders(), *(folder for place in places for folder in sorted(glob(place)))]
    for minor in _MINORS:
        if minor == sys.version_info.minor or not any(_takes(spec, minor) for spec in wanted):
            continue
        paths = (os.path.join(folder, f"python3.{minor}") for folder in folders)
        working = next((path for path in paths if os.access(path, os.X_OK) and _works(job, path)), None)
        if working is not None:
            yield minor, working


def _works(job: InstallJob, path: str) -> bool:
    """Whether it starts, and can make a virtual environment: a shim of pyenv may do neither."""
    try:
        job.run([path, "-c", "import venv, ensurepip"])
    except MethodFailed:
        return False
    return True


def _takes(specifier: str, minor: int) -> bool:
    """Whether Python 3.MINOR fits, as far as the minor version says it; pip has the last word."""
    for clause in specifier.split(","):
        match = _CLAUSE.fullmatch(clause.strip())
        if match is None or match[3]:
            continue
        sign, number = match[1], int(match[2] or 0)
        fits = {
            ">=": minor >= number,
            "~=": minor >= number,
            ">": minor >= number,
            "<=": minor <= number,
            "<": minor < number,
            "==": minor == number,
        }
        if not fits[sign]:
            return False
    return True


INSTALLER = Installer("pip", _install)
