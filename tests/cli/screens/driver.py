"""Runs commands at a terminal of some width, each in a fork of one process that has `operable.cli` imported.

Reads `{"columns": N, "calls": [words…]}` from stdin, and prints one JSON text per call: what the terminal showed.
"""

import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios
import time

LIMIT = 60.0


def show(words: list[str], columns: int) -> str:
    pid, terminal = pty.fork()
    if pid == 0:
        sys.argv = ["operable", *words]
        os.environ["COLUMNS"] = str(columns)
        from operable.cli import main

        main()
        os._exit(0)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    text, deadline = b"", time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            block = os.read(terminal, 65536)
        except OSError:  # the other side has been closed
            break
        if not block:
            break
        text += block
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return text.decode() + f"[status {os.waitstatus_to_exitcode(status)}]\n"


if __name__ == "__main__":
    import operable.cli  # noqa: F401 - every fork has it

    request = json.load(sys.stdin)
    for call in request["calls"]:
        print(json.dumps(show(call, request["columns"])), flush=True)
