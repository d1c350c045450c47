"""The settings that programs read by themselves, which no word of a command names, by the name of the program.

An approval of a task or of an application is also for these files, where they exist: they decide what the program runs.
`IN_FOLDER` are read in the folder in which the program runs, `ABOVE` there and in the folders above it. Names only: who
approves something looks which of them exist.
"""

from collections.abc import Iterable
from typing import Final

from operable.state.execution_files import GIT_FILES

NODE_FILES: Final = (
    *("package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".pnp.loader.mjs"),
    *("pnpm-workspace.yaml", "tsconfig.json", "deno.json", "deno.jsonc", "bunfig.toml"),
)
"""What decides what a program of Node loads."""
_PYTHON = (
    *("pyproject.toml", "uv.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", "conftest.py"),
    "noxfile.py",
)
_RUBY = ("Gemfile", "Gemfile.lock", "Rakefile", ".bundle/config")
_COMPOSE = tuple(
    f"{name}{part}.y{letter}ml"
    for name in ("compose", "docker-compose")
    for part in ("", ".override")
    for letter in ("", "a")
)
_TASKS = tuple(
    f"{first}askfile{part}.y{letter}ml" for first in "Tt" for part in ("", ".dist") for letter in ("", "a")
)
_MSBUILD = (
    *("Directory.Build.props", "Directory.Build.targets", "Directory.Packages.props", "Directory.Build.rsp"),
    "MSBuild.rsp",
)
_GRADLE = ("settings.gradle", "settings.gradle.kts", "gradle.properties")
_CONTAINERS = ("docker", "docker-compose", "podman", "podman-compose", "nerdctl")


def _of(*groups: tuple[Iterable[str], tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {program: files for programs, files in groups for program in programs}


IN_FOLDER: Final = _of(
    (("make", "gmake"), ("GNUmakefile", "makefile", "Makefile")),
    (_CONTAINERS, ("Dockerfile", "Containerfile")),
    (("gradle", "gradlew"), ("build.gradle", "build.gradle.kts")),
    (("mvn", "mvnw"), ("pom.xml",)),
)
ABOVE: Final = _of(
    (("npm", "npx", "pnpm", "pnpx", "yarn", "corepack", "bun", "bunx", "deno"), NODE_FILES),
    (("node", "nodejs", "tsx", "ts-node"), NODE_FILES),
    (("pytest", "py.test", "tox", "nox", "mypy", "pip", "pip3"), _PYTHON),
    (("uv", "uvx", "poetry", "pdm", "hatch", "rye"), _PYTHON),
    (("bundle", "rake", "rails"), _RUBY),
    (("git",), GIT_FILES),
    (
        ("cargo",),
        (
            *("Cargo.toml", "build.rs", ".cargo/config", ".cargo/config.toml"),
            *("rust-toolchain", "rust-toolchain.toml"),
        ),
    ),
    (("go",), ("go.mod", "go.work")),
    (("just",), ("justfile", "Justfile", ".justfile")),
    (("mise", "asdf", "rtx"), (".tool-versions", "mise.toml", ".mise.toml")),
    (("task", "go-task"), _TASKS),
    (
        ("invoke", "inv", "fab"),
        ("tasks.py", "tasks/__init__.py", "fabfile.py", "invoke.py", "invoke.yaml", "invoke.json"),
    ),
    (_CONTAINERS, _COMPOSE),
    (
        ("dotnet",),
        (
            *("global.json", "nuget.config", "NuGet.Config", "NuGet.config", ".config/dotnet-tools.json"),
            *_MSBUILD,
        ),
    ),
    (("msbuild",), _MSBUILD),
    (("vagrant",), ("Vagrantfile", "vagrantfile")),
    (("pipenv",), ("Pipfile", "Pipfile.lock", ".env")),
    (("pixi",), ("pixi.toml", "pixi.lock", "pyproject.toml")),
    (("composer",), ("composer.json", "composer.lock")),
    (("stack", "cabal"), ("stack.yaml", "cabal.project", "cabal.project.local")),
    (
        ("bazel", "bazelisk"),
        (
            *("MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel", ".bazelrc", ".bazelversion"),
            *("BUILD", "BUILD.bazel"),
        ),
    ),
    (("zig",), ("build.zig", "build.zig.zon")),
    (("nix",), ("flake.nix", "flake.lock")),
    (("devbox",), ("devbox.json", "devbox.lock")),
    (("gradle", "gradlew"), _GRADLE),
    (("mvn", "mvnw"), (".mvn/extensions.xml", ".mvn/jvm.config", ".mvn/maven.config")),
)
