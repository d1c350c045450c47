"""One command, run to its end."""

import os
import sys
from pathlib import Path

import pytest

from operable.flow.run.process import run_command
from operable.proc.command import PreparedCommand
from operable.proc.spawn import prepare
from operable.proc.tree.escalation import Graces
from tests.cli.drive import alive
from tests.requirement import requirement

SHORT = Graces(interrupt=0.3, terminate=0.3, kill=10.0, drain=0.3)


def python(code: str, *arguments: str) -> PreparedCommand:
    return prepare([sys.executable, "-I", "-S", "-c", code, *arguments])


def test_output_status_and_input_are_those_of_the_command():
    ran = run_command(prepare(["sh", "-c", "cat; echo err >&2; exit 3"]), stdin="grüße")

    assert (ran.exit_code, ran.stdout, ran.stderr, ran.ok) == (3, "grüße", "err\n", False)
    assert (ran.signal, ran.timed_out, ran.problem) == (None, False, None)


def test_a_signal_has_its_name_and_bytes_that_are_no_text_are_replaced():
    ran = run_command(prepare(["sh", "-c", r"printf '\377'; kill -9 $$"]))

    assert (ran.exit_code, ran.signal, ran.stdout) == (None, "SIGKILL", "\ufffd")


@requirement("agentcli:exec:timeouts")
def test_a_task_that_is_out_of_time_is_asked_to_end_with_sigterm_and_can_clean_up():
    plain = run_command(prepare(["sleep", "600"]), timeout=0.2)
    polite = "trap 'echo cleaned; exit 5' TERM; trap 'echo interrupted' INT; echo ready; while :; do sleep 0.1; done"
    # Until one is long enough on this machine for the shell to have come up.
    runs = (run_command(prepare(["sh", "-c", polite]), timeout=timeout) for timeout in (1.0, 10.0, 60.0))
    cleaned = next(ran for ran in runs if "ready" in ran.stdout)

    assert (plain.exit_code, plain.signal, plain.timed_out) == (None, "SIGTERM", True)
    assert (cleaned.stdout, cleaned.timed_out) == ("ready\ncleaned\n", True)
    assert not cleaned.ok


@requirement("agentcli:exec:timeouts")
def test_a_sigterm_of_somebody_else_is_no_timeout():
    ran = run_command(prepare(["sh", "-c", "kill -TERM $$"]), timeout=600)

    assert (ran.exit_code, ran.signal, ran.timed_out, ran.ok) == (None, "SIGTERM", False, False)


@requirement("agentcli:exec:timeouts")
def test_a_timeout_ends_the_whole_tree_with_a_daemon_that_left_its_session(tmp_path):
    left = tmp_path / "pid"
    daemon = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        f"    open({str(left)!r} + '.new', 'w').write(str(os.getpid())); os.rename({str(left)!r} + '.new', {str(left)!r})\n"
        "time.sleep(600)\n"
    )
    for timeout in (1.0, 10.0, 60.0):  # long enough on this machine for the daemon to have come up
        if not left.exists():
            ran = run_command(python(daemon), timeout=timeout, graces=SHORT)
            assert (ran.timed_out, ran.ok) == (True, False)

    assert not alive(int(left.read_text()))


@requirement("agentcli:exec:bounded-output")
def test_output_beyond_the_limit_ends_the_command_and_is_cut():
    ran = run_command(python("while True: print('x' * 1000)"), limit=50_000)

    assert len(ran.stdout) == 50_000
    assert ran.problem == "it printed more than 50000 bytes and was ended"
    assert not ran.ok


def test_errors_count_towards_the_limit_too():
    ran = run_command(python("import sys\nwhile True: sys.stderr.write('x' * 1000)"), limit=50_000)

    assert len(ran.stderr) == 50_000
    assert ran.problem is not None


@pytest.mark.parametrize(
    "argv, env, stdin",
    [(("true", "\ud800"), {}, None), (("true",), {"X": "\udfff"}, None), (("true",), {}, "\ud800")],
)
def test_what_no_process_can_be_given_is_refused(argv, env, stdin):
    ran = run_command(PreparedCommand(argv, "/bin/true", env, None), stdin=stdin)

    assert (ran.ok, ran.exit_code) == (False, None)
    assert "not text" in str(ran.problem)


def test_a_folder_that_is_not_there_is_the_reason_and_not_something_else(tmp_path):
    ran = run_command(PreparedCommand(("true",), "/bin/true", {}, str(tmp_path / "nowhere")))

    assert ran.problem == f"its folder {tmp_path}/nowhere does not exist"


def test_what_cannot_be_started_is_a_result_with_its_reason(tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o700)
    ran = run_command(PreparedCommand(("broken",), str(broken), dict(os.environ), None))

    assert ran.exit_code is None
    assert "interpreter" in str(ran.problem)
    assert Path(broken).exists()
