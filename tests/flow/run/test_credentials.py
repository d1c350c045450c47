"""How credentials reach a task, and that they are gone afterwards."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from operable.flow.errors import FlowError
from operable.flow.run.credentials import formatted, materialise
from tests.requirement import requirement

CANARY = "canary-4f1c9d-do-not-show"
SESSION = {
    "provider": "env-bearer",
    "delegation_chain": [{"grant": "g"}],
    "provider_assertions": {"a": "b"},
    "credentials": {"access_token": {"kind": "bearer", "value": CANARY}},
}
SOURCE = "credentials.access_token.value"


def bound(kind, **target):
    return {"source": SOURCE, "target": {"kind": kind, **target}}


def given(*bindings, **options):
    return materialise(SESSION, {"bindings": list(bindings)}, **options)


@requirement("agentcli:providers:materialisation")
def test_a_variable_carries_the_credential_and_the_description_does_not():
    with given(bound("env", name="API_TOKEN")) as placed:
        assert placed.environment == {"API_TOKEN": CANARY}
        assert CANARY not in repr(placed)
        assert placed.described() == {
            "materialized": True, "cleanup_required": False, "env_vars": ["API_TOKEN"],
            "temp_files": [], "temp_directories": [], "stdin": False,
        }  # fmt: skip

    assert placed.environment == {}


@requirement("agentcli:providers:materialisation")
def test_a_file_is_private_and_gone_afterwards(tmp_path):
    with given(
        bound("file", name="token", prefix="ours", expose_as="TOKEN_FILE"), folder=str(tmp_path)
    ) as placed:
        path = placed.environment["TOKEN_FILE"]
        assert Path(path).read_text() == CANARY
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
        assert os.path.basename(os.path.dirname(path)).startswith("ours-")

    assert os.listdir(tmp_path) == []


def test_a_file_is_removed_when_the_task_raises(tmp_path):
    with pytest.raises(ZeroDivisionError), given(bound("file", name="token"), folder=str(tmp_path)):
        raise ZeroDivisionError

    assert os.listdir(tmp_path) == []


def test_a_task_may_delete_its_own_file(tmp_path):
    with given(bound("file", name="token"), folder=str(tmp_path)) as placed:
        os.unlink(placed.files[0])

    assert os.listdir(tmp_path) == []


@requirement("agentcli:providers:materialisation")
def test_standard_input_carries_the_credential():
    with given(bound("stdin")) as placed:
        assert placed.stdin == CANARY
        assert list(placed.described()) == (
            "materialized cleanup_required env_vars temp_files temp_directories stdin".split()
        )


@pytest.mark.parametrize(
    "binding, options, code",
    [
        ({"target": {"kind": "env", "name": "A"}}, {}, "presentation_binding_invalid"),
        ({"source": "credentials.x", "target": {"kind": "env", "name": "A"}}, {}, "presentation_binding_missing"),
        ({"source": "provider_assertions.a", "target": {"kind": "env", "name": "A"}}, {}, "presentation_source_forbidden"),
        ({"source": "delegation_chain", "target": {"kind": "env", "name": "A"}}, {}, "presentation_source_forbidden"),
        ({"source": SOURCE}, {}, "presentation_target_invalid"),
        ({"source": SOURCE, "target": {"kind": "pigeon"}}, {}, "presentation_target_unsupported"),
        (bound("env"), {}, "presentation_target_invalid"),
        (bound("env", name="A-B"), {}, "presentation_target_invalid"),
        (bound("env", name="PATH"), {}, "presentation_target_invalid"),
        (bound("env", name="LD_PRELOAD"), {}, "presentation_target_invalid"),
        (bound("env", name="BASH_ENV"), {}, "presentation_target_invalid"),
        (bound("file", name="x", expose_as="NODE_OPTIONS"), {}, "presentation_target_invalid"),
        (bound("file", name="x", expose_as="GIT_ASKPASS"), {}, "presentation_target_invalid"),
        (bound("file", name="../x"), {}, "presentation_target_invalid"),
        (bound("file", name="x", prefix="../p"), {}, "presentation_target_invalid"),
        (bound("file", name="x", expose_as="A B"), {}, "presentation_target_invalid"),
        ({**bound("env", name="A"), "format": "xml"}, {}, "presentation_format_unsupported"),
        (bound("stdin"), {"shell_stdin": "mine"}, "presentation_stdin_conflict"),
    ],
)  # fmt: skip
@requirement("agentcli:providers:materialisation")
def test_a_binding_that_cannot_be_served_is_refused_before_anything_is_written(
    tmp_path, binding, options, code
):
    with (
        pytest.raises(FlowError) as caught,
        given(bound("file", name="first"), binding, folder=str(tmp_path), **options),
    ):
        pytest.fail("the task must not start")

    assert caught.value.flow_code == code
    assert os.listdir(tmp_path) == []
    assert CANARY not in str(caught.value)


@requirement("agentcli:providers:materialisation")
def test_two_credentials_cannot_both_be_the_standard_input():
    with pytest.raises(FlowError) as refused, given(bound("stdin"), bound("stdin")):
        pytest.fail("the task must not start")
    assert refused.value.flow_code == "presentation_stdin_conflict"


@requirement("agentcli:providers:materialisation")
def test_a_missing_optional_source_is_left_out():
    binding = {"source": "credentials.x.y", "target": {"kind": "env", "name": "A"}, "required": False}

    with given(binding) as placed:
        assert not placed.described()["materialized"]


def test_two_bindings_cannot_set_the_same_variable():
    with pytest.raises(FlowError), given(bound("env", name="A"), bound("env", name="A")):
        pytest.fail("the task must not start")


@requirement("agentcli:providers:sessions")
@pytest.mark.parametrize(
    "value, form, text",
    [
        ("a", None, "a"),
        ("a", "raw", "a"),
        ("a", "json", '"a"'),
        ("a", "base64", "YQ=="),
        ({"b": 1}, None, '{"b":1}'),
        ({"b": 1}, "base64", "eyJiIjoxfQ=="),
        (5, "raw", "5"),
        (5.0, None, "5"),
        ([1, "é"], None, '[1,"é"]'),
        ({"b": 1}, "json", '{"b":1}'),
        (5, "base64", "NQ=="),
        (True, None, "true"),
    ],
)
def test_values_are_formatted(value, form, text):
    assert formatted(value, form) == text


@requirement("agentcli:providers:sessions")
@pytest.mark.parametrize("value, form", [({"b": 1}, "raw"), ([], "raw"), ("a", "xml"), ("a", 5)])
def test_a_format_that_does_not_fit_is_refused(value, form):
    with pytest.raises(FlowError) as refused:
        formatted(value, form)
    assert refused.value.flow_code == "presentation_format_unsupported"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@requirement("agentcli:providers:materialisation")
def test_a_killed_process_leaves_no_credential_file(tmp_path, number):
    program = (
        "import sys, json\n"
        "from operable.flow.run.credentials import materialise\n"
        "session, presentation, folder = json.loads(sys.argv[1])\n"
        "with materialise(session, presentation, folder=folder):\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    what = json.dumps([SESSION, {"bindings": [bound("file", name="token")]}, str(tmp_path)])
    process = subprocess.Popen(
        [sys.executable, "-c", program, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == b"ready\n"
    (folder,) = os.listdir(tmp_path)

    process.send_signal(number)
    process.wait(200)
    # The keeper inherits our end of nothing but the pipe; end of file means that it has finished too.
    process.stdout.read()
    process.stdout.close()
    process.stdin.close()

    for _ in range(2000):
        if not os.path.exists(tmp_path / folder):
            break
        signal.sigtimedwait([], 0.01)
    assert not os.path.exists(tmp_path / folder)


def test_a_provider_may_have_bindings_of_its_own():
    stripe = {**SESSION, "provider": "stripe-api-key", "credentials": {"api_key": {"value": CANARY}}}

    with materialise(stripe, None) as placed:
        assert placed.environment == {"STRIPE_API_KEY": CANARY}
    with materialise(stripe, {"bindings": []}) as placed:
        assert placed.environment == {}
