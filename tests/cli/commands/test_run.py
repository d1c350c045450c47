"""`operable run`: the tool's events as they are, one verdict, and an exit status that follows it."""

import os

import pytest

from tests.cli.drive import Notes, alive, operable, running
from tests.requirement import requirement
from tests.run.fake import HITS, tool
from tests.tool.drive import SIGINT, SIGTERM, eventually

WAITING = """
def stop(number, _):
    os.write(1, b'{"type":"aoi:summary","ok":false,"reason":"interrupted","partial":true}\\n'); os._exit(128 + number)
signal.signal(signal.SIGINT, stop); signal.signal(signal.SIGTERM, stop)
child = os.fork()
if child == 0:
    signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True: signal.pause()
meta(command="wait"); emit("hit", child=child)
while True: signal.pause()
"""


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path)


@requirement("aoi:13:domain-is-data")
@pytest.mark.parametrize(
    "words",
    [
        ("search", "agent"),
        ("search", "caf*", "--limit", "2"),
        ("list",),
        ("export",),
        ("search", "nothing-like-this"),
        ("get", "no-such-note"),
        ("delete", "--folder", "/", "--dry-run"),
    ],
    ids=" ".join,
)
def test_a_relayed_tool_gives_the_same_events_as_one_that_is_called_directly(notes, words):
    direct, relayed = notes(*words), operable("run", "--", "outline", *words, env=notes.env)
    assert relayed.stdout.split(b"\n")[1:-2] == direct.stdout.split(b"\n")[1:-2]
    assert relayed.exit_code == direct.exit_code
    for field in ("ok", "count", "warning_count", "error_count", "partial", "truncated"):
        assert relayed.summary[field] == direct.summary[field], field
    assert (relayed.summary["next_cursor"] is None) == (direct.summary["next_cursor"] is None)


@requirement("aoi:4:meta-first", "aoi:5.2:branch-on-schema")
def test_one_meta_tells_who_relays_and_whose_events_follow(notes):
    meta = operable("run", "--", "outline", "search", "agent", env=notes.env).events[0]
    assert (meta["tool"], meta["command"], meta["schema_name"]) == ("operable", "run", "org.operable.events")
    upstream = meta["upstream"]
    assert (upstream["tool"], upstream["command"]) == ("outline", "search")
    assert upstream["schema_name"] == "com.example.outline.events"


@requirement("aoi:4:summary-is-terminal")
def test_the_summary_holds_the_verdict_and_the_summary_of_the_tool(notes):
    summary = operable("run", "--", "outline", "search", "agent", "--limit", "2", env=notes.env).summary
    verdict = summary["verdict"]
    assert (verdict["outcome"], verdict["code"], verdict["exit_status"]) == ("success", "OK", 0)
    assert verdict["counts"] == {"events": 4, "domain": 2, "warnings": 0, "errors": 0}
    assert verdict["summary"]["count"] == 2
    assert summary["next_cursor"] == verdict["summary"]["next_cursor"]


def test_a_page_can_be_continued_through_the_relay(notes):
    first = operable("run", "--", "outline", "list", "--limit", "3", env=notes.env)
    cursor = first.summary["next_cursor"]
    second = operable("run", "--", "outline", "list", "--limit", "3", "--cursor", cursor, env=notes.env)
    assert first.results + second.results == notes("list").results


def test_what_only_the_summary_of_the_tool_says_is_said_again(notes):
    summary = operable("run", "--", "outline", "delete", "--folder", "/", "--dry-run", env=notes.env).summary
    assert summary["plan_digest"].startswith("sha256:")
    assert (summary["dry_run"], summary["count"]) == (True, 5)


