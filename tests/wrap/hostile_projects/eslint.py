"""A project whose configuration of ESLint is a program, and so are its plugins."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["check", "a.js", "--dry-run"],
    ["check", "--config", "evil.config.js", "--dry-run"],
    ["fix", "a.js", "--dry-run"],
)
RAW = (["eslint", "a.js"],)
FINE = ("check", "fix")


def lay(scene: Scene) -> None:
    trap = scene.script("node_modules/.bin/eslint")
    springs = f"require('child_process').execFileSync('{trap}');\n"
    for name in (
        "eslint.config.js",
        "evil.config.js",
        "node_modules/eslint-plugin-evil/index.js",
        ".eslintrc.js",
    ):
        scene.write(name, springs + "module.exports = [];\n")
    scene.write("package.json", '{"name": "evil", "eslintConfig": {"plugins": ["evil"]}}')
    scene.write("a.js", "var a = 1;\n")
