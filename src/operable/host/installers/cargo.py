"""`cargo`: a crate, built here into a private folder.

Runs `cargo install --locked --root PREFIX -- PACKAGE`; `name@1.2.3` pins the version.
"""

from operable.host.launch.installer import Installer, InstallJob


def _install(job: InstallJob) -> list[str]:
    argv = ["cargo", "install", "--locked", "--root", job.prefix, "--", job.package]
    job.run(argv, inherit=("CARGO_*", "RUSTUP_*", "RUSTFLAGS"))
    return [f"{job.prefix}/bin"]


INSTALLER = Installer("cargo", _install, program="cargo")
