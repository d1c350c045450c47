"""A project whose configuration names plugins, an interpreter and reports."""

from tests.wrap.hostile_projects import Scene

CALLS = (["check", "a.py"], ["check"], ["check-with-plugins", "a.py", "--dry-run"])
RAW = (["mypy", "a.py"],)


def lay(scene: Scene) -> None:
    scene.write("a.py", "a: int = ''\n")
    scene.write("evil.py", f"{scene.code}\ndef plugin(version):\n    raise SystemExit(3)\n")
    trap = scene.script()
    reports = "txt_report = reports\nhtml_report = reports\n"
    scene.write(
        "mypy.ini", f"[mypy]\nplugins = ./evil.py\npython_executable = {trap}\ncache_dir = kept\n{reports}"
    )
    scene.write("sitecustomize.py", scene.code)
