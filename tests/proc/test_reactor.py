import os
import subprocess
import sys
import threading

import pytest

from operable.proc.reactor import Attendant, SelectorReactor


@pytest.fixture
def reactor():
    made = SelectorReactor()
    yield made
    made.close()


def test_timers_run_in_order_and_cancelled_ones_never(reactor):
    seen: list[str] = []
    reactor.call_later(0.02, lambda: seen.append("second"))
    reactor.call_later(0.01, lambda: seen.append("first"))
    reactor.call_later(0.0, lambda: seen.append("never")).cancel()
    reactor.call_later(0.03, lambda: seen.append("last"))
    reactor.run(lambda: "last" in seen)
    assert seen == ["first", "second", "last"]


@pytest.mark.parametrize("seconds", [2.0**31, 2.0**53, 1e297])
def test_a_timer_may_be_years_away(reactor, seconds):
    seen: list[str] = []
    reactor.call_later(seconds, lambda: seen.append("years later"))
    threading.Timer(0.05, reactor.call_soon_threadsafe, [lambda: seen.append("woken")]).start()
    reactor.run(lambda: bool(seen))
    assert seen == ["woken"]


def test_a_callback_that_removes_another_of_the_same_round_is_obeyed(reactor):
    one, two = os.pipe(), os.pipe()
    seen = []

    def first_come(mine, other):
        seen.append(mine)
        reactor.remove_reader(mine)
        reactor.remove_reader(other)

    reactor.add_reader(one[0], lambda: first_come(one[0], two[0]))
    reactor.add_reader(two[0], lambda: first_come(two[0], one[0]))
    os.write(one[1], b"x")
    os.write(two[1], b"x")
    reactor.run(lambda: bool(seen))
    turns = []
    reactor.call_later(0, lambda: turns.append(1))
    reactor.run(lambda: bool(turns))
    assert len(seen) == 1
    for fd in (*one, *two):
        os.close(fd)


def test_another_thread_can_wake_it(reactor):
    seen = []
    thread = threading.Thread(
        target=lambda: [reactor.call_soon_threadsafe(lambda: seen.append(1)) for _ in range(70_000)]
    )
    thread.start()
    reactor.run(lambda: len(seen) == 70_000)
    thread.join(20)


def test_a_signal_handler_can_wake_it_in_the_middle_of_being_woken(reactor, monkeypatch):
    seen = []
    write = os.write

    def interrupted(fd, data):
        monkeypatch.setattr(os, "write", write)
        reactor.call_soon_threadsafe(lambda: seen.append("handler"))
        return write(fd, data)

    monkeypatch.setattr(os, "write", interrupted)
    reactor.call_soon_threadsafe(lambda: seen.append("main"))
    reactor.run(lambda: len(seen) == 2)
    assert sorted(seen) == ["handler", "main"]


def test_waking_a_closed_one_does_nothing():
    reactor = SelectorReactor()
    reactor.close()
    reactor.call_soon_threadsafe(lambda: pytest.fail("it ran"))


def test_a_crash_in_the_attendant_reaches_the_caller():
    attendant = Attendant()
    crashes: list[BaseException] = []
    attendant.reactor.call_soon_threadsafe(lambda: 1 / 0)
    attendant.start(lambda: False, crashes.append)
    attendant.join(20)
    assert isinstance(crashes[0], ZeroDivisionError)


def test_running_a_process_without_asyncio_does_not_import_it():
    code = (
        "import sys, operable.proc.run as o, operable.proc.spawn as s; o.output(s.prepare(['true'])); "
        "sys.exit('asyncio' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=200).returncode == 0
