"""A project that runs code when it is built, and requirements that lead to it."""

import tarfile

from tests.wrap.hostile_projects import Scene

NOWHERE = ("--no-index", "--dry-run")
CALLS = (
    ["list"],
    ["inspect"],
    ["install", ".", *NOWHERE],
    ["install", "./evil-1.0.tar.gz", *NOWHERE],
    ["install", "./hooked", *NOWHERE],
    ["install", "--file", "requirements.txt", *NOWHERE],
    ["install", "evil", "--find-links", ".", *NOWHERE],
    ["install", "git+file:///nowhere/evil", *NOWHERE],
)
RAW = (["pip", "install", "./hooked", "--dry-run", "--no-index", "--no-build-isolation", "--quiet"],)


def lay(scene: Scene) -> None:
    setup = f"{scene.code}\nfrom setuptools import setup\nsetup(name='evil', version='1.0')\n"
    scene.write("setup.py", setup)
    scene.write("sitecustomize.py", scene.code)
    scene.write("pip.conf", "[install]\nno-binary = :all:\n")
    scene.write("requirements.txt", "--no-binary :all:\n-e .\n./hooked\n")
    scene.write(
        "hooked/pyproject.toml",
        "[build-system]\nrequires = []\nbuild-backend = 'evil'\nbackend-path = ['.']\n",
    )
    scene.write("hooked/evil.py", scene.code)
    with tarfile.open(scene.project / "evil-1.0.tar.gz", "w:gz") as archive:
        archive.add(scene.project / "setup.py", "evil-1.0/setup.py")
