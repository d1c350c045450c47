"""A file of commands, which `ip -batch` would run."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["addr"],
    ["link"],
    ["neigh"],
    ["route"],
    ["rule"],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    scene.write("$(trap)", "a name that a shell would run")
    scene.write("poem.txt", "one\n")
    scene.write("batch", "link set lo down\n")
