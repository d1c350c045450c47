"""A database with triggers and views, a .sqliterc, and statements that write, attach and load."""

import sqlite3
from contextlib import closing

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["tables", "notes.db"],
    ["query", "notes.db", "select * from notes"],
    ["query", "notes.db", "select * from spy"],
    ["query", "notes.db", "select load_extension('./trap')"],
    ["query", "notes.db", "attach 'CANARY' as c"],
    ["query", "notes.db", "insert into notes values (2)"],
    ["query", "notes.db", "pragma journal_mode=delete"],
    ["query", "notes.db", "vacuum into 'CANARY'"],
    ["query", "kept.db", "select * from notes"],
    ["tables", "kept.db"],
    ["query", "odd.db", "select * from notes"],
    ["query", "left.db", "select * from notes"],
    ["tables", "left.db"],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    scene.write("$(trap)", "a name that a shell would run")
    scene.write("poem.txt", "one\n")
    scene.write(".sqliterc", f".shell {trap}\n.output CANARY\n")
    for name, mode in (("notes.db", "delete"), ("kept.db", "wal")):
        with closing(sqlite3.connect(scene.project / name)) as database:
            database.execute(f"pragma journal_mode={mode}")
            database.execute("create table notes (id integer)")
            database.execute("create view spy as select load_extension('./trap') from notes")
            database.execute("insert into notes values (1)")
            database.commit()
    # Written in one way and to be read in another; and a database that seems to be in use, without its log.
    for name, versions in (("odd.db", b"\1\2"), ("left.db", b"\2\2")):
        data = (scene.project / "notes.db").read_bytes()
        (scene.project / name).write_bytes(data[:18] + versions + data[20:])
    (scene.project / "left.db-shm").write_bytes(bytes(32 * 1024))
    scene.env |= {"HOME": str(scene.project)}
