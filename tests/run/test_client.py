"""The blocking client and the asyncio one, side by side: every behaviour holds for both."""

import asyncio
import os
import sys
import threading
import warnings

import msgspec
import pytest

from operable.kernel.errors import Fail
from operable.proc.child import OPEN
from operable.proc.tree.escalation import Graces
from operable.proc.tree.group import group_alive
from operable.proc.tree.keeper import missing as keeper_missing
from operable.run import acall, acollect, call, collect
from operable.run.channel import Channel
from operable.run.session import CallSession
from operable.wire.framework import Meta, Summary
from tests.cli.drive import alive
from tests.requirement import requirement
from tests.run.fake import HITS, tool
from tests.tool.drive import in_time

SHORT = Graces(interrupt=0.3, terminate=0.3, kill=5.0, drain=0.3)


@pytest.fixture(params=["sync", "async"])
def kind(request):
    return request.param


def run(kind, argv, *, on_event=None, **options):
    """Run to the end; `on_event(call, event)` may cancel. Returns the events and the call."""
    options.setdefault("timeout", 200)
    events = []
    if kind == "sync":
        with call(argv, **options) as running:
            for event in running:
                events.append(event)
                if on_event is not None:
                    on_event(running, event)
        return events, running

    async def main():
        async with acall(argv, **options) as running:
            async for event in running:
                events.append(event)
                if on_event is not None:
                    on_event(running, event)
        return running

    return events, asyncio.run(main())


@requirement("aoi:13.1:library-checks")
def test_events_come_typed_and_the_verdict_follows(kind, tmp_path):
    events, done = run(kind, [tool(tmp_path, HITS)])
    assert isinstance(events[0], Meta)
    assert events[1:4] == [{"type": "hit", "rank": rank, "id": f"n{rank}"} for rank in range(3)]
    assert isinstance(events[4], Summary)
    assert (done.verdict.outcome, done.exit_code, done.ok) == ("success", 0, True)


def test_events_can_be_decoded_into_the_types_of_the_caller(kind, tmp_path):
    class Hit(msgspec.Struct, tag_field="type", tag="hit"):
        rank: int

    events, _ = run(kind, [tool(tmp_path, HITS)], types=[Hit])
    assert [event.rank for event in events if isinstance(event, Hit)] == [0, 1, 2]


@requirement("aoi:4.1:exit0-without-summary")
def test_exit_0_without_a_summary_is_a_violation(kind, tmp_path):
    _, done = run(kind, [tool(tmp_path, "meta(); emit('hit')")])
    assert (done.verdict.outcome, done.verdict.code, done.exit_code) == (
        "violation",
        "EXIT0_WITHOUT_SUMMARY",
        65,
    )


def test_a_failure_carries_the_status_and_the_redacted_diagnostics(kind, tmp_path):
    body = "meta(); summary(False); print('Authorization: Bearer abcdefghijklmnop', file=sys.stderr); sys.exit(75)"
    _, done = run(kind, [tool(tmp_path, body)])
    assert (done.verdict.outcome, done.exit_code) == ("failed", 75)
    assert "Authorization" in done.stderr
    assert "abcdefghijklmnop" not in done.stderr


def test_a_tool_killed_in_the_middle_of_a_line_is_incomplete(kind, tmp_path):
    body = (
        'meta(); sys.stdout.write(\'{"type":"hi\'); sys.stdout.flush(); os.kill(os.getpid(), signal.SIGKILL)'
    )
    events, done = run(kind, [tool(tmp_path, body)])
    assert len(events) == 1
    assert (done.verdict.outcome, done.verdict.code, done.verdict.line) == ("incomplete", "LINE_TRUNCATED", 2)


def test_a_line_beyond_the_limit_is_a_violation_and_the_tool_is_still_read_to_its_end(kind, tmp_path):
    body = "meta(); emit('hit', blob='x' * 5_000_000); summary(); open('done', 'w').close()"
    events, done = run(kind, [tool(tmp_path, body)], limit=1_000_000, cwd=tmp_path)
    assert len(events) == 1
    assert (done.verdict.code, done.verdict.line) == ("LINE_TOO_LONG", 2)
    assert (tmp_path / "done").exists()


