"""A package whose .npmrc names programs, and whose scripts run with everything."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["ls"],
    ["outdated"],
    ["audit"],
    ["view", "."],
    ["view", "git+file:///nowhere"],
    ["pack", "--dry-run"],
    ["run", "prepare", "--dry-run"],
    ["test", "--dry-run"],
)
RAW = (["npm", "pack", "--dry-run", "--silent"],)
SCRIPTS = (
    "preinstall install postinstall prepare prepack postpack prepublishOnly preversion pretest test".split()
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scripts = ", ".join(f'"{name}": "{trap}"' for name in SCRIPTS)
    needs = '"evil": "git+file:///nowhere/evil.git", "other": "file:./inner"'
    scene.write(
        "package.json",
        f'{{"name": "x", "version": "1.0.0", "scripts": {{{scripts}}}, "dependencies": {{{needs}}}}}',
    )
    scene.write("inner/package.json", f'{{"name": "other", "version": "1.0.0", "scripts": {{{scripts}}}}}')
    locked = '"node_modules/evil": {"version": "git+file:///nowhere/evil.git#abc"}'
    scene.write(
        "package-lock.json",
        f'{{"name": "x", "version": "1.0.0", "lockfileVersion": 3, "packages": {{"": {{}}, {locked}}}}}',
    )
    scene.write("evil.js", f'require("child_process").spawnSync("{trap}")\n')
    lines = [
        *(f"git={trap}", f"shell={trap}", f"script-shell={trap}", f"viewer={trap}", f"editor={trap}"),
        *(
            "ignore-scripts=false",
            "foreground-scripts=true",
            f"node-options=--require {scene.project}/evil.js",
        ),
        *(f"cache={scene.project}/kept", "fetch-retries=0", "registry=http://127.0.0.1:9/"),
    ]
    scene.write(".npmrc", "\n".join(lines) + "\n")
