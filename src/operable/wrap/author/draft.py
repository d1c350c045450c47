"""Drafts a wrapper from what a program says about itself: `--help`, `--version`, and its completion file for fish.

A draft is for a person to finish. What the text does not say is set to a harmless value: every command counts as one that
changes things and needs `--confirm`, every line of output as a JSON value, and the wrapper as `unverified` until its tests
pass: the examples that its author adds (`verification`). Help texts are written for people, and read here by their
usual form; the rest is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from operable.kernel.errors import Fail
from operable.manifest import render
from operable.proc.run import output
from operable.proc.spawn import prepare
from operable.wrap.enclosure import looking
from operable.wrap.places import is_name

_TIMEOUT = 10.0
_HELP_LIMIT = 1_048_576
# A longer text is not a help text from which a person would finish a draft.
_MOST = 100
_OPTION = re.compile(
    r"^\s{1,12}(?:-(?P<letter>\w)(?:,\s*|\s+|\s*\|\s*))?--(?P<name>[a-z][a-z0-9-]*)"
    r"(?:(?:=|\s|\[=)(?P<value><[^>\n]+>|\[?[A-Z][A-Z0-9_|-]*\]?))?(?:\]|\s|$)\s*(?P<text>.*)$"
)
_HEADING = re.compile(r"^\s*(?:(?:[A-Za-z]+ )*commands?:?\s*|\S.*\bcommands\b.*:)$", re.IGNORECASE)
# With a second name behind a comma (cargo), or a colon (gh).
_COMMAND = re.compile(r"^\s{2,8}(?P<name>[a-z][a-z0-9-]*)(?:,\s*[a-z]+)*:?\s{2,}(?P<text>\S.*)$")
_FISH = re.compile(r"-l\s+(?P<name>[a-z][a-z0-9-]*)(?P<rest>.*)$")
_FISH_TEXT = re.compile(r"-d\s+(?:'([^']*)'|\"([^\"]*)\")")
_FISH_FOLDERS = ("/usr/share/fish/completions", "/usr/share/fish/vendor_completions.d")
# Not the program's to decide here.
_OURS = frozenset("help version output format timeout limit cursor dry-run confirm debug no-color".split())


_NOTE = """A draft, made of what the program says with `--help`. Options without a long name are not in it. To finish it:
say for each command what it takes and prints, what it changes, and which exit statuses are answers."""


class HelpOption(NamedTuple):
    """An option as a help text shows it."""

    name: str
    takes_value: bool
    text: str


def draft(program: str) -> dict[str, str]:
    """The files of a wrapper for this program, by their path in its folder. Runs `--help` and `--version`, nothing else."""
    name = os.path.basename(program)
    if not is_name(name):
        # As it was given: in a part of an address it is not visible which words are secrets.
        raise Fail("usage", "WRAPPER_NAME", f"{program!r} gives no name for a wrapper", target=program)
    reported = _asked(program, "--help")
    if next(options(reported), None) is None and next(subcommands(reported), None) is None:
        _refuse_failure(program)
    found = re.search(r"(\d+\.\d+(?:\.\d+)?)", _asked(program, "--version"))
    version = found[1] if found else "0.0"
    commands = list(subcommands(reported)) or [("run", f"Run {name}.")]
    nested = len(commands) > 1 or commands[0][0] != "run"
    files = {"CLI.md": render(_cli(name, version, [word for word, _ in commands]), f"# {name}\n\n{_NOTE}\n")}
    for word, text in commands:
        helped = _asked(program, word, "--help") if nested else reported
        shown = list(options(helped, _fish(name)))
        manifest = _tool(name, word, text, shown, nested=nested)
        files[f"tools/{word}/TOOL.md"] = render(manifest, f"# {name} {word}\n\nA draft.\n")
    return files


def options(text: str, completions: str = "") -> Iterator[HelpOption]:
    """The options that a help text and a completion file show, each once."""
    seen: set[str] = set()
    for line in text.splitlines():
        found = _OPTION.match(line)
        if found and found["name"] not in seen | _OURS and len(seen) < _MOST:
            seen.add(found["name"])
            yield HelpOption(found["name"], found["value"] is not None, found["text"].strip())
    for line in completions.splitlines():
        found = _FISH.search(line) if line.startswith("complete") else None
        if found and found["name"] not in seen | _OURS and len(seen) < _MOST:
            seen.add(found["name"])
            reported = _FISH_TEXT.search(found["rest"])
            takes = re.search(r"\s-(?:r|x)\b", found["rest"]) is not None
            yield HelpOption(found["name"], takes, (reported[1] or reported[2] or "") if reported else "")


def subcommands(text: str) -> Iterator[tuple[str, str]]:
    """The subcommands below a heading such as `Commands:`, with what they do."""
    inside, seen = False, set[str]()
    for line in text.splitlines():
        if _HEADING.match(line):
            inside = True
        elif line and not line[0].isspace() and not line[0].islower():
            inside = False  # git has groups of commands, each below a line that begins with a small letter
        found = _COMMAND.match(line) if inside else None
        if found and found["name"] not in seen and found["name"] != "help" and len(seen) < _MOST:
            seen.add(found["name"])
            yield found["name"], found["text"].strip()


def _refuse_failure(program: str) -> None:
    """A text without options and commands cannot begin a draft if the program failed: it is a complaint of it."""
    from operable.wrap.endings import shown

    done = output(prepare([program, "--help"]), timeout=_TIMEOUT, limit=_HELP_LIMIT)
    words = shown(done.stderr or done.stdout.decode("utf-8", "replace"))
    if done.status != 0 and not re.search(r"(?im)^\s*usage\b", words):
        raise Fail(
            "validation",
            "HELP_UNREADABLE",
            f"{os.path.basename(program)} --help ended with status {done.status}: {words.partition(chr(10))[0][:240]}",
            target=program[:80],
            hint="see that it runs with a plain environment, or write the wrapper by hand (docs/guides/wrap-a-tool.md)",
        )


def _asked(program: str, *words: str) -> str:
    """What the program prints for these words, on either stream; a status other than 0 is common for help."""
    done = output(looking(prepare([program, *words])), timeout=_TIMEOUT, limit=_HELP_LIMIT)
    return done.stdout.decode("utf-8", "replace") + done.stderr


def _fish(name: str) -> str:
    for folder in _FISH_FOLDERS:
        try:
            with open(f"{folder}/{name}.fish", encoding="utf-8", errors="replace") as file:
                return file.read(_HELP_LIMIT)
        except OSError:
            continue  # most programs have none
    return ""


def _cli(name: str, version: str, commands: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "id": name.lower().replace("_", "-").replace(".", "-"),
        "description": f"The program {name}.",
        "version": "0.1.0",
        "bin": name,
        "install": [{"method": "apt", "package": name}],
        "version_check": {
            "cmd": f"{name} --version",
            "parse": r"(\d+\.\d+(?:\.\d+)?)",
            "range": f">={version}",
        },
        "sandbox": {
            "network": {"egress": []},
            "fs": {"read": ["**"], "write": [], "deny": []},
            "exec": {"allow": False},
            "env": {"pass": [], "set": {"LC_ALL": "C.UTF-8"}},
        },
        "commands": {word: f"./tools/{word}/TOOL.md" for word in commands},
        "metadata": {"operable": {"unverified": True}},
    }


def _tool(name: str, word: str, text: str, shown: list[HelpOption], *, nested: bool) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "arguments": {
            "type": "array",
            "items": {"type": "string"},
            "default": [],
            "description": "its operands",
        }
    }
    elements: dict[str, list[str]] = {}
    for option in shown:
        key = option.name.replace("-", "_")
        if key in properties:
            continue
        kind = {"type": "string"} if option.takes_value else {"type": "boolean", "default": False}
        properties[key] = kind | {"description": option.text or f"--{option.name}"}
        elements[key] = [f"--{option.name}=${{input.{key}}}" if option.takes_value else f"--{option.name}"]
    return {
        "name": word,
        "id": f"{name.lower().replace('_', '-')}.{word}",
        "description": text,
        "version": "0.1.0",
        "inputs": {"type": "object", "properties": properties},
        "outputs": {
            "type": "object",
            "properties": {"type": {"const": "value"}, "value": {}},
            "required": ["type"],
        },
        "mutates": ["workspace:."],
        "approval": "always",
        "risk_level": 3,
        "runner": {"cli": "../../CLI.md", "argv": [*([word] if nested else []), "--", "${input.arguments}"]},
        "metadata": {
            "operable": {
                "operands": ["arguments"],
                "options": elements,
                "plan": {"action": word, "target": name},
                "parse": {"kind": "jsonl", "as": "value"},
            }
        },
    }
