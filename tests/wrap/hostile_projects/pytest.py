"""A project whose conftest.py, plugins and modules run when they are imported."""

from tests.wrap.hostile_projects import Scene

CALLS = (["collect", "--dry-run"], ["collect", ".", "--dry-run"], ["run", "--dry-run"])
RAW = (["pytest", "--collect-only", "-q"],)


def lay(scene: Scene) -> None:
    for name in ("conftest.py", "evil.py", "test_evil.py", "sitecustomize.py"):
        scene.write(name, scene.code)
    scene.write("pytest.ini", "[pytest]\naddopts = -p no:cacheprovider\npythonpath = .\n")
