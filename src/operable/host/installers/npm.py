"""`npm`: a package of the npm registry, in a private folder unless the manifest says `global: true`.

Runs `npm install --prefix PREFIX … -- PACKAGE`; with `global: true` `npm install --global … -- PACKAGE`, which changes what
the user's other programs see. `file:` packages are copied, not linked, so that they may go away.
Several packages are separated by spaces: an adapter, and its agent.
"""

from operable.host.launch.installer import Installer, InstallJob

_QUIET = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--install-links"]
_INHERIT = ("npm_config_*", "NPM_CONFIG_*", "NODE_EXTRA_CA_CERTS")


def _install(job: InstallJob) -> list[str]:
    if job.install.global_:
        job.run(["npm", "install", "--global", *_QUIET, "--", *job.package.split()], inherit=_INHERIT)
        prefix = job.run(["npm", "prefix", "--global"], inherit=_INHERIT).text.strip()
        return [f"{prefix}/bin"]
    job.run(["npm", "install", "--prefix", job.prefix, *_QUIET, "--", *job.package.split()], inherit=_INHERIT)
    return [f"{job.prefix}/node_modules/.bin"]


INSTALLER = Installer("npm", _install, program="npm")
