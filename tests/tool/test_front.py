"""From the command line to the exit code: the mode, the refusals, the secrets, and the surroundings."""

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from operable.kernel.redact.names import HINTS
from operable.tool import front
from tests.requirement import requirement
from tests.tool.drive import LIMIT, SAMPLE, Outcome, command_line, run

INTAKE = Path(__file__).with_name("sample_intake.py")
MUTATIONS = Path(__file__).with_name("sample_mutations.py")
SECRET = "correct-horse-battery"


@requirement("aoi:1:output-jsonl", "aoi:1:format-alias")
@pytest.mark.parametrize(
    "words",
    [
        ["count", "--output", "jsonl"],
        ["count", "--output=jsonl"],
        ["count", "--format", "jsonl"],
        ["count", "--format=jsonl"],
        ["--output", "jsonl", "count"],
        ["--format=jsonl", "count"],
    ],
)
def test_machine_mode_is_selected_by_either_option_in_any_place(words):
    outcome = run(*words, output=None)
    assert (outcome.exit_code, outcome.summary["count"]) == (0, 5)


@requirement("aoi:1.2:human-default")
@pytest.mark.parametrize("words", [["count"], ["count", "--output", "human"], ["count", "--title", "jsonl"]])
def test_otherwise_the_output_is_for_people(words):
    outcome = run(*words, output=None)
    assert outcome.exit_code == 0
    assert b"{" not in outcome.stdout
    assert "5 in all" in outcome.stderr


@requirement("aoi:2:fatal-structured", "aoi:4:meta-first")
@pytest.mark.parametrize(
    "words, code",
    [
        ([], "MISSING_COMMAND"),
        (["nonsense"], "UNKNOWN_COMMAND"),
        (["count", "--nonsense"], "UNKNOWN_OPTION"),
        (["count", "--times", "many"], "INVALID_VALUE"),
        (["count", "--limit", "0"], "INVALID_VALUE"),
        (["count", "surplus"], "UNEXPECTED_OPERAND"),
        (["fails"], "MISSING_OPERAND"),
        (["count", "--timeout", "nan"], "INVALID_VALUE"),
        (["count", "--schema-version", "9"], "UNSUPPORTED_SCHEMA_VERSION"),
        (["count", "--format", "xml"], "INVALID_VALUE"),
    ],
)
def test_a_wrong_command_line_is_answered_in_the_language_of_the_caller(words, code):
    machine = run(*words)
    assert (machine.exit_code, machine.error["category"], machine.error["code"]) == (64, "usage", code)
    assert (machine.summary["ok"], machine.stderr) == (False, "")
    person = run(*words, output=None)
    assert (person.exit_code, person.stdout) == (64, b"")
    # To begin without a command is not a mistake of a person.
    assert person.stderr.startswith("sample 1.2.3: " if code == "MISSING_COMMAND" else "sample: ")


def test_a_bad_cursor_is_a_validation_error():
    outcome = run("count", "--cursor", "1.nonsense.nonsense")
    assert (outcome.exit_code, outcome.error["category"], outcome.error["code"]) == (
        65,
        "validation",
        "INVALID_CURSOR",
    )


@requirement("aoi:8.3:meta-no-argv", "aoi:11:no-raw-argv")
def test_the_meta_event_does_not_repeat_the_arguments(monkeypatch):
    monkeypatch.setenv("SAMPLE_SECRET", SECRET)
    meta = run("count", "--title", "private words", "--limit", "3").events[0]
    assert set(meta) == {
        *(
            "type",
            "tool",
            "tool_version",
            "aoi_version",
            "schema_name",
            "schema_version",
            "command",
            "trace_id",
        ),
    }


# -- secrets -----------------------------------------------------------------------------------------------------------


