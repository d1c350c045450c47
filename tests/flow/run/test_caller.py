"""Who asks for a task."""

import json
import os
import sys

import pytest

from operable.flow.errors import FlowError
from operable.flow.manifest.selection import select
from operable.flow.operation import Defaults
from operable.flow.rpc.protocol import answer_to
from operable.flow.run.caller import LIMIT, Caller, TaskCommands, bind
from operable.flow.run.executor import execute
from tests.flow.callers import caller, script
from tests.flow.loopback import loopback
from tests.flow.manifests import manifest
from tests.requirement import requirement


@requirement("agentcli:cli:whoami")
@pytest.mark.parametrize(
    "environment, principal",
    [
        ({"USER": "u", "USERNAME": "n", "HOSTNAME": "h", "HOST": "o"}, "u@h"),
        ({"USERNAME": "n", "HOST": "o"}, "n@o"),
        ({"USER": "", "USERNAME": "n", "HOSTNAME": ""}, "n@localhost"),
        ({"HOSTNAME": "h"}, "unknown@h"),
        ({}, "unknown@localhost"),
    ],
)
def test_a_caller_is_a_user_at_a_host(environment, principal):
    assert Caller("/", environment).principal == principal


def with_token(line, **members):
    """A task that prints the token which this line prints."""
    profile = {
        "id": "i",
        "provider": "env-bearer",
        "auth": {"inputs": {"token": {"value_from": {"command": line}}}},
        "presentation": {
            "bindings": [
                {"source": "credentials.access_token.value", "target": {"kind": "env", "name": "TOKEN"}}
            ]
        },
    }
    task = script('test "$TOKEN" = given-token', identity={"ref": "i"}, **members)
    return manifest(task, identity_profiles=[profile])


def resolved(by, value):
    params = {"manifest": value, "taskId": "a", "allowCommands": True}
    request = {"jsonrpc": "2.0", "id": 1, "method": "agentcli.identity.resolve", "params": params}
    answer = answer_to(json.dumps(request).encode(), Defaults(by.cwd, by.environment, by.home), print)
    return json.loads(answer or b"{}")


@pytest.mark.parametrize(
    "contract", [{"allowed_paths": ["."]}, {"sandbox": "strict"}, {"sandbox": "strict", "network": "none"}]
)
def test_a_token_command_cannot_write_where_its_task_cannot(tmp_path, contract):
    by = caller(tmp_path)
    line = f"touch {tmp_path}/escaped; echo given-token"

    assert execute(with_token(line, contract=contract), "a", by)["ok"] is True
    assert resolved(by, with_token(line, contract=contract))["result"]["ok"] is True
    assert not (tmp_path / "escaped").exists()
    assert execute(with_token(line), "a", by)["ok"] is True
    assert (tmp_path / "escaped").exists()


def test_a_token_command_has_no_network_when_its_task_has_none(tmp_path):
    by = caller(tmp_path)
    with loopback(lambda _asked: (200, {}, b"given-token")) as server:
        asking = f"import urllib.request as r; print(r.urlopen('{server.url}', timeout=60).read().decode())"
        line = f'{sys.executable} -c "{asking}"'
        with pytest.raises(FlowError, match="Bearer token not found"):
            execute(with_token(line, contract={"network": "none"}), "a", by)
        assert resolved(by, with_token(line, contract={"network": "none"}))["error"]["data"]["code"] == (
            "token_not_found"
        )
        assert server.asked == []
        assert execute(with_token(line), "a", by)["ok"] is True
        assert len(server.asked) == 1


def test_a_contract_that_cannot_be_enforced_refuses_the_command_too(tmp_path):
    by = caller(tmp_path, AGENTCLI_SANDBOX="off")
    value = with_token(f"touch {tmp_path}/ran", contract={"network": "none"})

    error = resolved(by, value)["error"]
    assert error["data"]["code"] == "sandbox_enforcement_unavailable"
    assert not (tmp_path / "ran").exists()


def test_a_command_gets_the_variables_of_its_task_and_no_others(tmp_path):
    by = caller(tmp_path, AWS_SECRET_ACCESS_KEY="not-for-it")
    task = {"program": "true", "env": {"OWN": "given-token"}}
    value = with_token('test -z "$AWS_SECRET_ACCESS_KEY" && printf %s "$OWN"')
    value["workflows"][0]["tasks"][0]["shell"] = task

    assert execute(value, "a", by)["ok"] is True


def commands(tmp_path, **members):
    place = {"contract": {}, "cwd": str(tmp_path), "base": str(tmp_path), **members}
    return TaskCommands(**{"environment": {"PATH": os.environ["PATH"]}, **place})


def test_a_command_ends_with_the_shorter_of_both_limits_and_its_children_with_it(tmp_path):
    for own, asked in ((0.3, 60.0), (None, 0.3)):
        with pytest.raises(ValueError, match=r"DEADLINE_EXCEEDED after 0.3 s"):
            commands(tmp_path, timeout=own).run("sleep 600", {}, asked)


def test_the_limit_of_a_task_is_the_limit_of_its_commands(tmp_path):
    by = caller(tmp_path)
    selected = select(with_token("sleep 600", runtime={"timeout_ms": 300}), "a")

    assert bind(selected, by).timeout_ms == 300
    assert "Bearer token not found" in resolved(by, selected.original)["error"]["message"]


def test_a_command_that_prints_too_much_is_ended(tmp_path):
    with pytest.raises(ValueError, match=f"more than {LIMIT} bytes"):
        commands(tmp_path).run("yes", {}, 60.0)


@pytest.mark.parametrize("line, why", [("exit 3", "exit 3"), ("kill -9 $$", "exit SIGKILL")])
def test_a_command_that_fails_says_how(tmp_path, line, why):
    with pytest.raises(ValueError, match=why):
        commands(tmp_path).run(line, {}, 60.0)


def test_paths_mean_the_callers_folder_and_in_a_strict_task_its_own(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    strict = commands(tmp_path, cwd=str(inner), contract={"sandbox": "strict"})

    assert commands(tmp_path, cwd=str(inner)).run("pwd", {}, 60.0) == f"{tmp_path}\n"
    assert strict.run("pwd", {}, 60.0) == f"{inner}\n"
