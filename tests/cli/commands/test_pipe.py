"""`operable pipe`: pipelines with one verdict per stage."""

import pytest

from tests.cli.drive import Notes, alive, operable, running
from tests.requirement import requirement
from tests.run.fake import HITS, tool
from tests.tool.drive import SIGINT, eventually

COPY = """
meta(command="copy")
count = 0
for line in sys.stdin:
    event = json.loads(line)
    if not event["type"].startswith("aoi:"): emit("copied", rank=event.get("rank")); count += 1
summary(count=count)
"""


def stages(outcome):
    return [(event["stage"], event["outcome"], event["code"]) for event in outcome.of("verdict")]


@requirement("aoi:13.1:pipefail")
def test_the_last_stage_gives_the_results_and_every_stage_a_verdict(tmp_path):
    source, copy = tool(tmp_path, HITS, "source"), tool(tmp_path, COPY, "copy")
    outcome = operable("pipe", "--", source, "a", ":::", copy, ":::", copy)
    assert outcome.exit_code == 0
    assert [event["rank"] for event in outcome.of("copied")] == [0, 1, 2]
    assert stages(outcome) == [(1, "success", "OK"), (2, "success", "OK"), (3, "success", "OK")]
    assert [event["source"] for event in outcome.of("verdict")] == [source, copy, copy]
    assert outcome.summary["count"] == len(outcome.results) == 6
    assert outcome.events[0]["upstream"]["command"] == "copy"


@requirement("aoi:13.1:pipefail", "aoi:13:upstream-incomplete")
def test_a_failing_stage_in_front_fails_the_pipeline(tmp_path):
    source = tool(tmp_path, "meta(); emit('hit', rank=1); sys.exit(3)", "source")
    outcome = operable("pipe", "--", source, ":::", tool(tmp_path, COPY, "copy"))
    assert (outcome.exit_code, outcome.summary["ok"]) == (65, False)
    assert stages(outcome) == [(1, "incomplete", "NO_SUMMARY"), (2, "success", "OK")]
    assert (outcome.error["code"], outcome.error["target"]) == ("NO_SUMMARY", source)
    assert outcome.summary["verdict"]["source"] == source


def test_an_error_of_a_stage_in_front_is_told(tmp_path):
    body = "meta(); emit('aoi:error', category='authn', code='LOGIN', message='log in', retryable=False); summary(False); sys.exit(77)"
    outcome = operable("pipe", "--", tool(tmp_path, body, "source"), ":::", tool(tmp_path, COPY, "copy"))
    assert outcome.exit_code == 77
    assert outcome.of("verdict")[0]["error"]["code"] == "LOGIN"
    assert (outcome.error["category"], outcome.error["code"]) == ("authn", "SUMMARY_NOT_OK")
    assert outcome.error["message"].endswith(". Its error: log in")


def test_the_stage_that_caused_the_failure_is_named_and_not_the_one_behind_it(tmp_path):
    source = tool(tmp_path, "meta(); emit('hit', rank=1); sys.exit(3)", "source")
    picky = "meta(); complete = any('aoi:summary' in line for line in sys.stdin); summary(complete); sys.exit(0 if complete else 70)"
    outcome = operable("pipe", "--", source, ":::", tool(tmp_path, picky, "picky"))
    assert outcome.exit_code == 70
    assert (outcome.error["code"], outcome.error["target"], outcome.error["stage"]) == (
        "NO_SUMMARY",
        source,
        1,
    )
    assert outcome.error["message"].startswith("stage 1 of 2, ")
    assert (outcome.summary["verdict"]["source"], outcome.summary["verdict"]["stage"]) == (source, 1)


def test_a_stage_whose_reader_had_enough_is_excused(tmp_path):
    flood = 'meta()\nfor n in range(10**9): sys.stdout.write(\'{"type":"hit","n":%d}\\n\' % n)'
    first = "meta(); emit('first', line=sys.stdin.readline()); summary()"
    outcome = operable("pipe", "--", tool(tmp_path, flood, "flood"), ":::", tool(tmp_path, first, "first"))
    assert outcome.exit_code == 0
    assert stages(outcome) == [(1, "incomplete", "DOWNSTREAM_CLOSED"), (2, "success", "OK")]
    assert outcome.of("verdict")[0]["ok"] is True


def test_notes_are_copied_from_store_to_store(tmp_path):
    notes = Notes(tmp_path)
    import_ = ["outline", "import", "--input-jsonl", "-", "--on-conflict", "skip"]
    outcome = operable("pipe", "--", "outline", "export", ":::", *import_, env=notes.env)
    assert outcome.exit_code == 0
    assert stages(outcome) == [(1, "success", "OK"), (2, "success", "OK")]


def test_the_separator_can_be_chosen(tmp_path):
    show = tool(tmp_path, "meta(); emit('words', words=sys.argv[1:]); summary()", "show")
    outcome = operable("pipe", "--separator", "then", "--exact", "--", show, "then", show, ":::")
    assert outcome.of("words")[0]["words"] == [":::"]


@pytest.mark.parametrize(
    "words", [[], ["outline"], [":::"], ["outline", ":::"], ["a", ":::", ":::", "b"]], ids=" ".join
)
def test_what_is_no_pipeline_is_a_usage_error(words):
    outcome = operable("pipe", "--", *words)
    assert (outcome.exit_code, outcome.error["code"]) == (64, "INVALID_PIPELINE")
    assert ":::" in outcome.error["hint"]


def test_nothing_runs_when_a_stage_is_missing(tmp_path):
    source = tool(tmp_path, "open('ran', 'w').close(); meta(); summary()", "source")
    outcome = operable("pipe", "--", source, ":::", "no-such-tool-anywhere", cwd=tmp_path)
    assert (outcome.exit_code, outcome.error["code"]) == (69, "TOOL_NOT_FOUND")
    assert not (tmp_path / "ran").exists()


def test_a_signal_ends_every_stage(tmp_path):
    wait = "meta(); emit('hit', pid=os.getpid())\nwhile True: signal.pause()"
    tell = "meta()\nfor line in sys.stdin: emit('seen', line=json.loads(line))\nsummary()"
    with running("pipe", "--", tool(tmp_path, wait, "wait"), ":::", tool(tmp_path, tell, "tell")) as pipeline:
        seen = pipeline.event("seen")["line"]
        while "pid" not in seen:
            seen = pipeline.event("seen")["line"]
        pipeline.signal(SIGINT)
        outcome = pipeline.finish()
    assert (outcome.exit_code, outcome.summary["reason"]) == (130, "interrupted")
    eventually(lambda: not alive(seen["pid"]), "the end of the first stage")


def test_people_get_the_results_and_a_line_per_stage(tmp_path):
    source, copy = tool(tmp_path, HITS, "source"), tool(tmp_path, COPY, "copy")
    outcome = operable("pipe", "--", source, ":::", copy, output=None)
    shown = outcome.stdout.decode()
    assert "RANK" in shown
    assert shown.count("success") == 2
    assert "success. The summary says ok." in outcome.stderr
