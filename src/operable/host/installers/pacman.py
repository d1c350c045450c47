"""`pacman`: packages of Arch Linux. Needs root.

Runs `pacman -S --noconfirm --needed -- PACKAGE`.
"""

from operable.host.launch.installer import Installer, InstallJob


def _install(job: InstallJob) -> list[str]:
    job.run(["pacman", "-S", "--noconfirm", "--needed", "--", job.package])
    return []


INSTALLER = Installer("pacman", _install, systems=("linux",), program="pacman", privileged=True)
