"""`curl`: an installation script, fetched whole, checked, and only then run; never piped into a shell.

A script without `verify_sha256` is refused unless unpinned scripts are allowed. A script that matches its hash is run by the
interpreter that its first line names, else by /bin/sh, with PREFIX set to the private folder. Such scripts install where
they like: `PREFIX/bin`, the search path, `~/.local/bin` and `~/bin` are looked at afterwards. What a script leaves behind
when it fails half-way is its own.
"""

import os

from operable.host.launch.fetch import fetch
from operable.host.launch.installer import Installer, InstallJob, MethodFailed


def _install(job: InstallJob) -> list[str]:
    script = os.path.join(job.prefix, "install-script")
    fetch(job, script)
    with open(script, "rb") as file:
        start = file.read(64)
    if b"\0" in start or start.startswith(b"<"):
        raise MethodFailed("what was fetched is not a script")
    os.chmod(script, 0o700)
    argv = [script] if start.startswith(b"#!") else ["/bin/sh", script]
    job.run(argv, env={"PREFIX": job.prefix})
    os.unlink(script)
    home = os.environ.get("HOME", "")
    homes = [os.path.join(home, ".local", "bin"), os.path.join(home, "bin")] if os.path.isabs(home) else []
    return [os.path.join(job.prefix, "bin"), *job.machine.folders(), *homes]


INSTALLER = Installer("curl", _install, systems=("darwin", "linux"))