def test_a_line_just_below_the_limit_passes(kind, tmp_path):
    events, done = run(kind, [tool(tmp_path, "meta(); emit('hit', blob='x' * 5_000_000); summary()")])
    assert done.ok
    assert len(events[1]["blob"]) == 5_000_000


def test_a_cancelled_tool_can_say_its_last_words(kind, tmp_path):
    body = """
def stop(*_): os.write(1, b'{"type":"aoi:summary","ok":false,"reason":"interrupted","partial":true}\\n'); os._exit(130)
signal.signal(signal.SIGINT, stop)
meta(); emit("hit")
while True: signal.pause()
"""
    cancelled: list[None] = []

    def cancel(running, event):
        if isinstance(event, dict) and not cancelled:
            cancelled.append(running.cancel())

    events, done = run(kind, [tool(tmp_path, body)], on_event=cancel)
    assert isinstance(events[-1], Summary)
    assert (done.verdict.outcome, done.verdict.code, done.exit_code) == ("interrupted", "CANCELLED", 130)
    assert done.verdict.summary is not None


@requirement("aoi:1.3:hint-not-executed")
def test_a_hint_is_passed_on_and_never_run(kind, tmp_path):
    body = """
meta()
emit("aoi:error", category="authn", code="INTERACTIVE_REQUIRED", message="log in", retryable=False, hint="touch run")
summary(False)
sys.exit(77)
"""
    _, done = run(kind, [tool(tmp_path, body)], cwd=tmp_path)
    assert done.verdict.last_error is not None
    assert done.verdict.last_error.hint == "touch run"
    assert done.exit_code == 77
    assert not (tmp_path / "run").exists()


@requirement("aoi:6:timeout-124")
def test_the_deadline_ends_the_group_and_the_verdict_says_so(kind, tmp_path):
    body = "signal.signal(signal.SIGINT, signal.SIG_IGN); meta(); emit('hit')\nwhile True: signal.pause()"
    _, done = run(kind, [tool(tmp_path, body)], timeout=0.5, graces=SHORT)
    assert (done.verdict.outcome, done.verdict.code, done.exit_code) == ("failed", "DEADLINE_EXCEEDED", 124)
    assert "0.5 s" in done.verdict.reason


def test_a_tool_that_completes_in_spite_of_the_deadline_has_succeeded(kind, tmp_path):
    body = """
def stop(*_): summary(); os._exit(0)
signal.signal(signal.SIGINT, stop)
meta(); emit("hit")
while True: signal.pause()
"""
    path = tool(tmp_path, body)
    _, done = in_time(lambda timeout: run(kind, [path], timeout=timeout), lambda found: found[0])
    assert (done.verdict.outcome, done.exit_code) == ("success", 0)


def test_leaving_early_ends_the_whole_group(kind, tmp_path):
    body = """
child = os.fork()
if child == 0:
    while True: signal.pause()
meta(); emit("hit", group=os.getpgid(child))
while True: signal.pause()
"""
    path = tool(tmp_path, body)
    if kind == "sync":
        with call([path], timeout=200, graces=SHORT) as running:
            event = next(event for event in running if isinstance(event, dict))
            (pid,) = running.pids
    else:

        async def main():
            async with acall([path], timeout=200, graces=SHORT) as running:
                async for event in running:
                    if isinstance(event, dict):
                        return running, event, running.pids[0]
            return None

        running, event, pid = asyncio.run(main())
    assert (running.verdict.outcome, running.verdict.code) == ("interrupted", "CANCELLED")
    assert event["group"] == pid
    assert not group_alive(pid)


def test_what_was_already_complete_is_judged_on_its_merits_when_the_caller_leaves(kind, tmp_path):
    # The consumer stops at the first event; everything the tool had to say is in our hands by then.
    path = tool(tmp_path, HITS)
    if kind == "sync":
        with call([path], timeout=200) as running:
            for _ in running:
                wait_for(lambda: not running.pids)
                break
    else:

        async def main():
            async with acall([path], timeout=200) as running:
                await running.__anext__()
                await asyncio.to_thread(wait_for, lambda: not running.pids)
            return running

        running = asyncio.run(main())
    assert running.verdict.outcome == "success"