@requirement("aoi:13:upstream-warnings", "aoi:13:upstream-errors")
def test_warnings_and_errors_of_the_tool_pass_and_are_counted(tmp_path):
    body = """
meta(); emit("aoi:warning", code="SLOW", message="slow"); emit("hit"); emit("aoi:progress", done=1)
emit("aoi:error", category="io", code="LOST", message="one item", retryable=False)
summary(False, partial=True, error_count=1); sys.exit(65)
"""
    outcome = operable("run", "--", tool(tmp_path, body))
    assert [event["type"] for event in outcome.events[1:-1]] == [
        "aoi:warning",
        "hit",
        "aoi:progress",
        "aoi:error",
    ]
    summary = outcome.summary
    assert (summary["count"], summary["warning_count"], summary["error_count"]) == (1, 1, 1)
    assert (outcome.exit_code, summary["ok"], summary["partial"]) == (65, False, True)
    accepted = operable("run", "--accept-partial", "--", tool(tmp_path, body))
    assert (accepted.exit_code, accepted.summary["ok"], accepted.summary["partial"]) == (0, True, True)
    assert accepted.summary["verdict"]["outcome"] == "partial"


@requirement("aoi:13:unknown-types-ignored", "aoi:8.2:aoi-prefix")
def test_events_that_nobody_knows_pass_unchanged(tmp_path):
    body = 'meta(); os.write(1, b\'{ "x" : 1.0e2, "type" : "odd", "x" : "\\\\u00e9" }\\r\\n\'); emit("aoi:future"); summary()'
    outcome = operable("run", "--", tool(tmp_path, body))
    assert outcome.stdout.split(b"\n")[1] == b'{ "x" : 1.0e2, "type" : "odd", "x" : "\\u00e9" }'
    assert outcome.summary["count"] == 1


@requirement("aoi:4.1:exit0-without-summary", "aoi:4:eof-without-summary", "aoi:6:exit-code-not-alone")
@pytest.mark.parametrize(
    "body, code, exit_code, category",
    [
        ("meta(); emit('hit')", "EXIT0_WITHOUT_SUMMARY", 65, "validation"),
        ("meta(); emit('hit'); sys.exit(3)", "NO_SUMMARY", 65, "io"),
        (
            "meta(); emit('hit'); os.write(1, b'{\"type\":'); os.kill(os.getpid(), 9)",
            "LINE_TRUNCATED",
            65,
            "io",
        ),
        ("meta(); emit('hit'); print('Traceback'); summary()", "NOT_JSON", 65, "validation"),
        ("meta(); emit('hit'); summary(); emit('hit')", "OUTPUT_AFTER_SUMMARY", 65, "validation"),
        ("meta(); emit('hit'); summary(); sys.exit(70)", "EXIT_CONTRADICTS_SUMMARY", 70, "internal"),
        ("meta(); emit('hit'); summary(False); sys.exit(75)", "SUMMARY_NOT_OK", 75, "temporary"),
        ("meta(); emit('hit'); summary(partial=True)", "PARTIAL", 65, "partial"),
        ("meta(); emit('hit'); os.write(1, b'\\xff\\n'); summary()", "INVALID_UTF8", 65, "validation"),
        ("sys.exit(64)", "NEVER_STARTED", 64, "usage"),
        ("print('usage: fake')", "NOT_JSON", 65, "validation"),
        ("", "EXIT0_WITHOUT_SUMMARY", 65, "validation"),
    ],
)
def test_a_stream_that_fools_nobody(tmp_path, body, code, exit_code, category):
    outcome = operable("run", "--", tool(tmp_path, body))
    assert (outcome.error["code"], outcome.error["category"]) == (code, category)
    assert (outcome.exit_code, outcome.summary["verdict"]["code"]) == (exit_code, code)
    assert outcome.summary["ok"] is False
    assert len(outcome.results) == body.count("emit('hit')") - (code == "OUTPUT_AFTER_SUMMARY")
    assert outcome.summary["count"] == len(outcome.results)


def test_a_program_that_is_no_tool_is_told_apart_with_a_hint(tmp_path):
    outcome = operable(
        "run", "--", tool(tmp_path, "print('Options:'); print('no such option', file=sys.stderr)")
    )
    assert "machine mode" in outcome.error["hint"]
    assert "no such option" in outcome.error["stderr"]


