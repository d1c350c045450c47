"""`vendored`: a program that comes with the manifest.

`path` is relative to the manifest's folder, must stay inside of it (links included), exist and be executable. Nothing is
copied: the program is run where it is.
"""

import os

from operable.host.launch.installer import Installer, InstallJob, MethodFailed


def _install(job: InstallJob) -> list[str]:
    path = job.install.path or ""
    if job.folder is None:
        raise MethodFailed("the manifest has no folder that could contain a vendored program")
    folder = os.path.realpath(job.folder)
    real = os.path.realpath(os.path.join(folder, path))
    if os.path.isabs(path) or os.path.commonpath([folder, real]) != folder:
        raise MethodFailed(f"{path!r} is not inside the folder of the manifest")
    if not os.path.isfile(real):
        raise MethodFailed(f"there is no file {path!r} beside the manifest")
    if not os.access(real, os.X_OK):
        raise MethodFailed(f"{path!r} is not executable")
    return [real]


INSTALLER = Installer("vendored", _install)
