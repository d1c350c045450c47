"""A project whose tests, configuration, transformers and reporters are programs."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["run", "--dry-run"],
    ["run", "a", "--config", "evil.config.js", "--name", "one", "--dry-run"],
)
RAW = (["jest"],)
FINE = ("run",)


def lay(scene: Scene) -> None:
    trap = scene.script("node_modules/.bin/jest")
    springs = f"require('child_process').execFileSync('{trap}');\n"
    for name in ("jest.config.js", "evil.config.js", "setup.js", "node_modules/babel-jest/index.js"):
        scene.write(name, springs + "module.exports = {};\n")
    scene.write("package.json", '{"name": "evil"}')
    scene.write("a.test.js", springs + "test('one', () => {});\n")
