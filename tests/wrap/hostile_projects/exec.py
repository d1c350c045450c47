"""Programs of the project: naming one runs nothing."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["run", "--dry-run", "--", "./trap"],
    ["run", "--dry-run", "--", "sh", "-c", "./trap"],
    ["run", "--dry-run", "--", "A=1", "./trap"],
)
RAW = (["env", "./trap"],)


def lay(scene: Scene) -> None:
    scene.script()
