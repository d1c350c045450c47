"""A manifest's sandbox and secrets in the terms of the place that is made for them."""

import os
from pathlib import Path

import msgspec
import pytest

from operable.gate.audit.chain import Audit, verify_audit
from operable.host import define_agent_cli
from operable.host.start.placement import (
    Placing,
    _attempted,
    choose_sandbox,
    is_unconfined,
    kept_home,
    needed,
    sandbox_of,
    vault_of,
)
from operable.kernel.errors import Fail
from operable.manifest.loader import Loaded
from operable.proc.sandbox.egress.budget import Attempt
from tests.host.agents import manifest


def test_a_sandbox_in_another_file_needs_the_folder_of_the_manifest(tmp_path):
    loaded = define_agent_cli(manifest(tmp_path, sandbox="./SANDBOX.md")).loaded

    with pytest.raises(Fail) as failure:
        sandbox_of(loaded)

    assert failure.value.details["aip_code"] == "sandbox_ref_unresolvable"


def test_a_denied_connection_is_in_the_chain_and_an_allowed_one_is_not(tmp_path):
    path = str(tmp_path / "audit.jsonl")
    audit = Audit(path, actor="a")
    _attempted(audit, Attempt("evil.example", 443, allowed=False, reason="not-listed"))
    _attempted(audit, Attempt("good.example", 443, allowed=True, reason="allowed"))

    (record,) = [msgspec.json.decode(line) for line in (tmp_path / "audit.jsonl").read_bytes().splitlines()]

    assert verify_audit(path).ok
    assert (record["action"], record["subject"]["ref"]) == ("egress.denied", "evil.example:443")


def test_a_manifest_without_an_inventory_needs_no_secrets(tmp_path):
    loaded = define_agent_cli(manifest(tmp_path)).loaded
    placing = Placing(str(tmp_path), Audit(str(tmp_path / "audit.jsonl"), actor="a"))

    assert vault_of(loaded, placing) is None
    assert needed(None, placing) == []


LOCAL = {
    "provider": "local",
    "config": {},
    "network": {"egress": ["a.example"]},
    "env": {"passthrough": ["PLACE", "WORD"]},
}


def loaded(folder: Path, **sandbox: object) -> Loaded:
    return define_agent_cli(manifest(folder, sandbox={**LOCAL, **sandbox})).loaded


def test_nothing_chosen_leaves_the_manifest_as_it_is(tmp_path: Path) -> None:
    given = loaded(tmp_path)
    assert choose_sandbox(given, None, (), str(tmp_path)) is given


def test_another_provider_shows_the_workspace_at_its_own_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLACE", "/somewhere/of/the/host")
    monkeypatch.setenv("WORD", "value")
    block = sandbox_of(choose_sandbox(loaded(tmp_path), "bubblewrap", ("b.example",), str(tmp_path)))
    assert (block.provider, block.network.egress) == ("bubblewrap", ("a.example", "b.example"))
    assert [(mount.source, mount.at, mount.mode) for mount in block.mounts] == [
        ("workspace", os.path.realpath(tmp_path), "read-write")
    ]
    assert block.env.passthrough == ("WORD",)


def test_a_workspace_in_a_place_of_the_system_is_seen_elsewhere(tmp_path: Path) -> None:
    block = sandbox_of(choose_sandbox(loaded(tmp_path), "bubblewrap", (), "/usr/share"))
    assert [mount.at for mount in block.mounts] == ["/workspace"]


def test_declared_mounts_stay(tmp_path: Path) -> None:
    mounts = [{"source": "workspace", "at": "/w", "mode": "read-only"}]
    block = sandbox_of(choose_sandbox(loaded(tmp_path, mounts=mounts), "bubblewrap", (), str(tmp_path)))
    assert [(mount.at, mount.mode) for mount in block.mounts] == [("/w", "read-only")]


def test_none_is_host_access(tmp_path: Path) -> None:
    given = loaded(tmp_path, provider="bubblewrap")
    assert is_unconfined(sandbox_of(choose_sandbox(given, "none", (), str(tmp_path))).provider)
    assert not is_unconfined("bubblewrap")


@pytest.mark.parametrize("chosen", [None, "none"])
def test_hosts_without_a_sandbox_are_refused(chosen: str | None, tmp_path: Path) -> None:
    with pytest.raises(Fail) as failure:
        choose_sandbox(loaded(tmp_path), chosen, ("a.example",), str(tmp_path))
    assert failure.value.code == "EGRESS_WITHOUT_SANDBOX"


def test_an_unknown_provider_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Fail) as failure:
        choose_sandbox(loaded(tmp_path), "cellophane", (), str(tmp_path))
    assert failure.value.code == "SANDBOX_PROVIDER_UNKNOWN"


def test_each_workspace_has_a_home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path))
    homes = {kept_home("goose", str(tmp_path / name)) for name in ("one", "two")}
    assert len(homes) == 2
    assert all(os.stat(home).st_mode & 0o777 == 0o700 for home in homes)
