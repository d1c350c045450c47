"""OPA: a server, embedded Rego, and bundles."""

import io
import json
import tarfile

import pytest

from operable.flow.contracts import Surroundings, entry
from operable.flow.errors import FlowError
from operable.flow.trust.policy.authorization import Circumstances, evaluate
from tests.flow.loopback import loopback
from tests.requirement import requirement

TOLD = Circumstances("w", "t", principal="agent://a", effective_level="supervised")
MODULE = """package agentcli.authz
import rego.v1
default allow := false
allow if input.identity.principal == "agent://a"
"""


def decide(config, *, cwd="/", timeout=20.0, told=TOLD, **members):
    authorization = {"provider": "opa", "provider_config": config, **members}
    return evaluate(authorization, told, Surroundings(cwd=cwd, network=True, timeout=timeout))


def served(result, status=200):
    body = json.dumps({} if result is ... else {"result": result}).encode()
    return loopback(lambda asked: (status, {}, body))


@pytest.mark.parametrize(
    "result, decision, reason",
    [
        (True, "permit", None),
        (False, "deny", None),
        ({"allow": True, "reason": "fine"}, "permit", "fine"),
        ({"allow": False, "reason": "no"}, "deny", "no"),
        ({"allow": "true"}, "deny", None),
        ("require-escalation", "require-escalation", None),
        ("maybe", "deny", None),
        (1, "deny", "unexpected OPA result type"),
        ([], "deny", "unexpected OPA result type"),
        (None, "deny", "unexpected OPA result type"),
        (..., "deny", "unexpected OPA result type"),
    ],
)
@requirement("agentcli:providers:authorization")
def test_answers_of_a_server_become_decisions(result, decision, reason):
    with served(result) as server:
        found = decide({"endpoint": f"{server.url}/v1/data/x?a=b#c"})

    escalation = {"required": True, "reason": reason} if decision == "require-escalation" else None
    assert found == {
        "decision": decision,
        "provider": "opa",
        "reason": reason,
        "policy_ref": f"{server.url}/v1/data/x",
        "escalation": escalation,
    }
    (asked,) = server.asked
    assert asked.method == "POST"
    assert json.loads(asked.body) == {
        "input": {
            "source": {"workflow_id": "w", "task_id": "t"},
            "identity": {"principal": "agent://a", "trust_level": "supervised"},
            "contract": {"required_trust_level": None, "allowed_paths": None},
            "command": None,
        }
    }


@pytest.mark.parametrize("status, body", [(500, b"{}"), (302, b""), (200, b"no json")])
@requirement("agentcli:providers:authorization")
def test_a_server_that_cannot_be_asked_is_an_error_unless_warned(status, body):
    with loopback(lambda asked: (status, {"location": "/"}, body)) as server:
        config = {"endpoint": server.url}
        with pytest.raises(FlowError) as caught:
            decide(config)
        warned = decide(config, on_error="warn")

    assert caught.value.flow_code == "authorization_error"
    assert warned["decision"] == "permit"
    assert warned["reason"] == "the policy could not be evaluated; on_error is warn"


@pytest.mark.parametrize("principal, decision", [("agent://a", "permit"), ("agent://b", "deny")])
def test_rego_needs_no_server(principal, decision):
    found = decide({"rego": MODULE}, told=Circumstances("w", "t", principal=principal))

    assert found["decision"] == decision
    assert found["policy_ref"].startswith("rego#sha256:")


@pytest.mark.parametrize(
    "config",
    [{"rego": "package x\nallow {"}, {"rego": MODULE, "query": "((("}],
)
def test_rego_that_is_none_is_an_error_and_prints_nothing(config, capfd):
    with pytest.raises(FlowError) as caught:
        decide(config)

    assert caught.value.flow_code == "authorization_error"
    assert capfd.readouterr().out == ""


def test_an_undefined_rule_denies():
    assert decide({"rego": MODULE, "query": "data.nobody.knows"})["decision"] == "deny"


def test_a_policy_that_does_not_end_is_ended():
    endless = """package agentcli.authz
import rego.v1
allow if { some a in numbers.range(1, 3000); some b in numbers.range(1, 3000); some c in numbers.range(1, 3000); a + b + c == 0 }
"""
    with pytest.raises(FlowError, match="DEADLINE_EXCEEDED") as caught:
        decide({"rego": endless}, timeout=2.0, on_error="warn")
    assert (caught.value.flow_code, caught.value.details) == ("authorization_denied", {"limit": "time"})


GREEDY = """package agentcli.authz
allow { count(numbers.range(1, 300000000)) > 0 }
"""


@pytest.mark.parametrize("members", [{}, {"on_error": "warn"}])
def test_a_policy_that_takes_more_memory_than_it_may_denies_also_where_errors_only_warn(members):
    with pytest.raises(FlowError, match="more than 512 MiB of memory") as caught:
        decide({"rego": GREEDY}, timeout=200.0, **members)

    assert (caught.value.flow_code, caught.value.details) == ("authorization_denied", {"limit": "memory"})


def test_a_policy_that_answers_without_end_denies():
    with pytest.raises(FlowError, match="answered with more than") as caught:
        decide(
            {"rego": "package agentcli.authz\nallow = data.text", "data": {"text": "x" * 1_100_000}},
            timeout=200.0,
        )

    assert (caught.value.flow_code, caught.value.details) == ("authorization_denied", {"limit": "output"})


