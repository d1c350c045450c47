"""What people see: tables and prose on a terminal, plain text in a pipe, and never anything that acts on the terminal."""

import os
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from operable.tool.human.cells import table_cell, terminal_cell
from operable.tool.human.plain import PlainScreen
from tests.requirement import requirement
from tests.tool.drive import LIMIT, SAMPLE, Outcome, command_line, run, running, terminal

MUTATIONS = Path(__file__).parents[1] / "sample_mutations.py"
STOPS = Path(__file__).parents[1] / "sample_stops.py"
NOW = datetime(2026, 11, 19, 20, 1, tzinfo=UTC).timestamp()
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7]")


def people(*words: str, **options) -> Outcome:
    return run(*words, output=None, **options)


@requirement("aoi:1.2:human-default")
def test_results_are_a_plain_table_when_piped():
    outcome = people("table", "--rows", "2", "--title", "Ada")
    assert outcome.stdout.decode() == "RANK  TITLE\n0     Ada\n1     Ada\n"
    assert "\x1b" not in outcome.stdout.decode() + outcome.stderr
    assert outcome.stderr.splitlines()[-1] == "2 in all"


def test_results_of_several_types_are_several_tables(tmp_path):
    tool = tmp_path / "several.py"
    tool.write_text(
        "from operable.tool import Tool\n"
        "tool = Tool('types', version='1', schema_name='e')\n"
        "@tool.command()\n"
        "def go():\n"
        "    yield {'type': 'a', 'x': 1}\n"
        "    yield {'type': 'a', 'x': None, 'more': 2}\n"
        "    yield {'type': 'b', 'y': [1, {'z': 2}]}\n"
        "    yield {'type': 'c'}\n"
        "tool.main()\n"
    )
    assert people("go", tool=tool).stdout.decode() == 'X\n1\n\nY\n[1,{"z":2}]\nTYPE\nc\n'


def test_many_results_have_one_header():
    """Also where they come in several blocks, and the columns stay where they are."""
    lines = people("table", "--rows", "120", "--limit", "120").stdout.decode().splitlines()
    assert lines == ["RANK  TITLE", *(f"{rank:<4}  t" for rank in range(120))]


@pytest.mark.parametrize(
    "words, exit_code",
    [
        (["fails", "not_found"], 65),
        (["fails", "usage"], 64),
        (["fails", "x", "--how", "bug"], 70),
        (["nonsense"], 64),
    ],
)
def test_errors_are_readable_with_their_hint_and_the_same_exit_code(words, exit_code):
    outcome = people(*words)
    assert outcome.exit_code == run(*words).exit_code == exit_code
    assert "sample: " in outcome.stderr
    assert "hint: " in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_people_are_told_which_file_it_is_that_cannot_be_had():
    outcome = people("fails", "x", "--how", "os", "--detail", "/no/such/file")
    assert outcome.stderr.splitlines()[0] == "sample: No such file or directory: /no/such/file"


@pytest.mark.parametrize(
    ("category", "message", "target", "hint", "shown"),
    [
        ("validation", "it is not JSON", "/data/a.json", None, "it is not JSON: /data/a.json"),
        ("config", "cannot be used", "a.toml", "fix it", "cannot be used (a.toml)"),
        ("usage", "--to needs a folder", "--to", None, "--to needs a folder"),
        ("io", "cannot read /data/a.json", "/data/a.json", None, "cannot read /data/a.json"),
        ("authz", "may not run", "/data/app", "approve /data/app", "may not run"),
        ("io", "cannot read it", None, None, "cannot read it"),
    ],
)
def test_people_see_what_an_error_is_about_once(tmp_path, category, message, target, hint, shown):
    tool = tmp_path / "targets.py"
    tool.write_text(
        "from operable.tool import Fail, Tool\n"
        "tool = Tool('targets', version='1', schema_name='e')\n"
        "@tool.command()\n"
        "def go():\n"
        f"    raise Fail({category!r}, 'BAD', {message!r}, target={target!r}, hint={hint!r})\n"
        "tool.main()\n"
    )

    assert people("go", tool=tool).stderr.splitlines()[0] == f"targets: {shown}"


