"""What `GET /catalog/agent/{name}` offers for a start is what `POST /sessions/agent` accepts, and nothing else is."""

import subprocess
from typing import Any

import jsonschema_rs
import pytest

from tests.host.agents import calls
from tests.serve.daemon import serving, until, write_agent

MODES: list[dict[str, Any]] = [
    {"id": "plan", "description": "Changes nothing.", "bin_args_append": ["--plan-mode"]},
    {"id": "ask", "description": "Asks before every change."},
]
OPTIONS: list[dict[str, Any]] = [
    {"id": "turns", "type": "integer", "min": 1, "max": 9, "env": {"TURNS": "{value}"}},
    {"id": "tone", "type": "enum", "enum": ["dry", "kind"], "default": "dry", "env": {"TONE": "{value}"}},
    {"id": "model", "type": "string", "description": "Which model.", "env": {"MODEL": "{value}"}},
]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    more: dict[str, Any] = {
        "modes": [{**MODES[0], "bin_args_append": [], "env": {"PLANS": "1"}}, MODES[1]],
        "options": OPTIONS,
        "models": {"default": "small", "allowed": ["small", "large"]},
        "continuation": {"default": "none", "supported": ["none", "transcript"]},
    }
    write_agent(home, **more)
    with serving(home) as started:
        yield started


def schema_of(client):
    return client.get("/catalog/agent/scripted").json["start"]


def test_the_form_has_what_the_manifest_offers(daemon, tmp_path):
    daemon.admin("POST", "/workspaces", {"slug": "shop", "path": str(tmp_path)})
    schema = schema_of(daemon.admin)
    assert jsonschema_rs.meta.is_valid(schema)
    found = schema["properties"]
    assert found["adapter"] == {"const": "scripted"}
    assert found["mode"]["enum"] == ["plan", "ask"]
    assert found["mode"]["oneOf"][0] == {"const": "plan", "description": "Changes nothing."}
    assert (found["model"]["enum"], found["model"]["default"]) == (["small", "large"], "small")
    assert found["options"]["properties"]["turns"] == {"type": "integer", "minimum": 1, "maximum": 9}
    assert found["options"]["properties"]["tone"]["default"] == "dry"
    assert "model" not in found["options"]["properties"]
    assert found["recover"]["enum"] == ["", "transcript"]
    assert found["sandbox"]["default"] == "none"
    assert "all rights" in found["sandbox"]["oneOf"][0]["description"]
    assert "ws://workspaces/@me/shop" in found["ground"]["examples"]
    assert daemon.admin("DELETE", "/workspaces/shop").status == 200


def test_only_an_admin_is_offered_a_sandbox(daemon):
    reader = daemon.token("starter", "read", "prompt")
    assert "sandbox" not in schema_of(reader)["properties"]


@pytest.mark.parametrize(
    "choice, code",
    [
        ({"mode": "yolo"}, "MODE_UNKNOWN"),
        ({"model": "huge"}, "MODEL_NOT_ALLOWED"),
        ({"options": {"turns": 10}}, "OPTION_RANGE"),
        ({"options": {"turns": "3"}}, "OPTION_TYPE"),
        ({"options": {"tone": "loud"}}, "OPTION_ENUM"),
        ({"options": {"other": 1}}, "OPTION_UNKNOWN"),
        ({"sandbox": "nowhere"}, "SANDBOX_PROVIDER_UNKNOWN"),
        ({"recover": "native-resume"}, "CONTINUATION_UNSUPPORTED"),
        ({"recover": "perhaps"}, "BODY_INVALID"),
        ({"surplus": 1}, "BODY_INVALID"),
    ],
)
def test_what_the_form_does_not_offer_starts_nothing(daemon, tmp_path, choice, code):
    subprocess.run(["git", "init", "-q", tmp_path], check=True, timeout=100)
    body = {"adapter": "scripted", "cwd": str(tmp_path), "worktree": "feature", **choice}
    body_of_form = {name: value for name, value in body.items() if name != "cwd"}
    assert not jsonschema_rs.Draft202012Validator(schema_of(daemon.admin)).is_valid(body_of_form)
    answer = daemon.admin("POST", "/sessions/agent", body)
    assert (answer.status, answer.code) == (400, code), answer
    branches = subprocess.run(
        ["git", "branch", "--all"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=100
    )
    assert branches.stdout == ""


def test_what_was_chosen_reaches_the_agent(daemon, tmp_path):
    body = {
        "adapter": "scripted",
        "mode": "plan",
        "model": "large",
        "options": {"turns": 3, "tone": "kind"},
        "label": "chosen",
    }
    jsonschema_rs.validate(schema_of(daemon.admin), body)
    view = daemon.admin("POST", "/sessions/agent", {**body, "cwd": str(tmp_path)})
    assert view.status == 201, view
    assert (view.json["mode"], view.json["label"]) == ("plan", "chosen")
    (call,) = calls(daemon.home / "config" / "agents" / "scripted")
    chosen = {name: call["env"].get(name) for name in ("TURNS", "TONE", "MODEL", "PLANS")}
    assert chosen == {"TURNS": "3", "TONE": "kind", "MODEL": "large", "PLANS": "1"}
    daemon.admin("POST", f"/sessions/{view.json['id']}/kill")
    until(lambda: daemon.admin.get(f"/sessions/{view.json['id']}").json["status"] != "running")
