"""Names that are options, and links that lead in a circle."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["usage"],
    ["usage", "."],
    ["usage", "circle"],
)
FINE = ("usage",)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    (scene.project / "circle").symlink_to(".")
