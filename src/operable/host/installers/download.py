"""`download`: a program, plain or in an archive (tar, zip; compressed with gzip, bzip2 or xz), into a private folder.

Fetched whole and checked against `verify_sha256` (a download without one is refused unless unpinned ones are allowed). Only
`extract_bin` is taken out of an archive, so that nothing else in it can be written anywhere; a link in its place is refused.
"""

import os

from operable.host.launch.fetch import fetch
from operable.host.launch.installer import Installer, InstallJob
from operable.host.launch.unpack import place


def _install(job: InstallJob) -> list[str]:
    fetched = os.path.join(job.prefix, "download")
    fetch(job, fetched)
    folder = os.path.join(job.prefix, "bin")
    os.makedirs(folder, mode=0o755)
    place(fetched, job.install.extract_bin or job.name, os.path.join(folder, job.name))
    os.unlink(fetched)
    return [folder]


INSTALLER = Installer("download", _install)
