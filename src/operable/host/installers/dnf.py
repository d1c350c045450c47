"""`dnf`: RPM packages of Fedora and its relatives. Needs root.

Runs `dnf install -y --setopt=install_weak_deps=False PACKAGE`.
"""

from operable.host.launch.installer import Installer, InstallJob


def _install(job: InstallJob) -> list[str]:
    job.run(["dnf", "install", "-y", "--setopt=install_weak_deps=False", job.package])
    return []


INSTALLER = Installer("dnf", _install, systems=("linux",), program="dnf", privileged=True)