@requirement("aoi:6:sysexits", "aoi:9:error-fields")
@pytest.mark.parametrize(
    "words, code, exit_code",
    [
        (["no-such-tool-anywhere"], "TOOL_NOT_FOUND", 69),
        (["./missing"], "TOOL_NOT_FOUND", 69),
        (["/etc/passwd"], "TOOL_NOT_EXECUTABLE", 77),
    ],
)
def test_a_tool_that_cannot_be_started(tmp_path, words, code, exit_code):
    outcome = operable("run", "--", *words, cwd=tmp_path)
    assert (outcome.exit_code, outcome.error["code"]) == (exit_code, code)
    assert outcome.error["hint"]


@requirement("aoi:6:timeout-124", "aoi:15:timeout")
def test_a_tool_that_hangs_is_ended_at_the_deadline_and_its_last_words_count(tmp_path):
    outcome = operable("run", "--timeout", "0.7", "--", tool(tmp_path, WAITING))
    assert (outcome.exit_code, outcome.error["code"], outcome.error["category"]) == (
        124,
        "DEADLINE_EXCEEDED",
        "timeout",
    )
    assert outcome.summary["verdict"]["summary"]["reason"] == "interrupted"
    eventually(lambda: not alive(outcome.results[0]["child"]), "the end of the tool's child")


@requirement("aoi:7:signal-summary", "aoi:7:signal-exit-code", "aoi:6:sigint-130")
@pytest.mark.parametrize("number, exit_code", [(SIGINT, 130), (SIGTERM, 143)])
def test_a_signal_ends_the_whole_group_and_the_summary_says_so(tmp_path, number, exit_code):
    with running("run", "--", tool(tmp_path, WAITING)) as relay:
        child = relay.event("hit")["child"]
        relay.signal(number)
        outcome = relay.finish()
    assert outcome.exit_code == exit_code
    summary = outcome.summary
    assert (summary["reason"], summary["ok"], summary["partial"], summary["count"]) == (
        "interrupted",
        False,
        True,
        1,
    )
    assert summary["verdict"]["outcome"] == "interrupted"
    assert summary["verdict"]["summary"]["reason"] == "interrupted"
    eventually(lambda: not alive(child), "the end of the tool's child")


def test_a_tool_that_ignores_the_signal_is_still_ended(tmp_path):
    body = """
signal.signal(signal.SIGINT, signal.SIG_IGN); meta(); emit("hit", pid=os.getpid())
while True: signal.pause()
"""
    with running("run", "--", tool(tmp_path, body)) as relay:
        pid = relay.event("hit")["pid"]
        relay.signal(SIGINT)
        outcome = relay.finish()
    assert (outcome.exit_code, outcome.summary["reason"]) == (130, "interrupted")
    assert not alive(pid)


def test_whoever_presses_ctrl_c_twice_is_obeyed_and_leaves_no_orphans(tmp_path):
    body = """
signal.signal(signal.SIGINT, lambda *_: open("asked", "w").close()); signal.signal(signal.SIGTERM, signal.SIG_IGN)
meta(); emit("hit", pid=os.getpid())
while True: signal.pause()
"""
    with running("run", "--", tool(tmp_path, body), cwd=tmp_path) as relay:
        pid = relay.event("hit")["pid"]
        relay.signal(SIGINT)
        eventually((tmp_path / "asked").exists, "the first signal")
        relay.signal(SIGINT)
        assert relay.wait() == 130
    eventually(lambda: not alive(pid), "the end of the tool")


@requirement("aoi:6:sigpipe-141", "aoi:7:sigpipe-quiet")
def test_a_reader_that_leaves_ends_the_tool_quietly(tmp_path):
    with running("run", "--", tool(tmp_path, WAITING)) as relay:
        child = relay.event("hit")["child"]
        outcome = relay.leave()
    assert (outcome.exit_code, outcome.stderr) == (141, "")
    eventually(lambda: not alive(child), "the end of the tool's child")


