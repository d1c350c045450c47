"""The memory of v4 proofs."""

import os
import subprocess
import sys
import time

import pytest

from operable.flow.canonical import canonical_digest
from operable.flow.contracts import ProofRequest, Surroundings, entry
from operable.flow.trust.proof_ledger import claim, handoff_context, is_revoked
from tests.flow.proofs.tokens import ISSUER, MANIFEST, RSA, claims, pem, token
from tests.requirement import requirement


def proven(folder, jti="j1"):
    now = time.time()
    bound = {"iat": now, "exp": now + 600, "jti": jti, "handoff_artifact_digest": "sha256:artifact"}
    request = ProofRequest(
        profile={"issuer": ISSUER, "public_key": pem(RSA)},
        value=token(claims(**bound)),
        manifest=MANIFEST,
        manifest_digest=canonical_digest(MANIFEST),
        surroundings=Surroundings(cwd="/"),
        now=now,
        handoff=handoff_context("sha256:artifact", str(folder)),
    )
    return entry("proofs", "jwt").verify(request)


@requirement("agentcli:proofs:handoff")
def test_a_proof_is_good_once_and_only_with_a_revocation_list(tmp_path):
    assert "its status is unknown" in proven(tmp_path)["reason"]
    (tmp_path / "revoked").write_text("# nothing yet\n")
    assert proven(tmp_path)["verified"] is True
    assert "already used" in proven(tmp_path)["reason"]
    (tmp_path / "revoked").write_text("j2  # stolen\n")
    assert "revoked" in proven(tmp_path, "j2")["reason"]
    assert proven(tmp_path, "j3")["verified"] is True


def test_a_list_that_cannot_be_read_is_a_no(tmp_path):
    os.mkfifo(tmp_path / "revoked")

    assert proven(tmp_path)["verified"] is False


def test_a_claim_that_cannot_be_remembered_is_a_no(tmp_path):
    (tmp_path / "revoked").touch()
    (tmp_path / "used").write_text("a file in the way")

    assert proven(tmp_path)["verified"] is False


def test_claims_are_forgotten_a_day_after_the_proof_has_expired_because_clocks_are_set_back(tmp_path):
    assert claim(str(tmp_path), "older", time.time() - 90_000)
    assert claim(str(tmp_path), "old", time.time() - 5)
    assert claim(str(tmp_path), "new", time.time() + 600)
    assert not claim(str(tmp_path), "old", time.time() + 600)
    assert len(os.listdir(tmp_path / "used")) == 2
    assert not claim(str(tmp_path), "new", time.time() + 600)


def test_one_of_many_processes_gets_the_claim(tmp_path):
    program = (
        "import sys, time\nfrom operable.flow.trust.proof_ledger import claim\n"
        "sys.stdin.read()\nprint(claim(sys.argv[1], 'n', time.time() + 600))\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    answers = [process.communicate("", timeout=200)[0].strip() for process in processes]

    assert sorted(answers) == ["False", "False", "False", "True"]


@pytest.mark.parametrize("name, revoked", [("a", True), ("b", False), ("", False)])
def test_names_are_compared_whole(tmp_path, name, revoked):
    (tmp_path / "revoked").write_text("a # x\n\nbb\n")

    assert is_revoked(str(tmp_path), name) is revoked
