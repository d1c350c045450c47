"""Members of a manifest that have no page of their own here: what each does when its job runs."""

import json
from pathlib import Path

from tests.cli.agents import Scene
from tests.cli.drive import operable
from tests.engine.manifests import manifest, prompt, task
from tests.engine.worker.engines import Engine, until


def after(parent: str, on: str = "complete", **more: object) -> dict[str, object]:
    return {"parent": parent, "on": on, **more}


def test_each_member_of_a_manifest_does_what_it_says(tmp_path: Path) -> None:
    audit = tmp_path / "home" / "state" / "audit.ndjson"
    long = "x" * 300
    engine = Engine(
        tmp_path,
        task("off", "true", enabled=False, trigger=after("audited")),
        task("audited", "sh", "-c", f"cp {audit} shell.saw", verify={"shell": f"cp {audit} verify.saw"}),
        task("unverified", "true", verify={"shell": "exit 4"}),
        task("tolerated", "true", verify={"shell": "exit 4", "on_failure": "warn"}),
        task("once", "true", delete_after_run=True, trigger=after("audited")),
        task("data", "echo", '{"a": 1}', output={"format": "json", "preview_bytes": 64}),
        task("long", "echo", long, output={"preview_bytes": 64, "offload": "always"}),
        task("cut", "echo", long, output={"preview_bytes": 64, "offload": "never"}),
        task("inline", "echo", long, output={"preview_bytes": 64, "offload": "never", "retrieve": "inline"}),
        task("child", "true", trigger=after("long", condition="contains:xxx")),
        task("hostile", "true", trigger=after("long", condition="regex:(x+x+)+y")),
        task("remembers", "printenv", "OPERABLE_CONTEXT", context={"retrieval": "hybrid", "limit": 1}),
        task("given", "sh", "-c", "cat; pwd; echo $A", shell=_shell(tmp_path)),
        task("strict", "sh", "-c", "echo no > /etc/x", contract={"sandbox": "strict"}),
        task("fans", "true", budgets={"max_fanout": 1}),
        task("left", "true", trigger=after("fans")),
        task("right", "true", trigger=after("fans")),
    )
    names = "audited unverified tolerated data long cut inline remembers given strict fans".split()
    runs = {name: engine.trigger(name) for name in names}
    with engine.worker():
        ends = {name: engine.wait_for(run, "succeeded", "failed", "refused") for name, run in runs.items()}
        second = engine.trigger("remembers")
        engine.wait_for(second, "succeeded", "failed")
        until(lambda: len(engine.runs(parent_run_id=runs["long"], state="succeeded")) == 1)
        until(lambda: "hostile" not in _undecided(engine, runs["long"]))
        until(lambda: _children(engine, runs["audited"]) == ["succeeded"])
        again = engine.trigger("audited")
        engine.wait_for(again, "succeeded", "failed")
        until(lambda: "finished" in str([entry["detail"] for entry in engine.call("logs", again)]))
    failed = {"unverified", "strict"}
    assert ends == {name: "failed" if name in failed else "succeeded" for name in names}
    for name in ("shell", "verify"):
        seen = (tmp_path / f"{name}.saw").read_text().splitlines()
        assert any('"status":"started"' in line and '"task_id":"audited"' in line for line in seen)
    assert engine.runs(run_id=runs["unverified"])[0].reason == "Verify command failed (exit 4)"
    assert engine.facts(runs["tolerated"])["verify"] == {"passed": False, "exit_code": 4, "timed_out": False}
    assert _children(engine, again) == []  # one job was for one run, and the other one is disabled
    assert engine.outputs(runs["long"]) == [f"{long}\n"]
    assert "".join(engine.outputs(runs["cut"])) == long[:64]
    assert engine.outputs(runs["inline"]) == [f"{long}\n"]  # all of it is in the store
    assert engine.outputs(runs["given"]) == [f"input{tmp_path / 'in'}\nvalue\n"]
    (earlier,) = json.loads(engine.outputs(second)[0])
    assert (earlier["run_id"], earlier["state"], earlier["output"]) == (
        runs["remembers"],
        "succeeded",
        "[]\n",
    )
    assert _children(engine, runs["fans"]) == []
    details = str([entry["detail"] for entry in engine.call("logs", runs["fans"])])
    assert "flow/left: the run would trigger 2 jobs, more than budgets.max_fanout (1)" in details


def _shell(folder: Path) -> dict[str, object]:
    (folder / "in").mkdir()
    return {
        "program": "sh",
        "args": ["-c", "cat; pwd; echo $A"],
        "cwd": str(folder / "in"),
        "env": {"A": "value"},
        "stdin": "input",
    }


def _children(engine: Engine, run: str) -> list[str]:
    return [str(each.state) for each in engine.runs(parent_run_id=run)]


def _undecided(engine: Engine, run: str) -> str:
    """Names of what a run may trigger and has not decided about."""
    details = str([entry["detail"] for entry in engine.call("logs", run)])
    return "" if "could not be evaluated" in details else "hostile"


