"""`cargo`: a crate, built here into a private folder.

Runs `cargo install --locked --root PREFIX -- PACKAGE`; `name@1.2.3` pins the version. A program that is on no registry is
built from its repository, named as cargo names such a source: `git+https://HOST/PATH?tag=v1.2.3#CRATE` (`rev` and `branch`
also).
"""

from urllib.parse import parse_qsl

from operable.host.launch.installer import Installer, InstallJob, MethodFailed

_REFERENCES = ("tag", "rev", "branch")


def _install(job: InstallJob) -> list[str]:
    argv = ["cargo", "install", "--locked", "--root", job.prefix, *_source(job.package)]
    job.run(argv, inherit=("CARGO_*", "RUSTUP_*", "RUSTFLAGS"))
    return [f"{job.prefix}/bin"]


def _source(package: str) -> list[str]:
    """The words that say what to build."""
    if not package.startswith("git+"):
        return ["--", package]
    address, _, crate = package.removeprefix("git+").partition("#")
    url, _, query = address.partition("?")
    references = parse_qsl(query)
    if not url.startswith(("https://", "ssh://", "file://")) or [
        name for name, _ in references if name not in _REFERENCES
    ]:
        raise MethodFailed(
            f"{package!r} is not an address that cargo can build from: git+https://HOST/PATH?tag=TAG#CRATE"
        )
    pinned = [f"--{name}={value}" for name, value in references]
    return [f"--git={url}", *pinned, "--", *([crate] if crate else [])]


INSTALLER = Installer("cargo", _install, program="cargo")
