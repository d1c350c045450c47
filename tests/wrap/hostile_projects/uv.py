"""A project that runs code when it is built, and commands that are of the project."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["sync", "--dry-run"],
    ["sync", "--all-extras", "--dry-run"],
    ["add", "./inner", "--dry-run"],
    ["run", "--dry-run", "--", "./trap"],
)
RAW = (["uv", "build", "--offline"],)
FINE = ("sync", "add", "run")


def lay(scene: Scene) -> None:
    build = "[build-system]\nrequires = []\nbuild-backend = 'evil'\nbackend-path = ['.']\n"
    for folder in ("", "inner/"):
        scene.write(
            f"{folder}pyproject.toml",
            f"{build}[project]\nname = 'evil'\nversion = '1.0'\nrequires-python = '>=3.11'\n",
        )
        scene.write(f"{folder}evil.py", scene.code)
    scene.script()
