import asyncio
import os

import pytest

from operable.kernel.errors import Fail
from operable.proc.child import OPEN
from operable.proc.run import aoutput, output, supervise
from operable.proc.spawn import prepare
from operable.proc.tree.group import group_alive
from tests.proc.drive import SHORT, python


def run(kind, argv, **options):
    command = prepare(argv)
    return output(command, **options) if kind == "sync" else asyncio.run(aoutput(command, **options))


@pytest.fixture(params=["sync", "async"])
def kind(request):
    return request.param


def test_a_short_answer_with_its_status(kind):
    done = run(kind, python("import sys; print(sys.stdin.read()); sys.exit('why')"), stdin=b"question")
    assert (done.stdout, done.stderr, done.status) == (b"question\n", "why\n", 1)


def test_an_answer_that_is_too_large_is_refused_not_cut(kind):
    with pytest.raises(Fail) as caught:
        run(kind, python("while True: print('x' * 9999)"), limit=100_000)
    assert caught.value.code == "OUTPUT_TOO_LARGE"


def test_an_answer_that_does_not_come_is_a_timeout(kind):
    with pytest.raises(Fail) as caught:
        run(kind, python("import signal; signal.pause()"), timeout=0.2, graces=SHORT)
    assert (caught.value.category, caught.value.exit_code) == ("timeout", 124)


def test_cancelling_the_task_leaves_no_process(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    code = f"import os; f = open({str(fifo)!r}, 'w'); print(os.getpid(), file=f, flush=True)\nwhile True: f.read if 0 else 0"

    async def main():
        task = asyncio.create_task(aoutput(prepare(python(code)), timeout=200))
        with await asyncio.to_thread(open, fifo) as file:
            pid = int(await asyncio.to_thread(file.readline))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return pid

    assert not group_alive(asyncio.run(main()))


def test_an_exception_in_the_waiting_thread_leaves_no_process(monkeypatch, tmp_path):
    import signal

    pids = []

    def interrupt(*_):
        pids.append(int((tmp_path / "pid").read_text()))
        raise KeyboardInterrupt

    code = f"""
import os, signal
os.read(0, 1)  # written when it has been started whole, and the waiting begins
open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
os.kill({os.getpid()}, signal.SIGUSR1); signal.pause()"""
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            output(prepare(python(code)), stdin=b"go", timeout=200)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not group_alive(pids[0])


@pytest.mark.parametrize("way", ["left early", "exception", "interrupt in a callback"])
def test_a_command_is_gone_however_its_block_is_left(way):
    def took(_chunk):
        if way == "interrupt in a callback":
            raise KeyboardInterrupt

    def supervised():
        with supervise(
            prepare(python("import signal; print(flush=True); signal.pause()")), on_stdout=took
        ) as run:
            pids.append(run.child.pid)
            if way == "exception":
                raise ZeroDivisionError
            if way != "left early":
                run.wait()

    pids: list[int] = []
    if way == "left early":
        supervised()
    else:
        with pytest.raises((ZeroDivisionError, KeyboardInterrupt)):
            supervised()
    assert not group_alive(pids[0])


def test_a_supervised_command_is_written_to_read_and_waited_for():
    taken = bytearray()
    words = python("import sys; print(input()); print('err', file=sys.stderr); sys.exit(3)")
    with supervise(prepare(words), on_stdout=taken.extend, stdin=OPEN, timeout=100) as run:
        assert run.child.stdin is not None
        run.child.stdin.write(b"question\n")
        end = run.wait()
    assert (bytes(taken), end.status, end.stderr.text(), end.cause) == (b"question\n", 3, "err\n", None)
    assert run.ended is end
