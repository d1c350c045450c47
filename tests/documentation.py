"""Read the code blocks of a Markdown page and run them as a reader would.

The word after the fence says what happens to a block:

- `sh`, `bash`: run by bash; any failing command fails the page.
- `console`: `$ command` lines, each followed by what it prints. `...` stands for any text in a line, or alone for any lines.
  A command that must fail ends with `# exit 64`.
- `python`: run by the project's Python, a process of its own.
- any of these, or `toml` and the like, with `file=NAME`: written to that file for the blocks that follow.
- any of these with `norun reason="…"`: shown only; the reason is printed with the test results.
- `text`, `json`, `jsonl`, `toml`, `yaml`, `markdown`, `diff`: shown only. A fence without a word is an error, so that
  nothing is left out by accident.

The blocks of one page run in order in one directory. `./dev …` is not run (the tests would run the tests) but must exist.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.cli import forks

ROOT = Path(__file__).parents[1]
RUN = {"sh", "bash", "console", "python"}
SHOWN = {"text", "json", "jsonl", "toml", "yaml", "markdown", "diff"}
# One block is an example, not a job: what takes longer than this bores a reader too.
BLOCK_TIMEOUT = 60

_AT_START = {"LC_ALL": "C.UTF-8"}
_PREPARED = forks.Prepared(forks.COMMANDS.packages, at_start=tuple(_AT_START.items()))
_FORKED = {
    "operable": forks.Program(forks.OPERABLE.module, _PREPARED),
    "operable-agentcli": forks.Program(forks.AGENTCLI.module, _PREPARED),
}

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<code>.*?)^(?P=indent)```[ \t]*$", re.MULTILINE | re.DOTALL
)


class Block(NamedTuple):
    """One fenced block, with the line on which its code begins."""

    line: int
    language: str
    attributes: dict[str, str]
    code: str

    @property
    def reason(self) -> str | None:
        """Why the block is not run; a block without `norun` is."""
        return self.attributes.get("reason", "") if "norun" in self.attributes else None


class Failure(Exception):  # noqa: N818 - it is what the test reports, not a mistake of this module
    """A block that does not do what the page says."""


def blocks(markdown: str) -> Iterator[Block]:
    for match in _FENCE.finditer(markdown):
        language, *attributes = shlex.split(match["info"]) or [""]
        indent = len(match["indent"])
        code = "".join(line[indent:] for line in match["code"].splitlines(keepends=True))
        pairs = (attribute.partition("=") for attribute in attributes)
        line = markdown.count("\n", 0, match.start("code")) + 1
        yield Block(line, language, {name: value for name, _, value in pairs}, code)


def mistakes(page: list[Block]) -> list[str]:
    """What is wrong with the blocks of a page before any of them is run."""
    found = []
    for number, block in enumerate(page):
        if block.language not in RUN | SHOWN:
            found.append(
                f"line {block.line}: the fence says {block.language!r}; say one of {sorted(RUN | SHOWN)}"
            )
        if block.reason == "":
            found.append(f'line {block.line}: norun needs reason="…"')
        name = block.attributes.get("file")
        if name and not any(name in later.code for later in page[number + 1 :] if later.language in RUN):
            found.append(f"line {block.line}: no later block uses {name}")
    return found


def run_page(page: list[Block], directory: Path, installed: Path | None = None) -> None:
    """Run the blocks of a page in order; Failure tells the line, the command and what it printed.

    `installed` is the interpreter of an environment that has Operable as users install it; otherwise it is this checkout.
    """
    environment = _environment(directory, installed)
    python = str(installed or sys.executable)
    work = directory / "work"
    work.mkdir()
    for block in page:
        if block.reason is not None:
            continue
        if name := block.attributes.get("file"):
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text(block.code, "utf-8")
        elif block.language in ("sh", "bash"):
            script = "".join(_without_dev(line) for line in block.code.splitlines(keepends=True))
            _expect(block, block.code, ["bash", "-euo", "pipefail", "-c", script], work, environment)
        elif block.language == "python":
            _expect(block, block.code, [python, "-c", block.code], work, environment)
        elif block.language == "console":
            _run_console(block, work, environment)


def _environment(directory: Path, installed: Path | None) -> dict[str, str]:
    """What a reader has: the project's commands first on PATH, and a home without history.

    In the checkout, the commands that pages call most are forks of a process that has imported them: a start costs more than
    what it does. An installed Operable is started, and nothing of the checkout is on PATH.
    """
    home = directory / "home"
    home.mkdir()
    own = str(Path(sys.executable).parent)
    others = [each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if each != own]
    folders = [str(installed.parent)] if installed else [*_stand_ins(own), own]
    return {
        "PATH": os.pathsep.join([*folders, *others]),
        "HOME": str(home),
        "OPERABLE_HOME": str(home / "operable"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        **_AT_START,
        "TERM": "dumb",
        "COLUMNS": "100",
    }


def _stand_ins(folder: str) -> list[str]:
    return [os.path.dirname(forks.stand_in(f"{folder}/{name}", program)) for name, program in _FORKED.items()]


def _without_dev(line: str) -> str:
    """A `./dev COMMAND` line becomes a no-op after a look whether the command exists."""
    if not line.startswith("./dev"):
        return line
    command = [*line.split(), "help"][1]
    if not re.search(rf"^  \./dev {re.escape(command)}\b", (ROOT / "dev").read_text("utf-8"), re.MULTILINE):
        raise Failure(f"there is no `./dev {command}`")
    return ":\n"


def _run_console(block: Block, work: Path, environment: dict[str, str]) -> None:
    for command, expected in _exchanges(block.code):
        status = re.search(r"# exit (\d+)\s*$", command)
        arguments = ["bash", "-uo", "pipefail", "-c", _without_dev(command)]
        printed = _expect(block, command, arguments, work, environment, int(status[1]) if status else 0)
        if not command.startswith("./dev") and not matches(expected, printed):
            raise Failure(f"line {block.line}: $ {command}expected:\n{expected}\nprinted:\n{printed}")


def _exchanges(code: str) -> Iterator[tuple[str, str]]:
    """Commands, with their continuation lines (`> `), and the output written below each."""
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        length = 1
        while length < len(lines) and lines[length].startswith("> "):
            length += 1
        yield lines[0] + "".join(line[2:] for line in lines[1:length]), "".join(lines[length:])


def matches(expected: str, printed: str) -> bool:
    """Whether a command printed what the page shows, `...` being a wildcard within a line or for lines."""
    pattern = ""
    for line in expected.rstrip().splitlines():
        pattern += (
            r"(?:.*\n)*?" if line.strip() == "..." else ".*".join(map(re.escape, line.split("..."))) + "\n"
        )
    return re.fullmatch(pattern, printed.rstrip() + "\n" if printed.strip() else "") is not None


def _expect(
    block: Block, shown: str, arguments: list[str], work: Path, environment: dict[str, str], status: int = 0
) -> str:
    """Run one command, standard error in line with its output as on a terminal, and return what it printed."""
    try:
        ended = subprocess.run(
            arguments,
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=BLOCK_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Failure(f"line {block.line}: longer than {BLOCK_TIMEOUT} s:\n{shown}") from error
    if ended.returncode != status:
        raise Failure(
            f"line {block.line}: exit status {ended.returncode}, not {status}:\n{shown}\n{ended.stdout}"
        )
    return ended.stdout
