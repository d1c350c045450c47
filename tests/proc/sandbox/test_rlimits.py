import pytest

from operable.proc.sandbox import rlimits
from operable.proc.sandbox.confinement import ResourceLimits

ALL = ResourceLimits(cpu_ms=1500, memory_mb=10, pids=7, timeout_ms=3)


def outcomes(*groups: str, own_users: bool = True) -> dict[str, str]:
    return {item.item: item.outcome for item in rlimits.report(ALL, frozenset(groups), own_users=own_users)}


def test_nothing_to_limit_is_no_word():
    assert rlimits.words(ResourceLimits(timeout_ms=5), pids=True) == []


def test_limits_are_words_before_a_command():
    program, *words = rlimits.words(ALL, pids=True)
    assert program.endswith("prlimit")
    assert words == ["--core=0", "--data=10485760", "--cpu=2", "--nproc=7", "--"]
    assert "--nproc=7" not in rlimits.words(ALL, pids=False)


def test_control_groups_hold_for_all_processes_together():
    assert outcomes("memory", "pids") == {
        "limits.memory_mb": "enforced",
        "limits.cpu_ms": "narrowed",
        "limits.pids": "enforced",
        "limits.timeout_ms": "enforced",
    }


@pytest.mark.parametrize(
    "uid, own_users, outcome", [(0, True, "refused"), (7, True, "enforced"), (7, False, "refused")]
)
def test_a_limit_of_processes_binds_a_user_of_a_namespace_only(monkeypatch, uid, own_users, outcome):
    monkeypatch.setattr("os.geteuid", lambda: uid)
    assert outcomes(own_users=own_users)["limits.pids"] == outcome


def test_without_prlimit_what_would_need_it_is_refused(monkeypatch):
    monkeypatch.setattr(rlimits, "program", lambda: None)
    monkeypatch.setattr("os.geteuid", lambda: 7)
    assert outcomes() == {
        "limits.memory_mb": "refused",
        "limits.cpu_ms": "refused",
        "limits.pids": "refused",
        "limits.timeout_ms": "enforced",
    }
