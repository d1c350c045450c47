"""Nothing of a project reaches lsblk."""

from tests.wrap.hostile_projects import Scene

CALLS = (["devices"],)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    scene.write("$(trap)", "a name that a shell would run")
    scene.write("poem.txt", "one\n")
