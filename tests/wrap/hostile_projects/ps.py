"""Nothing of a project reaches ps."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["processes"],
    ["processes", "--pid", "1"],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    scene.write("$(trap)", "a name that a shell would run")
    scene.write("poem.txt", "one\n")
