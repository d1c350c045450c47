"""Which key signs, and whose signatures count: every place in its turn."""

import pytest

from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError
from operable.flow.trust.keys.signers import believed_signers, signing_key
from operable.gate.signatures.ssh_signatures import public_blob, public_line
from tests.flow.ssh_keys import written
from tests.requirement import requirement

OWN = ["id_ed25519", "id_ecdsa", "id_rsa"]


@pytest.fixture
def place(tmp_path):
    """A user's home with a folder for keys, and a folder to work in."""
    for name in ("user/.ssh", "work", "home/state"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def around(place, **variables):
    return Surroundings(cwd=str(place / "work"), environment={"HOME": str(place / "user"), **variables})


def blob(key):
    return public_blob(key.public_key())


@requirement("agentcli:attestation:signatures")
def test_the_named_key_signs_else_the_environments_else_the_users_in_their_order(place):
    own = {name: written(place / "user/.ssh", name=name)[1] for name in OWN}
    _, named = written(place / "work", name="named")
    _, by_variable = written(place / "user", name="variable")
    with_variable = around(place, AGENTCLI_SIGNING_KEY="~/variable")

    assert blob(signing_key("named", with_variable)) == blob(named)
    assert blob(signing_key(None, with_variable)) == blob(by_variable)
    for name in OWN:
        assert blob(signing_key(None, around(place))) == blob(own[name])
        (place / "user/.ssh" / name).unlink()
    assert signing_key(None, around(place)) is None


@requirement("agentcli:attestation:signatures")
def test_a_key_that_was_named_and_is_not_there_is_an_error_and_no_other_is_taken(place):
    written(place / "user/.ssh", name="id_ed25519")

    for named, variables in (("nowhere", {}), (None, {"AGENTCLI_SIGNING_KEY": "nowhere"})):
        with pytest.raises(FlowError, match="cannot be read"):
            signing_key(named, around(place, **variables))


@requirement("agentcli:attestation:allowed-signers")
def test_a_named_file_counts_else_the_environments_else_the_homes_else_the_users_own_keys(place):
    keys = {}
    for name in ("work/named", "work/variable", "home/state/allowed_signers", "user/.ssh/id_rsa.pub"):
        _, keys[name] = written(place, name="key")
        line = public_line(keys[name].public_key())
        (place / name).write_text(line if name.endswith(".pub") else f"me {line}\n")
    variables = {"AGENTCLI_HOME": str(place / "home"), "AGENTCLI_ALLOWED_SIGNERS": "variable"}

    def believed(named, **environment):
        (signer,), source = believed_signers(named, around(place, **environment), "me")
        return signer.key, source

    assert believed("named", **variables) == (blob(keys["work/named"]), "allowed_signers")
    assert believed(None, **variables) == (blob(keys["work/variable"]), "allowed_signers")
    del variables["AGENTCLI_ALLOWED_SIGNERS"]
    assert believed(None, **variables) == (blob(keys["home/state/allowed_signers"]), "allowed_signers")
    (place / "home/state/allowed_signers").unlink()
    assert believed(None, **variables) == (blob(keys["user/.ssh/id_rsa.pub"]), "own_keys")
