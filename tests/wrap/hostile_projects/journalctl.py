"""A folder of journals that are none, and a pager."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["boots", "--directory", "."],
    ["entries", "--directory", "."],
    ["follow", "--directory", "."],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    scene.write("$(trap)", "a name that a shell would run")
    scene.write("poem.txt", "one\n")
    scene.write("system.journal", "LPKSHHRH" + "x" * 500)
    scene.env |= {"PAGER": trap, "SYSTEMD_PAGER": trap}
