"""A package whose scripts, .npmrc and .pnpmfile.cjs run whatever they want."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["install", "--dry-run"],
    ["install", "--frozen", "--scripts", "--dry-run"],
    ["add", "./inner", "--dry-run"],
    ["add", "git+file:///nowhere/evil.git", "--scripts", "--dry-run"],
    ["run", "evil", "--dry-run"],
    ["test", "--dry-run"],
)
RAW = (["pnpm", "run", "evil"],)
FINE = ("install", "add", "run", "test")


def lay(scene: Scene) -> None:
    trap = scene.script()
    names = "preinstall install postinstall prepare preevil evil test".split()
    scripts = ", ".join(f'"{name}": "{trap}"' for name in names)
    scene.write(
        "package.json",
        f'{{"name": "x", "version": "1.0.0", "scripts": {{{scripts}}}, "dependencies": {{"inner": "file:./inner"}}}}',
    )
    scene.write("inner/package.json", f'{{"name": "inner", "version": "1.0.0", "scripts": {{{scripts}}}}}')
    scene.write(".pnpmfile.cjs", f'require("child_process").spawnSync("{trap}")\n')
    scene.write(".npmrc", f"script-shell={trap}\nshell-emulator=false\nstore-dir={scene.project}/store\n")