def test_a_module_is_read_from_a_file(tmp_path):
    (tmp_path / "p.rego").write_text(MODULE)

    assert decide({"rego_file": "p.rego"}, cwd=str(tmp_path))["decision"] == "permit"


BUNDLE = {
    "authz/policy.rego": 'package agentcli.authz\nimport rego.v1\nallow if input.identity.principal in data.team.members\n',
    "authz/policy_test.rego": "this is not rego",
    "team/data.json": '{"members": ["agent://a"]}',
}  # fmt: skip


def written(tmp_path, files, kind):
    if kind == "folder":
        for name, text in files.items():
            path = tmp_path / "bundle" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return "bundle"
    with tarfile.open(tmp_path / "bundle.tar.gz", "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return "bundle.tar.gz"


@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_a_bundle_needs_no_server(tmp_path, kind):
    path = written(tmp_path, BUNDLE, kind)

    assert decide({"bundle": path}, cwd=str(tmp_path))["decision"] == "permit"
    other = Circumstances("w", "t", principal="agent://b")
    assert decide({"bundle": path}, cwd=str(tmp_path), told=other)["decision"] == "deny"


@pytest.mark.parametrize(
    "files, message",
    [
        ({"a.txt": "x"}, "no Rego module"),
        ({**BUNDLE, ".signatures.json": "{}"}, "signed bundles"),
        ({**BUNDLE, "data.json": "[1]"}, "is not an object"),
        ({**BUNDLE, "data.json": "{"}, "cannot be read"),
        ({**BUNDLE, "blocked/data.yaml": "people: [agent://a]"}, "data.yaml"),
        ({**BUNDLE, "blocked/data.yml": "people: [agent://a]"}, "data.yml"),
    ],
)
@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_a_bundle_that_cannot_be_trusted_is_refused(tmp_path, files, message, kind):
    with pytest.raises(FlowError, match=message):
        decide({"bundle": written(tmp_path, files, kind)}, cwd=str(tmp_path))


@pytest.mark.parametrize("name, target", [("deny.rego", "policy.rego"), ("more", "elsewhere")])
def test_a_link_in_a_bundle_is_refused_and_not_left_out(tmp_path, name, target):
    """What is left out could have been the rule that denies."""
    path = written(tmp_path, BUNDLE, "folder")
    (tmp_path / "bundle" / "elsewhere").mkdir()
    (tmp_path / "bundle" / "authz" / name).symlink_to(tmp_path / "bundle" / target)

    with pytest.raises(FlowError, match=f"contains a link: authz/{name}"):
        decide({"bundle": path}, cwd=str(tmp_path))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_in_an_archive_is_refused_too(tmp_path, kind):
    path = written(tmp_path, BUNDLE, "archive")
    add(tmp_path / path, "authz/deny.rego", type=kind, linkname="authz/policy.rego")

    with pytest.raises(FlowError, match=r"contains a link: authz/deny\.rego"):
        decide({"bundle": path}, cwd=str(tmp_path))


def test_two_files_of_one_name_in_an_archive_are_refused(tmp_path):
    path = written(tmp_path, BUNDLE, "archive")
    add(tmp_path / path, "./authz/policy.rego", b"package agentcli.authz\nallow = true\n")

    with pytest.raises(FlowError, match=r"contains authz/policy\.rego twice"):
        decide({"bundle": path}, cwd=str(tmp_path))


@pytest.mark.parametrize("name", ["huge.bin", "huge.rego"])
def test_an_archive_that_unpacks_to_very_much_is_refused(tmp_path, name):
    path = written(tmp_path, BUNDLE, "archive")
    add(tmp_path / path, name, bytes(65 * 1024 * 1024))

    with pytest.raises(FlowError, match="the bundle is too large"):
        decide({"bundle": path}, cwd=str(tmp_path))


def add(path, name, content=b"", **members):
    """One more file of an archive, whatever is in it already."""
    with tarfile.open(path) as old:
        kept = [(member, file.read()) for member in old if (file := old.extractfile(member))]
    more = tarfile.TarInfo(name)
    more.size = len(content)
    for key, value in members.items():
        setattr(more, key, value)
    with tarfile.open(path, "w:gz", compresslevel=1) as new:
        for member, data in [*kept, (more, content)]:
            new.addfile(member, io.BytesIO(data))


def test_what_is_no_archive_is_refused(tmp_path):
    (tmp_path / "b").write_bytes(b"\x1f\x8b nonsense")

    with pytest.raises(FlowError, match="cannot be read"):
        decide({"bundle": "b"}, cwd=str(tmp_path))


@pytest.mark.parametrize(
    "config, field",
    [
        (None, "provider_config.endpoint"),
        ({}, "provider_config.endpoint"),
        ({"endpoint": "  "}, "provider_config.endpoint"),
        ({"endpoint": "http://opa.example/x"}, "provider_config.endpoint"),
        ({"endpoint": "https://u:p@opa.example/x"}, "provider_config.endpoint"),
        ({"rego": 5}, "provider_config.rego"),
        ({"rego": "x", "bundle": "y"}, "provider_config"),
    ],
)
def test_a_profile_names_one_safe_source(config, field):
    ((found, _message),) = entry("authorizers", "opa").check({"provider_config": config})

    assert found == field
