"""What is done with a collected call: its results, its failure as an exception, the next page, the next attempt."""

import asyncio

import pytest

from operable.kernel.errors import Fail
from operable.run import acollect, apages, call, collect, pages, pipe
from operable.run.journey import MAX_ATTEMPTS
from tests.run.fake import HITS, tool

# Gives pages of two; its cursor is the number of the first.
PAGES = """
start = next((int(word.partition("=")[2]) for word in sys.argv if word.startswith("--cursor=")), 0)
meta(command="list", words=sys.argv[1:])
for number in range(start, min(start + 2, 5)): emit("entry", id=number)
summary(count=min(2, 5 - start), next_cursor=str(start + 2) if start + 2 < 5 else None, truncated=start + 2 < 5)
"""
STUCK = "meta(); emit('entry'); summary(count=1, truncated=True, next_cursor='same')"
# Fails for a while: each call makes a file longer.
FLAKY = """
with open("calls", "a") as file: file.write("x")
tries = os.path.getsize("calls")
meta(); body = sys.stdin.read()
if tries < 3:
    emit("aoi:error", category="temporary", code="AWAY", message="later", retryable=RETRYABLE, retry_after=0, hint="wait")
    summary(False); sys.exit(75)
emit("answer", tries=tries, body=body); summary(count=1)
"""


@pytest.fixture(params=["sync", "async"])
def kind(request):
    return request.param


def collected(kind, argv, **options):
    options.setdefault("timeout", 200)
    return collect(argv, **options) if kind == "sync" else asyncio.run(acollect(argv, **options))


def all_pages(kind, argv, **options):
    if kind == "sync":
        return list(pages(argv, **options))

    async def main():
        return [page async for page in apages(argv, **options)]

    return asyncio.run(main())


def test_a_call_asks_for_the_machine_mode_unless_it_is_to_be_exact(kind, tmp_path):
    show = tool(tmp_path, "meta(); emit('words', words=sys.argv[1:]); summary()")

    def words(*given, **options):
        return collected(kind, [show, *given], **options).results[0]["words"]

    assert words("list", "--", "-") == ["list", "--output", "jsonl", "--", "-"]
    assert words("--format=jsonl") == ["--format=jsonl"]
    assert words("list", exact=True) == ["list"]


def test_results_are_the_events_that_are_not_the_frameworks(kind, tmp_path):
    done = collected(kind, [tool(tmp_path, HITS)])
    assert [event["rank"] for event in done.results] == [0, 1, 2]
    assert done.raise_for_status() is done


def test_a_failure_is_raised_as_the_tool_explained_it(kind, tmp_path):
    path = tool(tmp_path, FLAKY.replace("RETRYABLE", "False"))
    with pytest.raises(Fail) as caught:
        collected(kind, [path], cwd=tmp_path).raise_for_status()
    failure = caught.value
    assert (failure.category, failure.code, failure.hint) == ("temporary", "AWAY", "wait")
    assert failure.retryable is False
    assert (failure.exit_code, failure.details["verdict"]) == (75, "SUMMARY_NOT_OK")


def test_a_failure_that_the_tool_did_not_explain_is_what_the_verdict_says(kind, tmp_path):
    path = tool(tmp_path, "sys.stderr.write('no disk\\n'); sys.exit(74)")
    with pytest.raises(Fail) as caught:
        collected(kind, [path]).raise_for_status()
    assert (caught.value.category, caught.value.code) == ("io", "NEVER_STARTED")
    assert caught.value.details["stderr"] == "no disk"


def test_a_call_that_is_iterated_can_be_raised_too(tmp_path):
    with call([tool(tmp_path, "meta(); emit('hit')")], timeout=200) as running:
        assert len(list(running)) == 2
    with pytest.raises(Fail, match="no summary"):
        running.raise_for_status()


def test_pages_follow_the_cursor_to_the_end(kind, tmp_path):
    found = all_pages(kind, [tool(tmp_path, PAGES), "list", "--cursor", "0", "--", "x"], timeout=200)
    assert [[event["id"] for event in page.results] for page in found] == [[0, 1], [2, 3], [4]]
    assert found[1].verdict.meta.extra["words"] == ["list", "--output", "jsonl", "--cursor=2", "--", "x"]


