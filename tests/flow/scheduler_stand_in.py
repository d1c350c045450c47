"""A STAND-IN for openclaw-scheduler, for tests only: its command line as far as applying manifests uses it.

It is not that program and proves nothing about it. Where OPENCLAW_SCHEDULER_BIN names a real one, the tests of applying
run against that: this program then only stands in front, notes the calls and passes them on. Otherwise it answers them
itself (`scheduler_stand_in_jobs`).

For tests, a file "stand-in.json" in the folder of the database says how it behaves: which capabilities it has, which
command fails, hangs, dies, floods or has a made-up answer, and which program does the work. Every call is noted in "calls.db".
"""

import json
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

FIELDS_OF_A_V4_CONTRACT = {
    "artifact_schema": "openclaw.scheduler.handoff-artifact",
    "artifact_schema_version": 1,
    "canonicalization": "json-sort-v1",
    "canonicalization_version": 1,
    "digest": "sha256",
    "undefined": "null",
    "execution_binding_version": 2,
    "scheduler_job_binding_version": 1,
}


def main() -> int:
    words = [word for word in sys.argv[1:] if word != "--json"]
    database = os.environ["SCHEDULER_DB"]
    behaviour = _behaviour(database)
    _note(os.path.join(os.path.dirname(database), "calls.db"), words)
    how = behaviour.get(_name(words))
    if isinstance(how, dict) and "answer" in how:
        return _say(how["answer"])
    if how is not None and (isinstance(how, str) or any(word in how for word in words)):
        return _misbehave(how if isinstance(how, str) else next(how[word] for word in words if word in how))
    if words[0] == "capabilities" and "capabilities_answer" in behaviour:
        return _say(behaviour["capabilities_answer"])
    if words[0] == "capabilities" and not behaviour.get("knows capabilities"):
        return _fail(f"Unknown command: {words[0]}", "CLI_ERROR")
    if behaviour.get("program"):
        os.execv(behaviour["program"][0], [*behaviour["program"], "--json", *words])
    return _answered(database, words, behaviour.get("patience", 5.0))


def _name(words: list[str]) -> str:
    """`jobs update` and `jobs update --dry-run` are two things."""
    if words[0] != "jobs":
        return words[0]
    return " ".join([*words[:2], *(["--dry-run"] if "--dry-run" in words[:4] else [])])


def _note(path: str, words: list[str]) -> None:
    connection = sqlite3.connect(path, timeout=30)
    with connection:
        connection.execute("CREATE TABLE IF NOT EXISTS calls (words TEXT, environment TEXT)")
        connection.execute(
            "INSERT INTO calls VALUES (?, ?)", (json.dumps(words), json.dumps(sorted(os.environ)))
        )
    connection.close()


def _behaviour(database: str) -> dict[str, Any]:
    try:
        with open(os.path.join(os.path.dirname(database), "stand-in.json"), encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
            return found
    except FileNotFoundError:
        return {}


def _misbehave(how: str) -> int:
    if how == "hang":
        time.sleep(3600)
    if how == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "flood":
        while True:
            sys.stdout.write("x" * 65536)
    if how == "garbage":
        sys.stdout.write("this is not JSON")
        return 0
    if how == "silence":
        return 0
    if how == "stderr":
        sys.stderr.write("the disk is on fire\n")
        return 3
    return _fail(how, "CLI_ERROR")


def _answered(database: str, words: list[str], patience: float) -> int:
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.flow.scheduler_stand_in_jobs import Refused, answer

    try:
        return _say(answer(database, words, patience))
    except Refused as problem:
        return _fail(str(problem), problem.code)
    except sqlite3.IntegrityError as problem:
        return _fail(str(problem), "SQLITE_CONSTRAINT_PRIMARYKEY")
    except sqlite3.Error as problem:
        return _fail(f"The database could not be opened: {problem}", "DB_INIT_FAILED")


def _say(document: object) -> int:
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
    return 0


def _fail(message: str, code: str) -> int:
    _say({"ok": False, "error": message, "code": code})
    return 1


if __name__ == "__main__":
    sys.exit(main())
