"""A job for one installer, with a private prefix and only the programs that the test names."""

from operable.host.launch.installer import InstallJob, installer
from operable.manifest.blocks import Install
from tests.host.launch.making import machine


def job(
    tmp_path,
    method,
    *folders,
    system="linux",
    name="agent",
    allow_unpinned=False,
    real=False,
    stop=None,
    **fields,
):
    """`real`: the programs of this machine instead of only the basic ones."""
    from operable.host.launch.installer import LocalMachine

    prefix = tmp_path / "prefix"
    prefix.mkdir(exist_ok=True)
    where = LocalMachine.here() if real else machine(*folders, system=system, privileged=True)
    install = Install(method=method, **fields)
    return InstallJob(install, name, str(prefix), str(tmp_path), where, allow_unpinned, stop=stop)


def run(job):
    return installer(job.install.method).install(job)