@requirement("aoi:11:sensitive-flags", "aoi:11:args-redacted")
@pytest.mark.parametrize("how", ["event", "warning", "error", "crash"])
@pytest.mark.parametrize("output", ["jsonl", None])
@pytest.mark.parametrize(
    "words",
    [
        ["--api-token", SECRET],
        [f"--api-token={SECRET}"],
        ["--pin", SECRET],
        [SECRET],  # an operand called `password`
    ],
)
def test_a_secret_argument_is_never_shown(words, output, how):
    outcome = run("leaks", *words, "--how", how, "--debug", output=output)
    everything = outcome.stdout.decode() + outcome.stderr
    assert SECRET not in everything
    assert "[redacted]" in everything
    assert ("Traceback" in outcome.stderr) == (how in ("error", "crash"))


@requirement("aoi:11:sensitive-flags")
@pytest.mark.parametrize("output", ["jsonl", None])
@pytest.mark.parametrize(
    "words",
    [
        ["count", "--api-token", SECRET],
        ["count", f"--api-token={SECRET}"],
        ["leaks", "--api-tokn", SECRET],  # misspelt, and not secret by its name any more
        ["leaks", f"--api-tokn={SECRET}"],
        ["leaks", "-p", SECRET],
        ["leaks", "--how", "nonsense", SECRET],
        ["leaks", "--api-token", "x", "one", SECRET],
        ["leaks", "--account-key", SECRET],
        ["nonsense", "--password", SECRET],
    ],
)
def test_a_secret_in_a_wrong_command_line_is_never_shown(words, output):
    outcome = run(*words, "--debug", output=output)
    assert outcome.exit_code == 64
    assert SECRET not in outcome.stdout.decode() + outcome.stderr


def test_a_number_that_is_a_secret_is_hidden_too():
    outcome = run("leaks", "--account-key", "123456789")
    assert outcome.results == [
        {"type": "said", "text": {"nested": ["   [redacted]"], "number": "[redacted]"}}
    ]


@pytest.mark.parametrize(
    "secret", ["type", "said", "usage", "internal", "true", "false", "aoi:", "ok", ":", '"', "LEAK"]
)
@pytest.mark.parametrize("how", ["event", "warning", "error", "crash"])
def test_a_secret_that_is_a_word_of_the_stream_does_not_spoil_it(secret, how):
    outcome = run("leaks", "--api-token", secret, "--how", how)
    assert outcome.events[0]["command"] == "leaks"
    if how in ("error", "crash"):
        assert outcome.error["category"] == "internal"
        assert outcome.error["code"] == ("LEAK" if how == "error" else "INTERNAL_ERROR")
    elif how == "event":
        assert set(outcome.results[0]) == {"type", "text"}
    assert isinstance(outcome.summary["ok"], bool)


def test_words_that_only_resemble_a_secret_are_shown():
    assert front.HINTS == HINTS
    outcome = run("count", "--title", "the monkey and the author", "--times", "1")
    assert outcome.results[0]["title"] == "the monkey and the author"


# -- surroundings ------------------------------------------------------------------------------------------------------


def bare(
    *words: str, env: dict[str, str] | None = None, python: str = sys.executable, isolated: bool = False
) -> Outcome:
    """Run with nothing in the environment but what is given."""
    flags = ["-I"] if isolated else []
    done = subprocess.run(
        [python, *flags, str(SAMPLE), *words, "--output", "jsonl"],
        env=env or {},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@requirement("aoi:2:utf8-jsonl")
@pytest.mark.parametrize(
    "env",
    [
        {},
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX", "PYTHONIOENCODING": "latin-1"},
        {"PYTHONIOENCODING": "utf-16"},
        {"LANG": "tr_TR.ISO8859-9"},
    ],
)
def test_the_stream_is_utf8_in_any_locale_and_an_empty_environment(env):
    outcome = bare("verbatim", r"\xe9\u20ac\U0001f600", env=env)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.results == [{"type": "said", "text": "é€😀"}]


@pytest.mark.parametrize("env", [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}])
def test_what_people_see_survives_a_locale_that_cannot_say_it(env):
    done = subprocess.run(
        [sys.executable, str(SAMPLE), "verbatim", r"\xe9\ud800"],
        env=env,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_read_only_directory_without_home_is_enough():
    done = subprocess.run(
        command_line("count"), cwd="/proc", env={}, capture_output=True, timeout=LIMIT, check=False
    )
    assert Outcome(done.returncode, done.stdout, done.stderr).summary["ok"] is True


def other_pythons() -> list[str]:
    """The other versions of Python that we support and this machine has."""
    found = []
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)  # $HOME is a place of the tests
    for minor in (12, 13):
        candidates = [shutil.which(f"python3.{minor}"), *home.glob(f".pyenv/versions/3.{minor}.*/bin/python")]
        found += [str(candidate) for candidate in candidates if candidate and _works(str(candidate), minor)][
            :1
        ]
    return found


