"""What is run of every command in an environment of the wheel: its first example, or words that get further than that.

A scene that needs an extra says which. What a fresh machine has not (a session, a run, a job) may be missing: the answer is then
about that, never about a module.
"""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from operable.cli import tool
from tests.wrap.drive import Made

ROOT = Path(__file__).parents[2]
# Seconds. A server, and what watches, is ended after the first.
SERVES, LIMIT = 5.0, 60.0
WAITING = {"engine start", "engine watch", "inbox watch", "serve"}


class Scene(NamedTuple):
    """One call of `operable`. `extra` is what it needs above the base install."""

    words: tuple[str, ...]
    extra: str = ""

    @property
    def name(self) -> str:
        return shlex.join(self.words)


INSTEAD = {
    "agent prompt": "agent prompt operable-agent --prompt hello --timeout 8",
    "check": "check stream.jsonl",
    "chat": "chat hello --offline",
    "engine start": "engine start",
    "engine unit": "engine unit --output jsonl",
    "flow exec": "flow exec workflow.json hello",
    "flow run": "flow run workflow.json --root hello",
    "flow whoami": "flow whoami workflow.json hello",
    "flow verify": "flow verify workflow.json",
    "upstream add": "upstream add files --dry-run -- no-such-server /data",
    "app validate": "app validate apps/todo-app",
    "lint": "lint outline --only 3 --command status",
    "agent validate": "agent validate mine",
}
MORE = (
    ("chat hello --provider anthropic --base-url http://127.0.0.1:9 --timeout 5", "agent"),
    ("chat hello --provider openai --base-url http://127.0.0.1:9 --timeout 5", "agent"),
    ("chat hello --provider bedrock --base-url http://127.0.0.1:9 --timeout 5", "bedrock"),
    ("chat hello --provider vertex --base-url http://127.0.0.1:9", "vertex"),
    ("engine start --queue temporal://127.0.0.1:9", "temporal"),
    ("engine status --database postgresql://nobody@127.0.0.1:9/x", "postgres"),
    ("flow authorization evaluate governed.json cedar", "cedar"),
    ("flow authorization evaluate governed.json rego", "rego"),
    ("flow identity resolve governed.json aws --allow-network", "aws"),
    ("mcp --http", "mcp"),
    ("wrap prog go", "jc"),
)


def scenes() -> list[Scene]:
    """One for each command at least."""
    found = []
    for name in tool.names():
        command = tool.find(name)
        assert command is not None
        words = shlex.split(INSTEAD.get(name) or command.examples[0].partition(" < ")[0].partition(" > ")[0])
        found.append(Scene(tuple(words), ""))
    return found + [Scene(tuple(shlex.split(words)), extra) for words, extra in MORE]


def task(scene: Scene, folder: Path) -> dict[str, Any]:
    waiting = (
        " ".join(scene.words[:2]) in WAITING or scene.words[0] in WAITING or scene.words == ("mcp", "--http")
    )
    return {"words": scene.words, "cwd": str(folder), "limit": SERVES if waiting else LIMIT}


VARIABLES = {
    **dict.fromkeys(
        ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "none"
    ),
    # Nothing listens there: no scene leaves this machine.
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    "AWS_REGION": "eu-west-1",
    "VERTEX_PROJECT_ID": "none",
    "VERTEX_REGION": "europe-west1",
    # A vault would be asked to unlock itself: this machine has none.
    "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
}


def prepare(folder: Path) -> None:
    """The files that the scenes name."""
    (folder / "workflow.json").write_text(_manifest([_task("hello")]))
    (folder / "governed.json").write_text(
        _manifest(
            [
                _task("cedar", authorization={"ref": "cedar"}),
                _task("rego", authorization={"ref": "rego"}),
                _task("aws", identity={"ref": "aws"}),
            ],
            authorization_profiles=[
                {"id": "cedar", "provider": "cedar", "provider_config": {"policies": "permit(principal, action, resource);"}},
                {"id": "rego", "provider": "opa", "provider_config": {"rego": "package agentcli.authz\nallow := true\n"}},
            ],
            identity_profiles=[
                {
                    "id": "aws",
                    "provider": "aws-sts-assume-role",
                    "subject": {"kind": "service", "principal": "agent://acme/bot"},
                    "auth": {
                        "mode": "service",
                        "required": True,
                        "provider_config": {"role_arn": "arn:aws:iam::123456789012:role/r", "endpoint": "http://127.0.0.1:9/"},
                    },
                    "trust": {"level": "restricted"},
                }
            ],
        )
    )  # fmt: skip
    (folder / "stream.jsonl").write_text('{"type":"aoi:summary","ok":true,"count":0}\n')
    shutil.copytree(ROOT / "examples" / "todo-app", folder / "apps" / "todo-app")
    parse = {"kind": "jc", "parser": "csv", "each": {"type": "row"}}
    Made(folder, "#!/bin/sh\necho name,type; echo a,b\n", tool={"metadata": {"operable": {"parse": parse}}})


def _task(identifier: str, **more: Any) -> dict[str, Any]:
    shell = {"program": "echo", "args": ["hello"]}
    target = {"session_target": "shell"}
    return {
        "id": identifier,
        "name": identifier,
        "target": target,
        "shell": shell,
        "schedule": {"cron": "0 3 * * *"},
    } | more


def _manifest(tasks: list[dict[str, Any]], **more: Any) -> str:
    return json.dumps({"version": "0.2", "workflows": [{"id": "w", "name": "W", "tasks": tasks}]} | more)
