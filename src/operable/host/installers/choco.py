"""`choco`: Chocolatey, on Windows.

Runs `choco install PACKAGE --yes --no-progress`. Chocolatey asks for an elevated shell itself where a package needs one.
"""

from operable.host.launch.installer import Installer, InstallJob


def _install(job: InstallJob) -> list[str]:
    job.run(["choco", "install", job.package, "--yes", "--no-progress"], inherit=("ChocolateyInstall",))
    return []


INSTALLER = Installer("choco", _install, systems=("windows",), program="choco")
