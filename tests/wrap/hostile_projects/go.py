"""A module that asks for another toolchain, in a repository whose configuration runs a program."""

import subprocess

from tests.reference.building import GO_CACHE
from tests.wrap.hostile_projects import Scene

CALLS = (
    ["list", "./..."],
    ["list", "./...", "--deps"],
    ["vet", "./..."],
    ["build", "./...", "--dry-run"],
    ["test", "./...", "--dry-run"],
)
RAW = (["env", "GOTOOLCHAIN=local", "go", "generate", "./..."],)
FINE = ("list", "vet")


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write("go.mod", "module example.org/x\n\ngo 1.21\n\ntoolchain go1.999.0\n")
    scene.write("x.go", f"package main\n\n//go:generate {trap}\n\nfunc main() {{}}\n")
    scene.write(
        "x_test.go", f'package main\n\nimport "os/exec"\n\nfunc init() {{ exec.Command("{trap}").Run() }}\n'
    )
    scene.write("go.env", f"GOFLAGS=-toolexec={trap}\n")
    for words in (["init", "-q"], ["config", "core.fsmonitor", trap], ["config", "core.hooksPath", "."]):
        subprocess.run(["git", *words], cwd=scene.project, check=True, timeout=30)
    scene.env |= {"GOCACHE": str(GO_CACHE), "GOMODCACHE": str(scene.outside / "mod"), "GOTOOLCHAIN": "auto"}
