"""The generic runner: real programs, without a shell."""

from tests.wrap.drive import wrap


def test_nothing_is_started_without_a_yes(tmp_path):
    refused = wrap("exec", "--", "touch", "made", cwd=tmp_path)
    plan = wrap("exec", "--dry-run", "--", "touch", "made", cwd=tmp_path)

    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert not (tmp_path / "made").exists()
    (change,) = plan.of("aoi:plan")
    assert change["target"].endswith("/touch")
    assert change["words"] == ["made"]


def test_the_verdict_is_the_exit_status(tmp_path):
    done = wrap("exec", "--confirm", "--", "sh", "-c", "echo out; echo err >&2", cwd=tmp_path)
    bad = wrap("exec", "--confirm", "--", "sh", "-c", "echo out; exit 7", cwd=tmp_path)

    assert [(event["output"], event["diagnostics"]) for event in done.results] == [("out\n", "err")]
    assert (bad.results[0]["exit"], bad.error["code"]) == (7, "RUN_FAILED")


def test_a_program_that_is_not_there_and_one_that_is_a_variable(tmp_path):
    missing = wrap("exec", "--confirm", "--", "no-such-program", cwd=tmp_path)
    variable = wrap("exec", "--confirm", "--", "A=1", "env", cwd=tmp_path)

    assert (missing.error["category"], missing.error["code"]) == ("not_found", "PROGRAM_NOT_FOUND")
    assert (variable.error["category"], variable.error["code"]) == ("usage", "NOT_A_PROGRAM")


def test_words_reach_the_program_as_they_are(tmp_path):
    done = wrap("exec", "--confirm", "--", "printf", "%s|", "a b", "$HOME", "--confirm", "--", cwd=tmp_path)

    assert done.results[0]["output"] == "a b|$HOME|--confirm|--|"


def test_a_program_that_hangs_is_ended_at_the_deadline(tmp_path):
    done = wrap("exec", "--confirm", "--timeout", "1", "--", "sleep", "300", cwd=tmp_path)

    assert (done.error["category"], done.error["code"]) == ("timeout", "TIMEOUT")
