"""Sessions without a loop: an interrupt of the waiting thread reaches what is being started."""

import asyncio
import signal
import threading

import pytest

from operable.host.sync import blocking, interruptible


def test_the_result_and_the_failure_of_the_work_are_those_of_the_call():
    async def work():
        return 7

    async def failing():
        raise LookupError("no")

    assert interruptible(work()) == blocking(work()) == 7
    with pytest.raises(LookupError, match="no"):
        interruptible(failing())


def test_an_interrupt_cancels_the_work_and_waits_for_it_to_clean_up():
    cleaned = threading.Event()
    main = threading.get_ident()

    async def work():
        # By then the other thread waits; before, there would be nothing to interrupt.
        asyncio.get_running_loop().call_later(1.0, signal.pthread_kill, main, signal.SIGINT)
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.1)
            cleaned.set()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            interruptible(work())
        assert cleaned.is_set()
    finally:
        signal.signal(signal.SIGINT, before)
