"""`pip`: a Python package, in a virtual environment of its own unless the manifest says `user: true`.

Runs `python -m venv PREFIX` and `PREFIX/bin/python -m pip install … -- PACKAGE`, with the Python that runs Operable. With
`user: true` the package goes to the user's own packages, where distributions that manage Python themselves refuse it.
"""

import os
import sys

from operable.host.launch.installer import Installer, InstallJob

_QUIET = ["--disable-pip-version-check", "--no-input", "--quiet"]
_INHERIT = ("PIP_*", "REQUESTS_CA_BUNDLE")


def _install(job: InstallJob) -> list[str]:
    # A virtual environment knows no user packages, and one made by another would go away with it.
    python: str = getattr(sys, "_base_executable", None) or sys.executable
    if job.install.user:
        job.run([python, "-m", "pip", "install", "--user", *_QUIET, "--", job.package], inherit=_INHERIT)
        base = job.run([python, "-m", "site", "--user-base"]).text.strip()
        return [os.path.join(base, "bin")]
    job.run([python, "-m", "venv", job.prefix])
    job.run(
        [f"{job.prefix}/bin/python", "-m", "pip", "install", *_QUIET, "--", job.package], inherit=_INHERIT
    )
    return [f"{job.prefix}/bin"]


INSTALLER = Installer("pip", _install)