def test_a_cursor_that_does_not_move_ends_the_pages(kind, tmp_path):
    with pytest.raises(Fail) as caught:
        all_pages(kind, [tool(tmp_path, STUCK)], timeout=200)
    assert caught.value.code == "CURSOR_DOES_NOT_MOVE"


def test_there_are_no_more_pages_than_the_caller_wants(kind, tmp_path):
    with pytest.raises(Fail) as caught:
        all_pages(kind, [tool(tmp_path, PAGES)], max_pages=2, timeout=200)
    assert (caught.value.code, caught.value.details["next_cursor"]) == ("TOO_MANY_PAGES", "4")


def test_a_page_that_fails_is_raised(kind, tmp_path):
    with pytest.raises(Fail):
        all_pages(kind, [tool(tmp_path, "meta(); sys.exit(3)")], timeout=200)


def test_what_is_retryable_is_tried_again_with_the_same_input(kind, tmp_path):
    path = tool(tmp_path, FLAKY.replace("RETRYABLE", "True"))
    done = collected(kind, [path], attempts=5, stdin="text", cwd=tmp_path)
    assert done.results == [{"type": "answer", "tries": 3, "body": "text"}]


def test_attempts_are_bounded_and_what_is_not_retryable_is_tried_once(kind, tmp_path):
    path = tool(tmp_path, FLAKY.replace("RETRYABLE", "True"))
    assert not collected(kind, [path], attempts=2, cwd=tmp_path).ok
    assert (tmp_path / "calls").read_text() == "xx"
    (tmp_path / "calls").unlink()
    path = tool(tmp_path, FLAKY.replace("RETRYABLE", "False"))
    assert not collected(kind, [path], attempts=5, cwd=tmp_path).ok
    assert (tmp_path / "calls").read_text() == "x"


@pytest.mark.parametrize(
    "options", [{"attempts": 0}, {"attempts": MAX_ATTEMPTS + 1}, {"attempts": 2, "stdin": 0}]
)
def test_attempts_that_cannot_be_made_are_refused(kind, tmp_path, options):
    with pytest.raises(Fail) as caught:
        collected(kind, [tool(tmp_path, HITS)], **options)
    assert caught.value.category == "usage"


def test_a_pipeline_names_the_stage_that_caused_the_failure(tmp_path):
    source = tool(tmp_path, "meta(); emit('hit'); summary(False); sys.exit(75)", "source")
    sink = tool(tmp_path, "meta(); sys.stdin.read(); summary(False); sys.exit(65)", "sink")
    with pipe([[source], [sink]], timeout=200) as running:
        running.wait()
    assert running.cause.argv[0] == source
    assert (running.verdict.exit_status, running.exit_code) == (75, 65)


def test_a_stage_that_left_is_the_cause_and_not_the_one_that_wrote_to_it(tmp_path):
    loud = "meta()\ntry:\n  while True: emit('hit', blob='x' * 500)\nexcept BrokenPipeError: os._exit(74)"
    source = tool(tmp_path, loud, "source")
    sink = tool(tmp_path, "meta(); sys.stdin.readline(); summary(False); os._exit(65)", "sink")
    with pipe([[source], [sink]], timeout=200) as running:
        running.wait()
    assert running.cause.argv[0] == sink


def test_what_was_withheld_is_told_and_noted_where_it_may_change_the_answer(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_HOME", "elsewhere")
    monkeypatch.setenv("KUBECONFIG", "/some/where")
    monkeypatch.setenv("UNRELATED", "1")
    path = tool(tmp_path, HITS)
    done = collected(kind, [path])
    assert {"FAKE_HOME", "KUBECONFIG", "UNRELATED"} <= set(done.stages[0].withheld)
    note = next(note for note in done.verdict.notes if note.code == "ENVIRONMENT_WITHHELD")
    assert "FAKE_HOME" in note.message
    assert "KUBECONFIG" in note.message
    assert "UNRELATED" not in note.message
    given = collected(kind, [path], inherit=["*"])
    assert given.stages[0].withheld == ()
    assert "ENVIRONMENT_WITHHELD" not in {note.code for note in given.verdict.notes}


def test_a_doubt_is_a_failure_when_the_caller_is_strict(kind, tmp_path):
    path = tool(tmp_path, "meta(); emit('hit'); summary(count=7)")
    assert collected(kind, [path]).ok
    assert collected(kind, [path], strict=True).verdict.code == "DOUBTFUL"
