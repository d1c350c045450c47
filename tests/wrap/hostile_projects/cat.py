"""Names that are options, and files that have no end."""

import os

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["lines", "poem.txt"],
    ["lines", "pipe"],
    ["lines", "--", "--exec=trap"],
    ["lines", "poem.txt", "--tail", "1"],
)


def lay(scene: Scene) -> None:
    scene.script()
    scene.write("--exec=trap", "a name that is an option\n")
    scene.write("poem.txt", "one\n")
    os.mkfifo(scene.project / "pipe")
