"""A throw-away PostgreSQL cluster on a socket and on loopback, as a user that is not root."""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Self

_TIMEOUT = 120


def server_programs() -> str | None:
    """The folder with initdb and pg_ctl. Returns None if the server is not installed."""
    for folder in sorted(glob("/usr/lib/postgresql/*/bin"), reverse=True):
        if os.access(f"{folder}/initdb", os.X_OK):
            return folder
    found = shutil.which("initdb")
    return os.path.dirname(found) if found else None


@dataclass(frozen=True)
class PostgresServer:
    folder: Path
    port: int

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[Self]:
        folder = Path(tempfile.mkdtemp(prefix="operable-pg-", dir="/tmp"))
        server = cls(folder, free_port())
        try:
            if os.geteuid() == 0:
                shutil.chown(folder, "postgres", "postgres")
            server.control(
                "initdb", "-D", str(folder / "data"), "-U", "operable", "--auth=trust", "--no-sync"
            )
            server.start()
            yield server
        finally:
            server.stop()
            shutil.rmtree(folder, ignore_errors=True)

    def start(self) -> None:
        # Killing it is part of the tests, losing the machine is not: what the kernel has is enough.
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} -c fsync=off"
        data, log = str(self.folder / "data"), str(self.folder / "log")
        self.control("pg_ctl", "-D", data, "-o", options, "-l", log, "-w", "start")

    def stop(self, mode: str = "immediate") -> None:
        self.control("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop", check=False)

    def new_database(self) -> str:
        name = f"t{secrets.token_hex(6)}"
        self.control("createdb", "-h", str(self.folder), "-p", str(self.port), "-U", "operable", name)
        return f"postgresql://operable@127.0.0.1:{self.port}/{name}"

    def count(self, url: str, rows: str) -> int:
        """How many rows there are, of a table or of what a condition selects."""
        import psycopg

        with psycopg.connect(url) as connection:
            row = connection.execute(f"SELECT COUNT(*) FROM {rows}").fetchone()
        assert row is not None
        return int(row[0])

    def new_user(self, url: str, name: str, password: str) -> None:
        """A user without any right but to log in, with a password."""
        import psycopg

        access = self.folder / "data" / "pg_hba.conf"
        access.write_text(f"host all {name} 127.0.0.1/32 scram-sha-256\n{access.read_text()}")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
            connection.execute("SELECT pg_reload_conf()")

    def control(self, program: str, *args: str, check: bool = True) -> None:
        """Run a program of the server, not as root: it refuses that."""
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        subprocess.run(
            [f"{server_programs()}/{program}", *args],
            check=check,
            timeout=_TIMEOUT,
            capture_output=True,
            cwd="/",
            **user,  # type: ignore[call-overload]
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
