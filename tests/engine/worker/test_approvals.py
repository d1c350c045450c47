"""What a person said yes to is what runs: files, approvers, and silence."""

from pathlib import Path

from tests.engine.manifests import task
from tests.engine.worker.engines import Engine, until


def test_a_yes_is_for_the_files_as_they_were_when_the_run_asked(tmp_path: Path) -> None:
    for name in ("same", "changed"):
        (tmp_path / f"{name}.sh").write_text("touch $1.done\n")
    engine = Engine(
        tmp_path,
        *(
            task(name, "sh", f"{tmp_path}/{name}.sh", name, approval={"policy": "manual"})
            for name in ("same", "changed")
        ),
        task(
            "scoped",
            "true",
            approval={"policy": "manual", "approver_scope": "domain:example.com"},
        ),
        task("silent", "true", approval={"policy": "manual", "timeout_s": 15, "auto": "approve"}),
        task("refused", "true", approval={"policy": "manual", "timeout_s": 1}),
        task("automatic", "true", approval={"policy": "auto-approve"}),
    )
    names = ("same", "changed", "scoped", "silent", "refused", "automatic")
    runs = {name: engine.trigger(name) for name in names}
    # No worker has read the files: nothing would say what is approved.
    assert engine.refused("approve", runs["same"])["code"] == "QUESTION_NOT_READY"
    with engine.worker():
        until(lambda: f'"{tmp_path}/changed.sh":"sha256:' in engine.planned("approve", runs["changed"]))
        (tmp_path / "changed.sh").write_text("rm -rf everything\n")
        for name in ("same", "changed"):
            engine.call("approve", runs[name], "--by", "ann@example.com")
        assert engine.refused("approve", runs["scoped"], "--by", "eve@elsewhere.org")["flow_code"] == (
            "approval_scope_mismatch"
        )
        engine.call("approve", runs["scoped"], "--by", "ann@example.com")
        ends = {name: engine.wait_for(run, "succeeded", "failed", "rejected") for name, run in runs.items()}
    assert ends == {
        "same": "succeeded",
        "changed": "failed",
        "scoped": "succeeded",
        "silent": "succeeded",
        "refused": "rejected",
        "automatic": "succeeded",
    }
    assert (tmp_path / "same.done").exists()
    reason = engine.runs(run_id=runs["changed"])[0].reason
    assert reason is not None
    assert "changed since approval" in reason
    assert "changed.sh" in reason
