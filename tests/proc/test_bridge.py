"""The bridge by itself, with a machine of the test's own: what it does when a provider does not behave."""

import asyncio
import os
import tarfile

import pytest

from operable.proc import bridge as bridging
from operable.proc.bridge import MachineBridge, pack
from operable.proc.machine import MachineJob


class Machine:
    """Everything works, unless told otherwise."""

    def __init__(self, **problems):
        self.problems = problems
        self.did = []
        self.ended = asyncio.Event()

    @property
    def id(self):
        return "m-1" if self.problems.get("made", True) and "closed" not in self.did else None

    def _do(self, what):
        self.did.append(what)
        if what in self.problems:
            raise self.problems[what]

    async def open(self, job):
        self._do("open")

    async def put(self, source, place):
        self._do("put")

    async def call(self, line):
        self._do("call")
        return self.problems.get("status", 0), "no space left"

    async def start(self, job, out, err):
        self._do("start")
        self.out = out
        await out(b"hello\n")

    async def write(self, data):
        self._do("write")

    async def finish(self):
        self._do("finish")
        if self.problems.get("no_end"):
            return False
        self.ended.set()
        return True

    async def wait(self):
        try:
            await self.ended.wait()
        finally:
            await self.out(self.problems.get("flushed", b""))
        return 0

    async def renew(self):
        self._do("renew")

    async def close(self):
        self._do("close")
        self.did.append("closed")


@pytest.fixture
def stdio(monkeypatch):
    """Standard input that has ended, a pipe as standard output, and what is said on stderr."""
    told = bytearray()
    real = os.read
    reading, writing = os.pipe()
    monkeypatch.setattr(os, "read", lambda fd, size: b"" if fd == 0 else real(fd, size))
    plain = bridging._write_all
    monkeypatch.setattr(
        bridging, "_write_all", lambda fd, data: told.extend(data) if fd == 2 else plain(fd, data)
    )
    yield writing, reading, told
    os.close(reading)
    os.close(writing)


def run(stdio, job=None, **problems):
    async def work():
        machine = Machine(**problems)
        bridge = MachineBridge(
            "cloud", machine, job or MachineJob(("true",), {}, "/", {}), stdio[0], ("s3cret-key",)
        )
        return await asyncio.wait_for(bridge.run(), 200), machine

    return asyncio.run(work())


def test_what_the_command_writes_comes_out_and_the_machine_is_destroyed(stdio):
    status, machine = run(stdio)

    assert status == 0
    assert os.read(stdio[1], 100) == b"hello\n"
    assert machine.did[-1] == "closed"


def test_where_an_end_of_input_cannot_be_told_the_machine_ends_with_it(stdio):
    status, machine = run(stdio, no_end=True)

    assert status == 0
    assert machine.did[-1] == "closed"


def test_what_an_sdk_flushes_when_it_is_cancelled_is_not_said_twice(stdio):
    run(stdio, no_end=True, flushed=b"lo\n")

    os.set_blocking(stdio[1], False)
    assert os.read(stdio[1], 100) == b"hello\n"


def test_an_error_of_the_sdk_is_told_in_one_line_without_the_key(stdio):
    status, machine = run(stdio, start=ValueError("refused:\nkey s3cret-key"))

    assert status == 70
    assert stdio[2].decode().startswith("operable: cloud: ValueError: refused: key ")
    assert b"s3cret-key" not in stdio[2]
    assert stdio[2].count(b"\n") == 1
    assert machine.did[-1] == "closed"


def test_a_key_that_lies_where_an_error_is_cut_is_masked_all_the_same(stdio):
    for before in range(430, 500):
        run(stdio, start=ValueError("x" * before + " s3cret-key and more"))

    assert b"s3c" not in stdio[2]


def test_a_machine_that_was_never_made_is_not_destroyed(stdio):
    status, machine = run(stdio, made=False, open=OSError("no route"))

    assert status == 70
    assert machine.did == ["open"]


def test_a_machine_that_cannot_be_destroyed_is_named(stdio):
    status, _ = run(stdio, close=ConnectionError("gone"))

    assert status == 0
    assert b"machine m-1 was not destroyed (ConnectionError); it ends by itself within 300 s" in stdio[2]


def test_input_that_cannot_be_delivered_is_told_and_the_command_goes_on_until_it_ends(stdio, monkeypatch):
    pieces, real = [b"one", b""], os.read
    monkeypatch.setattr(os, "read", lambda fd, size: pieces.pop(0) if fd == 0 else real(fd, size))

    async def work():
        machine = Machine(write=ConnectionError("gone"))
        bridge = MachineBridge("cloud", machine, MachineJob(("true",), {}, "/", {}), stdio[0], ())
        running = asyncio.ensure_future(bridge.run())
        async with asyncio.timeout(200):
            while b"its input is lost" not in stdio[2]:  # noqa: ASYNC110 - said by a thread
                await asyncio.sleep(0.01)
        machine.ended.set()
        return await asyncio.wait_for(running, 200)

    assert asyncio.run(work()) == 0


def test_an_end_of_input_that_comes_after_the_end_of_the_command_is_not_an_error(stdio):
    class Ended(Machine):
        async def finish(self):
            self.ended.set()
            raise LookupError("process 8590 not found")

    async def work():
        bridge = MachineBridge("cloud", Ended(), MachineJob(("true",), {}, "/", {}), stdio[0], ())
        return await asyncio.wait_for(bridge.run(), 200)

    assert asyncio.run(work()) == 0
    assert stdio[2] == b""


def test_an_end_of_input_that_a_running_command_does_not_get_is_reported(stdio, monkeypatch):
    monkeypatch.setattr(bridging, "_GOODBYE", 0.05)

    async def work():
        machine = Machine(finish=LookupError("no such route"))
        bridge = MachineBridge("cloud", machine, MachineJob(("true",), {}, "/", {}), stdio[0], ())
        running = asyncio.ensure_future(bridge.run())
        async with asyncio.timeout(200):
            while b"its input is lost: LookupError: no such route" not in stdio[2]:  # noqa: ASYNC110 - said by a thread
                await asyncio.sleep(0.01)
        machine.ended.set()
        return await asyncio.wait_for(running, 200)

    assert asyncio.run(work()) == 0


def test_mounts_that_cannot_be_unpacked_there_end_it(stdio, tmp_path):
    job = MachineJob(("true",), {}, "/", {}, files=(("/there", str(tmp_path)),))
    status, machine = run(stdio, job, status=2)

    assert status == 70
    assert b"could not be unpacked there (status 2): no space left" in stdio[2]
    assert "start" not in machine.did


def test_a_copy_has_files_folders_and_links_with_their_modes_and_nothing_of_their_owner(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "run").write_text("x")
    (source / "run").chmod(0o750)
    (source / "link").symlink_to("run")
    os.mkfifo(source / "pipe")
    path = str(tmp_path / "packed.tar")

    pack(path, (("/there/work", str(source)),))

    with tarfile.open(path) as archive:
        found = {member.name: member for member in archive.getmembers()}
    assert set(found) == {"there/work", "there/work/run", "there/work/link"}
    assert found["there/work/run"].mode == 0o750
    assert (found["there/work/run"].uid, found["there/work/run"].uname) == (0, "")


def test_a_copy_that_is_too_large_is_refused(tmp_path, monkeypatch):
    (tmp_path / "large").write_bytes(b"x" * 2000)
    monkeypatch.setattr(bridging, "COPY_LIMIT", 1000)

    with pytest.raises(OSError, match="larger than 1000 bytes"):
        pack(str(tmp_path / "packed.tar"), (("/there", str(tmp_path / "large")),))