def test_a_missing_tool_is_an_error_before_anything_runs(kind):
    with pytest.raises(Fail) as caught:
        run(kind, ["no-such-tool-anywhere"])
    assert (caught.value.code, caught.value.exit_code) == ("TOOL_NOT_FOUND", 69)


def test_nothing_ambient_reaches_the_tool_unless_named(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "s3cret")
    monkeypatch.setenv("FAKE_DB", "notes.db")
    body = "meta(); emit('env', names=sorted(os.environ)); summary()"
    events, _ = run(kind, [tool(tmp_path, body)], inherit=["FAKE_*"], env={"GIVEN": "1"})
    assert {"PATH", "HOME", "FAKE_DB", "GIVEN"} <= set(events[1]["names"])
    assert "SOME_TOKEN" not in events[1]["names"]


def test_more_input_than_a_pipe_holds_goes_in_while_as_much_comes_out(kind, tmp_path):
    body = "meta()\nfor line in sys.stdin: emit('line', text=line)\nsummary()"
    events, done = run(kind, [tool(tmp_path, body)], stdin="".join(f"{n} {'x' * 200}\n" for n in range(5000)))
    assert done.ok
    assert len(events) == 5002
    assert events[5000]["text"].startswith("4999 ")


def test_stderr_can_be_watched_as_it_comes(kind, tmp_path):
    seen = bytearray()
    run(kind, [tool(tmp_path, "print('note', file=sys.stderr); meta(); summary()")], on_stderr=seen.extend)
    assert seen == b"note\n"


@requirement("aoi:4.2:no-summary-before-eof")
def test_an_unbounded_stream_needs_no_summary_when_its_meta_says_so(kind, tmp_path):
    _, done = run(kind, [tool(tmp_path, "meta(command='watch', unbounded=True); emit('hit')")])
    assert done.verdict.outcome == "success"


def test_an_unbounded_stream_needs_no_summary_when_the_caller_says_so(kind, tmp_path):
    _, done = run(kind, [tool(tmp_path, "meta(command='watch'); emit('hit')")], unbounded=True)
    assert done.verdict.outcome == "success"


@requirement("aoi:4.1:partial-tolerance")
def test_partial_results_are_good_enough_only_when_asked_for(kind, tmp_path):
    path = tool(tmp_path, "meta(); emit('hit'); summary(False, partial=True); sys.exit(65)")
    _, refused = run(kind, [path])
    _, accepted = run(kind, [path], accept_partial=True)
    assert (refused.ok, accepted.ok) == (False, True)


def test_leftover_processes_are_noted(kind, tmp_path):
    body = """
meta(); summary()
reading, writing = os.pipe()
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(writing, b"x")
    while True: signal.pause()
os.read(reading, 1)
os._exit(0)
"""
    _, done = run(kind, [tool(tmp_path, body)], graces=SHORT)
    assert done.ok
    assert "PROCESSES_LEFT" in {note.code for note in done.verdict.notes}


@pytest.mark.skipif(keeper_missing() is not None, reason=str(keeper_missing()))
@pytest.mark.parametrize("ending", ["summary()", "import time; time.sleep(600)"])
def test_what_left_the_group_ends_too_where_the_whole_tree_is_kept(kind, tmp_path, ending):
    body = f"""
meta()
pid = os.fork()
if pid == 0:
    os.setsid()
    os.close(1)
    while True: signal.pause()
emit("hit", pid=pid)
{ending}
"""
    path = tool(tmp_path, body)
    events, running = in_time(
        lambda timeout: run(
            kind, [path], tree=True, graces=SHORT, on_event=lambda each, event: None, timeout=timeout
        ),
        lambda found: any(isinstance(event, dict) for event in found[0]),
    )
    daemon = next(event["pid"] for event in events if isinstance(event, dict))

    assert running.verdict.code == ("OK" if ending == "summary()" else "DEADLINE_EXCEEDED")
    wait_for(lambda: not alive(daemon))


