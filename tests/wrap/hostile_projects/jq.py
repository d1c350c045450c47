"""Modules and a .jq file in the folder of the project."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["filter", ".name", "package.json"],
    ["filter", 'import "evil" as e; e::f', "package.json"],
    ["filter", 'include "evil"; f', "package.json"],
    ["filter", "input_filename, $ENV", "package.json"],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    scene.write("$(trap)", "a name that a shell would run")
    scene.write("poem.txt", "one\n")
    scene.write("package.json", '{"name": "x"}')
    for name in (".jq", "evil.jq"):
        scene.write(name, "def f: input | debug; def name: halt_error;")
    scene.env |= {"HOME": str(scene.project)}
