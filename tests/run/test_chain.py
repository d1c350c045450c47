"""Several tools in a row: streaming, back-pressure, and who is to blame."""

import asyncio
import os

import pytest

from operable.kernel.errors import Fail
from operable.proc.tree.escalation import Graces
from operable.run import apipe, pipe
from operable.run import chain as chain_module
from tests.requirement import requirement
from tests.run.fake import HITS, tool

SHORT = Graces(interrupt=0.3, terminate=0.3, kill=5.0, drain=0.3)

# Passes on every event that is not the framework's, and judges its upstream as section 13 advises.
TRANSFORM = """
meta(command="transform")
count, complete = 0, False
for line in sys.stdin:
    event = json.loads(line)
    if event["type"] == "aoi:summary":
        complete = event["ok"]
    elif not event["type"].startswith("aoi:"):
        emit("seen", rank=event.get("rank")); count += 1
summary(complete, count=count)
sys.exit(0 if complete else 65)
"""
FIRST_ONLY = "meta(); emit('first', line=sys.stdin.readline()); summary(); os._exit(0)"
ENDLESS = "meta()\nwhile True: emit('hit', blob='x' * 500)"


@pytest.fixture(params=["sync", "async"])
def kind(request):
    return request.param


def run(kind, stages, **options):
    options.setdefault("timeout", 200)
    options.setdefault("exact", True)
    options.setdefault("graces", SHORT)
    if kind == "sync":
        with pipe(stages, **options) as running:
            events = list(running)
        return events, running

    async def main():
        async with apipe(stages, **options) as running:
            return [event async for event in running], running

    return asyncio.run(main())


def codes(running):
    return [stage.verdict.code for stage in running.stages]


@requirement("aoi:13.1:pipefail")
def test_every_stage_has_its_verdict_and_the_events_are_those_of_the_last(kind, tmp_path):
    source, transform = tool(tmp_path, HITS), tool(tmp_path, TRANSFORM, "transform")
    events, done = run(kind, [[source], [transform], [transform]])
    assert [event["rank"] for event in events[1:-1]] == [0, 1, 2]
    assert codes(done) == ["OK", "OK", "OK"]
    assert [stage.verdict.counts.domain for stage in done.stages] == [3, 3, 3]
    assert (done.ok, done.exit_code) == (True, 0)


def test_the_original_bytes_pass_and_events_arrive_before_the_source_has_ended(kind, tmp_path):
    # The source goes on only when the consumer has seen its first event at the end of the pipeline.
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    source = tool(
        tmp_path, f"meta(); emit('hit', text='é\\u0001')\nopen({str(gate)!r}, 'rb', 0).read(1); summary()"
    )
    held = os.open(gate, os.O_RDWR)  # keeps the byte until the source comes for it, however late that is
    seen = []
    with pipe([[source], ["cat"], ["cat"]], timeout=200, exact=True) as running:
        for event in running:
            if isinstance(event, dict):
                seen.append(event)
                os.write(held, b"x")
    os.close(held)
    assert seen == [{"type": "hit", "text": "é\u0001"}]
    assert running.ok


@requirement("aoi:13.1:pipefail")
def test_a_source_that_fails_fails_the_whole_although_the_last_stage_is_content(kind, tmp_path):
    source = tool(tmp_path, "meta(); emit('hit'); summary(False); sys.exit(75)")
    sink = tool(tmp_path, "meta(); sys.stdin.read(); summary()", "sink")
    _, done = run(kind, [[source], [sink]])
    assert codes(done) == ["SUMMARY_NOT_OK", "OK"]
    assert (done.ok, done.exit_code, done.verdict.code) == (False, 75, "SUMMARY_NOT_OK")


def test_a_middle_stage_that_dies_is_blamed_and_its_upstream_is_not(kind, tmp_path):
    source = tool(tmp_path, ENDLESS)
    middle = tool(tmp_path, "meta(); sys.stdin.readline(); os.kill(os.getpid(), signal.SIGKILL)", "middle")
    transform = tool(tmp_path, TRANSFORM, "transform")
    _, done = run(kind, [[source], [middle], [transform]])
    assert codes(done) == ["DOWNSTREAM_CLOSED", "NO_SUMMARY", "SUMMARY_NOT_OK"]
    assert [stage.excused for stage in done.stages] == [True, False, False]
    assert done.exit_code == 65