def test_two_calls_at_once_do_not_meet(tmp_path):
    # Each waits for the other's word: only tools that really run side by side can finish.
    one, two = tmp_path / "one", tmp_path / "two"
    os.mkfifo(one)
    os.mkfifo(two)
    path = tool(
        tmp_path,
        "meta(); mine, theirs = [os.open(path, os.O_RDWR) for path in sys.argv[1:3]]\n"
        "os.write(mine, b'x'); emit('got', what=os.read(theirs, 1).decode()); summary()",
    )

    async def main():
        return await asyncio.gather(
            acollect([path, str(one), str(two)], timeout=200),
            acollect([path, str(two), str(one)], timeout=30),
        )

    # Both ends stay open here, so that no word is lost with the tool that said it.
    held = [os.open(fifo, os.O_RDWR) for fifo in (one, two)]
    try:
        assert [result.ok for result in asyncio.run(main())] == [True, True]
        with (
            call([path, str(one), str(two)], timeout=200) as left,
            call([path, str(two), str(one)], timeout=200) as right,
        ):
            assert len(list(left)) == len(list(right)) == 3
        assert left.ok
        assert right.ok
    finally:
        for fd in held:
            os.close(fd)


def test_a_slow_consumer_stops_the_tool_in_its_write_instead_of_growing_memory(kind, tmp_path):
    # The tool counts what it got rid of in a file that it syncs with every write; 1 GB would be its whole output.
    body = """
meta()
line = (json.dumps({"type": "hit", "blob": "x" * 1000}) + "\\n").encode() * 60
count = os.open("count", os.O_CREAT | os.O_RDWR)
os.set_blocking(1, False)
import select
for number in range(16_000):
    rest = line
    while rest:
        if not select.select([], [1], [], 0.5)[1]:
            os.pwrite(count, b"blocked", 100)
            select.select([], [1], [], 20)
        try:
            rest = rest[os.write(1, rest):]
        except BlockingIOError:
            continue
    os.pwrite(count, b"%20d" % (number * len(line)), 0)
"""
    path = tool(tmp_path, body)
    count = tmp_path / "count"

    def written():
        return int(count.read_bytes()[:20])

    def blocked():
        return count.exists() and b"blocked" in count.read_bytes()

    if kind == "sync":
        with call([path], timeout=200, graces=SHORT, cwd=tmp_path) as running:
            next(iter(running))
            wait_for(blocked)
            assert written() < 1_500_000
    else:

        async def main():
            async with acall([path], timeout=200, graces=SHORT, cwd=tmp_path) as running:
                await running.__anext__()
                await asyncio.to_thread(wait_for, blocked)
                assert written() < 1_500_000

        asyncio.run(asyncio.wait_for(main(), 50))


def wait_for(condition, seconds=40.0):
    done = threading.Event()
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        done.wait(0.01)
    pytest.fail("it did not happen")


def test_collect_keeps_everything_up_to_its_bound(kind, tmp_path):
    def collected(**options):
        argv = [tool(tmp_path, HITS)]
        return collect(argv, **options) if kind == "sync" else asyncio.run(acollect(argv, **options))

    whole = collected()
    assert (len(whole.events), whole.ok, whole.stderr) == (5, True, "")
    assert len(collected(max_events=5).events) == 5
    cut = collected(max_events=2)
    assert (len(cut.events), cut.ok) == (2, False)
    assert (cut.verdict.code, cut.verdict.exit_code) == ("EVENT_LIMIT_REACHED", 130)


def test_the_verdict_cannot_be_read_before_the_end(kind, tmp_path):
    made = call([tool(tmp_path, HITS)]) if kind == "sync" else acall([tool(tmp_path, HITS)])
    with pytest.raises(RuntimeError):
        _ = made.verdict


def test_wait_runs_to_the_end_without_showing_events(kind, tmp_path):
    made = [tool(tmp_path, HITS)]
    if kind == "sync":
        assert call(made, timeout=200).wait().ok
        return

    async def main():
        return await acall(made, timeout=200).wait()

    assert asyncio.run(main()).ok


