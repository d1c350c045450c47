"""A manifest's sandbox and secrets in the terms of the place that is made for them."""

import msgspec
import pytest

from operable.host import define_agent_cli
from operable.host.audit.chain import Audit, verify_audit
from operable.host.start.placement import Placing, _attempted, needed, sandbox_of, vault_of
from operable.kernel.errors import Fail
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
