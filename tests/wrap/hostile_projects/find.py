"""Names that are options, or that a shell would run."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["files"],
    ["files", ".", "--name", "*"],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    scene.write("$(trap)", "a name that a shell would run")
    scene.write("poem.txt", "one\n")
