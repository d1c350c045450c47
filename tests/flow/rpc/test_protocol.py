"""One line in, one answer or none out: the two ways in agree, and every answer is one line of JSON."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.flow.canonical import READ_DEPTH
from operable.flow.errors import FlowError
from operable.flow.operation import Defaults, Operation
from operable.flow.rpc.protocol import _PLAIN, RpcJob, _accept_exactly, accept, answer_to, encode, perform
from tests.flow.manifests import manifest, shell_task
from tests.requirement import requirement

DEFAULTS = Defaults(cwd="/")


def silence(problem):
    """Nobody listens."""


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc": "2.0", "id": 1, "method": "agentcli.ping", "params": {}}',
        b'{"jsonrpc":"2.0","id":"x","method":"agentcli.version"}\r',
        b'{"method":"agentcli.ping","params":null,"id":-7,"jsonrpc":"2.0"}',
    ],
)
def test_a_plain_request_is_read_once_by_the_compiled_decoder(line):
    assert _PLAIN.decode(line).method.startswith("agentcli.")
    assert accept(line) == _accept_exactly(line)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"agentcli.ping","params":{"x":1}}',
        b'{"jsonrpc":"2.0","id":1,"method":"agentcli.ping","further":"\xff"}',
        b'{"jsonrpc":"2.0","id":1e3,"method":"agentcli.ping"}',
        b'{"jsonrpc":"2.0","id":9007199254740993,"method":"agentcli.ping"}',
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"agentcli.ping"}',
        b'{"jsonrpc":"2.0","method":"agentcli.ping"}',
    ],
)
def test_whatever_is_unusual_is_read_the_exact_way(line):
    with pytest.raises((msgspec.MsgspecError, ValueError)):
        _PLAIN.decode(line)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2.0]),
        "id": _JSON,
        "method": st.sampled_from(["agentcli.ping", "agentcli.version", "agentcli.nope"]) | _JSON,
        "params": st.sampled_from([{}, None]) | _JSON,
        "further": _JSON,
    },
)


@given(_REQUESTS)
def test_both_ways_in_accept_the_same(request):
    line = json.dumps(request).encode()

    assert accept(line) == _accept_exactly(line)


@given(_JSON)
def test_every_value_is_one_line_of_json(value):
    line = encode({"id": value})

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line).keys() == {"id"}


def test_a_number_beyond_all_doubles_is_echoed_as_null_also_beside_a_lone_surrogate():
    answer = answer_to(
        b'{"jsonrpc":"2.0","id":[1e999,"\\ud800"],"method":"agentcli.ping"}', DEFAULTS, silence
    )

    assert answer is not None
    assert json.loads(answer)["id"] == [None, "\ud800"]


@pytest.mark.parametrize(
    "written",
    [
        "9007199254740993",
        "-9007199254740993",
        "1760000000123456789",
        "18446744073709551615",
        "123456789012345678901234567890",
    ],
)
@pytest.mark.parametrize("request_text", ['"method":"agentcli.ping"', '"method":"agentcli.nope"', '"method":5', '"method":"x","params":[]', '"params":{"__proto__":1}'])  # fmt: skip
def test_an_integer_is_echoed_digit_by_digit_also_where_javascript_would_round_it(written, request_text):
    answer = answer_to(f'{{"jsonrpc":"2.0","id":{written},{request_text}}}'.encode(), DEFAULTS, silence)

    assert answer is not None
    assert answer.startswith(f'{{"jsonrpc":"2.0","id":{written},'.encode())


def raising(problem):
    def run(params, defaults):
        raise problem

    return RpcJob(Operation(method="agentcli.x", summary="", run=run), {}, 1, silent=False)


@requirement("agentcli:rpc:errors")
@pytest.mark.parametrize(
    "problem, code, message, data",
    [
        (FlowError("invalid_argument", "taskId is required"), -32602, "taskId is required", {"code": "invalid_argument", "error_type": "invalid_argument"}),
        (FlowError("parse_error", "Invalid JSON"), -32602, "Invalid JSON", {"code": "parse_error", "error_type": "parse_error"}),
        (FlowError("no_runtime", "no runtime"), -32602, "no runtime", {"code": "no_runtime", "error_type": "invalid_argument"}),
        (FlowError("unsupported_capability", "m", capability_errors=[1]), -32602, "m", {"code": "unsupported_capability", "error_type": "invalid_argument", "capability_errors": [1]}),
        (FlowError("internal_error", "x", validation={"ok": False}), -32602, "x", {"code": "validation_error", "error_type": "validation_error", "validation": {"ok": False}}),
        (FlowError("authorization_denied", "denied"), -32000, "denied", {"code": "authorization_denied", "error_type": "validation_error"}),
        (FlowError("spiffe_expired", "old"), -32000, "old", {"code": "spiffe_expired", "error_type": "validation_error"}),
        (FlowError("scheduler_error", "a path"), -32603, "Internal error", {"code": "scheduler_error", "error_type": "internal_error"}),
        (FlowError("approval_lock_timeout", "a path"), -32603, "Internal error", {"code": "approval_lock_timeout", "error_type": "internal_error"}),
        (FlowError("nobody_listed_this", "a path"), -32603, "Internal error", {"code": "internal_error", "error_type": "internal_error"}),
        (TypeError("a path"), -32603, "Internal error", {"code": "internal_error", "error_type": "internal_error"}),
    ],
)  # fmt: skip
def test_what_a_method_raises_becomes_the_error_of_the_contract(problem, code, message, data):
    told: list[BaseException] = []
    line = perform(raising(problem), DEFAULTS, told.append)

    assert line is not None
    assert json.loads(line) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": code, "message": message, "data": data},
    }
    assert told == (
        [problem] if code == -32603 else []
    )  # whoever runs the server learns what its clients do not


def answered(line: bytes) -> Any:
    answer = answer_to(line, DEFAULTS, silence)
    assert answer is not None
    return json.loads(answer)


@pytest.mark.parametrize("asked", ["7", '"x"'])
def test_a_member_that_javascript_would_lose_is_refused_to_whoever_waits_for_the_answer(asked):
    line = f'{{"jsonrpc":"2.0","id":{asked},"method":"agentcli.validate","params":{{"manifest":{{"__proto__":1}}}}}}'
    answer = answered(line.encode())

    assert (answer["id"], answer["error"]["code"]) == (json.loads(asked), -32602)
    assert "__proto__" in answer["error"]["message"]


_LEVELS = [("[", "]"), ('{"a":', "}")]


@pytest.mark.parametrize("opening, closing", _LEVELS)
@pytest.mark.parametrize("leaf", ["1", "1e999", '"\\ud800"'])
@pytest.mark.parametrize("method", ["agentcli.ping", "agentcli.identity.schema", "agentcli.nope", 5])
@pytest.mark.parametrize("member", ["id", "params", "further"])
def test_what_is_nested_is_answered_up_to_the_limit_and_refused_beyond(
    opening, closing, leaf, method, member
):
    def line(levels: int) -> bytes:
        deep = json.loads(opening * levels + "0" + closing * levels)
        request = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {}}
        value = {"provider": deep} if member == "params" else deep
        return json.dumps(request | {member: value}).replace("0", leaf).replace(f"2.{leaf}", "2.0").encode()

    within, beyond = answered(line(READ_DEPTH - 2)), answered(line(READ_DEPTH))

    assert within.get("error", {}).get("code") in (None, -32600, -32601, -32602)
    assert beyond["id"] == (None if member == "id" else 7)
    told = beyond["error"].get("data", {}).get("details", "") + beyond["error"]["message"]
    assert f"nested deeper than {READ_DEPTH} levels" in told


@pytest.mark.parametrize("opening, closing", _LEVELS)
def test_what_is_nested_deeper_than_any_stack_is_a_parse_error_that_tells_the_limit(opening, closing):
    line = (
        '{"jsonrpc":"2.0","id":7,"method":"agentcli.ping","params":'
        + opening * 50_000
        + "1"
        + closing * 50_000
        + "}"
    )
    error = answered(line.encode())["error"]

    assert error["code"] == -32700
    assert error["data"]["details"] == f"nested deeper than {READ_DEPTH} levels"


def test_a_number_of_thousands_of_digits_beside_such_a_member_is_an_answer_too():
    line = (
        b'{"jsonrpc":"2.0","id":1,"method":"agentcli.ping","params":{"__proto__":1,"n":' + b"9" * 5000 + b"}}"
    )

    assert answered(line)["error"]["code"] == -32700


@pytest.mark.parametrize("nothing", [{}, []])
def test_what_is_empty_is_something_as_in_javascript(nothing):
    line = {"jsonrpc": "2.0", "id": 1, "method": "agentcli.convert", "params": {"manifest": nothing}}
    answer = answered(json.dumps(line).encode())

    assert answer["error"]["message"] == "Input manifest must be version 0.1"


def asked(name: str, defaults: Defaults = DEFAULTS, /, **params: Any) -> Any:
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": f"agentcli.{name}", "params": params})
    answer = answer_to(line.encode(), defaults, silence)
    assert answer is not None
    return json.loads(answer)


CODES = """
    approval_required approval_auto_rejected approval_signature_invalid approval_scope_mismatch approval_log_invalid
    policy_forbids_approval authorization_proof_failed authorization_proof_invalid unknown_verifier authorization_denied
    authorization_escalation_required authorization_error unknown_authorization_provider identity_resolution_failed
    identity_profile_invalid identity_delegation_invalid unknown_identity_provider identity_provider_error resolution_failed
    token_not_found token_file_empty token_file_not_found token_request_failed presentation_format_unsupported
    presentation_binding_invalid presentation_source_forbidden presentation_binding_missing presentation_target_unsupported
    presentation_target_invalid presentation_stdin_conflict evidence_failed verify_failed sandbox_unavailable
    sandbox_enforcement_unavailable sandbox_path_escape sandbox_path_invalid contract_violation trust_level_insufficient
    capability_mismatch delegation_error validation_error
