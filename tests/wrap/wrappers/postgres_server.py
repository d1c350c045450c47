"""A PostgreSQL of a room of the linter: two tables, one with three rows, for whoever connects on loopback as `me`.

PostgreSQL refuses to run as root, which the room's user may be: it gets a user namespace in which it is another one.
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

from tests.engine.postgres import server_programs

_TIMEOUT = 120
ROWS = (
    "create table notes (id integer primary key, text text); create table others (id integer);"
    " insert into notes values (1, 'one'), (2, 'two'), (3, 'three')"
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    other = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        programs, data = server_programs(), Path(folder, "data")
        words = [
            "-D",
            str(data),
            "-U",
            "me",
            "--auth=trust",
            "--no-sync",
            "--no-instructions",
            "--locale=C.UTF-8",
        ]
        subprocess.run(
            [*other, f"{programs}/initdb", *words], check=True, timeout=_TIMEOUT, stdout=subprocess.DEVNULL
        )
        single = [*other, f"{programs}/postgres", "--single", "-D", str(data), "postgres"]
        subprocess.run(
            single, input=f"{ROWS}\n".encode(), check=True, timeout=_TIMEOUT, stdout=subprocess.DEVNULL
        )
        options = [
            "-p",
            str(port),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            f"unix_socket_directories={folder}",
        ]
        with subprocess.Popen([*other, f"{programs}/postgres", "-D", str(data), *options, "-c", "fsync=off"]):
            _wait(port)
            print("ready", flush=True)
            while True:
                time.sleep(_TIMEOUT)


def _wait(port: int) -> None:
    import socket

    until = time.monotonic() + _TIMEOUT
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(port)


if __name__ == "__main__":
    main()
