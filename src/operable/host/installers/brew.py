"""`brew`: Homebrew, on macOS and Linux.

Runs `brew install --quiet -- PACKAGE` without questions, updates and analytics. Homebrew keeps its programs in its own
prefix, which is asked for, so that it need not be on the search path.
"""

from operable.host.launch.installer import Installer, InstallJob

_QUIET = {
    "NONINTERACTIVE": "1",
    "HOMEBREW_NO_ANALYTICS": "1",
    "HOMEBREW_NO_AUTO_UPDATE": "1",
    "HOMEBREW_NO_ENV_HINTS": "1",
}


def _install(job: InstallJob) -> list[str]:
    job.run(["brew", "install", "--quiet", "--", job.package], env=_QUIET, inherit=("HOMEBREW_*",))
    prefix = job.run(["brew", "--prefix"], env=_QUIET, inherit=("HOMEBREW_*",)).text.strip()
    return [f"{prefix}/bin", *job.machine.folders()] if prefix.startswith("/") else []


INSTALLER = Installer("brew", _install, systems=("darwin", "linux"), program="brew")