def test_what_the_engine_cannot_do_is_refused_at_apply_by_name(tmp_path: Path) -> None:
    """Each message, at its member, and nothing was applied."""
    tasks = [
        task("a", child_credential_policy="inherit"),
        task("b", child_credential_policy="downscope"),
        task("c", session={"preferred_key": "k"}),
        task("d", auth_profile="p"),
        task("e", approval={"policy": "manual", "auto": "approve", "approver_scope": "ann@example.com"}),
        task("f", identity={"presentation": {"handoff": "downscope"}}),
        task("g", "tool:shelf"),
        task("h", "tool:shelf", "get", shell={"program": "tool:x", "args": ["get"], "stdin": "[]"}),
        task("i", budgets={"max_iterations": 3}),
        task("j", "tool:shelf", "get", contract={"sandbox": "strict", "network": "restricted"}),
    ]
    said = _refusal(tmp_path, *tasks)
    members = (
        "child_credential_policy child_credential_policy session.preferred_key auth_profile approval.auto "
        "identity.presentation.handoff shell.args shell.stdin budgets.max_iterations contract"
    ).split()
    for index, member in enumerate(members):
        assert f"$.workflows[0].tasks[{index}].{member}" in said
    endless = 10**18
    sized = [
        task("a", runtime={"timeout_ms": endless}, approval={"policy": "manual", "timeout_s": endless}),
        task("b", trigger=after("a", delay_s=endless), verify={"shell": "true", "timeout_seconds": endless}),
        task("c", reliability={"max_retries": endless}, context={"retrieval": "recent", "limit": endless}),
        task("d", output={"preview_bytes": 2_000_000}, budgets={"max_fanout": endless}),
        task("e", "echo", "\ud800"),
    ]
    said = _refusal(tmp_path, *sized)
    for member in (
        *(
            "0].runtime.timeout_ms",
            "0].approval.timeout_s",
            "1].trigger.delay_s",
            "1].verify.timeout_seconds",
        ),
        *(
            "2].reliability.max_retries",
            "2].context.limit",
            "3].output.preview_bytes",
            "3].budgets.max_fanout",
        ),
        "4].shell.args[0]",
    ):
        assert f"$.workflows[0].tasks[{member}" in said
    said = _refusal(
        tmp_path, prompt("a", "hello", "nobody"), task("b", "wrap:nothing", "x"), task("c", "tool:no", "x")
    )
    for index, member in enumerate(("target.agent_id", "shell.program", "shell.program")):
        assert f"$.workflows[0].tasks[{index}].{member} cannot be used" in said
    assert not (tmp_path / "home" / "state" / "jobs.db").exists()


def test_credentials_that_a_task_can_never_be_given_are_refused_at_apply_by_name(tmp_path: Path) -> None:
    """Whatever the session will have. A binding that is not required may be left out, and is in nobody's way."""

    def given(*targets: dict[str, str], required: bool = True) -> dict[str, object]:
        bindings = [
            {"source": "credentials.token", "required": required, "target": target} for target in targets
        ]
        return {"presentation": {"bindings": bindings}}

    variable, stdin = {"kind": "env", "name": "TOKEN"}, {"kind": "stdin"}
    reads = task("d", "cat", identity=given(stdin))
    reads["shell"]["stdin"] = "words"
    scene = Scene(tmp_path / "agents")
    scene.user()
    said = _refusal(
        tmp_path,
        task("a", identity=given({"kind": "env", "name": "LD_PRELOAD"})),
        task("b", identity=given(variable, {"kind": "file", "name": "t", "expose_as": "TOKEN"})),
        task("c", "tool:shelf", "get", identity=given({"kind": "file", "name": "t"})),
        reads,
        prompt("e", "hello", identity=given(stdin)),
        environment=scene.env,
    )
    messages = (
        "sets LD_PRELOAD, which decides what code the task runs",
        "two bindings set TOKEN",
        "the task has no file for credentials.token",
        "credentials.token and shell.stdin cannot both be the standard input",
        "the task has no standard input for credentials.token",
    )
    for index, message in enumerate(messages):
        assert f"$.workflows[0].tasks[{index}].identity.presentation.bindings" in said
        assert message in said
    Engine(tmp_path, task("a", identity=given(variable, variable, required=False)))


def test_what_an_agent_can_never_do_is_refused_at_apply_by_name(tmp_path: Path) -> None:
    """By its own manifest: options that it does not have, conversations that it cannot resume, a sandbox that is none."""
    scene = Scene(tmp_path / "agents")
    scene.user(capabilities={"resumable": False})
    said = _refusal(
        tmp_path,
        prompt("a", "hello", model_policy={"thinking": "high"}),
        prompt("b", "hello", model_policy={"provider": "p"}),
        prompt("c", "hello", session={"preferred_key": "k"}),
        prompt("d", "hello", contract={"sandbox": "strict"}),
        environment=scene.env,
    )
    members = ("model_policy.thinking", "model_policy.provider", "session.preferred_key", "contract")
    for index, member in enumerate(members):
        assert f"$.workflows[0].tasks[{index}].{member} cannot be used: " in said
    assert "agent scripted cannot be given it" in said
    assert "agent scripted runs in local" in said
    assert not (tmp_path / "home" / "state" / "jobs.db").exists()
    Engine(tmp_path, prompt("a", "hello"), environment=scene.env)


def _refusal(folder: Path, *tasks: dict[str, object], environment: dict[str, str] | None = None) -> str:
    (folder / "flow.json").write_text(json.dumps(manifest(*tasks)))
    home = {"AGENTCLI_HOME": str(folder / "home"), **(environment or {})}
    done = operable("flow", "apply", "flow.json", env=home, cwd=folder)
    assert done.exit_code != 0
    return done.stdout.decode()