def _works(python: str, minor: int) -> bool:
    program = f"import sys; sys.exit(sys.version_info[:2] != (3, {minor}))"
    return (
        subprocess.run([python, "-c", program], capture_output=True, timeout=LIMIT, check=False).returncode
        == 0
    )


def test_the_other_supported_versions_of_python_behave_the_same():
    pythons = other_pythons()
    if not pythons:
        pytest.skip("no other supported version of Python is installed")
    source = str(Path(__file__).parents[2] / "src")
    for python in pythons:
        env = {"PYTHONPATH": source, "HOME": os.environ["HOME"], "PYTHONDONTWRITEBYTECODE": "1"}
        counted = bare("count", "--times", "9", "--limit", "4", env=env, python=python)
        assert (counted.exit_code, counted.summary["count"], counted.summary["truncated"]) == (0, 4, True)
        rest = bare(
            "count", "--times", "9", "--cursor", counted.summary["next_cursor"], env=env, python=python
        )
        assert [event["rank"] for event in rest.results] == [5, 6, 7, 8, 9]
        assert bare("pollute", env=env, python=python).summary["ok"] is True
        assert bare("fails", "conflict", env=env, python=python).exit_code == 65
        assert bare("fails", "x", "--how", "bug", "--debug", env=env, python=python).exit_code == 70
        assert bare("forks", "--how", "multiprocessing", env=env, python=python).summary["count"] == 3
        assert bare("slowly", env=env, python=python).summary["count"] == 3
        assert (
            bare("asks", "--how", "getpass", env=env, python=python).error["code"] == "INTERACTIVE_REQUIRED"
        )
        assert bare("leaks", "--pin", SECRET, env=env, python=python).results[0]["type"] == "said"
        assert bare("schema", env=env, python=python).summary["ok"] is True
        stopped = bare("endless", "--timeout", "0.3", env=env, python=python)
        assert (stopped.exit_code, stopped.summary["count"]) == (124, len(stopped.results))


def test_the_cheap_test_for_secret_names_knows_what_the_real_one_knows():
    """The list stands twice for the sake of the cold start; it must not drift apart."""
    from operable.kernel.redact import names
    from operable.tool import front

    assert front.HINTS == names.HINTS


def test_a_person_who_names_no_command_sees_the_commands_and_a_machine_the_error():
    person = run(output=None)

    assert (person.exit_code, person.stdout) == (64, b"")
    first, _, rest = person.stderr.partition("\n")
    assert first.startswith("sample ")  # its version and summary: to begin so is not a mistake
    assert "needs a command" not in person.stderr
    assert "Commands:\n" in rest
    assert "  count" in rest
    assert run().error["hint"] == "sample --help"


def test_a_word_too_many_may_be_the_value_of_the_option_that_is_missing():
    from operable.kernel.errors import Fail
    from operable.tool import Tool
    from operable.tool.arguments import parse

    tool = Tool("x", version="1", schema_name="x")

    @tool.command()
    def send(name: str, *, prompt: str) -> None:
        """Send."""

    with pytest.raises(Fail) as caught:
        parse(tool, send, ["ada", "hello", "there"])
    assert caught.value.hint == "--prompt 'hello there'"

    with pytest.raises(Fail) as caught:
        parse(tool, send, ["ada", "hello", "--prompt", "x"])
    assert caught.value.hint == "quote an operand that has spaces"


@pytest.mark.parametrize("words", [["-V"], ["--version"], ["-V", "--no-color"]])
def test_the_version_has_a_short_option(words):
    outcome = run(*words, output=None)

    assert (outcome.exit_code, outcome.stdout) == (0, run("--version", output=None).stdout)
