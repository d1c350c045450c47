"""Hostile lines and hostile manifests: every answer is valid JSON-RPC, nothing crashes, nothing else reaches stdout."""

import copy
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operable.flow.compile.target import compile_manifest, listed_targets
from operable.flow.errors import FlowError
from operable.flow.graph.model import graph, mermaid
from operable.flow.graph.svg import svg
from operable.flow.manifest.conversion import convert
from operable.flow.manifest.lint import lint
from operable.flow.manifest.schedules import moment
from operable.flow.manifest.validation import validate
from operable.flow.operation import Defaults, listed_methods
from operable.flow.rpc.protocol import answer_to
from tests.flow.manifests import manifest, prompt_task, shell_task, triggered
from tests.requirement import requirement

# A session is many requests, and some of them start programs.
pytestmark = pytest.mark.timeout(300)

OPERABLE = str(Path(sys.executable).with_name("operable"))
AFTER = moment("2026-01-01")
CODES = {-32700, -32600, -32601, -32602, -32603, -32000}

BASES = [
    manifest(
        shell_task(
            "a",
            identity={"ref": "robot", "auth": {"scopes": ["x"]}},
            on_failure={"prompt": "x", "delay_s": 1, "condition": "regex:^a"},
            approval={"policy": "manual", "timeout_s": 5},
            contract={"allowed_paths": ["/tmp"], "max_cost_usd": 1.5, "required_trust_level": "untrusted"},
            output={"format": "json", "preview_bytes": 64},
            verify={"shell": "true"},
            budgets={"max_fanout": 2},
        ),
        prompt_task("b", **triggered("a", condition="contains:x"), delivery={"mode": "announce", "to": "x"}),
        identity_profiles=[
            {
                "id": "robot",
                "provider": "env-bearer",
                "auth": {"mode": "service", "provider_config": {"token_env": "T"}},
                "presentation": {
                    "bindings": [{"source": "credentials.token", "target": {"kind": "env", "name": "T"}}]
                },
            }
        ],
        authorization_proof_profiles=[{"id": "p", "method": "none"}],
        authorization_profiles=[{"id": "z", "provider": "none"}],
        evidence_profiles=[{"id": "e", "provider": "none", "payload": {"bind": ["x"]}}],
    ),
    manifest(shell_task(identity={"principal": "x"}), version="0.1"),
]
WORDS = st.sampled_from(
    "version 0.1 0.2 workflows tasks id name a b w shell prompt target session_target isolated main schedule cron tz trigger "
    "parent on success failure complete condition regex:( regex:(?i)x contains: identity ref robot trust level autonomous "
    "approval policy contract none __proto__ constructor 2 -1 $FOLDER \ud800 \x00 \u2028 ../../x ~ ~root / * 61&*&*&*&*".split(" ")
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | WORDS
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for name, item in value.items():
            yield from places(item, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


@st.composite
def manifests(draw):
    """A manifest with a few things in it replaced, added or taken away."""
    value = copy.deepcopy(draw(st.sampled_from(BASES)))
    for _ in range(draw(st.integers(1, 3))):
        *outer, last = draw(st.sampled_from(list(places(value))[1:] or [("version",)]))
        owner = value
        for step in outer:
            owner = owner[step]
        match draw(st.sampled_from(["replace", "remove", "add"])):
            case "remove":
                del owner[last]
            case "add" if isinstance(owner, dict):
                owner[draw(WORDS)] = draw(VALUES)
            case _:
                owner[last] = draw(VALUES)
        if not isinstance(value, dict) or not value:
            break
    return value


def attempt(function, *arguments):
    """What it returns, or None when it refuses with a reason; everything else is a crash."""
    try:
        return function(*arguments)
    except FlowError as problem:
        return None if problem.flow_code and problem.message else pytest.fail("a refusal without a reason")


def drawn(value):
    workflows = graph(value, AFTER)
    return svg(workflows) + mermaid(workflows)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(manifests() | VALUES)
def test_no_manifest_crashes_what_reads_it(value):
    found = validate(value)

    assert list(found) == ["ok", "errors", "warnings"]
    assert found["ok"] is not bool(found["errors"])
    json.dumps([[seen.path, seen.message] for seen in lint(value)])
    for target in listed_targets():
        compiled = attempt(compile_manifest, value, target.name)
        json.dumps(compiled)
        assert found["ok"] or compiled is None
    assert (attempt(drawn, value) is not None) is found["ok"]
    converted = attempt(convert, value)
    assert converted is None or validate(converted)["ok"]


# What starts programs or writes where a param says is asked only with values of this table.
SAFE: dict[str, st.SearchStrategy[Any]] = {
    "schedulerBin": st.sampled_from([None, "", 5, "/nonexistent/scheduler", []]),
    "schedulerPrefix": st.sampled_from([None, "", 5, {}]),
    "dbPath": st.sampled_from([None, "", 5, "nowhere.db", "a/b.db", ".", "\ud800", "\x00"]),
    "path": st.sampled_from([None, "", 5, "nowhere", ".", "\x00", "\ud800"]),
}


@st.composite
def requests(draw):
    """A request to a method, with params that it knows and values that it does not."""
    method = draw(st.sampled_from(listed_methods()))
    params = {
        name: draw(manifests() if name == "manifest" else SAFE.get(name, VALUES))
        for name in draw(
            st.lists(st.sampled_from(method.requested), unique=True) if method.requested else st.just([])
        )
    }
    return {"jsonrpc": "2.0", "id": draw(LEAVES), "method": method.method, "params": params}


ENVELOPES = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "x"]),
    st.sampled_from(["2.0", "agentcli.ping", {}]) | VALUES,
)
LINES = (
    st.binary(max_size=40)
    | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | VALUES.map(lambda value: json.dumps(value).encode())
    | ENVELOPES.map(lambda value: json.dumps(value).encode())
    | requests().map(lambda value: json.dumps(value).encode())
    | requests().flatmap(lambda value: st.integers(0, 200).map(lambda cut: json.dumps(value).encode()[:cut]))
)