def test_a_reader_that_leaves_a_flood_ends_the_tool_quietly(tmp_path):
    body = 'meta()\nfor n in range(10**9): sys.stdout.write(\'{"type":"hit","n":%d}\\n\' % n)'
    with running("run", "--", tool(tmp_path, body)) as relay:
        relay.event("hit")
        outcome = relay.leave()
    assert (outcome.exit_code, outcome.stderr) == (141, "")


def test_a_full_disk_is_told_and_ends_the_tool(tmp_path):
    with open("/dev/full", "wb") as full, running("run", "--", tool(tmp_path, WAITING), stdout=full) as relay:
        _, stderr = relay.process.communicate(timeout=200)
    assert relay.process.returncode == 74
    assert b"cannot write the output" in stderr


def test_events_arrive_as_they_come(tmp_path):
    body = "meta()\nfor line in sys.stdin: emit('line', text=line.strip())\nsummary()"
    reading, writing = os.pipe()
    with running("run", "--", tool(tmp_path, body), stdin=reading) as relay:
        os.close(reading)
        for text in ("one", "two"):
            os.write(writing, f"{text}\n".encode())
            assert relay.event("line")["text"] == text
        os.close(writing)
        assert relay.finish().exit_code == 0


def test_standard_input_is_passed_on(notes):
    outcome = operable(
        "run", "--", "outline", "import", "--input-jsonl", "-", env=notes.env, input=b'{"title":"new"}\n'
    )
    assert [event["title"] for event in outcome.results] == ["new"]


@requirement("aoi:15:limit", "aoi:15:truncated", "aoi:15:max-lines", "aoi:15:max-bytes")
def test_a_limit_bounds_what_is_shown_and_not_what_is_done(tmp_path):
    body = HITS + "open('done', 'w').close()"
    size = len(b'{"type": "hit", "rank": 0, "id": "n0"}\n')
    for words, count in (
        (["--limit", "2"], 2),
        (["--max-lines", "1"], 1),
        (["--max-bytes", str(2 * size)], 2),
        (["--max-bytes", str(2 * size - 1)], 1),
        (["--limit", "3"], 3),
    ):
        outcome = operable("run", *words, "--", tool(tmp_path, body), cwd=tmp_path)
        assert (outcome.exit_code, outcome.summary["count"], len(outcome.results)) == (0, count, count)
        assert outcome.summary["truncated"] == (count < 3)
        assert outcome.summary["verdict"]["counts"]["domain"] == 3
        assert (tmp_path / "done").exists()
        (tmp_path / "done").unlink()


@requirement("aoi:4.2:unbounded-documented", "aoi:4.2:heartbeat")
def test_a_limit_ends_a_stream_that_would_not_end(notes):
    notes("create", "x")
    outcome = operable("run", "--limit", "3", "--", "outline", "watch", "--after", "0", env=notes.env)
    assert (outcome.exit_code, outcome.summary["ok"], outcome.summary["truncated"]) == (0, True, True)
    assert len(outcome.results) == 3
    meta = outcome.events[0]
    assert (meta["unbounded"], meta["heartbeat_interval"]) == (True, 15.0)


def test_an_unbounded_stream_needs_no_summary_when_we_say_so(tmp_path):
    path = tool(tmp_path, "meta(); emit('hit')")
    assert operable("run", "--unbounded", "--", path).exit_code == 0


def test_a_tool_is_put_into_machine_mode_unless_it_is_called_exactly(tmp_path):
    path = tool(tmp_path, "meta(); emit('argv', words=sys.argv[1:]); summary()")
    for words, expected in (
        (["a"], ["a", "--output", "jsonl"]),
        (["a", "--", "--output"], ["a", "--output", "jsonl", "--", "--output"]),
        (["--format=jsonl"], ["--format=jsonl"]),
        (["--output", "x"], ["--output", "x"]),
    ):
        assert operable("run", "--", path, *words).results[0]["words"] == expected
        assert operable("run", "--exact", "--", path, *words).results[0]["words"] == words


