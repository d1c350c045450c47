"""A STAND-IN for openclaw-scheduler, for tests only: its command line as far as applying manifests uses it, on SQLite.

It is not that program and proves nothing about it; set OPENCLAW_SCHEDULER_BIN and the tests use a real one where they can.
What it shares with the real one: `--json` anywhere, `capabilities`, `jobs list|add|update|delete`, a job as an argument or
with `--stdin`, the database in SCHEDULER_DB, answers on stdout, a failure as `{"ok": false, "error": …}` with status 1.

For tests, a file "stand-in.json" in the folder of the database says how it behaves: which capabilities it has, which
command fails, hangs or floods. Every call is noted in the table `calls`.
"""

import json
import os
import sqlite3
import sys
import time
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
    name = " ".join(words[:2] if words[0] == "jobs" else words[:1])
    with sqlite3.connect(database, timeout=30) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS jobs (id TEXT PRIMARY KEY, name TEXT, origin TEXT, row TEXT, created_at TEXT)"
        )
        connection.execute("CREATE TABLE IF NOT EXISTS calls (words TEXT, environment TEXT)")
        connection.execute(
            "INSERT INTO calls VALUES (?, ?)", (json.dumps(words), json.dumps(sorted(os.environ)))
        )
    how = behaviour.get(name)
    if how is not None and (isinstance(how, str) or any(word in how for word in words)):
        return _misbehave(how if isinstance(how, str) else next(how[word] for word in words if word in how))
    if words[0] == "capabilities":
        if "capabilities_answer" not in behaviour:
            return _fail(f"Unknown command: {words[0]}")
        return _say(behaviour["capabilities_answer"])
    with sqlite3.connect(database, timeout=30) as connection:
        return _jobs(connection, words[1:])


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
    return _fail(how)


def _jobs(connection: sqlite3.Connection, words: list[str]) -> int:
    verb, *rest = words
    if verb == "list":
        full = "--include-handoff-artifacts" in rest
        rows = [json.loads(row) for (row,) in connection.execute("SELECT row FROM jobs ORDER BY rowid")]
        for row in rows:
            if full and isinstance(row.get("handoff_artifact_payload"), str):
                row["handoff_artifact_payload"] = json.loads(row["handoff_artifact_payload"])
            elif not full:
                row.pop("handoff_artifact_payload", None)
        return _say(rows)
    if verb == "delete":
        if not connection.execute("DELETE FROM jobs WHERE id = ?", rest).rowcount:
            return _fail(f"Job not found: {rest[0]}")
        return _say({"ok": True, "job_id": rest[0], "deleted": True})
    spec = json.loads(sys.stdin.read() if rest[-1] == "--stdin" else rest[-1])
    if verb == "add":
        if "run_timeout_ms" not in spec:
            return _fail("run_timeout_ms is required")
        row = {**spec, "enabled": int(spec["enabled"])}
        connection.execute(
            "INSERT INTO jobs VALUES (?, ?, ?, ?, datetime('now'))",
            (row["id"], row["name"], row.get("origin"), json.dumps(row)),
        )
        return _say({"ok": True, "job": row})
    found = connection.execute("SELECT row FROM jobs WHERE id = ?", rest[:1]).fetchone()
    if verb != "update" or found is None:
        return _fail(f"Job not found: {rest[0]}")
    row = {**json.loads(found[0]), **spec, "enabled": int(spec["enabled"])}
    connection.execute(
        "UPDATE jobs SET row = ?, name = ? WHERE id = ?", (json.dumps(row), row["name"], rest[0])
    )
    return _say({"ok": True, "job": row})


def _say(document: object) -> int:
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
    return 0


def _fail(message: str) -> int:
    _say({"ok": False, "error": message, "code": "CLI_ERROR"})
    return 1


if __name__ == "__main__":
    sys.exit(main())