def is_answer(line):
    """Whether this is one line of valid JSON-RPC."""
    answer = json.loads(line, parse_constant=pytest.fail)
    assert list(answer)[:2] == ["jsonrpc", "id"]
    assert answer["jsonrpc"] == "2.0"
    (kind,) = list(answer)[2:]
    if kind == "result":
        assert isinstance(answer["result"], dict)
        assert "ok" in answer["result"]
    else:
        assert kind == "error"
        assert list(answer["error"]) == ["code", "message", "data"]
        assert answer["error"]["code"] in CODES
        assert isinstance(answer["error"]["message"], str)
        assert {"code", "error_type"} <= answer["error"]["data"].keys()
        assert "Traceback" not in answer["error"]["message"]
    return True


@requirement("agentcli:rpc:envelope")
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(LINES)
def test_every_line_gets_one_valid_answer_or_none(line):
    with tempfile.TemporaryDirectory() as folder:
        environment = {"HOME": folder, "PATH": "/nonexistent", "USER": "u", "HOSTNAME": "h"}
        defaults = Defaults(
            folder, environment, home=f"{folder}/home", scheduler_bin="/nonexistent/scheduler"
        )
        faults: list[BaseException] = []
        answer = answer_to(line.replace(b"\n", b" "), defaults, faults.append)

    assert faults == [], "nothing that a client can send is a fault of ours"
    assert answer is None or (answer.count(b"\n") == 1 and is_answer(answer))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One process for all lines: what one of them breaks, the next ones notice."""
    folder = tmp_path_factory.mktemp("rpc")
    with open(folder / "errors", "wb") as errors:
        process = subprocess.Popen(
            [OPERABLE, "rpc", "--scheduler-bin", "/nonexistent/scheduler", "--home", str(folder / "home")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=folder,
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "USER": "u"},
        )
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.communicate(timeout=200)
    assert process.returncode == 0
    assert b"Traceback" not in (folder / "errors").read_bytes()


@requirement("agentcli:rpc:envelope")
@settings(
    deadline=None,
    max_examples=50,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large
    ],
)  # fmt: skip
@given(lines=st.lists(LINES, max_size=6))
def test_a_real_server_answers_every_line_and_says_nothing_else(server, lines):
    server.stdin.write(b"".join(line + b"\n" for line in lines))
    server.stdin.write(b'\n{"jsonrpc":"2.0","id":"the last","method":"agentcli.ping"}\n')
    server.stdin.flush()
    expected = sum(
        answer_is_due(piece) for line in lines for piece in line.split(b"\n") if piece and not piece.isspace()
    )
    # Not the limit of pytest, which comes once: hypothesis would try again, and wait for ever.
    late = threading.Timer(200, server.kill)
    late.start()
    heard = [server.stdout.readline() for _ in range(expected + 1)]
    late.cancel()

    assert all(is_answer(line) for line in heard)
    assert b'"the last"' in b"".join(heard)


def answer_is_due(line):
    """By the rules of the envelope alone."""
    refused: list[
        str
    ] = []  # what is refused as JSON is answered even so: NaN, and a member that JavaScript would lose

    def members(pairs):
        refused.extend(name for name, _ in pairs if name == "__proto__")
        return dict(pairs)

    try:
        request = json.loads(line.decode("utf-8"), object_pairs_hook=members, parse_constant=refused.append)
    except (ValueError, RecursionError):
        return True
    return bool(refused) or not isinstance(request, dict) or "id" in request
