"""`apt`: Debian packages. Needs root.

Runs `apt-get install -y --no-install-recommends -- PACKAGE`, never asking, and waits a minute at most for another apt-get.
The package lists are used as they are: updating them is up to the administrator of the machine.
"""

from operable.host.launch.installer import Installer, InstallJob


def _install(job: InstallJob) -> list[str]:
    argv = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=60", "install", "-y", "--no-install-recommends", "--"]
    job.run([*argv, job.package], env={"DEBIAN_FRONTEND": "noninteractive"}, inherit=("APT_CONFIG",))
    return []


INSTALLER = Installer("apt", _install, systems=("linux",), program="apt-get", privileged=True)
