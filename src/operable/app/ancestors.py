"""What is above a package and decides what its programs load: it is part of the approval, like the package itself.

Node looks for a module in `node_modules` of every folder up to the root, and for `package.json`, `.npmrc` or `.pnp.cjs` on
the way; cargo, uv, bundler and others look upward for their settings. Whether a package uses Node is decided generously: a
file of JavaScript, or the name of a program of that family anywhere in its files. What appears there after the approval
changes the content as well. Programs and modules of the machine (PATH, site-packages) are not looked at.
"""

import os
import re
from collections.abc import Iterator, Sequence

NODE = re.compile(rb"\b(?:node|nodejs|npm|npx|pnpm|yarn|corepack|bun|bunx|deno|tsx|ts-node)\b")
_SCRIPTS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".node")
_MODULES = "node_modules"
_NODE_FILES = (
    *(
        "package.json",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".pnp.cjs",
        ".pnp.loader.mjs",
        "pnpm-workspace.yaml",
    ),
    *("tsconfig.json", "deno.json", "deno.jsonc", "bunfig.toml"),
)
_NODE_HOMES = ("~/.node_modules", "~/.node_libraries")
_PYTHON_FILES = (
    "pyproject.toml",
    "uv.toml",
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
    "conftest.py",
    "noxfile.py",
)
_RUBY_FILES = ("Gemfile", "Gemfile.lock", "Rakefile", ".bundle/config")
# By a word of the entry: the settings that the program looks for above the folder that it runs in.
_BY_PROGRAM = {
    "cargo": ("Cargo.toml", ".cargo/config", ".cargo/config.toml", "rust-toolchain", "rust-toolchain.toml"),
    "go": ("go.mod", "go.work"),
    **dict.fromkeys(("bundle", "rake", "rails"), _RUBY_FILES),
    **dict.fromkeys(
        ("uv", "uvx", "poetry", "pdm", "hatch", "tox", "nox", "pytest", "py.test"), _PYTHON_FILES
    ),
    **dict.fromkeys(("just",), ("justfile", "Justfile", ".justfile")),
    **dict.fromkeys(("mise", "asdf", "rtx"), (".tool-versions", "mise.toml", ".mise.toml")),
    **dict.fromkeys(("gradle", "gradlew"), ("settings.gradle", "settings.gradle.kts", "gradle.properties")),
    **dict.fromkeys(("mvn", "mvnw"), (".mvn/extensions.xml", ".mvn/jvm.config", ".mvn/maven.config")),
}


def is_script(name: str) -> bool:
    """Whether a file of the package is for Node by its name."""
    return name.endswith(_SCRIPTS) or os.path.basename(name) == "package.json"


def paths(root: str, words: Sequence[str], *, node: bool) -> Iterator[str]:
    """Every file above the root that decides what the entry loads."""
    names = {name for word in words for name in _BY_PROGRAM.get(os.path.basename(word), ())}
    seen: set[str] = set()
    folder = root
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        for name in sorted(names | set(_NODE_FILES if node else ())):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                yield path
        if node:
            yield from _below(os.path.join(folder, _MODULES), root, seen)
    for home in _NODE_HOMES if node else ():
        yield from _below(os.path.expanduser(home), root, seen)


def _below(place: str, root: str, seen: set[str]) -> Iterator[str]:
    """Every file, also behind links to folders: workspaces are linked into `node_modules`. The package itself is not
    reported twice.
    """
    for folder, folders, files in os.walk(place, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen or real == root or real.startswith(root + os.sep):
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        yield from (path for name in sorted(files) if os.path.isfile(path := os.path.join(folder, name)))