def test_an_iterator_without_a_block_works_too(tmp_path):
    running = call([tool(tmp_path, HITS)], timeout=200)
    assert len(list(running)) == 5
    assert running.ok


def test_a_call_that_is_dropped_while_running_is_reported_and_leaves_no_process(tmp_path):
    running = call([tool(tmp_path, "meta()\nwhile True: signal.pause()")], timeout=200)
    next(iter(running))
    (pid,) = running.pids
    dropped = [running]
    del running
    with pytest.warns(ResourceWarning, match="left running"):
        dropped.clear()
    wait_for(lambda: not group_alive(pid))


def test_an_asynchronous_call_that_is_dropped_is_reported_and_leaves_no_process(tmp_path):
    path = tool(tmp_path, "meta()\nwhile True: signal.pause()")

    async def main():
        running = acall([path], timeout=200)
        await running.__anext__()
        (pid,) = running.pids
        dropped = [running]
        del running
        with pytest.warns(ResourceWarning, match="left running"):
            dropped.clear()
        await asyncio.to_thread(wait_for, lambda: not group_alive(pid))

    asyncio.run(main())


def test_an_interrupt_of_the_waiting_caller_ends_the_tool(tmp_path):
    body = "meta(); sys.stdin.read(1); os.kill(int(sys.argv[1]), signal.SIGINT)\nwhile True: signal.pause()"
    argv = [tool(tmp_path, body), str(os.getpid())]
    reading, writing = os.pipe()
    pids: list[int] = []

    def consume():
        with running:
            for _ in running:
                pids.extend(running.pids)
                os.write(writing, b"x")

    running = call(argv, stdin=reading, timeout=200, graces=SHORT)
    with pytest.raises(KeyboardInterrupt):
        consume()
    os.close(reading)
    os.close(writing)
    assert not group_alive(pids[0])
    assert running.verdict.code == "CANCELLED"


def test_a_second_interrupt_kills_at_once(tmp_path):
    # The tool answers the first SIGINT, which comes from leaving the block, by interrupting its caller again.
    body = """
signal.signal(signal.SIGINT, lambda *_: os.kill(int(sys.argv[1]), signal.SIGINT))
meta()
while True: signal.pause()
"""
    patient = Graces(interrupt=1000, terminate=1000, kill=10, drain=1)
    running = call([tool(tmp_path, body), str(os.getpid())], timeout=None, graces=patient)
    pids: list[int] = []

    def leave():
        with running:
            for _ in running:
                pids.extend(running.pids)
                break

    with pytest.raises(KeyboardInterrupt):
        leave()
    assert not group_alive(pids[0])
    assert (running.verdict.code, running.verdict.exit_status) == ("CANCELLED", -9)


def test_a_void_stream_without_a_deadline_is_ended(kind, tmp_path):
    path = tool(tmp_path, "meta(); print('Done!', flush=True)\nwhile True: signal.pause()")
    _, done = run(kind, [path], timeout=None, unbounded=True, graces=SHORT)
    assert (done.verdict.code, done.verdict.line, done.violated) == ("NOT_JSON", 2, True)


def test_a_fork_of_the_caller_does_not_end_its_calls(tmp_path):
    path = tool(tmp_path, "meta(); sys.stdin.read(1); summary()")
    reading, writing = os.pipe()
    with call([path], stdin=reading, timeout=200) as running:
        next(iter(running))
        with warnings.catch_warnings():
            # From 3.12 on forking beside a thread is warned about. It is done all the same, by multiprocessing first of all.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            running.__del__()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        os.write(writing, b"x")
        assert len(list(running)) == 1
    os.close(reading)
    os.close(writing)
    assert running.ok


def test_cancelling_the_task_ends_the_group_first(tmp_path):
    path = tool(
        tmp_path,
        "meta(); signal.signal(signal.SIGINT, signal.SIG_IGN); emit('ready')\nwhile True: signal.pause()",
    )
    pids = []

    async def consume(ready):
        async with acall([path], timeout=200, graces=SHORT) as running:
            async for event in running:
                if isinstance(event, dict):
                    pids.extend(running.pids)
                    ready.set()

    async def main():
        ready = asyncio.Event()
        task = asyncio.create_task(consume(ready))
        await asyncio.wait_for(ready.wait(), 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return group_alive(pids[0])

    assert asyncio.run(main()) is False


def test_cancelling_the_task_twice_kills_at_once(tmp_path):
    body = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, lambda *_: os.write(1, b'{"type":"interrupted"}\\n'))