def test_a_check_that_warns_does_not_look_like_one_that_fails(tmp_path):
    tool = tmp_path / "checks.py"
    tool.write_text(
        "from operable.tool import Check, Tool\n"
        "tool = Tool('checks', version='1', schema_name='e')\n"
        "for name in ('error', 'warning', 'info'):\n"
        "    tool.checks[name] = lambda name=name: Check(ok=False, severity=name, detail='no', hint='do')\n"
        "tool.checks['fine'] = lambda: Check(ok=True, detail='yes')\n"
        "tool.main()\n"
    )
    outcome = people("doctor", tool=tool)

    lines = outcome.stdout.decode().splitlines()
    assert [line for line in lines if "hint" not in line] == [
        "✗ error: no",
        "! warning: no",
        "- info: no",
        "✓ fine: yes",
    ]
    assert lines.count("  hint: do") == 3
    told = [event for event in run("doctor", tool=tool).events if event["type"] == "aoi:check"]
    assert [(each["ok"], each["severity"]) for each in told][:3] == [
        (False, "error"),
        (False, "warning"),
        (False, "info"),
    ]


def test_several_problems_are_all_named():
    outcome = people("count", "--times", "x", "--limit", "y", "surplus")
    assert outcome.stderr.count("also: ") == 2


def test_problems_with_places_are_told_in_words(tmp_path):
    tool = tmp_path / "problems.py"
    tool.write_text(
        "from operable.tool import Fail, Tool\n"
        "tool = Tool('problems', version='1', schema_name='e')\n"
        "@tool.command()\n"
        "def go():\n"
        "    problems = ['first', 'a text', {'path': '$.x', 'message': 'is \x1b[31mred'}, {'path': 'A.md', 'line': 3, 'message': 'm'}]\n"
        "    raise Fail('validation', 'BAD', 'first', problems=[*problems, {'message': 'alone'}, {'other': 5}])\n"
        "tool.main()\n"
    )
    told = [line for line in people("go", tool=tool).stderr.splitlines() if "also: " in line]

    assert [line.strip() for line in told] == [
        "also: a text",
        "also: $.x is ·[31mred",
        "also: A.md:3 m",
        "also: alone",
        "also: other=5",
    ]


@pytest.mark.parametrize(
    "words", [["table", "--rows", "3", "--fail"], ["table", "--rows", "1", "--title", r"\x1b[2J\x9b1m\x07"]]
)
def test_nothing_in_the_data_acts_on_the_terminal(words):
    for outcome in (people(*words), on_terminal(*words, env={"NO_COLOR": "1"})):
        everything = outcome.stdout.decode() + outcome.stderr
        for sequence in ("\x1b[31m", "\x1b]0;", "\x1b[2J", "\x9b", "\x07"):
            assert sequence not in everything
        assert "something ·[31modd" in everything


def on_terminal(*words: str, env: dict[str, str] | None = None, tool: Path = SAMPLE) -> Outcome:
    with terminal(*words, env=env, tool=tool) as shown:
        return shown.finish()


def test_a_terminal_gets_colour():
    outcome = on_terminal("table", "--fail")
    assert outcome.exit_code == 65
    assert COLOUR.search(outcome.stderr)
    assert "TITLE" in outcome.stderr


