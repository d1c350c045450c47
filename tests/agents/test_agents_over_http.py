"""Every bundled agent that is installed here, through one `operable serve`: started, prompted, approved and ended over HTTP."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from operable.testing.models import ModelServer
from tests.agents.install import BIN, missing
from tests.agents.loopback import environment
from tests.agents.test_aionrs import PROGRAMS
from tests.agents.test_real_agents import DRIVEN, Driven, script
from tests.serve.daemon import DaemonUnderTest, descendants, is_alive, serving, until

LIMIT = 240
AT_ONCE = 3  # agents; two processors have enough to do with that
# Both are part of this project, so they are always there.
OWN = [Driven("operable-agent", "operable-agent"), Driven("operable-agent-acp", "operable-agent")]
MORE = [Driven("droid", "droid"), Driven("kilo", "kilo"), Driven("pi", "pi"), Driven("vibe", "vibe")]
AIONRS = Driven("aionrs", "aionrs")  # on no registry: where AIONRS_BIN names one
NEVER_ASKS = {"pi"}
MODES = (
    ("codex", "read-only"),
    ("codex-app-server", "read-only"),
    ("goose", "approve"),
    ("kilo", "ask"),
    ("opencode", "ask"),
)
CHOICES = {name: {"mode": mode} for name, mode in MODES} | {
    "aionrs": {"model": "claude-sonnet-5", "options": {"provider": "anthropic"}}
}
# They run commands, or do anything, without a question, so that only rules which allow that are not refused.
RULES = {"hermes": 'allow = ["kind:execute"]\ndefault = "ask"\n', "pi": 'default = "allow"\n'}


@pytest.mark.timeout(LIMIT + 60)
def test_every_installed_agent_is_driven_over_http(tmp_path):
    driven = [each for each in (*DRIVEN, *MORE) if missing(each.agent) is None] + OWN
    programs = tmp_path / "programs"
    programs.mkdir()
    if PROGRAMS[0]:
        (programs / "aionrs").symlink_to(PROGRAMS[0])
        driven.append(AIONRS)
    home = tmp_path / "home"
    env: dict[str, str] = {}
    for name, text in RULES.items():
        (tmp_path / f"{name}.toml").write_text(text)
    with ModelServer() as models:
        for each in driven:
            env |= environment(each.agent, home, models.url)
        config = home / ".codex" / "config.toml"
        if config.exists():  # a daemon gives an agent what its manifest names, and no other variable
            config.write_text(config.read_text().replace("SCRIPTED_API_KEY", "OPENAI_API_KEY"))
        env["PATH"] = os.pathsep.join((str(programs), str(BIN), os.environ["PATH"]))
        with serving(tmp_path / "state", env=env) as daemon, ThreadPoolExecutor(AT_ONCE) as pool:
            found = list(pool.map(lambda each: drive(daemon, each.manifest, tmp_path), driven))
            left = descendants(daemon.process.pid)
            daemon.process.terminate()
            daemon.process.wait(LIMIT)
            until(lambda: not any(map(is_alive, left)))
    print(json.dumps(dict(found), indent=1))  # shown by `pytest -s`, and where it fails
    assert {name: outcome for name, outcome in found if outcome != "ok"} == {}


def drive(daemon: DaemonUnderTest, name: str, root) -> tuple[str, str]:
    """What became of one agent; in words where it was not driven to its end."""
    work = root / name
    work.mkdir()
    body = {"adapter": name, "cwd": str(work), "label": name, **CHOICES.get(name, {})}
    if name in RULES:
        body["policy"] = str(root / f"{name}.toml")
    started = daemon.admin("POST", "/sessions/agent", body)
    if started.status != 201:
        return name, f"start: {started.json['error']}"
    session = started.json["id"]
    path = f"/sessions/{session}"
    call = {"call": "write", "args": {"path": str(work / "f.txt"), "text": "made\n"}}
    prompt = script([{"say": "Writing."}, call], [{"say": "All done."}])
    if daemon.admin("POST", f"{path}/prompt", {"prompt": prompt}).status != 200:
        return name, "the prompt was refused"
    answers, ends = 0, time.monotonic() + LIMIT / 2
    while (state := daemon.admin.get(path).json["state"]) in ("working", "needs_you"):
        if time.monotonic() > ends:
            return name, f"it is still {state}"
        answers += answer_all(daemon, session)
        time.sleep(0.1)
    events = daemon.admin.get(f"{path}/events?limit=1000").json["events"]
    kinds = [each["event"]["type"] for each in events]
    killed = daemon.admin("POST", f"{path}/kill").status
    status = daemon.admin.get(path).json["status"]
    made = (work / "f.txt").exists() and (work / "f.txt").read_text().rstrip() == "made"
    was_asked = bool(answers) is (name not in NEVER_ASKS)
    if made and was_asked and "turn-end" in kinds and killed == 200 and status in ("killed", "exited"):
        return name, "ok"
    said = [each["event"] for each in events if each["event"]["type"] in ("error", "turn-end")]
    return name, f"made={made} answers={answers} status={status} {said}"


def answer_all(daemon: DaemonUnderTest, session: str) -> int:
    waiting = [
        each for each in daemon.admin.get("/approvals").json["approvals"] if each["sourceId"] == session
    ]
    for each in waiting:
        given = {"allowed": True, "digest": each["digest"], "reason": "a test"}
        answered = daemon.admin("POST", f"/approvals/{each['id']}/answer", given)
        assert answered.status in (200, 409), answered
    return len(waiting)