meta(); emit('ready')
while True: signal.pause()
"""
    path = tool(tmp_path, body)
    patient = Graces(interrupt=1000, terminate=1000, kill=10, drain=1)
    pids = []

    async def consume(ready):
        async with acall([path], timeout=None, graces=patient) as running:
            async for event in running:
                if isinstance(event, dict):
                    pids.extend(running.pids)
                    ready.set()

    async def main():
        ready = asyncio.Event()
        task = asyncio.create_task(consume(ready))
        await asyncio.wait_for(ready.wait(), 20)
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 20)
        return group_alive(pids[0])

    assert asyncio.run(main()) is False


def test_the_deadline_holds_while_the_caller_is_busy_with_an_event(tmp_path):
    with call([tool(tmp_path, "meta()\nwhile True: signal.pause()")], timeout=0.5, graces=SHORT) as running:
        for _ in running:
            wait_for(lambda: not running.pids)
    assert running.verdict.code == "DEADLINE_EXCEEDED"


def test_stderr_is_drained_while_the_caller_is_busy_with_an_event(tmp_path):
    body = "meta()\nfor _ in range(50): os.write(2, b'e' * 65536)\nopen('done', 'w').close(); summary()"
    with call([tool(tmp_path, body)], timeout=200, cwd=tmp_path) as running:
        for _ in running:
            wait_for((tmp_path / "done").exists)
    assert running.ok


def test_an_exception_in_a_callback_of_the_caller_ends_the_call_and_comes_back(kind, tmp_path):
    def explode(_):
        raise ZeroDivisionError

    path = tool(tmp_path, "meta(); print('x', file=sys.stderr, flush=True)\nwhile True: signal.pause()")
    with pytest.raises(ZeroDivisionError):
        run(kind, [path], on_stderr=explode, graces=SHORT)


def test_a_bug_in_the_attendant_reaches_the_caller_and_leaves_no_process(tmp_path, monkeypatch):
    def explode(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(Channel, "put", explode)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    body = f"open({str(gate)!r}).close()\nmeta()\nwhile True: signal.pause()"
    running = call([tool(tmp_path, body)], timeout=200)
    running.start()
    pids = running.pids  # before it says anything: the attendant dies of the first word, and ends the tool
    gate.open("w").close()
    with pytest.raises(ZeroDivisionError):
        list(running)
    running.close()
    assert not group_alive(pids[0])


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": -1}, {"validate": "maybe"}, {"stdin": OPEN}])
def test_an_option_that_cannot_be_meant_is_a_usage_error(options):
    with pytest.raises(Fail) as caught:
        call([sys.executable], **options)
    assert caught.value.category == "usage"


def test_an_unknown_option_is_named():
    with pytest.raises(TypeError, match="tiemout"):
        call([sys.executable], tiemout=3)  # type: ignore[call-arg]


def test_what_is_shown_of_a_call_is_redacted():
    made = call([sys.executable, "--token", "s3cret-value"])
    assert "s3cret" not in repr(made)
    assert isinstance(made._session, CallSession)


def test_blocking_calls_do_not_import_asyncio(tmp_path):
    import subprocess

    code = f"import sys; from operable.run import collect; collect([{tool(tmp_path, HITS)!r}]); sys.exit('asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=200).returncode == 0


def test_a_relay_gets_the_bytes_as_they_came_beside_their_events(tmp_path):
    body = HITS + 'sys.stdout.write(\'{"type":"late"}\')'
    with call([tool(tmp_path, body.replace("summary(count=3)", ""))], timeout=200) as running:
        passages = list(running.passages())
    assert b"".join(chunk for chunk, _ in passages).endswith(b'{"type":"late"}')
    assert sum(len(events) for _, events in passages) == 5
    assert passages[-1] == (b"", [{"type": "late"}])
