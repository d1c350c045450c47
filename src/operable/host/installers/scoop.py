"""`scoop`: Scoop, on Windows; for the user, without privilege.

Runs `scoop install PACKAGE`.
"""

from operable.host.launch.installer import Installer, InstallJob


def _install(job: InstallJob) -> list[str]:
    job.run(["scoop", "install", job.package], inherit=("SCOOP", "SCOOP_GLOBAL"))
    return []


INSTALLER = Installer("scoop", _install, systems=("windows",), program="scoop")