@requirement("aoi:16.1:no-color")
@pytest.mark.parametrize(
    "words, env", [(["--no-color"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"})]
)
def test_a_terminal_gets_no_colour_when_none_is_wanted(words, env):
    outcome = on_terminal("table", "--fail", *words, env=env)
    assert outcome.exit_code == 65
    assert not COLOUR.search(outcome.stderr)
    assert "TITLE" in outcome.stderr


def test_a_redirected_stdout_holds_only_results():
    outcome = people("table", "--rows", "1")
    assert b"odd" not in outcome.stdout
    assert "warning: something" in outcome.stderr


def test_results_go_where_stdout_goes_while_a_terminal_shows_the_progress(tmp_path):
    tool = tmp_path / "slow.py"
    tool.write_text(
        "from operable.tool import Progress, Tool\n"
        "tool = Tool('slow', version='1', schema_name='e')\n"
        "@tool.command()\n"
        "def go():\n"
        "    yield Progress(done=1, total=2)\n"
        "    yield {'type': 'a', 'x': 'result'}\n"
        "tool.main()\n"
    )
    with terminal("go", tool=tool, output="human") as shown:
        outcome = shown.finish()
    assert (outcome.exit_code, outcome.stdout) == (0, b"X\nresult\n")
    assert "50%" in outcome.stderr


def test_without_rich_everything_still_works(tmp_path):
    (tmp_path / "rich.py").write_text("raise ImportError('not installed')\n")
    env = {"PYTHONPATH": str(tmp_path)}
    assert on_terminal("table", "--rows", "2", env=env).exit_code == 0
    outcome = on_terminal("table", "--fail", env=env)
    assert (outcome.exit_code, "hint: " in outcome.stderr, "TITLE" in outcome.stderr) == (65, True, True)
    assert not COLOUR.search(outcome.stderr)


def test_in_a_pipe_rich_is_not_even_loaded(tmp_path):
    (tmp_path / "rich.py").write_text("raise SystemExit('rich was loaded')\n")
    assert people("table", env={"PYTHONPATH": str(tmp_path)}).exit_code == 0


@requirement("aoi:7:sigpipe-quiet")
@pytest.mark.parametrize("words", [["endless"], ["table", "--rows", "9999"], ["schema"]])
@pytest.mark.parametrize("env", [{}, {"FORCE_COLOR": "1"}])
def test_a_reader_that_leaves_ends_it_quietly(words, env):
    with running(*words, output=None, env=env) as tool:
        outcome = tool.leave()
    assert outcome.exit_code == 141
    assert env or outcome.stderr == ""  # who forces colour into a pipe gets the progress bar with it
    assert "Traceback" not in outcome.stderr


def test_a_full_disk_is_an_io_failure_with_a_word_on_stderr():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command_line("table", output=None),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=LIMIT,
            check=False,
        )
    assert done.returncode == 74
    assert b"cannot write the output: No space left on device" in done.stderr


@pytest.mark.parametrize(
    "redirections, exit_code", [(">&-", 74), ("2>&-", 65), ("2>/dev/full", 65), ("<&-", 65), (">&- 2>&-", 74)]
)
def test_closed_descriptors_do_not_change_the_outcome(redirections, exit_code):
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirections}', "sh", *command_line("table", "--fail", output=None)],
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == exit_code
    assert (b"TITLE" in done.stdout) == (exit_code == 65)


def test_an_unbounded_command_shows_each_result_at_once_and_says_why_it_ended():
    with running("watch", output=None, tool=STOPS, env={"STOPS_GRACE": "20"}) as tool:
        assert [tool.line(), tool.line()] == [b"NAME", b"begun"]
        tool.signal(2)
        outcome = tool.finish()
    assert (outcome.exit_code, outcome.stderr) == (130, "1 in all; interrupted\n")


def test_a_page_says_how_to_go_on():
    outcome = people("count", "--times", "9", "--limit", "2")
    cursor = re.search(r"shown, more with --cursor (\S+)", outcome.stderr)
    assert cursor is not None
    assert people("count", "--times", "9", "--cursor", cursor[1]).stdout.split()[2] == b"3"


def test_a_dry_run_says_what_it_would_do_and_how_to_do_just_that(tmp_path):
    env = {"STORE": str(tmp_path / "store")}
    outcome = people("purge", "a", "b", "--dry-run", tool=MUTATIONS, env=env)
    assert outcome.stdout.decode() == "would delete a\nwould delete b\n"
    digest = re.search(r"2 planned; apply exactly this with --confirm (\S+)", outcome.stderr)
    assert digest is not None
    assert people("purge", "a", "b", "--confirm", digest[1], tool=MUTATIONS, env=env).exit_code == 0


def test_what_is_inside_a_planned_change_is_told_line_by_line(tmp_path):
    tool = tmp_path / "plans.py"
    tool.write_text(
        "from operable.tool import Change, Tool\n"
        "tool = Tool('plans', version='1', schema_name='e')\n"
        "@tool.command(mutates=True)\n"
        "def go():\n"
        "    inside = {'command': {'program': 'echo', 'args': ['a b'], 'cwd': None}, 'count': 0, 'none': {}}\n"
        "    yield Change('run', 'x', risk='low', preview=inside, text='# A\\n\\nB\\n')\n"
        "@go.apply\n"
        "def apply(changes):\n"
        "    yield from ()\n"
        "tool.main()\n"
    )

    assert people("go", "--dry-run", tool=tool).stdout.decode().splitlines() == [
        "would run x risk=low",
        "  preview.command.program: echo",
        '  preview.command.args: ["a b"]',
        "  preview.count: 0",
        "  text:",
        "    # A",
        "    ",
        "    B",
    ]


def test_discovery_is_readable():
    assert people("--version").stdout == b"sample 1.2.3\n"
    assert b'"$schema"' in people("schema").stdout
    assert "✓ pulse: alive" in people("doctor").stdout.decode()


def test_text_that_is_not_encodable_does_not_end_the_command():
    done = subprocess.run(
        [sys.executable, str(SAMPLE), "verbatim", r"\xe9\ud800"],
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": os.environ["PATH"]},
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert (done.returncode, done.stdout.split()[0]) == (0, b"TEXT")


def test_running_text_is_not_torn_by_the_progress_that_came_before_it(tmp_path):
    tool = tmp_path / "torn.py"
    tool.write_text(
        "from operable.tool import Context, Progress, Tool\n"
        "tool = Tool('torn', version='1', schema_name='e')\n"
        "@tool.command()\n"
        "def go(context: Context):\n"
        "    yield Progress(done=1, total=2, message='looking')\n"
        "    for word in ('one ', 'two ', 'three\\n'):\n"
        "        context.show(word, 'green')\n"
        "tool.main()\n"
    )

    with terminal("go", tool=tool) as person:
        screen = person.finish().stderr

    assert "looking" in screen
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen[screen.rindex("looking") :])
    assert "one two three" in shown


def test_running_text_is_shown_as_it_comes_and_is_not_counted(tmp_path):
    script = tmp_path / "talker.py"
    script.write_text(
        "from operable.tool import Context, Tool\n"
        "tool = Tool('talker', version='1', schema_name='x')\n"
        "@tool.command(secrets=('word',))\n"
        "def say(word: str, *, context: Context):\n"
        "    'Say it.'\n"
        "    context.show('so ')\n"
        "    context.show(f'{word} \\x1b[2J it is')\n"
        "tool.main()\n"
    )

    outcome = people("say", "hunter2", tool=script)

    assert outcome.stdout.decode() == "so [redacted] ·[2J it is"
    assert outcome.stderr == ""
    assert [event["type"] for event in run("say", "hunter2", tool=script).events] == [
        "aoi:meta",
        "aoi:summary",
    ]


def test_a_service_that_ends_says_so_and_counts_nothing(tmp_path):
    script = tmp_path / "service.py"
    script.write_text(
        "from operable.tool import Context, Event, Tool\n"
        "tool = Tool('service', version='1', schema_name='x')\n"
        "class Served(Event):\n"
        "    name: str\n"
        "@tool.command(limit=None)\n"
        "def serve(*, names: str = '', context: Context):\n"
        "    'Serve.'\n"
        "    for name in names.split():\n"
        "        yield Served(name=name)\n"
        "    context.conclude(message='Stopped.')\n"
        "tool.main()\n"
    )

    def said(*words):
        command = [sys.executable, str(script), "serve", *words]
        return subprocess.run(command, capture_output=True, timeout=LIMIT, check=True, text=True).stderr

    assert said() == "Stopped.\n"
    assert said("--names", "a b") == "2 in all\nStopped.\n"


def test_what_follows_running_text_begins_on_a_line_of_its_own(tmp_path):
    script = tmp_path / "mixed.py"
    script.write_text(
        "from operable.tool import Context, Tool\n"
        "tool = Tool('mixed', version='1', schema_name='x')\n"
        "@tool.command()\n"
        "def table(*, context: Context):\n"
        "    'Text, then a row.'\n"
        "    context.show('no line end')\n"
        "    yield {'type': 'row', 'x': 1}\n"
        "@tool.command()\n"
        "def word(*, context: Context):\n"
        "    'Text, then a closing word.'\n"
        "    context.show('no line end')\n"
        "    context.conclude(message='Done.')\n"
        "tool.main()\n"
    )

    assert people("table", tool=script).stdout.decode() == "no line end\nX\n1\n"
    outcome = people("word", tool=script)
    assert (outcome.stdout.decode(), outcome.stderr) == ("no line end\n", "Done.\n")


@pytest.mark.parametrize(
    "value, shown",
    [
        (["npm", "brew"], "npm, brew"),
        ([], ""),
        ({"kind": "session", "ref": "ses_1"}, "kind=session ref=ses_1"),
        ({"command": "ls safe=yes"}, 'command="ls safe=yes"'),  # not to be taken for two values
        (["a, b", "c"], '"a, b", c'),
        ({"files": ["a"]}, '{"files":["a"]}'),
        ([True, None, 2], "true, null, 2"),
        (True, "yes"),
        (False, "no"),
        (None, ""),
        ("a\nb\x1b", "a b·"),
    ],
)
def test_a_simple_value_in_a_table_is_no_json(value, shown):
    assert table_cell(value) == shown


@pytest.mark.parametrize(
    "name, value, shown",
    [
        ("health", "missing", "! missing"),
        ("state", "succeeded", "✓ succeeded"),
        ("ok", False, "✗ no"),
        ("state", "waiting", "waiting"),  # neither good nor bad
        ("title", "failed", "failed"),  # not a state: the text of a user
        ("bytes", 999, "999 B"),
        ("output_bytes", 14_200, "14.2 kB"),
        ("size", 999_960, "1.0 MB"),
        ("lines", 14_200, "14200"),
        ("at", "2026-11-19T20:00:30.5Z", "29 s ago"),
        ("at", "2026-11-19T22:00:30+01:00", "in 59 min"),
        ("at", "2026-11-19T01:00:00Z", "19 h ago"),
        ("at", "2026-01-02T03:04:05Z", "2026-01-02 05:04"),
        ("at", "2026-01-02T03:04:05", "2026-01-02T03:04:05"),  # of no zone
        ("at", "2026-01-02Tomorrow", "2026-01-02Tomorrow"),
    ],
)
def test_a_terminal_shows_what_a_person_reads(name, value, shown, monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Helsinki")
    time.tzset()
    monkeypatch.setattr("operable.tool.human.cells.time", SimpleNamespace(time=lambda: NOW))

    assert terminal_cell(name, value) == shown

    monkeypatch.undo()
    time.tzset()


def test_what_goes_into_a_pipe_keeps_the_moment_and_the_number():
    assert [PlainScreen().cell(name, value) for name, value in (("bytes", 14_200), ("state", "failed"))] == [
        "14200",
        "failed",
    ]
    assert PlainScreen().cell("at", "2026-01-02T03:04:05Z") == "2026-01-02T03:04:05Z"
