"""A project with plugins, a compiler of its own, and configuration that would write next to what it reads."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["check"],
    ["check", "evil"],
    ["build", "--dry-run"],
    ["build", "evil", "--out-dir", "CANARY", "--dry-run"],
)
RAW = (["tsc"],)


def lay(scene: Scene) -> None:
    trap = scene.script("node_modules/.bin/tsc")
    scene.script("node_modules/evil/index.js")
    plugins = f'"plugins": [{{"name": "evil"}}, {{"name": "{trap}", "transform": "{trap}"}}]'
    written = '"incremental": true, "composite": true, "tsBuildInfoFile": "./CANARY", "declaration": true'
    for folder in ("", "evil/"):
        scene.write(
            f"{folder}tsconfig.json",
            f'{{"compilerOptions": {{{plugins}, {written}, "outDir": "{scene.project}/out", "types": ["evil"]}}}}',
        )
        scene.write(f"{folder}a.ts", "export const a: number = '';\n")
