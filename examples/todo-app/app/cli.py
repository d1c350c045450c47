"""The command line of the to-do application: words in, one JSON document out."""

import argparse
import json
import sqlite3
import sys
from typing import Any, NoReturn

import store
from store import Refused

USAGE = 64


class Words(argparse.ArgumentParser):
    """A parser that answers in JSON like everything else."""

    def error(self, message: str) -> NoReturn:
        raise Refused("USAGE", message, USAGE)


def main(words: list[str]) -> int:
    human = "--human" in words
    try:
        found = answer([word for word in words if word != "--human"])
    except Refused as refused:
        return told(
            {"ok": False, "error": {"code": refused.code, "message": str(refused)}},
            refused.status,
            human=human,
        )
    except (sqlite3.Error, OSError) as problem:
        print(f"{type(problem).__name__}: {problem}", file=sys.stderr)
        error = {"code": "STATE_UNUSABLE", "message": "The list cannot be read or written."}
        return told({"ok": False, "error": error}, 74, human=human)
    return told({"ok": True, **found}, 0, human=human)


def told(document: dict[str, Any], status: int, *, human: bool) -> int:
    if not human:
        print(json.dumps(document, ensure_ascii=False))
    elif "error" in document:
        print(document["error"]["message"])
    else:
        for item in document.get("items", [document.get("item", document)]):
            print("  ".join(f"{value}" for value in item.values() if value is not None))
    return status


def answer(words: list[str]) -> dict[str, Any]:
    given = parser().parse_args(words)
    if given.command == "remove" and not given.confirm:
        raise Refused("CONFIRMATION_REQUIRED", "remove requires --confirm.", USAGE)
    with store.opened() as connection:
        return {"command": given.command, **getattr(store, given.does)(connection, given)}


def parser() -> argparse.ArgumentParser:
    top = Words(prog="todo-app", allow_abbrev=False)
    commands = top.add_subparsers(dest="command", required=True, parser_class=Words)
    one(commands, "add", "add", "title", "--description", "--due-at")
    listing = one(commands, "list", "show", "--after")
    listing.add_argument("--status", choices=["open", "done"])
    listing.add_argument("--limit", type=int, default=50)
    one(commands, "get", "get", "id")
    one(commands, "update", "update", "id", "--title", "--description", "--due-at")
    one(commands, "complete", "complete", "id")
    one(commands, "remove", "remove", "id").add_argument("--confirm", action="store_true")
    remind(commands)
    return top


def one(commands: Any, name: str, does: str, *arguments: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(name, allow_abbrev=False)
    made.set_defaults(does=does)
    for argument in arguments:
        made.add_argument(argument)
    return made


def remind(commands: Any) -> None:
    """`remind ID --at DATE`, `remind list`, `remind drop ID`."""
    made = one(commands, "remind", "remind", "what")
    made.add_argument("id", nargs="?")
    made.add_argument("--at")
    made.add_argument("--due-by")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