""".split()


@requirement("agentcli:rpc:errors")
@pytest.mark.parametrize("code", CODES)
def test_what_the_world_refuses_keeps_its_code_and_its_words(code):
    line = perform(raising(FlowError(code, "why")), DEFAULTS, silence)

    assert line is not None
    assert json.loads(line)["error"] == {
        "code": -32000,
        "message": "why",
        "data": {"code": code, "error_type": "validation_error"},
    }


BROKEN = {"version": "0.2", "workflows": [{"id": "w", "name": "W", "tasks": []}]}
OLD = {"version": "0.1", "workflows": [{"id": "w", "name": "W", "tasks": []}]}
EMPTY = [{"path": "$.workflows[0].tasks", "message": "must be a non-empty array"}]


@requirement("agentcli:rpc:validate")
@pytest.mark.parametrize(
    "name, params",
    [
        ("compile", {"manifest": BROKEN}),
        ("apply", {"manifest": BROKEN}),
        ("plan", {"manifest": BROKEN}),
        ("convert", {"manifest": OLD}),
        ("identity.resolve", {"manifest": BROKEN, "taskId": "a"}),
        ("identity.validateDelegation", {"manifest": BROKEN, "taskId": "a"}),
        ("authorization.evaluate", {"manifest": BROKEN, "taskId": "a"}),
        ("authorizationProof.verify", {"manifest": BROKEN, "taskId": "a"}),
    ],
)
def test_an_invalid_manifest_is_a_result_of_validate_and_everywhere_else_an_error_with_that_result(
    name, params
):
    judged = {"ok": False, "errors": EMPTY, "warnings": []}

    assert asked("validate", manifest=params["manifest"])["result"] == judged
    assert asked(name, **params)["error"] == {
        "code": -32602,
        "message": "Manifest validation failed",
        "data": {"code": "validation_error", "error_type": "validation_error", "validation": judged},
    }


@requirement("agentcli:rpc:validate")
@pytest.mark.parametrize("manifest", [None, [], "x", 5, False])
@pytest.mark.parametrize("name", ["compile", "apply"])
def test_a_manifest_that_is_there_and_is_no_object_is_judged_and_not_missed(name, manifest):
    error = asked(name, manifest=manifest)["error"]

    assert error["message"] == "Manifest validation failed"
    assert error["data"]["validation"]["errors"] == [{"path": "$", "message": "manifest must be an object"}]
    assert asked("validate", manifest=manifest)["result"] == error["data"]["validation"]
    assert asked(name)["error"]["message"] == "manifest is required"


@requirement("agentcli:rpc:validate")
def test_a_conversion_whose_result_is_not_valid_says_what_of_it():
    nested = manifest(shell_task(reliability={"timeout_ms": 5}), version="0.1")
    error = asked("convert", manifest=nested)["error"]

    assert (error["code"], error["data"]["code"]) == (-32602, "validation_error")
    assert error["data"]["validation"]["errors"] == [
        {
            "path": "$.workflows[0].tasks[0].reliability.timeout_ms",
            "message": 'unknown key "timeout_ms" is not allowed in a v0.2 manifest',
        }
    ]


@requirement("agentcli:rpc:methods")
@pytest.mark.parametrize(
    "default, given, compiled",
    [
        (None, {}, "standalone"),
        (None, {"target": None}, "standalone"),
        (None, {"target": ""}, "standalone"),
        (None, {"target": False}, "standalone"),
        ("openclaw-scheduler", {}, "openclaw-scheduler"),
        ("openclaw-scheduler", {"target": ""}, "openclaw-scheduler"),
        ("openclaw-scheduler", {"target": "standalone"}, "standalone"),
    ],
)
def test_what_is_compiled_to_is_what_was_asked_for_else_the_servers_default(default, given, compiled):
    result = asked("compile", Defaults(cwd="/", target=default), manifest=manifest(), **given)["result"]

    assert list(result) == ["ok", "target", "output"]
    assert (result["ok"], result["target"], result["output"]["target"]) == (True, compiled, compiled)


@requirement("agentcli:rpc:methods")
@pytest.mark.parametrize(
    "explain, explained",
    [
        (True, True),
        ("false", True),
        (1, True),
        ({}, True),
        (False, False),
        (0, False),
        ("", False),
        (None, False),
    ],
)
def test_explanations_are_given_when_that_is_true_in_javascript(explain, explained):
    output = asked("compile", manifest=manifest(), explain=explain)["result"]["output"]

    assert ("explain" in output) is explained


@requirement("agentcli:rpc:methods")
@pytest.mark.parametrize(
    "target, said",
    [("nope", "nope"), (5, "5"), (True, "true"), ({}, "{}"), ("openclaw_scheduler", "openclaw_scheduler")],
)
def test_a_target_that_there_is_not_is_named_before_the_manifest_is_judged(target, said):
    for judged in (manifest(), {}):
        assert asked("compile", manifest=judged, target=target)["error"] == {
            "code": -32602,
            "message": f"Unsupported compile target: {said}",
            "data": {"code": "invalid_argument", "error_type": "invalid_argument"},
        }


@requirement("agentcli:rpc:notifications")
@pytest.mark.parametrize(
    "request_",
    [
        {"jsonrpc": "2.0", "method": "agentcli.compile"},
        {"jsonrpc": "2.0", "method": "agentcli.compile", "params": 5},
        {"jsonrpc": "2.0", "method": "agentcli.nope"},
        {"jsonrpc": "1.0", "method": "agentcli.ping"},
        {"jsonrpc": "2.0", "method": "agentcli.ping", "params": {}},
        {},
    ],
)
def test_a_request_without_an_id_is_never_answered_whatever_is_wrong_with_it(request_):
    assert answer_to(json.dumps(request_).encode(), DEFAULTS, silence) is None


@requirement("agentcli:rpc:notifications")
def test_a_notification_does_what_it_says(tmp_path):
    here = Defaults(cwd=str(tmp_path), home=str(tmp_path / "home"))
    request = {
        "jsonrpc": "2.0",
        "method": "agentcli.registry.add",
        "params": {"name": "kept", "manifest": manifest()},
    }

    assert answer_to(json.dumps(request).encode(), here, silence) is None
    assert asked("registry.show", here, name="kept")["result"]["manifest"] == manifest()


@requirement("agentcli:rpc:envelope")
@pytest.mark.parametrize("id_", ["x", "", 0, -1, 1.5, True, False, None, [], {"a": [1]}, "\u2028"])
@pytest.mark.parametrize(
    "members, word",
    [
        ({"method": "agentcli.ping"}, "result"),
        ({"method": "agentcli.nope"}, "error"),
        ({"method": "agentcli.compile"}, "error"),
        ({"method": 5}, "error"),
        ({"method": "agentcli.ping", "params": []}, "error"),
    ],
)
def test_every_id_is_echoed_unchanged_and_the_members_stand_in_their_order(id_, members, word):
    answer = answered(json.dumps({"jsonrpc": "2.0", "id": id_, **members}).encode())

    assert list(answer) == ["jsonrpc", "id", word]
    assert (answer["id"], type(answer["id"])) == (id_, type(id_))
    assert word == "result" or list(answer["error"]) == ["code", "message", "data"]
