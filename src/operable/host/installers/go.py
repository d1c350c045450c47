"""`go`: a Go program, built here into a private folder.

Runs `go install PACKAGE` with GOBIN in the private folder; a package without a version means `@latest`.
"""

from operable.host.launch.installer import Installer, InstallJob

_INHERIT = (
    *("GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "GOFLAGS"),
    *("GOPATH", "GOMODCACHE", "GOCACHE", "GOTOOLCHAIN", "GOROOT"),
)


def _install(job: InstallJob) -> list[str]:
    package = job.package if "@" in job.package else f"{job.package}@latest"
    job.run(
        ["go", "install", package],
        env={"GOBIN": f"{job.prefix}/bin"},
        inherit=_INHERIT,
    )
    return [f"{job.prefix}/bin"]


INSTALLER = Installer("go", _install, program="go")
