import os
from pathlib import Path

import pytest

from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.sandbox.confinement import Confinement, ResourceLimits, Tunnel, sandbox
from operable.proc.spawn import prepare

LOCAL = sandbox("local")


def test_the_command_runs_where_it_is_told_as_it_is(tmp_path: Path):
    told = output(LOCAL.wrap(prepare(["sh", "-c", "pwd; echo $0"]), Confinement(cwd=str(tmp_path))))

    assert told.stdout.decode().split() == [str(tmp_path), "sh"]


def test_what_it_does_not_hold_is_said(tmp_path: Path):
    told = {item.item: item.outcome for item in LOCAL.enforce(Confinement(cwd="/", readable={"/a": "/a"}))}

    assert told == {
        "env": "narrowed",
        "processes": "enforced",
        "files": "unconfined",
        "mount /a": "unconfined",
        "network.egress": "unconfined",
    }
    listed = LOCAL.enforce(Confinement(cwd="/", tunnel=Tunnel("/no", 1, (), ("example.com",))))
    assert [(item.wanted, item.outcome) for item in listed if item.item == "network.egress"] == [
        ("example.com", "unconfined")
    ]
    assert not LOCAL.isolates_env


def test_a_system_without_a_subreaper_is_said_to_hold_less(monkeypatch):
    monkeypatch.setattr("operable.proc.tree.keeper.missing", lambda: "no subreaper here")

    (item,) = [item for item in LOCAL.enforce(Confinement(cwd="/")) if item.item == "processes"]

    assert (item.outcome, "no subreaper here" in item.mechanism) == ("narrowed", True)


def test_limits_per_process_hold(tmp_path: Path):
    confinement = Confinement(cwd=str(tmp_path), limits=ResourceLimits(cpu_ms=1000))

    told = output(LOCAL.wrap(prepare(["sh", "-c", "ulimit -t"])._replace(tree=True), confinement))

    assert told.stdout == b"1\n"


@pytest.mark.parametrize(
    "wanted, missing",
    [
        ({"writable": {"/workspace": "/tmp"}}, "mount namespace"),
        ({"limits": ResourceLimits(pids=5)}, "root" if os.geteuid() == 0 else "user namespace"),
    ],
)
def test_what_needs_a_namespace_is_refused_by_its_name(wanted, missing):
    with pytest.raises(Fail, match=missing) as caught:
        LOCAL.wrap(prepare(["true"]), Confinement(cwd="/", **wanted))

    assert caught.value.code == "SANDBOX_CANNOT_ENFORCE"
    assert caught.value.details["refused"]
