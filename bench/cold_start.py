"""How long a command takes from nothing: outline beside the bare interpreter and three usual ways to write a CLI.

Wall time of whole processes, started in turns, against `python -I -c pass` of the same environment. The "hello" commands
print one word with argparse, Click and Typer: they do less than outline does. `search` finds 10 notes in an index.
`--rounds N` takes so many turns.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from subprocess import DEVNULL, run

from bench._figures import Row, print_rows, ratio, take_turns, wall

ROUNDS = 41
BIN = Path(sys.executable).parent
HELLO = {
    "argparse": "import argparse; p = argparse.ArgumentParser(); p.add_argument('name'); print(p.parse_args().name)",
    "Click": "import click\n@click.command()\n@click.argument('name')\ndef hello(name): click.echo(name)\nhello()",
    "Typer": "import typer\ndef hello(name: str): typer.echo(name)\ntyper.run(hello)",
}


def main() -> int:
    """Print the table; 1 when a target is missed."""
    options = argparse.ArgumentParser(prog="./dev bench cold_start")
    options.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    rounds = options.parse_args().rounds
    with tempfile.TemporaryDirectory() as directory:
        # Bytecode is written, as it is for an installed package; whoever forbids it here would measure the compiler.
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env["OUTLINE_HOME"] = directory
        outline = str(BIN / "outline")
        for number in range(10):
            body = f"A conforming tool exposes a stable interface, number {number}"
            run(
                [outline, "create", f"Agent-operable tools {number}", "--body", body],
                env=env,
                stdout=DEVNULL,
                stderr=DEVNULL,
                check=True,
            )
        found = run(
            [outline, "search", "agent operable", "--output", "jsonl"],
            env=env,
            capture_output=True,
            check=True,
        ).stdout
        if found.count(b'"type":"hit"') != 10:
            raise AssertionError(found)
        for document in ("schema", "capabilities"):
            run([outline, document, "--output", "json"], env=env, stdout=DEVNULL, check=True)
        commands = {
            "python -I -c pass": [sys.executable, "-I", "-c", "pass"],
            "outline schema --output json": [outline, "schema", "--output", "json"],
            "outline capabilities --output json": [outline, "capabilities", "--output", "json"],
            "outline search … --output jsonl (10 hits)": [
                outline,
                "search",
                "agent operable",
                "--output",
                "jsonl",
            ],
            "outline search … (10 hits, for people)": [outline, "search", "agent operable"],
            "operable schema --output json": [str(BIN / "operable"), "schema", "--output", "json"],
            "operable --version": [str(BIN / "operable"), "--version"],
        }
        for name, source in HELLO.items():
            commands[f"hello with {name}"] = [sys.executable, "-c", source, "world"]
        figures = take_turns({name: wall(argv, env) for name, argv in commands.items()}, rounds)
    targets = {
        "outline schema --output json": 1.05,
        "outline search … --output jsonl (10 hits)": 1.35,
        "operable --version": 1.5,
    }
    rows = [
        Row(
            name,
            ratio(figures, name, "python -I -c pass"),
            targets.get(name),
            f"{min(figures[name]) * 1000:.1f} ms at best",
        )
        for name in commands
    ]
    return print_rows(rows)


if __name__ == "__main__":
    sys.exit(main())