def test_a_last_stage_that_has_enough_is_a_success_for_all(kind, tmp_path):
    source, first = tool(tmp_path, ENDLESS), tool(tmp_path, FIRST_ONLY, "first")
    _, done = run(kind, [[source], ["cat"], [first]])
    assert done.stages[0].verdict.code == done.stages[1].verdict.code == "DOWNSTREAM_CLOSED"
    assert done.stages[2].verdict.code == "OK"
    assert (done.ok, done.exit_code) == (True, 0)


def test_a_silent_source_whose_reader_is_gone_is_ended_after_a_grace(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(chain_module, "DOWNSTREAM_GRACE", 0.2)
    source = tool(tmp_path, "meta(); emit('hit')\nwhile True: signal.pause()")
    first = tool(tmp_path, FIRST_ONLY, "first")
    _, done = run(kind, [[source], [first]])
    assert codes(done) == ["DOWNSTREAM_CLOSED", "OK"]
    assert done.ok


def test_a_source_that_had_written_everything_is_judged_on_its_merits(kind, tmp_path):
    source, ignore = tool(tmp_path, HITS), tool(tmp_path, "sys.stdin.read(); meta(); summary()", "ignore")
    _, done = run(kind, [[source], [ignore]])
    assert codes(done) == ["OK", "OK"]


def test_the_deadline_holds_for_the_whole(kind, tmp_path):
    source = tool(tmp_path, "meta()\nwhile True: signal.pause()")
    _, done = run(kind, [[source], ["cat"]], timeout=0.5)
    assert done.verdict.code == "DEADLINE_EXCEEDED"
    assert done.exit_code == 124
    assert done.pids == []


def test_one_stage_that_cannot_be_found_starts_none(kind, tmp_path):
    source = tool(tmp_path, "open('started', 'w')")
    with pytest.raises(Fail) as caught:
        run(kind, [[source], ["no-such-tool"]], cwd=tmp_path)
    assert caught.value.code == "TOOL_NOT_FOUND"
    assert not (tmp_path / "started").exists()


def test_a_source_that_cannot_be_started_ends_those_that_wait_for_it(kind, tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with pytest.raises(Fail) as caught:
        run(kind, [[str(broken)], ["cat"], ["cat"]])
    assert caught.value.code == "TOOL_INTERPRETER_MISSING"


def test_nothing_to_run_is_a_usage_error(kind):
    with pytest.raises(Fail) as caught:
        run(kind, [])
    assert caught.value.category == "usage"


def test_a_slow_last_stage_holds_back_the_first(kind, tmp_path):
    # The sink reads one line, then waits until the source has been stuck for half a second, then goes away.
    source = tool(
        tmp_path,
        """
import select
meta()
line = (json.dumps({"type": "hit", "blob": "x" * 1000}) + "\\n").encode() * 60
total = 0
os.set_blocking(1, False)
while True:
    if not select.select([], [1], [], 0.5)[1]:
        open("blocked.new", "w").write(str(total)); os.rename("blocked.new", "blocked")
        select.select([], [1], [], 20)
    try:
        total += os.write(1, line)
    except BlockingIOError:
        pass
""",
    )
    sink = tool(
        tmp_path,
        """
import select
meta(); sys.stdin.readline()
for _ in range(2000):
    if os.path.exists("blocked"): break
    select.select([], [], [], 0.01)
summary(); os._exit(0)
""",
        "sink",
    )
    _, done = run(kind, [[source], ["cat"], [sink]], cwd=tmp_path)
    assert done.ok
    # Two pipes and two backlogs of the host, and what was in hand.
    assert int((tmp_path / "blocked").read_text()) < 2_000_000


def test_input_goes_to_the_first_stage(kind, tmp_path):
    upper = tool(tmp_path, "meta(); emit('text', text=sys.stdin.read().upper()); summary()")
    events, done = run(kind, [[upper], ["cat"]], stdin=b"hello")
    assert events[1]["text"] == "HELLO"
    assert done.ok