def test_a_doubt_about_a_stream_is_a_failure_when_strict(tmp_path):
    path = tool(tmp_path, "meta(); emit('hit', rank=1); summary(count=7)")
    noted, refused = operable("run", "--", path), operable("run", "--strict", "--", path)
    assert [note["code"] for note in noted.summary["verdict"]["notes"]] == ["COUNT_DIFFERS"]
    assert (noted.exit_code, refused.exit_code, refused.error["code"]) == (0, 65, "DOUBTFUL")


def test_the_environment_is_passed_on_as_in_a_shell(tmp_path):
    path = tool(tmp_path, "meta(); emit('env', names=sorted(os.environ)); summary()")
    env = {"KUBECONFIG": "/some/where", "OTHER_KEY": "b"}
    outcome = operable("run", "--", path, env=env)
    assert {"KUBECONFIG", "OTHER_KEY"} <= set(outcome.results[0]["names"])
    assert "notes" not in outcome.summary["verdict"]


def test_what_was_withheld_is_told(tmp_path):
    path = tool(tmp_path, "meta(); summary()")
    outcome = operable("run", "--inherit", "CHOSEN", "--", path, env={"KUBECONFIG": "/some/where"})
    (note,) = outcome.summary["verdict"]["notes"]
    assert note["code"] == "ENVIRONMENT_WITHHELD"
    assert "KUBECONFIG" in note["message"]


@requirement("aoi:11:env-values")
def test_the_environment_is_what_was_named(tmp_path):
    path = tool(
        tmp_path, "meta(); emit('env', names=sorted(os.environ), given=os.environ.get('GIVEN')); summary()"
    )
    env = {"FAKE_HOME": "a", "OTHER_KEY": "b", "CHOSEN": "c", "XDG_DATA_HOME": "/d"}
    result = operable("run", "--inherit", "CHOSEN", "--env", "GIVEN=a=b", "--", path, env=env).results[0]
    assert {"FAKE_HOME", "CHOSEN", "XDG_DATA_HOME", "OPERABLE_HOME", "PATH"} <= set(result["names"])
    assert "OTHER_KEY" not in result["names"]
    assert result["given"] == "a=b"
    refused = operable("run", "--env", "s3cr3t-value", "--", path)
    assert (refused.exit_code, refused.error["target"]) == (64, "--env")
    assert "s3cr3t" not in refused.stdout.decode()


SCHEMA = """
SCHEMA = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"hit": {"type": "object",
  "properties": {"type": {"const": "hit"}, "rank": {"type": "integer"}}, "required": ["type", "rank"]}}}
if sys.argv[1:2] == ["schema"]: print(json.dumps(SCHEMA)); sys.exit()
if sys.argv[1:2] == ["capabilities"]: print(json.dumps({"tool": "fake", "tool_version": "1.0.0", "commands": []})); sys.exit()
meta(); emit("hit", rank=1); emit("hit", rank="two"); emit("hit", rank=3); summary()
"""


@requirement("aoi:1.1:schema-governed")
def test_a_tool_is_held_to_its_own_schema_when_that_was_asked_for(tmp_path):
    path = tool(tmp_path, SCHEMA)
    outcome = operable("run", "--validate", "--", path)
    error = outcome.error
    assert (outcome.exit_code, error["code"], error["line_number"]) == (65, "SCHEMA_VIOLATION", 3)
    assert len(outcome.results) == 1
    assert "--validate" in error["hint"]
    assert len(operable("run", "--", path).results) == 3


def test_a_tool_that_was_asked_for_a_part_of_its_events_fits_its_schema(notes):
    done = operable("run", "--validate", "--", "outline", "list", "--fields", "title", env=notes.env)
    assert (done.exit_code, done.summary["verdict"]["code"]) == (0, "OK")
    assert done.events[0]["upstream"]["reduced"] is True
    assert {*done.results[0]} == {"type", "title"}


