"""A configuration file of rg that starts a program for every file."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["search", "one"],
    ["search", "one", "."],
    ["files"],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    scene.write("$(trap)", "a name that a shell would run")
    scene.write("poem.txt", "one\n")
    scene.write(".ripgreprc", f"--pre={trap}\n--search-zip\n--hostname-bin={trap}\n")
    scene.write(".rgignore", "!*\n")
    scene.env |= {"RIPGREP_CONFIG_PATH": str(scene.project / ".ripgreprc"), "HOME": str(scene.project)}
