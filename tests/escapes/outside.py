"""What the probes try to reach: planted outside of an enclosure, and taken away again."""

import contextlib
import ctypes
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

INSIDE = Path(__file__).with_name("inside.py")
PYTHON = "/usr/bin/python3"  # of the system: it is there in every enclosure
LIMIT = 120.0
_KEYCTL, _ADD_KEY, _SHMGET, _SHMCTL = 250, 248, 29, 31
_SEMGET, _SEMCTL, _MSGGET, _MSGCTL, _MQ_OPEN, _MQ_UNLINK = 64, 66, 68, 71, 240, 241
_VICTIM = """
import os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: open(sys.argv[1], "w").close())
print("ready", flush=True)
sys.stdin.read()
"""


class Outside:
    """A process, files, sockets, keys and shared memory of the host. `facts` tells the probes where they are."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "work"  # the folder that an enclosure shows, writable where it has any
        self.canary = f"CANARY-{uuid.uuid4().hex}"
        self.contacts: list[str] = []
        self._sockets: list[socket.socket] = []
        outside, home = root / "outside", root / "home"
        for folder in (self.work, outside, home):
            folder.mkdir()
        for path in (outside / "secret", home / "file"):
            path.write_text(self.canary)
        for name in ("writable", "removable"):
            (outside / name).write_text("as it was")
        shutil.copy(INSIDE, self.work / "inside.py")
        self.facts: dict[str, Any] = {
            "canary": self.canary, "work": str(self.work), "secret": str(outside / "secret"),
            "home_file": str(home / "file"), "writable": str(outside / "writable"),
            "removable": str(outside / "removable"), "ready": str(self.work / "ready"),
            "victim_signalled": str(outside / "signalled"), "host": os.getpid(), "host_group": os.getpgrp(),
        }  # fmt: skip

    def probe(self, kinds: tuple[str, ...] | None = None) -> list[str]:
        """The command line that tries everything, or these kinds alone."""
        import json

        path = self.work / "facts.json"
        path.write_text(json.dumps(self.facts if kinds is None else {**self.facts, "kinds": kinds}))
        return [PYTHON, "-I", str(self.work / "inside.py"), str(path)]

    def changes(self) -> list[str]:
        """What is not as it was planted, whatever the probes say of themselves."""
        found = [f"{contact} was contacted" for contact in self.contacts]
        outside = self.root / "outside"
        wanted = {"secret", "writable", "removable"}
        if {path.name for path in outside.iterdir()} != wanted:
            found.append(f"{outside} has {sorted(path.name for path in outside.iterdir())}")
        for name in ("writable", "removable"):
            path = outside / name
            if path.exists() and path.read_text() != "as it was":
                found.append(f"{path} was changed")
        for path in self.work.rglob("*"):
            if path.lstat().st_mode & 0o6000 and not path.is_symlink():
                found.append(f"{path} has a setuid or setgid bit")
            if path.is_block_device() or path.is_char_device():
                found.append(f"{path} is a device")
        return found

    def _listen(self, name: str, family: int, kind: int, address: Any) -> socket.socket:
        made = socket.socket(family, kind)
        made.bind(address)
        if kind == socket.SOCK_STREAM:
            made.listen(8)
        self._sockets.append(made)
        threading.Thread(target=self._answer, args=(name, made, kind), daemon=True).start()
        return made

    def _answer(self, name: str, made: socket.socket, kind: int) -> None:
        while True:
            try:
                if kind == socket.SOCK_STREAM:
                    made.accept()[0].close()
                else:
                    data, sender = made.recvfrom(64)
                    if sender:
                        made.sendto(data, sender)
            except OSError:
                return
            self.contacts.append(name)

    def _call_back(self, port: int, stop: threading.Event) -> None:
        """The host's side of a probe that listens: connect as soon as it says that it does."""
        while not stop.wait(0.05):
            if (self.work / "ready").exists():
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    self.contacts.append("a port that an enclosure opened")
                    return


@contextlib.contextmanager
def planted() -> Iterator[Outside]:
    """Not in /tmp: that is empty in most enclosures anyway."""
    root = Path(tempfile.mkdtemp(prefix="operable-escape-", dir="/var/tmp"))
    stop = threading.Event()
    libc = ctypes.CDLL(None, use_errno=True)
    shared = semaphores = messages = queue = -1
    victim: subprocess.Popen[bytes] | None = None
    shm_file = Path("/dev/shm") / root.name
    outside = Outside(root)
    try:
        facts = outside.facts
        victim = subprocess.Popen(
            [PYTHON, "-c", _VICTIM, facts["victim_signalled"]],
            env={"OPERABLE_CANARY": outside.canary},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert victim.stdout is not None
        assert victim.stdout.readline() == b"ready\n"
        facts["victim"] = victim.pid
        stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
        facts["tcp"] = outside._listen("tcp", socket.AF_INET, stream, ("127.0.0.1", 0)).getsockname()[1]
        facts["udp"] = outside._listen("udp", socket.AF_INET, datagram, ("127.0.0.1", 0)).getsockname()[1]
        facts["tcp6"] = outside._listen("tcp6", socket.AF_INET6, stream, ("::1", 0)).getsockname()[1]
        for name, kind in (("unix", stream), ("unix_datagram", datagram)):
            facts[name] = str(outside.work / name)
            outside._listen(name, socket.AF_UNIX, kind, facts[name])
        for name, kind in (("abstract", stream), ("abstract_datagram", datagram)):
            facts[name] = f"{root.name}-{name}"
            outside._listen(name, socket.AF_UNIX, kind, "\0" + facts[name])
        with socket.create_server(("127.0.0.1", 0)) as free:
            facts["free_port"] = free.getsockname()[1]
        threading.Thread(target=outside._call_back, args=(facts["free_port"], stop), daemon=True).start()
        facts["shm_key"] = int.from_bytes(os.urandom(3), "big") + 1
        shared = libc.syscall(_SHMGET, facts["shm_key"], 4096, 0o1600)
        semaphores = libc.syscall(_SEMGET, facts["shm_key"], 1, 0o1600)
        messages = libc.syscall(_MSGGET, facts["shm_key"], 0o1600)
        facts["queue"] = root.name
        queue = libc.syscall(_MQ_OPEN, root.name.encode(), os.O_RDWR | os.O_CREAT, 0o600, None)
        assert min(shared, semaphores, messages, queue) >= 0, os.strerror(ctypes.get_errno())
        shm_file.write_text(outside.canary)
        facts["shm_file"] = str(shm_file)
        libc.syscall(
            _KEYCTL, 1, None
        )  # a session keyring of this test, which enclosed programs would inherit
        libc.syscall(_ADD_KEY, b"user", b"operable-probe-canary", b"x", ctypes.c_size_t(1), ctypes.c_int(-3))
        yield outside
    finally:
        stop.set()
        for each in outside._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        if victim is not None:
            victim.kill()
            victim.communicate(timeout=LIMIT)
        if shared >= 0:
            libc.syscall(_SHMCTL, shared, 0, None)
        if semaphores >= 0:
            libc.syscall(_SEMCTL, semaphores, 0, 0, 0)
        if messages >= 0:
            libc.syscall(_MSGCTL, messages, 0, None)
        if queue >= 0:
            os.close(queue)
            libc.syscall(_MQ_UNLINK, root.name.encode())
        shm_file.unlink(missing_ok=True)
        libc.syscall(_KEYCTL, 1, None)
        shutil.rmtree(root, ignore_errors=True)
