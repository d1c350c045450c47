"""What crosses the fields of a CLI.md alone (AIP-29): the tree of commands, exit codes, the sandbox that auth needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from operable.manifest.kind import Reference, Rule
from operable.manifest.part import ManifestPart
from operable.manifest.problem import Problem
from operable.manifest.rules.sandbox import covers, variable, variables, widenings

RESERVED_EXITS = {
    "0": "ok",
    "1": "error",
    "2": "usage_error",
    "4": "auth_required",
    "124": "timeout",
    "137": "killed",
}
# Other programs give these statuses for us (the kernel, timeout(1)), and 0 is success to every shell.
_FIXED = ("0", "124", "137")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+-]*")


def leaves(part: ManifestPart) -> Iterator[tuple[ManifestPart, str]]:
    """Every leaf of the tree of commands with the path that it names."""
    for _, below in part.entries():
        if below.text is not None:
            yield below, below.text
        else:
            yield from leaves(below)


def command_references(root: ManifestPart) -> Iterator[Reference]:
    """Every TOOL.md that a CLI.md names, called `commands.log`, `commands.branch.list` and so on."""
    for part, _ in leaves(root.at("commands")):
        steps = tuple(map(str, part.path))
        yield Reference(".".join(steps), steps, "tool", "TOOL_REF_UNRESOLVABLE")


def tools_within_bundle(root: ManifestPart, bound: Mapping[str, ManifestPart]) -> Iterator[Problem]:
    """No TOOL.md may have a wider sandbox than its bundle."""
    for name, tool in bound.items():
        if name.startswith("commands."):
            yield from widenings(tool.at("sandbox"), root.at("sandbox"))


def _commands(root: ManifestPart) -> Iterator[Problem]:
    commands = root.at("commands")
    if commands.value == {}:
        yield commands.problem("COMMANDS_EMPTY", "a CLI.md has at least one command")
    yield from _words(commands)


def _words(part: ManifestPart) -> Iterator[Problem]:
    for word, below in part.entries():
        if not _WORD.fullmatch(word):
            yield below.problem(
                "COMMAND_WORD", f"{word[:80]!r} is not a subcommand: letters, digits and ._:+- are"
            )
        if below.value == {}:
            yield below.problem("COMMANDS_EMPTY", f"the command group {word[:80]!r} is empty")
        if below.text is not None and not below.text.endswith(".md"):
            yield below.problem(
                "COMMAND_LEAF", f"{below.text[:80]!r} is not a TOOL.md", "write the path of a TOOL.md"
            )
        yield from _words(below)


def _exit_codes(root: ManifestPart) -> Iterator[Problem]:
    for code, part in root.at("output", "exit_codes").entries():
        word = part.text
        if word is None:
            continue
        if code in _FIXED and word != RESERVED_EXITS[code]:
            yield part.problem(
                "EXIT_RESERVED", f"exit {code} always means {RESERVED_EXITS[code]}, not {word[:40]!r}"
            )
        elif word == "ok" and code != "0":
            yield part.problem("EXIT_RESERVED", f"only exit 0 is ok; give exit {code[:8]} its own word")
        if code.isdigit() and int(code[:8]) > 255:
            yield part.problem("EXIT_RESERVED", f"{code[:8]} is not an exit status: they end at 255")


def _sandbox(root: ManifestPart) -> Iterator[Problem]:
    sandbox = root.at("sandbox")
    yield from variables(sandbox.at("env", "pass"))
    for name, part in sandbox.at("env", "set").entries():
        yield from variable(part, name)
    spawn = sandbox.at("exec", "spawn")
    if sandbox.at("exec", "allow").value is False and spawn.value:
        yield spawn.problem("SANDBOX_EXEC", "exec.spawn names programs, but exec.allow is false")
    allowed = [text for key in ("read", "write") for _, text in sandbox.at("fs", key).texts()]
    denied = [text for _, text in sandbox.at("fs", "deny").texts()]
    for part, path in root.at("auth", "state", "paths").texts():
        refused = any(covers(pattern, path, "/") for pattern in denied)
        if refused or not any(covers(pattern, path, "/") for pattern in allowed):
            message = f"the sandbox does not allow {path[:80]!r}, where the login is kept"
            yield part.problem("AUTH_PATH_DENIED", message, "add it to sandbox.fs.read or fs.write")


CLI_RULES: tuple[Rule, ...] = (_commands, _exit_codes, _sandbox)
