import os

import pytest

from operable.proc.pipes import CHUNK, Inlet, PipeReader
from operable.proc.reactor import SelectorReactor


@pytest.fixture
def reactor():
    made = SelectorReactor()
    yield made
    made.close()


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    yield reading, writing
    for fd in (reading, writing):
        try:
            os.close(fd)
        except OSError:
            continue  # the test closed it


def test_an_outlet_reads_to_the_end_and_says_so_once(reactor, pipe):
    reading, writing = pipe
    chunks: list[bytes] = []
    closed: list[int] = []
    outlet = PipeReader(reactor, reading, chunks.append, lambda: closed.append(1))
    os.write(writing, b"abc")
    assert outlet.waiting == 3
    os.close(writing)
    reactor.run(lambda: outlet.closed)
    outlet.close()
    assert (chunks, closed, outlet.total, outlet.waiting) == ([b"abc"], [1], 3, 0)


def test_a_paused_outlet_leaves_the_bytes_in_the_pipe(reactor, pipe):
    reading, writing = pipe
    chunks: list[bytes] = []
    outlet = PipeReader(reactor, reading, chunks.append, lambda: None)
    outlet.pause()
    os.write(writing, b"abc")
    turns = []
    reactor.call_soon_threadsafe(lambda: turns.append(1))
    reactor.run(lambda: bool(turns))
    assert (chunks, outlet.waiting) == ([], 3)
    outlet.resume()
    reactor.run(lambda: bool(chunks))
    assert chunks == [b"abc"]
    outlet.close()


def test_an_inlet_counts_what_the_pipe_did_not_take_and_tells_when_it_is_empty(reactor, pipe):
    reading, writing = pipe
    inlet = Inlet(reactor, writing)
    drained = []
    inlet.on_drain = lambda: drained.append(1)
    inlet.write(b"x" * (3 * CHUNK))
    assert inlet.backlog > 0
    assert not drained
    taken = bytearray()
    outlet = PipeReader(reactor, reading, taken.extend, lambda: None)
    reactor.run(lambda: bool(drained))
    assert inlet.backlog == 0
    inlet.finish()
    reactor.run(lambda: outlet.closed)
    assert len(taken) == 3 * CHUNK


def test_finish_closes_only_after_everything_is_written(reactor, pipe):
    reading, writing = pipe
    inlet = Inlet(reactor, writing)
    inlet.write(b"a" * (2 * CHUNK))
    inlet.finish()
    inlet.write(b"too late")
    assert not inlet.closed
    taken = bytearray()
    outlet = PipeReader(reactor, reading, taken.extend, lambda: None)
    reactor.run(lambda: outlet.closed)
    assert inlet.closed
    assert len(taken) == 2 * CHUNK


@pytest.mark.parametrize("first", [b"short", b"x" * (4 * CHUNK)], ids=["at-once", "later"])
def test_a_reader_that_goes_away_is_an_event_not_an_exception(reactor, pipe, first):
    reading, writing = pipe
    inlet = Inlet(reactor, writing)
    broken = []
    inlet.on_break = lambda: broken.append(1)
    if len(first) > CHUNK:
        inlet.write(first)
    os.close(reading)
    if len(first) <= CHUNK:
        inlet.write(first)
    reactor.run(lambda: bool(broken))
    assert inlet.broken
    assert inlet.closed
    inlet.write(b"ignored")
