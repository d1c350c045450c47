"""Runs in an environment of a built wheel: each command in a fork of one process that has only `operable.cli` imported.

Reads one JSON array from stdin (`words`, `cwd`, `limit` of each command), and prints one JSON object per command as it ends. A
command that runs until its limit is ended with its children; its status is null. Only the standard library, and the wheel.
"""

import json
import os
import select
import signal
import sys
import tempfile
import time

SIDE_BY_SIDE = 3
KEPT = 4000


def begin(task):
    said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.chdir(task["cwd"])
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - as at a start
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        sys.argv = ["operable", *task["words"]]
        status = 1
        try:
            from operable.cli import main

            main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 0
        except BaseException:  # noqa: BLE001 - a traceback is what the test looks for
            import traceback

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    return pid, os.pidfd_open(pid), said, time.monotonic() + task["limit"], task


def finish(running):
    pid, descriptor, said, deadline, task = running
    waits = not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]
    if waits:
        os.killpg(pid, signal.SIGTERM)
        if not select.select([descriptor], [], [], 3.0)[0]:
            os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    try:
        os.killpg(pid, signal.SIGKILL)  # what it has left behind
    except ProcessLookupError:
        pass
    os.close(descriptor)
    said.seek(0)
    text = said.read().decode("utf-8", "replace")
    code = None if waits else os.waitstatus_to_exitcode(status)
    print(json.dumps({"words": task["words"], "status": code, "text": text[-KEPT:]}), flush=True)


def run(tasks):
    import operable.cli  # noqa: F401 - every fork has it

    running: list[tuple[object, ...]] = []
    for task in tasks:
        if len(running) == SIDE_BY_SIDE:
            finish(running.pop(0))
        running.append(begin(task))
    for left in running:
        finish(left)


if __name__ == "__main__":
    run(json.load(sys.stdin))