@pytest.mark.parametrize("validate", [(), ("--validate",)])
def test_the_results_of_any_tool_are_reduced_on_the_way(notes, validate):
    words = ("run", *validate, "--fields", "title,nope", "--compact", "--", "outline", "list")
    done, direct = operable(*words, env=notes.env), notes("list")
    assert done.results == [{"type": "entry", "title": each["title"]} for each in direct.results]
    assert (done.events[0]["reduced"], done.summary["count"]) == (True, direct.summary["count"])
    (warning,) = done.of("aoi:warning")
    assert (warning["code"], warning["message"]) == ("FIELDS_NOT_FOUND", "No result has nope")
    shown = operable("run", "--fields", "title", "--", "outline", "list", env=notes.env, output=None)
    assert shown.stdout.decode().split()[0] == "TITLE"
    document = operable("run", "--fields", "x", "--", "outline", "capabilities", env=notes.env)
    assert document.results[0]["content"]["tool"] == "outline"


def test_a_tool_is_not_asked_for_a_schema_unless_that_was_asked_for(tmp_path):
    path = tool(tmp_path, "open('calls', 'a').write(f'{sys.argv[1:]}'); meta(); summary()")
    assert operable("run", "--", path, cwd=tmp_path).exit_code == 0
    assert (tmp_path / "calls").read_text() == "['--output', 'jsonl']"


def test_a_tool_without_a_schema_is_refused_when_one_was_demanded(tmp_path):
    refused = operable("run", "--validate", "--", tool(tmp_path, "sys.exit(64)"))
    assert (refused.exit_code, refused.error["code"]) == (78, "SCHEMA_UNAVAILABLE")


@requirement("aoi:11:sensitive-flags", "aoi:8.3:meta-no-argv")
def test_a_secret_argument_is_not_shown_in_what_we_say(tmp_path):
    path = tool(tmp_path, "print('bad token s3cr3t-value', file=sys.stderr); sys.exit(77)")
    outcome = operable("run", "--", path, "--token", "s3cr3t-value")
    assert (outcome.exit_code, outcome.error["category"]) == (77, "authz")
    assert "s3cr3t" not in outcome.stdout.decode() + outcome.stderr


@requirement("aoi:1.2:human-default")
def test_people_get_a_table_the_diagnostics_and_the_verdict(notes, tmp_path):
    outcome = operable("run", "--", "outline", "search", "agent", env=notes.env, output=None)
    shown = outcome.stdout.decode()
    assert shown.splitlines()[0].split()[:3] == ["RANK", "ID", "TITLE"]
    assert shown.count("Agent-operable tools") == 5
    assert "outline: success. The summary says ok." in outcome.stderr
    path = tool(tmp_path, "print('reading…', file=sys.stderr); meta(); emit('hit', rank=1); sys.exit(3)")
    failed = operable("run", "--", path, output=None)
    assert failed.exit_code == 65
    assert "reading…" in failed.stderr
    assert "without a summary" in failed.stderr


def test_people_see_an_error_of_the_tool_with_its_hint(notes):
    outcome = operable("run", "--", "outline", "get", "nothing", env=notes.env, output=None)
    assert outcome.exit_code == 65
    assert "outline: There is no note 'nothing'" in outcome.stderr
    assert "hint: outline list" in outcome.stderr


def test_what_a_tool_says_cannot_act_on_the_terminal(tmp_path):
    body = """
print("\\x1b[2Jcleared", file=sys.stderr); meta(); emit("hit", title="\\x1b[31mred")
emit("aoi:warning", code="W", message="\\x1b]0;title\\x07"); summary()
"""
    outcome = operable("run", "--", tool(tmp_path, body), output=None)
    assert outcome.exit_code == 0
    assert "\x1b" not in outcome.stdout.decode() + outcome.stderr
    assert "·[2Jcleared" in outcome.stderr


@requirement("aoi:16.1:help")
def test_help_tells_the_separator_and_examples():
    shown = operable("run", "--help", output=None).stdout.decode()
    assert "Write -- before the tool" in shown
    assert "operable run -- outline search" in shown


def test_an_operable_can_run_an_operable(notes):
    inner = ["operable", "run", "--", "outline", "search", "agent"]
    outcome = operable("run", "--inherit", "OUTLINE_*", "--", *inner, env=notes.env)
    assert outcome.results == notes("search", "agent").results
    assert outcome.events[0]["upstream"]["upstream"]["tool"] == "outline"
